"""The probe: statistics, sizes past the cache, threads stated, records that load, and accelerators through made-up libraries."""

from __future__ import annotations

import datetime as dt
import json
import sys
import types

import numpy as np
import pytest

from slmopt.measured import probe, probe_cpu, probe_mlx, probe_torch
from slmopt.measured.busy import Busy, Watch
from slmopt.measured.probe import Probed, Sample, device_records, timed
from slmopt.readers.preset_file import read_presets
from tests.cli.command import call

WHEN = dt.datetime(2026, 11, 29, tzinfo=dt.UTC)
READ = Sample("Chip", "memory read", "bandwidth", "int64", 1e9, 2, (30e9, 34e9, 32e9))
COPY = Sample("Chip", "memory copy", "bandwidth", "fp64", 1e9, 2, (20e9, 21e9))
SINGLE = Sample("Chip", "matrix product, 2,048", "rate", "fp32", 1e7, 1.98, (1.8e11, 1.9e11))
DOUBLE = Sample("Chip", "matrix product, 2,048", "rate", "fp64", 1e7, 1.98, (9e10,))


@pytest.fixture
def small(monkeypatch):
    """Buffers and matrices that take no time."""
    monkeypatch.setattr(probe_cpu, "buffer_bytes", lambda *_: 1 << 16)
    monkeypatch.setattr(probe_cpu, "SMALL_MATRIX", 8)
    monkeypatch.setattr(probe_cpu, "MATRIX", 16)
    monkeypatch.setattr(probe, "find_spec", lambda _: None)


def test_a_sample_s_statistics():
    assert (READ.median, READ.best) == (32e9, 34e9)
    assert READ.spread == pytest.approx(np.std([30, 34, 32], ddof=1) / 32)
    assert DOUBLE.spread == 0


def test_work_runs_once_untimed_and_then_at_least_as_often_as_asked():
    calls = []
    taken = timed(lambda: calls.append(1), 0.0)
    assert len(calls) == 1 + len(taken) == 1 + probe.LEAST_RUNS
    assert all(one > 0 for one in taken)
    assert len(timed(lambda: None, 1e9)) == probe.MOST_RUNS


def test_buffers_lie_past_the_last_cache_and_leave_memory_alone():
    assert probe_cpu.buffer_bytes(32 << 20, 64 << 30) == 256 << 20
    assert probe_cpu.buffer_bytes(None, 64 << 30) == 512 << 20
    assert probe_cpu.buffer_bytes(1 << 20, None) == probe_cpu.LEAST_BUFFER
    assert probe_cpu.buffer_bytes(32 << 20, 1 << 30) == 128 << 20


def test_the_record_holds_the_best_runs_and_its_note_the_medians():
    (record,) = device_records([Probed("Chip: new", "cpu", "cpu", 8e9, (READ, COPY, SINGLE, DOUBLE))], WHEN)
    assert record["bandwidth_gbs"] == 34
    assert record["units"] == [{"name": "cpu", "peak_tflops": {"fp32": 0.19}}]
    assert record["capacity_gb"] == 8
    assert record["id"] == "chip-new-measured"
    assert record["source"] == "python -m slmopt probe, 2026-11-29"
    assert "memory read int64: median 32 of 3 runs, best 34 GB/s, spread 6 %, 2 threads" in record["note"]
    (device,) = read_presets(json.dumps([record]).encode()).devices
    assert device.bandwidth_gbs == 34


def test_the_processor_is_measured_with_the_threads_that_were_asked_for(small):
    said = []
    (unit,) = probe.probe(0.0, 3, said.append)
    assert {s.kind for s in unit.samples} == {"bandwidth", "rate"}
    assert all(s.threads == 3 for s in unit.samples if s.kind == "bandwidth")
    assert unit.rate_types() == ("fp32", "fp64")
    assert len(said) == len(unit.samples)
    assert "3 threads" in said[0]
    assert unit.reference_class == "cpu"


def test_the_command_writes_a_file_that_other_commands_read(small, tmp_path):
    out = str(tmp_path / "device.json")
    answer = call("probe", "--seconds", "0.01", "--threads", "2", "--out", out, "--json")
    assert answer.code == 0, answer.err
    assert f"wrote {out}" in answer.err
    assert answer.json["devices"] == json.loads((tmp_path / "device.json").read_text())
    assert {"median", "best", "spread", "threads", "size_bytes", "runs"} <= set(answer.json["samples"][0])
    told = call("estimate", "--model", "llama-3.2-1b", "--device", out, "--json")
    assert told.json["roofline"]["bandwidth"] == pytest.approx(
        answer.json["devices"][0]["bandwidth_gbs"] * 1e9
    )
    assert set(answer.json["machine"]) == {"cores", "load_before", "others_cores"}
    text = call("probe", "--seconds", "0.01")
    assert "median" in text.out
    assert "Meanwhile: " in text.out


