"""What the page Share says: what a link carries, whom it reaches, what a file brings back."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from slmopt.words.measured_rows import marked

LEFT_FILES: Final = "This link carries the scenario; the measurements stayed with their owner."
"""On a page opened by a link whose sender had files."""

REPORT: Final = (
    "The report needs no server: anyone can open it, on any machine, without a network. It keeps ceilings, estimates and "
    "measurements apart and names scenario, assumptions, sources, version and date."
)
PDF: Final = "For a PDF print the HTML report: it is set for A4. Single figures leave as SVG or PNG by the buttons under each."
FILE: Final = (
    "The scenario as JSON, own models and devices included. Open it here again, also in another version: what cannot be "
    "taken over is said."
)


def local(url: str) -> bool:
    """Whether an address is that of the machine it is read on; an empty one is taken for local."""
    host = urlsplit(url).hostname or "localhost"
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def answer(url: str, *, own: bool) -> str:
    """Whom the link reaches and what it leaves behind."""
    if local(url):
        return "The link below opens on this machine only: to hand this over, send the **HTML report**."
    if own:
        return "The link below names a record of your own, which it cannot carry: send the **scenario file** or the **report**."
    return "The link below opens this scenario for everyone who reaches this address."


def link_notes(url: str, *, uploads: bool, own: Sequence[str]) -> list[str]:
    """Markdown: what the link carries and what stays."""
    notes = [
        "It carries the whole scenario, every change in the panel included, and stays valid in later versions."
    ]
    if local(url):
        notes.append(
            "Its address is local to this machine. Others reach the dashboard when it is started with "
            "`make run ADDRESS=0.0.0.0` and the link names this machine; otherwise send the small HTML report."
        )
    stay = "Files that you added never travel in a link"
    notes.append(f"{stay}: the page that opens says so." if uploads else f"{stay}.")
    if own:
        notes.append(
            f"{', '.join(map(marked, own))}: a record of your own stays in this session. The scenario file and the reports carry it."
        )
    return notes


def not_in_panel(field: str, value: object) -> str:
    """A value of a file for which the panel has no field."""
    return f"{marked(field, 40)} = {marked(value, 60)} has no field in the panel and is left out; the command line takes it."


def taken(lost: int) -> str:
    """What came of a scenario file."""
    if not lost:
        return "✓ The scenario of the file is set; nothing of it was lost."
    return f"◐ The scenario of the file is set, but for {'one thing' if lost == 1 else f'{lost} things'}:"
