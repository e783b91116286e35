"""The panel's closed groups: a title that says the state of its fields, and the fields while they are wanted.

Drawing a field costs the server and the browser more than any figure, and few are changed. So a group's fields are drawn
while it is open or one of them holds something, which the address and the session only keep for fields that are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args

import streamlit as st

from pages.ui import fields, own, places, state
from pages.ui.fields import number_field, value_of
from pages.ui.places import DEFAULT
from pages.ui.reading import AUTO, NO_DRAFT, SAME, SAME_DEVICE
from slmopt.specs.device import GB, GIB, Rate
from slmopt.specs.library import library
from slmopt.specs.scenario import AttentionKernels, Batching, Engine, Residency
from slmopt.specs.setup import ASSUMED_STORAGE_GBS, Setup
from slmopt.specs.weights import bits_per_weight
from slmopt.words import numbers, pace
from slmopt.words.calibrated import estimate_words
from slmopt.words.glossary import help_for
from slmopt.words.scenario_line import escape, serving_changes, source_words

BITS: Final = ("weight_bits",)
OF_THE_DEVICE: Final = ("bandwidth_gbs", "peak_tflops", "capacity_gb", "power_w", "price_per_hour")
HARDWARE: Final = (*OF_THE_DEVICE, *BITS)
TARGETS: Final = (
    "target_ttft_ms",
    "target_tpot_ms",
    "target_users",
    "target_tokens_per_s",
    "target_memory_gb",
    "request_rate",
)
PREFIX: Final = ("shared_prefix", "prefix_hit")
DRAFT: Final = ("draft_tokens", "acceptance", "draft_cost", "draft_width", "verify_cost", "draft_heads_gb")
SERVING: Final = ("prefill_chunk_tokens", "output_spread", "storage_gbs")
ASSUMED: Final = ("bandwidth_fraction", "compute_fraction", "fixed_ms", "buffers_gb", "block_tokens")


@dataclass(frozen=True, slots=True)
class Group:
    """A group: its fields' names, the words behind its title, and how its fields are drawn."""

    key: str
    title: str
    names: tuple[str, ...]
    said: Callable[[], str]
    body: Callable[[Setup], None]
    expanded: bool = False


def draw(base: Setup, held: Mapping[str, Any], *, every: bool) -> None:
    """Draw the groups. ``held``: the fields' values, None for what stands at its preset; ``every``: closed ones too."""
    for group in GROUPS:
        # The title stays the same while a field of the group is typed into: a new one would take the focus away.
        box = st.expander(
            group.title, key=f"slm_group_{group.key}", expanded=group.expanded, on_change="rerun"
        )
        if every or box.open or any(held.get(name) is not None for name in group.names):
            with box:
                group.body(base)
    rules = (
        f".st-key-slm_group_{group.key} summary p::after {{ content: {_css_text(group.said())}; }}"
        for group in GROUPS
    )
    st.html(f"<style>{''.join(rules)}</style>")


def _css_text(words: str) -> str:
    """A title's words as a string of CSS, with nothing in it that could end the string or the style."""
    return '"' + f" · {words}".replace("\\", "\\\\").replace('"', '\\"').replace("<", "\\3c ") + '"'


def _reset(names: Sequence[str]) -> None:
    if any(value_of(name) is not None for name in names):
        st.button("Reset to the preset", key=f"reset_{names[0]}", on_click=fields.reset, args=(names,))


def _numbers(names: Sequence[str]) -> None:
    for name in names:
        preset = getattr(DEFAULT, name)
        number_field(name, None if preset is None else float(preset))
    _reset(names)


def _changed(names: Sequence[str]) -> int:
    return sum(value_of(name) is not None for name in names)


def _hardware_words() -> str:
    changed = _changed(HARDWARE)
    return f"{changed} changed" if changed else "as the preset"


def _hardware(base: Setup) -> None:
    device, note = base.device, source_words(base.device)
    number_field("bandwidth_gbs", device.bandwidth_gbs, note, slider=True)
    peak = base.decode.ceiling
    number_field(
        "peak_tflops",
        None if peak is None else peak / 1e12,
        f"{base.decode.ceiling_type}, {note}",
        slider=True,
    )
    if peak is None:
        st.markdown(":small[No matrix rate is known for this chip: enter yours.]")
    number_field(
        "weight_bits",
        bits_per_weight(base.weights, base.model),
        source_words(base.weights),
        slider=True,
    )
    if len(device.capacities) > 1:
        st.selectbox(
            "Sold with", device.capacities, format_func=_memory_name, key="_sold", on_change=_take_memory
        )
    known = base.capacity
    number_field("capacity_gb", None if known is None else known / GB, note)
    if base.device.unconfirmed:
        st.markdown(":small[These figures are remembered, not confirmed: check them for your device.]")
    number_field("power_w", device.power_w, note)
    number_field("price_per_hour", device.price_per_hour)
    _reset(HARDWARE)


def _memory_name(size: float) -> str:
    in_gib = size / GIB
    return f"{in_gib:g} GiB" if in_gib == round(in_gib, 2) else f"{size / GB:g} GB"


def _take_memory() -> None:
    st.session_state["capacity_gb"] = st.session_state["_sold"] / GB


