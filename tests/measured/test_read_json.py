"""JSON as people have it: whole, by lines, concatenated, cut off, with bare NaN, nested absurdly deep."""

from __future__ import annotations

import json
import math
import time

import pytest

from slmopt.measured.detect import read_benchmark
from slmopt.measured.readers._json import decode_json, get, number, text_of
from slmopt.measured.text import UnreadableFile


def values(text: str) -> list[object]:
    return [value for _, value in decode_json("f", text).items]


def test_an_array_of_objects_comes_as_its_objects():
    assert decode_json("f", '[{"a": 1}, {"a": 2}]').items == [("item 1", {"a": 1}), ("item 2", {"a": 2})]


def test_lines_and_pretty_objects_one_after_another():
    text = '{"a": 1}\n\n{\n  "a": 2\n}\n{"a": 3}'
    assert decode_json("f", text).items == [("line 1", {"a": 1}), ("line 3", {"a": 2}), ("line 6", {"a": 3})]


def test_banners_and_log_lines_are_passed_over():
    text = '[12:30:01] starting\nDevice 0: X, {odd}\n{"a": 1}\n[INFO] done\n'
    assert values(text) == [{"a": 1}]


def test_a_broken_line_among_good_ones_is_listed():
    found = decode_json("f", '{"a": 1}\n{"a": \n{"a": 3}\n')
    assert [value for _, value in found.items] == [{"a": 1}, {"a": 3}]
    assert [(skip.row, "not complete" in skip.why) for skip in found.skips] == [("line 2", True)]


def test_an_array_cut_off_keeps_its_whole_entries():
    text = json.dumps([{"a": 1, "b": [1, 2]}, {"a": 2, "b": [3, 4]}, {"a": 3, "b": [5, 6]}], indent=1)
    for cut in range(text.index('"a": 3'), len(text) - 1):
        found = decode_json("f", text[:cut])
        assert [value for _, value in found.items] == [{"a": 1, "b": [1, 2]}, {"a": 2, "b": [3, 4]}], cut
        assert found.warnings


def test_an_object_cut_off_keeps_what_stands_before_the_cut():
    found = decode_json("f", '{"a": {"mean": 1.5, "unit": "s"}, "b": {"values": [1, 2, 3')
    assert found.items == [("item 1", {"a": {"mean": 1.5, "unit": "s"}, "b": {"values": [1, 2]}})]
    assert "cut off" in found.warnings[0]


def test_a_cut_inside_a_text_is_found_too():
    assert values('{"a": 1, "b": "x, y') == [{"a": 1}]


def test_nothing_before_the_cut_is_listed():
    found = decode_json("f", '{"a')
    assert not found.items
    assert found.skips


def test_bare_nan_and_infinity_are_read_as_missing_and_said():
    found = decode_json("f", '{"a": NaN, "b": Infinity, "c": -Infinity, "d": 1}')
    assert "1 NaN, 1 Infinity, 1 -Infinity" in found.warnings[0]
    value = found.items[0][1]
    assert [math.isnan(number(value, name)) for name in "abcd"] == [True, True, True, False]


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000])
def test_deep_nesting_is_refused_in_a_sentence(text):
    with pytest.raises(UnreadableFile, match="deep"):
        decode_json("f", text)


def test_a_number_of_many_digits_is_no_crash():
    assert values('{"a": ' + "9" * 5000 + '}\n{"a": 2}') == [{"a": 2}]


def test_hostile_lines_stay_linear():
    text = '{"a": 1,\n' * 200 + '{"a": }\n' * 40_000
    start = time.process_time()
    decode_json("f", text)
    assert time.process_time() - start < 20


def test_paths():
    value = {"a": [{"b": "1.5"}], "t": True, "big": 10**400}
    assert get(value, "a", 0, "b") == "1.5"
    assert get(value, "a", 3, "b") is None
    assert number(value, "a", 0, "b") == 1.5
    assert math.isnan(number(value, "t"))
    assert math.isnan(number(value, "big"))
    assert text_of(value, "t") == ""
    assert text_of({"x": 3}, "x") == "3"


def test_json_of_no_tool_names_its_keys():
    with pytest.raises(UnreadableFile, match="keys: some, thing"):
        read_benchmark("x.json", b'{"some": 1, "thing": 2}')


def test_a_document_with_a_json_example_and_a_table_gives_both():
    table = "| model | size | params | backend | test | t/s |\n|-|-|-|-|-|-|\n| llama 1B F16 | 2 GiB | 1 B | CPU | tg128 | 20 ± 1 |\n"
    ollama = '{"eval_count": 10, "eval_duration": 1000000000}'
    found = read_benchmark("x.md", f"# Results\n\n```\n{ollama}\n```\n\n{table}".encode())
    assert found.rows["tool"].tolist() == ["ollama", "llama-bench"]
    found = read_benchmark("x.md", ('# Results\n\n```\n{\n  "some": 1\n}\n```\n\n' + table).encode())
    assert found.rows["tool"].tolist() == ["llama-bench"]


def test_a_log_that_begins_with_a_bracket_is_no_json():
    log = "[12:30:01] llama_print_timings:        eval time =   100.00 ms /     10 runs   (   10.00 ms per token,   100.00 tokens per second)\n"
    assert read_benchmark("x.log", log.encode()).rows["tokens_per_s"].tolist() == [100]
    with pytest.raises(UnreadableFile, match="begins like JSON"):
        read_benchmark("x.json", b'{"a')


def test_values_of_several_tools_in_one_file():
    lines = [
        {
            "pp": 64,
            "tg": 16,
            "pl": 1,
            "n_kv": 80,
            "t_pp": 0.2,
            "speed_pp": 320.0,
            "t_tg": 0.2,
            "speed_tg": 80.0,
        },
        {"eval_count": 10, "eval_duration": 10**9, "prompt_eval_count": 5, "prompt_eval_duration": 10**8},
        {"hello": 1},
    ]
    found = read_benchmark("x.jsonl", "\n".join(map(json.dumps, lines)).encode())
    assert found.format == "llama-batched-bench jsonl + ollama json"
    assert found.rows["tool"].tolist() == ["llama-batched-bench"] * 2 + ["ollama"] * 2
    assert found.skipped["why"].tolist() == ["a JSON value that no reader knows"]
