"""Long files: what is read, added up and named at once is what is done one by one."""

from __future__ import annotations

import io
import json
from unittest.mock import patch

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.million_files import KINDS, requests
from slmopt.measured.compare import compare
from slmopt.measured.detect import read_benchmark
from slmopt.measured.distinct import alike, distinct, kept, members, texts_in_use
from slmopt.measured.load_summary import summaries
from slmopt.measured.placed import Facts
from slmopt.measured.progress import telling
from slmopt.measured.readers import own_load
from slmopt.measured.readers._base import JsonReader
from slmopt.measured.readers.registry import READERS
from slmopt.measured.table import make_rows
from slmopt.measured.text import UnreadableFile
from slmopt.measured.timed import Rows, Shapes, decode_work, prefill_work
from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import resolve
from slmopt.theory.roofline import ceiling_roof, estimate_roof
from slmopt.words import numbers as n
from slmopt.words.timed_names import test_names as timed_names

HEAD = '{"slmopt_measure": 1, "model": "M", "device": "NVIDIA H100", "weights": "Q8_0"}'


def read_both(content, name="file"):
    """What the reader of single values says, and what the one of long files says (None: it left the file to the other)."""
    said, taken = [], []

    def lines(document):
        found = own_load._read_lines(document)
        taken.append(found is not None)
        return found

    for limit in (1 << 40, -1):
        changed = [
            type(one)(one.name, one.recognise, lines) if one is own_load.READERS[0] else one
            for one in READERS
        ]
        with (
            patch("slmopt.measured.readers.dispatch.LONG_BYTES", limit),
            patch("slmopt.measured.readers.dispatch.READERS", tuple(changed)),
        ):
            try:
                said.append(read_benchmark(name, content))
            except UnreadableFile as error:
                said.append(str(error))
    return said[0], said[1], any(taken)


def assert_same(one, other):
    if isinstance(one, str) or isinstance(other, str):
        assert one == other
        return
    assert one.format == other.format
    assert one.warnings == other.warnings
    plain = [
        part.rows.astype(dict.fromkeys(part.rows.select_dtypes("category"), object)) for part in (one, other)
    ]
    pd.testing.assert_frame_equal(*plain, rtol=1e-12)
    assert sorted(map(tuple, one.skipped.to_numpy())) == sorted(map(tuple, other.skipped.to_numpy()))


def own_file(count=300):
    lines = requests(0, count).splitlines()
    return [HEAD, *lines]


def test_requests_at_once_are_requests_one_by_one():
    one, other, taken = read_both("\n".join(own_file()).encode())
    assert taken
    assert len(other.rows) == 301
    assert_same(one, other)


def test_failures_cold_starts_warm_up_and_silent_ones_are_told_alike():
    lines = own_file(40)
    changed = [json.loads(line) for line in lines[1:]]
    changed[3] |= {"error": "time-out after 5 s", "e2e_s": None}
    changed[4] |= {"kind": "cold"}
    changed[5] |= {"kind": "warm-up"}
    changed[6] |= dict.fromkeys(("ttft_s", "tpot_s", "e2e_s", "chunk_gap_s"))
    changed[7] |= {"concurrency": None, "in_flight": 3}
    changed[8] |= {"started": "2026-01-01T01:00:00+02:00"}
    changed[9] |= {"started": "never", "output_tokens": None}
    content = "\n".join([lines[0], *map(json.dumps, changed)]).encode()
    one, other, taken = read_both(content)
    assert taken
    assert_same(one, other)
    assert other.skipped["why"].tolist() == [
        "the request failed: time-out after 5 s",
        "no speed and no time was measured",
    ]
    assert other.rows["note"].notna().sum() == 1


