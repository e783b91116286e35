"""Reference measurements that ship with the product, and what devices of a class reach according to them.

An estimate needs a fraction of the bandwidth and a fixed time per pass: ideal milliseconds a token say more about the
fraction than the class does, since every pass pays for its launches, synchronisation and sampling whatever it reads.
``python -m slmopt.measured.reference`` rewrites ``presets/efficiency.json`` from the rows; a test holds the two equal.

Method, for each class of device (and each class and runtime) over rows of one device with everything in its memory:

* ideal time = (weight bytes + cache bytes) / specified bandwidth; measured time = 1 / (tokens/s);
* the fixed time t0 is the one at which ``t0 + ideal / median fraction`` has the smallest median relative error, where
  fraction = ideal / (measured - t0). No row can spend more on it than its time above the ideal, so the row with the
  least of that sets the most that it can be;
* bandwidth fraction: 10th, 50th and 90th percentile of that fraction;
* compute fraction: 2 operations per active weight and prompt token (all of them, so that it is up to a sixth too high
  for a small model with a large vocabulary), over the time less t0, against the rate that an estimate starts from
  (:func:`slmopt.specs.setup.phase_peak`). Rows above that rate (integer kernels, FP16 with FP16 accumulation) count
  as 1, so that no fraction of a rate is more than all of it;
* fewer than ten rows give no 10th percentile: the figures of the whole class, or of all rows, then stand in.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from slmopt.specs.device import Device
from slmopt.specs.formats import WeightFormat
from slmopt.specs.library import preset_root
from slmopt.specs.rates import phase_peak
from slmopt.specs.scenario import Engine, Scenario

MIN_ROWS = 10
"""Fewer rows give no percentiles."""

CLASSES = {
    "all": "all reference devices",
    "consumer-gpu": "desktop graphics cards",
    "laptop-gpu": "laptop graphics chips",
    "ws-gpu": "workstation graphics cards",
    "dc-gpu": "data-centre cards",
    "apple": "Apple silicon, GPU",
    "apu": "chips with integrated graphics",
    "soc": "modules and small systems with unified memory (Jetson, DGX Spark)",
    "cpu": "processors",
    "sbc": "single-board computers",
    "phone": "phones",
}
"""Classes that devices name as their ``reference_class``."""

KINDS = ("16-bit", "quantised")
"""Kinds of weights, whose kernels differ."""

# A processor's integrated graphics stand with the larger chips of that kind.
_MERGED = {"igpu": "apu"}
_SIXTEEN = {"F16", "FP16", "BF16"}
_T0_STEPS = 400

_WEIGHTS = {
    True: WeightFormat(id="16-bit", name="16 bit", bits=16, operand="fp16"),
    False: WeightFormat(id="quantised", name="quantised", bits=4.5, operand="int4"),
}

Floats = NDArray[np.float64]


@lru_cache(maxsize=1)
def sources() -> dict[int, str]:
    """Where each row is from, by its ``source_id``."""
    table = _read("sources.csv")
    return dict(zip(table["source_id"], table["source"], strict=True))


def single_stream() -> pd.DataFrame:
    """Decode and prefill of one sequence: a row a measurement, with its ``source``.

    ``weight_bytes`` and ``cache_bytes`` are what one decode step reads; ``active_b`` billions of weights that a token
    uses; ``size_known`` 0 where the file's size was assumed from its label; ``counted`` 0 where the row is no
    measure of one device's decode (a part ran elsewhere, or what it reads is not known).
    """
    return _with_source(_read("decode_prefill.csv"))


def batches() -> pd.DataFrame:
    """Batched decode, micro-batches, maximum load and serving: a row a measurement, with its ``source``."""
    return _with_source(_read("batch.csv"))


def _read(name: str) -> pd.DataFrame:
    where: Traversable = preset_root() / "reference" / name
    with where.open(encoding="utf-8") as file:
        return pd.read_csv(file)


def _with_source(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(source=table["source_id"].map(sources()))


@lru_cache(maxsize=1)
def decode_rows() -> pd.DataFrame:
    """Rows that measure one device's decode, with ideal and measured milliseconds."""
    rows = single_stream()
    rows = rows[(rows["counted"] == 1) & (rows["n_gpu"] == 1)]
    ideal = (rows["weight_bytes"] + rows["cache_bytes"]) / (rows["bandwidth_gbs"] * 1e9) * 1e3
    return _classed(rows).assign(ideal_ms=ideal, measured_ms=1e3 / rows["decode_tokens_s"])


