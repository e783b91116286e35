"""Which units this visitor reads: the panel's switch, carried by the address, and what holds for one run of a page."""

from __future__ import annotations

from typing import get_args

import streamlit as st

from slmopt.words import units

KEY = "sizes"


def chosen() -> units.Units:
    """The units of this session; on a visitor's first run, when the switch is drawn only later, those of the address."""
    return units.chosen(st.session_state.get(KEY, st.query_params.get(KEY)))


def control() -> None:
    """The switch at the panel's foot."""
    st.segmented_control(
        "Sizes in",
        get_args(units.Sizes),
        default=units.USUAL.sizes,
        required=True,
        key=KEY,
        bind="query-params",
        help="GB is 10⁹ bytes, as makers sell memory; GiB is 2³⁰, as operating systems count. Bandwidths stay in GB/s.",
    )
