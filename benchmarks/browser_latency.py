"""Times, in Chromium, how long a page takes from a key press to its last painted figure.

On each page a control is found whose arrow key changes a figure: a slider of the page, else one of the panel,
else a number field of the panel. It is pressed over and over, on towards one end and then back, so that many values are new
to the server and its caches. One sample runs

* from the time stamp that the browser gave the key event,
* to the moment after the frame that holds the last change to any figure on the screen: each change to a figure's elements asks for
  a callback of the next frame, whose message is handled once that frame has been handed to the screen.

Figures further down the page are drawn after those on the screen; the time of the very last one stands beside ("all").

So a sample holds the key's way to the server, the script's run, the answer's way back, and all drawing. A figure that
is drawn inside a frame's own callback counts up to one frame (17 ms) too long, never too short. After each press the
page is left alone until its figures have been still for a quarter of a second. Before the pages, the floor is timed the
same way: a bare Streamlit app of one slider and one chart.
"""

from __future__ import annotations

import os
import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from playwright.sync_api import Browser, BrowserContext, Locator, sync_playwright

from benchmarks.sessions import FLOOR
from pages.ui.judging import SAMPLE_DEVICE
from slmopt.specs.library import library
from tests.browser import chromium
from tests.browser.driver import WIDE, Driver, launch
from tests.browser.pages import URL_PATHS, name
from tests.browser.server import dashboard, running

LIMIT_MEDIAN_MS = 120.0
LIMIT_P95_MS = 200.0
WARM_UPS = 3
# Where the panel's device is the machine that measured the sample, what the panel changes of it moves the rows.
QUERIES = {"measurements": {"device": library().devices[SAMPLE_DEVICE].name}}
STILL_MS = 250
# A press that changes no figure within this time is taken to change none.
TRIAL_TIMEOUT_MS = 4_000

_STAMP_SCRIPT = """
() => {
  const stamp = { key: Infinity, painted: 0, all: 0 };
  addEventListener('keydown', (event) => { stamp.key = event.timeStamp; }, { capture: true });
  const shown = new MessageChannel();
  shown.port1.onmessage = ({ data: onScreen }) => {
    stamp.all = performance.now();
    if (onScreen) stamp.painted = stamp.all;
  };
  let asked = false;
  let seen = false;
  window.__slmopt.onPlotChange = (onScreen) => {
    seen ||= onScreen;
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { shown.port2.postMessage(seen); asked = seen = false; });
  };
  window.__stamp = stamp;
}
"""

_SAMPLE_SCRIPT = """
([stillMs, timeoutMs]) => new Promise((resolve) => {
  const stamp = window.__stamp, watch = window.__slmopt, start = performance.now();
  const look = () => {
    const now = performance.now();
    if (stamp.all > stamp.key && now - stamp.all > stillMs && watch.idle()) {
      // A press may change figures below the screen only.
      const seen = stamp.painted > stamp.key ? stamp.painted : stamp.all;
      resolve([seen - stamp.key, stamp.all - stamp.key]);
    }
    else if (now - start > timeoutMs) resolve(null);
    else setTimeout(look, 40);
  };
  look();
})
"""


# Streamlit's own slider is no input element.
_ENDS_SCRIPT = """
(e) => {
  const [now, most, least] = 'value' in e
    ? [e.value, e.max, e.min]
    : [e.ariaValueNow, e.ariaValueMax, e.ariaValueMin];
  return [now === most, now === least];
}
"""


@dataclass(frozen=True)
class Latency:
    """Samples of one page in milliseconds, and the control that was pressed.

    ``samples_ms`` end with the last figure on the screen, ``all_ms`` with the last of the page.
    """

    page: str
    control: str
    samples_ms: tuple[float, ...]
    all_ms: tuple[float, ...]

    @property
    def median_ms(self) -> float:
        """Half of the samples are below."""
        return statistics.median(self.samples_ms)

    @property
    def p95_ms(self) -> float:
        """95 % of the samples are below, interpolated between neighbours."""
        return statistics.quantiles(self.samples_ms, n=20, method="inclusive")[-1]

    @property
    def kept(self) -> bool:
        """Whether both limits are kept."""
        return self.median_ms < LIMIT_MEDIAN_MS and self.p95_ms < LIMIT_P95_MS


@dataclass
class _Control:
    """A slider or number field, and the direction in which it is being moved."""

    element: Locator
    label: str
    keys: tuple[str, str]
    forward: bool = True

    def press(self, driver: Driver, timeout_ms: float) -> tuple[float, float] | None:
        """One key press; milliseconds to the last figure on the screen and of the page, or None where none changed."""
        ends: list[bool] = self.element.evaluate(_ENDS_SCRIPT)
        if ends[0 if self.forward else 1]:
            self.forward = not self.forward
        self.element.focus()
        driver.page.keyboard.press(self.keys[0] if self.forward else self.keys[1])
        elapsed: list[float] | None = driver.page.evaluate(_SAMPLE_SCRIPT, [STILL_MS, timeout_ms])
        return None if elapsed is None else (elapsed[0], elapsed[1])


