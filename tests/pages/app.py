"""The dashboard without a browser: a page at an address, and what it says."""

import html
import json
import re
from collections.abc import Iterable
from pathlib import Path

from streamlit.testing.v1 import AppTest

from pages.ui import groups

GROUPS = {group.key: group for group in groups.GROUPS}
UNFOLDED = ("slm_arithmetic", "slm_sources")
MAIN = Path(__file__).resolve().parents[2] / "pages" / "ui" / "main.py"


def open_page(page: str, *, unfolded: bool = True, **address: str) -> AppTest:
    """The page (its file's stem) as it stands when the address carries these parameters.

    ``unfolded``: with arithmetic and sources, which a page writes only for those who open them.
    """
    app = AppTest.from_file(str(MAIN), default_timeout=60)
    for section in UNFOLDED if unfolded else ():
        app.session_state[section] = True
    for name, value in address.items():
        app.query_params[name] = value
    app.run()
    return go(app, page)


def go(app: AppTest, page: str) -> AppTest:
    """Switch to another page of the same session."""
    app.switch_page(f"../{page}.py").run()
    assert not app.exception, app.exception
    return app


def opened(app: AppTest, *groups: str) -> AppTest:
    """Open these of the panel's groups: the fields of a closed one are drawn only where one of them is changed."""
    for group in groups:
        app.session_state[f"slm_group_{group}"] = True
    return app.run()


def title(app: AppTest, group: str) -> str:
    """What a group of the panel is called, with the words that the style writes behind its name."""
    name = next(one.label for one in app.expander if one.label == GROUPS[group].title)
    rule = rf"slm_group_{group} summary p::after {{ content: \"([^\"]*)\"; }}"
    styles = (element.proto.body for element in app.get("html"))
    return name + next(found[1] for style in styles if (found := re.search(rule, style)))


def said(app: AppTest) -> str:
    """All words of the page's body, without markup."""
    parts = [element.value for element in (*app.header, *app.markdown)]
    parts += [re.sub(r"<[^>]+>", " ", html.unescape(element.proto.body)) for element in app.get("html")]
    return "\n".join(parts).replace("\u00a0", " ").replace("**", "")


def answer(app: AppTest) -> str:
    """The page's one sentence."""
    return app.header[0].value.replace("**", "").replace("\u00a0", " ")


def slider(app: AppTest, key: str) -> str:
    """What a slider says that it stands at."""
    for element in app.get("bidi_component"):
        if element.proto.id.endswith(f"-{key}"):
            data = json.loads(element.proto.bytes)
            return str(data["texts"][data["at"]])
    raise LookupError(f"no slider {key}")


def figures(app: AppTest) -> str:
    """What the page hands to its figures."""
    return "".join(html.unescape(str(element.proto)) for element in app.get("bidi_component"))


def shows(app: AppTest, said: str, tiles: Iterable[Iterable[str]]) -> bool:
    """Whether answer and tiles are these."""
    assert answer(app) == said.replace("**", "").replace("\u00a0", " ")
    shown = "".join(element.proto.body for element in app.get("html"))
    assert all(html.escape(part) in shown for tile in tiles for part in tile)
    return True
