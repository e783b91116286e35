"""A visitor without a browser: speaks Streamlit's protocol over a WebSocket, and asks for figures ahead as a slider does.

It keeps what a browser keeps and sends it with every rerun: the state of each widget, the address's query, the hashes of
messages that it holds. So a rerun costs the server what it costs with a browser, but for loading files once.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect

# As in pages/ui/static/slider.js.
AT_ONCE = 3
_TIMEOUT_S = 60.0
_SIDEBAR = 1


class AppError(RuntimeError):
    """The page showed an exception, or the server refused."""


@dataclass(frozen=True, slots=True)
class Rerun:
    """From the message that asks for a run to the message that it has finished."""

    seconds: float
    received_bytes: int
    messages: int


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


@dataclass(slots=True)
class Visitor:
    """One session. Open with `async with Visitor.arrive(address, page)`."""

    address: str
    page: str
    socket: ClientConnection
    sliders: dict[str, Slider] = field(default_factory=dict)
    uploads: list[str] = field(default_factory=list)
    ahead_seconds: list[float] = field(default_factory=list)
    ahead_bytes: int = 0
    _shown: dict[str, Slider] = field(default_factory=dict)
    _states: dict[str, WidgetState] = field(default_factory=dict)
    _held: dict[str, tuple[ForwardMsg, int]] = field(default_factory=dict)
    _query: str = ""
    _script: str = ""
    _session: str = ""
    _runs: int = 0
    _forward: bool = True
    _base: str = ""
    _foreseen: set[str] = field(default_factory=set)
    _asking: asyncio.Task[None] | None = None
    _http: http.client.HTTPConnection | None = None

    @classmethod
    @contextlib.asynccontextmanager
    async def arrive(cls, address: str, page: str, query: str = "") -> Any:
        """Connects and runs the page once, as a link to it does."""
        stream = f"ws{address.removeprefix('http')}/_stcore/stream"
        async with connect(stream, subprotocols=["streamlit"], max_size=None) as socket:  # type: ignore[list-item]
            visitor = cls(address, page, socket, _query=query)
            try:
                await visitor.rerun()
                yield visitor
            finally:
                await visitor.leave_slider()
                if visitor._http:
                    visitor._http.close()

    async def rerun(self, *events: WidgetState) -> Rerun:
        """Asks for a run with the present state of all widgets, and reads until it has finished."""
        message = BackMsg()
        asked = message.rerun_script
        asked.query_string = self._query
        asked.widget_states.widgets.extend([*self._states.values(), *events])
        asked.page_script_hash = self._script
        if not self._script:
            asked.page_name = self.page
        asked.cached_message_hashes.extend(self._held)
        asked.context_info.timezone = "UTC"
        asked.context_info.locale = "en-US"
        asked.context_info.url = f"{self.address}/{self.page}"
        asked.context_info.color_scheme = "light"
        sent = time.perf_counter()
        await self.socket.send(message.SerializeToString())
        size = count = 0
        while True:
            async with asyncio.timeout(_TIMEOUT_S):
                raw = await self.socket.recv()
            now = time.perf_counter()
            assert isinstance(raw, bytes)
            size += len(raw)
            count += 1
            if self._finished(raw):
                return Rerun(now - sent, size, count)

    def _finished(self, raw: bytes) -> bool:
        """Takes in one message; whether it says that the run asked for is over."""
        message = ForwardMsg.FromString(raw)
        path = message.metadata.delta_path
        if message.WhichOneof("type") == "ref_hash":
            message, _ = self._held[message.ref_hash]
        if message.metadata.cacheable:
            self._held[message.hash] = (message, self._runs)
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self._session = message.new_session.initialize.session_id or self._session
            self._shown = {}
            self.uploads.clear()
        elif kind == "navigation":
            self._script = message.navigation.page_script_hash
        elif kind == "page_info_changed":
            self._query = message.page_info_changed.query_string
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            self._take(message.delta.new_element, path[0] != _SIDEBAR)
        elif kind == "script_finished" and message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
            self._runs += 1
            self.sliders = self._shown
            # Browsers hold a message for two runs beyond its last use.
            self._held = {name: kept for name, kept in self._held.items() if self._runs - kept[1] <= 2}
            return True
        return False

    def _take(self, element: Element, in_page: bool) -> None:
        kind = element.WhichOneof("type") or "empty"
        part: Any = getattr(element, kind)
        if kind == "exception":
            raise AppError(f"{self.page}: {element.exception.type}: {element.exception.message}")
        if kind == "file_uploader" and part.id not in self.uploads:
            self.uploads.append(part.id)
        if kind == "slider":
            self._take_streamlits(part, in_page)
        elif kind == "bidi_component" and part.component_name.endswith("slider"):
            data = json.loads(part.bytes)
            kept = [data[name] for name in ("label", "values", "texts", "at", "ahead")]
            self._shown[part.id] = Slider(part.id, in_page, True, *kept)
        elif kind in _STATE_OF:
            _STATE_OF[kind](self._states.setdefault(part.id, WidgetState(id=part.id)), part)

    def _take_streamlits(self, part: Any, in_page: bool) -> None:
        held = self._states.setdefault(part.id, WidgetState(id=part.id))
        if part.set_value or not held.HasField("double_array_value"):
            held.double_array_value.data[:] = part.value if part.set_value else part.default
        stops = round((part.max - part.min) / part.step) + 1
        values = [part.min + part.step * stop for stop in range(stops)]
        at = round((held.double_array_value.data[0] - part.min) / part.step)
        self._shown[part.id] = Slider(part.id, in_page, False, part.label, values, [*map(str, values)], at)

    # Acting

    def slider(self) -> Slider | None:
        """The first that has another stop: of the page, else of the panel."""
        movable = [one for one in self.sliders.values() if sum(value is not None for value in one.values) > 1]
        return min(movable, key=lambda one: not one.in_page, default=None)

    async def move(self) -> Rerun:
        """Moves the slider by one stop, towards one end and then back, and asks for what lies ahead from there."""
        slider = self.slider()
        if slider is None:
            raise AppError(f"{self.page} has no slider to move")
        there = slider.at + (1 if self._forward else -1)
        if not 0 <= there < len(slider.values) or slider.values[there] is None:
            self._forward = not self._forward
            there = slider.at + (1 if self._forward else -1)
        state = self._states.setdefault(slider.id, WidgetState(id=slider.id))
        if slider.own:
            self.ask_ahead()
            state.json_value = json.dumps({"moved": {"stop": there, "stamp": uuid.uuid4().hex}})
        else:
            state.double_array_value.data[:] = [slider.values[there]]
        taken = await self.rerun()
        if self.sliders[slider.id].own:
            self.ask_ahead()
        return taken

    def ask_ahead(self) -> None:
        """What a slider in use does after each answer: asks for figures at stops that it has none of yet."""
        if self._asking is None or self._asking.done():
            if self._asking is not None:
                self._asking.result()
            self._asking = asyncio.create_task(self._ask())

    async def _ask(self) -> None:
        while (slider := self.slider()) and slider.ahead:
            base = json.dumps(slider.ahead)
            if base != self._base:
                self._base = base
                self._foreseen.clear()
            missing = [
                (abs(stop - slider.at), text, value)
                for stop, (text, value) in enumerate(zip(slider.texts, slider.values, strict=True))
                if value is not None and text not in self._foreseen
            ]
            nearest = sorted(missing, key=lambda one: one[0])[:AT_ONCE]
            if not nearest:
                return
            question = json.dumps({**slider.ahead, "values": [value for _, _, value in nearest]})
            sent = time.perf_counter()
            self.ahead_bytes += await asyncio.to_thread(self._post, question.encode())
            self.ahead_seconds.append(time.perf_counter() - sent)
            self._foreseen.update(text for _, text, _ in nearest)

    def _post(self, question: bytes) -> int:
        """Asks the stateless route; bytes of its answer."""
        where = urlsplit(self.address)
        headers = {"Content-Type": "application/json", "Accept-Encoding": "gzip"}
        while True:
            kept = self._http is not None
            if self._http is None:
                self._http = http.client.HTTPConnection(where.hostname or "", where.port, timeout=_TIMEOUT_S)
            try:
                self._http.request("POST", f"{where.path}/ahead", question, headers)
                answer = self._http.getresponse()
                break
            except (ConnectionError, http.client.RemoteDisconnected):
                # Servers close idle connections; browsers then ask once more on a new one.
                self._http.close()
                self._http = None
                if not kept:
                    raise
        body = answer.read()
        if answer.status != 200:
            raise AppError(f"figures ahead: {answer.status} {body[:200]!r}")
        return len(body)

    async def leave_slider(self) -> None:
        """Waits for the last figures asked ahead."""
        if self._asking is not None:
            await self._asking
            self._asking = None


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


_STATE_OF = {
    "number_input": _keeps(_number),
    "text_input": _keeps(_text),
    "text_area": _keeps(_text),
    "selectbox": _keeps(_choice),
    "button_group": _keeps(_several),
    "multiselect": _keeps(_several),
    "checkbox": _keeps(_tick),
}
"""How each of Streamlit's widgets fills its state when it is first shown, or when the server sets its value."""
