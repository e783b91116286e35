"""``compare``: benchmark files against their ceilings."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from slmopt.cli import inputs
from slmopt.cli.arguments import as_flags
from slmopt.cli.output import aligned, as_json, say
from slmopt.cli.parser import FULL_NAMES, UsageError, add_json_flag
from slmopt.measured.checks import check
from slmopt.measured.compare import Comparison, compare
from slmopt.measured.detect import read_benchmark
from slmopt.measured.placed import Facts
from slmopt.measured.table import ReadResult, concat
from slmopt.measured.text import MAX_BYTES, UnreadableFile
from slmopt.specs.base import SpecError
from slmopt.specs.device import RATES
from slmopt.specs.scenario import Engine, scenario
from slmopt.words import checks as check_words
from slmopt.words import numbers
from slmopt.words.verdicts import (
    MARKS,
    NEXT_STEP,
    VERDICT_WORDS,
    note_text,
    notes_of,
    reason_list,
    reasons_of,
)

MOST = 10_000_000
MOST_NOTES = 20
MOST_LINES = 200
"""Rows printed one by one; longer files are summed up, and --json has all."""


def add_commands(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "compare",
        help="benchmark files against their ceilings",
        description="Hold every row of benchmark files against the ceiling of the work that it timed.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="what a benchmark tool wrote (llama-bench, plain CSV, …)"
    )
    add_fact_flags(parser)
    add_json_flag(parser)
    parser.set_defaults(command=run)


def add_fact_flags(parser: argparse.ArgumentParser) -> None:
    """What a user can say of rows that do not tell it."""
    parser.add_argument("--device", metavar="D", help=f"{FULL_NAMES}; wins over a name in the file")
    parser.add_argument("--model", metavar="M", help=f"{FULL_NAMES}; for rows that do not tell theirs")
    parser.add_argument(
        "--weights", metavar="W", help=f"{FULL_NAMES}, or bits; for rows that do not tell theirs"
    )
    parser.add_argument("--kv", metavar="K", help="cache format, for rows that do not tell theirs")
    parser.add_argument("--kv-v", metavar="K", help="cache format of the values")
    parser.add_argument(
        "--batch", metavar="N", type=inputs.whole, help="sequences together, for rows that do not tell"
    )
    parser.add_argument(
        "--devices", metavar="N", type=inputs.whole, help="how many devices, for rows that do not tell"
    )
    parser.add_argument(
        "--host",
        metavar="D",
        help=f"{FULL_NAMES}: whose memory holds the layers that a row keeps off the card",
    )
    parser.add_argument(
        "--link-gbs", metavar="B", type=inputs.number, help="GB/s between devices, or card and host"
    )
    parser.add_argument(
        "--engine", choices=get_args(Engine), help="the runtime, for rows that do not tell theirs"
    )
    parser.add_argument("--compute", metavar="T", choices=RATES, help=f"compute type: {', '.join(RATES)}")
    parser.add_argument("--bandwidth-fraction", metavar="X", type=inputs.number, help="what is usual, 0 to 1")
    parser.add_argument("--compute-fraction", metavar="X", type=inputs.number, help="what is usual, 0 to 1")
    parser.add_argument(
        "--fixed-ms", metavar="T", type=inputs.number, help="usual time of a pass that nothing else explains"
    )


def run(options: argparse.Namespace) -> list[str]:
    """The command's output."""
    facts = facts_of(options)
    read = read_files(options.files)
    judged = compare(read.rows, facts)
    skipped = pd.concat([read.skipped, judged.skipped], ignore_index=True)
    findings = check(read.rows)
    if options.json:
        told = [{"check": one.code, "rows": one.rows, "text": check_words.sentence(one)} for one in findings]
        return as_json({**comparison_json(read, judged, skipped), "checks": told})
    lines = _lines(read, judged, skipped)
    if findings:
        lines += ["", check_words.head(findings), *(f"  {check_words.sentence(one)}" for one in findings)]
    return lines


def read_files(names: Sequence[str]) -> ReadResult:
    """The rows of all files; warnings go to stderr."""
    read = concat([read_file(name) for name in names])
    for warning in read.warnings:
        say(f"warning: {warning}")
    return read


def facts_of(options: argparse.Namespace) -> Facts:
    """What the flags say of rows that do not tell it."""
    names = ("compute", "bandwidth_fraction", "compute_fraction", "fixed_ms", "link_gbs")
    overrides = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    if options.host is not None:
        overrides["host"] = inputs.device(options.host, "--host")
    try:
        scenario(overrides)
    except SpecError as error:
        raise SpecError(as_flags(str(error))) from error
    for name in ("batch", "devices"):
        value = getattr(options, name)
        if value is not None and not 1 <= value <= MOST:
            raise UsageError(f"--{name} = {value}: it must be a whole number between 1 and {MOST:,}.")
    return Facts(
        device=None if options.device is None else inputs.device(options.device),
        model=None if options.model is None else inputs.model(options.model),
        weights=None if options.weights is None else inputs.weights(options.weights),
        cache_k=None if options.kv is None else inputs.cache(options.kv),
        cache_v=None if options.kv_v is None else inputs.cache(options.kv_v, "--kv-v"),
        engine=options.engine,
        batch=options.batch,
        devices=options.devices,
        overrides=overrides,
    )


