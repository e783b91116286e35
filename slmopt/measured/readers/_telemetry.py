"""Which GPUs were at work, from the telemetry that AIPerf exports beside a run's metrics (DCGM's or NVML's).

Telemetry sees every GPU of a host. One that was never busy served nothing, and is not counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from slmopt.measured.readers._cells import parse_number
from slmopt.measured.readers._json import Json, get, number, text_of
from slmopt.measured.readers._records import Record


@dataclass(slots=True)
class Gpus:
    """GPUs by where they are, each with its name and its mean utilisation in percent (NaN where that is not told)."""

    names: dict[tuple[str, str], str] = field(default_factory=dict)
    busy: dict[tuple[str, str], float] = field(default_factory=dict)

    def take_row(self, cells: Mapping[str, str]) -> None:
        """A line of the CSV's table: one metric of one GPU."""
        place = cells.get("Endpoint", ""), cells.get("GPU_UUID") or cells.get("GPU_Index", "")
        self.names.setdefault(place, cells.get("GPU_Name", ""))
        if "GPU Utilization" in cells.get("Metric", ""):
            self.busy[place] = parse_number(cells.get("avg", ""))[0]

    @classmethod
    def of_export(cls, value: Json) -> Gpus:
        """Those of a JSON export."""
        found = cls()
        endpoints = get(value, "telemetry_data", "endpoints")
        for endpoint, told in endpoints.items() if isinstance(endpoints, Mapping) else ():
            gpus = get(told, "gpus")
            for key, gpu in gpus.items() if isinstance(gpus, Mapping) else ():
                place = str(endpoint), text_of(gpu, "gpu_uuid") or str(key)
                found.names[place] = text_of(gpu, "gpu_name")
                found.busy[place] = number(gpu, "metrics", "gpu_utilization", "avg")
        return found

    def facts(self) -> Record:
        """Device and count, where those at work have one name; else nothing."""
        at_work = [name for place, name in self.names.items() if self.busy.get(place, math.nan) != 0]
        if len(set(at_work)) != 1 or not at_work[0]:
            return {}
        return {"device": at_work[0], "device_count": float(len(at_work))}

    def note(self) -> str:
        """What should be known of several that are counted."""
        count = self.facts().get("device_count", 1.0)
        return f"{count:.0f} GPUs at work by the telemetry of their host" if count != 1.0 else ""
