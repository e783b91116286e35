"""Text, tables and native charts put on a slide, in the look of the theme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.dml.color import RGBColor
from pptx.enum.chart import (
    XL_AXIS_CROSSES,
    XL_CHART_TYPE,
    XL_LEGEND_POSITION,
    XL_MARKER_STYLE,
    XL_TICK_LABEL_POSITION,
)
from pptx.enum.dml import MSO_LINE
from pptx.enum.text import PP_ALIGN
from pptx.oxml.ns import qn
from pptx.oxml.xmlchemy import OxmlElement
from pptx.util import Emu, Pt

from slmopt.figures import theme
from slmopt.reports.columns import cell, column_words, in_units, numeric, thinned
from slmopt.reports.deck_charts import DeckChart, Series
from slmopt.reports.formulas import guarded
from slmopt.reports.marked_text import Run

Place = tuple[int, int, int, int]

FONT: Final = "Calibri"
_MOST_ROWS: Final = 10
_MOST_COLUMNS: Final = 9
_LONGEST_CELL: Final = 60
_CHART_PT: Final = 14
_NUMBERS: Final = "[>=1000]#,##0;General"
_MARKERS: Final = {
    theme.CEILING: XL_MARKER_STYLE.SQUARE,
    theme.ESTIMATE: XL_MARKER_STYLE.CIRCLE,
    theme.MEASURED: XL_MARKER_STYLE.DIAMOND,
}


def add_text(
    frame: Any, paragraphs: Sequence[Sequence[Run]], size_pt: int, larger: Mapping[int, int] | None = None
) -> None:
    """Paragraphs of runs into a text frame; ``larger`` gives single paragraphs another size in points."""
    for place, told in enumerate(paragraphs):
        paragraph = frame.paragraphs[0] if place == 0 else frame.add_paragraph()
        paragraph.alignment = PP_ALIGN.LEFT
        for run in told:
            added = paragraph.add_run()
            added.text = run.text
            added.font.size = Pt((larger or {}).get(place, size_pt))
            added.font.bold = run.bold
            added.font.name = "Consolas" if run.code else FONT
            added.font.color.rgb = colour(theme.palette("light")[theme.INK])


def colour(value: str) -> RGBColor:
    """A colour such as #1B2127 as PowerPoint takes it."""
    red, green, blue = bytes.fromhex(value.removeprefix("#"))
    return RGBColor(red, green, blue)


def describe(shape: Any, alt: str) -> None:
    """The words for those who do not see the shape."""
    shape._element._nvXxPr.cNvPr.set("descr", alt)  # noqa: SLF001 (python-pptx has no other way)


def add_table(
    slide: Any, place: Place, table: pd.DataFrame | Sequence[Sequence[str]], size_pt: int, alt: str
) -> None:
    """A table; of a long one rows evenly spaced, of a wide one the first columns."""
    if isinstance(table, pd.DataFrame):
        if table.empty:
            return
        few = thinned(in_units(table.iloc[:, :_MOST_COLUMNS]), _MOST_ROWS)[0]
        flush = [numeric(few[name]) for name in few.columns]
        rows = [[column_words(name) for name in few.columns]]
        rows += [[_cut(cell(value)) for value in row] for row in few.itertuples(index=False)]
    else:
        rows = [list(row) for row in table]
        flush = [False, *([True] * (len(rows[0]) - 1))]
    left, top, width, height = place
    most = Emu(min(height, Pt(size_pt * 2) * len(rows)))
    shape = slide.shapes.add_table(len(rows), len(rows[0]), left, top, width, most)
    describe(shape, alt)
    shape.table.horz_banding = False
    for at, row in enumerate(rows):
        for column, text in enumerate(row):
            held = shape.table.cell(at, column)
            held.fill.solid()
            held.fill.fore_color.rgb = colour(theme.palette("light")[theme.PANEL if at == 0 else theme.PAGE])
            # Tables are pasted into spreadsheets.
            told = text if flush[column] and at else guarded(text)
            add_text(held.text_frame, [[Run(told, bold=at == 0)]], size_pt)
            if flush[column]:
                held.text_frame.paragraphs[0].alignment = PP_ALIGN.RIGHT


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_CELL else f"{text[: _LONGEST_CELL - 1]}…"


