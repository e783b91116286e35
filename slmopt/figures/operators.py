"""Figure of a pass's operators: shares of its time, coloured by what each alone would wait for."""

from __future__ import annotations

from collections.abc import Sequence

from slmopt.figures import theme
from slmopt.figures.frame import base_layout
from slmopt.figures.marks import bar, note, safe
from slmopt.figures.theme import Side, Spec
from slmopt.theory.operators import Operator
from slmopt.words import numbers as n
from slmopt.words.operators import intensity_words, operator_name, several_groups

MOST_ROWS = 10
_SMALLEST = 0.005
_ROW_PX = 30


def shares(found: Sequence[Operator]) -> theme.Figure:
    """A bar for each operator of each layer group, largest first; what is too small to see is summed up."""
    several = several_groups(found)
    ordered = sorted(found, key=lambda one: -one.share)
    shown = [one for one in ordered if one.share >= _SMALLEST][:MOST_ROWS] or ordered[:1]
    rest = sum(one.share for one in ordered) - sum(one.share for one in shown)
    names = [safe(operator_name(one, several=several)) for one in shown]
    data: list[Spec] = []
    notes: list[Spec] = []
    for at, (one, name) in enumerate(zip(shown, names, strict=True)):
        side: Side = "compute" if one.compute_first else "memory"
        hover = (
            f"<b>{name}</b><br>{n.percent(one.share)} of the pass, at least {n.seconds(one.seconds)}"
            f"<br>{n.bytes_(one.bytes)}, {n.flops(one.flops)}<br>{intensity_words(one)}"
        )
        data.append(
            bar(
                [100 * one.share],
                [at],
                side,
                hovertext=[hover],
                hovertemplate="%{hovertext}<extra></extra>",
                hoverinfo=None,
            )
        )
        words = f"<b>{n.percent(one.share)}</b> {theme.SIDE_MARK[side]} {intensity_words(one)}"
        notes.append(note(100 * one.share, at, words, at="left", dx=8, name=f"operator {at}"))
    if rest >= _SMALLEST:
        notes.append(note(100, len(shown) - 0.5, f"others {n.percent(rest)}", at="right", up="bottom"))
    layout = base_layout(
        x_title="Share of the pass's time (%)",
        x_limits=(0, 100 * max(one.share for one in shown) * 1.5),
        y_limits=(len(shown) - 0.4, -0.6),
        y_axis={
            "tickmode": "array",
            "tickvals": list(range(len(shown))),
            "ticktext": names,
            "showgrid": False,
        },
        height=max(150, _ROW_PX * len(shown) + 80),
        margin={"l": 190 if several else 130, "r": 8, "t": 14, "b": 46},
        notes=notes,
        phone={
            "margin.l": 110,
            "yaxis.ticktext": [name.replace(", ", ",<br>") for name in names],
            **{f"annotations[operator {at}].text": f"{n.percent(one.share)}" for at, one in enumerate(shown)},
        },
    )
    return theme.figure(data, layout)