def _target_words() -> str:
    first = value_of("target_ttft_ms") or state.HOUSE_TARGETS["target_ttft_ms"]
    token = value_of("target_tpot_ms") or state.HOUSE_TARGETS["target_tpot_ms"]
    said = f"{numbers.trimmed(numbers.figures(token))} ms"
    if pace.as_speed():
        said = numbers.trimmed(pace.shown(token / 1e3)) if token > 0 else numbers.UNKNOWN
    return f"{numbers.trimmed(numbers.figures(first))} ms, {said}"


def _targets() -> None:
    for name in TARGETS:
        number_field(name, state.HOUSE_TARGETS.get(name))
    _reset(TARGETS)


def _prefix_words() -> str:
    hit, shared = value_of("prefix_hit") or 0, value_of("shared_prefix") or 0
    if not hit and not shared:
        return "off"
    return f"{shared:,} shared, {hit:,} cached"


def _draft_words() -> str:
    length = value_of("draft_tokens")
    return f"{length:,} drafted" if length else "off"


def _speculation() -> None:
    number_field("draft_tokens", float(DEFAULT.draft_tokens))
    number_field("acceptance", None)
    names = [NO_DRAFT, *own.models(), *(model.name for model in library().models.values())]
    picked = st.selectbox("Draft model", names, key="draft_model", bind="query-params")
    number_field("draft_cost", None, disabled="" if picked == NO_DRAFT else "The draft model gives the cost.")
    devices = [SAME_DEVICE, *(device.name for device in library().devices.values())]
    st.selectbox(
        "Draft runs on",
        devices,
        key="draft_device",
        bind="query-params",
        disabled=picked == NO_DRAFT,
        help="Choose a draft model first." if picked == NO_DRAFT else None,
    )
    number_field("draft_width", float(DEFAULT.draft_width))
    number_field("verify_cost", None)
    number_field("draft_heads_gb", None)
    _reset(DRAFT)


def _serving_words() -> str:
    said = serving_changes(state.current())
    return ", ".join(said) or "continuous, resident"


def _serving(base: Setup) -> None:
    number_field("prefill_chunk_tokens", None)
    batching = st.selectbox("Batching", get_args(Batching), key="batching", bind="query-params")
    fixed = batching == "static"
    number_field(
        "output_spread", 1.0 if fixed else None, disabled="" if fixed else "Only fixed groups wait for it."
    )
    cold = st.selectbox("Residency", get_args(Residency), key="residency", bind="query-params") == "cold"
    number_field(
        "storage_gbs",
        base.device.storage_gbs or (ASSUMED_STORAGE_GBS if cold else None),
        disabled="" if cold else "A resident model is not loaded.",
    )
    st.selectbox(
        "Attention kernels", get_args(AttentionKernels), key="attention_kernels", bind="query-params"
    )
    _reset(SERVING)


def _engine(base: Setup) -> None:
    engine = st.selectbox(
        "Engine", get_args(Engine), key="engine", bind="query-params", help=help_for("Engine")
    )
    places.draw(engine, base)
    st.selectbox("Compute type", [AUTO, *get_args(Rate)[1:]], key="compute", bind="query-params")
    caches = [record.name for record in library().caches.values()]
    st.selectbox("Cache for values", [SAME, *caches], key="cache_v", bind="query-params")
    st.selectbox(
        "Cache allocation",
        ["paged", "reserved"],
        key="allocation",
        bind="query-params",
        help=help_for("Paged allocation"),
    )
    units = [unit.name for unit in base.device.units]
    if len(units) > 1:
        for phase in ("prefill", "decode"):
            key = f"{phase}_unit"
            if st.session_state.get(key) not in units:
                st.session_state[key] = units[0]
            st.selectbox(f"{phase.capitalize()} runs on", units, key=key, bind="query-params")
    for name in ASSUMED:
        preset = getattr(DEFAULT, name)
        number_field(name, None if preset is None else float(preset))
    _reset((*ASSUMED, *places.NUMBERS))
    _fit()


def _fit() -> None:
    """What a fit to measurements gives, and the way back from it."""
    held = state.current()
    if held.calibration is None or not st.session_state.get("fit"):
        return
    said = "Not used here: it is of one device with the whole model on it."
    if held.fit is not None:
        said = f"Fitted to your rows: {escape(estimate_words(held.fit))}."
    st.markdown(f":small[{said}]")
    st.button("Drop the fit", key="drop_fit", on_click=fields.reset, args=(("fit",),))


def _engine_words() -> str:
    engine = st.session_state.get("engine")
    return DEFAULT.engine if engine is None else str(engine)


GROUPS: Final = (
    Group("hardware", "Hardware", HARDWARE, _hardware_words, _hardware, expanded=True),
    Group("targets", "Targets", TARGETS, _target_words, lambda _: _targets()),
    Group("prefix", "Shared prefix", PREFIX, _prefix_words, lambda _: _numbers(PREFIX)),
    Group(
        "speculation",
        "Speculation",
        (*DRAFT, "draft_model", "draft_device"),
        _draft_words,
        lambda _: _speculation(),
    ),
    Group(
        "serving",
        "Serving",
        (*SERVING, "batching", "residency", "attention_kernels"),
        _serving_words,
        _serving,
    ),
    Group(
        "engine",
        "Engine and assumptions",
        (
            *("engine", "compute", "cache_v", "allocation", "prefill_unit", "decode_unit"),
            *("full_windows", "host", "parallel", "calibration"),
            *ASSUMED,
            *places.NUMBERS,
        ),
        _engine_words,
        _engine,
    ),
)
