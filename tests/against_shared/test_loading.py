"""Cold starts against the load times of serving_effects.csv: file bytes over the storage rate that each loader reached."""

from __future__ import annotations

import csv

import pytest

from slmopt.specs.scenario import scenario
from slmopt.specs.setup import resolve
from slmopt.theory.evaluation import evaluate
from slmopt.theory.residency import load_seconds
from tests.shared import SHARED

TEXT = (SHARED / "measured" / "serving_effects.csv").read_text(encoding="utf-8")
ROWS = {row["row_id"]: row for row in csv.DictReader(TEXT.splitlines())}
# Of one card, cold: the quick loader's row and the plain one's.
MODELS = {"qwen2.5-14b": ("S7-0041", "S7-0042"), "qwen3-30b-a3b": ("S7-0053", "S7-0054")}


def _cold(model: str, **more: object):
    return scenario(
        {"model": model, "device": "h100-sxm-80gb", "weights": "bf16", "residency": "cold", **more}
    )


@pytest.mark.parametrize("model", MODELS)
def test_at_the_rate_that_a_loader_reached_the_time_is_the_measured_one(model):
    for ident in MODELS[model]:
        seconds, rate = float(ROWS[ident]["value_a"]), float(ROWS[ident]["value_b"])
        setup = resolve(_cold(model, storage_gbs=rate))
        assert load_seconds(setup, "ceiling") == pytest.approx(seconds, rel=0.02)


@pytest.mark.parametrize("model", MODELS)
def test_where_no_rate_is_known_the_estimate_lies_among_what_loaders_took(model):
    quick, plain = (float(ROWS[ident]["value_a"]) for ident in MODELS[model])
    e = evaluate(_cold(model))
    load = load_seconds(e.setup, "estimate")
    assert quick < load < 1.05 * plain
    warm = evaluate(_cold(model).change(residency="resident"))
    gained = float(e.typical.latency.ttft_s) - float(warm.typical.latency.ttft_s)
    assert gained == pytest.approx(load, rel=1e-9)
