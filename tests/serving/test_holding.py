"""Blocks, shared prefixes, host memory, sessions and pools, by hand on the article's server."""

from __future__ import annotations

import numpy as np
import pytest

from slmopt.serving.holding import moving, sessions, sharing, stranded
from slmopt.serving.pools import largest_piece, pools, stall
from slmopt.serving.traffic import Lengths
from slmopt.specs.scenario import scenario
from slmopt.specs.setup import resolve
from slmopt.theory.interference import chunked
from slmopt.theory.latency import decode_step
from slmopt.theory.roofline import estimate_roof
from tests.serving.cases import ARTICLE

TOKEN = 524_288.0


def test_blocks_strand_half_of_themselves_on_average():
    rows = stranded(ARTICLE, Lengths(kind="uniform", mean=2000, spread=0.9))
    by_block = {row.block: row for row in rows}
    assert by_block[1].held == by_block[1].needed
    for block in (16, 64, 256):
        waste = (by_block[block].held - by_block[block].needed) / TOKEN
        assert waste == pytest.approx((block - 1) / 2, rel=0.05)
    shares = [row.share for row in rows]
    assert shares == sorted(shares)


def test_reserving_strands_the_difference_to_the_longest():
    rows = stranded(ARTICLE, Lengths(kind="uniform", mean=2000, spread=1.0))
    reserved, paged = rows[-1], rows[2]
    assert reserved.block == 0
    assert reserved.held == pytest.approx(4000 * TOKEN, rel=0.01)
    assert reserved.fit == 31
    assert paged.fit == pytest.approx(2 * 31, abs=2)


def test_equal_requests_in_whole_blocks_strand_nothing():
    assert stranded(ARTICLE, Lengths(mean=4096))[2].share == 0


def test_a_shared_prefix_is_held_once():
    """4,000 tokens each, 3,000 of them shared: 66 GB − one copy, over 1,000 tokens a sequence."""
    found = sharing(ARTICLE.change(prompt=3800, output=200), 3008)
    assert found.copy_bytes == 3008 * TOKEN
    assert found.fit_apart == 31
    assert found.fit_shared == np.floor((66e9 - 3008 * TOKEN) / ((4000 - 3008) * TOKEN))
    assert found.ttft_s[0] == pytest.approx(2 * 7e9 * 3800 / 400e12, rel=1e-9)
    assert found.ttft_s[-1] == pytest.approx(2 * 7e9 * 792 / 400e12, rel=1e-9)
    assert found.ttft_s[25] == pytest.approx((found.ttft_s[0] + found.ttft_s[-1]) / 2)
    assert found.ttft_gain == pytest.approx(3800 / 792)


def test_moving_the_cache_against_computing_it_again():
    """A token: 524,288 bytes at 16 GB/s = 32.8 µs; 14 GFLOP at 400 TFLOPS = 35 µs: the link wins, narrowly."""
    found = moving(resolve(ARTICLE), 16e9)
    now, load, again = found.now
    assert now == 2200
    assert load == pytest.approx(2200 * TOKEN / 16e9)
    assert again == pytest.approx(2200 * 14e9 / 400e12)
    assert found.from_tokens == found.context[0]
    slow = moving(resolve(ARTICLE), 8e9)
    # Up to 200 tokens, reading the weights decides: 7 ms, which the link takes for 107 tokens.
    assert slow.from_tokens is None
    assert moving(resolve(ARTICLE), 16e9, latency_s=0.01).from_tokens > 1000
    with pytest.raises(ValueError, match="above 0"):
        moving(resolve(ARTICLE), 0.0)


def test_a_session_grows_by_its_turns():
    found = sessions(resolve(ARTICLE.change(prompt=1000)), 4, 100, 300, 30.0)
    assert found.context.tolist() == [1300, 1700, 2100, 2500]
    assert found.bytes[0] == np.ceil(1300 / 16) * 16 * TOKEN
    assert found.reused_s[0] == found.again_s[0]
    # Turn 2: 1,400 tokens, of which 101 are new; below the ridge of 200, so reading decides.
    assert found.again_s[1] == pytest.approx(1400 * 14e9 / 400e12, rel=1e-6)
    assert found.reused_s[1] == pytest.approx((14e9 + (1299 + 101) * TOKEN) / 2e12, rel=1e-6)
    assert (np.diff(found.fit) < 0).all()
    assert found.fit[-1] == np.floor(66e9 / (2512 * TOKEN))
    assert ((found.busy > 0) & (found.busy < 0.2)).all()
    assert sessions(resolve(ARTICLE), 2, 10, 10, 0.0).busy.tolist() == [1, 1]
    with pytest.raises(ValueError, match="at least 1"):
        sessions(resolve(ARTICLE), 0, 10, 10, 0.0)


def test_pieces_trade_the_worst_gap_for_the_first_token():
    s = ARTICLE.change(batch=16, prompt=2000, target_tpot_ms=20.0)
    found = stall(resolve(s))
    assert found.chunk[-1] == 2000
    assert (np.diff(found.gap_s) >= -1e-12).all()
    assert found.ttft_s[0] > found.ttft_s[-1]
    assert found.whole.gap_s == pytest.approx(found.whole.ttft_s + found.step_s)
    roof = estimate_roof(resolve(s), "prefill", "typical")
    assert (
        chunked(resolve(s), roof, found.fits).gap_s <= 0.02 < chunked(resolve(s), roof, found.fits + 1).gap_s
    )
    assert largest_piece(resolve(s), 1e-6) == 0
    assert largest_piece(resolve(s), 10.0) == 2000


def test_separate_pools_move_the_cache_once():
    """2,000 tokens: 1.05 GB over 64 GB/s = 16.4 ms; 16 prompts of 70 ms in a reply of 199 steps."""
    setup = resolve(ARTICLE.change(batch=16, context=2000))
    found = pools(setup, 64e9)
    assert found.move_s == pytest.approx(2000 * TOKEN / 64e9)
    assert found.ttft_s == pytest.approx(0.07)
    assert found.gap_s == pytest.approx(
        float(decode_step(setup, estimate_roof(setup, "decode", "typical")).seconds)
    )
    assert found.prefill_devices == pytest.approx(16 * 0.07 / (199 * found.gap_s))


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "mamba-2.8b", "device": "l4"},
        {"model": "gemma-3-4b", "engine": "llama.cpp"},
        {"model": "qwen3-30b-a3b", "engine": "vllm", "device": "h100-sxm-80gb"},
        {"device": "article-50gbs", "model": "article-1b"},
        {"prompt": 1, "output": 1, "context": 0},
        {"capacity_gb": 5.0},
    ],
)
def test_no_scenario_breaks_them(changes):
    s = scenario({**ARTICLE.model_dump(), **changes})
    setup = resolve(s)
    stranded(s, Lengths(kind="lognormal", mean=500))
    assert sharing(s).ttft_gain >= 1
    assert (moving(setup, 10e9).compute_s > 0).all()
    assert (sessions(setup, 5, 10, 10, 1.0).bytes >= 0).all()
    assert (stall(setup).gap_s > 0).all()
