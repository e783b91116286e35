"""The first whole number of which something is true, against trying them all."""

from __future__ import annotations

import pytest

from slmopt.theory.search import first_whole


@pytest.mark.parametrize("most", [*range(1, 35), 100, 127, 128])
def test_the_first_is_the_first_of_all(most):
    for start in range(1, 2 * most + 3):
        tried: list[int] = []

        def holds(number: int, start: int = start, tried: list[int] = tried) -> bool:
            tried.append(number)
            return number >= start

        assert first_whole(holds, most) == (start if start <= most else None)
        assert max(tried) <= min(most, 2 * start), "numbers far beyond the first are never tried"


def test_few_are_tried():
    tried: list[int] = []
    assert first_whole(lambda number: bool(tried.append(number)) or number >= 700_001, 2**40) == 700_001
    assert len(tried) <= 2 * 20 + 1
