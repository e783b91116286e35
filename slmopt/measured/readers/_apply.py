"""Rows of the one table from a sheet whose columns are known: prefill, decode and serving rows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from slmopt.measured.distinct import alike, once
from slmopt.measured.readers._cells import Floats, parse_number
from slmopt.measured.readers._columns import Bools, Columns, Texts, as_texts, choose, first_of, stated
from slmopt.measured.readers._delimited import Sheet
from slmopt.measured.readers._fields import Fields, facts_of, positive
from slmopt.measured.readers._guess import Layout, turned
from slmopt.measured.readers._meaning import Speed, alone, phase_of, speed_of, statistic_of, where
from slmopt.measured.readers._names import DURATIONS, MEASURES, SECONDS, kind_of
from slmopt.measured.readers._wide import wide_rows
from slmopt.measured.table import ReadResult, concat_rows, make_rows, result


def rows_of(sheet: Sheet, layout: Layout, form: str, constants: Mapping[str, str | float]) -> ReadResult:
    """All rows of the sheet under this layout; rows without a measured value are listed as left out."""
    sheet = turned(sheet, layout.layout)
    if layout.value_columns:
        return wide_rows(sheet, layout, form, constants)
    kinds = {choice.column: kind_of(choice.field) for choice in layout.choices}
    columns = sheet.load(
        numbers=[name for name, kind in kinds.items() if kind == "number"],
        texts=[name for name, kind in kinds.items() if kind == "text"],
        times=[name for name, kind in kinds.items() if kind == "time"],
        decimal=layout.decimal,
    )
    _own_units(sheet, layout, columns)
    measured = [choice.column for choice in layout.choices if choice.field in MEASURES]
    some = np.zeros(len(columns), dtype=bool)
    for name in measured:
        with np.errstate(invalid="ignore"):
            some |= columns.number(name) > 0
    shown = ", ".join(measured[:4]) + (" …" if len(measured) > 4 else "")
    columns = columns.keep(some, {f"no value above 0 in {shown}": ~some})
    warnings = [
        f"{sheet.source}: column {name!r} holds {', '.join(map(repr, cells[:3]))}{' …' if len(cells) > 3 else ''} where numbers are expected"
        for name, cells in columns.odd.items()
        if cells
    ]
    if not layout.documented:
        warnings += _guesses(sheet, layout)
    if layout.ignored:
        warnings.append(
            f"{sheet.source}: not read, since another column says the same: {', '.join(map(repr, layout.ignored))}"
        )
    frames = []
    for variant in dict.fromkeys(choice.variant for choice in layout.choices if choice.variant) or [""]:
        own = [choice for choice in layout.choices if choice.variant in {"", variant}]
        rows = _rows(Fields(columns, own, constants), layout.documented, warnings, sheet.source)
        if variant:
            rows = rows.assign(row=rows["row"] + f", {variant!r}", note=_noted(rows["note"], variant))
        frames.append(rows)
    return result(form, sheet.source, concat_rows(frames), columns.skips, dict.fromkeys(warnings))


def _own_units(sheet: Sheet, layout: Layout, columns: Columns) -> None:
    """Times in cells that state another unit than their column's, in the latter; ``columns`` are changed in place."""
    at = {choice.column: choice for choice in layout.choices if choice.field in DURATIONS}
    places = [place for place, name in enumerate(sheet.header) if name in at]
    named = {
        sheet.header[place]
        for row in sheet.sample()
        for place in places
        if row[place] and not row[place].strip()[-1:].isdigit() and _seconds(row[place], layout.decimal)
    }
    if not named:
        return
    texts = sheet.load(texts=named)
    for name in named:
        cells, scale = texts.text(name), at[name].scale
        told = [_seconds(str(cell), layout.decimal) for cell in cells.categories]
        factors = np.array([*(one / scale if one else 1.0 for one in told), 1.0])[cells.codes]
        columns.numbers[name] = columns.number(name) * factors
        if f"{name} ±" in columns.numbers:
            columns.numbers[f"{name} ±"] = columns.number(f"{name} ±") * factors


def _seconds(cell: str, decimal: str) -> float:
    """Seconds of the unit in a cell; 0 where it names no unit of time."""
    return SECONDS.get(parse_number(cell, decimal)[2].strip().lower(), 0.0)


def _noted(notes: pd.Series[str], variant: str) -> Texts:
    """The notes with the name of a side-by-side run before them."""
    return pd.Categorical(
        notes.astype("str")
        .fillna("")
        .map(lambda note: f"{variant}; {note}" if note else variant)
        .astype("str")
    )


def _guesses(sheet: Sheet, layout: Layout) -> list[str]:
    doubtful = [
        f"{choice.column!r}: {choice.why}" for choice in layout.choices if "size of the values" in choice.why
    ]
    return [f"{sheet.source}: {'; '.join(doubtful)}"] if doubtful else []