ODD = {
    "a bare NaN": lambda line: line.replace('"rate": null', '"rate": NaN'),
    "a key twice": lambda line: line.replace('"rate": null', '"rate": null, "rate": 1'),
    "another key": lambda line: line.replace('"rate": null', '"speed": 3'),
    "a text for a number": lambda line: line.replace('"in_flight": 1', '"in_flight": "1"'),
    "a value inside": lambda line: line.replace('"rate": null', '"rate": {"a": 1}'),
    "two in a line": lambda line: line + line,
    "none of ours": lambda line: line.replace("slmopt_request", "other_request"),
    "ours is null": lambda line: line.replace('"slmopt_request": 1', '"slmopt_request": null'),
    "not JSON": lambda line: line.replace(":", ";"),
    "a comma too many": lambda line: line[:-1] + ",}",
    "a leading zero": lambda line: line.replace('"rate": null', '"rate": 01'),
    "a comment": lambda line: "# " + line,
    "a blank line": lambda line: "\n" + line,
    "an indented line": lambda line: "  " + line,
    "over two lines": lambda line: line.replace(", ", ",\n", 1),
    "an open brace": lambda line: '{"a": {}\n' + line,
    "another head": lambda line: HEAD + "\n" + line,
    "a carriage return": lambda line: line + "\r",
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD)
def test_a_line_that_is_not_as_the_harness_writes_it_is_read_as_ever(odd):
    lines = own_file(20)
    lines[10] = ODD[odd](lines[10])
    one, other, taken = read_both("\n".join(lines).encode())
    assert_same(one, other)
    assert not taken or odd == "a carriage return"


@settings(max_examples=60, deadline=None)
@given(
    cut=st.integers(1, 700),
    end=st.sampled_from(["", "\n", "\r\n", "\n\n  \n"]),
    newline=st.sampled_from(["\n", "\r\n"]),
)
def test_a_file_cut_off_anywhere_is_read_as_ever(cut, end, newline):
    whole = newline.join(own_file(5)) + newline
    assert_same(*read_both((whole[:-cut] + end).encode())[:2])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["rate", "concurrency", "ttft_s", "tpot_s", "output_tokens", "error", "level", "started", "kind"]),
            st.one_of(st.none(), st.floats(), st.integers(-10, 10**20), st.booleans(), st.text(max_size=5), st.just([1])),
        ),
        max_size=4,
    )
)  # fmt: skip
def test_any_value_anywhere_is_read_as_ever(changes):
    values = [json.loads(line) for line in own_file(8)[1:]]
    for at, (name, value) in enumerate(changes):
        values[2 * at % 8] |= {name: value}
    one, other, _ = read_both("\n".join([HEAD, *map(json.dumps, values)]).encode())
    assert_same(one, other)


def test_no_other_reader_takes_a_line_that_is_read_at_once():
    value = json.loads(own_file(1)[1])
    readers = [one for one in READERS if isinstance(one, JsonReader)]
    assert set(value) == set(own_load._KEYS)
    for missing in (None, *(name for name in value if name != "slmopt_request")):
        few = {name: entry for name, entry in value.items() if name != missing}
        assert next(one for one in readers if one.recognise(few)) is own_load.READERS[1]


def test_a_load_is_summed_up_alike_from_records_and_columns():
    values = [json.loads(line) for line in own_file(60)[1:]]
    values[7]["error"] = "refused"
    (found,) = summaries(values)
    times = sorted(value["ttft_s"] for value in values if not value["error"])
    assert found.requests == 59
    assert found.errors == (("refused", 1),)
    assert found.ttft == (np.median(times), times[int(0.95 * 59)], times[int(0.99 * 59)])


SETUPS = [
    {"model": "llama-3.2-1b", "device": "rtx-4090"},
    {"model": "gpt-oss-20b", "device": "h100-sxm-80gb", "engine": "vllm"},
    {"model": "qwen2.5-7b", "device": "epyc-2core", "engine": "llama.cpp", "weights": "q4_0"},
]


