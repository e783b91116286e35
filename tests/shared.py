"""Where the project's reference data lies, which is kept beside the repository and not in it."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

SHARED = Path(os.environ.get("SLMOPT_SHARED", ROOT.parent / "shared"))
"""Worked examples, facts, benchmark files. Tests that read it live in tests/against_shared/."""

HAS_SHARED = (SHARED / "seed_cases.json").is_file()
