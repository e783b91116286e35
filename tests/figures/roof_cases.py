"""Scenarios whose rooflines and batch curves differ in kind, by name; and where a figure's words stand."""

from itertools import combinations

import numpy as np

from slmopt.figures import theme
from slmopt.figures.placing import height, width
from slmopt.specs.scenario import Scenario, scenario

TARGETS = {"target_ttft_ms": 500.0, "target_tpot_ms": 40.0}
SERVER = scenario(
    {
        **TARGETS,
        "model": "article-7b",
        "device": "article-80gb",
        "weights": "16-bit",
        "cache_k": "16-bit",
        "batch": 16,
        "context": 4000,
    }
)
GROUPED = SERVER.change(model="article-7b-gqa", prompt=80, output=20, context=100)
CASES: dict[str, Scenario] = {
    "article": SERVER,
    "default": scenario(TARGETS),
    "no rate known": scenario(
        {**TARGETS, "model": "llama-3.2-1b", "device": "snapdragon-8-elite", "prompt": 1000}
    ),
    "experts": scenario(
        {**TARGETS, "model": "qwen3-30b-a3b", "device": "h100-sxm-80gb", "weights": "fp8", "batch": 64}
    ),
    "windows": scenario(
        {**TARGETS, "model": "gemma-3-4b", "device": "apple-m4-max-40c", "batch": 2, "prompt": 16000}
    ),
    "state": scenario({**TARGETS, "model": "mamba-2.8b", "device": "l4", "batch": 8}),
    "latent": scenario(
        {**TARGETS, "model": "deepseek-v3", "device": "b200-sxm", "capacity_gb": 1500, "batch": 128}
    ),
    "nothing fits": scenario({**TARGETS, "model": "llama-3.1-70b", "device": "rtx-4090", "batch": 4}),
    "over capacity": SERVER.change(batch=64, context=8000),
    "all that fit": SERVER.change(batch=31),
    "one fits": SERVER.change(batch=1, context=100_000),
    "compute-bound": GROUPED.change(batch=300),
    "crossing ahead": GROUPED,
    "crossing out of reach": GROUPED.change(capacity_gb=15.0),
    "compute-bound alone": SERVER.change(batch=1, peak_tflops=1.0, context=10),
    "no cache": SERVER.change(context=0, batch=1),
    "no memory known": scenario(
        {**TARGETS, "device": "article-50gbs", "model": "article-1b", "weights": "16-bit"}
    ),
    "no target": scenario({"batch": 8}),
    "slow": SERVER.change(bandwidth_gbs=5.0, peak_tflops=1.0, batch=1),
}


def words(figure, *, phone: bool = False) -> list[tuple[str, float, float, float, float]]:
    """The figure's visible notes as (text, left, bottom, right, top) in px of a plot as wide as the page."""
    layout = figure.to_dict()["layout"]
    margin, changes = layout["margin"], layout["meta"]["phone"]
    wide = 358 if phone else 1040 if layout["height"] > 400 or margin["r"] > 100 else 538
    across = wide - margin["l"] - (min(84, margin["r"]) if phone else margin["r"])
    up = (300 if phone else layout["height"]) - margin["t"] - margin["b"]
    found = []
    for note in layout["annotations"]:
        visible = note.get("visible", True)
        if phone:
            name = str(note.get("name"))
            of_all = changes.get(f"annotations[{name.rstrip('0123456789')}*].visible", visible)
            visible = changes.get(f"annotations[{name}].visible", of_all)
        if not visible or note.get("name") == "y title":
            continue
        x = _px(note, "x", across, layout) + note["xshift"]
        y = _px(note, "y", up, layout) + note["yshift"]
        long, high = width(note["text"]), height(note["text"]) - 3
        left = x - {"left": 0, "center": long / 2, "right": long}[note["xanchor"]]
        bottom = y - {"bottom": 0, "middle": high / 2, "top": high}[note["yanchor"]]
        found.append((note["text"].replace("\u00a0", " "), left, bottom, left + long, bottom + high))
    return found


def _px(note, name, length, layout):
    if f"{name}ref" in note:
        return note[name] * length
    low, high = layout[f"{name}axis"]["range"]
    return (note[name] - low) / (high - low) * length


def covered(figure, *, phone: bool = False) -> list[tuple[str, str]]:
    """Pairs of notes that cover one another."""
    return [
        (a[0], b[0])
        for a, b in combinations(words(figure, phone=phone), 2)
        if min(a[3], b[3]) - max(a[1], b[1]) > 2 and min(a[4], b[4]) - max(a[2], b[2]) > 2
    ]


def traces(figure, name):
    """The figure's traces of that name."""
    return [trace for trace in figure.data if trace.name == name]


def drawn_well(figure) -> bool:
    """Whether Plotly takes it, no word covers another, wide or narrow, and every curve is short and finite."""
    theme.checked(figure)
    assert not covered(figure, phone=False)
    assert not covered(figure, phone=True)
    for trace in figure.data:
        assert len(trace.x) <= 120
        assert np.all(np.isfinite(np.asarray(trace.y, dtype=float)))
    return True
