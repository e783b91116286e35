"""Reference measurements as rows of the benchmark table, one for each speed that a source states.

Each measurement is placed by what its source states: the device by its preset, with the bandwidth that the source
states where that is another; a device without a preset by its bandwidth alone. What a source says about the run being
valid (``evidence``) is carried along for the score and never reaches the judgement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from slmopt.measured import reference
from slmopt.specs.base import SpecError
from slmopt.specs.device import Device
from slmopt.specs.library import library
from tests.shared import SHARED

SAME_BANDWIDTH: Final = 0.005
"""Relative difference above which the source's bandwidth stands in for the preset's."""

INVALID: Final = "invalid-run"

_MERGED: Final = {"igpu": "apu", "apple-cpu": "cpu"}
_SHARED_NAMES: Final = {
    "mem_bandwidth_GBs": "bandwidth_gbs",
    "mem_bandwidth_GBs_per_gpu": "bandwidth_gbs",
    "pp_tok_s": "prefill_tokens_s",
    "tg_tok_s": "decode_tokens_s",
    "output_tok_s": "tokens_s",
    "backend": "runtime",
    "batch_or_concurrency": "batch",
    "isl": "prompt",
    "osl": "output",
    "file_bytes_used": "file_bytes",
    "notes": "note",
}


@dataclass(frozen=True, slots=True)
class Reference:
    """One claim of a measurement: its row of the benchmark table, the device that it ran on, and who says what of it."""

    ident: str
    device: Device | None
    bandwidth_gbs: float | None
    device_class: str
    runtime: str
    evidence: str
    note: str
    sized: bool
    row: dict[str, Any]


def references(with_shared: bool) -> list[Reference]:
    """All of them but the own sweep, whose files are read as an upload."""
    return [*single_stream(with_shared), *batched(with_shared)]


def single_stream(with_shared: bool) -> list[Reference]:
    """Decode and prefill of one sequence; without the shared data, what ships."""
    rows = reference.single_stream()
    known = rows.set_index("row_id")
    rows = rows.assign(file_bytes=np.nan, params_b=np.nan, size_kind="")
    if with_shared and (SHARED / "measured").is_dir():
        raw = pd.read_csv(SHARED / "measured" / "decode_prefill.csv").rename(columns=_SHARED_NAMES)
        raw = raw.rename(columns={"params_B": "params_b"})
        own = rows[~rows["row_id"].isin(raw["row_id"])]
        rows = pd.concat([raw, own[[c for c in own.columns if c in {*raw.columns, "size_kind"}]]])
    found = []
    for row in _records(rows):
        ident = str(row["row_id"])
        if ident.startswith("OWN"):
            # The sweep's own files are read instead.
            continue
        shipped = known.loc[ident] if ident in known.index else None
        base = _base(row, "quant", "" if shipped is None else shipped["device_id"])
        runtime = str(row["runtime"] if shipped is None else shipped["runtime"])
        told = {**base, **_runtime(runtime), "batch": 1.0, "tokens_per_s_basis": "sequence"}
        sized = row["size_kind"] != "assumed" and row["file_bytes"] > 0
        if row["params_b"] > 0:
            told["params"] = row["params_b"] * 1e9
        if sized:
            told["weight_bytes"] = row["file_bytes"]
        depth = float(row["depth"])
        common = (row, told, runtime, bool(sized))
        if row["decode_tokens_s"] > 0:
            length = row["n_gen"] if row["n_gen"] > 0 else 1.0
            shape = {"depth_tokens": depth, "prompt_tokens": 0.0, "output_tokens": length}
            found.append(_reference("decode", row["decode_tokens_s"], shape, *common, shipped))
        if row["prefill_tokens_s"] > 0 and row["n_prompt"] > 0:
            shape = {"depth_tokens": depth, "prompt_tokens": row["n_prompt"], "output_tokens": 0.0}
            found.append(_reference("prefill", row["prefill_tokens_s"], shape, *common, shipped))
    return found


def batched(with_shared: bool) -> list[Reference]:
    """Decode of several sequences, micro-batches and servers."""
    rows = reference.batches()
    known = rows.set_index("row_id")
    if with_shared and (SHARED / "measured").is_dir():
        rows = pd.read_csv(SHARED / "measured" / "batch.csv").rename(columns=_SHARED_NAMES)
    found = []
    for row in _records(rows):
        ident = str(row["row_id"])
        shipped = known.loc[ident] if ident in known.index else None
        told = _base(row, "precision", "" if shipped is None else shipped["device_id"])
        runtime = str(row["engine"])
        told |= {**_runtime(runtime), "tokens_per_s_basis": "device"}
        # Sizes that name a file are its own; the others were worked out from the label.
        stated = str(row["precision"]).startswith("file ")
        if row["file_bytes"] > 0 and stated:
            told["weight_bytes"], told["weight_format"] = row["file_bytes"], _ending(str(row["model"]))
        prompt, output = (_number(row[name]) for name in ("prompt", "output"))
        batch, speed = _number(row["batch"]), _number(row["tokens_s"])
        common = (row, told, runtime, True)
        if row["kind"] == "microbatch":
            fed = 512.0 if "ubatch=b" in runtime else batch
            shape = {
                "batch": 1.0, "depth_tokens": 0.0, "prompt_tokens": fed, "output_tokens": 0.0, "chunk_tokens": batch,
            }  # fmt: skip
            phase = "prefill"
        elif row["kind"] == "decode-batch":
            shape = {"batch": batch, "depth_tokens": prompt, "prompt_tokens": 0.0, "output_tokens": output}
            phase = "decode"
        else:
            shape = {
                "concurrency": batch, "prompt_tokens": prompt, "output_tokens": output,
                "tpot_s": _number(row["tpot_ms"]) / 1e3,
            }  # fmt: skip
            phase = "serving"
        found.append(_reference(phase, speed, shape, *common, shipped))
    return found


def _records(rows: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in rows.to_dict(orient="records")]


def _base(row: dict[str, Any], formats: str, device_id: Any) -> dict[str, Any]:
    count = float(row["n_gpu"])
    return {
        "model": str(row["model"]),
        "weight_format": str(row[formats]),
        "device": str(row["device"]),
        "device_count": count,
        "device_id": device_id if isinstance(device_id, str) else "",
    }


def _reference(
    phase: str,
    speed: float,
    shape: dict[str, float],
    row: dict[str, Any],
    told: dict[str, Any],
    runtime: str,
    sized: bool,
    shipped: Any,
) -> Reference:
    record = {**told, **shape, "phase": phase, "tokens_per_s": speed}
    ident = record.pop("device_id")
    stated = _number(row["bandwidth_gbs"])
    cls = str(row.get("device_class") or "") or (
        "" if shipped is None else str(shipped.get("device_class", ""))
    )
    device, over = _device(ident, str(row["device"]), stated, cls)
    reference_class = device.reference_class if device is not None else cls
    note = row["note"] if isinstance(row["note"], str) else ""
    return Reference(
        ident=f"{row['row_id']} {phase}",
        device=device,
        bandwidth_gbs=over,
        device_class=_MERGED.get(cls, cls) or reference_class,
        runtime=_short(runtime),
        evidence=str(row["evidence"]),
        note=note,
        sized=sized,
        row=record,
    )


def _device(ident: str, name: str, stated: float, cls: str) -> tuple[Device | None, float | None]:
    """The preset, and the bandwidth that the source states where it is another; a bare bandwidth without a preset."""
    preset = library().devices.get(ident)
    if preset is not None:
        same = not stated > 0 or abs(stated / preset.bandwidth_gbs - 1) < SAME_BANDWIDTH
        return preset, None if same else stated
    if not stated > 0:
        return None, None
    values = {"id": f"stated {name}", "name": name, "bandwidth_gbs": stated}
    known = _MERGED.get(cls, cls)
    try:
        return Device.model_validate(
            {**values, "reference_class": known if known in reference.CLASSES else "all"}
        ), None
    except ValueError as error:
        raise SpecError(f"{name}: {error}") from error


def _runtime(name: str) -> dict[str, str]:
    """Tool and back end of a runtime's name."""
    low = name.lower()
    if "vllm" in low or "tensorrt" in low:
        return {"tool": low.split(" ")[0], "backend": low}
    if low.startswith(("llama", "cuda", "rocm", "vulkan", "metal", "cpu", "ik")):
        backend = next((word for word in ("cuda", "rocm", "vulkan", "metal", "cpu") if word in low), "")
        return {"tool": "llama-bench", "backend": backend.upper()}
    return {"tool": low}


def _short(runtime: str) -> str:
    low = runtime.lower()
    names = ("vllm", "tensorrt-llm", "ik_llama.cpp", "ollama", "exllama", "mlc", "litert")
    for name in names:
        if name in low:
            return name
    for name in ("cuda", "rocm", "rocwmma", "vulkan", "metal", "cpu"):
        if name in low:
            return f"llama.cpp {'rocm' if name == 'rocwmma' else name}"
    return "llama.cpp"


def _ending(model: str) -> str:
    return model.rpartition("-")[2] if "-" in model else ""


def _number(value: Any) -> float:
    """A number, or NaN for what is none ("ShareGPT": lengths that the source does not state)."""
    try:
        return float(value)
    except ValueError:
        return float("nan")
