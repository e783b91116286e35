"""The prompt from which arithmetic decides, against every prompt in turn."""

import numpy as np
import pytest

from slmopt.specs.scenario import scenario
from slmopt.specs.setup import resolve
from slmopt.theory.first_token import compute_bound_from, prompt_curve
from slmopt.theory.latency import prefill
from slmopt.theory.roofline import roofs

CASES = (
    {},
    {"device": "epyc-2core"},
    {"model": "qwen3-30b-a3b"},
    {"bandwidth_gbs": 100.0, "peak_tflops": 330.0},
    {"prompt": 2000, "prefix_hit": 1500},
    {"prefill_chunk_tokens": 256},
)


@pytest.mark.parametrize("case", CASES)
def test_it_is_the_first_of_all(case):
    setup = resolve(scenario(case))
    share = setup.scenario.prefix_hit / setup.scenario.prompt
    every = np.arange(1.0, 20_001.0)
    bound = np.asarray(prefill(setup, roofs(setup, "prefill")["ceiling"], every, every * share).compute_bound)
    assert bound.any()
    assert compute_bound_from(setup, share) == int(every[np.argmax(bound)])
    assert prompt_curve(setup).compute_from == compute_bound_from(setup, share)