def read_file(text: str) -> ReadResult:
    """The benchmark file at a path. Raises :class:`SpecError` where it cannot be read."""
    path = Path(text)
    content = inputs.read_bytes(path, MAX_BYTES)
    try:
        read = read_benchmark(path.name, content)
    except UnreadableFile as error:
        raise SpecError(str(error)) from error
    if read.rows.empty and read.format == "json" and len(read.skipped):
        # JSON of no tool, broken before its first value: nothing was recognised that rows could be left out of.
        raise SpecError(f"{path.name}: {read.skipped['why'].iloc[0]}.")
    return read


def comparison_json(read: ReadResult, judged: Comparison, skipped: pd.DataFrame) -> dict[str, Any]:
    """The contract's keys, and what each row was held against."""
    columns = (
        "row",
        "phase",
        "measured",
        "ceiling",
        "fraction",
        "bound",
        "verdict",
        "reasons",
        "notes",
        "note",
    )
    more = ("source_file", "model", "weights", "device", "batch", "context", "spread", "p10", "p50", "p90")
    rows = []
    for values in judged.rows[[*columns, *more]].itertuples(index=False):
        row = {
            name: None if pd.isna(value) else value
            for name, value in zip((*columns, *more), values, strict=True)
        }
        notes = row.pop("notes")
        rows.append({**row, "reasons": reason_list(row["reasons"]), "note": note_text(notes, row["note"])})
    return {
        "format": read.format,
        "rows": rows,
        "skipped": [
            {"row": row, "why": why, "source_file": file}
            for file, row, why in skipped.itertuples(index=False)
        ],
        "needs": list(judged.needs),
    }


def _lines(read: ReadResult, judged: Comparison, skipped: pd.DataFrame) -> list[str]:
    rows = judged.rows
    lines = [f"{read.format}: {_count(len(rows), 'row')} judged, {len(skipped):,} left out", ""]
    if len(rows):
        lines += _table(rows) if len(rows) <= MOST_LINES else _summary(rows)
    lines += [*_explained(rows), *_left_out(skipped)]
    if judged.needs:
        flags = ", ".join(f"--{need}" for need in judged.needs)
        lines += ["", f"Some rows lack what {flags} can give."]
    return lines


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _table(rows: pd.DataFrame) -> list[str]:
    head = [
        "row",
        "model",
        "weights",
        "phase",
        "batch",
        "context",
        "measured",
        "ceiling",
        "share",
        "limited by",
        "verdict",
    ]
    units = ["", "", "", "", "", "tokens", "tokens/s", "tokens/s", "of ceiling", "", ""]
    several = len(rows["source_file"].cat.remove_unused_categories().cat.categories) > 1
    lines: list[list[str]] = [head, units]
    file = ""
    for row in rows.itertuples(index=False):
        name = str(row.source_file)
        if several and name != file:
            file = name
            lines.append([name])
        lines.append(_table_row(row))
    return aligned(lines, right=(4, 5, 6, 7, 8))


def _table_row(row: Any) -> list[str]:
    spread = f" ±{numbers.percent(row.spread)}" if row.spread >= 0.005 else ""
    ceiling = numbers.UNKNOWN if pd.isna(row.ceiling) else f"≤ {numbers.figures(row.ceiling)}"
    mark = f" {MARKS[row.verdict]}" if row.verdict in MARKS else ""
    return [
        row.row,
        _or_dash(row.model),
        _or_dash(row.weights),
        row.phase,
        numbers.count(row.batch),
        numbers.count(row.context),
        f"{numbers.figures(row.measured)}{spread}",
        ceiling,
        numbers.percent(row.fraction),
        _or_dash(row.bound),
        f"{VERDICT_WORDS[row.verdict]}{mark}",
    ]


def _or_dash(value: Any) -> str:
    return numbers.UNKNOWN if pd.isna(value) else str(value)


def _summary(rows: pd.DataFrame) -> list[str]:
    """Counts and medians by phase and verdict, for files too long to print."""
    lines = [["phase", "verdict", "rows", "median share of the ceiling"]]
    for (phase, verdict), part in rows.groupby(["phase", "verdict"], observed=True):
        lines.append(
            [
                str(phase),
                VERDICT_WORDS[str(verdict)],
                f"{len(part):,}",
                numbers.percent(part["fraction"].median()),
            ]
        )
    return aligned(lines, right=(2, 3))


def _explained(rows: pd.DataFrame) -> list[str]:
    """What each verdict that needs action means, with the reasons that its rows have, likeliest first."""
    lines: list[str] = []
    for verdict in ("above_ceiling", "far_below", "below_typical", "near_ceiling", "unknown"):
        part = rows[rows["verdict"] == verdict]
        if part.empty:
            continue
        title = f"{VERDICT_WORDS[verdict].capitalize()} ({_count(len(part), 'row')}): {NEXT_STEP[verdict]}"
        lines += ["", title, *(f"  {sentence}" for sentence in reasons_of(part))]
    said = notes_of(rows)
    if said:
        lines += ["", "Notes", *(f"  {_count(number, 'row')}: {text}" for text, number in said[:MOST_NOTES])]
    return lines


def _left_out(skipped: pd.DataFrame) -> list[str]:
    if skipped.empty:
        return []
    shown = skipped.head(20)
    lines = ["", "Left out", *(f"  {file}, {row}: {why}" for file, row, why in shown.itertuples(index=False))]
    return lines if len(skipped) <= 20 else [*lines, f"  and {len(skipped) - 20:,} more (--json lists all)"]
