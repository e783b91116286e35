"""Measurements without a browser: the sample, uploads, what is asked, and that shown numbers are the package's."""

from __future__ import annotations

import html

import pandas as pd
import pytest

from slmopt.measured.compare import compare
from slmopt.measured.detect import read_benchmark, read_many
from slmopt.measured.others import of_device, prefill_of_device
from slmopt.measured.placed import Facts
from slmopt.reports import measurement_tables as tables
from slmopt.specs.calibration import Calibration
from slmopt.specs.library import preset_root
from slmopt.words import measurements as words
from tests.measured.sweeps import sweep
from tests.pages.app import answer, go, open_page, said

PAGE = "measurements_page"
HIDDEN = Calibration(overlap="products", bandwidth_gbs=25, matrix_tflops=0.1, fixed_ms=0.8)
SAMPLE = preset_root() / "this_machine"
FOUR_BIT = (SAMPLE / "llama-bench_1b_Q4_0.csv").read_bytes()
BATCHES = (SAMPLE / "batched-bench_135m_Q8_0_t2.jsonl").read_bytes()
EPYC = "AMD EPYC, 2 virtual cores (this project's sweep)"
DESKTOP = (
    b"model,weights,phase,prompt_tokens,output_tokens,tokens_per_s,device,spread\n"
    b"Llama-3.1-8B,Q4_0,decode,0,128,120,NVIDIA GeForce RTX 4090,0.01\n"
    b"Llama-3.1-8B,Q8_0,decode,0,128,80,NVIDIA GeForce RTX 4090,0.01\n"
    b"Llama-3.1-8B,Q4_0,prefill,512,0,9000,NVIDIA GeForce RTX 4090,0.01\n"
)


def upload(app, *files):
    """Gives files to the field, whichever of its turns this is."""
    field = app.file_uploader[0]
    for name, content in files:
        field = field.upload(name, content)
    app.run()
    assert not app.exception
    return app


def plain(text):
    return text.replace("**", "").replace("\u00a0", " ")


def judged(name, content, facts=None):
    read = read_benchmark(name, content)
    return tables.joined(read.rows, compare(read.rows, facts))


def shows(app, rows, needs=()):
    """Whether answer, tiles and table are those of these rows."""
    assert answer(app) == plain(words.answer(rows, needs))
    shown = "".join(element.proto.body for element in app.get("html"))
    assert all(html.escape(part) in shown for tile in words.tiles(rows) for part in tile)
    table = table_of(app)
    listed = tables.listed(rows)
    pd.testing.assert_frame_equal(
        table[["Share (%)", "Measured (tokens/s)", "Ceiling (tokens/s)"]].reset_index(drop=True),
        listed[["Share (%)", "Measured (tokens/s)", "Ceiling (tokens/s)"]].reset_index(drop=True),
        check_dtype=False,
    )
    return True


def table_of(app):
    return next(frame.value for frame in app.dataframe if "Verdict" in frame.value.columns)


def drawn(app):
    """What the page hands to its figure."""
    return "".join(html.unescape(str(element.proto)) for element in app.get("bidi_component"))


def choose(app, label, option):
    box = next(box for box in app.selectbox if box.label.replace("\\", "") == label)
    box.set_value(option).run()
    assert not app.exception
    return app


def press(app, label):
    next(button for button in app.button if button.label.startswith(label)).click().run()
    assert not app.exception
    return app


def shown_files(app):
    boxes = [box for box in app.multiselect if box.label == "Files shown"]
    return boxes[0].value if boxes else []


@pytest.fixture
def page():
    return open_page(PAGE)


def test_the_sample_stands_until_there_are_files(page):
    names = sorted(f.name for f in SAMPLE.iterdir() if f.name.startswith("llama-bench"))
    read = read_many([(name, (SAMPLE / name).read_bytes()) for name in names])
    both_cores = read.rows[read.rows["threads"] == 2]
    facts = Facts(device="epyc-2core", model="granite-3.1-1b-a400m")
    assert shows(page, tables.joined(both_cores, compare(both_cores, facts)))
    assert "sample" in said(page)
    assert "Decode reaches" in drawn(page)
    assert page.session_state["_slmopt_measured_points"] is None


