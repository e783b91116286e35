"""The second halves of Batching and Memory show the package's numbers, and survive every scenario."""

import html

import pytest

from slmopt.serving.frontier import frontier
from slmopt.serving.holding import moving, sessions, sharing, stranded
from slmopt.serving.pools import stall
from slmopt.serving.traffic import Lengths
from slmopt.specs.setup import resolve
from slmopt.theory.evaluation import evaluate
from slmopt.words import frontier as frontier_words
from slmopt.words import holding as words
from tests.pages.app import open_page, said
from tests.pages.test_scenario_pages import SERVER, SERVER_ADDRESS


def titles(app) -> str:
    shown = "".join(html.unescape(str(element.proto)) for element in app.get("bidi_component"))
    return (
        shown.encode("latin-1", "backslashreplace")
        .decode("unicode_escape")
        .encode("latin-1", "ignore")
        .decode("utf-8", "ignore")
    )


def test_batching_says_where_the_knee_is_and_what_a_prompt_does():
    app = open_page("batching_page", **SERVER_ADDRESS)
    assert frontier_words.title(frontier(evaluate(SERVER))) in titles(app)
    assert words.stall_title(stall(resolve(SERVER))) not in titles(app)
    app.session_state["slm_stall"] = True
    shown = titles(app.run())
    assert words.stall_title(stall(resolve(SERVER))) in shown
    assert "No price and no power is known" in said(app)


def test_batching_counts_the_cost_when_it_knows_the_price():
    app = open_page("batching_page", **SERVER_ADDRESS, price_per_hour="2")
    expected = frontier_words.cost_title(frontier(evaluate(SERVER.change(price_per_hour=2.0))))
    assert expected in titles(app)
    assert "a million tokens" in said(app)


def test_memory_says_what_blocks_prefixes_links_and_sessions_do():
    app = open_page("memory_page", **SERVER_ADDRESS, mem_link="64", mem_turns="5", mem_asked="50")
    shown = titles(app)
    setup = resolve(SERVER)
    rows = stranded(SERVER, Lengths(kind="uniform", mean=2200, spread=0.8))
    talk = sessions(setup, 5, 50, 200, 30.0)
    for title in (
        words.stranded_title(rows, 16),
        words.sharing_title(sharing(SERVER)),
        words.moving_title(moving(setup, 64e9)),
        words.sessions_title(talk),
    ):
        assert title in shown
    for sentence in (
        words.sessions_words(talk),
        words.sharing_words(sharing(SERVER)),
        words.moving_words(moving(setup, 64e9)),
    ):
        assert sentence.replace("\u00a0", " ") in said(app)


@pytest.mark.parametrize("page", ["batching_page", "memory_page"])
@pytest.mark.parametrize(
    "address",
    [
        {"prompt": "100000000", "output": "100000"},
        {"prompt": "1", "output": "1"},
        {"context": "0", "model": "Mamba-2.8B"},
        {"shared_prefix": "900", "prefix_hit": "1500", "batch": "4"},
    ],
    ids=["huge", "least", "state", "prefix"],
)
def test_no_scenario_breaks_them(page, address):
    assert not open_page(page, **address).exception
