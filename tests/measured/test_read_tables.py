"""Tables that people make: names, units, separators, layouts; what is guessed is said, and can be said otherwise."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from slmopt.measured.detect import read_benchmark
from slmopt.measured.readers._cells import parameters, parse_number, parse_time, size_bytes
from slmopt.measured.readers._delimited import Sheet
from slmopt.measured.readers._names import read_name
from slmopt.measured.readers._sheets import find_sheets
from slmopt.measured.readers.mapping import Mapping, apply_mapping, guess_mapping, preview
from slmopt.measured.readers.sources import tables_in
from slmopt.measured.table_columns import NAMES
from slmopt.measured.text import UnreadableFile, decode
from tests.measured.test_read_spreadsheets import sheet_xml, workbook
from tests.measured.test_read_table import assert_schema


def read(text):
    found = read_benchmark("f.csv", text.encode())
    assert_schema(found.rows)
    return found


def sheet_of(text) -> Sheet:
    return find_sheets(decode("f.csv", text.encode()))[0]


@pytest.mark.parametrize(
    ("cell", "decimal", "value", "sd", "unit"),
    [
        ("1,786.17 ± 19.42", ".", 1786.17, 19.42, ""),
        ("~20", ".", 20, None, ""),
        ("35 tok/s", ".", 35, None, "tok/s"),
        ("92.49 Tokens/s", ".", 92.49, None, "Tokens/s"),
        ("**144.49**", ".", 144.49, None, ""),
        ("26.0%", ".", 26, None, "%"),
        ("3.5X", ".", 3.5, None, "X"),
        ("1e-9", ".", 1e-9, None, ""),
        ("-5", ".", -5, None, ""),
        ("\t2048", ".", 2048, None, ""),
        ("1.589,18", ",", 1589.18, None, ""),
        ("2\u202f325,73", ",", 2325.73, None, ""),
        ("1 024,00", ",", 1024, None, ""),
        ("1'234.5", ".", 1234.5, None, ""),
        ("12,34", ".", None, None, ""),  # no group of three: not a number here
        ("1.2.3", ".", None, None, ""),
        ("OOM", ".", None, None, ""),
        ("", ".", None, None, ""),
        ("inf", ".", None, None, ""),
        ("1e999", ".", None, None, ""),
        ("83.31<sup>1</sup>", ".", 83.31, None, ""),
        ("[49.7](https://x.y/z)", ".", 49.7, None, ""),
        ("128 474.87  474.87", ".", None, None, ""),
    ],
)
def test_numbers_in_cells(cell, decimal, value, sd, unit):
    found = parse_number(cell, decimal)
    assert (None if np.isnan(found[0]) else found[0]) == value
    assert (None if np.isnan(found[1]) else found[1]) == sd
    if value is not None:
        assert found[2] == unit


def test_sizes_and_counts():
    assert size_bytes("11.27 GiB") == 11.27 * 2**30
    assert size_bytes("85.77 MiB") == 85.77 * 2**20
    assert np.isnan(size_bytes("11 parsecs"))
    assert parameters("116.83 B") == 116.83e9
    assert parameters("134.52 M") == 134.52e6


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2025-10-28T15:42:18Z", "2025-10-28T15:42:18"),
        ("20241109-150547", "2024-11-09T15:05:47"),
        ("2025.05.24 01:45:00", "2025-05-24T01:45:00"),
        ("2026-07-09T09:15:47.824596", "2026-07-09T09:15:47.824596"),
        ("2025-01-01T00:30:00+02:00", "2024-12-31T22:30:00"),
        ("2026-06-28", "2026-06-28T00:00:00"),
        ("1776782400.956468", "2026-04-21T14:40:00"),
        ("1776782400956", "2026-04-21T14:40:00.956"),
        ("2025-13-01", None),
        ("yesterday", None),
        ("12345", None),
    ],
)
def test_times(text, expected):
    found = parse_time(text)
    assert (None if np.isnat(found) else found) == (
        None if expected is None else np.datetime64(expected, "us")
    )


@pytest.mark.parametrize(
    ("header", "field", "statistic", "unit"),
    [
        ("mean ttft (ms)", "ttft", "mean", "ms"),
        ("ttft_p50_ms", "ttft", "p50", "ms"),
        ("median_ttft_seconds", "ttft", "p50", "seconds"),
        ("ttft [ms]", "ttft", "", "ms"),
        ("1st_latency(ms)", "ttft", "", "ms"),
        ("silicon_tpot_ms", "tpot", "", "ms"),
        ("itl (p95)", "itl", "p95", ""),
        ("end_latency ", "e2e", "", ""),
        ("output_throughput", "output_speed", "", ""),
        ("out_tok_s", "output_speed", "", ""),
        ("Total Token throughput (tok/s)", "total_speed", "", ""),
        ("Eval Rate", "decode_speed", "", ""),
        ("gen_tokens_per_sec", "decode_speed", "", ""),
        ("prompt_tps", "prefill_speed", "", ""),
        ("interactivity_tok_per_sec", "user_speed", "", ""),
        ("avg_ts", "speed", "mean", ""),
        ("input_throughput", "", "", ""),  # input over the run's time is no prefill speed
        ("prompt_token_throughput", "", "", ""),
        ("effective_input_tokens_per_s", "", "", ""),
        ("Request throughput (req/s)", "", "", ""),
        ("peak output tok/s", "output_speed", "other", ""),
        ("n_batch", "", "", ""),  # a chunk size, no users
        ("n_ubatch", "chunk_tokens", "", ""),
        ("batch size", "batch", "", ""),
        ("max_concurrency", "concurrency", "", ""),
        ("parallel slots", "concurrency", "", ""),
        ("Input Output Length", "both_tokens", "", ""),
        ("osl", "output_tokens", "", ""),
        ("int8_kv_cache", "", "", ""),
        ("avgTps", "speed", "mean", ""),
        ("power (W)", "", "", ""),
        ("model", "model", "", ""),
    ],
)
def test_what_people_call_things(header, field, statistic, unit):
    name = read_name(header)
    assert name.field == field
    if field:
        assert (name.statistic, name.unit) == (statistic, unit)


PLAIN = """\
model,weights,cache,device,devices,phase,batch,prompt_tokens,output_tokens,depth_tokens,tokens_per_s,basis,ttft_ms,tpot_ms,note
a.gguf,Q4_K_M,f16,Test GPU,1,decode,1,0,128,1024,50,,,20,
b,fp8,fp8,Test GPU,2,serving,8,128,64,0,400,,120,18.5,busy
c,F16,,Test CPU,1,prefill,4,512,0,0,900,device,,,
d,F16,,Test CPU,1,mixed,4,512,64,0,900,,,,
"""


def test_the_plain_csv_is_read_without_guessing():
    found = read(PLAIN)
    rows = found.rows
    assert found.format == "plain csv"
    assert found.warnings == ()
    assert rows["phase"].tolist() == ["decode", "serving", "prefill", "mixed"]
    assert rows["tokens_per_s_basis"].tolist() == ["sequence", "device", "device", "mixed"]
    assert rows["tpot_s"].tolist()[:2] == [0.02, 0.0185]
    assert rows["ttft_s"].tolist()[1] == 0.12
    assert rows["cache_k"].tolist()[:2] == ["F16", "FP8"]
    assert rows["model"].tolist()[0] == "a"
    assert rows["note"].tolist()[1] == "busy"
    assert rows["cached_tokens"].isna().all()


def test_the_plain_csv_without_a_phase_column():
    text = (
        "prompt_tokens,output_tokens,tokens_per_s,ttft_ms\n512,0,100,\n0,64,50,\n512,64,50,\n,,50,20\n,,50,\n"
    )
    assert read(text).rows["phase"].tolist() == ["prefill", "decode", "serving", "serving", "decode"]


def test_what_was_downloaded_can_be_uploaded_again():
    rows = read(PLAIN).rows
    again = read(rows.to_csv(index=False)).rows
    for name in set(NAMES) - {"source_file", "row", "statistic"}:
        assert again[name].astype("str").tolist() == rows[name].astype("str").tolist(), name


GERMAN = "sep=;\r\nConcurrency;Output token throughput (tok/s);Mean TTFT (ms);Mean TPOT (ms)\r\n1;22,27;123,48;43,48\r\n512;767,92;14.086,51;322,78\r\n"
FRENCH = "Requêtes réussies;Durée (s);Débit de sortie (jetons/s);TTFT moyen (ms);TPOT moyen (ms)\n1,00;2,56;22,27;123,48;43,48\n512,00;38,60;767,92;14\u202f086,51;322,78\n"


@pytest.mark.parametrize(
    "text",
    [GERMAN.encode("cp1252"), FRENCH.encode(), ("\ufeff" + FRENCH).encode("utf-8"), GERMAN.encode("utf-16")],
)
def test_decimal_commas_and_thousands(text):
    rows = read_benchmark("f.csv", text).rows
    assert rows["tokens_per_s"].tolist() == [22.27, 767.92]
    assert rows["ttft_s"].tolist() == [pytest.approx(0.12348), pytest.approx(14.08651)]
    assert rows["tpot_s"].tolist() == [pytest.approx(0.04348), pytest.approx(0.32278)]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters(delimiter):
    text = "model,concurrency,output tok/s\na,1,20\nb,2,40\n".replace(",", delimiter)
    assert read(text).rows["tokens_per_s"].tolist() == [20, 40]


def test_one_bad_token_a_row():
    text = "model,concurrency,ttft_ms,tpot_ms,output_tok_s\n"
    for bad in (
        "NaN",
        "inf",
        "None",
        "#DIV/0!",
        "N/A",
        "OOM",
        "-",
        "~20",
        '"1,234.5"',
        "-5",
        "0",
        "35 tok/s",
    ):
        text += f"m,1,{bad},10,100\n"
    found = read(text)
    assert found.rows["ttft_s"].notna().tolist() == [False] * 7 + [True, True, False, False, True]
    assert found.rows["tpot_s"].tolist() == [0.01] * 12
    assert "'OOM'" in found.warnings[0]


def test_rows_of_zeros_did_not_run():
    found = read("model,ttft_ms,output_tok_s\nm,0,0\nm,10,5\n")
    assert found.skipped["row"].tolist() == ["row 1"]
    assert "no value above 0 in ttft_ms, output_tok_s" in found.skipped["why"].tolist()[0]


def test_units_in_cells_beside_columns_and_by_size():
    rows = read("model,TTFT,output tok/s\na,120 ms,5\nb,80 ms,6\n").rows
    assert rows["ttft_s"].tolist() == [pytest.approx(0.12), pytest.approx(0.08)]
    rows = read("model,ttft,ttft_unit,gen_tps,prompt_tps\na,245,ms,81.1,5126\nb,2100,ms,8,500\n").rows
    assert rows[rows["phase"] == "prefill"]["ttft_s"].tolist() == [pytest.approx(0.245), pytest.approx(2.1)]
    found = read("model,ttft,tpot,output tok/s\na,245,18,5\nb,200,20,6\n")
    assert found.rows["tpot_s"].tolist() == [pytest.approx(0.018), pytest.approx(0.02)]
    assert "ms by the size of the values" in found.warnings[0]


@pytest.mark.parametrize(
    ("speed", "basis"),
    [(1.5 * 192 * 4, "mixed"), (1.5 * 64 * 4, "device"), (1.5 * 64, "sequence"), (1234.0, None)],
)
def test_whose_tokens_a_bare_throughput_counts(speed, basis):
    text = f"input_len,output_len,batch_size,latency,throughput\n128,64,4,{1 / 1.5},{speed}\n"
    found = read(text)
    row = found.rows.iloc[0].dropna()
    assert row.get("tokens_per_s_basis") == basis
    assert any("whose tokens" in sentence for sentence in found.warnings) == (basis is None)


def test_results_doubled_for_replicas_are_remarked():
    line = "128,64,4,1.0,{}\n"
    found = read(
        "input_len,output_len,batch_size,latency,throughput\n" + line.format(768) * 5 + line.format(1536)
    )
    assert found.rows["note"].isna().tolist() == [True] * 5 + [False]
    assert "2.0 ×" in found.rows["note"].tolist()[5]


def test_counts_in_device_names():
    rows = read("GPU,decode tok/s\n3090 24GB * 4,20\n8xH100,30\nRTX 4090,40\n").rows
    assert rows["device"].tolist() == ["3090 24GB", "H100", "RTX 4090"]
    assert rows["device_count"].fillna(-1).tolist() == [4, 8, -1]


def test_transposed():
    text = "Metric,Unit,run a,run b\nconcurrency,,8,16\noutput_throughput,tok/s,100,180\nmean_ttft,ms,50,90\nmean_tpot,ms,20,25\n"
    rows = read(text).rows
    assert rows["row"].tolist() == ["column 'run a'", "column 'run b'"]
    assert rows["tokens_per_s"].tolist() == [100, 180]
    assert rows["ttft_s"].tolist() == [0.05, 0.09]
    assert rows["concurrency"].tolist() == [8, 16]


def test_wide_by_batch_size():
    found = read("model,1,2,4\na,37.6,54.8,nan\nb,0,1.3,2.3\n")
    assert found.rows["batch"].tolist() == [1, 2, 2, 4]
    assert found.rows["tokens_per_s"].tolist() == [37.6, 54.8, 1.3, 2.3]
    assert found.rows["phase"].isna().all()
    assert "say so before comparing" in found.warnings[0]
    assert found.skipped["row"].tolist() == ["row 2, column '1'", "row 1, column '4'"]


WIDE_MD = """\
Average speed (tokens/s) of generating 1024 tokens.

