"""A visitor who does anything in any order: pages, fields, pins, cases, uploads, links and reloads.

The test keeps a scenario of its own beside the app: what was entered last, or the last that was valid. Nothing may raise,
and after every step the app's scenario is the test's. SLMOPT_WALK_STEPS lengthens the walk, SLMOPT_WALK_SEED picks another.
"""

from __future__ import annotations

import os
import random
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui import groups, pins, places, state
from slmopt.specs.base import SpecError
from slmopt.specs.library import library, preset_root
from slmopt.specs.scenario import Scenario, scenario
from slmopt.specs.setup import resolve
from tests.pages.app import MAIN, UNFOLDED

STEPS = int(os.environ.get("SLMOPT_WALK_STEPS", "30"))
SEED = int(os.environ.get("SLMOPT_WALK_SEED", "0"))
PAGES = (
    "overview_page", "roofline_page", "batching_page", "memory_page", "first_token_page", "speculation_page", "plan_page",
    "model_page", "measurements_page",
)  # fmt: skip
WHOLE = (
    "prompt",
    "output",
    "batch",
    "context",
    "shared_prefix",
    "prefix_hit",
    "draft_tokens",
    "target_users",
    "block_tokens",
    "prefill_chunk_tokens",
)
REAL = (
    "bandwidth_gbs", "peak_tflops", "weight_bits", "capacity_gb", "target_ttft_ms", "target_tpot_ms", "acceptance", "draft_cost",
    "bandwidth_fraction", "compute_fraction", "fixed_ms", "buffers_gb", "power_w", "price_per_hour",
    "output_spread", "storage_gbs", "draft_heads_gb",
)  # fmt: skip
WHOLE_VALUES = (None, 0, -1, 1, 2, 7, 512, 4096, 100_000, 10_000_000, 10**15)
REAL_VALUES = (None, 0.0, -1.0, 1e-9, 0.3, 0.5, 1.0, 1.5, 4.5, 16.0, 1000.0, 1e6, 1e30)
OF_THE_DEVICE = ("bandwidth_gbs", "peak_tflops", "capacity_gb", "power_w", "price_per_hour")
SAMPLE = preset_root() / "this_machine" / "llama-bench_1b_Q4_0.csv"
RECORDS: dict[str, Any] = {
    "model": library().models, "device": library().devices, "weights": library().weights, "cache_k": library().caches,
}  # fmt: skip


