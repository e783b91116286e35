"""What all tests share: Hypothesis profiles, and which tests are collected."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

from tests.shared import HAS_SHARED

# Tests that read the reference data are not collected where it is absent.
collect_ignore_glob = [] if HAS_SHARED else ["against_shared/*"]

# No deadline: on a shared core a slow example says nothing about the code.
settings.register_profile("dev", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The same examples each time, so that a change is blamed only for what it changed.
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