def test_the_sample_follows_the_panel_on_its_own_machine():
    page = open_page(PAGE, device=EPYC, bandwidth_gbs="60")
    ceilings = table_of(page).groupby("Test")["Ceiling (tokens/s)"].max()
    before = table_of(open_page(PAGE)).groupby("Test")["Ceiling (tokens/s)"].max()
    assert ceilings["tg16"] == pytest.approx(before["tg16"] * 60 / 39.8, rel=1e-3)


def test_an_upload_shows_the_package_s_numbers(page):
    upload(page, ("mine.csv", DESKTOP))
    assert shows(page, judged("mine.csv", DESKTOP))
    assert "sample" not in said(page)
    assert shown_files(page) == ["mine.csv"]


def test_what_a_file_does_not_tell_is_asked_for_and_never_taken_from_the_panel(page):
    upload(page, ("bench.csv", FOUR_BIT))
    assert answer(page) == "The device is not known, so 4 rows have no ceiling yet: name it below."
    assert table_of(page)["Ceiling (tokens/s)"].isna().all()
    choose(page, "Device of AMD EPYC", EPYC)
    assert shows(page, judged("bench.csv", FOUR_BIT, Facts(device="epyc-2core")))


def test_the_scenario_s_device_is_one_click_and_brings_the_panel_s_changes():
    page = upload(open_page(PAGE, device=EPYC, bandwidth_gbs="20"), ("bench.csv", FOUR_BIT))
    press(page, "Use the scenario's device")
    facts = Facts(device="epyc-2core", overrides={"bandwidth_gbs": 20.0})
    assert shows(page, judged("bench.csv", FOUR_BIT, facts))


def test_answers_hold_for_the_rows_that_lack_them(page):
    upload(page, ("mine.csv", DESKTOP), ("batches.jsonl", BATCHES))
    desktop = judged("mine.csv", DESKTOP)
    choose(page, "Device of rows that name none", EPYC)
    choose(page, "Model of batches.jsonl", "SmolLM2-135M")
    choose(page, "Weights of batches.jsonl", "Q8_0")
    batches = judged(
        "batches.jsonl", BATCHES, Facts(device="epyc-2core", model="smollm2-135m", weights="q8_0")
    )
    table = table_of(page)
    for rows, name in ((desktop, "mine.csv"), (batches, "batches.jsonl")):
        own = table[table["File"] == name]
        assert sorted(own["Share (%)"]) == pytest.approx(sorted(100 * rows["fraction"]))


def test_a_chosen_model_that_the_file_contradicts_is_refused_in_words(page):
    odd = b"model,weights,phase,output_tokens,tokens_per_s,device,params\nx moe,Q4_0,decode,128,20,NVIDIA GeForce RTX 4090,47000000000\n"
    upload(page, ("odd.csv", odd))
    choose(page, "Model of x moe", "Llama-3.1-8B")
    assert "Llama-3.1-8B has 8.03 billion parameters and x moe counts 47.0 billion" in said(page).replace(
        "\\", ""
    )


def test_files_that_cannot_be_read_say_so_and_the_others_are_shown(page):
    upload(
        page, ("mine.csv", DESKTOP), ("empty.csv", b""), ("picture.png", b"\x89PNG\r\n\x1a\n" + b"0" * 100)
    )
    text = said(page).replace("\\", "")
    assert "✕ empty.csv is empty" in text
    assert "✕ picture.png is a picture" in text
    assert shows(page, judged("mine.csv", DESKTOP))
    press(page, "Dismiss")
    assert "picture.png" not in said(page).replace("\\", "")


def test_rows_left_out_are_listed_with_their_reason(page):
    upload(page, ("mine.csv", DESKTOP + b"Llama-3.1-8B,Q4_0,decode,0,128,0,NVIDIA GeForce RTX 4090,0.01\n"))
    skipped = next(frame.value for frame in page.dataframe if "why" in frame.value.columns)
    assert len(skipped) == 1
    assert [e.label for e in page.expander if "left out" in e.label] == ["1 row left out, with the reason"]


def test_files_stay_through_a_change_of_page_and_the_answers_too(page):
    upload(page, ("bench.csv", FOUR_BIT))
    choose(page, "Device of AMD EPYC", EPYC)
    before = answer(page)
    go(go(page, "memory_page"), PAGE)
    assert answer(page) == before
    assert shown_files(page) == ["bench.csv"]
    upload(page, ("mine.csv", DESKTOP))
    assert shown_files(page) == ["bench.csv", "mine.csv"]


