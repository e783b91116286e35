"""The closed sections at a page's end."""

import pytest

from pages.ui import sitemap
from tests.pages.app import UNFOLDED, open_page


@pytest.mark.parametrize("page", [entry.file.stem for entry in sitemap.PAGES])
def test_arithmetic_and_sources_are_written_for_those_who_open_them(page):
    closed = open_page(page, unfolded=False)
    labels = [one.label for one in closed.expander]
    assert "Sources" in labels
    told = [one.value for one in closed.markdown]
    for at, section in enumerate(UNFOLDED):
        closed.session_state[section] = True
        assert not closed.run().exception
        if at == 0 and "Show the arithmetic" not in labels:
            continue
        now = [one.value for one in closed.markdown]
        assert len(now) == len(told) + 1
        told = now
