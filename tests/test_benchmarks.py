"""The tools that measure: what they make, count and conclude, without a server."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from streamlit.proto.NumberInput_pb2 import NumberInput
from streamlit.proto.Selectbox_pb2 import Selectbox
from streamlit.proto.Slider_pb2 import Slider
from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks import fuzz, mutants, sessions, soak, streamlit_widgets
from benchmarks.mutant_tests import source_of
from benchmarks.mutating import changed_tree
from benchmarks.mutating import mutants as mutants_of
from slmopt.measured.detect import read_benchmark

SOURCE = '''
FACTOR = 2.0

def f(x, y=3):
    """Words with 1 number."""
    if x < y and x > 0:
        return min(x, y) * FACTOR
    return x // 4
'''


def test_every_place_has_a_mutant_and_each_changes_that_place_alone():
    found = list(mutants_of("m", SOURCE))
    told = {(one.was, one.now) for one in found}
    assert {("2.0", "3.0"), ("3", "4"), ("x < y", "x <= y"), ("min(x, y)", "max(x, y)")} <= told
    assert {("x < y and x > 0", "x < y or x > 0"), ("x // 4", "x * 4")} <= told
    whole = ast.unparse(ast.parse(SOURCE))
    for one in found:
        changed = ast.unparse(changed_tree(one, SOURCE))
        assert changed != whole
        assert sum(a != b for a, b in zip(changed.splitlines(), whole.splitlines(), strict=True)) == 1
    inside = next(one for one in found if one.was == "x // 4")
    assert (inside.function, inside.lines) == ("f", (8, 8))
    assert next(one for one in found if one.was == "2.0").function == ""


def test_every_module_of_the_theory_is_sampled():
    every = {module: list(mutants_of(module, source_of(module))) for module in mutants.MODULES}
    picked = mutants.sample(every, mutants.COUNT, 1)
    assert len(picked) == mutants.COUNT >= 150
    assert len({(one.module, one.place) for one in picked}) == len(picked)
    for module, places in every.items():
        assert sum(one.module == module for one in picked) >= min(mutants.LEAST_OF_A_MODULE, len(places))
    assert mutants.sample(every, mutants.COUNT, 1) == picked


def test_each_equal_mutant_is_one_that_there_is():
    every = [one for module in mutants.MODULES for one in mutants_of(module, source_of(module))]
    keys = {tuple(" ".join(part.split()) for part in one.key) for one in every}
    assert set(mutants.equal()) <= keys
    assert all(mutants.equal().values())


def test_the_slope_of_memory_ignores_the_warm_up_and_single_jumps():
    grown = soak.Soak(minutes=list(np.arange(1.0, 31.0)))
    grown.megabytes = [min(100.0 + 10 * m, 200.0) + (80.0 if m == 25 else 0.0) for m in grown.minutes]
    assert grown.slope()[0] == pytest.approx(0.0, abs=1e-9)
    grown.megabytes = [200.0 + 2.0 * m for m in grown.minutes]
    assert grown.slope()[0] == pytest.approx(2.0)


def test_a_visitor_s_upload_is_read_whole():
    for seed in range(4):
        name, content = soak.upload(np.random.default_rng(seed))
        assert len(read_benchmark(name, content).rows) == content.count(b"\n") - 1


def test_sessions_are_spread_evenly_over_servers_and_pages():
    for pages, servers in ((10, 2), (1, 2), (3, 2), (10, 1)):
        placed = [sessions.place(number, pages, servers) for number in range(60)]
        assert {at for _, at in placed} == set(range(servers))
        for at in range(servers):
            assert sum(server == at for _, server in placed) == 60 // servers
            assert {page for page, server in placed if server == at} == set(range(pages))


def test_sessions_go_to_every_page_with_a_slider():
    assert len(sessions.pages()) >= 10
    assert sessions.pages(["roofline"]) == ["roofline"]
    assert sessions.p95_ms([0.1] * 95 + [0.9] * 5) < 900


def test_widgets_keep_their_state_until_the_server_sets_another():
    state = WidgetState(id="a")
    number = NumberInput(id="a")
    streamlit_widgets.STATE_OF["number_input"](state, number)
    assert state.WhichOneof("value") is None
    number.value, number.set_value = 4.5, True
    streamlit_widgets.STATE_OF["number_input"](state, number)
    assert state.double_value == 4.5
    choice = WidgetState(id="b")
    streamlit_widgets.STATE_OF["selectbox"](choice, Selectbox(id="b", options=["x", "y"], default=1))
    assert choice.string_value == "y"
    streamlit_widgets.STATE_OF["selectbox"](choice, Selectbox(id="b", options=["x", "y"], default=0))
    assert choice.string_value == "y"


def test_streamlit_s_slider_stands_where_its_state_says():
    state = WidgetState(id="s")
    found = streamlit_widgets.streamlits(state, Slider(id="s", min=0, max=10, step=2, default=[4]), True)
    assert (found.at, found.values) == (2, [0, 2, 4, 6, 8, 10])


def test_every_property_is_fuzzed():
    names = [str(one) for one in fuzz.properties()]
    assert len(names) == len(set(names)) >= 15
    assert "test_small_files::test_traces" in names
    assert fuzz.properties("no such") == []
