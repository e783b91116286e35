"""Every sample file loads with the values that its index implies, or is refused for the reason that it gives.

``samples_expected.tsv`` holds for each file its format, how many rows came out and how many were left out, and the numbers of
its first row, held against the file and its index note by hand.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from slmopt.measured.detect import read_benchmark, read_many
from slmopt.measured.table import ReadResult
from slmopt.measured.table_columns import DTYPES, NAMES
from slmopt.measured.text import UnreadableFile
from tests.shared import SHARED

SAMPLES = SHARED / "samples"
OWN = SHARED / "measured" / "this_machine"


@dataclass(frozen=True)
class Expected:
    """What a file gives; a format 'refused: …' is the sentence that refuses it."""

    form: str
    rows: int
    skipped: int
    first: dict[str, object]

    @property
    def refused(self) -> str:
        return self.form.removeprefix("refused: ") if self.form.startswith("refused: ") else ""


def expectations() -> dict[str, Expected]:
    path = Path(__file__).parent / "samples_expected.tsv"
    with path.open(encoding="utf-8", newline="") as stream:
        return {
            row["file"]: Expected(
                row["format"], int(row["rows"]), int(row["skipped"]), json.loads(row["first_row"])
            )
            for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        }


NOT_IN_THE_FOLDER = {"derived/8.csv"}
EXPECTED = expectations()


def index() -> dict[str, str]:
    with (SAMPLES / "INDEX.tsv").open(encoding="utf-8", newline="") as stream:
        return {row["file"]: row["what_is_unusual"] for row in csv.DictReader(stream, delimiter="\t")}


def read(name: str) -> ReadResult:
    return read_benchmark(name, (SAMPLES / name).read_bytes())


def test_every_file_of_the_index_is_expected():
    assert set(index()) == set(EXPECTED) | NOT_IN_THE_FOLDER
    assert not any((SAMPLES / name).exists() for name in NOT_IN_THE_FOLDER)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_sample(name):
    expected = EXPECTED[name]
    if expected.refused:
        with pytest.raises(UnreadableFile) as caught:
            read(name)
        assert expected.refused in str(caught.value)
        assert "\n" not in str(caught.value)
        return
    found = read(name)
    rows = found.rows
    assert (found.format, len(rows), len(found.skipped)) == (expected.form, expected.rows, expected.skipped)
    assert tuple(rows.columns) == NAMES
    assert {column: str(rows[column].dtype) for column in NAMES} == DTYPES
    for column, value in expected.first.items():
        assert rows[column].iloc[0] == (
            pytest.approx(value, rel=1e-4) if isinstance(value, float) else value
        ), column
    plausible(found)


def plausible(found: ReadResult) -> None:
    """No zero speeds or times, no TTFT of weeks, whole counts not negative."""
    rows = found.rows
    for column in ("tokens_per_s", "ttft_s", "tpot_s", "itl_s", "e2e_s"):
        values = rows[column].dropna()
        assert (values > 0).all(), column
    assert (rows["ttft_s"].dropna() < 3600).all()
    assert (rows["tpot_s"].dropna() < 60).all()
    for column in ("prompt_tokens", "output_tokens", "depth_tokens", "failures", "requests"):
        assert (rows[column].dropna() >= 0).all(), column
    assert rows["row"].notna().all()


def test_the_official_examples_that_are_shifted_are_left_out():
    found = read("llama-bench/15.csv")
    assert set(found.skipped["why"].str[:28]) == {"27 values under 26 column nam"[:28]}


def test_silent_failures_are_no_successes():
    row = read("vllm-serve/1.json").rows.iloc[0]
    assert (row["requests"], row["failures"]) == (621, 379)
    assert row["ttft_s"] > 1.4864  # the mean in the file holds 379 zeros


def test_doubled_rows_are_remarked():
    rows = read("handmade/1.csv").rows
    doubled = rows[rows["note"].astype("str").str.contains("2.0 ×")]
    assert len(doubled) == 19
    assert doubled["tokens_per_s_basis"].isna().all()
    assert (rows["tokens_per_s_basis"] == "mixed").sum() == 74


def test_per_gpu_numbers_become_those_of_the_server():
    row = read("inferencex/1.json").rows.iloc[0]
    assert row["tokens_per_s"] == pytest.approx(8 * 17.57057269511527)
    assert row["itl_s"] > 2 * row["tpot_s"]  # speculation: chunks hold several tokens


def test_tpot_is_never_taken_from_chunks():
    row = read("vllm-serve/9.log").rows.iloc[0]
    assert [row["tpot_s"], row["itl_s"]] == pytest.approx([0.01212, 0.02818])
    assert row["acceptance"] == pytest.approx(0.4445)
    assert row["draft_tokens"] == 3
    assert row["tokens_per_pass"] == 2.33


def test_cold_and_warm_prompts_are_told_apart_by_cached_tokens():
    rows = read("asiai/1.json").rows
    assert rows["cached_tokens"].tolist()[:2] == [0, 7527]
    assert rows["note"].tolist()[:2] == ["cold", "warm"]


def test_speculation_on_a_server_and_its_baseline():
    with_drafts, without = read("llama-server/1.json").rows, read("llama-server/2.json").rows
    assert with_drafts["acceptance"].mean() == pytest.approx(0.744, abs=0.01)
    assert without["acceptance"].isna().all()


def test_interpolated_values_are_no_measurements():
    assert set(read("handmade/20.json").skipped["why"].str[:9]) == {"estimated"}


def test_units_in_cells_links_and_footnotes():
    rows = read("handmade/19.md").rows
    assert rows["device"].tolist()[1] == "Pi CM5 - 16GB (Nvidia RTX 4090)"
    assert "DeepSeek" in str(rows["note"].iloc[0])


def test_models_devices_and_sizes_of_a_wide_table():
    rows = read("handmade/18.md").rows
    two = rows[(rows["device"] == "3090 24GB") & (rows["device_count"] == 2)]
    assert 108.07 in two["tokens_per_s"].tolist()
    assert set(rows["phase"]) == {"decode", "prefill"}


def test_the_same_table_in_other_wrappings_reads_the_same():
    plain = read("vllm-serve/4.csv").rows
    for name in ("derived/2.txt", "derived/4.csv"):
        other = read(name).rows
        assert other["tokens_per_s"].tolist()[:15] == plain["tokens_per_s"].tolist()
        assert other["ttft_s"].tolist()[:15] == plain["ttft_s"].tolist()
    german, point = read("derived/3.csv").rows, read("vllm-serve/8.csv").rows
    assert german["ttft_s"].tolist() == point["ttft_s"].tolist()
    assert read("derived/22.csv").rows["ttft_s"].tolist() == pytest.approx(point["ttft_s"].tolist())
    across = read("derived/10.csv").rows
    assert across["tokens_per_s"].tolist()[:3] == plain["tokens_per_s"].tolist()[:3]
    assert (
        read("derived/18.csv.gz").rows["tokens_per_s"].tolist()
        == read("localscore/2.tsv").rows["tokens_per_s"].tolist()
    )


def test_genai_perf_agrees_with_itself_in_csv_and_json():
    text, tree = read("genai-perf/1.csv").rows.iloc[0], read("genai-perf/2.json").rows.iloc[0]
    for column in ("ttft_s", "tpot_s", "e2e_s", "tokens_per_s", "ttft_p99_s"):
        assert text[column] == pytest.approx(tree[column], rel=1e-3)


def test_aiperf_agrees_with_itself_in_json_lines_and_console():
    tree, box, lines = (read(f"aiperf/{name}").rows for name in ("4.json", "6.txt", "5.jsonl"))
    assert box["ttft_s"].iloc[0] == pytest.approx(tree["ttft_s"].iloc[0], rel=1e-3)
    assert lines["ttft_s"].mean() == pytest.approx(tree["ttft_s"].iloc[0], rel=1e-3)
    assert lines["tpot_s"].mean() == pytest.approx(tree["tpot_s"].iloc[0], rel=1e-2)


def test_guidellm_naming_is_the_other_way_round():
    for name in ("guidellm/2.csv", "guidellm/3.json", "guidellm/7.json"):
        rows = read(name).rows
        expected = (rows["e2e_s"] - rows["ttft_s"]) / (rows["output_tokens"] - 1)
        assert rows["tpot_s"].to_numpy() == pytest.approx(expected.to_numpy(), rel=0.12)


def test_a_report_joined_with_its_configuration():
    files = [(f"run/{at}.json", (SAMPLES / f"optimum-benchmark/{at}.json").read_bytes()) for at in (2, 3)]
    rows = read_many(files).rows
    assert rows["tokens_per_s"].tolist()[0] == pytest.approx(64 / 0.0747911, rel=1e-3)
    assert set(rows["device"]) == {"NVIDIA H100 80GB HBM3"}


def test_all_samples_at_once_as_one_archive():
    stream = io.BytesIO()
    small = [name for name in EXPECTED if (SAMPLES / name).stat().st_size < 100_000]
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in small:
            archive.write(SAMPLES / name, name)
    found = read_benchmark("all.zip", stream.getvalue())
    wanted = sum(EXPECTED[name].rows for name in small)
    assert len(found.rows) == wanted
    refused = {name for name in small if EXPECTED[name].refused}
    whole = found.skipped[found.skipped["row"] == "whole file"]
    assert {name.removeprefix("all.zip/") for name in whole["source_file"]} >= refused


# --- The sweep made for this project -------------------------------------------------------------------------------------


def own(name: str) -> ReadResult:
    return read_benchmark(name, (OWN / name).read_bytes())


@pytest.mark.parametrize("path", sorted(OWN.glob("llama-bench_*.jsonl")), ids=lambda path: path.name)
def test_own_llama_bench_lines_and_csv_agree(path):
    lines = own(path.name).rows
    assert len(lines) == len(path.read_text().splitlines())
    table = path.with_suffix(".csv")
    if table.exists():
        other = own(table.name).rows
        for column in (
            "tokens_per_s",
            "depth_tokens",
            "threads",
            "weight_bytes",
            "cache_k",
            "phase",
            "tpot_s",
        ):
            assert other[column].astype("str").tolist() == lines[column].astype("str").tolist(), column


def test_own_formats_of_one_run():
    rows = {ending: own(f"llama-bench_135m_formats.{ending}").rows for ending in ("json", "sql", "md")}
    assert rows["md"]["tokens_per_s"].tolist() == pytest.approx(
        rows["sql"]["tokens_per_s"].tolist(), rel=1e-4
    )
    for found in rows.values():  # the JSON is of another run
        assert found["phase"].tolist() == ["prefill", "decode"]
        assert found["weight_bytes"].tolist() == pytest.approx([89941248] * 2, rel=1e-3)
        assert set(found["weight_format"]) == {"Q4_0"}


def test_own_spread_shows_the_busy_run():
    rows = own("llama-bench_135m_Q8_0_depth.jsonl").rows
    assert rows["spread"].max() > 0.7


def test_own_cache_formats():
    rows = own("llama-bench_135m_Q8_0_fa_kv.csv").rows
    assert set(rows["cache_k"]) == {"F16", "Q8_0"}
    assert set(rows["flash_attention"]) == {"on"}


def test_own_batched_bench_step_times():
    rows = own("batched-bench_135m_Q8_0_t2.jsonl").rows
    decode = rows[rows["phase"] == "decode"]
    assert decode["batch"].tolist() == [1, 2, 4, 8, 16, 32]
    assert (decode["batch"] / decode["tpot_s"]).to_numpy() == pytest.approx(
        decode["tokens_per_s"].to_numpy(), rel=1e-3
    )


def test_own_server_runs():
    rows = own("server_135m_Q8_0_prefix_cache1.jsonl").rows
    warm = rows[rows["cached_tokens"] == 960]
    assert (warm[warm["phase"] == "prefill"]["depth_tokens"] == 960).all()
    client = rows[rows["clock"] == "client"]
    assert client["ttft_s"].median() == pytest.approx(0.175, abs=0.005)
    log = own("llama-server_135m_Q8_0.log").rows
    assert log["conversion"].astype("str").str.contains("one step less").sum() > 50
    assert len(own("server_135m_Q8_0_conc1.sse.txt").rows)


def test_own_llama_benchy_agrees_in_its_three_layouts():
    tree = own("llama-benchy_135m_Q8_0.json").rows
    assert len(tree) == 8
    fed_again = tree[(tree["phase"] == "prefill") & (tree["prompt_tokens"] == 768)]
    assert len(fed_again) == 2
    assert len(own("llama-benchy_135m_Q8_0.csv").rows) == 4
    assert own("llama-benchy_135m_Q8_0.md").rows["depth_tokens"].tolist() == [0, 512, 512, 512]


def test_own_step_times_and_torch_table():
    steps = own("libllama_step_times_t2.csv").rows
    assert steps["tokens_per_s"].iloc[0] == pytest.approx(1 / 0.007028)
    torch = own("torch_transformers_eager_cpu.csv")
    assert torch.format == "plain csv"
    assert set(torch.rows["phase"]) == {"serving"}
    assert not np.isnan(torch.rows["tpot_s"]).any()


@pytest.mark.parametrize(
    "name",
    [
        "stream_omp_t1.csv",
        "mem_bandwidth_1thread_cputime.csv",
        "server_load.csv",
        "sumup.txt",
        "server_135m_Q8_0_metrics.prom",
    ],
)
def test_own_files_that_are_no_results_are_refused(name):
    with pytest.raises(UnreadableFile):
        own(name)