| GPU        | 8B Q4_K_M | 8B F16 |
|------------|-----------|--------|
| 3090 * 2   | **106.4** | OOM    |

Average 1024 tokens prompt eval speed (tokens/s).

| GPU        | 8B Q4_K_M | 8B F16 |
|------------|-----------|--------|
| 3090 * 2   | 3865.39   | 4239.64|

| GPU  | Model | tg 512 | pp 512 |
|------|-------|--------|--------|
| 3090 | 8B    | 100    | 4000   |
|      | 70B   | OOM    | 400    |
"""


def test_wide_markdown_by_model_and_by_test_with_what_the_text_says():
    found = read(WIDE_MD)
    rows = found.rows
    assert found.format == "markdown table, columns guessed"
    assert rows["phase"].tolist() == ["decode", "prefill", "prefill", "decode", "prefill", "prefill"]
    assert rows["weight_format"].tolist()[:3] == ["Q4_K_M", "Q4_K_M", "F16"]
    assert rows["device"].tolist() == ["3090"] * 6
    assert rows["prompt_tokens"].tolist()[4:] == [512, 512]
    assert len(found.skipped) == 2


def test_two_runs_side_by_side():
    found = read(
        "concurrency,fast_ttft_p50_s,fast_throughput_tok_s,slow_ttft_p50_s,slow_throughput_tok_s\n8,7.5,56.6,10.1,43.9\n16,11.8,74.9,,\n"
    )
    rows = found.rows
    assert rows["row"].tolist() == ["row 1, 'fast'", "row 2, 'fast'", "row 1, 'slow'"]
    assert rows["note"].tolist() == ["fast", "fast", "slow"]
    assert rows["tokens_per_s"].tolist() == [56.6, 74.9, 43.9]


def test_a_column_that_says_the_same_twice_is_said_to_be_left_out():
    found = read("concurrency,output tok/s,output_tokens_per_second\n8,7,9\n")
    assert found.rows["tokens_per_s"].tolist() == [7]
    assert "not read" in found.warnings[0]


def test_two_tables_in_one_file():
    text = "model,decode tok/s\na,20\n\nmodel,batch,ttft_ms,output tok/s\nb,2,30,40\n"
    found = read(text)
    assert found.rows["row"].tolist() == ["row 1", "table 2, row 1"]
    assert found.rows["model"].tolist() == ["a", "b"]


def test_comments_blank_rows_and_titles():
    text = "# made by hand\n\nMy results,,\nmodel,batch,decode tok/s\n,,\na,1,20\n# remark\nb,1,30\n"
    assert read(text).rows["tokens_per_s"].tolist() == [20, 30]


def test_an_unquoted_comma_shifts_nothing():
    found = read("model,cache,latency,output tok/s\na,fp8, KV = fp8,0.7,332\nb,fp16,0.8,300\n")
    assert found.rows["model"].tolist() == ["b"]
    assert found.skipped["why"].tolist()[0].startswith("5 values under 4 column names")


def test_cells_with_newlines_and_very_long_cells():
    text = 'prompt,ttft_ms,output tok/s\n"a\nb ""c""\n",10,5\n"' + "1, " * 60_000 + '",20,6\n'
    assert read(text).rows["ttft_s"].tolist() == [0.01, 0.02]


def test_a_quotation_mark_that_never_closes_is_no_crash():
    found = read('model,ttft_ms,output tok/s\na,10,5\n"b,20,6\nc,30,7\n')
    assert found.rows["model"].tolist() == ["a"]
    assert len(found.skipped) == 1


@pytest.mark.parametrize(
    "text",
    [
        "model,accuracy\na,0.5\nb,0.6\n",
        "a,b,c\n1,2,3\n",
        "just some prose, with commas,\nand more, of it,\n",
        "model,ttft_ms\n",
    ],
)
def test_tables_without_a_measurement_are_refused_in_one_sentence(text):
    with pytest.raises(UnreadableFile) as caught:
        read(text)
    assert "\n" not in str(caught.value)


def test_a_mapping_is_plain_data_that_can_be_changed_and_kept():
    sheet = sheet_of("name,speed of it,users\na,20,1\nb,60,4\n")
    guessed = guess_mapping(sheet)
    assert [(choice.column, choice.field) for choice in guessed.columns] == [
        ("speed of it", "speed"),
        ("users", "concurrency"),
    ]
    said = Mapping.model_validate(
        {
            "columns": [
                {"column": "name", "field": "model"},
                {"column": "speed of it", "field": "output_speed"},
                {"column": "users", "field": "concurrency"},
            ],
            "constants": {
                "device": "Test GPU",
                "weight_format": "F16",
                "device_count": 2,
                "phase": "serving",
            },
        }
    )
    kept = Mapping.model_validate_json(said.model_dump_json())
    assert kept == said
    rows = apply_mapping(sheet, kept).rows
    assert_schema(rows)
    assert rows["model"].tolist() == ["a", "b"]
    assert rows["device"].tolist() == ["Test GPU", "Test GPU"]
    assert rows["device_count"].tolist() == [2, 2]
    assert rows["tokens_per_s_basis"].tolist() == ["device", "device"]
    shown = preview(sheet, kept, 1)
    assert shown["model"].tolist() == ["a"]
    assert "ttft_s" not in shown


def test_a_guess_survives_its_way_through_json():
    for text in (
        "model,1,2\na,3,4\n",
        "Metric,a,b\nttft_ms,1,2\ntpot_ms,1,2\nconcurrency,1,2\n",
        PLAIN,
        FRENCH,
    ):
        sheet = sheet_of(text)
        guessed = guess_mapping(sheet)
        kept = Mapping.model_validate_json(guessed.model_dump_json())
        assert kept == guessed
        assert apply_mapping(sheet, kept).rows.to_csv() == apply_mapping(sheet, guessed).rows.to_csv()


def test_the_long_way_in_reads_tables_of_people_too(monkeypatch):
    monkeypatch.setattr("slmopt.measured.readers._sheets.LONG_BYTES", 0)
    rows = read_benchmark("f.csv", FRENCH.encode()).rows
    assert rows["ttft_s"].tolist() == [pytest.approx(0.12348), pytest.approx(14.08651)]
    found = read("model,ttft_ms,output tok/s\na,OOM,20\nb,10,30,40\nc,12,\n")
    assert found.rows["row"].tolist() == ["row 1", "row 3"]
    assert found.skipped["row"].tolist() == ["row 2"]


@pytest.mark.parametrize("part", [40, 100, 333, 10_000])
def test_long_files_are_cut_for_threads_outside_quotation_marks(monkeypatch, part):
    lines = [
        f'"model {n % 7}\nof two lines, ""quoted""",{n % 3},{20 + n},"{n},5",2026-01-01T00:00:0{n % 10}Z'
        for n in range(60)
    ]
    text = "model,concurrency,ttft_ms,note,timestamp\n" + "\n".join(lines) + "\n"
    short = read(text)
    monkeypatch.setattr("slmopt.measured.readers._sheets.LONG_BYTES", 0)
    monkeypatch.setattr("slmopt.measured.readers._long._PART", part)
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    long = read(text)
    assert len(long.rows) == 60
    assert long.rows.to_csv() == short.rows.to_csv()
    ragged = read(text.replace("of two lines", 'of","two', 1))
    assert len(ragged.rows) == 59
    assert ragged.skipped["row"].tolist() == ["row 1"]


