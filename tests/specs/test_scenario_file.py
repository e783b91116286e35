"""A scenario file comes back whole; what another version wrote comes back as far as it can, saying what did not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from slmopt.specs.base import SpecError
from slmopt.specs.library import library
from slmopt.specs.scenario import SCHEMA_VERSION, Scenario, scenario
from slmopt.specs.scenario_file import MAX_BYTES, from_file, to_file
from tests.strategies import scenarios


@given(scenarios(ways=True))
def test_a_round_trip_loses_nothing(made):
    found = from_file(to_file(made))
    assert found.scenario == made
    assert found.lost == ()


@pytest.mark.parametrize("case", library().cases)
def test_every_ready_case_comes_back(case):
    made = library().cases[case].scenario
    assert from_file(to_file(made).encode()).scenario == made


def test_own_records_travel_whole():
    model = {"id": "m", "name": "=own", "params": 3e9, "layers": 2, "kv_heads": 1, "head_dim": 64}
    made = scenario(
        {
            "model": model,
            "device": {"id": "d", "name": "d", "bandwidth_gbs": 5, "peak_tflops": 1},
            "weights": {"bits": 4.5},
        }
    )
    assert from_file(to_file(made)).scenario == made


def write(values, **more):
    return json.dumps({"kind": "slmopt scenario", "version": 1, "scenario": values, **more})


def test_what_is_not_known_is_named_and_the_rest_taken():
    found = from_file(write({"prompt": 700, "warp": 9, "batch": -1, "engine": "tgi"}, mood="good"))
    assert found.scenario == Scenario(prompt=700)
    told = "\n".join(found.lost)
    for word in ("warp", "batch = -1", "engine", "mood"):
        assert word in told
    assert len(found.lost) == 4


def test_another_version_is_said():
    found = from_file(json.dumps({"version": 2, "scenario": {"prompt": 5}}))
    assert found.scenario.prompt == 5
    assert "version 2" in found.lost[0]


def test_fields_that_do_not_fit_one_another():
    found = from_file(write({"prompt": 10, "prefix_hit": 10}))
    assert found.scenario == Scenario(prompt=10)
    assert "prefix_hit" in found.lost[0]


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b"\xff\xfe", b'{"scenario": 3}', b"[" * 100_000, b"PK\x03\x04"]
)
def test_what_is_no_scenario_file_is_one_sentence(content):
    with pytest.raises(SpecError, match="no scenario file"):
        from_file(content)


def test_a_file_that_is_too_large():
    with pytest.raises(SpecError, match="at most"):
        from_file(b" " * (MAX_BYTES + 1))


@given(scenarios(ways=True))
def test_the_version_is_in_the_file(made):
    assert json.loads(to_file(made))["version"] == 1


def test_a_name_that_no_preset_has_is_left_out_and_told():
    content = json.dumps(
        {
            "version": SCHEMA_VERSION,
            "scenario": {"model": "llama-3.2-1b", "device": "", "weights": "nix", "prompt": 5},
        }
    )
    found = from_file(content)
    assert found.scenario == scenario({"model": "llama-3.2-1b", "prompt": 5})
    assert found.lost[0] == "Left out: device. device = '' is not known."
    assert found.lost[1].startswith("Left out: weights. weight format = 'nix' is not known.")


def test_what_no_device_can_run_on_is_left_out_and_told():
    content = json.dumps(
        {"version": SCHEMA_VERSION, "scenario": {"draft_device": "rtx-4090", "decode_unit": "npu"}}
    )
    found = from_file(content)
    assert found.scenario == scenario({})
    assert len(found.lost) == 2
    assert "draft_device needs draft_model" in " ".join(found.lost)
    assert "has no unit 'npu'" in " ".join(found.lost)
