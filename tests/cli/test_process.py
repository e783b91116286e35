"""The command line as a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.cli.command import CARD, MODEL_7B
from tests.shared import ROOT


def run(*arguments: str, **more) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "slmopt", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=60, **more)


def test_a_worked_example():
    done = run(
        "estimate", "--model", MODEL_7B, "--device", CARD, "--weights", "16", "--context", "4000", "--json"
    )
    assert done.returncode == 0
    assert done.stderr == ""
    assert json.loads(done.stdout)["capacity"]["max_sequences"] == 31


def test_an_error():
    done = run("estimate", "--model", "nope", "--device", CARD)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1


def test_help_and_version():
    assert "estimate" in run("--help").stdout
    assert run("--version").stdout.startswith("slmopt ")


def test_a_terminal_without_unicode(monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    assert run("devices").returncode == 0


def test_a_reader_that_leaves_early():
    command = f"{sys.executable} -m slmopt devices --json | head -n 1"
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, cwd=ROOT, check=False, timeout=60
    )
    assert done.stdout == "[\n"
    assert done.stderr == ""