@lru_cache(maxsize=1)
def _prefill() -> pd.DataFrame:
    """Rows that measure one device's prefill where a rate is published for it."""
    rows = _classed(single_stream())
    rows = rows[(rows["n_gpu"] == 1) & rows["prefill_tokens_s"].notna() & rows["active_b"].notna()]
    rows = rows[~rows["note"].str.contains("offload|spill", case=False, na=False)]
    keys = zip(rows["device_id"], rows["sixteen"], rows["runtime"], strict=True)
    rows = rows.assign(peak=np.array([_peak(*key) for key in keys], dtype=np.float64))
    rows = rows[rows["peak"].notna()]
    ideal = 2e9 * rows["active_b"] * rows["n_prompt"] / rows["peak"] * 1e3
    return rows.assign(ideal_ms=ideal, measured_ms=1e3 * rows["n_prompt"] / rows["prefill_tokens_s"])


def _classed(rows: pd.DataFrame) -> pd.DataFrame:
    sixteen = rows["quant"].str.upper().isin(_SIXTEEN)
    return rows.assign(device_class=rows["device_class"].replace(_MERGED), sixteen=sixteen)


@lru_cache(maxsize=1)
def _devices() -> dict[Any, Device]:
    """Device presets by id, read here since the whole library needs the file that this module writes."""
    folder: Traversable = preset_root() / "devices"
    files = [file for file in folder.iterdir() if file.name.endswith(".json")]
    entries = [entry for file in files for entry in json.loads(file.read_text(encoding="utf-8"))]
    return {entry["id"]: Device.model_validate(entry) for entry in entries}


def _peak(device_id: Any, sixteen: bool, runtime: Any) -> float | None:
    """FLOP/s that an estimate for this device and runtime starts from; None where no rate is published."""
    device = _devices().get(device_id)
    if device is None:
        return None
    engine: Engine = "vllm" if runtime in {"vllm", "tensorrt-llm", "exllama", "mlc"} else "llama.cpp"
    return phase_peak(device, _WEIGHTS[sixteen], Scenario(engine=engine), None).estimate


def fixed_time_ms(ideal: Floats, measured: Floats) -> float:
    """The fixed time per pass in ms that explains the rows best; 0 where none does."""
    most = float(np.min(measured - ideal))
    if most <= 0:
        return 0.0
    candidates = np.linspace(0.0, most, _T0_STEPS)
    errors = [_error(ideal, measured, t0) for t0 in candidates]
    return float(candidates[int(np.argmin(errors))])


def _error(ideal: Floats, measured: Floats, t0: float) -> float:
    typical = float(np.median(_fractions(ideal, measured, t0)))
    return float(np.median(np.abs(t0 + ideal / typical - measured) / measured))


def _fractions(ideal: Floats, measured: Floats, t0: float) -> Floats:
    left = np.maximum(measured - t0, 1e-9)
    return np.minimum(ideal / left, 1.0)


def efficiency_table() -> pd.DataFrame:
    """A row a class; a class and kind of weights (``class/16-bit``, ``class/quantised``); a class and runtime.

    Columns: rows (decode), prefill_rows, fixed_ms, bandwidth_p10/_p50/_p90, compute_p10/_p50/_p90, plain_median
    (of the decode fraction without a fixed time), error (median relative, of the predicted time), above_rate (prefill
    rows that count as 1), and the ids that the figures are taken from (``decode_from``, ``prefill_from``).
    """
    table: dict[str, dict[str, Any]] = {}
    for key in (*CLASSES, *(f"{cls}/{kind}" for cls in CLASSES for kind in KINDS), *_runtimes()):
        cls, _, part = key.partition("/")
        decode_from = _first_with_enough(decode_rows(), key, cls, "all")
        alike = (f"all/{part}",) if part in KINDS else ()
        prefill_from = _first_with_enough(_prefill(), key, *alike, cls, "all")
        table[key] = {
            "rows": len(_of(decode_rows(), key)),
            "prefill_rows": len(_of(_prefill(), key)),
            **_decode_row(decode_from),
            **_prefill_row(prefill_from),
        }
    return pd.DataFrame.from_dict(table, orient="index").rename_axis("id")


