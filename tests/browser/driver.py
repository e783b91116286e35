"""Drives the dashboard in a browser the way a person does, and reads what a person sees.

A test takes the ``driver`` fixture and says what it does in the words of the page::

    def test_more_bandwidth_raises_the_roof(driver):
        driver.goto("roofline")
        before = driver.answer_text()
        driver.press_key_on_slider("Bandwidth", "ArrowRight")
        assert driver.answer_text() != before

Every action returns when the dashboard has answered it: the script has run, and all charts are painted.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode, urlsplit

from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    FloatRect,
    Locator,
    Page,
    Playwright,
    Request,
    WebSocket,
)
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

WIDE = (1440, 900)
NARROW = (390, 844)

CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    # without these Chromium looks up its maker's hosts at every start
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# Runs before any script of the page, so that no change is missed.
WATCH_SCRIPT = """
(() => {
  const watch = { lastChange: performance.now(), onPlotChange: null };
  const plotOf = (node) => {
    const element = node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement;
    return element?.closest('.js-plotly-plot');
  };
  const onScreen = (plot) => {
    const box = plot.getBoundingClientRect();
    return box.bottom > 0 && box.top < innerHeight;
  };
  new MutationObserver((records) => {
    watch.lastChange = performance.now();
    if (!watch.onPlotChange) return;
    const plots = new Set(records.map((record) => plotOf(record.target)).filter(Boolean));
    if (plots.size > 0) watch.onPlotChange([...plots].some(onScreen));
  }).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  const hidden = (element) => element.clientWidth === 0;
  // A component's code arrives after its place; the keys of a presentation draw nothing.
  watch.mounted = () => [...document.querySelectorAll('[data-testid="stBidiComponentRegular"]')].every(
    (place) => hidden(place) || place.childElementCount > 1 || place.closest('.st-key-slm_keys')
  );
  // A figure counts its drawings; one that cannot be drawn says so.
  watch.painted = () => [...document.querySelectorAll('.slm-chart')].every(
    (chart) => hidden(chart) || chart.dataset.drawn || chart.querySelector('[role=alert]')
  );
  watch.idle = () => {
    const app = document.querySelector('[data-testid="stApp"]');
    return Boolean(app)
      && app.dataset.testScriptState === 'notRunning'
      && app.dataset.testConnectionState === 'CONNECTED'
      && !document.querySelector('[data-testid="stSkeleton"], [data-testid="stMain"] [data-stale="true"]')
      && watch.mounted()
      && watch.painted();
  };
  watch.settled = (quietMs) => watch.idle() && performance.now() - watch.lastChange > quietMs;
  window.__slmopt = watch;
})();
"""

# A deep link makes Streamlit's page ask for these below its own path, once; they are 404 and harmless.
_ALLOWED_404 = re.compile(r"^/[^/]+/_stcore/(health|host-config)$")

Area = Literal["page", "panel"]
_AREAS: dict[Area, str] = {"page": "stMain", "panel": "stSidebar"}

_QUIET_MS = 120
_TIMEOUT_S = 60.0
# How long a changed control may take to tell the server.
_SEND_TIMEOUT_S = 5.0


def launch(playwright: Playwright, executable: str) -> Browser:
    """A headless Chromium that talks to this machine only."""
    return playwright.chromium.launch(executable_path=executable, args=CHROMIUM_ARGUMENTS)


@dataclass
class _Traffic:
    """Counts what page and server say to each other, since only that tells a rerun's true end."""

    reruns_asked: int = 0
    pending: bool = True

    def watch(self, socket: WebSocket) -> None:
        self.pending = True
        socket.on("framesent", self._sent)
        socket.on("framereceived", self._received)

    def _sent(self, payload: str | bytes) -> None:
        if isinstance(payload, bytes) and BackMsg.FromString(payload).WhichOneof("type") == "rerun_script":
            self.reruns_asked += 1
            self.pending = True

    def _received(self, payload: str | bytes) -> None:
        if not isinstance(payload, bytes):
            return
        message = ForwardMsg.FromString(payload)
        if message.WhichOneof("type") != "script_finished":
            return
        # A run that was broken off for a newer one is followed by that one's own end.
        if message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
            self.pending = False


