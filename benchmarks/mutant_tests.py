"""Which tests run a line of the theory, how long each takes, and whether they notice a mutant.

All tests are collected once, in one process, which then forks. The first fork runs them all and tells which lines each runs
(coverage's contexts) and its time. A fork for a mutant puts the changed function's code in place of the present one and runs
the tests that run its statement, the quick ones first. A mutant at a module's own level, or of a function that runs while
modules load, cannot be put in place afterwards: it gets a fresh process that loads the changed module instead. The source on
disk stays as it is.
"""

from __future__ import annotations

import functools
import gc
import importlib.abc
import importlib.util
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Final

import coverage
import pytest

from benchmarks.mutating import Mutant, changed_tree
from tests.shared import ROOT

THEORY: Final = ROOT / "slmopt" / "theory"
TESTS: Final = ("tests/theory",)
_LEAST_SECONDS: Final = 15
_TIMES_OVER: Final = 10
"""A mutant hangs, and counts as noticed, where a test takes the processor so many times longer than without it."""

_MOST_DATA: Final = 3 << 30
BROKEN: Final = 77
"""Exit code where a mutant could not be tried, which is no test's doing."""

_QUIET: Final = ("-q", "-s", "--no-header", "-p", "no:cacheprovider")
_CACHED: Final = type(functools.lru_cache(lambda: None))


def source_of(module: str) -> str:
    """A module's source."""
    return (THEORY / f"{module}.py").read_text(encoding="utf-8")


class Map:
    """For each module and line the tests that run it; the processor's seconds of each test; lines run while loading."""

    def __init__(
        self, runs: dict[str, dict[str, list[str]]], seconds: dict[str, float], loading: dict[str, set[int]]
    ) -> None:
        self.runs = runs
        self.seconds = seconds
        self.loading = loading

    def tests(self, mutant: Mutant) -> list[str]:
        """Tests that run the mutant's statement, the quick ones first; those of the whole module at its own level."""
        lines = self.runs.get(mutant.module, {})
        first, last = mutant.lines
        inside = [str(line) for line in range(first, last + 1)] if mutant.function else list(lines)
        found = {test for line in inside for test in lines.get(line, ())}
        return sorted(found, key=lambda test: self.seconds[test])

    def needs_loading(self, mutant: Mutant) -> bool:
        """Whether the changed place has already done its work when the tests begin."""
        first, last = mutant.lines
        return not mutant.function or bool(
            self.loading.get(mutant.module, set()) & set(range(first, last + 1))
        )


