"""The presets are read once and found by id; a wrong file names itself and its record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from slmopt import SpecError
from slmopt.specs import library as module
from slmopt.specs.device import Device
from slmopt.specs.formats import WeightFormat
from slmopt.specs.library import Band, Library, find, library
from slmopt.specs.model import Model


@pytest.fixture
def presets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Writes files of a preset folder of its own, which ``library`` then reads."""
    for folder in ("models", "devices"):
        (tmp_path / folder).mkdir()
    for name in ("weights", "caches", "efficiency", "cases"):
        (tmp_path / f"{name}.json").write_text("[]", encoding="utf-8")
    monkeypatch.setattr(module, "preset_root", lambda: tmp_path)
    library.cache_clear()

    def write(name: str, records: object) -> None:
        text = records if isinstance(records, str) else json.dumps(records)
        (tmp_path / name).write_text(text, encoding="utf-8")

    yield write
    library.cache_clear()


def test_the_presets_that_ship_are_read_once():
    assert library() is library()
    assert isinstance(library(), Library)
    for records in (library().models, library().devices, library().weights, library().caches):
        assert records
        assert all(name == record.id for name, record in records.items())
    assert "all" in library().efficiencies


def test_every_preset_says_where_it_is_from():
    held = library()
    for records in (held.models, held.devices, held.weights, held.caches, held.efficiencies, held.cases):
        for record in records.values():
            assert record.source, record.id
            assert record.confidence in {"seen", "derived", "memory"}, record.id


def test_files_of_a_folder_are_read_together(presets):
    presets("models/b.json", [{"id": "two", "name": "Two", "params": 2e9}])
    presets("models/a.json", [{"id": "one", "name": "One", "params": 1e9}])
    presets("models/notes.txt", "no JSON")
    presets("devices/all.json", [{"id": "d", "name": "D", "bandwidth_gbs": 50}])
    assert list(library().models) == ["one", "two"]
    assert isinstance(library().models["one"], Model)
    assert isinstance(library().devices["d"], Device)


@pytest.mark.parametrize(
    ("file", "records", "sentence"),
    [
        (
            "models/a.json",
            [{"id": "one", "name": "One", "params": -1}],
            "a.json, one: params = -1: it should be greater than 0.",
        ),
        (
            "devices/a.json",
            [{"id": "d", "name": "D", "bandwith_gbs": 5}],
            "a.json, d: bandwith_gbs is not a known field. Did you mean bandwidth_gbs?",
        ),
        ("models/a.json", [{"params": 1e9}], "a.json, record without id: id is missing."),
        (
            "models/a.json",
            [{"id": "one", "name": "One", "params": 1e9}] * 2,
            "a.json: the id 'one' stands twice; ids must be unique",
        ),
        ("weights.json", "[{", "weights.json is no JSON: "),
        ("weights.json", {"id": "w"}, "weights.json: it should be a list of records."),
        (
            "efficiency.json",
            [
                {
                    "id": "all",
                    "name": "all",
                    "bandwidth_fraction": {"p10": 0.5, "p50": 0.4, "p90": 0.9},
                    "compute_fraction": {"p10": 0.1, "p50": 0.4, "p90": 0.9},
                }
            ],
            "efficiency.json, all: bandwidth_fraction: a band needs p10 <= p50 <= p90.",
        ),
    ],
)
def test_a_wrong_file_names_itself_and_its_record(presets, file, records, sentence):
    presets(file, records)
    with pytest.raises(SpecError) as caught:
        library()
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def named(*names: str) -> dict[str, WeightFormat]:
    made = (WeightFormat(id=name.lower().replace(" ", "-"), name=name, bits=4) for name in names)
    return {record.id: record for record in made}


def test_find_takes_an_id_a_name_or_a_record():
    records = named("Q4 K M", "Q8 0")
    first = records["q4-k-m"]
    for wanted in ("q4-k-m", "Q4_K_M", "q4km", "Q4 K M", first):
        assert find("weight format", records, wanted) is first


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ("q4_k_l", "weight format = 'q4_k_l' is not known. Did you mean q4-k-m?"),
        ("q8", "weight format = 'q8' is not known. Did you mean q8-0?"),
        ("awq", "weight format = 'awq' is not known."),
        ("", "weight format = '' is not known."),
    ],
)
def test_what_is_not_found_is_named_with_what_is_near(wanted, sentence):
    with pytest.raises(SpecError) as caught:
        find("weight format", named("Q4 K M", "Q8 0"), wanted)
    assert str(caught.value) == sentence


def test_a_band_is_in_order_and_at_most_one():
    assert Band(p10=0.1, p50=0.1, p90=1.0).p90 == 1.0
    for wrong in ((0.2, 0.1, 0.3), (0.1, 0.3, 0.2), (0.0, 0.1, 0.2), (0.1, 0.2, 1.1)):
        with pytest.raises(ValueError, match=r"p10|p50|p90"):
            Band(p10=wrong[0], p50=wrong[1], p90=wrong[2])
