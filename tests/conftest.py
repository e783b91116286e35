"""What all tests share: Hypothesis profiles, which tests are collected, and which run beside which."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.shared import HAS_SHARED

# Tests that read the reference data are not collected where it is absent.
collect_ignore_glob = [] if HAS_SHARED else ["against_shared/*"]
# The test against a real server runs where somebody names a Python that has one.
if not os.environ.get("SLMOPT_LLAMA_PYTHON"):
    collect_ignore_glob.append("measured/test_real_server.py")

# No deadline: on a shared core a slow example says nothing about the code.
settings.register_profile("dev", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The same examples each time, so that a change is blamed only for what it changed.
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With several workers, one takes all browser tests, which share a server; the rest is dealt out one by one.

    pytest-xdist's own `--dist loadgroup` would do, but 3.8 loses its groups under pytest 9.2.
    """
    from xdist.scheduler import LoadScopeScheduling

    class BrowserApart(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "browser" if nodeid.startswith("tests/browser/") else nodeid

    return BrowserApart(config, log)
