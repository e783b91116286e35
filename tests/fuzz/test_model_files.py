"""Model files, preset files, scenarios and links damaged in structure and bytes: what is taken computes, the rest is told."""

from __future__ import annotations

import base64
import io
import json
import math
import os
import pickle
import zipfile
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.ui import pins
from slmopt.measured.detect import read_benchmark
from slmopt.measured.text import UnreadableFile
from slmopt.readers.files import read_model_file
from slmopt.readers.preset_file import is_preset_file, read_presets
from slmopt.specs.base import SpecError
from slmopt.specs.device import Device
from slmopt.specs.library import preset_root
from slmopt.specs.model import Model
from slmopt.specs.scenario import Scenario, scenario
from slmopt.specs.setup import resolve
from slmopt.theory.evaluation import evaluate
from tests.fuzz.common import bounded, damaged_bytes, damaged_json, odd_values
from tests.readers.configs import DEEPSEEK, DELTA, LATENT, LLAMA, MAMBA2
from tests.readers.ggufs import tiny
from tests.readers.test_safetensors import header, shapes

CONFIGS = [LLAMA, DEEPSEEK, {**LLAMA, **LATENT}, {**LLAMA, **DELTA}, {**LLAMA, **MAMBA2}]
RECORDS = [
    record
    for folder in ("models", "devices")
    for file in sorted((preset_root() / folder).iterdir(), key=lambda f: f.name)
    for record in json.loads(file.read_text(encoding="utf-8"))[:2]
]
SCENARIO: dict[str, Any] = {
    "model": {"params": 7e9, "layers": 32, "kv_heads": 8, "head_dim": 128},
    "device": {"bandwidth_gbs": 100, "peak_tflops": 10, "capacity_gb": 8},
    "weights": {"bits": 4.5}, "cache_k": "f16", "engine": "vllm", "batch": 4, "prompt": 100, "output": 100, "context": 500,
    "prefix_hit": 10, "shared_prefix": 10, "acceptance": 0.5, "draft_tokens": 3, "draft_cost": 0.1, "devices": 2, "parallel": "tensor",
    "gpu_memory_utilization": 0.9, "target_ttft_ms": 500, "fixed_ms": 1.0, "bandwidth_fraction": 0.5, "micro_batch": 512,
}  # fmt: skip


def told(error: SpecError) -> None:
    text = str(error)
    assert text
    assert "\n" not in text
    assert len(text) < 700


def computes(model: Model | None = None, device: Device | None = None, **more: Any) -> None:
    """What a reader took gives numbers on every path, or the scenario says in one sentence why it cannot."""
    chosen = {**({"model": model} if model else {}), **({"device": device} if device else {}), **more}
    try:
        asked = scenario(chosen)
        resolve(asked)
    except SpecError as error:
        told(error)
        return
    found = evaluate(asked)
    for phase in (found.ceiling, found.typical):
        for passed in (phase.decode, phase.prefill):
            assert not math.isnan(passed.memory_s)
            assert passed.memory_s >= 0


@bounded(60)
@given(st.data())
def test_configs(data):
    damaged = data.draw(damaged_json(data.draw(st.sampled_from(CONFIGS))))
    try:
        found = read_model_file(damaged, "config.json")
    except SpecError as error:
        told(error)
    else:
        computes(found.model)


@bounded(60)
@given(st.data())
def test_preset_files(data):
    picked = data.draw(st.lists(st.sampled_from(RECORDS), min_size=1, max_size=2))
    damaged = data.draw(damaged_json(picked))
    if not is_preset_file(damaged):
        return
    try:
        found = read_presets(damaged)
    except SpecError as error:
        told(error)
        return
    for model in found.models:
        computes(model)
    for device in found.devices:
        computes(device=device)


@bounded(100)
@given(st.data())
def test_scenarios(data):
    changed = dict(SCENARIO)
    for _ in range(data.draw(st.integers(1, 4))):
        name = data.draw(st.sampled_from(sorted(Scenario.model_fields)))
        changed[name] = data.draw(odd_values)
    try:
        asked = scenario(changed)
        resolve(asked)
    except SpecError as error:
        told(error)
        return
    found = evaluate(asked)
    assert found.ceiling.decode.seconds is None or not math.isnan(found.ceiling.decode.seconds)


@bounded(60)
@given(st.data())
def test_links_with_pins(data):
    damaged = data.draw(damaged_json([1, {"batch": 4, "model": "llama-3.2-1b"}, {"context": 100}]))
    packed = base64.urlsafe_b64encode(zlib.compress(damaged)).decode().rstrip("=")
    for text in (
        packed,
        data.draw(damaged_bytes(packed.encode())).decode("latin-1"),
        data.draw(st.text(max_size=40)),
    ):
        found, lost = pins.read(text)
        assert "\n" not in lost
        for one in found:
            resolve(one)


@bounded(50)
@given(st.data())
def test_weights_files(data):
    whole = data.draw(st.sampled_from([header(shapes()), tiny()[0]]))
    damaged = data.draw(damaged_bytes(whole))
    config = data.draw(st.sampled_from([None, json.dumps(LLAMA).encode()]))
    try:
        found = read_model_file(damaged, data.draw(st.sampled_from(["m.gguf", "m.safetensors", "x"])), config)
    except SpecError as error:
        told(error)
    else:
        if found.runs:
            computes(found.model)


@bounded(40)
@given(st.data())
def test_headers_of_safetensors(data):
    whole = header(shapes())
    long = int.from_bytes(whole[:8], "little")
    changed = data.draw(damaged_json(json.loads(whole[8 : 8 + long])))
    try:
        found = read_model_file(
            len(changed).to_bytes(8, "little") + changed + bytes(64),
            "m.safetensors",
            json.dumps(LLAMA).encode(),
        )
    except SpecError as error:
        told(error)
    else:
        if found.runs:
            computes(found.model)


class Trap:
    """Unpickled, it leaves a file."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_are_never_read(tmp_path, protocol):
    trap = tmp_path / "sprung"
    content = pickle.dumps(Trap(str(trap)), protocol)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("archive/data.pkl", content)
        archive.writestr("../../escape.csv", content)
    for data in (content, stream.getvalue()):
        for name in ("m.pt", "m.pkl", "m.bin", "m.safetensors", "m.json"):
            with pytest.raises(SpecError):
                read_model_file(data, name)
        with pytest.raises(UnreadableFile):
            _refused(data)
    assert not trap.exists()
    assert list(tmp_path.iterdir()) == []


def _refused(data: bytes) -> None:
    """Reads the file; an archive's members are listed as left out, which counts as refused where no row came of them."""
    found = read_benchmark("m.pt", data)
    assert found.rows.empty
    raise UnreadableFile("; ".join(found.skipped["why"]))
