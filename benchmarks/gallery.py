"""The pictures of docs/screenshots.md: which page in which state, what there is to see, and the page that shows them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pages.ui import pins
from slmopt.specs.library import library, preset_root
from slmopt.specs.scenario import scenario
from tests.browser.driver import Driver

Scheme = Literal["light", "dark"]
Size = Literal["wide", "narrow", "stage"]


def _as_opened(_: Driver) -> None:
    """The page as its link opens it."""


def _upload_rows(driver: Driver) -> None:
    driver.upload(
        *(Path(str(preset_root() / "this_machine" / f"llama-bench_1b_{q}.csv")) for q in ("Q4_0", "Q8_0"))
    )
    driver.choose("Device of AMD EPYC", "AMD EPYC, 2 virtual cores")


def _upload_model(driver: Driver) -> None:
    box = driver.page.get_by_label("Or paste a config.json")
    box.fill(
        '{"model_type": "gemma3_text", "hidden_size": 1152, "intermediate_size": 6912, "num_hidden_layers": 26,'
        ' "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 256, "vocab_size": 262144,'
        ' "sliding_window": 512, "sliding_window_pattern": 6, "max_position_embeddings": 32768}'
    )
    with driver.rerun():
        box.press("Control+Enter")


def _arithmetic(driver: Driver) -> None:
    driver.expand("Show the arithmetic")


@dataclass(frozen=True, slots=True)
class State:
    """A page in one state: its address, the window, what is done there, and what a reader should look at."""

    path: str
    name: str
    see: str
    query: Mapping[str, object] = field(default_factory=dict)
    size: Size = "wide"
    scheme: Scheme = "light"
    act: Callable[[Driver], None] = _as_opened

    @property
    def file(self) -> str:
        """The picture's name."""
        return f"{self.name}.webp"


def case(ident: str) -> dict[str, object]:
    """A ready case as an address carries it."""
    asked = library().cases[ident].scenario
    presets = library()
    named = {
        "model": presets.models,
        "device": presets.devices,
        "weights": presets.weights,
        "cache_k": presets.caches,
    }
    return {
        key: named[key][value].name if key in named else value
        for key, value in asked.model_dump(mode="json", exclude_defaults=True).items()
    }


def _pinned() -> str:
    four = {"model": "llama-3.1-8b", "device": "rtx-4090", "target_ttft_ms": 500, "target_tpot_ms": 40}
    return pins.write([scenario(four | {"weights": "q4_k_m"}), scenario(four | {"weights": "q8_0"})])


def states() -> Sequence[State]:
    """Every picture, in the order of the page that shows them."""
    return (
        State("", "overview", "What limits the model, in one sentence, with the numbers that prove it."),
        State(
            "",
            "overview-dark",
            "A phone, in dark colours: nobody published this chip's rate, so the page says so and asks.",
            case("phone"),
            scheme="dark",
        ),
        State("", "overview-phone", "The same page at 390 pixels.", size="narrow"),
        State(
            "",
            "overview-wrong-entry",
            "An entry that cannot be: what is wrong and what would be right; the last valid answer stays, pale.",
            {"prompt": 0},
        ),
        State(
            "roofline",
            "roofline",
            "Where decode and prefill stand against the ridge, and how far batching takes decode.",
        ),
        State(
            "roofline",
            "roofline-dark",
            "The same figure in dark colours; the hatching tells the sides apart without them.",
            scheme="dark",
        ),
        State("roofline", "roofline-phone", "The roofline on a phone.", size="narrow", scheme="dark"),
        State(
            "batching",
            "batching",
            "Throughput with cache reads against what weights alone promise, and where memory ends it.",
        ),
        State(
            "batching",
            "batching-pinned",
            "Two pinned scenarios beside the present one: every figure overlays them, the table says what differs.",
            {"weights": "FP16", "pins": _pinned()},
        ),
        State("simulate", "simulate", "Requests as they come: who held which slot when, under two policies."),
        State("memory", "memory", "What fills the memory, and what would admit more."),
        State(
            "memory",
            "memory-server",
            "200 users of a 32B model on one card, with vLLM's own rules.",
            case("server"),
            scheme="dark",
        ),
        State("first-token", "first-token", "From which prompt on arithmetic decides the first token."),
        State(
            "first-token",
            "first-token-shared-document",
            "A document of 30,000 tokens that stays in the cache.",
            case("document"),
            scheme="dark",
        ),
        State("speculation", "speculation", "From which acceptance on drafting pays."),
        State(
            "measurements",
            "measurements",
            "Rows of a benchmark against their ceilings; here the bundled sample.",
        ),
        State(
            "measurements",
            "measurements-own-files",
            "The same for files that a visitor dropped here.",
            scheme="dark",
            act=_upload_rows,
        ),
        State("plan", "plan", "Which technique helps which metric, and in which order."),
        State(
            "plan",
            "plan-targets",
            "With targets set: what misses, and the smallest changes that would meet it.",
            case("phone") | {"target_ttft_ms": 300, "target_tpot_ms": 15},
            scheme="dark",
        ),
        State("model", "model", "A model layer by layer: weights, cache, parameters by role."),
        State(
            "model",
            "model-own-config",
            "A pasted config.json, whose windows end the cache's growth.",
            act=_upload_model,
            scheme="dark",
        ),
        State("share", "share", "The link, the reports, the scenario as a file."),
        State("method", "method", "Every formula with its source and where it fails."),
        State(
            "overview",
            "present",
            "Presenting: one question a slide, chrome hidden, arrow keys turn pages.",
            {"present": "true"},
            size="stage",
        ),
        State(
            "overview",
            "arithmetic",
            "Show the arithmetic: every number, step by step.",
            case("article"),
            act=_arithmetic,
        ),
    )


def document(shown: Sequence[State], folder: str) -> str:
    """docs/screenshots.md: each picture under its page, with what to see."""
    lines = ["# Screenshots", "", "Written by `make screenshots`.", ""]
    head = ""
    for one in shown:
        title = _title(one)
        if title != head:
            lines += [f"## {title}", ""]
            head = title
        width = ' width="300"' if one.size == "narrow" else ""
        lines += [one.see, "", f'<img src="{folder}/{one.file}" alt="{one.see}"{width}>', ""]
    return "\n".join(lines)


def _title(one: State) -> str:
    known = re.split(r"-(?=dark|phone|wrong|pinned|server|shared|own|targets)", one.name)[0]
    return {"model": "Your model"}.get(known, known.replace("-", " ").capitalize())