def test_without_files_the_sample_is_back_and_nothing_is_lost(page):
    first = answer(page)
    upload(page, ("mine.csv", DESKTOP))
    box = next(box for box in page.multiselect if box.label == "Files shown")
    box.set_value([]).run()
    assert answer(page) == first
    box = next(box for box in page.multiselect if box.label == "Files shown")
    box.set_value(["mine.csv"]).run()
    assert shows(page, judged("mine.csv", DESKTOP))
    press(page, "Remove all")
    assert answer(page) == first
    assert shown_files(page) == []


def test_two_files_of_one_name_stay_apart_and_one_file_twice_is_one(page):
    upload(page, ("a.csv", DESKTOP))
    upload(page, ("a.csv", DESKTOP), ("a.csv", DESKTOP.replace(b"120", b"110")))
    assert shown_files(page) == ["a.csv", "a.csv (2)"]
    assert set(table_of(page)["File"]) == {"a.csv", "a.csv (2)"}


def test_rows_on_the_scenario_s_device_go_to_the_roofline(page):
    upload(page, ("mine.csv", DESKTOP))
    held = page.session_state["_slmopt_measured_points"]
    assert "points" not in vars(held), (
        "points of a million rows take long, so they wait until they are asked for"
    )
    assert "measured" in drawn(go(page, "roofline_page"))
    assert vars(held)["points"] == tables.points(judged("mine.csv", DESKTOP), "NVIDIA GeForce RTX 4090")
    assert len(held.points) == 3
    go(page, PAGE)
    assert page.session_state["_slmopt_measured_points"] is held
    page.selectbox(key="device").set_value(EPYC).run()
    assert "measured" not in drawn(go(page, "roofline_page"))


def test_the_arithmetic_is_that_of_the_first_row(page):
    upload(page, ("mine.csv", DESKTOP))
    first = tables.listed(judged("mine.csv", DESKTOP)).iloc[0]
    text = said(page)
    assert f"measured {first['Measured (tokens/s)']:.0f}" in text.replace(",", "")
    assert "a token = ≤" in text


def test_many_rows_are_listed_in_part_and_drawn_as_medians(page):
    line = "Llama-3.1-8B,Q4_0,decode,0,128,{},NVIDIA GeForce RTX 4090,0.01"
    lines = [DESKTOP.decode().splitlines()[0], *(line.format(60 + at % 60) for at in range(3000))]
    content = "\n".join(lines).encode()
    upload(page, ("many.csv", content))
    assert answer(page) == plain(words.answer(judged("many.csv", content)))
    assert len(table_of(page)) == tables.MOST_LISTED
    assert "The first 200 of 3,000 rows" in said(page)
    assert "3,000 rows" in drawn(page)


def opened(app, key):
    """Opens a closed section whose content is drawn only then."""
    app.session_state[key] = True
    app.run()
    assert not app.exception
    return app


def test_the_sample_is_fitted_only_when_the_section_is_opened(page):
    assert "rows left out" not in said(page)
    opened(page, "slm_fit")
    assert "Mean error 11 % on the 95 rows fitted, 12 % on rows left out" in said(page)
    assert "The fit predicts rows that it has not seen" in drawn(page)


def test_a_fit_becomes_the_scenario_s_and_can_be_dropped(page):
    opened(page, "slm_fit")
    press(page, "Use this fit")
    assert "✓ The scenario's estimates start from this fit." in said(page)
    assert page.session_state["device"] == EPYC
    text = page.session_state["fit"]
    go(page, "overview_page")
    assert "estimates fitted to your rows" in said(page)
    assert "prefill (none measured)" in said(page).replace("\\", "")
    linked = open_page("overview_page", device=EPYC, fit=text)
    assert "estimates fitted to your rows" in said(linked)
    press(page, "Drop the fit")
    assert "fitted to your rows" not in said(page)


def test_a_fit_of_too_few_rows_says_what_is_needed(page):
    upload(page, ("mine.csv", DESKTOP))
    opened(page, "slm_fit")
    assert "No fit: 3 points of decode or prefill: at least 4 different ones are needed" in said(
        page
    ).replace("\\", "")


