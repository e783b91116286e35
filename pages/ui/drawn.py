"""The figures of a page, kept by what they show.

A moving thumb asks for figures ahead, and the answer on release shows one of them: it is drawn once for both, and for
every visitor who looks at the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from pages.ui.judging import sample
from slmopt.reports import pictures
from slmopt.reports.picture import Picture
from slmopt.reports.pictures import measurements
from slmopt.specs.scenario import Scenario
from slmopt.words import units


def _sample(scenario: Scenario) -> Sequence[Picture]:
    found = sample(scenario)
    return measurements.pictures(found.rows, found.groups, found.said.title, found.said.alt)


# Measurements follows from the scenario alone as long as it shows the bundled sample.
PAGES: Mapping[str, pictures.OfPage] = MappingProxyType(
    {**pictures.PAGES, "measurements": pictures.alone(_sample)}
)


def figures(page: str, scenario: Scenario, pinned: pictures.Pinned = ()) -> tuple[Picture, ...]:
    """The page's figures from top to bottom, in the units in use.

    Raises :class:`~slmopt.specs.base.SpecError` where the scenario allows none.
    """
    return _figures(page, scenario, tuple(pinned), units.now())


# 60 to 360 kB each, with the numbers behind them and what the browser is sent.
@lru_cache(maxsize=256)
def _figures(
    page: str, scenario: Scenario, pinned: tuple[pictures.OnePinned, ...], read_in: units.Units
) -> tuple[Picture, ...]:
    with units.using(read_in):
        return tuple(PAGES[page](scenario, pinned))
