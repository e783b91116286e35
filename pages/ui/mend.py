"""Fields that mend what a file says wrongly or not at all, and the way into every page."""

from __future__ import annotations

import hashlib
from typing import Final

import streamlit as st

from pages.ui import model_file, own, state
from slmopt.readers.file_model import FileModel
from slmopt.readers.preset_file import preset_json
from slmopt.specs.base import SpecError
from slmopt.specs.mend import FIELDS, can_mend, mended, present
from slmopt.specs.model import Model
from slmopt.words import model as words
from slmopt.words.measured_rows import marked

LARGEST: Final = 100_000_000


def mended_model(model: Model) -> tuple[Model, str]:
    """The model with what the fields say, and what is wrong with them; before :func:`fields` draws them."""
    # A widget's value is in the state before it is drawn again, so the answer above the fields follows them at once.
    changes = {field: _whole(st.session_state.get(_key(model, field))) for field in FIELDS}
    try:
        return mended(model, changes), ""
    except SpecError as error:
        return model, str(error)


def _whole(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) else None


def _key(model: Model, field: str) -> str:
    """The field's key, of its own for every model, so that nothing is mended by what was meant for another."""
    digest = hashlib.sha256(model.model_dump_json(exclude_defaults=True).encode()).hexdigest()
    return f"mend_{field}_{digest[:12]}"


def fields(model: Model, problem: str) -> None:
    """The five fields, empty where nothing is mended."""
    st.markdown("#### Mend what the file says wrongly or leaves out")
    with st.container(key="slm_mend", gap="small"):
        for column, field in zip(st.columns(len(FIELDS), gap="small"), FIELDS, strict=True):
            can = can_mend(model, field)
            with column:
                st.number_input(
                    words.FIELDS[field],
                    min_value=1,
                    max_value=LARGEST,
                    value=None,
                    step=1,
                    format="%d",
                    placeholder=words.field_now(present(model, field)) if can else "–",
                    key=_key(model, field),
                    persist_state="session",
                    help=None if can else words.CANNOT[field],
                    disabled=not can,
                )
        if problem:
            st.markdown(f"✕ {marked(problem, 300)} The model is shown unmended.")


def use_buttons(model: Model, found: FileModel | None, in_use: Model) -> None:
    """Into every page, back, and the download as a preset."""
    runs = found is None or found.runs
    with st.container(horizontal=True, gap="small"):
        st.button(
            "Use it in every page",
            key="model_use",
            on_click=_use,
            args=(model, found),
            disabled=not runs or model == in_use,
            help=None if runs else "The file is no language model by itself: add the language model's.",
            icon=":material/check:",
        )
        if found is not None:
            st.button("Show the scenario's model instead", key="model_back", on_click=model_file.forget)
        st.download_button(
            "Download as a preset",
            data=lambda: preset_json(model),
            file_name="slmopt-preset.json",
            mime="application/json",
            key="model_preset",
            on_click="ignore",
            icon=":material/download:",
        )


def _use(model: Model, found: FileModel | None) -> None:
    st.session_state["model"] = own.add_model(model)
    state.forget_unknown("model")
    if found is not None and found.weights is not None:
        st.session_state["weights"] = own.add_weights(found.weights)
        st.session_state["weight_bits"] = None
    elif found is not None and found.named_weights is not None:
        st.session_state["weights"] = found.named_weights.name
        st.session_state["weight_bits"] = None
    model_file.forget()
