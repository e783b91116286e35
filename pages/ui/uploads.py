"""Benchmark files of this session: taken in, kept while pages change, shown or left out, and refused with a reason.

Files live in the session and in no link. What each says is kept, not its bytes; reading is cached by content.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import streamlit as st

from pages.ui.working import LONG_BYTES, READING, Bar
from slmopt.measured.detect import read_benchmark
from slmopt.measured.progress import telling
from slmopt.measured.table import ReadResult
from slmopt.measured.text import UnreadableFile
from slmopt.words.measured_rows import marked, short

MOST_FILES: Final = 64
SHOWN: Final = "measurement_files"
"""Key of the field that says which files are shown."""

_FILES = "_slmopt_files"
_PENDING = "_slmopt_pending"
_REFUSED = "_slmopt_refused"
_TURN = "_slmopt_upload_turn"
_MAPPABLE = "_slmopt_mappable"
_READ = "_slmopt_read"
_MOST_READ = 16
_MOST_ROWS = 1_200_000
_MOST_MAPPABLE = 6
_MOST_MAPPABLE_BYTES = 16 << 20

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Upload:
    """One file: the digest of its bytes, and what it says."""

    digest: str
    read: ReadResult


def shown() -> dict[str, Upload]:
    """The files that the page is about, by their names on it; none while the sample stands in."""
    files = _files()
    return {label: files[label] for label in st.session_state.get(SHOWN, []) if label in files}


def uploader() -> Bar:
    """The field for files, the list of those that are kept, and one sentence for each that could not be read.

    Returns the bar that tells how far a long file is, for the stages that follow its reading.
    """
    turn = st.session_state.setdefault(_TURN, 0)
    key = f"measurement_upload_{turn}"
    with st.container(gap="small"):
        st.file_uploader(
            "Add what your benchmark wrote: llama-bench, vLLM and others, or any CSV",
            accept_multiple_files=True,
            key=key,
            on_change=_take,
            args=(key,),
        )
        bar = Bar()
        _read_pending(bar)
        _list_files()
        st.markdown(
            ":small[Files stay in this session; a link carries the scenario, never the measurements.]"
        )
        _list_refused()
    return bar


def _files() -> dict[str, Upload]:
    files: dict[str, Upload] = st.session_state.setdefault(_FILES, {})
    return files


def _take(key: str) -> None:
    """Move new files out of the field, which loses them with the page; the next field is empty."""
    pending = st.session_state.setdefault(_PENDING, [])
    pending += [(file.name, file.getvalue()) for file in st.session_state.get(key) or ()]
    st.session_state[_TURN] += 1
    st.session_state[_REFUSED] = []


def _read_pending(bar: Bar) -> None:
    pending: list[tuple[str, bytes]] = st.session_state.get(_PENDING, [])
    # One at a time and off the list when done: a run that is broken off goes on where it stopped.
    while pending:
        name, content = pending[0]
        try:
            _keep(name, content, bar)
        except UnreadableFile as error:
            st.session_state[_REFUSED].append(str(error))
            _offer(name, content)
        pending.pop(0)


def mappable() -> dict[str, bytes]:
    """Files whose columns nobody but their user knows: refused, or read by guesses."""
    held: dict[str, bytes] = st.session_state.setdefault(_MAPPABLE, {})
    return held


def _offer(label: str, content: bytes) -> None:
    """Keep a table's bytes for the form; the oldest go first."""
    if content and len(content) <= _MOST_MAPPABLE_BYTES:
        held = mappable()
        held[short(label, 80)] = content
        while len(held) > _MOST_MAPPABLE:
            held.pop(next(iter(held)))


def take_in(label: str, digest: str, read: ReadResult) -> None:
    """Keep what a file says when it is read by its user's own mapping, in place of what was guessed."""
    _files()[label] = Upload(digest, read)
    st.session_state[SHOWN] = list(dict.fromkeys([*st.session_state.get(SHOWN, []), label]))
    st.session_state[_REFUSED] = []


def _keep(name: str, content: bytes, bar: Bar) -> None:
    files = _files()
    if len(files) >= MOST_FILES:
        raise UnreadableFile(
            f"{name} is one too many: {MOST_FILES} files are kept at most, so remove some first."
        )
    text = f"Reading {marked(name, 60)}, {len(content) / 1e6:,.1f} MB …"
    if len(content) < LONG_BYTES:
        with st.spinner(text, show_time=True):
            found = _parsed(name, content)
    else:
        bar.tell(READING, 0.0, text)
        with telling(lambda share: bar.tell(READING, share, text)):
            found = _parsed(name, content)
        bar.tell(READING, 1.0, text)
    label = _label(name, found.digest, files)
    files[label] = found
    if "columns guessed" in found.read.format:
        _offer(label, content)
    st.session_state[SHOWN] = list(dict.fromkeys([*st.session_state.get(SHOWN, []), label]))


def _parsed(name: str, content: bytes) -> Upload:
    """What a file says, kept by its content: a removed file that comes again is not read again.

    Streamlit's caches do not suit: what draws a bar may not run inside one.
    """
    kept: dict[tuple[str, str], ReadResult] = st.session_state.setdefault(_READ, {})
    with ThreadPoolExecutor(1) as beside:
        # A long file is read meanwhile, unless it may be one that was.
        digesting = beside.submit(_digest, content)
        if len(content) < LONG_BYTES or any(known == name for _, known in kept):
            digest = digesting.result()
            if (digest, name) in kept:
                return Upload(digest, kept[digest, name])
        found = _read(name, content)
        digest = digesting.result()
    kept[digest, name] = found
    while len(kept) > _MOST_READ or (
        len(kept) > 1 and sum(len(read.rows) for read in kept.values()) > _MOST_ROWS
    ):
        kept.pop(next(iter(kept)))
    return Upload(digest, found)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read(name: str, content: bytes) -> ReadResult:
    try:
        return read_benchmark(name, content)
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError) as error:
        # A reader's own mistake: the other files must not pay for it.
        _log.exception("reading %r failed", name)
        raise UnreadableFile(
            f"{name} could not be read ({type(error).__name__}); export it as CSV and try again."
        ) from error


def _label(name: str, digest: str, files: Mapping[str, Upload]) -> str:
    """The file's name, with a number where another file has it."""
    label, number = short(name, 80), 1
    while label in files and files[label].digest != digest:
        number += 1
        label = f"{short(name, 76)} ({number})"
    return label


def _list_files() -> None:
    files = _files()
    if not files:
        return
    left, right = st.columns([5, 1], vertical_alignment="bottom")
    with left:
        st.multiselect(
            "Files shown",
            list(files),
            key=SHOWN,
            persist_state="session",
            placeholder="None: the sample is shown",
        )
    with right:
        st.button("Remove all", on_click=_forget, width="stretch")


def _forget() -> None:
    for key in (_FILES, SHOWN, _REFUSED, _MAPPABLE):
        st.session_state.pop(key, None)


def _list_refused() -> None:
    refused: list[str] = st.session_state.get(_REFUSED, [])
    if not refused:
        return
    with st.container(key="slm_refused", border=True):
        st.markdown("\n\n".join(f"✕ {marked(sentence, 400)}" for sentence in refused))
        st.button("Dismiss", on_click=_dismiss)


def _dismiss() -> None:
    st.session_state[_REFUSED] = []