def test_two_files_are_set_side_by_side(page):
    upload(page, ("old.csv", DESKTOP))
    assert "Before and after" not in [box.label for box in page.expander]
    upload(page, ("new.csv", DESKTOP.replace(b"120", b"150")))
    opened(page, "slm_change")
    text = said(page)
    assert "1.08× in the mean over 3 rows: 1 faster, 2 within their spread." in text
    assert "◐ Not decided: the measurements improve; enter the quality evaluation." in text
    page.number_input(key="quality_before").set_value(0.7)
    page.number_input(key="quality_after").set_value(0.8).run()
    assert "✓ Keep it: the measurements and the quality evaluation both improve." in said(page)


def test_checks_on_the_benchmark_are_listed_only_where_they_find_something(page):
    assert not [
        box for box in page.expander if "on the benchmark itself" in box.label and "3 checks" in box.label
    ]
    upload(page, ("mine.csv", DESKTOP + DESKTOP.splitlines()[1] + b"\n"))
    label = next(box.label for box in page.expander if "on the benchmark itself" in box.label)
    assert label.startswith("2 checks")
    text = said(page).replace("\\", "")
    assert "1 row is there twice, to the last digit" in text
    assert "measured at 64 tokens of context, and the scenario has 2,100" in text


def test_commands_that_would_check_the_scenario(page):
    assert not page.code
    opened(page, "slm_commands")
    shown = [block.value for block in page.code]
    assert any(text.startswith("llama-bench -m Llama-3.1-8B-Q4_K_M.gguf -p 2000 -n 200") for text in shown)
    assert any(text.startswith("vllm serve meta-llama/Llama-3.1-8B") for text in shown)


def test_others_with_this_chip_are_shown_when_asked_for(page):
    upload(page, ("mine.csv", DESKTOP))
    (switch,) = [box for box in page.toggle if box.label.startswith("Others with this chip")]
    decode, prefill = len(of_device("rtx-4090")), len(prefill_of_device("rtx-4090"))
    both = f"{decode:,} decode, {prefill:,} prefill"
    assert f"(reference rows: {both if 'Prefill' in drawn(page) else f'{decode:,} decode'})" in switch.label
    assert "Others with this chip" not in drawn(page)
    switch.set_value(True).run()
    assert not page.exception
    assert "Others with this chip" in drawn(page)
    assert "Others with NVIDIA GeForce RTX 4090" in said(page).replace("\\", "")


def test_a_table_that_no_reader_knows_is_mapped_by_hand(page):
    odd = b"what,zeit pro wort,wie viele\nLlama-3.1-8B,25,4\nLlama-3.1-8B,40,8\n"
    upload(page, ("odd.csv", odd))
    assert "✕ odd.csv has no column with a speed" in said(page).replace("\\", "")
    opened(page, "slm_mapping")
    assert "No column is a speed or a time yet" in said(page)
    # The test's browser has no table editor, so the mapping comes from a file.
    mapping = (
        b'{"columns": [{"column": "what", "field": "model"}, {"column": "wie viele", "field": "batch"}, '
        b'{"column": "zeit pro wort", "field": "tpot", "scale": 0.001, "unit": "ms"}], '
        b'"constants": {"device": "NVIDIA GeForce RTX 4090", "weight_format": "Q4_0"}}'
    )
    next(box for box in page.file_uploader if "saved mapping" in box.label.lower()).upload(
        "m.json", mapping
    ).run()
    assert not page.exception
    press(page, "Use this mapping")
    assert shown_files(page) == ["odd.csv"]
    assert sorted(table_of(page)["Measured (tokens/s)"]) == [160, 200]
    assert "odd.csv has no column" not in said(page).replace("\\", "")


def test_uploaded_rows_are_fitted_with_what_the_user_said_of_them(page):
    upload(page, ("steps.csv", sweep(HIDDEN, contexts=[0, 512])))
    choose(page, "Device of rows that name none", EPYC)
    opened(page, "slm_fit")
    assert "on the 40 rows fitted" in said(page)
    press(page, "Use this fit")
    fit = Calibration.parse(page.session_state["fit"])
    assert fit.bandwidth_gbs == pytest.approx(25, rel=0.05)
    assert page.session_state["device"] == EPYC