def _rows(fields: Fields, documented: bool, warnings: list[str], source: str) -> pd.DataFrame:
    """Prefill, decode and serving rows, as far as the sheet has numbers for them."""
    shared = facts_of(fields)
    prefill, decode = fields.number("prefill_speed"), fields.number("decode_speed")
    if (
        fields.has("decode_speed")
        and fields.has("ttft")
        and not fields.has("prefill_speed")
        and not fields.has("user_speed")
    ):
        # First token and decode speed of the same request: one row of the whole, not a decode with a TTFT of its own.
        fields.rename("decode_speed", "user_speed")
    serving = any(
        fields.has(name) for name in ("output_speed", "total_speed", "user_speed", "tpot", "itl", "e2e")
    ) or fields.has("speed")
    frames = []
    if fields.has("prefill_speed"):
        frames.append(_phase_rows(fields, shared, "prefill", prefill, with_ttft=not serving))
    if fields.has("decode_speed"):
        frames.append(_phase_rows(fields, shared, "decode", decode, with_ttft=not serving and not frames))
    if serving or not frames:
        frames.append(_main_rows(fields, shared, documented, warnings, source))
    rows = concat_rows([frame if (some := _measured(frame)).all() else frame[some] for frame in frames])
    if len(frames) == 1:
        return rows
    place = {label: position for position, label in enumerate(dict.fromkeys(fields.columns.labels))}
    return rows.iloc[np.argsort(rows["row"].map(place).to_numpy(), kind="stable")].reset_index(drop=True)


def _measured(frame: pd.DataFrame) -> Bools:
    some = np.zeros(len(frame), dtype=bool)
    for name in ("tokens_per_s", "ttft_s", "tpot_s", "itl_s", "e2e_s", "ttft_p50_s", "tpot_p50_s"):
        if some.all():
            break
        some |= once(lambda values: ~np.isnan(values), frame[name].to_numpy())
    return some


def _phase_rows(
    fields: Fields, shared: dict[str, object], phase: str, speed: Floats, *, with_ttft: bool
) -> pd.DataFrame:
    """Rows of one phase from a column that names it."""
    facts = dict(shared)
    prompt, output, depth = (
        np.asarray(shared[name]) for name in ("prompt_tokens", "output_tokens", "depth_tokens")
    )
    single = alone(shared)
    if phase == "prefill":
        facts |= {"output_tokens": np.zeros(fields.size)}
    else:
        # The prompt was in the cache before the first step.
        facts |= {
            "prompt_tokens": np.where(np.isfinite(prompt), 0.0, np.nan),
            "depth_tokens": np.where(np.isfinite(prompt), prompt + np.nan_to_num(depth), depth),
            "output_tokens": np.where(output > 0, output, np.nan),
            "tpot_s": np.where(single & (speed > 0), 1 / np.where(speed > 0, speed, np.nan), np.nan),
        }
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = positive(fields.deviation(f"{phase}_speed") / speed)
    given = np.asarray(shared["spread"])
    return make_rows(
        {
            **facts,
            "phase": phase,
            "spread": first_of(given, relative),
            "tokens_per_s": positive(speed),
            "tokens_per_s_basis": choose(single, "sequence", "device"),
            "ttft_s": positive(fields.number("ttft")) if with_ttft else np.nan,
            "conversion": f"the column's {phase} speed as it is",
        },
        fields.size,
    )


def _main_rows(
    fields: Fields, shared: dict[str, object], documented: bool, warnings: list[str], source: str
) -> pd.DataFrame:
    """Rows whose phase follows from a phase column, from token counts, or from what was measured."""
    facts = shared | _times(fields)
    phase, guessed = phase_of(fields, shared, documented=documented)
    found = speed_of(fields, shared, phase, documented)
    statistic, note = statistic_of(fields, as_texts(shared["note"]))
    if not fields.has("statistic"):
        facts["statistic"] = statistic
    if not documented:
        warnings += _open_questions(fields, phase, found, source, guessed)
    user = once(np.isfinite, fields.number("user_speed"))
    one_user = where(found.basis, "sequence") & (where(phase, "decode") | user)
    tpot, spread = np.asarray(facts["tpot_s"]), np.asarray(shared["spread"])
    deviation = fields.deviation("speed")
    with np.errstate(divide="ignore", invalid="ignore"):
        implied = np.where(one_user & (found.rate > 0), 1 / found.rate, np.nan)
        relative = deviation if alike(deviation) and np.isnan(deviation).all() else deviation / found.rate
    facts |= {
        "phase": phase,
        "tokens_per_s": found.rate,
        "tokens_per_s_basis": found.basis,
        "tpot_s": first_of(tpot, implied),
        "spread": first_of(spread, positive(relative)),
        "note": choose(stated(found.remark), found.remark, note),
        "conversion": choose(stated(fields.text("conversion")), fields.text("conversion"), found.conversion),
    }
    return make_rows(facts, fields.size)


def _times(fields: Fields) -> dict[str, object]:
    """The four times, medians where there are no means, and the percentiles [s]."""
    times: dict[str, object] = {}
    for name in ("ttft", "tpot", "itl", "e2e"):
        times[f"{name}_s"] = first_of(fields.positive(name), fields.positive(name, "p50"))
    for name in ("ttft", "tpot"):
        for percentile in ("p50", "p95", "p99"):
            times[f"{name}_{percentile}_s"] = fields.positive(name, percentile)
    return times


def _open_questions(fields: Fields, phase: Texts, found: Speed, source: str, guessed: bool) -> list[str]:
    """What the table leaves open and a comparison needs."""
    questions = []
    if guessed and len(phase):
        taken = sorted({str(name) for name in phase.dropna()})
        how = f"taken for {', '.join(taken)} by its columns" if taken else "say so before comparing"
        questions.append(f"{source} does not say which phase its rows time: {how}.")
    if fields.has("speed") and bool((~stated(found.basis) & np.isfinite(found.rate)).any()):
        questions.append(
            f"{source} does not say whose tokens its speed counts (one user's, all users', prompt included): "
            "say so before comparing."
        )
    return questions
