"""A sweep: every combination once, the same to the bit however it is computed, and it goes on where it stopped."""

from __future__ import annotations

import importlib.util

import pandas as pd
import pytest

from slmopt.serving.simulate import Cancelled
from slmopt.specs.base import SpecError
from slmopt.sweep import run
from slmopt.sweep.grid import EVALUATED, SIMULATED, Grid, block, grid, point
from slmopt.sweep.run import sweep
from slmopt.theory.evaluation import evaluate
from tests.cli.command import CARD, MODEL_7B, call

SMALL = Grid(
    models=("llama-3.2-1b", "article-7b"),
    devices=("rtx-4090", "article-80gb"),
    batches=(1, 4, 8),
    contexts=(300, 900),
    policies=("continuous", "static"),
    requests=12,
    output=40,
)


@pytest.fixture(scope="module")
def here() -> pd.DataFrame:
    """All points in this process."""
    return pd.DataFrame(block(SMALL.model_dump_json(), 0, len(SMALL)))


def identical(one: pd.DataFrame, two: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(one, two, check_exact=True)


def test_every_combination_is_a_row_once(here):
    assert len(here) == len(SMALL) == 48
    asked = ["model", "device", "weights", "cache", "batch", "context", "policy"]
    assert not here.duplicated(asked).any()
    assert (here["error"] == "").all()
    assert here[list(EVALUATED + SIMULATED)].notna().all(axis=None)


def test_a_row_holds_what_evaluate_says(here):
    row = here[(here["batch"] == 8) & (here["context"] == 900)].iloc[0]
    from slmopt.specs.scenario import scenario

    made = scenario({"model": "llama-3.2-1b", "device": "rtx-4090", "batch": 8, "prompt": 860, "output": 40})
    assert row["device_ceiling_tokens_per_s"] == evaluate(made).ceiling.device_tokens_per_s


def test_local_processes_give_the_same_to_the_bit(here, tmp_path):
    out = tmp_path / "sweep.parquet"
    seen: list[float] = []
    found = sweep(SMALL, out, workers=2, progress=lambda share: seen.append(share) is None)
    identical(found, here)
    identical(pd.read_parquet(out), here)
    assert seen[-1] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["sweep.parquet"]


@pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="Dask is an optional extra")
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::UserWarning")
def test_a_cluster_of_processes_gives_the_same_to_the_bit(here, tmp_path):
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        found = sweep(SMALL, tmp_path / "sweep.parquet", cluster=cluster.scheduler_address)
    identical(found, here)


def in_this_process(monkeypatch, computed: list[int]) -> None:
    """Blocks without processes, so that what is computed can be counted."""

    def work(text, blocks):
        for one in blocks:
            computed.append(one[0])
            yield one, block(text, *one)

    monkeypatch.setattr(run, "_on_processes", lambda _workers: work)


def test_a_stopped_sweep_goes_on_where_it_stopped(here, tmp_path, monkeypatch):
    computed: list[int] = []
    in_this_process(monkeypatch, computed)
    out = tmp_path / "sweep.parquet"
    with pytest.raises(Cancelled):
        sweep(SMALL, out, progress=lambda share: share < 0.5)
    assert computed == [0, 16]
    assert not out.exists()
    identical(sweep(SMALL, out), here)
    assert computed == [0, 16, 32]
    identical(sweep(SMALL, out), here)
    assert computed == [0, 16, 32], "what is finished is not computed again"


def test_another_sweep_does_not_take_its_place(tmp_path, monkeypatch):
    in_this_process(monkeypatch, [])
    out = tmp_path / "sweep.parquet"
    sweep(SMALL, out)
    with pytest.raises(SpecError, match="holds another table"):
        sweep(SMALL.model_copy(update={"seed": 1}), out)
    out.write_bytes(b"no table")
    with pytest.raises(SpecError, match="no Parquet file"):
        sweep(SMALL, out)


def test_a_point_without_an_answer_says_why():
    row = point(SMALL, ("llama-3.2-1b", "no-such-device", "q4_k_m", "f16", 1, 300, None))
    assert "no-such-device" in row["error"]
    assert row.keys() == point(SMALL, SMALL.combinations()[0]).keys()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"models": []}, "at least 1"),
        ({"batches": [0]}, "batches"),
        ({"batches": list(range(1, 2000)), "contexts": list(range(2, 2000))}, "at most 1,000,000"),
    ],
)
def test_what_is_no_grid_is_one_sentence(values, words):
    with pytest.raises(SpecError, match=words):
        grid({"models": ["llama-3.2-1b"], "devices": ["rtx-4090"], **values})


def test_no_scheduler_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(SpecError, match="slmopt\\[cluster\\]"):
        sweep(SMALL, tmp_path / "sweep.parquet", cluster="tcp://127.0.0.1:1")


COMMAND = ("sweep", "--model", MODEL_7B, "--device", CARD, "--weights", "16", "8", "--batch", "1", "16")


def test_the_command_writes_parquet(tmp_path, monkeypatch):
    in_this_process(monkeypatch, [])
    out = tmp_path / "grid.parquet"
    answer = call(*COMMAND, "--out", str(out), "--json")
    assert answer.code == 0, answer.err
    assert answer.json["points"] == 4
    assert pd.read_parquet(out)["device_ceiling_tokens_per_s"].tolist()[0] == pytest.approx(
        2e12 / (14e9 + 2200 * 524_288)
    )


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        ("--out grid.csv", "ends in .parquet"),
        ("--out /no/such/folder/grid.parquet", "does not exist"),
        ("--out grid.parquet --workers 0", "--workers = 0"),
        ("--out grid.parquet --requests 0", "--requests = 0"),
        ("", "--out"),
    ],
)
def test_bad_input_is_one_line(flags, named, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = call(*COMMAND, *flags.split())
    assert answer.code == 2
    assert named in answer.err
    assert answer.err.count("\n") == 1
