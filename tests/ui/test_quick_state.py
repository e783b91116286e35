"""The session's state looked up by key says what Streamlit's own copy of all of it says."""

from streamlit.runtime.state.session_state import SessionState

from pages.ui import quick_state
from tests.pages.app import open_page


def test_every_key_holds_what_the_whole_copy_holds():
    app = open_page("overview_page", batch="4")
    app.number_input(key="context").set_value(None).run()
    state = app.session_state._state._state
    view = state.filtered_state
    assert isinstance(view, quick_state.View)
    whole = view._whole(state)
    assert len(whole) == len(view) > 30
    assert {key: view[key] for key in view} == whole
    assert view["batch"] == 4
    assert view["context"] is None
    assert all((key in view) == (key in whole) for key in [*whole, "no such key", "batch "])


def test_it_is_installed_once():
    quick_state.install()
    before = SessionState.filtered_state
    quick_state.install()
    assert SessionState.filtered_state is before


def test_a_streamlit_without_that_property_stays_as_it_is(monkeypatch):
    monkeypatch.delattr(SessionState, "filtered_state")
    quick_state.install()
    assert not hasattr(SessionState, "filtered_state")
