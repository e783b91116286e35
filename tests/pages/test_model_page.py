"""Your model: a file's numbers on the page, the way into the other pages, mending, presets, and what is refused."""

import json

import pytest

from slmopt.readers.files import read_model_file
from slmopt.readers.preset_file import preset_json
from slmopt.specs.library import library
from slmopt.specs.mend import mended
from slmopt.specs.scenario import scenario
from slmopt.theory.cache_growth import cache_growth
from slmopt.theory.evaluation import evaluate
from slmopt.words import memory, numbers
from slmopt.words import model as words
from slmopt.words.measured_rows import marked
from tests.pages.app import answer, go, open_page, said
from tests.readers import ggufs

F16 = library().caches["f16"]
TARGETS = {"target_ttft_ms": 500.0, "target_tpot_ms": 40.0}
CONFIG = {
    "model_type": "llama",
    "_name_or_path": "someone/Tiny-Llama",
    "hidden_size": 2048,
    "intermediate_size": 8192,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "vocab_size": 128256,
    "tie_word_embeddings": True,
    "max_position_embeddings": 131072,
}


def plain(text):
    return text.replace("**", "").replace("\u00a0", " ")


def told(model):
    return plain(words.answer(model, cache_growth(model, F16, F16, 2200.0)))


def read(values, name="Tiny-Llama"):
    return read_model_file(json.dumps(values).encode(), name).model


def upload(app, *files):
    field = app.file_uploader(key="model_upload")
    for name, content in files:
        field.upload(name, content)
    app.run()
    assert not app.exception, app.exception
    return app


def with_config(app, **changes):
    return upload(app, ("config.json", json.dumps({**CONFIG, **changes}).encode()))


def mend_field(app, field):
    return next(one for one in app.number_input if str(one.key).startswith(f"mend_{field}_"))


def test_without_a_file_it_shows_the_scenario_s_model():
    app = open_page("model_page", model="Gemma-3-27B")
    assert answer(app) == told(library().models["gemma-3-27b"])
    assert "508" in said(app), "kB a token while windows fill"


def test_a_config_s_numbers_are_the_package_s():
    app = with_config(open_page("model_page"))
    model = read(CONFIG)
    # 16 layers · 8 KV heads · 64 · (K and V) · 2 bytes = 32,768.
    assert answer(app) == told(model)
    assert "32.8 kB" in answer(app)
    assert numbers.figures(model.total_params / 1e9) in said(app)
    assert "Tiny\\-Llama" in said(app)
    assert "not in use yet" in said(app)


def test_a_pasted_config_does_the_same():
    app = open_page("model_page")
    app.text_area(key="model_paste").set_value(json.dumps(CONFIG)).run()
    assert answer(app) == told(read(CONFIG))


def test_used_it_is_the_model_of_every_page():
    app = with_config(open_page("model_page"))
    app.button(key="model_use").click().run()
    assert app.selectbox(key="model").value == "Tiny-Llama"
    assert app.selectbox(key="model").options[1] == "Tiny-Llama", "own models stand before the presets"
    model = read(CONFIG)
    go(app, "memory_page")
    assert answer(app) == plain(memory.answer(evaluate(scenario({**TARGETS, "model": model}))))
    assert "Tiny\\-Llama" in said(app)
    for page in ("overview_page", "roofline_page", "batching_page", "plan_page", "speculation_page"):
        go(app, page)
    go(app, "model_page")
    assert "not in use yet" not in said(app)
    assert answer(app) == told(model)


def test_a_gguf_brings_its_own_weights():
    content, _ = ggufs.tiny()
    app = upload(open_page("model_page"), ("tiny.gguf", content))
    found = read_model_file(content, "tiny")
    size = sum(tensor.size_bytes for tensor in found.weights.stored)
    assert "as in the file" in said(app)
    assert numbers.figures(size / 1e3) in said(app)
    app.button(key="model_use").click().run()
    assert app.selectbox(key="weights").value == found.weights.name
    go(app, "memory_page")
    setup = {**TARGETS, "model": found.model, "weights": found.weights}
    assert answer(app) == plain(memory.answer(evaluate(scenario(setup))))


def test_mended_fields_change_the_numbers():
    app = with_config(open_page("model_page"))
    mend_field(app, "kv_heads").set_value(4).run()
    # Half the KV heads: 16 · 4 · 64 · 2 · 2 bytes = 16,384.
    assert "16.4 kB" in answer(app)
    app.button(key="model_use").click().run()
    assert app.selectbox(key="model").value == "Tiny-Llama, mended"
    assert answer(app) == told(mended(read(CONFIG), {"kv_heads": 4}))
    go(app, "memory_page")
    assert "16.4 kB a token" in said(app)


