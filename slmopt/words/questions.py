"""The pages' names and the question that each answers, in the order of the top bar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Question:
    """A page's name and its question."""

    title: str
    question: str


QUESTIONS: Final = {
    "overview": Question("Overview", "What limits this model here?"),
    "roofline": Question("Roofline", "On which side of the ridge does it stand?"),
    "batching": Question("Batching", "What does each further sequence bring, and cost?"),
    "memory": Question("Memory", "What fills the memory, and how many sequences fit?"),
    "first-token": Question("First token", "What does the prompt cost, and whom does it stall?"),
    "speculation": Question("Speculation", "Would drafting pay here?"),
    "measurements": Question("Measurements", "How close does each measured row come to its ceiling?"),
    "plan": Question("Plan", "Which technique first, and which do nothing here?"),
    "model": Question("Your model", "What is in the model, and what does that cost?"),
}
