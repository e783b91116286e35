"""What is done for many rows at once is what is done row by row."""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slmopt.measured.checks_copied import duplicates
from slmopt.measured.compare import compare
from slmopt.measured.detect import read_benchmark
from slmopt.measured.distinct import distinct, members, once, one_of
from slmopt.measured.harness import percentile
from slmopt.measured.load_rows import Requests
from slmopt.measured.load_summary import summaries
from slmopt.measured.medians import median
from slmopt.measured.pieces import at_once
from slmopt.measured.placed import Facts
from slmopt.measured.readers._columns import choose, first_of, map_text, numbered
from slmopt.measured.readers._json_cells import Unlike, columns_of
from slmopt.measured.readers._json_lines import OtherLines, read_lines
from slmopt.measured.table import make_rows
from slmopt.reports.measurement_tables import joined, listed
from slmopt.words import units
from slmopt.words.timed_names import CARRIED, named
from slmopt.words.timed_names import test_codes as codes_of_tests

KINDS = {"a": "number", "b": "text", "c": "passed over", "at": "time"}
TIME = '"2026-01-02T03:04:05.678+00:00"'
VALUES = [
    "1", "0", "-0", "-1.5", "0.25", "1e5", "1E-05", "12345678901234567890", "null", '"x"', '""', '"1"', '"ü"',
    # What JSON has another way, or not at all.
    "01", "-01", "00.5", "1.", ".5", "-.5", "1.e5", "+1", "1e", "1e+", "--1", "1-1", "-", "nan", "NaN", "Infinity", "inf",
    "1e400", "0x1", "1_0", " 1", "1 ", "nul", "", "true", "[1]", "{}", '"a,b"', '"a\\"b"', '"a\\u0041"', '"a', 'a"',
    '"a"b"', '"a" "b"', "'a'", "1}", '"x"}', '1, "a": 2', TIME, '"2026-13-02T03:04:05.678+00:00"', '"never"',
]  # fmt: skip


def line(values):
    return "{" + ", ".join(f'"{key}": {value}' for key, value in values) + "}"


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(*(st.sampled_from([usual, usual, *VALUES]) for usual in ("1.5", '"t"', "2", TIME))),
        min_size=1,
        max_size=4,
    ),
    st.permutations(list(KINDS)),
)
def test_lines_split_at_commas_say_what_json_says(rows, order):
    lines = [line([(key, row[list(KINDS).index(key)]) for key in order]) for row in rows]
    try:
        found = columns_of("".join(f"{one}\n" for one in lines).encode(), KINDS)
    except Unlike:
        return
    said = [json.loads(one) for one in lines]
    assert [list(one) for one in said] == [order] * len(said)
    for key in ("a", "c"):
        wanted = [np.nan if one[key] is None else float(one[key]) for one in said]
        assert not any(isinstance(one[key], bool) for one in said)
        np.testing.assert_array_equal(found[key], wanted)
    assert found["b"].to_pylist() == [one["b"] or "" for one in said]
    assert [f"{at}"[:23] + "+00:00" for at in found["at"]] == [one["at"] for one in said]


def test_plain_lines_are_split():
    rows = [("1", '"t"', "null", TIME), ("-2.5e3", "null", "0.5", TIME)]
    found = columns_of("".join(f"{line(zip(KINDS, row, strict=True))}\n" for row in rows).encode(), KINDS)
    assert found["a"].tolist() == [1.0, -2500.0]
    assert found["b"].to_pylist() == ["t", ""]
    assert np.isnan(found["c"][0])


@pytest.mark.parametrize(
    "lines",
    [
        b'{"a": 1}\n\n{"a": 2}\n',
        b'{"a": 1}\n{"a":2}\n',
        b'{"a": 1}\n {"a": 2}\n',
        b'{"a": 1}\n{"a": 2, "a": 3}\n',
        b'{"a": 1, "a": 2}\n',
        b'{"z": 1}\n',
        b'["a": 1}\n',
        b'{"a": 1]\n',
        b'{"a": 1\n',
        b"{}\n",
        b"\n",
        b'{"a": 1}\n{"c": 1}\n',
        b'{"a": +1}\n',
        b'{"a": 1}\n{"a": +0.5e1}\n',
    ],
)
def test_lines_laid_out_otherwise_are_not(lines):
    with pytest.raises(Unlike):
        columns_of(lines, KINDS)


