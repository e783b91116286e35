"""The mapping form: what was guessed, what is changed by hand, and mappings that are kept for the next file."""

from __future__ import annotations

import dataclasses
import json

import pytest

from slmopt.measured import mapping_form as form
from slmopt.measured.readers._names import NUMBER_FIELDS, TEXT_FIELDS, TIME_FIELDS
from slmopt.measured.readers.mapping import Mapping, apply_mapping, guess_mapping
from slmopt.measured.readers.sources import tables_in
from slmopt.specs.base import SpecError
from slmopt.words.mapping import CONSTANT_WORDS, FIELD_WORDS, LAYOUT_WORDS
from tests.measured.test_read_tables import TIDY

ODD = b"what,zeit pro wort,wie viele\nLlama-3.1-8B,25,4\nLlama-3.1-8B,40,8\n"


def sheet(content=ODD):
    (found,) = tables_in("odd.csv", content)
    return found


def changed(lines, **fields):
    """Lines with other meanings, by column: (field, statistic, unit)."""
    told = {name.replace("_", " "): values for name, values in fields.items()}
    return [
        dataclasses.replace(
            line, field=told[line.column][0], statistic=told[line.column][1], unit=told[line.column][2]
        )
        if line.column in told
        else line
        for line in lines
    ]


def test_columns_that_nobody_knows_are_mapped_by_hand():
    table = sheet()
    base = guess_mapping(table)
    lines = form.form_lines(table, base)
    assert [line.column for line in lines] == ["what", "zeit pro wort", "wie viele"]
    assert lines[1].first == "25, 40"
    assert all(line.field == "" for line in lines)
    told = changed(
        lines, what=("model", "", ""), zeit_pro_wort=("tpot", "p50", "ms"), wie_viele=("batch", "", "")
    )
    mapping = form.from_form(base, told, {"device": "RTX 4090", "prompt_tokens": "1,000", "phase": ""})
    rows = apply_mapping(table, mapping).rows
    assert rows["tpot_p50_s"].tolist() == [0.025, 0.04]
    assert rows["batch"].tolist() == [4, 8]
    assert set(rows["device"]) == {"RTX 4090"}
    assert rows["prompt_tokens"].tolist() == [1000, 1000]


def test_what_was_guessed_stays_as_it_is():
    table = sheet(b"model,decode tok/s,ttft (ms),params\nA,30,200,7\nB,40,150,13\n")
    base = guess_mapping(table)
    again = form.from_form(base, form.form_lines(table, base), {})
    assert again.columns == base.columns
    assert [(line.field, line.unit) for line in form.form_lines(table, base)][1:] == [
        ("decode_speed", ""),
        ("ttft", "ms"),
        ("params", "billion"),
    ]


@pytest.mark.parametrize(
    ("fields", "constants", "sentence"),
    [
        ({"what": ("model", "", "")}, {}, "No column is a speed or a time yet"),
        ({"zeit_pro_wort": ("tpot", "", "")}, {}, "'zeit pro wort' is a time: choose its unit"),
        (
            {"zeit_pro_wort": ("speed", "", ""), "wie_viele": ("speed", "", "")},
            {},
            "'wie viele' and 'zeit pro wort' both are speed",
        ),
        ({"zeit_pro_wort": ("speed", "", "")}, {"batch": "many"}, "batch = 'many': it must be a number."),
        ({"zeit_pro_wort": ("speed", "", "")}, {"batch": "1e999"}, "batch = '1e999': it must be a number."),
    ],
)
def test_a_form_that_contradicts_itself_says_how(fields, constants, sentence):
    table = sheet()
    base = guess_mapping(table)
    with pytest.raises(SpecError, match=sentence):
        form.from_form(base, changed(form.form_lines(table, base), **fields), constants)


def test_a_mapping_is_saved_and_used_for_the_next_file():
    table = sheet()
    base = guess_mapping(table)
    mapping = form.from_form(
        base, changed(form.form_lines(table, base), zeit_pro_wort=("tpot", "", "ms")), {}
    )
    again = form.loaded(form.saved(mapping).encode(), table)
    assert again == mapping
    assert form.fits(sheet(ODD.replace(b"25", b"26")), again)
    with pytest.raises(SpecError, match="reads columns that this table does not have"):
        form.loaded(form.saved(mapping).encode(), sheet(b"a,b,c\n1,2,3\n"))


@pytest.mark.parametrize(
    ("content", "sentence"), [(b"{", "no JSON"), (b'{"layout": "round"}', "cannot be used: layout")]
)
def test_a_file_that_is_no_mapping_is_refused(content, sentence):
    with pytest.raises(SpecError, match=sentence):
        form.loaded(content, sheet())


def test_transposed_tables_are_mapped_by_their_lines():
    table = sheet(b"metric,A,B\nttft (ms),100,200\noutput tok/s,30,40\nbatch,1,2\nmodel,x,y\n")
    base = guess_mapping(table)
    assert base.layout == "transposed"
    lines = form.form_lines(table, base)
    assert [line.field for line in lines] == ["ttft", "output_speed", "batch", "model"]
    assert len(apply_mapping(table, form.from_form(base, lines, {})).rows) == 2


def test_the_form_s_words_are_of_fields_that_exist():
    assert set(FIELD_WORDS) - {""} <= TEXT_FIELDS | NUMBER_FIELDS | TIME_FIELDS
    assert set(CONSTANT_WORDS) == set(form.CONSTANTS)
    assert len(set(FIELD_WORDS.values())) == len(FIELD_WORDS)


def test_a_mapping_of_metrics_in_rows_is_shown_saved_and_refused_for_other_tables():
    tidy = sheet(TIDY.encode())
    mapping = guess_mapping(tidy)
    assert mapping.layout == "tidy"
    lines = {line.column: line for line in form.form_lines(tidy, mapping)}
    assert lines["TTFT (ms)"].field == "ttft"
    assert lines["TTFT (ms)"].first == "120,5, 220,5, 221,5"
    assert LAYOUT_WORDS[mapping.layout] == "a metric and its value a row"
    assert Mapping.model_validate_json(mapping.model_dump_json()) == mapping
    assert form.fits(tidy, mapping)
    assert not form.fits(sheet(), mapping)


def test_a_saved_number_that_is_endless_is_refused():
    table = sheet()
    saved = json.loads(form.saved(guess_mapping(table)))
    text = json.dumps({**saved, "constants": {"batch": "?"}}).replace('"?"', "1e999")
    with pytest.raises(SpecError, match="The mapping cannot be used: constants"):
        form.loaded(text.encode(), table)
