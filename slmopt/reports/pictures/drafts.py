"""Drafting in depth: how many tokens are accepted, and what checking costs."""

from __future__ import annotations

from functools import partial

from slmopt.advice.drafts import Checks
from slmopt.figures import drafts as figures
from slmopt.reports import speculation_tables as tables
from slmopt.reports.picture import Picture
from slmopt.theory.acceptance import accepted_distribution, reached_by_position
from slmopt.theory.speculation import Speculation
from slmopt.words import drafts as words


def pictures(found: Speculation, checks: Checks, place: float) -> tuple[Picture, Picture]:
    """The distribution at the acceptance ``place`` of one place of the draft; and time against positions checked."""
    spread = accepted_distribution(place, found.draft_tokens)
    reached = reached_by_position(place, found.draft_tokens)
    accepted = words.accepted_title(found.acceptance, found.draft_tokens, found.expected_tokens)
    cost = words.checking_title(checks)
    shares = ", ".join(f"{at}: {share:.0%}" for at, share in enumerate(spread))
    return (
        Picture(
            "speculation_accepted",
            accepted,
            f"{accepted.replace('**', '')}. Share of drafts by tokens accepted: {shares}.",
            figures.accepted(spread, reached),
            partial(tables.accepted, spread, reached),
        ),
        Picture(
            "speculation_checking",
            cost,
            f"{cost.replace('**', '')}. Time of a pass in decode steps against positions checked, 1 to "
            f"{int(checks.positions[-1])}.",
            figures.checking(checks),
            partial(tables.checking, checks),
        ),
    )
