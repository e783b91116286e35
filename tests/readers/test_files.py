"""Telling model files apart, files cut off after their header, and reading back what inspect wrote."""

import json
import os
import struct
import subprocess
import sys

import pytest

from slmopt.readers.files import SPEC, described, header_length_needed, read_model_file
from slmopt.readers.hf_config import read_config
from slmopt.specs.base import SpecError
from slmopt.specs.library import library
from slmopt.specs.weights import stored_bytes
from tests.cli.command import CARD, call
from tests.readers import raw_gguf as raw
from tests.readers.configs import LLAMA, family
from tests.readers.ggufs import T, tiny, write
from tests.readers.test_safetensors import header, shapes


def test_kinds_are_told_apart_by_content(tmp_path):
    files = {
        "gguf": tiny()[0],
        "config": json.dumps(LLAMA).encode(),
        "safetensors": header(shapes(), data=True),
        "described": json.dumps({"params": 7e9, "layers": 32}).encode(),
    }
    for kind, content in files.items():
        assert read_model_file(content, "x").kind == kind
        path = tmp_path / "no-ending"
        path.write_bytes(content)
        assert read_model_file(path).kind == kind
    assert read_model_file(b"\xef\xbb\xbf" + files["config"]).kind == "config"


def test_a_header_whose_length_looks_like_json(tmp_path):
    # The length's first byte is an opening brace.
    data = header(shapes(), pad=True)
    data = (0x7B + 256 * (1 + (len(data) >> 8))).to_bytes(8, "little") + data[8:].ljust(
        0x7B + 256 * (1 + (len(data) >> 8))
    )
    assert data.startswith(b"{")
    assert read_model_file(data).kind == "safetensors"


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "empty"),
        (b"   \n", "empty"),
        (b"PK\x03\x04" + bytes(60), "ZIP"),
        (b"\x80\x02}q\x00", "pickled"),
        (b"tjgg" + bytes(60), "before GGUF"),
        (b"\x89PNG\r\n\x1a\n" + bytes(60), "none that describes a model"),
        (b"#!/bin/sh", "none that describes a model"),
    ],
)
def test_other_files_are_named(content, word):
    with pytest.raises(SpecError, match=word):
        read_model_file(content)


def test_paths_that_cannot_be_read(tmp_path):
    for path in (tmp_path / "none.gguf", tmp_path, "a\0b"):
        with pytest.raises(SpecError, match="cannot be read"):
            read_model_file(path)


