"""Memory's figures: what each change frees, sequences against context, and what each engine holds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from slmopt.advice.what_ifs import engine_holdings, memory_what_ifs
from slmopt.figures import memory as figures
from slmopt.figures.named import Named
from slmopt.figures.offload import against_layers
from slmopt.reports import memory_tables as tables
from slmopt.reports.picture import Picture
from slmopt.theory.context_curve import context_curve
from slmopt.theory.evaluation import Evaluation, evaluate
from slmopt.theory.offload_curve import layers_curve, offload_tells
from slmopt.words import memory as words
from slmopt.words import places

# Of the changes, those whose line against context is worth seeing.
_LINES = slice(1, 4)


def pictures(evaluation: Evaluation, pinned: Sequence[Named[Evaluation]] = ()) -> tuple[Picture, ...]:
    """A bar for each change; sequences that fit against context; requests held under each allocation.

    Where the weights do not fit, or some are kept by a host, decode against layers on the card follows.
    """
    scenario = evaluation.setup.scenario
    cases = [
        (words.what_if_name(name, evaluate(case)), evaluate(case)) for name, case in memory_what_ifs(scenario)
    ]
    rows = [(name, case.capacity) for name, case in cases]
    curve = context_curve(evaluation.setup)
    lines = [
        ("as now", curve.sequences),
        *(
            ((one.name, context_curve(one.result.setup).sequences) for one in pinned)
            if pinned
            else ((name, context_curve(case.setup).sequences) for name, case in cases[_LINES])
        ),
    ]
    held = engine_holdings(scenario)
    changes = words.what_if_title(rows)
    context = words.context_title(evaluation, curve.now[1], curve.doubled)
    paging = words.paging_title(held[1][1], held[0][1])
    return (
        Picture(
            "memory_what_ifs",
            changes,
            f"{changes}. A bar for each change: weights, sequences now, room for more.",
            figures.what_ifs([Named(name, capacity) for name, capacity in rows]),
            partial(tables.what_ifs, rows),
            kinds=("ceiling",),
        ),
        Picture(
            "memory_context",
            context,
            f"{context}. Sequences that fit against context.",
            figures.against_context(curve.context, [Named(*one) for one in lines], curve.now),
            partial(tables.against_context, curve.context, lines),
        ),
        Picture(
            "memory_paging",
            paging,
            f"{paging}. Requests held under each allocation and engine.",
            figures.holdings([Named(*row) for row in held]),
            partial(tables.holdings, held),
        ),
        *_offload(evaluation),
    )


def _offload(evaluation: Evaluation) -> tuple[Picture, ...]:
    if not offload_tells(evaluation):
        return ()
    curve = layers_curve(evaluation.setup.scenario)
    return (
        Picture(
            "memory_layers",
            places.layers_title(curve),
            places.layers_alt(curve),
            against_layers(curve),
            partial(tables.against_layers, curve),
            kinds=("ceiling", "estimate"),
        ),
    )
