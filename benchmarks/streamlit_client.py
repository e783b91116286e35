"""A visitor without a browser: speaks Streamlit's protocol over a WebSocket, and asks for figures ahead as a slider does.

It keeps what a browser keeps and sends it with every rerun: the state of each widget, the address's query, the hashes of
messages that it holds. So a rerun costs the server what it costs with a browser, but for loading files once.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
import uuid
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import FileURLs, UploadedFileInfo
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect

from benchmarks.plain_http import TIMEOUT_S, AppError, Http
from benchmarks.streamlit_widgets import STATE_OF, Slider, our_own, streamlits

# As in pages/ui/static/slider.js.
AT_ONCE = 3
_SIDEBAR = 1


@dataclass(frozen=True, slots=True)
class Rerun:
    """From the message that asks for a run to the message that it has finished."""

    seconds: float
    received_bytes: int
    messages: int


@dataclass(slots=True)
class Visitor:
    """One session. Open with `async with Visitor.arrive(address, page)`."""

    address: str
    page: str
    socket: ClientConnection
    _http: Http
    sliders: dict[str, Slider] = field(default_factory=dict)
    uploads: list[str] = field(default_factory=list)
    ahead_seconds: list[float] = field(default_factory=list)
    ahead_bytes: int = 0
    _shown: dict[str, Slider] = field(default_factory=dict)
    _pages: dict[str, str] = field(default_factory=dict)
    _present: set[str] = field(default_factory=set)
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

    @classmethod
    @contextlib.asynccontextmanager
    async def arrive(cls, address: str, page: str, query: str = "") -> Any:
        """Connects and runs the page once, as a link to it does."""
        stream = f"ws{address.removeprefix('http')}/_stcore/stream"
        # Browsers send no pings of their own.
        async with connect(stream, subprotocols=["streamlit"], max_size=None, ping_interval=None) as socket:  # type: ignore[list-item]
            visitor = cls(address, page, socket, Http(address), _query=query)
            try:
                await visitor.rerun()
                yield visitor
            finally:
                await visitor.leave_slider()
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
            raw = await self._receive()
            now = time.perf_counter()
            size += len(raw)
            count += 1
            if self._finished(raw):
                return Rerun(now - sent, size, count)

    async def _receive(self) -> bytes:
        async with asyncio.timeout(TIMEOUT_S):
            raw = await self.socket.recv()
        assert isinstance(raw, bytes)
        return raw

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
            self._shown, self._present = {}, set()
            self.uploads.clear()
        elif kind == "navigation":
            self._script = message.navigation.page_script_hash
            pages = message.navigation.app_pages
            self._pages = {page.url_pathname: page.page_script_hash for page in pages}
        elif kind == "page_info_changed":
            self._query = message.page_info_changed.query_string
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            self._take(message.delta.new_element, path[0] != _SIDEBAR)
        elif kind == "script_finished" and message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
            self._runs += 1
            self.sliders = self._shown
            self._states = {name: state for name, state in self._states.items() if name in self._present}
            # Browsers hold a message for two runs beyond its last use.
            self._held = {name: kept for name, kept in self._held.items() if self._runs - kept[1] <= 2}
            return True
        return False

    def _take(self, element: Element, in_page: bool) -> None:
        kind = element.WhichOneof("type") or "empty"
        part: Any = getattr(element, kind)
        if kind == "exception":
            raise AppError(f"{self.page}: {element.exception.type}: {element.exception.message}")
        if kind != "empty" and "id" in part.DESCRIPTOR.fields_by_name:
            self._present.add(part.id)
        if kind == "file_uploader" and part.id not in self.uploads:
            self.uploads.append(part.id)
        if kind == "slider":
            state = self._states.setdefault(part.id, WidgetState(id=part.id))
            self._shown[part.id] = streamlits(state, part, in_page)
        elif kind == "bidi_component" and part.component_name.endswith("slider"):
            self._shown[part.id] = our_own(part, in_page)
        elif kind in STATE_OF:
            STATE_OF[kind](self._states.setdefault(part.id, WidgetState(id=part.id)), part)

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
        headers = {"Content-Type": "application/json", "Accept-Encoding": "gzip"}
        _, body = self._http.ask("POST", "/ahead", question, headers)
        return len(body)

    async def go(self, page: str) -> Rerun:
        """Opens another page by the navigation."""
        await self.leave_slider()
        self.page, self._script = page, self._pages[page]
        return await self.rerun()

    async def upload(self, name: str, content: bytes) -> Rerun:
        """Gives a file to the page's first upload field."""
        wanted = BackMsg()
        wanted.file_urls_request.request_id = uuid.uuid4().hex
        wanted.file_urls_request.file_names.append(name)
        wanted.file_urls_request.session_id = self._session
        await self.socket.send(wanted.SerializeToString())
        while True:
            message = ForwardMsg.FromString(await self._receive())
            if message.WhichOneof("type") == "file_urls_response":
                break
        place = message.file_urls_response.file_urls[0]
        await asyncio.to_thread(self._put, place, name, content)
        state = WidgetState(id=self.uploads[0])
        told = UploadedFileInfo(file_id=place.file_id, name=name, size=len(content), file_urls=place)
        state.file_uploader_state_value.uploaded_file_info.append(told)
        self._states[state.id] = state
        return await self.rerun()

    def _put(self, place: FileURLs, name: str, content: bytes) -> None:
        # A first answer gives the token that a browser has from the page.
        told, _ = self._http.ask("GET", "/_stcore/health")
        cookie = str(told["Set-Cookie"]).split(";")[0]
        border = uuid.uuid4().hex
        head = f'--{border}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
        headers = {
            "Content-Type": f"multipart/form-data; boundary={border}",
            "Cookie": cookie,
            "X-Xsrftoken": cookie.partition("=")[2].strip('"'),
        }
        body = head.encode() + content + f"\r\n--{border}--\r\n".encode()
        self._http.ask("PUT", urlsplit(place.upload_url).path, body, headers)

    async def leave_slider(self) -> None:
        """Waits for the last figures asked ahead."""
        if self._asking is not None:
            await self._asking
            self._asking = None