def test_line_ends_of_other_systems_are_line_ends_and_those_of_none_are_not():
    lines = b'{"a": 1}\n{"a": 2}\n'
    for text in (lines, lines[:-1], lines.replace(b"\n", b"\r\n"), b'{"a": 1}\r\n{"a": 2}'):
        columns, count, skips = read_lines(text, 0, {"a": "number"}, "a")
        assert (np.asarray(columns["a"]).tolist(), count, skips) == ([1.0, 2.0], 2, [])
    with pytest.raises(OtherLines):
        read_lines(b'{"a": 1}\r{"a": 2}\n', 0, {"a": "number"}, "a")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["null", "1", "2.5"]), st.booleans()), min_size=1, max_size=30),
    st.integers(1, 200),
)
def test_columns_grow_piece_by_piece_to_what_they_are_at_once(rows, size):
    text = "".join(
        line({"a": number, "b": '"long text"' * long or "null", "c": "7"}.items()) + "\n"
        for number, long in rows
    ).encode()
    kinds = {"a": "number", "b": "text", "c": "number"}
    (whole, count, _), (pieces, counted, _) = (
        with_pieces(lambda: read_lines(text, 0, kinds, "c"), many) for many in (1 << 20, size)
    )
    assert count == counted == len(rows)
    np.testing.assert_array_equal(whole["a"], [np.nan if one == "null" else float(one) for one, _ in rows])
    np.testing.assert_array_equal(pieces["a"], whole["a"])
    assert list(pieces["b"]) == list(whole["b"])
    assert pieces["c"].strides == whole["c"].strides == (0,)
    assert pieces["c"].tolist() == [7.0] * len(rows)


def with_pieces(read, size):
    with patch("slmopt.measured.readers._json_lines._PIECE", size):
        return read()


@given(
    st.lists(st.integers(1, 10**12), unique=True).map(sorted), st.sampled_from(["row", "table 2, row", "ü"])
)
def test_labels_are_those_of_each_number(numbers, place):
    for some in (numbers, [1, 9, 10, 99, 100, 999, 1000, 1001, 10**6]):
        assert numbered(place, np.array(some, dtype=np.int64)).tolist() == [f"{place} {at}" for at in some]


TEXTS = st.lists(st.sampled_from(["", "a", "b", "B", "c", None]), min_size=1, max_size=12)


def texts_of(values, names=("c", "a", "", "B", "b")):
    return pd.Categorical(values, categories=pd.Index(names, dtype="str"))


@given(st.data(), TEXTS)
def test_texts_are_chosen_and_changed_as_one_by_one(data, values):
    size = len(values)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    others = data.draw(st.lists(st.sampled_from(["x", "a", None]), min_size=size, max_size=size))
    plain = [None if value is None else str(value) for value in values]
    for then, other in (
        (texts_of(values), texts_of(others, ("x", "a"))),
        ("a", texts_of(values)),
        (texts_of(values), "q"),
        ("a", "b"),
    ):
        wanted = [
            (then if isinstance(then, str) else plain[at])
            if mask[at]
            else (
                other
                if isinstance(other, str)
                else (others if other is not then and len(other.categories) == 2 else plain)[at]
            )
            for at in range(size)
        ]
        assert [None if pd.isna(one) else one for one in choose(mask, then, other)] == wanted
    upper = map_text(texts_of(values), str.upper)
    assert [None if pd.isna(one) else one for one in upper] == [
        value.upper() or None if value else None for value in plain
    ]
    assert list(upper.categories) == ["C", "A", "B"]


