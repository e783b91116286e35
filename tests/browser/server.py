"""Starts the dashboard as a user does, on a free port, and waits until it answers."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass

from tests.shared import ROOT

_START_TIMEOUT_S = 90
_STOP_TIMEOUT_S = 10


@dataclass(frozen=True, slots=True)
class Server:
    """A running server: its address, such as http://127.0.0.1:43210, base path included; and its process."""

    address: str
    pid: int


@contextlib.contextmanager
def dashboard(base_path: str = "") -> Iterator[str]:
    """Runs `streamlit run app.py` and yields its address."""
    with running("app.py", base_path) as server:
        yield server.address


@contextlib.contextmanager
def running(script: str, base_path: str = "") -> Iterator[Server]:
    """Runs `streamlit run` with a script, whose path is from the repository's root."""
    port = _free_port()
    address = f"http://127.0.0.1:{port}{'/' if base_path else ''}{base_path}"
    command = [sys.executable, "-m", "streamlit", "run", script]
    # An address of its own also keeps a headless Streamlit from asking the internet for its external one.
    options = {
        "server.address": "127.0.0.1",
        "server.port": str(port),
        "server.headless": "true",
        "server.fileWatcherType": "none",
        "browser.gatherUsageStats": "false",
        "server.baseUrlPath": base_path,
    }
    for name, value in options.items():
        command += [f"--{name}", value]
    with tempfile.TemporaryFile(mode="w+", encoding="utf-8") as log:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait_until_healthy(address, process)
            yield Server(address, process.pid)
        except BaseException:
            log.seek(0)
            print(f"--- the dashboard's own output ---\n{log.read()}", file=sys.stderr)  # noqa: T201
            raise
        finally:
            process.terminate()
            try:
                process.wait(_STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_healthy(address: str, process: subprocess.Popen[bytes]) -> None:
    give_up = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < give_up:
        if process.poll() is not None:
            raise RuntimeError(f"the dashboard stopped at once with exit code {process.returncode}")
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2) as answer:
                if answer.read() == b"ok":
                    return
        except OSError:  # refused, reset or timed out: not up yet
            pass
        time.sleep(0.1)
    raise TimeoutError(f"the dashboard did not answer within {_START_TIMEOUT_S} s")
