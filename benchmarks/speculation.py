"""Published speed-ups of drafting beside what the model predicts once checking has its typical cost, with the reason of each gap.

``python -m benchmarks.speculation`` prints them; it needs the reference data of ``../shared``.
"""

from __future__ import annotations

import math
import statistics
import sys
from importlib import import_module
from typing import Any

from tests.shared import HAS_SHARED


def main() -> int:
    """Print every pair, then how far off they are."""
    if not HAS_SHARED:
        sys.stderr.write("../shared is absent, so there is no reference to compare with.\n")
        return 2
    reference: Any = import_module("tests.against_shared.test_speculation")
    found = reference.pairs()
    for row, measured, guess, why in found:
        slows = (
            " slower, predicted"
            if measured < 1 and guess < 1
            else " slower, not predicted"
            if measured < 1
            else ""
        )
        sys.stdout.write(
            f"{row['row_id']}  {row['target'][:28]:28}  {row['method'][:14]:14}  measured {measured:5.2f}  "
            f"predicted {guess:5.2f}  ratio {measured / guess:4.2f}{slows}{'  ' + why if why else ''}\n"
        )
    off = [abs(math.log(measured / guess)) for _, measured, guess, _ in found]
    sys.stdout.write(f"{len(found)} pairs, half of them within {math.expm1(statistics.median(off)):.0%}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
