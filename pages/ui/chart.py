"""The one doorway through which figures reach the page.

`st.plotly_chart` mounts a new chart for every change, which loses the reader's zoom; this component keeps its
chart and hands Plotly the difference. It draws with the plotly.js of the installed plotly package.
"""

import base64
import hashlib
import json
import logging
import math
import os
import shutil
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
import plotly
import streamlit as st

from slmopt.figures import theme
from slmopt.reports.picture import Picture
from slmopt.words.glossary import help_for

# Streamlit serves the folder `static` beside its main script as /app/static.
STATIC = Path(__file__).resolve().parent / "static"
LIBRARY = "plotly.min.js"
# What is drawn in the browser; a change to any gives all of them a new address there.
_MODULES = ("chart.js", "chart.css", "slider.js", "slider.css", "present.js", "guide.js")
TABLES_KEY = "_slmopt_tables"
# Longer columns of numbers travel as binary: smaller, and faster to write and to read.
_BINARY_FROM = 24
_DIGITS = 6

_log = logging.getLogger(__name__)
# As long as somebody keeps the figure itself.
_sent: WeakKeyDictionary[Picture, bytes] = WeakKeyDictionary()


def chart(picture: Picture) -> None:
    """Draw a figure under its title; zoom and pan live as long as its key does.

    `parts.data_section()` shows the numbers of all figures drawn, with a download each.
    """
    if picture.numbers is not None:
        st.session_state.setdefault(TABLES_KEY, {})[picture.key] = picture
    _component()(key=picture.key, data=payload(picture))


def payload(picture: Picture) -> bytes:
    """What the browser is sent of a figure; made once for each."""
    made = _sent.get(picture)
    if made is None:
        made = _sent[picture] = _written(picture)
    return made


def _written(picture: Picture) -> bytes:
    return encode(
        {
            "title": picture.title,
            "alt": picture.alt,
            "name": picture.key,
            "height": picture.height or picture.figure.spec["layout"].get("height") or theme.HEIGHT_MAIN,
            "phoneHeight": picture.phone_height,
            "phoneBelow": theme.PHONE_BELOW_PX,
            "kinds": list(picture.kinds),
            # The page's main figure also explains the term that its title uses.
            "about": help_for(picture.heading) if picture.kinds else "",
            "figure": compact(picture.figure),
        }
    )


def begin_page() -> None:
    """Forget the tables of the page before; the entry script calls this at the start of every run."""
    st.session_state[TABLES_KEY] = {}