def _first_with_enough(rows: pd.DataFrame, *keys: str) -> str:
    return next(key for key in keys if key == "all" or len(_of(rows, key)) >= MIN_ROWS)


def _runtimes() -> list[str]:
    known = decode_rows()[decode_rows()["device_class"].isin(CLASSES)]
    counts = (known["device_class"] + "/" + known["runtime"]).value_counts()
    return sorted(str(key) for key, rows in counts.items() if rows >= MIN_ROWS)


def _of(rows: pd.DataFrame, key: str) -> pd.DataFrame:
    cls, _, part = key.partition("/")
    if cls != "all":
        rows = rows[rows["device_class"] == cls]
    if part in KINDS:
        return rows[rows["sixteen"] == (part == KINDS[0])]
    return rows[rows["runtime"] == part] if part else rows


def _times(rows: pd.DataFrame) -> tuple[Floats, Floats]:
    return rows["ideal_ms"].to_numpy(np.float64), rows["measured_ms"].to_numpy(np.float64)


@lru_cache(maxsize=256)
def _decode_row(key: str) -> dict[str, Any]:
    ideal, measured = _times(_of(decode_rows(), key))
    t0 = round(fixed_time_ms(ideal, measured), 2)
    p10, p50, p90 = np.quantile(_fractions(ideal, measured, t0), [0.1, 0.5, 0.9]).round(3)
    return {
        "fixed_ms": t0,
        "bandwidth_p10": p10,
        "bandwidth_p50": p50,
        "bandwidth_p90": p90,
        "plain_median": round(float(np.median(ideal / measured)), 3),
        "error": round(_error(ideal, measured, t0), 3),
        "decode_from": key,
    }


@lru_cache(maxsize=256)
def _prefill_row(key: str) -> dict[str, Any]:
    ideal, measured = _times(_of(_prefill(), key))
    t0 = _decode_row(_first_with_enough(decode_rows(), key, key.partition("/")[0], "all"))["fixed_ms"]
    p10, p50, p90 = np.quantile(_fractions(ideal, measured, t0), [0.1, 0.5, 0.9]).round(3)
    return {
        "compute_p10": p10,
        "compute_p50": p50,
        "compute_p90": p90,
        "above_rate": int(np.count_nonzero(ideal > measured)),
        "prefill_from": key,
    }


def records() -> list[dict[str, Any]]:
    """The table as records of ``presets/efficiency.json``."""
    table = efficiency_table()
    rows_of = table["rows"].to_dict()
    entries = zip(table.index, table.to_dict(orient="records"), strict=True)
    return [_record(str(ident), {str(k): v for k, v in row.items()}, rows_of) for ident, row in entries]


def _record(ident: str, row: dict[str, Any], rows_of: dict[Any, Any]) -> dict[str, Any]:
    notes = []
    if row["decode_from"] != ident:
        notes.append(
            f"{row['rows']} decode rows of its own, so those of {_name(row['decode_from'])} stand in."
        )
    if row["prefill_from"] != ident:
        own = row["prefill_rows"]
        notes.append(f"{own} prefill rows of its own, so those of {_name(row['prefill_from'])} stand in.")
    elif row["above_rate"]:
        notes.append(f"{row['above_rate']} of {row['prefill_rows']} prefill rows above the rate count as 1.")
    return {
        "id": ident,
        "name": _name(row["decode_from"]),
        "bandwidth_fraction": {p: row[f"bandwidth_{p}"] for p in ("p10", "p50", "p90")},
        "compute_fraction": {p: row[f"compute_{p}"] for p in ("p10", "p50", "p90")},
        "fixed_ms": row["fixed_ms"],
        "rows": int(rows_of[row["decode_from"]]),
        "source": "presets/reference/decode_prefill.csv, by slmopt.measured.reference",
        "confidence": "derived",
        "note": " ".join(notes),
    }


def _name(ident: str) -> str:
    cls, _, part = ident.partition("/")
    if part in KINDS:
        return f"{CLASSES[cls]}, {part} weights"
    return f"{CLASSES[cls]}, {part}" if part else CLASSES[cls]


def main() -> None:
    """Rewrite ``presets/efficiency.json`` of the checkout."""
    entries = []
    for entry in records():
        fields = [f"    {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in entry.items()]
        entries.append("  {\n" + ",\n".join(fields) + "\n  }")
    target = Path(str(preset_root() / "efficiency.json"))
    target.write_text("[\n" + ",\n".join(entries) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