def test_a_long_file_that_cannot_be_split_says_so(monkeypatch):
    monkeypatch.setattr("slmopt.measured.readers._sheets.LONG_BYTES", 0)
    monkeypatch.setattr("slmopt.measured.readers._long._BLOCK", 100)
    with pytest.raises(UnreadableFile, match="never be closed"):
        read("model,ttft_ms,output tok/s\na,1,2\n" + '"' + "b,3,4\n" * 200)


def test_tables_for_a_form_come_from_every_kind_of_file():
    assert [sheet.header for sheet in tables_in("a.csv", b"a,b\n1,2\n")] == [("a", "b")]
    assert len(tables_in("a.md", WIDE_MD.encode())) == 3
    assert tables_in("a.csv.gz", gzip.compress(b"a,b\n1,2\n"))[0].records == [["1", "2"]]
    book = workbook({"s": sheet_xml([["a", "b"], [1, 2]])})
    assert tables_in("a.xlsx", book)[0].records == [["1", "2"]]
    with pytest.raises(UnreadableFile, match="holds no table"):
        tables_in("a.txt", b"nothing at all")


def test_the_deviation_of_a_speed_becomes_its_spread():
    assert read("model,test,tps_mean,tps_std\na,tg128 @ d1024,50,1\n").rows["spread"].tolist() == [0.02]
    rows = read("|model|decode t/s|\n|-|-|\n|a|50 ± 2|\n|b|60 ± 3|\n").rows
    assert rows["spread"].tolist() == [0.04, 0.05]