def add_chart(slide: Any, place: Place, wanted: DeckChart, palette: Mapping[str, str]) -> Any:
    """A native chart with its numbers inside; returns its shape."""
    left, top, width, height = place
    kinds = {
        "lines": XL_CHART_TYPE.XY_SCATTER_LINES_NO_MARKERS,
        "bars": XL_CHART_TYPE.BAR_CLUSTERED,
        "stacked": XL_CHART_TYPE.COLUMN_STACKED,
    }
    data = _points(wanted) if wanted.form == "lines" else _categories(wanted)
    shape = slide.shapes.add_chart(kinds[wanted.form], left, top, width, height, data)
    chart = shape.chart
    chart.font.size, chart.font.name = Pt(_CHART_PT), FONT
    chart.font.color.rgb = colour(palette[theme.INK])
    chart.has_title = False
    chart.has_legend = len(wanted.series) > 1
    if chart.has_legend:
        chart.legend.position, chart.legend.include_in_layout = XL_LEGEND_POSITION.BOTTOM, False
    for drawn, series in zip(chart.plots[0].series, wanted.series, strict=True):
        _style(drawn, series, palette, bars=wanted.form != "lines")
    _axes(chart, wanted, palette)
    return shape


def _points(wanted: DeckChart) -> XyChartData:
    data = XyChartData()
    held = [
        # A logarithmic axis has no place for zero.
        [
            (x, y)
            for x, y in zip(series.x, series.values, strict=True)
            if y is not None and not (wanted.x_log and x <= 0) and not (wanted.y_log and y <= 0)
        ]
        for series in wanted.series
    ]
    longest = max(map(len, held), default=0)
    for series, points in zip(wanted.series, held, strict=True):
        added = data.add_series(guarded(series.name))
        # One office suite draws nothing where series differ in length, so the last point is said again.
        for x, y in [*points, *points[-1:] * (longest - len(points))]:
            added.add_data_point(x, y)
    return data


def _categories(wanted: DeckChart) -> CategoryChartData:
    data = CategoryChartData()
    data.categories = [guarded(name) for name in wanted.names]
    for series in wanted.series:
        data.add_series(guarded(series.name), series.values)
    return data


def _style(drawn: Any, series: Series, palette: Mapping[str, str], *, bars: bool) -> None:
    value = colour(palette[series.colour])
    if bars:
        drawn.format.fill.solid()
        drawn.format.fill.fore_color.rgb = value
        drawn.invert_if_negative = False
        return
    drawn.smooth = False
    if series.points:
        # Without any line one office suite drops the other series' lines too; this one nobody sees.
        drawn.format.line.color.rgb = value
        drawn.format.line.width = Pt(0.25)
        _transparent(drawn.format.line)
        drawn.marker.style, drawn.marker.size = _MARKERS[series.colour], 11
        drawn.marker.format.fill.solid()
        drawn.marker.format.fill.fore_color.rgb = value
        drawn.marker.format.line.color.rgb = value
        return
    drawn.marker.style = XL_MARKER_STYLE.NONE
    drawn.format.line.color.rgb = value
    drawn.format.line.width = Pt(2 if series.dashed else 3)
    if series.dashed:
        drawn.format.line.dash_style = MSO_LINE.DASH


def _transparent(line: Any) -> None:
    """No opacity; python-pptx has no word for it."""
    alpha = OxmlElement("a:alpha")
    alpha.set("val", "0")
    line.fill.fore_color._xFill.find(qn("a:srgbClr")).append(alpha)  # noqa: SLF001 (as above)


def _axes(chart: Any, wanted: DeckChart, palette: Mapping[str, str]) -> None:
    across, up = chart.category_axis, chart.value_axis
    for axis, title, log in ((across, wanted.x_title, wanted.x_log), (up, wanted.y_title, wanted.y_log)):
        axis.has_major_gridlines = axis is up
        axis.has_title = bool(title)
        if title:
            axis.axis_title.text_frame.text = title
            axis.axis_title.text_frame.paragraphs[0].runs[0].font.size = Pt(_CHART_PT)
        axis.tick_labels.font.size = Pt(_CHART_PT)
        axis.tick_label_position = XL_TICK_LABEL_POSITION.LOW
        if axis is up or wanted.form == "lines":
            axis.tick_labels.number_format, axis.tick_labels.number_format_is_linked = _NUMBERS, False
        axis.format.line.color.rgb = colour(palette[theme.LINES])
        if log:
            _logarithmic(axis)
    up.major_gridlines.format.line.color.rgb = colour(palette[theme.LINES])
    if wanted.form == "bars":
        # The first bar stands at the top, and the numbers stay below.
        across.reverse_order = True
        across.crosses = XL_AXIS_CROSSES.MAXIMUM
        up.tick_label_position = XL_TICK_LABEL_POSITION.NEXT_TO_AXIS


def _logarithmic(axis: Any) -> None:
    """Base 10; python-pptx has no word for it."""
    scaling: Any = axis._element.find(qn("c:scaling"))  # noqa: SLF001 (as above)
    base = OxmlElement("c:logBase")
    base.set("val", "10")
    scaling.insert(0, base)
