"""The scenario panel of the sidebar: eight controls at first, the rest in closed groups that say their state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import get_args

import streamlit as st

from pages.ui import beside, fields, measures, own, places, present, reading, state
from pages.ui.fields import number_field, value_of
from pages.ui.reading import AUTO, DEFAULT, NO_DRAFT, SAME, SAME_DEVICE
from slmopt.specs.base import Sourced
from slmopt.specs.device import GB, GIB, Rate
from slmopt.specs.library import library
from slmopt.specs.scenario import SCHEMA_VERSION, AttentionKernels, Batching, Engine, Residency, scenario
from slmopt.specs.setup import ASSUMED_STORAGE_GBS, Setup, resolve
from slmopt.specs.weights import bits_per_weight
from slmopt.words import numbers
from slmopt.words.calibrated import estimate_words
from slmopt.words.glossary import help_for
from slmopt.words.model import unknown
from slmopt.words.scenario_line import escape, serving_changes, source_words

BITS = ("weight_bits",)
OF_THE_DEVICE = ("bandwidth_gbs", "peak_tflops", "capacity_gb", "power_w", "price_per_hour")
HARDWARE = (*OF_THE_DEVICE, *BITS)
TARGETS = (
    "target_ttft_ms",
    "target_tpot_ms",
    "target_users",
    "target_tokens_per_s",
    "target_memory_gb",
    "request_rate",
)
PREFIX = ("shared_prefix", "prefix_hit")
DRAFT = ("draft_tokens", "acceptance", "draft_cost", "draft_width", "verify_cost", "draft_heads_gb")
SERVING = ("prefill_chunk_tokens", "output_spread", "storage_gbs")
ASSUMED = ("bandwidth_fraction", "compute_fraction", "fixed_ms", "buffers_gb", "block_tokens")


def scenario_panel() -> None:
    """Draw the panel; :func:`pages.ui.reading.values` says what its fields hold."""
    _version_mark()
    presets = library()
    _choice("Model", "model", presets.models, DEFAULT.model, own.models())
    _choice(
        "Device", "device", presets.devices, DEFAULT.device, own.devices(), forgets=(*OF_THE_DEVICE, "fit")
    )
    left, right = st.columns(2, gap="small")
    with left:
        _choice("Weights", "weights", presets.weights, DEFAULT.weights, own.weights(), forgets=BITS)
    with right:
        _choice("Cache", "cache_k", presets.caches, DEFAULT.cache_k)
    held = reading.values()
    base = resolve(scenario({name: held[name] for name in ("model", "device", "weights", "cache_k")}))
    for pair in (("prompt", "output"), ("batch", "context")):
        for column, name in zip(st.columns(2, gap="small"), pair, strict=True):
            with column:
                number_field(name, _workload_preset(name))
    beside.buttons()
    _groups(base)


def _version_mark() -> None:
    """Hidden fields that the address carries: the scenario's version, so that an old link keeps its meaning, and a fit."""
    st.session_state.setdefault("v", str(SCHEMA_VERSION))
    with st.container(key="slm_version"):
        st.text_input("Link version", key="v", bind="query-params")
        st.text_input("Fit", value=None, key="fit", bind="query-params")


def _forget(key: str, names: Sequence[str]) -> None:
    """Another preset was chosen: what overrode the last one goes, and the word that a link's is not known."""
    state.forget_unknown(key)
    if names:
        fields.reset(names)
        st.session_state.pop("_sold", None)


def _choice(
    label: str,
    key: str,
    records: Mapping[str, Sourced],
    default: object,
    own_records: Mapping[str, Sourced] = MappingProxyType({}),
    forgets: Sequence[str] = (),
) -> None:
    """A searchable choice; the address carries the record's name. Own records come before the presets."""
    # The default stands first: a choice whose default is another place warns whenever the program sets it.
    first = records[str(default)].name
    names = [first, *own_records, *(record.name for record in records.values() if record.name != first)]
    asked = st.query_params.get(key)
    if asked is not None and asked not in names:
        # The field drops a name that it does not know; who opened the link should hear of it.
        state.say_unknown(key, unknown(key, asked, first))
    picked = st.selectbox(
        label,
        names,
        key=key,
        bind="query-params",
        on_change=_forget,
        args=(key, forgets),
        help=help_for(label) or None,
    )
    if picked != first:
        state.forget_unknown(key)


def _workload_preset(name: str) -> float:
    if name != "context":
        return float(getattr(DEFAULT, name))
    return float((value_of("prompt") or DEFAULT.prompt) + (value_of("output") or DEFAULT.output))


def _groups(base: Setup) -> None:
    """The closed groups, whose titles say their state."""
    _group("hardware", _hardware_words(), lambda: _hardware(base), expanded=True)
    _group("targets", _target_words(), _targets)
    _group("prefix", _prefix_words(), lambda: _numbers(PREFIX))
    _group("speculation", _draft_words(), _speculation)
    _group("serving", _serving_words(), lambda: _serving(base))
    _group("engine", "Engine and assumptions", lambda: _engine(base))
    measures.control()
    present.toggle()


def _group(key: str, label: str, body: Callable[[], None], *, expanded: bool = False) -> None:
    with st.expander(label, key=f"slm_group_{key}", expanded=expanded):
        body()


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
    return f"Hardware · {changed} changed" if changed else "Hardware · as the preset"


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
    return f"Targets · {numbers.trimmed(numbers.figures(first))} ms, {numbers.trimmed(numbers.figures(token))} ms"


def _targets() -> None:
    for name in TARGETS:
        number_field(name, state.HOUSE_TARGETS.get(name))
    _reset(TARGETS)


def _prefix_words() -> str:
    hit, shared = value_of("prefix_hit") or 0, value_of("shared_prefix") or 0
    if not hit and not shared:
        return "Shared prefix · off"
    return f"Shared prefix · {shared:,} shared, {hit:,} cached"


def _draft_words() -> str:
    length = value_of("draft_tokens")
    return f"Speculation · {length:,} drafted" if length else "Speculation · off"


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
    return f"Serving · {', '.join(said)}" if said else "Serving · continuous, resident"


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
