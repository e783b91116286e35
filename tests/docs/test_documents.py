"""Documents are true: links lead somewhere, named files and modules exist, written ones are up to date, code runs."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import shlex

import pytest

from slmopt.cli.run import build_parser
from slmopt.reports.documents import DOCUMENTS
from tests.shared import ROOT

DOCS = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "CONTRIBUTING.md", ROOT / "README.md"]
FOLDERS = ("slmopt/", "pages/", "presets/", "tests/", "docs/", "benchmarks/", ".streamlit/", ".ci/")


def ids(path):
    return path.name


@pytest.mark.parametrize("name", DOCUMENTS)
def test_written_documents_are_up_to_date(name):
    held = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert held == DOCUMENTS[name](), "run: make docs"


@pytest.mark.parametrize("path", DOCS, ids=ids)
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
        if not target.startswith(("http://", "https://", "#")):
            assert (path.parent / target.partition("#")[0]).exists(), target


@pytest.mark.parametrize("path", DOCS, ids=ids)
def test_named_files_exist(path):
    for name in re.findall(r"`([^`\s]+)`", path.read_text(encoding="utf-8")):
        if name.startswith(FOLDERS) and not re.search(r"[*…<>]|secrets", name):
            assert (ROOT / name).exists(), name


@pytest.mark.parametrize("path", DOCS, ids=ids)
def test_named_modules_exist(path):
    for name in re.findall(r"`(slmopt(?:\.[a-z_]\w*)+(?:\.[A-Z]\w*)?)`", path.read_text(encoding="utf-8")):
        module, _, last = name.rpartition(".")
        if last[:1].isupper():
            assert hasattr(importlib.import_module(module), last), name
        else:
            assert importlib.util.find_spec(name), name


@pytest.mark.parametrize("path", DOCS, ids=ids)
def test_commands_are_understood(path):
    parser = build_parser()
    for line in re.findall(r"python -m slmopt (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE):
        command = line.partition("#")[0].strip()
        if "…" in command or "`" in command or command.startswith("--"):
            continue
        parser.parse_args(shlex.split(command))


def test_the_notebook_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((ROOT / "docs" / "notebook.ipynb").read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    held: dict[str, object] = {}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 6
    for cell in cells:
        assert not cell["outputs"]
        source = "".join(cell["source"])
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [node.module] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
                assert not {str(name).split(".")[0] for name in names} & {"streamlit", "pages"}
        exec(compile(source, "notebook", "exec"), held)
    assert (tmp_path / "report.html").stat().st_size > 1_000_000


def test_the_container_copies_what_there_is():
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8")
    for line in re.findall(r"^COPY (.+) \S+$", text, re.MULTILINE):
        for source in line.split():
            assert (ROOT / source).exists(), source
            assert f"!{source}" in ignored
