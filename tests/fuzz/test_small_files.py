"""Scenario files, scores, mappings and traces, GGUF headers and workbooks, damaged in bytes and in structure."""

from __future__ import annotations

import json
import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from slmopt.measured import mapping_form
from slmopt.measured.readers.mapping import apply_mapping, guess_mapping
from slmopt.measured.readers.sources import tables_in
from slmopt.readers.files import read_model_file
from slmopt.readers.score_file import read_scores
from slmopt.serving.simulate import Cancelled, simulate
from slmopt.serving.trace import read_trace
from slmopt.specs.base import SpecError
from slmopt.specs.library import library
from slmopt.specs.scenario import scenario
from slmopt.specs.scenario_file import from_file, to_file
from slmopt.specs.setup import resolve
from tests.fuzz.common import ODD_NUMBERS, ODD_TEXTS, bounded, damaged_bytes, damaged_json, damaged_table
from tests.fuzz.test_benchmark_files import check, check_rows
from tests.fuzz.test_model_files import SCENARIO, computes, told
from tests.measured.test_read_spreadsheets import TABLE, sheet_xml, workbook
from tests.readers import raw_gguf

WHOLE = json.loads(to_file(scenario(SCENARIO)))
SCORES = "format,score,valid\nq4_k_m,71.5,0.99\nq8_0,73,1\nf16,74.25,\n"
TRACE = "arrival_s,prompt_tokens,output_tokens\n0.0,100,20\n0.5,200,30\n1.25,50,10\n"
SHEET = tables_in("odd.csv", b"net,rate one,lag,n\na,10.5,120,1\nb,20,90,4\nc,30,80,8\n")[0]
MAPPED = mapping_form.from_form(
    guess_mapping(SHEET),
    [
        mapping_form.FormLine("net", "a", "model", "", ""),
        mapping_form.FormLine("rate one", "10.5", "tpot", "p50", "ms"),
    ],
    {"device": "rtx-4090"},
)
SERVED = scenario({"model": "llama-3.2-1b", "device": "rtx-4090", "weights": "q4_k_m"})
MOST_SIMULATED = 200


@bounded(50)
@given(st.data())
def test_scenario_files(data):
    damaged = data.draw(st.one_of(damaged_json(WHOLE), damaged_bytes(json.dumps(WHOLE).encode())))
    try:
        found = from_file(damaged)
    except SpecError as error:
        told(error)
        return
    resolve(found.scenario)
    assert all("\n" not in sentence and len(sentence) < 1000 for sentence in found.lost)
    assert from_file(to_file(found.scenario)) == type(found)(found.scenario)


@bounded(50)
@given(st.data())
def test_score_files(data):
    damaged = data.draw(st.one_of(damaged_table(SCORES), damaged_bytes(SCORES.encode())))
    try:
        found = read_scores(damaged)
    except SpecError as error:
        told(error)
        return
    for score in found:
        assert score.format_id in library().weights
        assert np.isfinite(score.score)
        assert score.valid is None or 0 <= score.valid <= 1


@bounded(40)
@given(st.data())
def test_mapping_files(data):
    whole = json.loads(mapping_form.saved(MAPPED))
    damaged = data.draw(st.one_of(damaged_json(whole), damaged_bytes(json.dumps(whole).encode())))
    try:
        found = mapping_form.loaded(damaged, SHEET)
    except SpecError as error:
        told(error)
        return
    assert mapping_form.loaded(mapping_form.saved(found).encode(), SHEET) == found
    check_rows(apply_mapping(SHEET, found))


@bounded(40)
@given(st.data())
def test_traces(data):
    damaged = data.draw(st.one_of(damaged_table(TRACE), damaged_bytes(TRACE.encode())))
    try:
        found = read_trace(damaged)
    except SpecError as error:
        told(error)
        return
    # Rows without a time come last; the server refuses and counts them.
    timed = found.arrival[: np.count_nonzero(~np.isnan(found.arrival))]
    assert (np.diff(timed) >= 0).all()
    asked = 0

    def go_on(share: float) -> bool:
        nonlocal asked
        asked += 1
        return asked < MOST_SIMULATED

    try:
        simulate(SERVED, found, progress=go_on)
    except SpecError as error:
        told(error)
    except Cancelled:
        assert asked >= MOST_SIMULATED


