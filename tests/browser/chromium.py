"""Finds a Chromium for the browser tests, and installs one where that can be done.

Used by the tests, the benchmarks and, as a script, by the Makefile::

    python tests/browser/chromium.py             prints the browser's path, or exits 1
    python tests/browser/chromium.py --install   installs one first if there is none

An installed browser wins, then Debian's package, then Playwright's own download. Where none can be had the
browser tests are skipped and this script says so; with CI set it fails, so that skipped tests cannot look green.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

VARIABLE = "SLMOPT_CHROMIUM"
"""Names a browser that is used instead of whatever would be found."""

_COMMANDS = (
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
    "microsoft-edge-stable",
    "chrome",
    "msedge",
)
_PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    r"%ProgramFiles%\Google\Chrome\Application\chrome.exe",
    r"%ProgramFiles(x86)%\Google\Chrome\Application\chrome.exe",
    r"%LocalAppData%\Google\Chrome\Application\chrome.exe",
    r"%ProgramFiles(x86)%\Microsoft\Edge\Application\msedge.exe",
)
_INSTALL_TIMEOUT_S = 600


def required() -> bool:
    """Whether a missing browser is a failure: under CI, where nobody would notice the skipped tests."""
    return os.environ.get("CI", "").lower() not in {"", "0", "false"}


@functools.cache
def find() -> str | None:
    """Path of a Chromium that starts on this machine and that Playwright can drive, or None."""
    if not _drivable():
        return None
    named = os.environ.get(VARIABLE)
    if named:
        return named
    candidates = [shutil.which(command) for command in _COMMANDS]
    candidates += [os.path.expandvars(place) for place in _PLACES]
    found = next((path for path in candidates if path and _starts(path)), None)
    return found or _playwrights_own()


def _drivable() -> bool:
    """Whether Playwright itself starts: on a very bare Debian a library is missing that it is linked to."""
    return _run([sys.executable, "-m", "playwright", "--version"], quiet=True)


def _starts(path: str) -> bool:
    """Whether the browser is really there: Ubuntu's `chromium-browser` may be a stub that asks for snap."""
    if not Path(path).is_file():
        return False
    if sys.platform == "win32":  # there, `--version` opens a window and prints nothing
        return True
    try:
        done = subprocess.run([path, "--version"], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _playwrights_own() -> str | None:
    from playwright.sync_api import sync_playwright  # not at the top: without it, too, a sentence is due

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if _starts(path) else None


def install() -> str | None:
    """Tries the ways there are, one after the other, until a browser starts."""
    for way in (_apt, _playwright):
        way()
        find.cache_clear()
        if found := find():
            return found
    return None


def _apt() -> None:
    if shutil.which("apt-get") is None:
        return
    prefix: list[str] = []
    if os.geteuid() != 0:
        # -n: never ask for a password, since nobody may be there to type it
        if shutil.which("sudo") is None or not _run(["sudo", "-n", "true"], quiet=True):
            return
        prefix = ["sudo", "-n"]
    print("No Chromium found; installing Debian's package ...", flush=True)
    install_line = [
        "env",
        "DEBIAN_FRONTEND=noninteractive",
        "apt-get",
        "install",
        "-y",
        "-qq",
        "--no-install-recommends",
    ]
    _run([*prefix, "apt-get", "update", "-qq"], quiet=True)
    _run([*prefix, *install_line, "chromium", "libatomic1"], quiet=True)


def _playwright() -> None:
    print("No Chromium found; asking Playwright for its own ...", flush=True)
    _run([sys.executable, "-m", "playwright", "install", "--no-shell", "chromium"], quiet=False)


def _run(command: list[str], *, quiet: bool) -> bool:
    output = subprocess.DEVNULL if quiet else None
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            timeout=_INSTALL_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def main(arguments: list[str]) -> int:
    """Prints the browser's path or, loudly, that there is none; returns the exit code."""
    found = find()
    if found is None and "--install" in arguments:
        found = install()
    if found is not None:
        print(f"Chromium: {found}")
        return 0
    bar = "!" * 100
    consequence = "CI is set, so this fails." if required() else "THE BROWSER TESTS WILL BE SKIPPED."
    print(
        f"{bar}\nNo Chromium that the tests can drive is found or can be installed here. {consequence}\n"
        f"Install Chromium, Chrome or Edge, or set {VARIABLE} to its path.\n{bar}",
        file=sys.stderr,
    )
    return 1 if required() or "--install" not in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
