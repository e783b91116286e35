"""Reference measurements held against their ceilings as a user's file would be."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pandas as pd

from benchmarks.accuracy_references import Reference, references
from slmopt.measured.compare import compare
from slmopt.measured.detect import read_many
from slmopt.measured.placed import Facts
from slmopt.measured.table import rows_from_records
from slmopt.specs.library import preset_root
from tests.shared import SHARED

SWEEP_DEVICE: Final = "epyc-2core"


def judged(with_shared: bool = True) -> pd.DataFrame:
    """Every reference measurement with its verdict: ``compare``'s columns, and those of ``Reference`` that are texts.

    ``described`` tells rows that state all that a ceiling needs: a model with its layers, the size of its file or a
    known format, devices, and a rate where arithmetic may decide.
    """
    groups: dict[tuple[str, float | None], list[Reference]] = {}
    for found in references(with_shared):
        groups.setdefault((found.device.id if found.device else "", found.bandwidth_gbs), []).append(found)
    parts = [_compared(group) for group in groups.values()]
    if with_shared and (SHARED / "measured" / "this_machine").is_dir():
        parts.append(_sweep(SHARED / "measured" / "this_machine"))
    else:
        parts.append(_sweep(Path(str(preset_root() / "this_machine"))))
    table = pd.concat(parts, ignore_index=True)
    for name in _NUMBERS:
        table[name] = table[name].astype("float64")
    lost = table["verdict"].eq("unknown") | table["fraction"].isna()
    bare = table["notes"].str.contains("count_only", na=False) | table["model"].isna()
    return table.assign(described=~lost & ~bare & table["sized"])


def _compared(group: list[Reference]) -> pd.DataFrame:
    first = group[0]
    over = {} if first.bandwidth_gbs is None else {"bandwidth_gbs": first.bandwidth_gbs}
    facts = Facts(device=first.device, overrides=over)
    records = [{**one.row, "source_file": "reference", "row": one.ident} for one in group]
    found = compare(rows_from_records(records), facts)
    told = pd.DataFrame(
        {
            "row": [one.ident for one in group],
            "device_class": [one.device_class for one in group],
            "runtime": [one.runtime for one in group],
            "evidence": [one.evidence for one in group],
            "said": [one.note for one in group],
            "sized": [one.sized for one in group],
            "devices": [one.row["device_count"] for one in group],
        }
    )
    table = pd.DataFrame({name: found.rows[name].astype(object) for name in _KEPT})
    return table.merge(told, on="row", how="left", validate="one_to_one")


_KEPT: Final = (
    "row", "phase", "model", "weights", "device", "batch", "context", "measured", "ceiling", "fraction", "p10", "p50",
    "p90", "bound", "verdict", "reasons", "notes",
)  # fmt: skip


_NUMBERS: Final = ("batch", "context", "measured", "ceiling", "fraction", "p10", "p50", "p90")


def _sweep(folder: Path) -> pd.DataFrame:
    """The files of a sweep on a machine of our own, read as an upload."""
    files = sorted(folder.glob("llama-bench_*.csv")) + sorted(folder.glob("batched-bench_*.jsonl"))
    read = read_many([(file.name, file.read_bytes()) for file in files])
    found = compare(read.rows, Facts(device=SWEEP_DEVICE))
    table = pd.DataFrame({name: found.rows[name].astype(object) for name in _KEPT})
    table["row"] = found.rows["source_file"].astype(str) + ", " + table["row"].astype(str)
    return table.assign(
        device_class="cpu",
        runtime="llama.cpp cpu",
        evidence="primary",
        said="",
        sized=True,
        devices=1.0,
    )
