"""Figures of the page Your model that know no layers: parameters by role, and all weights in one piece."""

from __future__ import annotations

from collections.abc import Sequence

from slmopt.figures import placing, theme
from slmopt.figures.frame import base_layout
from slmopt.figures.marks import bar, note
from slmopt.figures.theme import Spec
from slmopt.theory.model_shape import RoleParams
from slmopt.words import model as words
from slmopt.words import numbers as n


def in_one_piece(all_bytes: float) -> theme.Figure:
    """All weights as one bar, where nobody described the layers."""
    scale, unit = n.byte_scale(all_bytes)
    size = all_bytes / scale
    layout = base_layout(
        x_title=f"Weights ({unit})",
        x_limits=(0, size * 1.2),
        y_limits=(0.6, -0.6),
        y_axis={"tickmode": "array", "tickvals": [0], "ticktext": ["All weights"], "showgrid": False},
        height=150,
        margin={"l": 96, "b": 46},
        notes=[note(size, 0, f"<b>{n.bytes_(all_bytes)}</b>", dx=8)],
    )
    return theme.figure([bar([size], [0], "memory")], layout)


def roles(found: Sequence[RoleParams]) -> theme.Figure:
    """Parameters by role: hatched what each token uses, outlined what it does not."""
    scale, prefix = n.si_scale(max(role.params for role in found))
    scale, prefix = (1e9, "B") if scale >= 1e9 else (scale, prefix)
    rows = list(range(len(found)))
    used = [role.used / scale for role in found]
    rest = [(role.params - role.used) / scale for role in found]
    told = [_role_hover(role) for role in found]
    hover: Spec = {"hovertext": told, "hovertemplate": "%{hovertext}<extra></extra>", "hoverinfo": None}
    data = [bar(used, rows, "memory", **hover)]
    if any(value > 0 for value in rest):
        data.append(bar(rest, rows, "memory", base=used, outline=True, **hover))
    notes = [note(role.params / scale, at, _role_words(role), dx=8) for at, role in enumerate(found)]
    top = max(role.params for role in found) / scale
    layout = base_layout(
        x_title=f"Parameters ({prefix})" if prefix else "Parameters",
        x_limits=(0, top * _room(found)),
        y_limits=(len(found) - 0.45, -0.6),
        y_axis={
            "tickmode": "array",
            "tickvals": rows,
            "ticktext": [words.ROLES[role.role] for role in found],
            "showgrid": False,
        },
        x_axis={"nticks": 5},
        height=max(theme.HEIGHT_SIDE, 40 * len(found) + 60) if len(found) > 1 else 150,
        margin={"l": 150, "r": 8, "t": 14, "b": 46},
        notes=notes,
        phone={"margin.l": 132},
        barmode="overlay",
    )
    return theme.figure(data, layout)


def _room(found: Sequence[RoleParams]) -> float:
    """The axis's length over the longest bar's, so that the words behind every bar stay in the plot."""
    top, px = max(role.params for role in found), placing.PHONE_PX - 140
    needed = [(role.params / top) / (1 - (placing.width(_role_words(role)) + 16) / px) for role in found]
    return max(1.05, *needed)


def _role_words(role: RoleParams) -> str:
    if role.used in (role.params, 0.0):
        return words.params(role.params)
    return f"{words.params(role.params)},<br>{words.params(role.used)} used"


def _role_hover(role: RoleParams) -> str:
    return f"<b>{words.ROLES[role.role]}</b><br>{role.params:,.0f} parameters<br>{role.used:,.0f} used by a token"