def test_a_pipe_is_read_once(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = subprocess.Popen(
        [sys.executable, "-c", f"open({str(pipe)!r}, 'w').write({json.dumps(LLAMA)!r})"]
    )
    assert read_model_file(pipe).model.total_params == read_config(LLAMA).total_params
    writer.wait()


def test_the_first_bytes_are_enough():
    data, size = tiny()
    whole = read_model_file(data)
    assert read_model_file(data[:size]) == whole
    assert header_length_needed(data[:size]) is None
    for cut in (8, 30, size // 2, size - 1):
        assert header_length_needed(data[:cut]) >= cut + 1
        with pytest.raises(SpecError, match="give about the first 1 MiB"):
            read_model_file(data[:cut])


def test_asking_for_more_leads_to_the_whole_header():
    """A vocabulary as large as real ones, without the file around it."""
    tokens = [b"token%d" % i for i in range(60_000)]
    merges = [b"to ken%d" % i for i in range(120_000)]
    pairs = [
        raw.pair("general.architecture", 8, raw.text(b"llama")),
        raw.texts("tokenizer.ggml.tokens", tokens),
        raw.pair("tokenizer.ggml.token_type", 9, struct.pack("<IQ", 5, 60_000) + bytes(240_000)),
        raw.texts("tokenizer.ggml.merges", merges),
    ]
    data = raw.gguf(0, pairs)
    asked, given = [], 1000
    while (needed := header_length_needed(data[:given])) is not None:
        asked.append(needed)
        given = needed
        assert given < 8 * len(data)
    assert len(asked) <= 2


def test_safetensors_say_how_much_they_need():
    data = header(shapes())
    assert header_length_needed(data[:9]) == len(data)
    assert header_length_needed(data) is None
    assert header_length_needed(json.dumps(LLAMA).encode()) is None


@pytest.mark.parametrize("kind", ["gguf", "safetensors", "config"])
def test_what_inspect_writes_stands_for_the_file(tmp_path, kind):
    content = {
        "gguf": tiny()[0],
        "safetensors": header(shapes(), data=True),
        "config": json.dumps(LLAMA).encode(),
    }[kind]
    path = tmp_path / "file"
    path.write_bytes(content)
    answer = call("inspect", str(path), "--json")
    assert answer.code == 0, answer.err
    told = tmp_path / "told.json"
    told.write_text(answer.out)
    first, second = read_model_file(path), read_model_file(told)
    assert second.kind == "inspected"
    assert (second.model, second.weights, second.types) == (first.model, first.weights, first.types)
    assert read_model_file(answer.out.encode()) == second
    again = call("inspect", str(told), "--json").json
    assert {**answer.json, "weight_bytes": None, "bits_per_weight": None} == {
        **again,
        "weight_bytes": None,
        "bits_per_weight": None,
    }
    if kind != "config":
        assert again["weight_bytes"] == answer.json["weight_bytes"] == first.size_bytes


def test_estimate_takes_the_files_own_weights(tmp_path):
    path = tmp_path / "m.gguf"
    path.write_bytes(tiny()[0])
    own = call("estimate", "--model", str(path), "--device", CARD, "--json").json
    size = read_model_file(path).size_bytes
    assert own["capacity"]["weight_bytes"] == size
    assert not any("--weights" in note for note in own["assumed"])
    told = tmp_path / "told.json"
    told.write_text(call("inspect", str(path), "--json").out)
    again = call("estimate", "--model", str(told), "--device", CARD, "--json").json
    assert again == own
    other = call("estimate", "--model", str(path), "--weights", "16", "--device", CARD, "--json").json
    assert other["capacity"]["weight_bytes"] == 2 * read_model_file(path).model.total_params
    for weights in (path, told):
        mean = call(
            "estimate", "--model", "llama-3.1-8b", "--weights", str(weights), "--device", CARD, "--json"
        ).json
        bits = 8 * mean["capacity"]["weight_bytes"] / library().models["llama-3.1-8b"].total_params
        assert 4.5 < bits < 8.5


def test_a_model_that_only_has_the_files_roles_takes_their_bits():
    found = read_model_file(tiny()[0])
    other = read_config(LLAMA)
    parts = {t.role: 8 * t.size_bytes / t.params for t in found.weights.stored}
    expected = sum(t.params * parts[t.role] for t in other.tensors) / 8
    assert stored_bytes(found.weights, other) == pytest.approx(expected)


def test_inspect_of_a_gguf_in_words(tmp_path):
    path = tmp_path / "m.gguf"
    path.write_bytes(tiny()[0])
    answer = call("inspect", str(path))
    assert answer.code == 0
    assert "Q4_K" in answer.out
    assert "bits a weight" in answer.out


def test_a_tower_is_shown_and_not_run(tmp_path):
    path = write(
        tmp_path / "mmproj.gguf",
        "clip",
        {"v.blk.0.attn_q.weight": ((32, 32), T.F16)},
        {"general.name": "Eye"},
    )
    assert call("inspect", str(path), "--json").json["params"] == 1024
    answer = call("estimate", "--model", str(path), "--device", CARD)
    assert answer.code == 2
    assert "no language model by itself" in answer.err


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"version": 99}, "version"),
        ({"model": None}, "model"),
        ({"model": {"params": -1}}, "params"),
        ({"model": {"hidden": 8, "vocab": 8, "groups": [{"count": 10**12}]}}, "at most 100,000"),
        ({"model": {"hidden": 8, "vocab": 8, "groups": [{"count": "1000000000000"}]}}, "at most 100,000"),
        ({"model": {"hidden": "9" * 400, "vocab": 8, "groups": [{"count": 1}]}}, "at most 1e"),
        (
            {
                "model": {
                    "hidden": 8,
                    "vocab": 8,
                    "groups": [{"count": 1, "matrices": [{"role": "ffn_up_exps", "rows": 1, "cols": 1}]}],
                }
            },
            "experts",
        ),
        ({"weights": {"id": "x", "name": "x"}}, "weights"),
        (
            {"weights": {"id": "x", "name": "x", "stored": [{"role": "all", "params": 0, "size_bytes": 1}]}},
            "weights",
        ),
        ({"types": "many"}, "types"),
        ({"types": [[1, 2, 3, 4]]}, "types"),
    ],
)
def test_a_description_that_was_tampered_with(change, word):
    spec = {**described(read_model_file(tiny()[0])), **change}
    with pytest.raises(SpecError, match=word):
        read_model_file(json.dumps({SPEC: spec}).encode())


def test_a_config_is_read_as_before(tmp_path):
    folder = tmp_path / "named"
    folder.mkdir()
    path = folder / "config.json"
    path.write_text(json.dumps(family("qwen3")))
    found = read_model_file(path)
    assert found.model == read_config(family("qwen3"), name="named")
    assert found.weights is None
    assert found.size_bytes is None