def encode(payload: Mapping[str, Any]) -> bytes:
    """The message's bytes. As a dict it would be written twice, with spaces."""
    return json.dumps(payload, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def compact(figure: theme.Figure) -> dict[str, Any]:
    """The figure as small JSON: no template, no more digits than a screen can show, what chart.js sets left out."""
    layout = _without(figure.spec["layout"], "template")
    for part, given in (("font", "family"), ("hoverlabel", "font")):
        if part in layout:
            layout[part] = _without(layout[part], given)
    if "annotations" in layout:
        layout["annotations"] = [_without(note, "showarrow") for note in layout["annotations"]]
    return {"data": _once([_small(trace) for trace in figure.spec["data"]]), "layout": _small(layout)}


def _once(traces: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The traces with each array sent once: where one comes again stands `{"as": its trace}`, of the same name."""
    first: dict[tuple[str, str], int] = {}
    for at, trace in enumerate(traces):
        for axis in ("x", "y", "customdata"):
            values = trace.get(axis)
            if isinstance(values, dict):
                place = first.setdefault((axis, values["bdata"]), at)
                if place != at:
                    trace[axis] = {"as": place}
    return traces


def _without(spec: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: part for key, part in spec.items() if key != name}


def _small(value: Any) -> Any:
    """The value for JSON, recursively."""
    if isinstance(value, str | bool | int) or value is None:
        return value
    if isinstance(value, Mapping):
        return {name: _small(part) for name, part in value.items() if part is not None}
    if isinstance(value, pd.Series | pd.Index):
        value = value.to_numpy()
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, list | tuple):
        return [_small(part) for part in value]
    if isinstance(value, np.bool_ | np.integer):
        return value.item()
    return _number(float(value)) if isinstance(value, float | np.floating) else str(value)


def _array(values: np.ndarray) -> Any:
    """Long numeric arrays as Plotly's base64 form, others as lists."""
    small = values.size < _BINARY_FROM
    if small or values.dtype.kind not in "fiu":
        return [_small(part) for part in values.tolist()]
    narrow = values.astype(_narrowest(values))
    spec = {"dtype": narrow.dtype.str[1:], "bdata": base64.b64encode(narrow.tobytes()).decode()}
    return spec if values.ndim == 1 else {**spec, "shape": ", ".join(map(str, values.shape))}


def _narrowest(values: np.ndarray) -> str:
    largest = 0 if values.dtype.kind == "f" else int(np.abs(values).max())
    if values.dtype.kind == "f" or largest > 2**31 - 1:
        return "<f4"
    return "<i2" if largest < 2**15 else "<i4"


def _number(value: float) -> float | int | None:
    """The number with six significant digits; None where it is no number, which Plotly leaves out."""
    if not math.isfinite(value):
        return None
    if value.is_integer() and abs(value) < 10**_DIGITS:
        return int(value)
    return float(f"{value:.{_DIGITS}g}")


@cache
def _component() -> Any:
    """The registered component; once a process, with plotly.js put where Streamlit serves it."""
    place_library()
    code = loader(
        "chart.js",
        library=f"{LIBRARY}?v={plotly.__version__}",
        light=[*theme.CATEGORICAL["light"], *theme.SURFACE_VALUES["light"]],
    )
    return st.components.v2.component("slmopt.chart", js=code, isolate_styles=False)


def loader(module: str, **options: Any) -> str:
    """The few lines that travel with every message; the component itself is a file that browsers keep."""
    digest = hashlib.sha256()
    for name in _MODULES:
        digest.update((STATIC / name).read_bytes())
    written = json.dumps({"version": digest.hexdigest()[:12], **options}, separators=(",", ":"))
    return _LOADER.replace("OPTIONS", written).replace("MODULE", module)


# The application's root is read from Streamlit's own script, since pages have addresses of their own.
_LOADER = """
const own = document.querySelector('script[type=module][src*="/static/js/"]');
const root = own ? own.src.split("/static/js/")[0] : location.origin, options = {...OPTIONS, root};
export default async (component) => { try {
return (await import(`${root}/app/static/MODULE?v=${options.version}`)).default(component, options);
} catch (error) { console.warn(error); component.parentElement.textContent =
`This could not load its code from ${root}/app/static. Reload the page to try again.`; } }"""


def place_library(folder: Path = STATIC) -> Path:
    """Copy plotly.js to where Streamlit serves it, unless it is there.

    The copy appears under its name only when complete, so that several processes may do this at once.
    """
    source = Path(plotly.__file__).parent / "package_data" / LIBRARY
    target = folder / LIBRARY
    if target.is_file() and _same(source, target):
        return target
    try:
        folder.mkdir(exist_ok=True)
        handle, name = tempfile.mkstemp(prefix="plotly-", suffix=".partial.js", dir=folder)
        os.close(handle)
        shutil.copy2(source, name)
        Path(name).chmod(0o644)
        Path(name).replace(target)
    except OSError as error:
        # The figure says so itself in the browser, beside what it would have shown.
        _log.warning("plotly.js could not be copied to %s: %s", folder, error)
    return target


def _same(source: Path, target: Path) -> bool:
    """Whether the copy is of this very file: `copy2` keeps size and time."""
    one, other = source.stat(), target.stat()
    return one.st_size == other.st_size and int(one.st_mtime) == int(other.st_mtime)
