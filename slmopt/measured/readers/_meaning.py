"""What a table's numbers mean: which phase a row times, whose tokens its speed counts, which statistic its times are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
import pandas as pd

from slmopt.measured.distinct import once
from slmopt.measured.readers._cells import Floats
from slmopt.measured.readers._columns import Bools, Texts, choose, first_of, map_text, same_text, stated
from slmopt.measured.readers._fields import PHASES, Fields


def alone(shared: dict[str, object]) -> Bools:
    """Rows with one sequence, which is what a table means that names no batch."""
    batch, concurrency = np.asarray(shared["batch"]), np.asarray(shared["concurrency"])
    return np.asarray(~(batch > 1) & ~(concurrency > 1))


def where(values: Texts, text: str) -> Bools:
    """Where a text column holds ``text``."""
    if text not in values.categories:
        return np.zeros(len(values), dtype=bool)
    return np.asarray(values.codes == list(values.categories).index(text))


def statistic_of(fields: Fields, note: Texts) -> tuple[Texts, Texts]:
    """Which statistic the times are; where they differ, 'mean', and a note names those that are medians."""
    empty = fields.columns.text("")
    times = ("ttft", "tpot", "itl", "e2e")
    has_mean = {name: once(np.isfinite, fields.positive(name)) for name in times}
    has_median = {name: once(np.isfinite, fields.positive(name, "p50")) for name in times}
    means, medians = (reduce(np.logical_or, some.values()) for some in (has_mean, has_median))
    for name in times:
        if not has_median[name].any():
            continue
        odd = means & has_median[name] & ~has_mean[name] & ~stated(note)
        note = choose(odd, f"{name.upper()} is the median, other times are means", note)
    return choose(means, "mean", choose(medians, "p50", empty)), note


def phase_of(fields: Fields, shared: dict[str, object], *, documented: bool) -> tuple[Texts, bool]:
    """Phase of each row, and whether any had to be inferred from what was measured."""
    written = map_text(fields.text("phase"), lambda value: PHASES.get(value.strip().lower(), ""))
    prompt, output = np.asarray(shared["prompt_tokens"]), np.asarray(shared["output_tokens"])
    with_ttft = np.isfinite(fields.number("ttft")) | np.isfinite(fields.number("ttft", "p50"))
    signs = ("output_speed", "total_speed", "itl", "requests", "concurrency")
    requests = not documented and any(fields.has(name) for name in signs)
    whole = with_ttft | ((prompt > 0) & (output > 0)) | np.full(fields.size, requests)
    inferred = choose(
        output == 0,
        "prefill",
        choose((prompt == 0) & ~with_ttft, "decode", choose(whole, "serving", "decode")),
    )
    unclear = ~stated(written) & ~(output == 0) & ~(prompt == 0) & ~whole
    if fields.has("speed") and not fields.has("phase") and not documented:
        # A bare speed next to nothing else could be anything.
        nothing = unclear & ~np.isfinite(fields.number("tpot"))
        inferred = choose(nothing, fields.columns.text(""), inferred)
    return choose(stated(written), written, inferred), bool(unclear.any())


@dataclass(frozen=True, slots=True, eq=False)
class Speed:
    """A table's speed [tokens/s]: whose it is, how it was taken, and what is odd about it, row by row."""

    rate: Floats
    basis: Texts
    conversion: Texts
    remark: Texts


def speed_of(fields: Fields, shared: dict[str, object], phase: Texts, documented: bool) -> Speed:
    """The speed of each row, from the most telling of the columns that hold one."""
    size = fields.size
    output, user, total, bare = (
        fields.positive(name) for name in ("output_speed", "user_speed", "total_speed", "speed")
    )
    empty = fields.columns.text("")
    batch = np.nan_to_num(np.asarray(shared["batch"]), nan=1.0)
    if documented:
        given = map_text(
            fields.text("basis"),
            lambda value: (
                value.strip().lower() if value.strip().lower() in {"sequence", "device", "mixed"} else ""
            ),
        )
        together = choose(where(phase, "serving") | ~alone(shared), "device", "sequence")
        phased = choose(where(phase, "mixed"), "mixed", together)
        return Speed(bare, choose(stated(given), given, phased), same_text("as written", size), empty)
    basis, conversion, remark = empty, empty, empty
    speed = bare
    if fields.has("speed"):
        basis = choose((where(phase, "decode") | where(phase, "prefill")) & alone(shared), "sequence", empty)
        tested, why, remark = _tested_basis(fields, shared, bare, batch)
        basis = choose(stated(tested), tested, basis)
        conversion = choose(stated(why), why, "the column's speed as it is")
    for values, whose, how in (
        (total, "mixed", "the column's total speed as it is: prompt and output tokens"),
        (user, "sequence", "the column's speed of one user as it is"),
        (output, "device", "the column's output speed as it is: all sequences together"),
    ):
        has = once(np.isfinite, values)
        if not has.any():
            continue
        speed = first_of(values, speed)
        basis, conversion = choose(has, whose, basis), choose(has, how, conversion)
    return Speed(speed, basis, conversion, remark)


def _tested_basis(
    fields: Fields, shared: dict[str, object], speed: Floats, batch: Floats
) -> tuple[Texts, Texts, Texts]:
    """Whose tokens a bare speed counts, where lengths, batch and the whole time tell (the nearest, within 7 %); how; and a remark.

    Where most rows of a table follow one reading and some do not, those are not measurements of the same kind: results
    doubled for two replicas keep the latency of one.
    """
    prompt, output = np.asarray(shared["prompt_tokens"]), np.asarray(shared["output_tokens"])
    seconds = fields.positive("e2e")
    empty = fields.columns.text("")
    basis, remark = empty, empty
    known = once(np.isfinite, seconds)
    if known.any():
        known = known & np.isfinite(prompt) & np.isfinite(output) & np.isfinite(speed)
    if not known.any():
        return empty, empty, empty
    readings = {"mixed": (prompt + output) * batch, "device": output * batch, "sequence": output}
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = {whose: speed * seconds / tokens for whose, tokens in readings.items()}
        misses = {whose: np.abs(ratio - 1) for whose, ratio in ratios.items()}
        least = np.minimum.reduce(list(misses.values()))
        fits = {whose: known & (miss < 0.07) & (miss <= least) for whose, miss in misses.items()}
    for whose, fit in fits.items():
        basis = choose(fit, whose, basis)
    usual = max(fits, key=lambda whose: int(fits[whose].sum()))
    odd = known & ~stated(basis)
    if fits[usual].sum() > odd.sum():
        rounded = pd.Series(np.where(odd, np.round(ratios[usual], 1), np.nan)).map(
            "{:.1f}".format, na_action="ignore"
        )
        named = pd.Categorical(rounded.astype("str"))
        remark = map_text(
            named,
            lambda ratio: (
                f"the speed is {ratio} × what lengths, batch and latency give: extrapolated, or another run"
            ),
        )
    return (
        basis,
        choose(stated(basis), "whose tokens the speed counts follows from lengths, batch and latency", empty),
        remark,
    )
