"""What is said of a pass's operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from slmopt.theory.operators import Operator, OperatorKind
from slmopt.words import numbers as n

NAMES: Final[Mapping[OperatorKind, str]] = {
    "attention": "Attention",
    "state": "State",
    "mlp": "MLP",
    "experts": "Experts",
    "head": "Head",
    "other": "Norms and others",
    "weights": "Weights",
}

PHASES: Final[Mapping[str, str]] = {"decode": "a decode step", "prefill": "a prefill"}


def operator_name(one: Operator, *, several: bool) -> str:
    """An operator's name; with its layers where a model has several kinds of them."""
    if one.group is None or not several:
        return NAMES[one.kind]
    kind = one.layer_kind.split(" + ")[0]
    return f"{NAMES[one.kind]}, {one.layers:,} {kind}"


def several_groups(found: Sequence[Operator]) -> bool:
    """Whether layers have to be told apart."""
    return len({one.group for one in found if one.group is not None}) > 1


def operators_title(found: Sequence[Operator], phase: str) -> str:
    """Finding: the operator that takes most of the pass, all its layer groups together."""
    sums: dict[OperatorKind, float] = {}
    for one in found:
        sums[one.kind] = sums.get(one.kind, 0.0) + one.share
    kind = max(sums, key=lambda name: sums[name])
    verb = "takes" if kind in ("attention", "state", "mlp", "head") else "take"
    return f"{NAMES[kind]} {verb} **{n.percent(sums[kind])}** of {PHASES[phase]}"


def operators_alt(found: Sequence[Operator], phase: str) -> str:
    """The figure for those who do not see it."""
    most = sorted(found, key=lambda one: -one.share)[:4]
    several = several_groups(found)
    parts = ", ".join(f"{operator_name(one, several=several)} {n.percent(one.share)}" for one in most)
    return f"{operators_title(found, phase).replace('**', '')}. A bar for each operator's share of the time: {parts}."


def intensity_words(one: Operator) -> str:
    """Operations a byte; an operator that moves nothing has none."""
    return f"{n.figures(one.intensity)}{n.NBSP}FLOP/byte" if one.bytes else "moves no bytes"
