"""The frame: every page keeps the sidebar, addresses are right, and the layers stay apart."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.ui import chart, sitemap
from slmopt.figures import frame, marks, theme

ROOT = Path(__file__).resolve().parents[2]
MAIN = ROOT / "pages" / "ui" / "main.py"


@pytest.fixture(scope="module")
def app():
    return AppTest.from_file(str(MAIN), default_timeout=60).run()


@pytest.mark.parametrize("page", sitemap.PAGES, ids=lambda page: page.url_path)
def test_every_page_runs_and_keeps_the_sidebar(app, page):
    app.switch_page(f"../{page.file.name}").run()
    assert not app.exception
    assert app.sidebar.selectbox or app.sidebar.children
    first = len(app.sidebar.children)
    app.run()
    assert not app.exception
    assert len(app.sidebar.children) == first


@pytest.mark.parametrize("page", sitemap.PAGES, ids=lambda page: page.url_path)
def test_a_file_s_stem_is_not_its_address(page):
    assert page.file.is_file()
    assert page.file.stem not in {entry.url_path for entry in sitemap.PAGES}


def test_every_page_file_is_in_the_top_bar():
    assert {path.name for path in (ROOT / "pages").glob("*.py")} == {page.file.name for page in sitemap.PAGES}


def test_the_entry_is_the_entry_and_nothing_else():
    statements = ast.parse((ROOT / "app.py").read_text()).body
    assert [type(s) for s in statements if not isinstance(s, ast.Expr)] == [
        ast.Import,
        ast.ImportFrom,
        ast.Assign,
    ]


def _imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize(
    "path", sorted((ROOT / "slmopt").rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT))
)
def test_the_calculation_package_knows_no_streamlit(path):
    assert _imports(path).isdisjoint({"streamlit", "pages"})


def test_plotly_js_is_put_where_streamlit_serves_it_once(tmp_path):
    target = chart.place_library(tmp_path)
    before = target.stat()
    assert before.st_size > 1_000_000
    assert chart.place_library(tmp_path).stat().st_ino == before.st_ino
    target.write_text("half a copy")
    assert chart.place_library(tmp_path).stat().st_size == before.st_size
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_a_figure_is_small_and_true():
    x = np.geomspace(1, 1000, 200)
    figure = theme.figure(
        [marks.line(x, x / 3), marks.points([1 / 3], [np.nan])],
        frame.base_layout(x_title="x", x_scale="log", x_limits=(1, 1000)),
    )
    text = chart.encode({"figure": chart.compact(figure)})
    spec = json.loads(text)["figure"]
    assert len(text) < 6000
    assert spec["data"][0]["x"]["dtype"] == "f4"
    assert spec["data"][1] | {"x": [0.333333], "y": [None]} == spec["data"][1]
    assert "template" not in spec["layout"]
    back = np.frombuffer(chart.base64.b64decode(spec["data"][0]["y"]["bdata"]), "<f4")
    np.testing.assert_allclose(back, x / 3, rtol=1e-6)
