"""Simulate shows the package's numbers: as opened, after an entry, with a trace, under overload, with what cannot be."""

import pytest

from slmopt.serving.outcome import outcome
from slmopt.serving.policy import Policy
from slmopt.serving.simulate import simulate
from slmopt.serving.traffic import Lengths, Traffic
from slmopt.words import simulation
from slmopt.words import simulation_page as words
from tests.pages.app import answer, figures, go, open_page, said
from tests.pages.test_scenario_pages import SERVER, SERVER_ADDRESS, plain

QUICK = {**SERVER_ADDRESS, "sim_requests": "60", "sim_rate": "2", "sim_slots": "8"}
LENGTHS = {"prompt": Lengths(mean=2000), "output": Lengths(kind="geometric", mean=200)}


def expected(admission: str, **changes):
    traffic = Traffic(rate=2.0, requests=60, **LENGTHS)
    case = {"slots": 8, **changes}
    return outcome(simulate(SERVER, traffic.draw(), Policy(admission=admission, **case)))


def test_the_first_screen_is_a_finished_run():
    app = open_page("simulate_page")
    assert not app.exception
    assert "first token within about" in answer(app)


def test_two_policies_on_the_same_requests():
    app = open_page("simulate_page", **QUICK)
    one, two = expected("continuous"), expected("static")
    assert answer(app) == plain(words.compared(one, two))
    drawn = figures(app)
    assert "Static batches keep" in drawn
    assert plain(words.timeline_title(two)).split("%")[0].strip() in plain(drawn).replace("\\302\\240", " ")
    text = said(app)
    assert "Slots at work" in text


def test_one_policy_alone_and_another_seed():
    app = open_page("simulate_page", **QUICK, sim_beside="Nothing")
    app.selectbox(key="sim_beside").set_value("nothing").run()
    assert answer(app) == plain(simulation.answer(expected("continuous")))
    app.selectbox(key="sim_policy").set_value("chunked").run()
    assert answer(app) == plain(simulation.answer(expected("chunked", token_budget=512)))


def test_overload_is_named():
    app = open_page("simulate_page", **{**QUICK, "sim_rate": "500"})
    assert not app.exception
    assert "overloaded" in answer(app)
    assert "never" in said(app)


def test_the_entries_survive_a_page_switch():
    app = open_page("simulate_page", **QUICK)
    before = answer(app)
    go(app, "memory_page")
    go(app, "simulate_page")
    assert answer(app) == before


def test_how_many_devices():
    app = open_page("simulate_page", **{**QUICK, "sim_all": "20"})
    app.button(key="sim_how_many").click().run()
    assert not app.exception
    assert "within the targets at 20.0 requests/s" in said(app) or "No number of devices" in said(app)


def test_a_budget_without_room_is_one_sentence():
    app = open_page("simulate_page", **QUICK, sim_budget="4")
    app.selectbox(key="sim_policy").set_value("chunked").run()
    assert not app.exception
    assert "it must be above slots = 8" in said(app)


def test_a_trace_is_played(monkeypatch):
    app = open_page("simulate_page", **QUICK)
    uploader = app.file_uploader[0]
    uploader.upload(
        "trace.csv", b"arrival_s,prompt_tokens,output_tokens\n0,100,10\n1,200,20\n-1,5,5\n", "text/csv"
    )
    app.run()
    assert not app.exception
    assert "3 requests of a trace" in "".join(e.label for e in app.expander)
    assert "1 a time below 0" in said(app)


@pytest.mark.parametrize(
    "address",
    [
        {"device": "Qualcomm Snapdragon 8 Elite", "model": "Llama-3.2-1B"},
        {"model": "DeepSeek-V3", "device": "NVIDIA GeForce RTX 4090"},
        {"model": "Gemma-3-27B", "weights": "Q8_0", "batch": "64"},
        {"model": "SmolLM2-135M", "device": "Raspberry Pi 5", "output": "1"},
        {"model": "Mamba-2.8B", "weights": "FP16"},
        {"draft_tokens": "4", "acceptance": "0.5", "draft_model": "Llama-3.2-1B"},
        {"prompt": "10000", "prefix_hit": "9000"},
        {"allocation": "reserved", "engine": "vllm"},
        {"sim_arrivals": "bursts", "sim_prompt": "lognormal"},
        {"sim_arrivals": "at_once", "sim_policy": "chunked"},
    ],
    ids=[
        "phone",
        "too-large",
        "window",
        "one-token",
        "state",
        "draft",
        "prefix",
        "reserved",
        "bursts",
        "at-once",
    ],
)
def test_no_scenario_breaks_the_page(address):
    assert not open_page("simulate_page", **{"sim_requests": "40", **address}).exception


def test_reserved_memory_beside_paged_memory():
    app = open_page("simulate_page", **{**QUICK, "sim_slots": "40", "sim_rate": "20", "capacity_gb": "24"})
    app.selectbox(key="sim_beside").set_value("continuous, reserved memory").run()
    assert not app.exception
    s = SERVER.change(capacity_gb=24.0)
    drawn = Traffic(rate=20.0, requests=60, **LENGTHS).draw()
    paged, reserved = (
        outcome(simulate(s, drawn, Policy(slots=40, memory=memory))) for memory in ("paged", "reserved")
    )
    assert paged.mean_batch > reserved.mean_batch
    assert answer(app) == plain(words.compared(paged, reserved))


def test_chunks_leave_room_for_what_is_drafted():
    app = open_page(
        "simulate_page",
        **{**QUICK, "sim_slots": "64", "draft_tokens": "16", "acceptance": "0.5", "draft_cost": "0.1"},
    )
    app.selectbox(key="sim_policy").set_value("chunked").run()
    assert not app.exception
    assert "it must be above" not in said(app)


def test_a_file_that_is_no_trace_is_one_sentence_and_changes_nothing():
    app = open_page("simulate_page", **QUICK)
    before = answer(app)
    app.file_uploader[0].upload("<b>x</b>.csv", b"a,b\n1,2\n", "text/csv")
    app.run()
    assert not app.exception
    assert "lacks arrival_s" in said(app).replace("\\", "")
    assert answer(app) == before


def test_prompts_that_miss_the_cache_wait_longer():
    prefix = {**QUICK, "prompt": "2000", "prefix_hit": "1500", "sim_beside": "nothing"}
    hit = answer(open_page("simulate_page", **prefix))
    missed = open_page("simulate_page", **prefix, sim_hit="0")
    assert not missed.exception
    assert answer(missed) != hit


@pytest.mark.parametrize(
    ("serving", "policy"),
    [({}, "continuous"), ({"batching": "static"}, "static"), ({"prefill_chunk_tokens": "256"}, "chunked")],
)
def test_what_the_scenarios_server_does_is_played_first(serving, policy):
    app = open_page("simulate_page", **QUICK, **serving)
    assert app.selectbox(key="sim_policy").value == policy


def test_the_scenarios_chunk_is_what_a_pass_takes_of_a_prompt():
    app = open_page("simulate_page", **QUICK, prefill_chunk_tokens="256")
    app.selectbox(key="sim_beside").set_value("nothing").run()
    assert answer(app) == plain(simulation.answer(expected("chunked", token_budget=256 + 8)))