def test_a_busy_machine_is_told_in_one_warning_and_in_the_record(small, monkeypatch, tmp_path):
    monkeypatch.setattr(Watch, "stop", lambda _self: Busy(2, 1.5, 0.8))
    answer = call("probe", "--seconds", "0.01", "--json")
    said = "other programs took 0.80 of 2 cores, load 1.50 before"
    assert f"warning: the machine was busy ({said}), so these figures are too low" in answer.err
    assert said in answer.json["devices"][0]["note"]


def test_a_file_of_several_devices_names_none(tmp_path):
    path = tmp_path / "two.json"
    path.write_text('[{"bandwidth_gbs": 1, "name": "a"}, {"bandwidth_gbs": 2, "name": "b"}]')
    answer = call("estimate", "--model", "llama-3.2-1b", "--device", str(path))
    assert answer.code == 2
    assert "lists 2 devices (a, b): give a file with one." in answer.err


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--seconds", "0"], "--seconds = 0: it must be above 0 and at most 3,600."),
        (["--threads", "0"], "--threads = 0: it must be a whole number between 1 and 4,096."),
    ],
)
def test_bad_flags_are_refused(flags, sentence):
    answer = call("probe", *flags)
    assert answer.code == 2
    assert sentence in answer.err


class Tensor:
    """What a made-up PyTorch computes with."""

    def __init__(self, kind="float32"):
        self.kind = kind

    def to(self, dtype):
        return Tensor(dtype)

    def copy_(self, _):
        return self

    def element_size(self):
        return 2


def fake_torch(monkeypatch, *, lacks=()):
    torch = types.ModuleType("torch")
    waited = []
    torch.cuda = types.SimpleNamespace(
        is_available=lambda: True,
        device_count=lambda: 1,
        get_device_properties=lambda _: types.SimpleNamespace(
            name="NVIDIA GeForce RTX 4090", total_memory=24 << 30
        ),
        synchronize=lambda: waited.append(1),
    )
    torch.backends = types.SimpleNamespace()
    torch.float32, torch.float16, torch.bfloat16 = "float32", "float16", "bfloat16"
    torch.ones = lambda *_, **__: Tensor()
    torch.empty_like = lambda _: Tensor()
    torch.randn = lambda *_, **__: Tensor()

    def matmul(a, b):
        if a.kind in lacks:
            raise RuntimeError("not implemented")

    torch.matmul = matmul
    monkeypatch.setitem(sys.modules, "torch", torch)
    return waited


def test_accelerators_that_pytorch_reaches(monkeypatch):
    waited = fake_torch(monkeypatch, lacks=("bfloat16",))
    said = []
    (unit,) = probe_torch.accelerators(0.0, said.append)
    assert unit.name == "NVIDIA GeForce RTX 4090"
    assert unit.reference_class == "consumer-gpu"
    assert unit.rate_types() == ("fp32", "fp16")
    assert "no bf16 products here" in said[-1]
    assert len(waited) > 3 * probe.LEAST_RUNS
    (record,) = device_records([unit], WHEN)
    assert set(record["units"][0]["peak_tflops"]) == {"fp32", "fp16"}


def test_apple_s_graphics_through_mlx(monkeypatch):
    class Array:
        def __add__(self, other):
            return self

        def __matmul__(self, other):
            return self

        def astype(self, _):
            return self

    core = types.ModuleType("mlx.core")
    core.metal = types.SimpleNamespace(is_available=lambda: True)
    core.float32 = core.float16 = core.bfloat16 = None
    core.ones = lambda *_, **__: Array()
    core.eval = lambda *_: None
    core.random = types.SimpleNamespace(normal=lambda _: Array())
    monkeypatch.setitem(sys.modules, "mlx", types.ModuleType("mlx"))
    monkeypatch.setitem(sys.modules, "mlx.core", core)
    monkeypatch.setattr(probe_mlx, "processor_name", lambda: "Apple M2 Ultra")
    (unit,) = probe_mlx.accelerators(0.0, lambda _: None)
    assert unit.name == "Apple M2 Ultra GPU"
    assert unit.rate_types() == ("fp32", "fp16", "bf16")
    core.metal = types.SimpleNamespace(is_available=lambda: False)
    assert probe_mlx.accelerators(0.0, lambda _: None) == []
