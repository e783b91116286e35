"""What happens once in a process: the entry script itself is run anew on each interaction, and would ask each time."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import streamlit as st

from pages.ui import process, quick_state, state
from slmopt.advice.plan import plan
from slmopt.theory.evaluation import evaluate

_CSS = Path(__file__).resolve().parent / "assets" / "page.css"


@st.cache_resource(show_spinner=False)
def settle() -> None:
    """Load what lives as long as the server, whatever page a visitor opens first: libraries, presets, a first answer."""
    quick_state.install()
    evaluate(state.current())
    plan(state.current())
    process.settle()


@cache
def style() -> str:
    """The pages' style sheet."""
    return f"<style>{_CSS.read_text(encoding='utf-8')}</style>"
