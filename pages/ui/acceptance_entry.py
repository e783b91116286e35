"""What a tool printed of acceptance, turned into the scenario's figure."""

from __future__ import annotations

import streamlit as st

from pages.ui import parts
from slmopt.advice.drafts import speedup_at
from slmopt.specs.setup import Setup
from slmopt.theory.acceptance import acceptance_from_share, acceptance_from_tokens, tokens_from_positions
from slmopt.theory.speculation import expected_tokens
from slmopt.words import drafts as words

KINDS = {
    "share": "accepted / drafted (llama.cpp, vLLM)",
    "tokens": "tokens a pass (SGLang's accept length)",
    "positions": "acceptance by position (vLLM)",
}


def printed(setup: Setup, draft_tokens: int) -> None:
    """A closed section that reads one of three printed figures."""
    with st.expander("From what your tool printed", key="slm_printed"):
        kind = parts.segments("It printed", KINDS, "share", "printed_kind")
        length = st.number_input(
            "Draft length (tokens)", 1, 64, draft_tokens, key="printed_length", persist_state="session"
        )
        try:
            acceptance = _acceptance(kind, int(length))
        except ValueError as error:
            parts.error_box(f"{error}.", "slm_printed_error")
            return
        if acceptance is None:
            return
        tokens = float(expected_tokens(acceptance, int(length)))
        gain = speedup_at(setup, acceptance, int(length))
        st.markdown(words.printed(acceptance, tokens, gain, int(length)))


def _acceptance(kind: str, length: int) -> float | None:
    """The geometric model's acceptance; None while nothing is entered. Raises ValueError with a sentence."""
    if kind == "positions":
        text = st.text_input(
            "Shares, position by position", placeholder="0.90, 0.66, 0.46", key="printed_positions"
        )
        shares = _numbers(text)
        if not shares:
            return None
        return acceptance_from_tokens(tokens_from_positions(shares), len(shares))
    label = "Accepted / drafted" if kind == "share" else "Tokens a pass"
    value = st.number_input(label, value=None, key=f"printed_{kind}", persist_state="session")
    if value is None:
        return None
    return acceptance_from_share(value, length) if kind == "share" else acceptance_from_tokens(value, length)


def _numbers(text: str) -> list[float]:
    parts_ = [part for part in text.replace(";", ",").replace("/", ",").split(",") if part.strip()]
    try:
        found = [float(part) for part in parts_]
    except ValueError:
        raise ValueError(
            "Give shares from 0 to 1 with commas between them, such as 0.90, 0.66, 0.46"
        ) from None
    if any(not 0 <= share <= 1 for share in found) or len(found) > 64:
        raise ValueError("Give at most 64 shares, each from 0 to 1")
    return found
