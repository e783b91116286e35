"""Every case in which a calculator was seen to go wrong is of a kind that the page Method explains."""

from __future__ import annotations

import csv

from slmopt.words.differences import TOLD
from tests.shared import SHARED

KINDS = {
    "windows": ("RC01", "RC13"),
    "latent": ("RC02",),
    "head_width": ("RC03", "RC05"),
    "engine_holds": ("RC04",),
    "bits": ("RC06", "RC07"),
    "promise": ("RC08", "RC09", "RC10"),
    "drafting_costs": ("RC11", "RC12", "RC24"),
    "prefixes": ("RC14", "RC18"),
    "two_memories": ("RC15",),
    "added_token": ("RC16",),
    "experts": ("RC17",),
    "cache_reads": ("RC19", "RC25"),
    "prompt_attention": ("RC20", "RC22"),
    "look_up": ("RC21",),
    "hit_attention": ("RC23",),
    "limit": ("RC26",),
}


def test_every_case_is_of_a_kind_that_is_explained():
    with (SHARED / "measured" / "replay_cases.csv").open(newline="", encoding="utf-8") as file:
        cases = {row["case"] for row in csv.DictReader(file)}
    assert KINDS.keys() == TOLD.keys()
    assert {case for found in KINDS.values() for case in found} == cases
