"""Mutants of a module of formulas: each has one operator, choice or number changed."""

from __future__ import annotations

import ast
import copy
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_BINARY: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
}
_COMPARE: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
_NAMES: Final = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "fmin": "fmax",
    "fmax": "fmin",
    "floor": "ceil",
    "ceil": "floor",
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: the module, the function, the first and last line of its statement, what it was and what it is.

    ``place`` is the changed node's number among those that can be changed, ``text`` its line of the source, and
    ``nth`` which of its line's equal places it is, from 1.
    """

    module: str
    function: str
    lines: tuple[int, int]
    was: str
    now: str
    place: int
    text: str
    nth: int

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """What stays the same when lines move."""
        return self.module, self.text, str(self.nth), self.was, self.now


def mutants(module: str, source: str) -> Iterator[Mutant]:
    """Every mutant of a module, in the order of its places."""
    tree = ast.parse(source)
    written = source.splitlines()
    seen = Counter[tuple[int, str]]()
    for place, node in enumerate(_places(tree)):
        changed = copy.deepcopy(node)
        _change(changed)
        line = getattr(node, "lineno", 0)
        function, lines = _around(tree, line)
        was, now, text = ast.unparse(node), ast.unparse(changed), written[line - 1].strip()
        seen[line, was] += 1
        yield Mutant(module, function, lines, was, now, place, text, seen[line, was])


def changed_tree(mutant: Mutant, source: str) -> ast.Module:
    """The module's tree with the mutant's one place changed."""
    tree = ast.parse(source)
    _change(list(_places(tree))[mutant.place])
    return ast.fix_missing_locations(tree)


def _around(tree: ast.Module, line: int) -> tuple[str, tuple[int, int]]:
    """The function around a line, empty at a module's own level, and the lines of the smallest statement that holds it."""
    function, smallest = "", (0, sys.maxsize)
    for node in ast.walk(tree):
        first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
        if not (isinstance(node, ast.stmt) and first <= line <= last):
            continue
        if isinstance(node, ast.FunctionDef):
            # Walked from the outside in: the last is the innermost.
            function = node.name
        if last - first <= smallest[1] - smallest[0]:
            smallest = (first, last)
    return function, smallest


def _places(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes that can be changed; decorators, annotations and imports hold no formula."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if isinstance(node, ast.FunctionDef):
            for part in (*node.args.defaults, *node.args.kw_defaults, *node.body):
                if part is not None:
                    yield from _own_and_inner(part)
        elif isinstance(node, ast.ClassDef):
            for part in node.body:
                yield from _own_and_inner(part)
        else:
            yield from _own_and_inner(node)


def _own_and_inner(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.AnnAssign):
        if node.value is not None:
            yield from _own_and_inner(node.value)
        return
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield from _places(ast.Module([node], []))
        return
    if _can_change(node):
        yield node
    yield from _places(node)


def _can_change(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return type(node.op) in _BINARY
    if isinstance(node, ast.Compare):
        return type(node.ops[0]) in _COMPARE
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and not isinstance(node.value, bool)
    if isinstance(node, ast.Call):
        return _called(node) in _NAMES
    return isinstance(node, ast.BoolOp)


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def _change(node: ast.AST) -> None:
    if isinstance(node, ast.BinOp):
        node.op = _BINARY[type(node.op)]()
    elif isinstance(node, ast.Compare):
        node.ops[0] = _COMPARE[type(node.ops[0])]()
    elif isinstance(node, ast.Constant):
        assert isinstance(node.value, int | float)
        node.value = node.value + 1
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name):
            node.func.id = _NAMES[node.func.id]
        elif isinstance(node.func, ast.Attribute):
            node.func.attr = _NAMES[node.func.attr]
    elif isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