@pytest.mark.parametrize("scenario", SETUPS)
def test_steps_added_up_once_are_the_steps_of_each_row(scenario):
    setup = resolve(Scenario.model_validate(scenario))
    rng = np.random.default_rng(1)
    size = 4000
    shapes = Shapes(
        rng.choice([1.0, 4.0, 8.0], size), rng.integers(0, 3000, size).astype(float), np.zeros(size),
        rng.integers(1, 400, size).astype(float), rng.choice([0.9, 1.0], size), np.zeros(size),
    )  # fmt: skip
    few = Shapes(*(getattr(shapes, name)[:300] for name in Shapes.__slots__))
    for roof in (ceiling_roof(setup, "decode"), estimate_roof(setup, "decode", "typical")):
        rows = Rows(shapes)
        assert rows.sums is not None
        found = rows.work(setup, roof, roof)
        wanted = decode_work(setup, roof, few)
        for name in type(found).__slots__:
            np.testing.assert_allclose(getattr(found, name)[:300], getattr(wanted, name), rtol=1e-9)
        np.testing.assert_array_equal(rows.seconds(setup, roof, roof), found.seconds)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([1.0, 2.0]),
            st.integers(0, 50) | st.floats(0, 50),
            st.integers(0, 40),
            st.integers(0, 60) | st.floats(0, 60),
        ),
        min_size=1,
        max_size=30,
    )
)
def test_rows_of_any_kind_take_the_work_of_their_prompt_and_of_their_steps(rows):
    setup = resolve(Scenario.model_validate(SETUPS[0]))
    roof = ceiling_roof(setup, "decode")
    batch, depth, prompt, output = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    shapes = Shapes(batch, depth, prompt, output, np.ones(len(rows)), np.zeros(len(rows)))
    after = Shapes(batch, depth + prompt, prompt, output, np.ones(len(rows)), np.zeros(len(rows)))
    found = Rows(shapes).work(setup, roof, roof)
    wanted = prefill_work(setup, roof, shapes) + decode_work(setup, roof, after)
    for name in type(found).__slots__:
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=1e-9, atol=1e-15)


def name_of(phase, prompt, output, depth, batch, users):
    """A row's name, letter by letter."""
    if phase == "decode":
        told = f"tg{output:.0f}" if output > 0 else "decode"
    elif phase == "prefill":
        told = f"pp{prompt:.0f}" if prompt > 0 else "prefill"
    else:
        lengths = [f"{n.count(value)} {way}" for value, way in ((prompt, "in"), (output, "out")) if value > 0]
        told = ", ".join(lengths) or str(phase)
    if depth > 0:
        told += f", depth {n.count(depth)}"
    if batch > 1:
        return f"{told}, batch {n.count(batch)}"
    return f"{told}, {n.count(users)} at once" if users > 1 and np.isnan(batch) else told


COUNT = st.sampled_from([np.nan, 0.0, 1.0, 1.5, 512.0, 4096.0, 1e6, np.inf, -1.0])


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["decode", "prefill", "serving", "mixed", ""]), COUNT, COUNT, COUNT, COUNT, COUNT
        ),
        min_size=1,
        max_size=12,
    )
)
def test_columns_are_named_as_single_rows_are(rows):
    names = ("phase", "prompt_tokens", "output_tokens", "depth_tokens", "batch", "concurrency")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    table = make_rows(columns, len(rows))
    wanted = [name_of(row[0] or "nan", *row[1:]) for row in rows]
    assert [str(name) for name in timed_names(table)] == wanted
    with patch("slmopt.words.timed_names._MOST_CATEGORIES", 0):
        assert [str(name) for name in timed_names(table)] == wanted


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([np.nan, 0.0, 1.0]), st.sampled_from(["", "a", "b"])), max_size=20))
def test_distinct_rows_are_those_that_differ(rows):
    numbers = np.array([row[0] for row in rows], dtype=float)
    texts = pd.Series(pd.Categorical([row[1] or None for row in rows], categories=["b", "a", "c"]))
    codes, first = distinct((numbers, texts), len(rows))
    keys = [(None if np.isnan(number) else number, text) for number, text in rows]
    assert [keys[at] for at in first] == list(dict.fromkeys(keys))
    assert [keys[first[code]] for code in codes] == keys
    parts = members(codes, len(first))
    assert [keys[at] for part in parts for at in part] == sorted(keys, key=list(dict.fromkeys(keys)).index)
    assert texts_in_use(texts) == list(dict.fromkeys(text for _, text in keys if text))
    assert alike(numbers) == (len({key for key, _ in keys}) <= 1)


