"""Log-in is asked for where secrets name a provider, and nowhere else."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from tests.pages.app import MAIN


def test_nobody_is_asked_without_a_provider():
    app = AppTest.from_file(str(MAIN), default_timeout=60).run()
    assert not [button for button in app.button if button.key == "log_in"]
    assert app.sidebar.selectbox


def test_with_a_provider_nothing_is_shown_before_log_in():
    app = AppTest.from_file(str(MAIN), default_timeout=60)
    app.secrets["auth"] = {"client_id": "x"}
    app.run()
    assert [button.key for button in app.button] == ["log_in"]
    assert not app.sidebar.selectbox
    assert not app.exception