def _controls(driver: Driver) -> Iterator[_Control]:
    """Candidates on the page, those of the page itself first."""
    for area in ("stMain", "stSidebar"):
        for slider in driver.page.get_by_test_id(area).get_by_role("slider").all():
            if slider.is_enabled():
                yield _Control(slider, _label(slider), ("ArrowRight", "ArrowLeft"))
    for field in driver.page.get_by_test_id("stSidebar").get_by_test_id("stNumberInputField").all():
        if field.is_enabled() and field.is_visible():
            yield _Control(field, _label(field), ("ArrowUp", "ArrowDown"))


def _label(element: Locator) -> str:
    return (element.get_attribute("aria-label") or "control without a label").removesuffix(" · changed")


def measure(driver: Driver, path: str, samples: int) -> Latency | None:
    """Samples of one page; None where no control changes a figure."""
    driver.goto(path, **QUERIES.get(name(path), {}))
    if not driver.chart_keys():
        return None
    return _measure_opened(driver, name(path), samples)


def _measure_opened(driver: Driver, what: str, samples: int) -> Latency | None:
    driver.page.evaluate(_STAMP_SCRIPT)
    for control in _controls(driver):
        if control.press(driver, TRIAL_TIMEOUT_MS) is None:
            continue
        taken: list[tuple[float, float]] = []
        for _ in range(3 * (WARM_UPS + samples)):
            # Not every stop changes a figure: gains are ratios, which bandwidth leaves alone up to a ridge.
            elapsed = control.press(driver, TRIAL_TIMEOUT_MS)
            if elapsed is not None:
                taken.append(elapsed)
            if len(taken) == WARM_UPS + samples:
                seen, whole = zip(*taken[WARM_UPS:], strict=True)
                return Latency(what, control.label, seen, whole)
        raise TimeoutError(f"{what}: {control.label} seldom changed a figure")
    return None


def _floor(browser: Browser, samples: int) -> Latency | None:
    """The bare app of one slider and one chart, in the same browser."""
    with running(FLOOR) as server:
        context = _window(browser)
        driver = Driver(context.new_page(), server.address)
        driver.goto()
        driver.page.locator(".js-plotly-plot .trace").first.wait_for()
        result = _measure_opened(driver, "the floor", samples)
        context.close()
    return result


def _window(browser: Browser) -> BrowserContext:
    return browser.new_context(viewport={"width": WIDE[0], "height": WIDE[1]})


def _print(result: Latency) -> None:
    low, high = min(result.samples_ms), max(result.samples_ms)
    print(
        f"  {result.page:<14}{result.median_ms:8.0f}{result.p95_ms:8.0f}{low:8.0f}{high:8.0f}"
        f"{statistics.median(result.all_ms):8.0f}       {result.control}"
    )


def report(samples: int, only: Sequence[str] | None = None) -> bool:
    """Prints median and p95 of every page; returns whether the limits are kept."""
    executable = chromium.find()
    if executable is None:
        print("No Chromium: the pages are not timed.")
        return not chromium.required()
    if unknown := set(only or ()) - {name(path) for path in URL_PATHS}:
        raise SystemExit(f"no page {', '.join(sorted(unknown))}: there are {', '.join(map(name, URL_PATHS))}")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    kept = True
    with dashboard() as address, sync_playwright() as playwright:
        browser = launch(playwright, executable)
        version = re.sub(r"^(\d+).*", r"\1", browser.version)
        print(
            f"Key press to last painted figure, Chromium {version} on {cores} cores, {samples} samples a page"
        )
        print(f"(limits: median {LIMIT_MEDIAN_MS:g} ms, p95 {LIMIT_P95_MS:g} ms)")
        if hasattr(os, "getloadavg") and os.getloadavg()[0] > 0.5 * (cores or 1):
            print(
                f"  The machine is busy (load {os.getloadavg()[0]:.1f}): times are longer than they need be."
            )
        print(f"  {'page':<14}{'median':>8}{'p95':>8}{'least':>8}{'most':>8}{'all':>8}  ms   control")
        if floor := _floor(browser, samples):
            _print(floor)
        for path in URL_PATHS:
            if only and name(path) not in only:
                continue
            context = _window(browser)
            try:
                result = measure(Driver(context.new_page(), address), path, samples)
            except TimeoutError as stuck:
                # One page whose figures a press leaves alone must not hide the figures of the others.
                print(f"  {name(path):<14}{stuck}")
                kept = False
                continue
            finally:
                context.close()
            if result is None:
                print(f"  {name(path):<14}no control changes a figure here")
                continue
            _print(result)
            kept = kept and result.kept
        browser.close()
    return kept