def test_all_rows_are_kept_without_a_copy():
    frame = pd.DataFrame({"a": [1, 2]})
    assert kept(frame, frame["a"] > 0) is frame
    assert kept(frame, frame["a"] > 1)["a"].tolist() == [2]


@pytest.mark.parametrize("kind", KINDS)
def test_the_files_of_the_bench_are_read_and_judged_whole(kind, tmp_path):
    name, write = KINDS[kind]
    path = tmp_path / name
    write(path, 400)
    read = read_benchmark(name, path.read_bytes())
    assert len(read.rows) - len(read.skipped) == 400 + ("requests" in kind)
    assert compare(read.rows, Facts()).rows["fraction"].notna().sum() >= 400


def test_reading_tells_how_far_it_is(monkeypatch):
    monkeypatch.setattr("slmopt.measured.readers.dispatch.LONG_BYTES", 0)
    told: list[float] = []
    with telling(told.append):
        read_benchmark("file", "\n".join(own_file(50)).encode())
    assert told == sorted(told)
    assert told[-1] == 1.0


VALUES = {
    "texts": st.lists(st.sampled_from(["a", "Llama-3.1-8B-Q4_0.gguf", " b ", "", "n/a", "12", 'say "x"', "x,y", "two\nlines", None]), min_size=4, max_size=4),
    "floats": st.lists(st.none() | st.floats(), min_size=4, max_size=4),
    "whole": st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=4, max_size=4),
    "yes or no": st.lists(st.none() | st.booleans(), min_size=4, max_size=4),
    "times": st.lists(st.none() | st.datetimes(pd.Timestamp(2000, 1, 1), pd.Timestamp(2050, 1, 1)), min_size=4, max_size=4),
}  # fmt: skip
TYPES = {
    "texts": [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())],
    "floats": [pa.float64(), pa.float32()],
    "whole": [pa.int64()],
    "yes or no": [pa.bool_()],
    "times": [pa.timestamp("us"), pa.timestamp("ms", "UTC"), pa.timestamp("ns", "Europe/Paris")],
}


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_parquet_by_columns_is_parquet_as_text(data):
    names = data.draw(
        st.lists(
            st.sampled_from(
                ["model", "weights", "batch", "prompt tokens", "output tok/s", "ttft_ms", "timestamp", "note", "device", "tokens_per_s", "GPU", "7", "#x", "a,b"]
            ),
            min_size=2, max_size=6, unique=True,
        )
    )  # fmt: skip
    columns = {}
    for name in names:
        kind = data.draw(st.sampled_from(list(VALUES)))
        form = data.draw(st.sampled_from(TYPES[kind]))
        columns[name] = pa.array(
            data.draw(VALUES[kind]), pa.string() if pa.types.is_dictionary(form) else form
        )
        if pa.types.is_dictionary(form):
            columns[name] = columns[name].dictionary_encode()
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream, row_group_size=data.draw(st.integers(1, 4)))
    said = []
    for limit in (1 << 40, 1):
        with (
            patch("slmopt.measured.readers._parquet.LONG_ROWS", limit),
            patch("slmopt.measured.readers._sheets.LONG_BYTES", 0),
        ):
            try:
                said.append(read_benchmark("a.parquet", stream.getvalue()))
            except UnreadableFile as error:
                said.append(str(error))
    assert_same(*said)
