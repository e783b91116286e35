"""Number fields of the scenario: empty means the preset's value, a value overrides it, emptying goes back.

Every field is bound to the address under its own name. Where a quantity spans decades a 1-2-5 slider stands beside the
field; it is a view of the field and has no state of its own, so that several pages may carry it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import streamlit as st

from pages.ui import measures, slider, state
from slmopt.words import numbers
from slmopt.words.glossary import help_for


@dataclass(frozen=True, slots=True)
class Field:
    """A nullable number of the scenario. ``steps`` are the slider's stops; none for fields without a slider."""

    name: str
    label: str
    whole: bool = False
    steps: tuple[float, ...] = ()
    help: str | None = None


def one_two_five(first: int, last: int) -> tuple[float, ...]:
    """Stops 1, 2, 5 of every decade from 10^first to 10^last."""
    stops = [m * 10.0**decade for decade in range(first, last) for m in (1, 2, 5)]
    return (*stops, 10.0**last)


def powers_of_two(last: int) -> tuple[float, ...]:
    """1, 2, 4 … 2^last."""
    return tuple(2.0**power for power in range(last + 1))


FIELDS = {
    field.name: field
    for field in (
        Field("prompt", "Prompt (tokens)", True, one_two_five(1, 6)),
        Field("output", "Output (tokens)", True, one_two_five(1, 5)),
        Field("batch", "Sequences at once", True, powers_of_two(12)),
        Field(
            "context",
            "Context (tokens)",
            True,
            one_two_five(2, 6),
            help="Cached tokens a sequence at which decode and memory are evaluated.",
        ),
        Field("bandwidth_gbs", "Bandwidth (GB/s)", False, one_two_five(1, 4)),
        Field("peak_tflops", "Matrix rate (TFLOPS)", False, one_two_five(-1, 4)),
        Field(
            "weight_bits", "Bits a weight", False, (1.58, 2.0, 3.0, 4.0, 4.5, 5.0, 6.0, 8.0, 8.5, 16.0, 32.0)
        ),
        Field("capacity_gb", "Memory (GB)"),
        Field("power_w", "Power (W)"),
        Field("price_per_hour", "Price (per hour)"),
        Field("target_ttft_ms", "First token (ms)"),
        Field("target_tpot_ms", "Time per token (ms)"),
        Field("target_users", "Users at once", True),
        Field("target_tokens_per_s", "Device (tokens/s)"),
        Field("target_memory_gb", "Memory held (GB)"),
        Field(
            "request_rate",
            "Requests a second",
            help="With it times on the Plan are 95th percentiles, queueing included.",
        ),
        Field(
            "shared_prefix",
            "Shared by all (tokens)",
            True,
            help="A prefix that all sequences have in common: held and read once.",
        ),
        Field(
            "prefix_hit",
            "Of the prompt, cached (tokens)",
            True,
            help="Prompt tokens already in the cache: prefill skips them.",
        ),
        Field("draft_tokens", "Draft length (tokens)", True),
        Field("acceptance", "Acceptance rate (0 to 1)"),
        Field(
            "draft_cost",
            "Draft cost (of a step)",
            help="Time for one drafted token as a share of a decode step.",
        ),
        Field(
            "draft_width",
            "Candidates at each place",
            True,
            help="1 drafts a chain; more draft a tree, all of which is checked in one pass.",
        ),
        Field(
            "verify_cost",
            "Checking a token (of a step)",
            help="What each further checked token adds to a step, measured. Empty: what bytes and operations say.",
        ),
        Field(
            "draft_heads_gb",
            "Built-in heads (GB)",
            help="Weights of heads that draft (EAGLE, Medusa, prediction layers), stored beside the model's own.",
        ),
        Field(
            "prefill_chunk_tokens",
            "Prompt chunk (tokens)",
            True,
            help="Prompts come in pieces beside everyone's next token. Empty: whole, while the others wait.",
        ),
        Field(
            "output_spread",
            "Spread of replies (0 to 1)",
            help="Standard deviation of reply lengths over their mean: what fixed groups wait for. Empty: 1.",
        ),
        Field("storage_gbs", "Storage (GB/s)", help="Rate at which storage gives the model's file."),
        Field("bandwidth_fraction", "Bandwidth reached (0 to 1)"),
        Field("compute_fraction", "Matrix rate reached (0 to 1)"),
        Field("fixed_ms", "Fixed time a pass (ms)"),
        Field("devices", "Devices", True, help="How many such devices share the model."),
        Field("link_gbs", "Link (GB/s)", help="What joins the devices, or card and host: per direction."),
        Field("link_latency_us", "Link latency (µs)", help="Time of one message over the link."),
        Field(
            "gpu_layers",
            "Layers on the card",
            True,
            help="llama.cpp's -ngl: the head counts as the last layer, and the last ones go to the card first.",
        ),
        Field(
            "cpu_moe_layers",
            "Experts on the host (layers)",
            True,
            help="llama.cpp's --n-cpu-moe: the first layers' experts stay on the host.",
        ),
        Field("micro_batch", "Micro-batch (tokens)", True, help="llama.cpp's --ubatch-size."),
        Field(
            "gpu_memory_utilization",
            "Memory filled (0 to 1)",
            help="--gpu-memory-utilization of vLLM, --mem-fraction-static of SGLang.",
        ),
        Field("buffers_gb", "Buffers (GB)"),
        Field("block_tokens", "Block (tokens)", True),
    )
}


