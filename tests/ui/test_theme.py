"""Colours have one home: config.toml, the style sheet and the figures agree, and can be read."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import plotly.graph_objects as go
import pytest

from slmopt.figures import frame, marks, theme

ROOT = Path(__file__).resolve().parents[2]
CONFIG = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
MODES: tuple[theme.Mode, ...] = ("light", "dark")


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """The WCAG contrast ratio of two colours."""
    low, high = sorted(map(_luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mode", MODES)
def test_config_holds_the_theme_s_values(mode):
    section = CONFIG["theme"][mode]
    page, lines, panel = theme.SURFACE_VALUES[mode]
    colours = theme.CATEGORICAL[mode]
    assert section["primaryColor"] == theme.CONTROLS[mode]
    assert section["backgroundColor"] == section["sidebar"]["secondaryBackgroundColor"] == page
    assert section["secondaryBackgroundColor"] == section["sidebar"]["backgroundColor"] == panel
    assert section["borderColor"] == lines
    assert section["textColor"] == colours[0]
    assert section["violetTextColor"] == colours[1]
    assert section["greenTextColor"] == colours[2]
    assert section["chartCategoricalColors"] == list(colours)
    assert section["chartSequentialColors"] == theme.sequential(mode)
    assert section["chartDivergingColors"] == theme.diverging(mode)


@pytest.mark.parametrize("mode", MODES)
def test_there_are_ten_colours_of_each_sort(mode):
    # Fewer than ten make Streamlit's list invalid, and Plotly falls back to its own colours without a word.
    section = CONFIG["theme"][mode]
    for name in ("chartCategoricalColors", "chartSequentialColors", "chartDivergingColors"):
        assert len(section[name]) == 10, name
        assert all(re.fullmatch("#[0-9A-F]{6}", colour) for colour in section[name]), name
    assert len(set(section["chartCategoricalColors"])) == 10


@pytest.mark.parametrize("mode", MODES)
def test_every_colour_stands_out_from_page_and_panel(mode):
    page, _, panel = theme.SURFACE_VALUES[mode]
    for colour in theme.CATEGORICAL[mode]:
        assert min(contrast(colour, page), contrast(colour, panel)) >= 3.2, colour
    assert min(contrast(theme.CATEGORICAL[mode][0], ground) for ground in (page, panel)) >= 14.4
    assert contrast(theme.CONTROLS[mode], panel) >= 4.8


def test_telemetry_prompts_and_magic_are_off():
    assert CONFIG["browser"]["gatherUsageStats"] is False
    assert CONFIG["server"]["showEmailPrompt"] is False
    assert CONFIG["server"]["enableStaticServing"] is True
    assert CONFIG["runner"]["magicEnabled"] is False
    assert CONFIG["client"]["toolbarMode"] == "viewer"


def test_nothing_is_fetched_from_another_host():
    names = [ROOT / ".streamlit" / "config.toml", *(ROOT / "pages" / "ui").rglob("*.*")]
    for path in names:
        if path.suffix in {".py", ".toml", ".css", ".svg"} or path.name == "chart.js":
            found = re.findall(r"https?://[\w.]+", path.read_text())
            assert [link for link in found if link != "http://www.w3.org"] == [], path


def test_the_style_sheet_has_the_surfaces_of_both_modes():
    sheet = (ROOT / "pages" / "ui" / "assets" / "page.css").read_text()
    for light, dark in zip(*theme.SURFACE_VALUES.values(), strict=True):
        assert f"light-dark({light}, {dark})" in sheet or light == "#F6F7F9"
    assert f"light-dark({theme.CATEGORICAL['light'][0]}, {theme.CATEGORICAL['dark'][0]})" in sheet


def test_style_sheets_name_no_generated_class():
    for path in (ROOT / "pages" / "ui").rglob("*.css"):
        assert re.findall(r"\.(?:st-emotion-cache|css)-\w+", path.read_text()) == [], path


def test_placeholders_become_colours_and_keep_transparency():
    assert theme.resolve("#000001 #000010 #000011", "dark") == "#E8ECF1 #8D6B5B #0F1317"
    assert theme.resolve(theme.tint(theme.ESTIMATE, 0.18)) == "#9E76DC2E"
    assert theme.resolve("#000000 #000014 #0000012") == "#000000 #000014 #0000012"


def _figure() -> go.Figure:
    data = [
        *marks.band([1, 10], [1, 2], [3, 4]),
        marks.line([1, 10], [2, 3], "estimate"),
        marks.points([1], [2], now=True, hover=["one"]),
        marks.points([10], [3], "measured"),
        marks.bar([3], ["a"], "memory", xaxis="x2", yaxis="y2"),
        marks.bar([3], ["a"], "compute", base=[3], outline=True, xaxis="x2", yaxis="y2"),
    ]
    layout = frame.base_layout(
        x_title="Sequences",
        y_title="Rate (TFLOPS)",
        x_scale="log",
        x_limits=(1, 1000),
        notes=[marks.end_label(10, 3, "now", bold=True), marks.region_word("memory", 1)],
        shapes=[
            marks.region("memory", 1, 100),
            marks.limit_line(100),
            marks.limit_line(2, axis="y", start=1, end=9),
        ],
        phone={"margin.r": 8},
        xaxis2=frame.axis("Time (ms)"),
        yaxis2=frame.axis(None, "category"),
    )
    return theme.figure(data, layout)


def test_every_mark_passes_plotly_s_own_checks():
    theme.checked(_figure())


def test_words_on_log_axes_stand_at_their_data_value():
    notes = {note.text: note.x for note in theme.checked(_figure()).layout.annotations}
    assert notes["<b>now</b>"] == pytest.approx(1)
    assert notes["▲ memory decides"] == pytest.approx(0)
    assert notes["Rate (TFLOPS)"] == 0


def test_a_standalone_figure_has_real_colours_and_a_page():
    drawn = theme.to_standalone(_figure(), "light")
    assert not theme.SLOT.search(drawn.to_json())
    assert drawn.layout.paper_bgcolor == "#FFFFFF"
    assert list(drawn.layout.template.layout.colorway) == list(theme.CATEGORICAL["light"])


def test_no_figure_carries_plotly_s_template():
    assert len(_figure().to_json()) < 6000
