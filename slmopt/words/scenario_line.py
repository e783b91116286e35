"""The scenario in one line, and where its parts are from."""

from __future__ import annotations

import re
from typing import Final

from slmopt.specs.base import Sourced
from slmopt.specs.device import GB
from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import Setup, resolve
from slmopt.words import numbers
from slmopt.words.places import devices_words, offload_words

_LONGEST = 80


def scenario_line(scenario: Scenario) -> str:
    """Model · weights · cache · device · prompt + output · sequences, and in bold what differs from the presets."""
    setup = resolve(scenario)
    kv = (
        setup.cache_k.name if setup.cache_k == setup.cache_v else f"{setup.cache_k.name}/{setup.cache_v.name}"
    )
    parts = [
        escape(setup.model.name),
        f"{escape(setup.weights.name)} weights",
        f"{escape(kv)} cache",
        escape(devices_words(setup)),
        f"{scenario.prompt:,} + {scenario.output:,} tokens",
        sequences(scenario.batch),
    ]
    return " · ".join(parts + [f"**{change}**" for change in changes(scenario, setup)])


def changes(scenario: Scenario, setup: Setup) -> list[str]:
    """What overrides a preset, in words."""
    s = scenario
    said: list[str] = []
    if s.context is not None:
        said.append(f"context {s.context:,}")
    if s.bandwidth_gbs is not None:
        said.append(numbers.trimmed(numbers.bytes_per_s(setup.bandwidth)))
    if s.peak_tflops is not None:
        said.append(numbers.trimmed(numbers.flops_per_s(s.peak_tflops * 1e12)))
    if s.weight_bits is not None:
        said.append(f"{numbers.trimmed(numbers.figures(s.weight_bits))} bits a weight")
    if s.capacity_gb is not None:
        said.append(f"{numbers.trimmed(numbers.bytes_(s.capacity_gb * GB))} memory")
    if setup.host is not None:
        said.append(offload_words(setup))
    if s.link_gbs is not None and setup.wire is not None:
        said.append(f"link of {numbers.trimmed(numbers.bytes_per_s(s.link_gbs * 1e9))}")
    if s.prefix_hit:
        said.append(f"{s.prefix_hit:,} tokens cached")
    if s.shared_prefix:
        said.append(f"{s.shared_prefix:,} shared")
    if s.engine != "exact":
        said.append(s.engine)
    said += serving_changes(s)
    return [*said, *_fit_words(s, setup)]


def serving_changes(s: Scenario) -> list[str]:
    """How the engine serves, as far as it is not the usual way."""
    said = []
    if s.prefill_chunk_tokens is not None:
        said.append(f"prompts in chunks of {s.prefill_chunk_tokens:,}")
    if s.batching == "static":
        spread = "" if s.output_spread is None else f", replies spread by {numbers.percent(s.output_spread)}"
        said.append(f"fixed groups{spread}")
    if s.residency == "cold":
        rate = (
            ""
            if s.storage_gbs is None
            else f" from {numbers.trimmed(numbers.bytes_per_s(s.storage_gbs * 1e9))}"
        )
        said.append(f"cold start{rate}")
    if s.unfused:
        said.append("attention not fused")
    return said


def _fit_words(s: Scenario, setup: Setup) -> list[str]:
    if s.fit is None:
        return [] if s.calibration is None else ["fit not used"]
    beyond = extrapolated(s, setup)
    more = [f"extrapolated: {', '.join(beyond)}"] if beyond else []
    return ["estimates fitted to your rows", *more]


def extrapolated(s: Scenario, setup: Setup) -> tuple[str, ...]:
    """What of the scenario lies beyond the rows that its fit rests on."""
    if s.fit is None:
        return ()
    return s.fit.outside(batch=s.batch, context=s.depth, weight_bytes=setup.weight_bytes, prompt=s.prompt)


def sequences(count: int) -> str:
    """A count of sequences: "1 sequence", "16 sequences"."""
    return f"{count:,} sequence{'' if count == 1 else 's'}"


def source_words(record: Sourced) -> str:
    """A record's source, short, with a mark where nobody has confirmed it."""
    source = record.source if len(record.source) <= _LONGEST else record.source[: _LONGEST - 1] + "…"
    return f"{source} (not confirmed)" if record.unconfirmed else source


def escape(text: str) -> str:
    """Text from outside made safe for Markdown: no emphasis, link, code, colour, icon or HTML in it takes effect.

    Streamlit makes links of addresses and pictures of icon names after all escapes are read, so these are parted by a
    character without width. Characters that turn the direction of what follows, or cannot be seen, are left out.
    """
    seen = _UNSEEN.sub("", text)
    return "".join("\\" + c if c in r"\`*_{}[]()#+-.!|<>~:$" else c for c in _LIVE.sub("\u2060", seen))


_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]"
)


_LIVE: Final = re.compile(r"(?i)(?<=:)(?=//|material/|[a-z])|(?<=www)(?=\.)|(?<=@)")
