"""Small helpers for tools that write one object a run: numbers that mean something, latencies with their statistics."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from slmopt.measured.table import ReadResult, Skip, result, rows_from_records

Record = dict[str, object]
NAN: Final = math.nan
NOTHING: Final = "no speed and no time was measured"
"""Why a row is left out that has neither."""


def positive(value: float) -> float:
    """The value where it is above 0; tools write 0 where nothing was measured, and 0 is no time and no speed."""
    return value if value > 0 else NAN


def per(total: float, count: float) -> float:
    """``total / count``, NaN where that means nothing."""
    return total / count if count > 0 else NAN


def known(value: float) -> bool:
    """Whether a number is there."""
    return not math.isnan(value)


def latencies(find: Callable[[str, str], float], scale: float, names: Mapping[str, str]) -> Record:
    """The four times and their percentiles in seconds.

    ``find`` gives the tool's number for a quantity and a statistic ('mean', 'p50', 'p95', 'p99'); ``names`` maps the
    table's ttft, tpot, itl and e2e to the tool's quantities. Means are taken where there are some, else medians, and
    ``statistic`` says so.
    """
    record: Record = {}
    means = {name: positive(find(quantity, "mean")) * scale for name, quantity in names.items()}
    medians = {name: positive(find(quantity, "p50")) * scale for name, quantity in names.items()}
    chosen = means if any(map(known, means.values())) else medians
    for name in names:
        record[f"{name}_s"] = chosen[name]
    for name in ("ttft", "tpot"):
        if name in names:
            record[f"{name}_p50_s"] = medians[name]
            record[f"{name}_p95_s"] = positive(find(names[name], "p95")) * scale
            record[f"{name}_p99_s"] = positive(find(names[name], "p99")) * scale
    if any(map(known, chosen.values())):
        record["statistic"] = "mean" if chosen is means else "p50"
    return record


def is_measured(record: Mapping[str, object]) -> bool:
    """Whether a record holds any speed or time."""
    return any(
        isinstance(value := record.get(name), float) and known(value)
        for name in ("tokens_per_s", "ttft_s", "tpot_s", "itl_s", "e2e_s", "ttft_p50_s", "tpot_p50_s")
    )


def collect(
    form: str,
    source: str,
    records: Sequence[Record],
    skips: Sequence[Skip] = (),
    warnings: Sequence[str] = (),
) -> ReadResult:
    """A result from records; those without any speed or time are listed as left out."""
    good = [record for record in records if is_measured(record)]
    lost = [Skip(str(record.get("row", "")), NOTHING) for record in records if not is_measured(record)]
    return result(form, source, rows_from_records(good), [*skips, *lost], warnings)


def phase_pair(
    base: Record, prompt: tuple[float, float], cached: float, output: tuple[float, float], how: str
) -> list[Record]:
    """Prefill and decode rows from (tokens, seconds) of each; a phase without tokens or time gives none."""
    base = base | {
        "batch": 1.0,
        "concurrency": 1.0,
        "statistic": "single",
        "tokens_per_s_basis": "sequence",
        "clock": "server",
        "conversion": how,
    }
    fed, fed_s = prompt
    made, made_s = output
    hit = cached if known(cached) else 0.0
    rows: list[Record] = []
    if fed > 0 and fed_s > 0:
        rows.append(
            base
            | {
                "phase": "prefill",
                "prompt_tokens": fed,
                "output_tokens": 0.0,
                "depth_tokens": hit,
                "cached_tokens": cached,
                "tokens_per_s": fed / fed_s,
                "e2e_s": fed_s,
            }
        )
    if made > 0 and made_s > 0:
        rows.append(
            base
            | {
                "phase": "decode",
                "prompt_tokens": 0.0,
                "output_tokens": made,
                "depth_tokens": fed + hit if known(fed) else NAN,
                "cached_tokens": cached,
                "tokens_per_s": made / made_s,
                "tpot_s": made_s / made,
                "e2e_s": made_s,
            }
        )
    return rows