KINDS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B", 10: "Q", 11: "q", 12: "d"}
KEYS = ["general.architecture", "general.file_type", "split.count", "tokenizer.ggml.tokens", "general.alignment"] + [
    f"llama.{name}"
    for name in (
        "block_count", "context_length", "embedding_length", "feed_forward_length", "attention.head_count", "vocab_size",
        "attention.head_count_kv", "attention.key_length", "attention.sliding_window", "expert_count", "expert_used_count",
    )
]  # fmt: skip
NAMES = [b"token_embd.weight", b"output.weight", b"blk.0.attn_q.weight", b"blk.0.attn_k.weight", b"blk.0.attn_v.weight",
    b"blk.0.ffn_down.weight", b"blk.0.ffn_gate_exps.weight", b"blk.4000000000.attn_k.weight", b"blk.0.ssm_a", b"x"]  # fmt: skip
sizes = st.sampled_from([0, 1, 2, 8, 64, 256, 4096, 128_256, 2**31, 2**63 - 1])


@st.composite
def pairs(draw: st.DrawFn) -> bytes:
    """A key with a value of some type, a text or an array among them, whose lengths may lie."""
    key = draw(st.sampled_from(KEYS))
    kind = draw(st.sampled_from([*KINDS, 8, 9, 13, 2**32 - 1]))
    if kind in KINDS:
        low, high = (-128, 127) if KINDS[kind].islower() else (0, 255)
        number = draw(st.floats(width=32)) if kind in (6, 12) else draw(st.integers(low, high))
        return raw_gguf.pair(key, kind, struct.pack(f"<{KINDS[kind]}", number))
    if kind == 8:
        return raw_gguf.pair(
            key, 8, raw_gguf.text(draw(st.sampled_from([b"llama", b"mamba", b"\xff", b"", b"x" * 300])))
        )
    if kind == 9:
        inner = draw(st.sampled_from([0, 4, 5, 8, 9, 99]))
        return raw_gguf.pair(key, 9, struct.pack("<IQ", inner, draw(sizes)) + draw(st.binary(max_size=64)))
    return raw_gguf.pair(key, kind, draw(st.binary(max_size=16)))


@bounded(60)
@given(
    st.lists(pairs(), max_size=8),
    st.lists(
        st.tuples(st.sampled_from(NAMES), st.lists(sizes, max_size=5), st.integers(0, 45), sizes), max_size=4
    ),
    st.sampled_from([1, 2, 3, 4]),
    st.sampled_from([0, 1, 2**40]),
    st.data(),
)
def test_headers_of_gguf(keys, tensors, version, more, data):
    infos = b"".join(raw_gguf.info(name, tuple(dims), kind, offset) for name, dims, kind, offset in tensors)
    whole = raw_gguf.gguf(len(tensors) + more, [raw_gguf.ARCH, *keys], infos, version=version)
    if data.draw(st.booleans()):
        whole = data.draw(damaged_bytes(whole))
    try:
        found = read_model_file(whole, "m.gguf")
    except SpecError as error:
        told(error)
    else:
        if found.runs:
            computes(found.model)


@bounded(40)
@given(st.data())
def test_cells_of_workbooks(data):
    rows = [list(row) for row in TABLE]
    for _ in range(data.draw(st.integers(1, 5))):
        row = data.draw(st.sampled_from([row for row in rows if row]))
        value = data.draw(
            st.sampled_from([*ODD_TEXTS, *ODD_NUMBERS, None, True, "&amp;", "<v>1</v>", "&#0;"])
        )
        row[data.draw(st.integers(0, len(row) - 1))] = value
    xml = sheet_xml(rows)
    if data.draw(st.booleans()):
        xml = data.draw(damaged_bytes(xml.encode("utf-8", "surrogatepass"))).decode("utf-8", "replace")
    check(workbook({"A": xml, data.draw(st.sampled_from(["B", "../B", "é"])): sheet_xml(TABLE)}), "a.xlsx")