@dataclass
class Driver:
    """One tab on one dashboard."""

    page: Page
    address: str
    errors: list[str] = field(default_factory=list)
    """What the console, the page's scripts and requests to other machines gave cause to complain about."""
    _traffic: _Traffic = field(default_factory=_Traffic)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(_TIMEOUT_S * 1000)
        self.page.add_init_script(WATCH_SCRIPT)
        self.page.on("websocket", self._traffic.watch)
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.errors.append(f"script: {error}"))
        self.page.on("request", self._on_request)

    def _on_console(self, message: ConsoleMessage) -> None:
        url = str(message.location.get("url", ""))
        allowed = "404" in message.text and _ALLOWED_404.match(urlsplit(url).path)
        if message.type == "error" and not allowed:
            self.errors.append(f"console: {message.text} ({url})")

    def _on_request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in {"http", "https"} and parts.netloc != urlsplit(self.address).netloc:
            self.errors.append(f"request to another machine: {request.url}")

    # Going somewhere

    def goto(self, path: str = "", **query: object) -> None:
        """Opens a page by its address, as a link does: goto("roofline", batch=8)."""
        address = f"{self.address}/{path.lstrip('/')}"
        if query:
            address += f"?{urlencode(query)}"
        self._traffic.pending = True
        self.page.goto(address)
        self.settle()

    def open_page(self, title: str) -> None:
        """Opens a page by its entry in the navigation."""
        with self.rerun():
            self.nav_links().filter(has_text=re.compile(rf"^\s*{re.escape(title)}\s*$")).first.click()

    def reload(self) -> None:
        """Loads the same address again, with a new session behind it."""
        self._traffic.pending = True
        self.page.reload()
        self.settle()

    def back(self) -> None:
        """The browser's Back button."""
        with self.rerun():
            self.page.go_back()

    def nav_links(self) -> Locator:
        """The entries of the navigation, wherever it is drawn."""
        return self.page.locator('[data-testid="stTopNavLink"], [data-testid="stSidebarNavLink"]')

    # Waiting

    def settle(self, timeout_s: float = _TIMEOUT_S) -> None:
        """Returns when the script has run, nothing is stale, and every chart is painted."""
        give_up = time.monotonic() + timeout_s
        while time.monotonic() < give_up:
            # The watcher is away for a moment while a new document loads.
            quiet = self.page.evaluate("(ms) => Boolean(window.__slmopt?.settled(ms))", _QUIET_MS)
            if quiet and not self._traffic.pending:
                return
            self.page.wait_for_timeout(25)
        raise TimeoutError(
            f"{self.page.url} did not settle within {timeout_s:g} s; errors so far: {self.errors}"
        )

    @contextlib.contextmanager
    def rerun(self) -> Iterator[None]:
        """Around an action of the user: leaves when the server has been told and its answer is on the screen."""
        asked = self._traffic.reruns_asked
        yield
        give_up = time.monotonic() + _SEND_TIMEOUT_S
        while self._traffic.reruns_asked == asked:
            if time.monotonic() > give_up:
                raise TimeoutError(f"the action sent nothing to the server within {_SEND_TIMEOUT_S:g} s")
            self.page.wait_for_timeout(10)
        self.settle()

    # Reading

    def main_text(self) -> str:
        """All text of the page beside the panel."""
        return self.page.get_by_test_id("stMain").inner_text()

    def sidebar_text(self) -> str:
        """All text of the scenario panel."""
        return self.page.get_by_test_id("stSidebar").inner_text()

    def answer_text(self) -> str:
        """The page's one sentence."""
        return self.page.locator(".st-key-slm_answer").inner_text().strip()

    def scenario_text(self) -> str:
        """The small line that says what the page is about."""
        return self.page.locator(".st-key-slm_scenario").inner_text().strip()

    def tiles(self) -> dict[str, str]:
        """Label and value of each headline figure."""
        labels = self.page.locator(".slm-tile-label").all_inner_texts()
        values = self.page.locator(".slm-tile-value").all_inner_texts()
        return {label.strip(): value.strip() for label, value in zip(labels, values, strict=True)}

    def error_texts(self) -> list[str]:
        """What the page says is wrong with an entry."""
        return [text.strip() for text in self.page.locator(".st-key-slm_error").all_inner_texts()]

    def is_dimmed(self) -> bool:
        """Whether the page shows its last valid answer instead of a present one."""
        return bool(
            self.page.locator(".st-key-slm_body").evaluate("(body) => getComputedStyle(body).opacity < 1")
        )

    def exceptions(self) -> list[str]:
        """Tracebacks that Streamlit shows on the page; there should never be one."""
        return self.page.get_by_test_id("stException").all_inner_texts()

    def query(self) -> str:
        """What follows the question mark in the address bar."""
        return urlsplit(self.page.url).query

    # Charts

    def chart_keys(self) -> list[str]:
        """Keys of the charts on the page, from top to bottom."""
        keys: list[str] = self.page.locator(".slm-chart").evaluate_all(
            """(charts) => charts.map((chart) => {
              const classes = chart.closest('[class*="st-key-"]')?.classList ?? [];
              return [...classes].find((name) => name.startsWith('st-key-'))?.slice('st-key-'.length) ?? '';
            })"""
        )
        return keys

    def chart(self, key: str | None = None) -> Locator:
        """The figure with this key, title and all, or the page's first."""
        scope = self.page.locator(f".st-key-{key}") if key else self.page.get_by_test_id("stMain")
        return scope.locator(".slm-chart").first

    def plot(self, key: str | None = None) -> Locator:
        """The figure's drawing alone: Plotly's own element."""
        return self.chart(key).locator(".js-plotly-plot")

    def chart_ranges(self, key: str | None = None) -> dict[str, list[float]]:
        """What each axis shows now: {"xaxis": [0, 10], "yaxis": [1, 3]}; exponents on a logarithmic axis."""
        ranges: dict[str, list[float]] = self.plot(key).evaluate(
            """(plot) => Object.fromEntries(Object.entries(plot._fullLayout)
              .filter(([name]) => /^[xy]axis[0-9]*$/.test(name))
              .map(([name, axis]) => [name, axis.range.map(Number)]))"""
        )
        return ranges

    def drawings(self, key: str | None = None) -> int:
        """How often the figure has been drawn."""
        return int(self.chart(key).get_attribute("data-drawn") or 0)

    def chart_title(self, key: str | None = None) -> str:
        """The finding that the figure's title states."""
        return self.chart(key).locator(".slm-title").inner_text().strip()

    def chart_alt(self, key: str | None = None) -> str:
        """What a screen reader says of the figure."""
        return self.chart(key).get_by_role("img").first.get_attribute("aria-label") or ""

    def chart_data(self, key: str | None = None) -> list[dict[str, Any]]:
        """Name, x and y of each trace, as drawn."""
        traces: list[dict[str, Any]] = self.plot(key).evaluate(
            """(plot) => plot._fullData.map((trace) => ({
              name: trace.name, x: Array.from(trace.x ?? []), y: Array.from(trace.y ?? [])
            }))"""
        )
        return traces

    def zoom(
        self, key: str | None = None, *, left: float = 0.3, right: float = 0.7
    ) -> dict[str, list[float]]:
        """Drags across the middle of a chart, from one fraction of its width to another; returns the new ranges."""
        plot = self.plot(key)
        plot.scroll_into_view_if_needed()
        area = _box(plot.locator(".nsewdrag").first)
        y = area["y"] + area["height"] / 2
        mouse = self.page.mouse
        mouse.move(area["x"] + left * area["width"], y)
        mouse.down()
        mouse.move(area["x"] + right * area["width"], y, steps=5)
        mouse.up()
        self.settle()
        return self.chart_ranges(key)

    # Acting

    @property
    def reruns_asked(self) -> int:
        """How often the page has asked the server for an answer."""
        return self._traffic.reruns_asked

    def press_key_on_slider(
        self, label: str, key: str = "ArrowRight", times: int = 1, *, area: Area | None = None
    ) -> None:
        """Presses a key on the slider so labelled: ArrowRight, ArrowLeft, Home, End, PageUp, PageDown."""
        self.slider(label, area=area).focus()
        for _ in range(times):
            with self.rerun():
                self.page.keyboard.press(key)

    def slider_value(self, label: str, *, area: Area | None = None) -> str:
        """What the slider says that it is set to."""
        slider = self.slider(label, area=area)
        return slider.get_attribute("aria-valuetext") or slider.input_value()

    def slider(self, label: str, *, area: Area | None = None) -> Locator:
        """The slider whose label contains this: the page's own before the panel's, unless an area is named."""
        found = {
            name: self.page.get_by_test_id(_AREAS[name]).get_by_role("slider", name=label) for name in _AREAS
        }
        name = area or ("page" if found["page"].count() else "panel")
        return found[name].first

    def enter(self, label: str, value: object) -> None:
        """Types into the field so labelled and presses Enter; an empty string empties it."""
        box = self.field(label)
        box.fill(str(value))
        with self.rerun():
            box.press("Enter")

    def field(self, label: str) -> Locator:
        """The number or text field whose label contains this."""
        return self.page.locator("input:not([type=range])").and_(self.page.get_by_label(label)).first

    def choose(self, label: str, option: str) -> None:
        """Picks from the select box so labelled, by typing what an option contains."""
        box = self.page.get_by_role("combobox", name=label).first
        box.click()
        box.fill(option)
        with self.rerun():
            self.page.get_by_role("option").filter(has_text=option).first.click()

    def expand(self, title: str) -> None:
        """Opens the closed section with this title."""
        self._open(self.page.get_by_test_id("stExpander").filter(has_text=title).first)

    def open_sections(self) -> None:
        """Opens every closed section of the page and the panel that can be seen."""
        for section in self.page.get_by_test_id("stExpander").all():
            if section.is_visible():
                self._open(section)

    def _open(self, section: Locator) -> None:
        details = section.locator("details").first
        if details.get_attribute("open") is None:
            details.locator("summary").first.click()
            # Some sections ask the server for their content: leave it the time to be asked.
            self.page.wait_for_timeout(_QUIET_MS)
            self.settle()

    def open_sidebar(self) -> None:
        """Opens the scenario panel where it starts closed, on a narrow screen."""
        button = self.page.get_by_test_id("stExpandSidebarButton")
        if button.is_visible():
            button.click()
            self.page.get_by_test_id("stSidebar").get_by_test_id("stSidebarCollapseButton").wait_for()
            self.settle()

    def upload(self, *paths: Path) -> None:
        """Gives files to the page's upload field."""
        field_ = self.page.locator('[data-testid="stFileUploader"] input[type=file]').first
        with self.rerun():
            field_.set_input_files([str(path) for path in paths])

    def screenshot(self, path: Path) -> None:
        """Writes what the window shows, for a look at a failure."""
        self.page.screenshot(path=path)


def _box(locator: Locator) -> FloatRect:
    box = locator.bounding_box()
    if box is None:
        raise AssertionError(f"{locator} is not on the screen")
    return box
