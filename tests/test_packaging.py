"""What `pip install .` gives is what the repository holds."""

from __future__ import annotations

import re
import tomllib

import pytest

from slmopt._version import __version__
from tests.shared import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def requirements(name: str) -> dict[str, set[str]]:
    """Package to version pins of a requirements file."""
    pins: dict[str, set[str]] = {}
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        requirement = line.partition("#")[0].strip()
        if requirement and not requirement.startswith("-"):
            package, _, version = requirement.partition(";")[0].strip().partition("==")
            pins.setdefault(package.lower(), set()).add(version)
    return pins


def test_every_folder_of_the_package_is_a_package():
    """Those without an __init__.py would be left out of what is installed."""
    folders = {file.parent for file in (ROOT / "slmopt").rglob("*.py")}
    assert [str(folder) for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_every_requirement_is_pinned(name):
    unpinned = {package for package, versions in requirements(name).items() if "" in versions}
    assert not unpinned


def test_package_asks_for_nothing_that_the_dashboard_does_not_pin():
    asked = {re.split(r"[<>=!~; ]", line)[0] for line in PROJECT["project"]["dependencies"]}
    assert asked <= requirements("requirements.txt").keys()


def test_change_log_knows_this_version():
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [{__version__}]" in log or "## [Unreleased]" in log
