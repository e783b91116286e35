"""`make bench`: the million-point pass, the simulation, the fit to the own sweep, files of a million rows; then many
sessions, and the browser.

    python -m benchmarks.bench [pass] [serving] [fit] [rows] [sessions] [browser] [--samples N] [--page NAME]

Exits 1 where a limit is missed, so that a slow change is noticed.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks import browser_latency, fit_errors, million_rows, pass_points, serving, sessions

PARTS = ("pass", "serving", "fit", "rows", "sessions", "browser")


def main() -> int:
    """Runs the parts asked for, all by default; returns the exit code."""
    parser = argparse.ArgumentParser(description="Times the calculation package and the dashboard.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--samples", type=int, default=20, help="key presses a page (default 20)")
    parser.add_argument("--page", action="append", help="only this page; may be repeated")
    asked = parser.parse_args()
    if unknown := set(asked.parts) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}: there are {', '.join(PARTS)}")
    parts = asked.parts or PARTS
    kept = [pass_points.report()] if "pass" in parts else []
    if "serving" in parts:
        kept.append(serving.report())
    if "fit" in parts:
        kept.append(fit_errors.report())
    if "rows" in parts:
        kept.append(million_rows.report())
    if "sessions" in parts:
        kept.append(sessions.report(only=asked.page))
    if "browser" in parts:
        kept.append(browser_latency.report(asked.samples, asked.page))
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
