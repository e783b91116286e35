"""Prompts to measure with: from a file, or made to a length; no two alike, so that no prefix cache flatters a result."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from slmopt.specs.base import SpecError

MOST_PROMPTS: Final = 1_000_000

_WORDS: Final = [
    "time",
    "year",
    "people",
    "way",
    "day",
    "man",
    "thing",
    "woman",
    "life",
    "child",
    "world",
    "school",
    "state",
    "family",
    "student",
    "group",
    "country",
    "problem",
    "hand",
    "part",
    "place",
    "case",
    "week",
    "company",
    "system",
    "program",
    "question",
    "work",
    "government",
    "number",
    "night",
    "point",
    "home",
    "water",
    "room",
    "mother",
    "area",
    "money",
    "story",
    "fact",
    "month",
    "lot",
    "right",
    "study",
    "book",
    "eye",
    "job",
    "word",
    "business",
    "issue",
    "side",
    "kind",
    "head",
    "house",
    "service",
    "friend",
    "father",
    "power",
    "hour",
    "game",
    "line",
    "end",
    "member",
    "law",
    "car",
    "city",
    "name",
    "team",
    "minute",
    "idea",
    "body",
    "back",
    "parent",
    "face",
    "level",
    "office",
    "door",
    "health",
]
"""Short common words: about one token each in every vocabulary of today; how many exactly, the first answers tell."""


def read_prompts(content: bytes, name: str) -> tuple[str, ...]:
    """The prompts of a file: a line each, or JSON lines with ``prompt`` (or ``text``, or chat ``messages``).

    Raises :class:`SpecError` where there is none.
    """
    text = content.decode("utf-8-sig", "replace")
    lines = [line for line in text.splitlines() if line.strip()]
    prompts = [
        _json_prompt(line, number, name) if line.lstrip()[0] == "{" else line
        for number, line in enumerate(lines, 1)
    ]
    if not prompts:
        raise SpecError(f"{name} holds no prompt: give one a line, or JSON lines with a prompt each.")
    return tuple(prompts[:MOST_PROMPTS])


def _json_prompt(line: str, number: int, name: str) -> str:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return line
    for key in ("prompt", "text", "content"):
        if isinstance(value.get(key), str):
            return str(value[key])
    messages = value.get("messages")
    if isinstance(messages, list):
        said = [m.get("content") for m in messages if isinstance(m, dict) and m.get("role") == "user"]
        texts = [text for text in said if isinstance(text, str)]
        if texts:
            return texts[-1]
    raise SpecError(f"{name}, line {number} has neither prompt nor messages: give one of them on every line.")


@dataclass
class Prompts:
    """A prompt for each request number: those of a file in turn, or made to ``tokens`` from ``seed``.

    Made prompts begin with words of their own, so that no two share a prefix. Their length follows the tokens that the
    server counted for earlier ones.
    """

    tokens: int
    seed: int
    given: tuple[str, ...] = ()
    tokens_a_word: float = 1.0
    _lock: Lock = field(default_factory=Lock, repr=False)

    def prompt(self, number: int) -> str:
        """The prompt of a request; numbers below zero are those of the warm-up."""
        if self.given:
            return self.given[number % len(self.given)]
        rng = random.Random(f"{self.seed} {number}")  # noqa: S311 - texts, no secrets
        count = max(1, round(self.tokens / self.tokens_a_word))
        return " ".join(rng.choices(_WORDS, k=count))

    def learn(self, prompt: str, counted: int | None) -> None:
        """Take in what the server counted, so that later prompts come closer to the wanted length."""
        words = prompt.count(" ") + 1
        if self.given or counted is None or counted <= 0 or words < 8:
            return
        with self._lock:
            self.tokens_a_word = min(max(counted / words, 0.2), 20.0)