def test_json_records_of_no_known_tool():
    import json

    file = {
        "model": "m-4bit", "hardware": "Test M4", "engine": "e",
        "runs": [
            {"ttft_ms": 62510, "prompt_tokens": 7528, "completion_tokens": 38, "cached_tokens": 0, "decode_tok_s": 12.0, "phase": "cold"},
            {"ttft_ms": 459, "prompt_tokens": 7528, "completion_tokens": 38, "cached_tokens": 7527, "decode_tok_s": 14.1, "phase": "warm"},
            {"ttft_ms": 100, "decode_tok_s": 14.1, "estimated": True, "estimation_method": "interpolation"},
            {"ttft_ms": None, "decode_tok_s": None, "error": True, "error_type": "oom"},
        ],
    }  # fmt: skip
    found = read(json.dumps(file))
    rows = found.rows
    assert rows["row"].tolist() == ["runs 1", "runs 2"]
    assert rows["cached_tokens"].tolist() == [0, 7527]
    assert rows["note"].tolist() == ["cold", "warm"]
    assert rows["tpot_s"].tolist()[0] == pytest.approx(1 / 12)
    assert set(rows["device"]) == {"Test M4"}
    assert [why.split(",")[0].split(" (")[0] for why in found.skipped["why"]] == [
        "estimated",
        "the run failed",
    ]


