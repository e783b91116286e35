"""Where a scenario's numbers are from."""

from __future__ import annotations

from slmopt.specs.base import Sourced
from slmopt.theory.evaluation import Evaluation
from slmopt.words import numbers as n
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
    if s.host is not None:
        assumed = ", assumed with the most memory that it is sold with" if s.host.assumed else ""
        lines.append(f"{record_line('Host', s.host.device)}{assumed}")
        lines.append(f"**Estimate of the host**: {escape(s.host.factors.origin)}")
    if s.wire is not None and s.wire.bandwidth is not None:
        name = escape(s.wire.name) or "as entered"
        lines.append(f"**Link**: {name}, {n.trimmed(n.bytes_per_s(s.wire.bandwidth))} per direction")
    lines += [f"**Mind**: {escape(warning)}" for warning in s.warnings]
    return lines


def record_line(label: str, record: Sourced) -> str:
    """A record's name, source, note, and a mark where nobody has confirmed it."""
    mark = " — remembered, **not confirmed**" if record.unconfirmed else ""
    note = f" ({escape(record.note)})" if record.note else ""
    source = escape(record.source) or "entered"
    return f"**{label}**: {escape(record.name)}, {source}{note}{mark}"