@given(st.lists(st.sampled_from([np.nan, 1.0, 2.0, np.inf]), min_size=1, max_size=6))
def test_numbers_that_are_none_give_way(values):
    column, others = np.array(values), np.arange(len(values), dtype=float)
    wanted = np.where(np.isfinite(column), column, others)
    np.testing.assert_array_equal(first_of(column, others), wanted)
    alike = np.broadcast_to(column[:1], len(values))
    np.testing.assert_array_equal(first_of(alike, others), np.where(np.isfinite(alike), alike, others))
    assert once(np.sqrt, alike).strides == (0,)
    np.testing.assert_array_equal(once(np.add, alike, others), alike + others)


@given(
    st.lists(
        st.tuples(st.integers(-3, 3), st.sampled_from([0.0, 0.5, 1e18, -np.inf]), st.booleans()), max_size=20
    )
)
def test_distinct_rows_of_numbers_of_any_kind(rows):
    for size in (1 << 15, 3):
        with in_pieces(size, 1):
            each_distinct_row(rows)


def each_distinct_row(rows):
    columns = [
        np.array([row[at] for row in rows], dtype=kind) for at, kind in enumerate((float, float, bool))
    ]
    for taken in ([0], [1], [0, 2], [0, 1, 2]):
        codes, first = distinct((columns[at] for at in taken), len(rows))
        keys = [tuple(row[at] for at in taken) for row in rows]
        known = list(dict.fromkeys(keys))
        assert [keys[at] for at in first] == known
        assert [known[code] for code in codes] == keys


@given(st.lists(st.integers(0, 20), max_size=40), st.sampled_from([20, 3]))
def test_parts_are_looked_for_or_sorted(codes, count):
    some = np.array([code % count for code in codes], dtype=np.int64)
    found = [at.tolist() for at in members(some, count)]
    assert found == [[at for at, code in enumerate(some) if code == part] for part in range(count)]


@given(TEXTS)
def test_categories_that_are_one_of_some_texts(values):
    found = one_of(pd.Series(texts_of(values)), ("a", "c", "z"))
    assert found.tolist() == [value in ("a", "c") for value in values]


@given(st.lists(st.sampled_from([np.nan, 1.0, 2.5, 2.5, 4.0, -3.0, np.inf]), max_size=9))
def test_the_median_is_that_of_the_numbers(values):
    np.testing.assert_equal(median(np.array(values)), pd.Series(values, dtype="float64").median())


@given(st.lists(st.booleans(), min_size=1, max_size=8))
def test_requests_of_a_level_are_the_same_as_a_stretch_and_as_a_choice(chosen):
    records = [{"kind": "timed", "level": f"{at}", "ttft_s": float(at)} for at in range(len(chosen))]
    found = Requests.of(records).at(np.array(chosen))
    wanted = [at for at, held in enumerate(chosen) if held]
    assert found["ttft_s"].tolist() == wanted
    assert found.level.tolist() == [f"{at}" for at in wanted]
    assert len(found) == len(wanted)


@given(st.lists(st.sampled_from([0.25, 0.5, 0.75, 3.0, 1e-3]), min_size=1, max_size=230))
def test_percentiles_of_one_partition_are_those_of_each(times):
    rows = [{"kind": "timed", "level": "a", "ttft_s": one, "at_s": 0.0} for one in times]
    (found,) = summaries(rows)
    assert found.ttft == (float(np.median(times)), percentile(times, 0.95), percentile(times, 0.99))


COUNT = st.sampled_from([np.nan, 0.0, 0.4, 1.0, 1.5, 2.0, 512.0, 512.4, 1e6, np.inf, -1.0])


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["decode", "prefill", "serving", "mixed", ""]), *[COUNT] * 5),
        min_size=2,
        max_size=12,
    )
)
def test_tests_agree_in_their_codes_where_they_have_the_same_name(rows):
    columns = dict(zip(("phase", *CARRIED.values()), map(list, zip(*rows, strict=True)), strict=True))
    table = make_rows(columns, len(rows))
    carried = pd.DataFrame({"phase": table["phase"], **{name: table[own] for name, own in CARRIED.items()}})
    names = named(carried)["test"].tolist()
    codes = list(zip(*(column.tolist() for column in codes_of_tests(carried)), strict=True))
    for at, (name, code) in enumerate(zip(names, codes, strict=True)):
        for other, another in zip(names[:at], codes[:at], strict=True):
            assert (name == other) == (code == another)


