"""``measure`` against a real server: llama-cpp-python's, on a small model of random weights.

Opt-in, since the package is compiled when it is installed: SLMOPT_LLAMA_PYTHON names a Python that has
``llama-cpp-python[server]``.

    SLMOPT_LLAMA_PYTHON=/path/to/python pytest tests/measured/test_real_server.py
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator

import gguf
import numpy as np
import pytest

from slmopt.measured.detect import read_benchmark
from tests.cli.command import call

PYTHON = os.environ.get("SLMOPT_LLAMA_PYTHON", "")

LAYERS, HIDDEN, HEADS, FFN, CONTEXT = 2, 64, 4, 128, 2048
STARTS_WITHIN_S = 120


def write_model(path):
    """A llama of random weights, with a vocabulary of bytes and a few words."""
    words = ["▁", *(f"▁{word}" for word in ("time", "year", "people", "way", "day"))]
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *words]
    kinds = [2, 3, 3, *[6] * 256, *[1] * len(words)]
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name("random")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FFN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(HIDDEN // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    rng = np.random.default_rng(0)

    def add(name, *shape):
        writer.add_tensor(name, (0.05 * rng.standard_normal(shape)).astype(np.float32))

    def ones(name):
        writer.add_tensor(name, np.ones(HIDDEN, dtype=np.float32))

    add("token_embd.weight", len(tokens), HIDDEN)
    for layer in range(LAYERS):
        ones(f"blk.{layer}.attn_norm.weight")
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            add(f"blk.{layer}.{name}.weight", HIDDEN, HIDDEN)
        ones(f"blk.{layer}.ffn_norm.weight")
        add(f"blk.{layer}.ffn_gate.weight", FFN, HIDDEN)
        add(f"blk.{layer}.ffn_up.weight", FFN, HIDDEN)
        add(f"blk.{layer}.ffn_down.weight", HIDDEN, FFN)
    ones("output_norm.weight")
    add("output.weight", len(tokens), HIDDEN)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[str]:
    """The server's base URL."""
    model = tmp_path_factory.mktemp("model") / "random.gguf"
    write_model(model)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    flags = ["--model", str(model), "--host", "127.0.0.1", "--port", str(port), "--n_ctx", str(CONTEXT)]
    process = subprocess.Popen(
        [PYTHON, "-m", "llama_cpp.server", *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}/v1"
    try:
        _wait(process, url)
        yield url
    finally:
        process.terminate()
        process.wait(30)


def _wait(process, url):
    until = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < until:
        assert process.poll() is None, "the server ended before it answered"
        try:
            with urllib.request.urlopen(f"{url}/models", timeout=2) as response:
                assert response.status == 200
                return
        except OSError:
            time.sleep(0.3)
    raise AssertionError("the server did not answer in time")


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_a_real_server_is_measured_and_read_back(server, tmp_path, api):
    out = tmp_path / "rows.jsonl"
    flags = ["--url", server, "--model", "random", "--api", api, "--out", str(out)]
    answer = call(
        "measure", *flags, "--requests", "6", "--prompt-tokens", "40", "--output-tokens", "16", "--json"
    )
    assert answer.code == 0, answer.err
    (level,) = answer.json["levels"]
    assert level["requests"] == 6, level["errors"]
    assert level["ttft_s"]["p50"] > 0
    assert level["no_usage"] in (0, 6)
    read = read_benchmark("rows.jsonl", out.read_bytes())
    assert read.format == "slmopt measure jsonl"
    assert len(read.rows) == 7
    if not level["no_usage"]:
        assert level["output_tokens"] <= 16
        assert level["tpot_s"]["p50"] > 0
