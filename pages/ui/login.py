"""Log-in through Streamlit's OpenID Connect, asked for only where secrets name a provider."""

from __future__ import annotations

import streamlit as st


def ask() -> None:
    """Stop at a log-in button where log-in is set up and this visitor has not done it; else do nothing."""
    if not _wanted() or st.user.get("is_logged_in", False):
        return
    st.header("Log in to see this dashboard.", anchor=False)
    st.button("Log in", on_click=st.login, key="log_in")
    st.stop()


def _wanted() -> bool:
    return st.secrets.load_if_toml_exists() and "auth" in st.secrets