class Bench:
    """A pytest plugin: takes over once all tests are collected, traces them, and hands itself to ``job``."""

    def __init__(self, job: Callable[[Bench], None]) -> None:
        self.job = job
        self.watch = coverage.Coverage(data_file=None, include=[str(THEORY / "*.py")], config_file=False)
        self.items: dict[str, pytest.Item] = {}
        self.session: pytest.Session | None = None
        self.known = Map({}, {}, {})
        self.tracing = False

    def run(self) -> None:
        """Collects the tests and does the job. SystemExit where a test fails with nothing changed."""
        os.environ["CI"] = "1"
        os.chdir(ROOT)
        self.watch.start()
        status = pytest.main([*_QUIET, *TESTS], plugins=[self, AsFound()])
        if status:
            raise SystemExit(f"The tests fail with nothing changed (pytest ended with {int(status)}).")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """In place of running the tests."""
        self.session = session
        self.items = {item.nodeid: item for item in session.items}
        loading = {name: {int(line) for line in lines} for name, lines in self._lines().items()}
        runs, seconds = self._traced()
        self.watch.stop()
        self.known = Map(runs, seconds, loading)
        # What was computed while loading must not answer for a changed function.
        for kept in gc.get_objects():
            if isinstance(kept, _CACHED):
                kept.cache_clear()
        self.job(self)
        return True

    def _lines(self) -> dict[str, dict[str, list[str]]]:
        data = self.watch.get_data()
        return {
            Path(file).stem: {str(line): tests for line, tests in data.contexts_by_lineno(file).items()}
            for file in data.measured_files()
        }

    def _traced(self) -> tuple[dict[str, dict[str, list[str]]], dict[str, float]]:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            _silence()
            told = self._trace()
            with os.fdopen(writing, "w", encoding="utf-8") as answer:
                answer.write(told)
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8") as answer:
            text = answer.read()
        os.waitpid(child, 0)
        runs, seconds, failed = json.loads(text) if text else ({}, {}, -1)
        if failed:
            raise SystemExit("The tests fail with nothing changed: no mutant would tell anything.")
        return runs, seconds

    def _trace(self) -> str:
        seconds: dict[str, float] = {}
        self.tracing = True
        for name, failed in self._protocol(list(self.items)):
            seconds[name] = self._took
            if failed:
                return json.dumps([{}, {}, 1])
        self.watch.stop()
        runs = {
            module: {line: [test for test in tests if test] for line, tests in lines.items()}
            for module, lines in self._lines().items()
        }
        return json.dumps([runs, seconds, 0])

    _took = 0.0

    def _protocol(self, names: Sequence[str]) -> Iterator[tuple[str, bool]]:
        """Runs tests one after the other; each with whether any has failed so far."""
        assert self.session is not None
        items = [self.items[name] for name in names]
        for name, item, following in zip(names, items, [*items[1:], None], strict=True):
            if self.tracing:
                self.watch.switch_context(name)
            if name in self.known.seconds:
                # Ends the process where the test takes far longer than it should.
                signal.setitimer(signal.ITIMER_PROF, _LEAST_SECONDS + _TIMES_OVER * self.known.seconds[name])
            began = time.process_time()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            self._took = time.process_time() - began
            yield name, bool(self.session.testsfailed)

    def begin(self, mutant: Mutant) -> int | None:
        """Starts a process that tries the mutant; its id. It ends with 0 where no test fails. None: no test runs it."""
        tests = self.known.tests(mutant)
        if not tests:
            return None
        child = os.fork()
        if child == 0:
            _silence()
            # A mutant may well ask for arrays without end.
            resource.setrlimit(resource.RLIMIT_DATA, (_MOST_DATA, _MOST_DATA))
            if self.known.needs_loading(mutant):
                most = int(4 * _LEAST_SECONDS + 3 * sum(self.known.seconds[test] for test in tests))
                resource.setrlimit(resource.RLIMIT_CPU, (most, most))
                told = json.dumps([mutant.module, mutant.place, tests])
                os._exit(
                    subprocess.run(
                        [sys.executable, "-m", __name__], input=told, text=True, check=False
                    ).returncode
                )
            code = BROKEN
            try:
                put_in_place(mutant)
                code = int(any(failed for _, failed in self._protocol(tests)))
            finally:
                os._exit(code)
        return child


class AsFound:
    """A pytest plugin: Hypothesis reports a failure as it finds it, since nobody reads the smallest example."""

    def pytest_configure(self) -> None:
        """After the project's own profile has been loaded."""
        from hypothesis import Phase, settings  # noqa: PLC0415 - pytest must come first to rewrite its asserts

        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutants", settings.get_profile("ci"), phases=phases, database=None)
        settings.load_profile("mutants")


def put_in_place(mutant: Mutant) -> None:
    """Gives every function of the loaded module the changed module's code."""
    module = sys.modules[f"slmopt.theory.{mutant.module}"]
    changed = dict(
        _codes(compile(changed_tree(mutant, source_of(mutant.module)), str(module.__file__), "exec"))
    )
    found = 0
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and function.__globals__ is module.__dict__:
            code = changed.get((function.__code__.co_qualname, function.__code__.co_firstlineno))
            if code is not None and code != function.__code__:
                function.__code__ = code
                found += 1
    if not found:
        raise LookupError(f"{mutant} is in no function of the loaded module")


def _codes(code: CodeType) -> Iterator[tuple[tuple[str, int], CodeType]]:
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield (part.co_qualname, part.co_firstlineno), part
            yield from _codes(part)


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads the mutant in place of its module."""

    def __init__(self, module: str, place: int) -> None:
        self.name = f"slmopt.theory.{module}"
        self.tree = changed_tree(Mutant(module, "", (0, 0), "", "", place, "", 1), source_of(module))

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """The spec of the one module that is changed."""
        del path, target
        return importlib.util.spec_from_loader(fullname, self) if fullname == self.name else None

    def exec_module(self, module: ModuleType) -> None:
        """Run the changed source."""
        exec(compile(self.tree, self.name, "exec"), module.__dict__)  # noqa: S102 - our own module, one place changed


def _silence() -> None:
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)


def main() -> int:
    """In a fresh process: the module, the place and the tests come by standard input; 0 where no test fails."""
    module, place, tests = json.load(sys.stdin)
    sys.meta_path.insert(0, Changed(module, place))
    return int(pytest.main(["-x", *_QUIET, *tests], plugins=[AsFound()]))


if __name__ == "__main__":
    sys.exit(main())
