"""A report as a PowerPoint deck: one question a slide, large type, native charts that can be edited.

python-pptx writes each chart's numbers into a workbook inside the deck, so texts in it are guarded against formulas.
"""

from __future__ import annotations

import io
from datetime import UTC
from typing import Any, Final

from pptx import Presentation
from pptx.util import Emu, Inches

from slmopt.figures import theme
from slmopt.reports.deck_charts import deck_chart
from slmopt.reports.deck_parts import add_chart, add_table, add_text, describe
from slmopt.reports.marked_text import Run, plain, runs
from slmopt.reports.picture import Picture
from slmopt.reports.report import Report
from slmopt.reports.report_sections import Section
from slmopt.words import report as words

WIDTH, HEIGHT = Inches(13.333), Inches(7.5)
LEFT: Final = Inches(0.6)
INNER: Final = Emu(WIDTH - 2 * LEFT)
_TITLE_ONLY = 5
_ANSWER_PT = 24
_TEXT_PT = 16
_SMALL_PT = 12
_FOOT_PT = 10
_MOST_LINES = 9


def to_pptx(report: Report) -> bytes:
    """The deck's bytes."""
    deck = Presentation()
    deck.slide_width, deck.slide_height = WIDTH, HEIGHT
    told = deck.core_properties
    told.title, told.author, told.subject = plain(report.line)[:255], "slmopt", report.origin
    told.created = told.modified = (
        report.date.astimezone(UTC).replace(tzinfo=None) if report.date.tzinfo else report.date
    )
    _first(deck, report)
    for section in report.sections:
        _question(deck, report, section)
    for section in report.sections:
        for picture in section.pictures[1:]:
            _more(deck, report, section, picture)
    _listed(deck, report, "What these numbers take for granted", report.assumptions)
    _listed(deck, report, "Where they are from", report.sources)
    written = io.BytesIO()
    deck.save(written)
    return written.getvalue()


def _slide(deck: Any, report: Report, title: str, kicker: str = "", size: int = _ANSWER_PT) -> Any:
    """A slide with its title, above it a small line, below what the deck is about."""
    slide = deck.slides.add_slide(deck.slide_layouts[_TITLE_ONLY])
    place = slide.shapes.title
    place.left, place.top, place.width, place.height = LEFT, Inches(0.65), INNER, Inches(1.05)
    frame = place.text_frame
    frame.word_wrap = True
    add_text(frame, [runs(title)], size)
    if kicker:
        add_text(_box(slide, LEFT, Inches(0.3), INNER, Inches(0.4)), [[Run(kicker)]], _TEXT_PT)
    foot = f"{plain(report.line)} | {report.origin}"
    add_text(_box(slide, LEFT, Inches(7.0), INNER, Inches(0.35)), [[Run(foot)]], _FOOT_PT)
    return slide


def _box(slide: Any, left: int, top: int, width: int, height: int) -> Any:
    frame = slide.shapes.add_textbox(left, top, width, height).text_frame
    frame.word_wrap = True
    return frame


def _first(deck: Any, report: Report) -> None:
    slide = _slide(deck, report, report.answer, "What limits this model here")
    head = ["", "□ Ceiling", "○ Estimate (p10 to p90)"]
    rows = [[fact.what, fact.ceiling, fact.estimate] for fact in report.headline]
    add_table(
        slide,
        (LEFT, Inches(1.9), INNER, Inches(0.5) * (len(rows) + 1)),
        [head, *rows],
        18,
        "Headline numbers",
    )
    kinds = [runs(f"{mark} **{word}**: {meaning}") for _, mark, word, meaning in words.KINDS]
    if report.measured is None:
        kinds.append([Run(words.NOTHING_MEASURED)])
    add_text(_box(slide, LEFT, Inches(5.4), INNER, Inches(1.5)), kinds, _TEXT_PT)


def _question(deck: Any, report: Report, section: Section) -> None:
    """The question small, its answer large, the tiles, and the main figure."""
    slide = _slide(deck, report, section.answer, section.question)
    across = Emu(INNER // max(1, len(section.tiles)))
    for place, (label, value, note, _) in enumerate(section.tiles):
        frame = _box(slide, Emu(LEFT + place * across), Inches(1.8), across, Inches(1.2))
        add_text(frame, [[Run(label)], [Run(value, bold=True)], [Run(note)]], _SMALL_PT + 1, {1: 24})
    if section.pictures:
        _picture(slide, section.pictures[0], Inches(3.05), Inches(3.9))
    lines = [*section.notes, *section.arithmetic]
    slide.notes_slide.notes_text_frame.text = "\n".join(map(plain, lines))


def _more(deck: Any, report: Report, section: Section, picture: Picture) -> None:
    slide = _slide(deck, report, picture.title, section.question)
    _picture(slide, picture, Inches(1.8), Inches(5.1), headed=False)


def _picture(slide: Any, picture: Picture, top: int, height: int, *, headed: bool = True) -> None:
    """The figure as a native chart, or its numbers as a table."""
    if headed:
        key = "   ".join(f"{mark} {name}" for name, mark, *_ in words.KINDS if name in picture.kinds)
        title = [Run(picture.heading, bold=True), Run(f"   {key}")]
        add_text(_box(slide, LEFT, top, INNER, Inches(0.4)), [title], _TEXT_PT)
        top, height = Emu(top + Inches(0.4)), Emu(height - Inches(0.4))
    place = (LEFT, top, INNER, height)
    chart = deck_chart(picture)
    if chart is not None:
        describe(add_chart(slide, place, chart, theme.palette("light")), picture.alt)
    elif picture.numbers is not None:
        add_table(slide, place, picture.numbers(), _SMALL_PT + 1, picture.alt)


def _listed(deck: Any, report: Report, title: str, lines: tuple[str, ...]) -> None:
    for start in range(0, len(lines), _MOST_LINES):
        slide = _slide(deck, report, title)
        told = [runs(f"• {line}") for line in lines[start : start + _MOST_LINES]]
        add_text(_box(slide, LEFT, Inches(1.8), INNER, Inches(5.0)), told, _TEXT_PT - 2)
