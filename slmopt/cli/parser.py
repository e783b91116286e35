"""A parser whose errors take one line, and what flags have in common."""

from __future__ import annotations

import argparse
from typing import NoReturn

FULL_NAMES = "a preset's id, a path, or inline JSON"
MODEL_FILES = "config.json, GGUF, safetensors, or what inspect --json wrote"


class UsageError(Exception):
    """Arguments that cannot be understood, in one sentence."""


class Parser(argparse.ArgumentParser):
    """argparse without its usage block in front of an error: one line has to be enough."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where the flags are listed."""
        raise UsageError(f"{message.removeprefix('argument ').rstrip('.')} (see {self.prog} --help).")


def add_json_flag(parser: argparse.ArgumentParser) -> None:
    """``--json``, which every command has."""
    parser.add_argument("--json", action="store_true", help="print JSON (seconds, bytes, tokens/s)")