def forget_infinite() -> bool:
    """Take whole numbers that are not finite out of the address, over which Streamlit's own field raises.

    Returns whether there were any: the run then has to begin anew, since fields take the address as it was at its start.
    """
    found = [name for name, field in FIELDS.items() if field.whole and _infinite(st.query_params.get(name))]
    for name in found:
        del st.query_params[name]
    return bool(found)


def _infinite(text: str | None) -> bool:
    try:
        return text is not None and math.isinf(float(text))
    except ValueError:
        # What is no number at all, the field itself drops.
        return False


def value_of(name: str) -> float | int | None:
    """What the field holds; None where it is empty."""
    held = st.session_state.get(name)
    return held if isinstance(held, int | float) else None


def reset(names: Sequence[str]) -> None:
    """Empty these fields: back to the presets' values."""
    for name in names:
        st.session_state[name] = None


def number_field(
    name: str, preset: float | None, note: str = "", *, slider: bool = False, disabled: str = ""
) -> None:
    """The field, with the preset's value as placeholder; below it, once changed, what the preset says.

    ``disabled`` is the reason why the field cannot apply; empty where it can.
    """
    field = FIELDS[name]
    _entry(field, preset, disabled)
    if slider and field.steps:
        slider_view(name, preset, place="panel", labelled=False)
    if value_of(name) is not None and (preset is not None or note):
        said = f"Preset: {_plain(_shown(preset, field), field)}" if preset is not None else "Preset: none"
        st.markdown(f":small[{said}{' · ' + note if note else ''}]")


def pair(presets: Mapping[str, float]) -> None:
    """Two fields that stand side by side; below both, once either is changed, what their presets say."""
    for name, preset in presets.items():
        _entry(FIELDS[name], preset, "")
    changed = [
        _plain(_shown(preset, FIELDS[name]), FIELDS[name])
        for name, preset in presets.items()
        if value_of(name) is not None
    ]
    if changed:
        st.markdown(f":small[Preset{'s' if len(changed) > 1 else ''}: {' and '.join(changed)}]")


def _entry(field: Field, preset: float | None, disabled: str) -> None:
    held = value_of(field.name)
    view = measures.view(field.name, field.label)
    label = field.label if view is None else view.label
    # On a visit's first run the field takes what the address says only when it is drawn.
    changed = held is not None or (not state.panel_stands() and field.name in st.query_params)
    look: dict[str, Any] = {
        "label": f"{label} · changed" if changed else label,
        "value": None,
        "placeholder": _plain(_shown(preset, field), field) if preset is not None else "not set",
        "step": 1 if field.whole else None,
        "format": "%d" if field.whole else "%.6g",
        "help": disabled or field.help or help_for(label) or None,
        "disabled": bool(disabled),
    }
    if view is None:
        st.number_input(**look, key=field.name, bind="query-params")
        return
    # The scenario is in GB and ms, whatever the reader reads: the field that the address carries stays, out of sight.
    with st.container(key=f"slm_unseen_{field.name}"):
        st.number_input(field.label, value=None, key=field.name, bind="query-params", format="%.10g")
    key = f"_view_{field.name}"
    st.session_state[key] = _shown(held, field)
    st.number_input(**look, key=key, on_change=_take_view, args=(key, field.name, view))


def _shown(value: float | None, field: Field) -> float | None:
    """The field's value as the reader reads it."""
    view = measures.view(field.name, field.label)
    return value if value is None or view is None else view.shown(value)


def _take_view(key: str, name: str, view: measures.View) -> None:
    entered = st.session_state[key]
    st.session_state[name] = None if entered is None else view.entered(entered)


def _plain(value: float | None, field: Field) -> str:
    if value is None:
        return numbers.UNKNOWN
    return f"{value:,.0f}" if field.whole else numbers.trimmed(numbers.figures(value, 4))


def slider_view(name: str, preset: float | None, *, place: str, labelled: bool = True) -> None:
    """A 1-2-5 slider over the field; moving it writes the field.

    A value between the stops is a stop of its own while it lasts, so that the slider never shows another than the field.
    Where neither field nor preset has one it stands at "–", before the first stop.
    """
    now = value_of(name)
    slider.slider(
        _stops(name, now if now is not None else preset),
        key=f"_slider_{place}_{name}",
        field=name,
        labelled=labelled,
        moved=_take,
    )


@lru_cache(maxsize=512)
def _stops(name: str, at: float | None) -> slider.Stops:
    field = FIELDS[name]
    stops = list(field.steps)
    if at is not None and _plain(at, field) not in {_plain(stop, field) for stop in stops}:
        stops = sorted([*stops, at])
    values: list[float | int | None] = [_stop(stop, field) for stop in stops]
    if at is None:
        values.insert(0, None)
    texts = [_plain(value, field) for value in values]
    return slider.Stops(field.label, tuple(values), tuple(texts), texts.index(_plain(at, field)))


def _stop(value: float, field: Field) -> float | int:
    return int(value) if field.whole or value == int(value) else value


def _take(name: str, value: float | None) -> None:
    if value is not None:
        st.session_state[name] = int(value) if FIELDS[name].whole else float(value)
