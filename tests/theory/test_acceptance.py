"""How many drafted tokens are accepted: the distribution and what tools print of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmopt.theory import acceptance as a
from slmopt.theory.speculation import expected_tokens, place_acceptance

rates = st.floats(0.0, 1.0)
lengths = st.integers(1, 16)


@given(rates, lengths)
def test_the_distribution_sums_to_one_and_its_mean_is_the_expected_tokens(rate, k):
    found = a.accepted_distribution(rate, k)
    assert found.sum() == pytest.approx(1.0)
    mean = float((np.arange(k + 1) * found).sum())
    assert 1.0 + mean == pytest.approx(expected_tokens(rate, k))
    assert a.tokens_from_positions(a.reached_by_position(rate, k)) == pytest.approx(expected_tokens(rate, k))


def test_by_hand_two_drafted_at_a_half():
    assert a.accepted_distribution(0.5, 2).tolist() == [0.5, 0.25, 0.25]
    assert a.reached_by_position(0.5, 2).tolist() == [0.5, 0.25]
    assert a.acceptance_from_share(0.375, 2) == pytest.approx(0.5)


@given(st.floats(0.01, 0.99), lengths)
def test_a_printed_share_leads_back_to_the_acceptance(rate, k):
    share = sum(rate**i for i in range(1, k + 1)) / k
    assert a.acceptance_from_share(share, k) == pytest.approx(rate, rel=1e-9)


@pytest.mark.parametrize("k", [1, 2, 16])
def test_nothing_and_everything_accepted_are_the_ends(k):
    for none in (a.acceptance_from_share(0.0, k), a.acceptance_from_tokens(1.0, k)):
        assert 0 <= none < 1e-17
    for whole in (a.acceptance_from_share(1.0, k), a.acceptance_from_tokens(k + 1.0, k)):
        assert whole == pytest.approx(1.0, rel=1e-15)
    with pytest.raises(ValueError, match="of 0: it must be"):
        a.acceptance_from_share(0.5, 0)


def test_positions_that_a_model_card_prints_give_its_tokens_a_pass():
    # Qwythos-27B: .897/.662/.456/.279/.25/.176 and 3.72 tokens a pass.
    assert a.tokens_from_positions([0.897, 0.662, 0.456, 0.279, 0.25, 0.176]) == pytest.approx(
        3.72, abs=0.005
    )


@pytest.mark.parametrize(("tokens", "k"), [(0.5, 3), (4.5, 3)])
def test_impossible_tokens_a_pass_are_refused(tokens, k):
    with pytest.raises(ValueError, match="must lie between 1 and 4"):
        a.acceptance_from_tokens(tokens, k)
    with pytest.raises(ValueError, match="must be 0 to 1"):
        a.acceptance_from_share(1.5, 3)


@given(rates, st.integers(1, 8))
def test_more_candidates_pass_a_place_more_often(rate, width):
    assert rate <= place_acceptance(rate, width) + 1e-12
    assert place_acceptance(rate, 1) == rate
    assert place_acceptance(0.5, 2) == 0.75
