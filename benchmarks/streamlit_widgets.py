"""What a browser makes of Streamlit's widgets: which state it sends of each, and where a slider stands."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from streamlit.proto.WidgetStates_pb2 import WidgetState


@dataclass(slots=True)
class Slider:
    """A slider as it stands: the dashboard's own, or Streamlit's where `ahead` is None and values are numbers."""

    id: str
    in_page: bool
    own: bool
    label: str
    values: list[Any]
    texts: list[str]
    at: int
    ahead: dict[str, Any] | None = None


def our_own(part: Any, in_page: bool) -> Slider:
    """The dashboard's slider, from its component's message."""
    data = json.loads(part.bytes)
    kept = [data[name] for name in ("label", "values", "texts", "at", "ahead")]
    return Slider(part.id, in_page, True, *kept)


def streamlits(state: WidgetState, part: Any, in_page: bool) -> Slider:
    """Streamlit's slider of numbers; its state is filled where the server sets it."""
    if part.set_value or not state.HasField("double_array_value"):
        state.double_array_value.data[:] = part.value if part.set_value else part.default
    stops = round((part.max - part.min) / part.step) + 1
    values = [part.min + part.step * stop for stop in range(stops)]
    at = round((state.double_array_value.data[0] - part.min) / part.step)
    return Slider(part.id, in_page, False, part.label, values, [*map(str, values)], at)


def _keeps(fill: Callable[[WidgetState, Any], None]) -> Callable[[WidgetState, Any], None]:
    """A widget keeps its state until the server sets another."""

    def take(state: WidgetState, part: Any) -> None:
        if part.set_value or state.WhichOneof("value") is None:
            state.ClearField("value")
            fill(state, part)

    return take


def _number(state: WidgetState, part: Any) -> None:
    name = "value" if part.set_value else "default"
    if part.HasField(name):
        state.double_value = getattr(part, name)


def _text(state: WidgetState, part: Any) -> None:
    state.string_value = part.value if part.set_value else part.default


def _choice(state: WidgetState, part: Any) -> None:
    if part.set_value:
        state.string_value = part.raw_value
    elif part.HasField("default"):
        state.string_value = part.options[part.default]


def _several(state: WidgetState, part: Any) -> None:
    chosen = part.raw_values if part.set_value else [_option(part.options[index]) for index in part.default]
    state.string_array_value.data[:] = chosen


def _option(option: Any) -> str:
    return option if isinstance(option, str) else option.content


def _tick(state: WidgetState, part: Any) -> None:
    state.bool_value = part.value if part.set_value else part.default


STATE_OF = {
    "number_input": _keeps(_number),
    "text_input": _keeps(_text),
    "text_area": _keeps(_text),
    "selectbox": _keeps(_choice),
    "button_group": _keeps(_several),
    "multiselect": _keeps(_several),
    "checkbox": _keeps(_tick),
}
"""How each of Streamlit's widgets fills its state when it is first shown, or when the server sets its value."""
