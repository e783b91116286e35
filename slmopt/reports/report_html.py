"""A report as one HTML file: interactive figures, no network at all, printable on A4.

plotly.js is that of the installed plotly package, embedded once. The page's own policy forbids every connection and every
script but the two whose digests it names, so a name from a stranger's file can neither run nor call home.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.resources import files

import pandas as pd
from plotly.offline import get_plotlyjs

from slmopt.figures import theme
from slmopt.reports.columns import cell, column_words, in_units, left_out, numeric, thinned
from slmopt.reports.marked_text import plain, to_html
from slmopt.reports.picture import Picture
from slmopt.reports.report import FIRST, Report
from slmopt.reports.report_sections import Section, Tile
from slmopt.words import report as words
from slmopt.words import units

_MOST_ROWS = 40


def to_html_page(report: Report) -> str:
    """The whole file's text."""
    drawn = [picture for section in report.sections for picture in section.pictures]
    library, own = get_plotlyjs(), _asset("report.js")
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {_digest(library)} {_digest(own)}",
            "style-src 'unsafe-inline'",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta name="generator" content="slmopt {html.escape(report.version)}">',
        f"<title>{html.escape(plain(report.line))}</title>",
        f"<style>{_asset('report.css')}</style></head><body>",
        *_head(report),
        *(part for section in report.sections for part in _section(section)),
        *_end(report),
        f'<script type="application/json" id="figures">{_figures(drawn)}</script>',
        f"<script>{library}</script>",
        f"<script>{own}</script>",
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


@lru_cache(maxsize=8)
def _asset(name: str) -> str:
    return (files("slmopt.reports") / "assets" / name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _figures(drawn: Iterable[Picture]) -> str:
    """The figures' data with the light theme's values, each as a text of JSON, and the dark value of every colour."""
    light, dark = theme.palette("light"), theme.palette("dark")
    specs = {one.key: theme.to_standalone(one.figure).to_json() for one in drawn}
    held = {"figures": specs, "dark": {light[slot].upper(): dark[slot] for slot in light}}
    # No tag can begin inside a script's text without this sign.
    return json.dumps(held, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")


def _head(report: Report) -> Iterator[str]:
    rows = "".join(
        f'<tr><th scope="row">{html.escape(fact.what)}</th><td class="n">{html.escape(fact.ceiling)}</td>'
        f'<td class="n">{html.escape(fact.estimate)}</td></tr>'
        for fact in report.headline
    )
    yield "<header><h1>What limits this model here</h1>"
    yield f'<p class="small">{to_html(report.line)}<br>{html.escape(report.origin)}</p>'
    yield f'<p class="answer">{to_html(report.answer)}</p>'
    yield (
        '<div class="scroll"><table class="headline"><thead><tr><td></td><th scope="col" class="n">□ Ceiling</th>'
        f'<th scope="col" class="n">○ Estimate (p10 to p90)</th></tr></thead><tbody>{rows}</tbody></table></div>'
    )
    yield _listed(f"{mark} **{word}**: {meaning}" for _, mark, word, meaning in words.KINDS)
    if report.measured is None:
        yield f"<p>{words.NOTHING_MEASURED}</p>"
    links = "".join(
        f'<li><a href="#{section.page}">{html.escape(section.title)}</a></li>' for section in report.sections
    )
    yield f'<nav aria-label="Questions"><ul>{links}<li><a href="#sources">Sources</a></li></ul></nav></header>'


def _section(section: Section) -> Iterator[str]:
    yield f'<section id="{section.page}"><h2>{html.escape(section.question)}</h2>'
    # The first one stands above already.
    if section.page != FIRST:
        yield f'<p class="answer">{to_html(section.answer)}</p>'
    yield f'<ul class="tiles">{"".join(map(_tile, section.tiles))}</ul>'
    if section.notes:
        yield _listed(section.notes)
    for picture in section.pictures:
        yield from _picture(picture)
    if section.arithmetic:
        yield f"<details><summary>The arithmetic</summary>{_listed(section.arithmetic)}</details>"
    yield "</section>"


def _tile(tile: Tile) -> str:
    label, value, note = (html.escape(text) for text in tile[:3])
    return f'<li class="tile"><span>{label}</span><b>{value}</b><span>{note}</span></li>'


def _picture(picture: Picture) -> Iterator[str]:
    height = picture.height or picture.figure.layout.height or theme.HEIGHT_MAIN
    key = " ".join(f"{mark} {name}" for name, mark, *_ in words.KINDS if name in picture.kinds)
    yield (
        f'<figure><figcaption><span>{html.escape(picture.heading)}</span><span class="key">{key}</span></figcaption>'
        f'<div role="img" aria-label="{html.escape(picture.alt, quote=True)}">'
        f'<div class="plot" data-figure="{picture.key}" data-height="{height:g}" style="min-height:{height:g}px"></div></div>'
    )
    if picture.numbers is not None:
        yield f'<details class="numbers"><summary>The numbers</summary>{_table(picture.numbers())}</details>'
    yield "</figure>"


def _table(table: pd.DataFrame) -> str:
    few, missing = thinned(in_units(table), _MOST_ROWS)
    flush = ['class="n"' if numeric(few[name]) else "" for name in few.columns]
    head = "".join(
        f'<th scope="col" {to}>{html.escape(column_words(name))}</th>'
        for name, to in zip(few.columns, flush, strict=True)
    )
    rows = "".join(
        f"<tr>{''.join(f'<td {to}>{html.escape(cell(value))}</td>' for value, to in zip(row, flush, strict=True))}</tr>"
        for row in few.itertuples(index=False)
    )
    told = f'<p class="small">{left_out(missing)}</p>' if missing else ""
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{told}'
    )


def _end(report: Report) -> Iterator[str]:
    yield f'<section id="sources"><h2>Assumptions</h2>{_listed(report.assumptions)}'
    yield f"<h2>Sources</h2>{_listed(report.sources)}</section>"
    yield (
        f"<footer>{html.escape(report.origin)}. {units.now().meaning}; times are of one sequence unless said otherwise. "
        "To make a PDF, print this page.</footer>"
    )


def _listed(lines: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{to_html(line)}</li>' for line in lines)}</ul>"