def test_cells_that_state_another_unit_than_their_neighbours():
    found = read_benchmark("f.csv", b"model,ttft,tok/s out\nm,0.2 s,35\nm,200 ms,36\nm,0.3,37\n")
    assert found.rows["ttft_s"].tolist() == pytest.approx([0.2, 0.2, 0.3])
    found = read_benchmark("f.csv", b"model,ttft (ms),tok/s out\nm,200,35\nm,0.3 s,36\nm,400 ms,37\n")
    assert found.rows["ttft_s"].tolist() == pytest.approx([0.2, 0.3, 0.4])


def test_own_units_of_a_long_file(monkeypatch):
    monkeypatch.setattr("slmopt.measured.readers._delimited.LONG_BYTES", 100)
    body = "".join(f"m,{cell},35\n" for cell in ["0.2 s", "200 ms"] * 30)
    found = read_benchmark("f.csv", f"model,ttft,tok/s out\n{body}".encode())
    assert found.rows["ttft_s"].to_numpy() == pytest.approx(0.2)


TIDY = (
    "metric;value;model;users\nTTFT (ms);120,5;m;4\nTPOT (ms);10,2;m;4\nTTFT (ms);220,5;m;8\nTPOT (ms);11,2;m;8\n"
    "TTFT (ms);221,5;m;8\nTPOT (ms);11,3;m;8\n"
)


def test_a_metric_and_its_value_a_row():
    found = read_benchmark("f.csv", TIDY.encode())
    assert found.rows["ttft_s"].tolist() == pytest.approx([0.1205, 0.2205, 0.2215])
    assert found.rows["tpot_s"].tolist() == pytest.approx([0.0102, 0.0112, 0.0113])
    assert found.rows["concurrency"].tolist() == [4, 8, 8]
    assert found.rows["row"].tolist() == ["row 1", "row 3", "row 5"]


def test_units_in_a_column_of_their_own_beside_the_values():
    text = "run,name,value,unit\na,time to first token,120,ms\na,concurrency,4,\nb,time to first token,0.3,s\nb,concurrency,8,\n"
    found = read_benchmark("f.csv", text.encode())
    assert sorted(found.rows["ttft_s"]) == pytest.approx([0.12, 0.3])


def test_batch_sizes_in_words_as_column_names():
    text = "model,batch 1,batch 2,BS=4\nm Q4_0,30 tok/s,55 tok/s,100 tok/s\n"
    found = read_benchmark("f.csv", text.encode())
    assert found.rows["batch"].tolist() == [1, 2, 4]
    assert found.rows["tokens_per_s"].tolist() == [30, 55, 100]
