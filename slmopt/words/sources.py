"""Where a scenario's numbers are from."""

from __future__ import annotations

from slmopt.specs.base import Sourced
from slmopt.theory.evaluation import Evaluation
from slmopt.words.scenario_line import escape


def source_lines(e: Evaluation) -> list[str]:
    """One Markdown line for each record and assumption that the scenario rests on."""
    s = e.setup
    lines = [
        record_line("Model", s.model),
        record_line("Device", s.device),
        record_line("Weights", s.weights),
        record_line("Cache", s.cache_k),
        f"**Rates**: ceiling in {s.decode.ceiling_type}, estimate in {s.decode.estimate_type}: {escape(s.decode.reason)}",
        f"**Estimate**: {escape(s.factors.origin)}",
    ]
    if s.model.assumed:
        lines.append(f"**Assumed of the model**: {escape('; '.join(s.model.assumed))}")
    return lines


def record_line(label: str, record: Sourced) -> str:
    """A record's name, source, note, and a mark where nobody has confirmed it."""
    mark = " — remembered, **not confirmed**" if record.unconfirmed else ""
    note = f" ({escape(record.note)})" if record.note else ""
    source = escape(record.source) or "entered"
    return f"**{label}**: {escape(record.name)}, {source}{note}{mark}"
