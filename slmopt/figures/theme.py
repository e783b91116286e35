"""The one home of how figures look: colours, dashes, markers, type, margins, heights.

Figures never name a real colour. They name a slot (`#000001` … `#000010`) or a surface (`#000011` … `#000013`);
the browser puts in the values of the theme on screen, `to_standalone` those of a file that leaves it.
Two more hexadecimal digits make a slot transparent: `tint(ESTIMATE, 0.18)`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal

import plotly.graph_objects as go

Mode = Literal["light", "dark"]
KindName = Literal["ceiling", "estimate", "measured"]
Side = Literal["memory", "compute", "over"]
Spec = dict[str, Any]

CEILING: Final = "#000001"
INK: Final = CEILING
ESTIMATE: Final = "#000002"
MEASURED: Final = "#000003"
MEMORY: Final = "#000004"
COMPUTE: Final = "#000005"
MISSED: Final = "#000006"
SCENARIOS: Final = ("#000007", "#000008", "#000009", "#000010")
SLOTS: Final = (CEILING, ESTIMATE, MEASURED, MEMORY, COMPUTE, MISSED, *SCENARIOS)

PAGE: Final = "#000011"
LINES: Final = "#000012"
PANEL: Final = "#000013"
SURFACES: Final = (PAGE, LINES, PANEL)

CATEGORICAL: Final[Mapping[Mode, tuple[str, ...]]] = MappingProxyType(
    {
        "light": (
            *("#1B2127", "#9E76DC", "#2C9A87", "#0340B2", "#B78004", "#930A03"),
            *("#1F7291", "#6F1659", "#5B753A", "#634138"),
        ),
        "dark": (
            *("#E8ECF1", "#C19EFD", "#0AB694", "#276EE1", "#F7A722", "#DF2414"),
            *("#91C8D6", "#B53D84", "#F8ED60", "#8D6B5B"),
        ),
    }
)
SURFACE_VALUES: Final[Mapping[Mode, tuple[str, ...]]] = MappingProxyType(
    {"light": ("#FFFFFF", "#DDE2E7", "#F6F7F9"), "dark": ("#0F1317", "#2A323B", "#171C22")}
)
CONTROLS: Final[Mapping[Mode, str]] = MappingProxyType({"light": "#1B2127", "dark": "#7D8A97"})

FONT: Final = '"Source Sans", "Source Sans 3", "Source Sans Pro", system-ui, sans-serif'
TEXT_PX: Final = 13
TICK_PX: Final = 12

HEIGHT_MAIN: Final = 420
HEIGHT_SIDE: Final = 320
HEIGHT_BARS: Final = 240
HEIGHT_PHONE: Final = 300
# About what a row of bars needs; more makes beams of them.
BAR_ROW_PX: Final = 60
# Narrower figures take their phone form.
PHONE_BELOW_PX: Final = 440

MARGIN: Final[Mapping[str, int]] = MappingProxyType({"l": 48, "r": 8, "t": 30, "b": 50})
# Above plots without a y title.
MARGIN_BARE: Final = 10
# Room on the right for labels at the lines' ends.
MARGIN_END_LABELS: Final = 112

# Per side: the region's tint, its marker in words, its hatch. Hatches are thin, and never on areas or on
# bars under 12 px.
TINT: Final[Mapping[Side, float]] = MappingProxyType({"memory": 0.06, "compute": 0.09, "over": 0.05})
SIDE_COLOUR: Final[Mapping[Side, str]] = MappingProxyType(
    {"memory": MEMORY, "compute": COMPUTE, "over": MISSED}
)
SIDE_MARK: Final[Mapping[Side, str]] = MappingProxyType({"memory": "▲", "compute": "▼", "over": "✕"})
SIDE_HATCH: Final[Mapping[Side, str]] = MappingProxyType({"memory": "/", "compute": "\\", "over": "x"})
HATCH_SIZE: Final = 9
HATCH_SOLIDITY: Final = 0.14
HATCH_OPACITY: Final = 0.55
BAND_OPACITY: Final = 0.18


@dataclass(frozen=True, slots=True)
class Kind:
    """How one kind of number is drawn: slot, dash and width (px) of lines, marker, mark in text."""

    name: KindName
    colour: str
    dash: str
    width: float
    symbol: str
    size: float
    mark: str


KINDS: Final[Mapping[KindName, Kind]] = MappingProxyType(
    {
        "ceiling": Kind("ceiling", CEILING, "solid", 3, "square", 11, "□"),
        "estimate": Kind("estimate", ESTIMATE, "6px,4px", 2, "circle", 11, "○"),
        "measured": Kind("measured", MEASURED, "solid", 0, "diamond", 12, "◆"),
    }
)
# The present state stands out by size, not by colour.
NOW_SIZE: Final = 15

SLOT: Final = re.compile(r"#0000(0[1-9]|1[0-3])([0-9A-Fa-f]{2})?(?![0-9A-Fa-f])")


def palette(mode: Mode) -> dict[str, str]:
    """Every placeholder with its value in the light or the dark theme."""
    values = (*CATEGORICAL[mode], *SURFACE_VALUES[mode])
    return dict(zip((*SLOTS, *SURFACES), values, strict=True))


def resolve(text: str, mode: Mode = "light") -> str:
    """The text with real colours for its placeholders; transparency stays."""
    values = palette(mode)
    return SLOT.sub(lambda found: values[f"#0000{found[1]}"] + (found[2] or ""), text)


def tint(colour: str, opacity: float) -> str:
    """A slot made transparent, for fills that have no opacity of their own."""
    return f"{colour}{round(255 * opacity):02X}"


def mixed(first: str, last: str, steps: int) -> list[str]:
    """Colours from `first` to `last`, both included, evenly spaced in RGB."""
    ends = [[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in (first, last)]
    shares = [step / (steps - 1) for step in range(steps)]
    return [
        "#" + "".join(f"{round(a + (b - a) * s):02X}" for a, b in zip(*ends, strict=True)) for s in shares
    ]


def sequential(mode: Mode) -> list[str]:
    """Ten colours of a heat map: from the panel to the memory side."""
    values = palette(mode)
    return mixed(values[PANEL], values[MEMORY], 10)


def diverging(mode: Mode) -> list[str]:
    """Ten colours around 1×: missed, panel, measured."""
    values = palette(mode)
    return [*mixed(values[MISSED], values[PANEL], 6)[:5], *mixed(values[PANEL], values[MEASURED], 6)[1:]]


class Figure(go.Figure):  # type: ignore[misc]  # Plotly has no types.
    """A figure that Plotly's objects are made of only when somebody looks into it; what a page sends is its ``spec``."""

    spec: Spec

    def __init__(self, data: Sequence[Spec], layout: Spec) -> None:
        object.__setattr__(self, "spec", {"data": list(data), "layout": layout})

    def __getattr__(self, name: str) -> Any:
        # Nothing of Plotly's is there before its own constructor has run, which asks for attributes too.
        if "_validate" in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        super().__init__(**self.spec, _validate=False)
        return getattr(self, name)


def figure(data: Sequence[Spec], layout: Spec) -> Figure:
    """A figure in one call. Plotly's own checks take long, so they are left to the tests: `checked(figure)`."""
    return Figure(data, layout)


def checked(drawn: go.Figure) -> go.Figure:
    """The same figure through Plotly's checks; ValueError where a property or a value is wrong."""
    return go.Figure(drawn.to_dict())


def to_standalone(drawn: go.Figure, mode: Mode = "light") -> go.Figure:
    """A copy with real colours, page and type of its own, for HTML, slides and pictures."""
    spec = json.loads(resolve(json.dumps(drawn.to_dict()), mode))
    values = palette(mode)
    layout = spec["layout"]
    layout.pop("meta", None)
    layout["template"] = {"layout": {"colorway": list(CATEGORICAL[mode]), "font": {"family": FONT}}}
    layout["paper_bgcolor"] = layout["plot_bgcolor"] = values[PAGE]
    return go.Figure(spec)