def test_a_preset_can_be_mended_too():
    app = open_page("model_page", model="Gemma-3-27B")
    mend_field(app, "window").set_value(512).run()
    assert "beyond 512" in said(app)
    mend_field(app, "context_limit").set_value(8192).run()
    app.button(key="model_use").click().run()
    assert app.selectbox(key="model").value == "Gemma-3-27B, mended"


def test_what_cannot_be_mended_leaves_the_model_and_says_so():
    app = with_config(open_page("model_page"))
    mend_field(app, "kv_heads").set_value(5).run()
    assert not app.exception
    assert "give a divisor of heads" in said(app)
    assert answer(app) == told(read(CONFIG))
    assert mend_field(app, "kv_heads").value == 5


@pytest.mark.parametrize(
    ("name", "content", "words_"),
    [
        ("config.json", b'{"model_type": "llama"', "Not valid JSON"),
        ("config.json", b'{"model_type": "t5", "d_model": 512}', "t5"),
        ("photo.png", b"\x89PNG\r\n\x1a\n" + bytes(64), "none that describes a model"),
        ("cut.gguf", b"GGUF\x03\x00\x00\x00", "."),
        ("list.json", b"[1]", "should be an object"),
        ("empty.json", b" ", "empty"),
    ],
)
def test_a_bad_file_gives_one_sentence_and_loses_nothing(name, content, words_):
    app = with_config(open_page("model_page"))
    before = answer(app)
    upload(app, (name, content))
    assert "✕" in said(app)
    assert words_ in said(app).replace("\\", "")
    assert answer(app) == before


def test_a_hostile_name_has_no_effect_anywhere():
    name = "<img src=x onerror=alert(1)> %{x} :material/home: $a$ **b** https:evil"
    app = with_config(open_page("model_page"), _name_or_path=name.replace("/", ""))
    app.button(key="model_use").click().run()
    for page in ("model_page", "overview_page", "memory_page", "batching_page", "roofline_page", "plan_page"):
        go(app, page)
        shown = said(app) + json.dumps([str(chart.proto) for chart in app.get("bidi_component")])
        assert app.get("bidi_component"), "figures were looked at, too"
        assert "<img" not in shown
        assert "%{x} " not in shown
        assert "**b**" not in "".join(element.value for element in app.markdown)


def test_a_link_to_an_uploaded_model_says_that_it_stayed():
    app = open_page("model_page", model="Somebody's own")
    assert "This link names a model that is not known here" in said(app)
    assert "Somebody's own" in said(app)
    assert answer(app) == told(library().models["llama-3.1-8b"])
    app.selectbox(key="model").set_value("Gemma-3-27B").run()
    assert "not known here" not in said(app)


def test_presets_of_one_s_own_join_the_panel_s_choices():
    model = mended(library().models["llama-3.1-8b"], {"kv_heads": 4})
    device = {"id": "mine", "name": "My board", "bandwidth_gbs": 50, "peak_tflops": 2, "capacity_gb": 8}
    records = [*json.loads(preset_json(model)), device]
    app = upload(open_page("model_page"), ("mine.json", json.dumps(records).encode()))
    assert "Added to the panel's choices" in said(app)
    app.selectbox(key="model").set_value("Llama-3.1-8B, mended").run()
    app.selectbox(key="device").set_value("My board").run()
    assert not app.exception
    assert answer(app) == told(model)
    go(app, "overview_page")
    assert "My board" in said(app)


def test_presets_are_searched():
    app = open_page("model_page")
    assert len(app.dataframe[0].value) == len(library().models)
    app.text_input(key="preset_search").set_value("gemma window").run()
    names = list(app.dataframe[0].value["Name"])
    assert "Gemma-3-27B" in names
    assert all("gemma" in name.lower() for name in names)
    app.text_input(key="preset_search").set_value("no such thing").run()
    assert "No preset holds" in said(app)
    app.text_input(key="preset_search").set_value("").run()
    app.button_group(key="preset_kind").set_value("Devices").run()
    assert len(app.dataframe[0].value) == len(library().devices)


def test_a_config_s_quantisation_names_the_weights():
    quantised = {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128}}
    app = with_config(open_page("model_page"), **quantised)
    named = library().weights["awq-4-g128"]
    assert f"Its quantisation names {marked(named.name)} weights" in said(app)
    app.button(key="model_use").click().run()
    assert app.selectbox(key="weights").value == named.name
    strange = with_config(open_page("model_page"), quantization_config={"quant_method": "unheard-of"})
    assert "of a kind that is not known here" in said(strange)
    assert "quantisation" not in said(with_config(open_page("model_page")))
