"""Break the theory's formulas one by one and see whether its tests notice: ``python -m benchmarks.mutants --count 40``.

Each mutant changes one place of one module: an operator (+ - * / // < <= > >= == !=, and/or), a choice (min/max, floor/ceil
and their NumPy kin) or a number. The source on disk stays as it is: a forked process loads the changed module in memory and
runs the tests of ``tests/theory``, the quick ones first, until one fails. Survivors are printed with their line; some are
equal to the original for every valid input (a bound that is never met with equality), and only a reader can tell.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib.abc
import importlib.util
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

from tests.shared import ROOT

MODULES: Final = (
    "terms", "forward", "roofline", "latency", "batching", "memory", "speculation", "interference", "parallel", "offload",
)  # fmt: skip

TESTS: Final = (
    "test_worked_examples", "test_terms", "test_latency", "test_batching", "test_speculation", "test_memory", "test_offload",
    "test_parallel", "test_operators", "test_evaluation", "test_roofline", "test_oracle", "test_oracle_places", "test_engines",
    "test_replay_cases", "test_interference",
)  # fmt: skip
"""Files of tests/theory, those that tell most in least time first."""

MOST_SECONDS: Final = 240
"""A mutant whose tests take longer hangs, and counts as noticed."""

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
    """One change: the module, its line, what it was and what it is, and the whole changed tree."""

    module: str
    line: int
    was: str
    now: str
    tree: ast.Module


def mutants(module: str, source: str) -> Iterator[Mutant]:
    """Every mutant of a module, in the order of its places."""
    tree = ast.parse(source)
    count = len(list(_places(tree)))
    for at in range(count):
        changed = copy.deepcopy(tree)
        node = list(_places(changed))[at]
        was = ast.unparse(node)
        _change(node)
        now = ast.unparse(node)
        yield Mutant(module, getattr(node, "lineno", 0), was, now, ast.fix_missing_locations(changed))


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


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads the mutant in place of its module."""

    def __init__(self, mutant: Mutant) -> None:
        self.name = f"slmopt.theory.{mutant.module}"
        self.tree = mutant.tree

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """The spec of the one module that is changed."""
        del path, target
        return importlib.util.spec_from_loader(fullname, self) if fullname == self.name else None

    def exec_module(self, module: ModuleType) -> None:
        """Run the changed source."""
        exec(compile(self.tree, self.name, "exec"), module.__dict__)  # noqa: S102 - our own module, one place changed


class AsFound:
    """A pytest plugin: Hypothesis reports a failure as it finds it, since nobody reads the smallest example."""

    def pytest_configure(self) -> None:
        """After the project's own profile has been loaded."""
        from hypothesis import Phase, settings  # noqa: PLC0415 - pytest must come first to rewrite its asserts

        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutants", settings.get_profile("ci"), phases=phases, database=None)
        settings.load_profile("mutants")


def noticed(mutant: Mutant) -> bool:
    """Whether the tests fail, or hang, with the mutant in place."""
    child = os.fork()
    if child == 0:
        os._exit(_tested(mutant))
    for _ in range(MOST_SECONDS * 10):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status != 0
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def _tested(mutant: Mutant) -> int:
    """Exit status of the tests, 0 where all pass; in the forked process, which prints nothing."""
    os.environ["CI"] = "1"
    sys.meta_path.insert(0, Changed(mutant))
    files = [ROOT / "tests" / "theory" / f"{name}.py" for name in TESTS]
    with (
        Path(os.devnull).open("w") as nothing,
        contextlib.redirect_stdout(nothing),
        contextlib.redirect_stderr(nothing),
    ):
        return int(
            pytest.main(
                ["-x", "-q", "-p", "no:cacheprovider", *(str(f) for f in files if f.is_file())],
                plugins=[AsFound()],
            )
        )


def main() -> int:
    """Sample mutants, try each, print the survivors and the share that was noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=40, help="mutants to try (0: all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--skip", type=int, default=0, help="of the sample, the first that were tried before")
    parser.add_argument("--module", choices=MODULES, action="append", help="only these modules")
    asked = parser.parse_args()
    every = [
        mutant
        for module in asked.module or MODULES
        for mutant in mutants(
            module, (ROOT / "slmopt" / "theory" / f"{module}.py").read_text(encoding="utf-8")
        )
    ]
    picked = random.Random(asked.seed).sample(every, min(asked.count or len(every), len(every)))  # noqa: S311
    unchanged = ast.parse((ROOT / "slmopt" / "theory" / f"{MODULES[0]}.py").read_text(encoding="utf-8"))
    if noticed(Mutant(MODULES[0], 0, "", "", unchanged)):
        print("The tests fail or hang with nothing changed: no mutant would tell anything.")
        return 1
    survivors = []
    for at, mutant in enumerate(picked[asked.skip :], asked.skip + 1):
        caught = noticed(mutant)
        told = f"{mutant.module}.py:{mutant.line}: {mutant.was}  →  {mutant.now}"
        print(f"{at}/{len(picked)} {'noticed ' if caught else 'SURVIVED'} {told}", flush=True)
        if not caught:
            survivors.append(told)
    tried = len(picked) - asked.skip
    print(f"{len(every)} mutants, {tried} tried: {1 - len(survivors) / max(tried, 1):.0%} noticed.")
    print("\n".join(f"survivor: {told}" for told in survivors))
    return 0


if __name__ == "__main__":
    sys.exit(main())
