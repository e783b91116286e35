"""Where figures stand beside one another."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator


def side_by_side() -> tuple[DeltaGenerator, DeltaGenerator]:
    """Two equal columns for side figures; on phones they stack."""
    left, right = st.columns(2, gap="medium")
    return left, right
