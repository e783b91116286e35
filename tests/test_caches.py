"""Memory stays bounded: whatever is kept between calls says how much of it is kept."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.shared import ROOT

FILES = sorted(file for folder in ("slmopt", "pages") for file in (ROOT / folder).rglob("*.py"))
_STREAMLITS = ("cache_resource", "cache_data")


def cached() -> Iterator[tuple[str, ast.FunctionDef, ast.expr]]:
    """Every decorated function: its place, itself, and the decorator."""
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                for decorator in node.decorator_list:
                    yield f"{file.relative_to(ROOT)}:{node.name}", node, decorator


def called(decorator: ast.expr) -> tuple[str, dict[str, ast.expr]]:
    """A decorator's last name, and its keyword arguments."""
    call = decorator if isinstance(decorator, ast.Call) else None
    name = call.func if call else decorator
    last = name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")
    return last, {word.arg: word.value for word in call.keywords if word.arg} if call else {}


def unbounded(place: str, function: ast.FunctionDef, decorator: ast.expr) -> str:
    """What is wrong with a cache; empty where it is bounded, or where the decorator is none."""
    name, words = called(decorator)
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    if name == "lru_cache" and not isinstance(getattr(words.get("maxsize"), "value", None), int):
        return f"{place} does not say how many answers it keeps"
    if name == "cache" and any(argument.arg != "self" for argument in arguments):
        return f"{place} keeps an answer for every argument that it ever had"
    if name in _STREAMLITS and arguments and "max_entries" not in words:
        return f"{place} keeps an answer for every argument that it ever had"
    return ""


def test_every_cache_is_bounded():
    wrong = [
        told for place, function, decorator in cached() if (told := unbounded(place, function, decorator))
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("source", "bounded"),
    [
        ("@cache\ndef f(): pass", True),
        ("@cache\ndef f(x): pass", False),
        ("@functools.lru_cache(maxsize=8)\ndef f(x): pass", True),
        ("@lru_cache\ndef f(x): pass", False),
        ("@lru_cache(maxsize=None)\ndef f(x): pass", False),
        ("@st.cache_data(show_spinner=False)\ndef f(x): pass", False),
        ("@st.cache_data(max_entries=3)\ndef f(x): pass", True),
        ("@st.cache_resource\ndef f(): pass", True),
    ],
)
def test_the_check_tells_them_apart(source, bounded):
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    assert (unbounded("f", function, function.decorator_list[0]) == "") is bounded