class Walk:
    """The app, and what its scenario should be."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.told: list[str] = []
        self.entered: dict[str, Any] = {}
        self.valid = scenario(dict(state.HOUSE_TARGETS))
        self.app = AppTest.from_file(str(MAIN), default_timeout=60)
        for section in UNFOLDED:
            self.app.session_state[section] = True
        self.app.run()
        self.page = "overview_page"

    def step(self) -> None:
        """One thing that a visitor may do."""
        steps = [self.number] * 6 + [self.choice] * 3 + [self.turn] * 4 + [self.group] * 2
        steps += [
            self.pin,
            self.unpin,
            self.go_to_pin,
            self.case,
            self.upload,
            self.reload,
            self.reset,
            self.strange_link,
        ]
        self.random.choice(steps)()
        self.check()

    def check(self) -> None:
        said = "\n".join(self.told[-12:])
        assert not self.app.exception, f"{said}\n{self.app.exception}"
        expected = self.asked()
        if expected is not None:
            self.valid = expected
        held = self.held()
        unlike = {
            n: (getattr(held, n), getattr(self.valid, n))
            for n in Scenario.model_fields
            if getattr(held, n) != getattr(self.valid, n)
        }
        assert not unlike, f"{said}\n(the app's, the test's): {unlike}"
        assert bool(self.app.session_state[state._ERROR]) == (expected is None), said
        shown = {box.key: box.value for box in self.app.number_input}
        for name in (*WHOLE, *REAL):
            if name in shown:
                assert shown[name] == self.entered.get(name), f"{said}\n{name}"

    def held(self) -> Scenario:
        if state._VALID in self.app.session_state:
            return self.app.session_state[state._VALID]
        return scenario(dict(state.HOUSE_TARGETS))

    def asked(self) -> Scenario | None:
        """What the entries ask for; None where they ask for nothing possible."""
        try:
            found = scenario(
                {**state.HOUSE_TARGETS, **{k: v for k, v in self.entered.items() if v is not None}}
            )
            resolve(found)
        except SpecError:
            return None
        return found

    def tell(self, *words: object) -> None:
        self.told.append(" ".join(map(str, words)))

    def group(self) -> None:
        """A group of the panel, opened or closed: what is entered in it stays."""
        key = f"slm_group_{self.random.choice(groups.GROUPS).key}"
        self.tell("open or close", key)
        self.app.session_state[key] = not self.app.session_state[key]
        self.app.run()

    def see(self, name: str) -> None:
        """Open the group that has this field, as whoever wants to change it does."""
        for group in groups.GROUPS:
            key = f"slm_group_{group.key}"
            if name in group.names and not self.app.session_state[key]:
                self.tell("open", group.key)
                self.app.session_state[key] = True
                self.app.run()

    def number(self) -> None:
        name = self.random.choice(WHOLE + REAL)
        value = self.random.choice(WHOLE_VALUES if name in WHOLE else REAL_VALUES)
        self.see(name)
        if self.app.number_input(key=name).disabled:
            return
        self.tell("set", name, value)
        self.app.number_input(key=name).set_value(value).run()
        self.entered[name] = value

    def choice(self) -> None:
        key = self.random.choice(
            [*RECORDS, "engine", "allocation", "batching", "residency", "attention_kernels"]
        )
        self.see(key)
        box = self.app.selectbox(key=key)
        option = self.random.choice(box.options)
        self.tell("choose", key, option)
        before = box.value
        box.set_value(option).run()
        if key not in RECORDS:
            self.entered[key] = option
            return
        self.entered[key] = next(ident for ident, one in RECORDS[key].items() if one.name == option)
        forgotten = {"device": OF_THE_DEVICE, "weights": ("weight_bits",)}.get(key, ())
        if option != before:
            self.entered.update(dict.fromkeys(forgotten))

    def turn(self) -> None:
        self.page = self.random.choice(PAGES)
        self.tell("turn to", self.page)
        self.app.switch_page(f"../{self.page}.py").run()

    def press(self, key: str) -> bool:
        found = [button for button in self.app.button if button.key == key and not button.disabled]
        if found:
            self.tell("press", key)
            found[0].click().run()
        return bool(found)

    def pin(self) -> None:
        self.press("pin")

    def unpin(self) -> None:
        self.press(f"unpin_{self.random.choice(pins.LETTERS)}")

    def go_to_pin(self) -> None:
        letter = self.random.choice(pins.LETTERS)
        pinned, _ = pins.read(str(self.address().get(pins.KEY, "")))
        held = dict(zip(pins.LETTERS, pinned, strict=False))
        if self.press(f"go_{letter}"):
            self.take(held[letter])

    def take(self, wanted: Scenario) -> None:
        """Entries that stand for a whole scenario: those that differ from what an empty field means."""
        usual = scenario(dict(state.HOUSE_TARGETS))
        self.entered = {
            name: value
            for name in Scenario.model_fields
            if (value := getattr(wanted, name)) != getattr(usual, name) and value is not None
        }

    def case(self) -> None:
        if self.page != "overview_page":
            self.app.switch_page("../overview_page.py").run()
            self.page = "overview_page"
        ident = self.random.choice(list(library().cases))
        pills = self.app.button_group(key="_slmopt_case")
        if pills.value == ident:
            # A second click lets the pill go, which sets nothing.
            return
        self.tell("case", ident)
        pills.set_value(ident).run()
        self.take(library().cases[ident].scenario)

    def upload(self) -> None:
        self.page = "measurements_page"
        self.app.switch_page("../measurements_page.py").run()
        content = SAMPLE.read_bytes()
        if self.random.random() < 0.5:
            content = bytes(self.random.randrange(256) for _ in range(200))
        self.tell("upload", len(content))
        self.app.file_uploader[0].upload("a.csv", content).run()

    def address(self) -> dict[str, str]:
        """What the browser has written into the address: every field that is not empty."""
        named = {**RECORDS, "cache_v": library().caches, "draft_model": library().models}
        found = {}
        for name, value in self.entered.items():
            if value is not None:
                found[name] = named[name][value].name if name in named else str(value)
        if pins.KEY in self.app.session_state:
            found[pins.KEY] = self.app.session_state[pins.KEY]
        return {name: value for name, value in found.items() if value}

    def reload(self) -> None:
        """A new session at the same address; where entries are wrong, nothing valid stands behind them any more."""
        address = self.address()
        if self.asked() is None:
            self.valid = scenario(dict(state.HOUSE_TARGETS))
        self.tell("reload", address)
        self.open(address)

    def open(self, address: dict[str, str]) -> None:
        self.app = AppTest.from_file(str(MAIN), default_timeout=60)
        for section in UNFOLDED:
            self.app.session_state[section] = True
        for name, value in address.items():
            self.app.query_params[name] = value
        self.app.run()
        self.page = "overview_page"

    def reset(self) -> None:
        found = [button.key for button in self.app.button if str(button.key).startswith("reset_")]
        if not found:
            return
        key = self.random.choice(found)
        self.press(key)
        of_groups = (
            *(groups.HARDWARE, groups.TARGETS, groups.PREFIX, groups.DRAFT, groups.SERVING),
            (*groups.ASSUMED, *places.NUMBERS),
        )
        names = next(group for group in of_groups if f"reset_{group[0]}" == key)
        self.entered.update(dict.fromkeys(names))

    def strange_link(self) -> None:
        """A link that somebody else made: its nonsense is told, the rest of it holds."""
        address = {
            name: self.random.choice(
                ["", "x", "-1", "1e999", "NaN", "9" * 30, "<b>", "\u202e", "1,2", "[]", "\x00"]
            )
            for name in self.random.sample(
                [*WHOLE, *REAL, *RECORDS, "engine", "pins", "v", "_slmopt_case", "zz"], 5
            )
        }
        self.tell("link", address)
        self.open(address)
        assert not self.app.exception, (address, self.app.exception)
        # What of it holds is for the fields to say; from here on the visitor's own address counts.
        self.open({})
        self.entered = {}
        self.valid = scenario(dict(state.HOUSE_TARGETS))


@pytest.mark.parametrize("seed", range(SEED * 3, SEED * 3 + 3))
def test_no_way_through_the_app_raises_or_loses_the_scenario(seed):
    walk = Walk(seed)
    walk.check()
    for _ in range(STEPS):
        walk.step()
