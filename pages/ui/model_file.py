"""The doorway for a model of one's own: a file, a text, or a preset list. What was read is kept while pages change."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Final

import streamlit as st

from pages.ui import own
from slmopt.readers.file_model import FileModel
from slmopt.readers.files import read_model_file
from slmopt.readers.preset_file import is_preset_file, read_presets
from slmopt.specs.base import SpecError
from slmopt.words import model as words
from slmopt.words.measured_rows import marked

MOST_MB: Final = 256
"""A GGUF's header is a few megabytes; larger files are better inspected where they are."""

UPLOAD: Final = "model_upload"
PASTE: Final = "model_paste"

_READ = "_slmopt_model_read"
_REFUSED = "_slmopt_model_refused"
_ADDED = "_slmopt_presets_added"
# Names that say nothing of the model.
_PLAIN = frozenset({"", "config", "model", "model.safetensors.index", "inspect"})

_log = logging.getLogger(__name__)


def read() -> FileModel | None:
    """The model that was read and is not in use yet; None while the page shows the scenario's."""
    found = st.session_state.get(_READ)
    return found if isinstance(found, FileModel) else None


def forget() -> None:
    """Back to the scenario's model."""
    for key in (_READ, _REFUSED):
        st.session_state.pop(key, None)


def doorway() -> None:
    """The fields, what large files need, and one sentence where something could not be read."""
    with st.container(gap="small"):
        left, right = st.columns(2, gap="medium")
        with left:
            st.file_uploader(
                "Add a config.json, GGUF, safetensors or preset file",
                accept_multiple_files=True,
                key=UPLOAD,
                on_change=_take_files,
                max_upload_size=MOST_MB,
            )
        with right:
            st.text_area(
                "Or paste a config.json, or what `inspect --json` printed",
                key=PASTE,
                height=90,
                placeholder='{"model_type": "llama", "hidden_size": 2048, …}',
                on_change=_take_text,
                persist_state="session",
            )
        st.markdown(f":small[{words.LARGE} {words.STAYS}]")
        refused = st.session_state.get(_REFUSED)
        if refused:
            with st.container(key="slm_model_refused", border=True):
                st.markdown(f"✕ {marked(refused, 400)} What was shown before stays.")
        added = st.session_state.get(_ADDED)
        if added:
            st.markdown(f"Added to the panel's choices: {marked(added, 200)}.")


def _take_files() -> None:
    given = [(file.name, file.getvalue()) for file in st.session_state.get(UPLOAD) or ()]
    if given:
        _take(given)


def _take_text() -> None:
    text = str(st.session_state.get(PASTE) or "")
    if text.strip():
        _take([("", text.encode())])


def _take(files: Sequence[tuple[str, bytes]]) -> None:
    st.session_state[_REFUSED] = st.session_state[_ADDED] = ""
    try:
        for _, content in files:
            if is_preset_file(content):
                _add_presets(content)
        single = [(name, content) for name, content in files if not is_preset_file(content)]
        if single:
            found = _read(single)
            model = found.model.model_copy(update={"name": own.clean_name(found.model.name)})
            st.session_state[_READ] = replace(found, model=model)
    except SpecError as error:
        st.session_state[_REFUSED] = str(error)
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        MemoryError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        # A reader's own mistake must not take the page with it.
        _log.exception("reading a model file failed")
        st.session_state[_REFUSED] = (
            f"The file could not be read ({type(error).__name__}): give a config.json of the model instead."
        )


def _add_presets(content: bytes) -> None:
    found = read_presets(content)
    names = [own.add_model(model) for model in found.models]
    names += [own.add_device(device) for device in found.devices]
    st.session_state[_ADDED] = ", ".join(names)


def _read(files: Sequence[tuple[str, bytes]]) -> FileModel:
    """The last file's model; a safetensors file takes its shape from a config.json that lies beside it."""
    heavy = [file for file in files if not _is_json(file[1]) or b'"weight_map"' in file[1]]
    configs = [file for file in files if file not in heavy]
    name, content = heavy[-1] if heavy else configs[-1]
    config = configs[-1][1] if heavy and configs else None
    return read_model_file(content, _name(name, content if config is None else config), config)


def _is_json(content: bytes) -> bool:
    return content.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"


def _name(file_name: str, content: bytes) -> str:
    """What to call the model: its file, or what a config says of itself."""
    stem = PurePath(file_name).name.removesuffix(".json").removesuffix(".gguf").removesuffix(".safetensors")
    if stem not in _PLAIN or not _is_json(content):
        return stem
    try:
        values = json.loads(content)
    except (ValueError, RecursionError):
        return stem
    said = [values.get(key) for key in ("_name_or_path", "model_type")] if isinstance(values, dict) else []
    named = [PurePath(text).name for text in said if isinstance(text, str)]
    return next(filter(None, named), "Own model")
