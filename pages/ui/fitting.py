"""The section that fits this machine's real rates to the rows on the page, and hands the fit to the scenario."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import streamlit as st

from pages.ui import own
from pages.ui.chart import chart
from pages.ui.judging import Gathered
from slmopt.reports.picture import Picture
from slmopt.specs.base import SpecError
from slmopt.specs.library import library, preset_root
from slmopt.words.calibrated import measured_range
from slmopt.words.measured_rows import marked

BUSY: Final = "Fitting this machine's rates …"

STEPS: Final = "step_times_t2.csv"
"""The sample's own sweep of single steps, which tells more of a machine than its few runs of a benchmark."""


def section(found: Gathered) -> None:
    """The closed section; nothing is fitted before it is opened."""
    closed = st.expander("Fit this machine's rates to these rows", key="slm_fit", on_change="rerun")
    if not closed.open:
        return
    with closed:
        _body(found)


def _body(found: Gathered) -> None:
    # Fits need SciPy, which no other part of a page does.
    from slmopt.figures import calibration as figures  # noqa: PLC0415
    from slmopt.figures.named import Named  # noqa: PLC0415
    from slmopt.reports import calibration_tables as tables  # noqa: PLC0415
    from slmopt.words import calibration as words  # noqa: PLC0415

    devices = _devices(found.ident, found)
    device = devices[0] if devices else ""
    if len(devices) > 1:
        device = st.selectbox("Machine", devices, key="fit_device", format_func=marked) or device
    try:
        used, fit = _fitted(found.ident, device, found)
    except SpecError as error:
        st.markdown(f"No fit: {marked(str(error), 300)}")
        return
    if found.sample:
        st.markdown(":small[Sample: this project's sweep of single steps on its two-core machine.]")
    st.markdown(words.summary(fit))
    chart(
        Picture(
            "measurement_fit",
            words.title(fit),
            words.alt(fit),
            figures.measured_against_predicted([Named("", fit)]),
            partial(tables.points, fit),
            kinds=("estimate", "measured"),
        )
    )
    st.dataframe(words.rate_rows(fit), hide_index=True, key="fit_rates")
    st.markdown("\n".join(f"- :small[{marked(text, 300)}]" for text in words.notes(fit, used)))
    st.markdown(
        f":small[Measured: {marked(measured_range(fit.calibration), 200)}. Beyond it, predictions are marked.]"
    )
    st.button(
        "Use this fit",
        key="use_fit",
        on_click=_use,
        args=(fit.calibration.text(), used.device),
        help="Estimates on every page then start from these rates, and the link carries them.",
    )
    if st.session_state.get("fit") == fit.calibration.text():
        st.markdown(":small[✓ The scenario's estimates start from this fit.]")


@st.cache_resource(max_entries=8, scope="session", show_spinner=BUSY)
def _devices(ident: str, _found: Gathered) -> list[str]:
    """The devices that these rows were measured on, the one with most rows first."""
    del ident
    counts = _found.rows["device"].value_counts()
    return [str(name) for name, count in counts.items() if count]


@st.cache_resource(max_entries=8, scope="session", show_spinner=BUSY)
def _fitted(ident: str, device: str, _found: Gathered) -> Any:
    """The usable rows of a machine, and their fit."""
    from slmopt.measured.calibration import calibrate  # noqa: PLC0415
    from slmopt.measured.calibration_rows import FitRows, passes, usable  # noqa: PLC0415
    from slmopt.measured.detect import read_benchmark  # noqa: PLC0415

    del ident
    if _found.sample:
        content = (preset_root() / "this_machine" / STEPS).read_bytes()
        told = _found.told[0].facts
        used = usable(passes(read_benchmark(STEPS, content).rows, told))
    else:
        parts = [passes(_found.read.rows.loc[one.index], one.facts) for one in _found.told]
        used = usable(FitRows.joined(parts) if parts else passes(_found.read.rows), device or None)
    return used, calibrate(used.rows)


def _use(text: str, device: str) -> None:
    """Hand the fit to the panel, with the machine that it is of."""
    known = {record.name for record in library().devices.values()} | set(own.devices())
    if device in known:
        st.session_state["device"] = device
    st.session_state["fit"] = text
