"""From arguments to an exit code: 0 an answer, 2 bad input (one line on stderr), 130 interrupted."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence

import numpy as np

from slmopt._version import __version__
from slmopt.cli import (
    advise,
    compare,
    describe,
    estimate,
    fit,
    listing,
    measure,
    probe,
    report,
    simulate,
    solve,
    sweep,
)
from slmopt.cli.output import say, to_stdout
from slmopt.cli.parser import Parser, UsageError
from slmopt.specs.base import SpecError

BAD_INPUT = 2
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; bad input is one line on stderr, never a traceback."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        # A terminal of another encoding shows "?" for a sign that it lacks, instead of failing.
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        options = build_parser().parse_args(arguments)
        # Whatever overflows is caught where the result is checked for being finite.
        with np.errstate(all="ignore"):
            lines: list[str] = options.command(options)
        to_stdout(lines)
    except (UsageError, SpecError) as error:
        say(f"slmopt: {error}")
        return BAD_INPUT
    except BrokenPipeError:
        # The reader (head, less) has gone: nothing is wrong, and the interpreter must not flush into it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def build_parser() -> Parser:
    """The whole command line."""
    parser = Parser(
        prog="slmopt",
        description="What limits a language model on a device: ceilings from bytes and operations, estimates, measurements.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"slmopt {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=Parser)
    modules = (
        estimate,
        advise,
        solve,
        simulate,
        sweep,
        describe,
        compare,
        fit,
        probe,
        measure,
        report,
        listing,
    )
    for module in modules:
        module.add_commands(commands)
    return parser
