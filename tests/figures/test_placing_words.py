"""Long names in the room they have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmopt.figures.placing import folded, shortened, width

words = st.lists(st.text("abcx,(&;12", min_size=1, max_size=9), min_size=1, max_size=12).map(" ".join)


@given(words, st.floats(20, 400))
def test_folding_keeps_every_word_in_order(text, px):
    drawn = folded(text, px)
    assert drawn.replace("<br>", " ").split() == text.split()
    longest = max(width(word) for word in text.split())
    assert width(drawn) <= max(px, longest)


@given(words, st.floats(20, 400))
def test_shortening_keeps_the_beginning(text, px):
    drawn = shortened(text, px)
    if width(text) <= px:
        assert drawn == text
    else:
        assert drawn.endswith("…")
        assert text.startswith(drawn[:-1])
        assert width(drawn) <= max(px, width(text.split()[0] + "…"))


@pytest.mark.parametrize(
    ("px", "drawn"), [(100, "INT4, groups…"), (500, "INT4, groups of 128"), (10, "INT4…")]
)
def test_a_formats_name(px, drawn):
    assert shortened("INT4, groups of 128", px) == drawn