HEAD = "model,weights,device,phase,batch,concurrency,prompt_tokens,output_tokens,depth_tokens,tokens_per_s,tpot_ms,spread,note"


def odd_file(size=300):
    rng = np.random.default_rng(11)
    parts = [
        ["Llama-3.1-8B-Instruct", "gpt-oss-20b", "Mystery-7B", ""],
        ["Q4_K_M", "fp8", "AWQ", "odd", ""],
        ["NVIDIA H100 80GB HBM3", "NVIDIA GeForce RTX 4090", "AMD EPYC 9554", ""],
        ["decode", "prefill", "mixed", "serving", "", "nonsense"],
        ["1", "2", "64", ""],
        ["1", "16", ""],
        ["0", "128", "512.5", "", "n/a"],
        ["0", "1", "128", "300", ""],
        ["0", "1000", ""],
        ["50", "1234.5", "0", "-3", "oom", "~20", "1e9"],
        ["5.5", "", "0"],
        ["0.01", "0.3", ""],
        ["", "cold", "extrapolated", '"a ""quoted"" note"', "<b>"],
    ]
    return "\n".join([HEAD, *(",".join(rng.choice(part) for part in parts) for _ in range(size))]).encode()


@contextmanager
def in_pieces(size, few):
    """Pieces of so many rows, more of them than ``few`` at the same time."""
    with ExitStack() as held:
        for module in ("pieces", "distinct", "timed"):
            held.enter_context(patch(f"slmopt.measured.{module}.PIECE", size))
        held.enter_context(patch("slmopt.measured.pieces._FEW", few))
        yield


@pytest.mark.parametrize(
    "facts", [None, Facts(device="h100-sxm-80gb", model="llama-3.1-8b", weights="q8_0", batch=4.0)]
)
def test_rows_judged_in_pieces_are_judged_as_at_once(facts):
    read = read_benchmark("odd.csv", odd_file())
    found = []
    for piece, few in ((1 << 20, 4), (7, 0)):
        with in_pieces(piece, few):
            judged = compare(read.rows, facts)
            rows = joined(read.rows, judged)
            found.append((judged.rows, judged.skipped, named(rows), listed(rows)))
    for whole, pieces in zip(*found, strict=True):
        pd.testing.assert_frame_equal(whole, pieces, check_exact=True)
    assert found[0][0]["fraction"].notna().sum() > 20


def test_units_hold_in_works_that_run_at_the_same_time():
    with units.using(units.chosen("GiB", "tokens/s")):
        asked = units.now()
        assert asked != units.USUAL
        assert at_once(1 << 20, [units.now] * 3) == [asked] * 3


def test_what_a_piece_finds_wrong_is_told():
    with (
        in_pieces(7, 0),
        patch("slmopt.measured.claims._claims", side_effect=ArithmeticError("odd")),
        pytest.raises(ArithmeticError, match="odd"),
    ):
        compare(read_benchmark("odd.csv", odd_file(50)).rows)


def test_rows_that_are_there_twice_are_those_that_agree_in_all():
    rows = read_benchmark("odd.csv", odd_file()).rows
    twice = pd.concat([rows, rows.iloc[:7]], ignore_index=True)
    wanted = [name for name in rows.columns if name not in ("source_file", "row")]
    (found,) = duplicates(twice)
    assert found.rows >= int(twice.duplicated(wanted).sum()) >= 7
    assert not duplicates(rows.drop_duplicates(["tokens_per_s", "tpot_s"]))
