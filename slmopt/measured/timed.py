"""The timed work of rows as forward passes: bytes, operations and least time, for whole columns at once.

Several devices that are known to split the model, and layers on a host, take their own pass (:mod:`slmopt.theory.parallel`,
:mod:`slmopt.theory.offload`). Decode of n tokens on top of d cached ones is n steps with past = d … d + n − 1; prefill is one pass over the prompt;
a mixed row is the one after the other. Rows of equal shape are computed once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from slmopt.specs.setup import Setup
from slmopt.theory.forward import Group
from slmopt.theory.roof import Roof
from slmopt.theory.roofline import offloaded_time, setup_terms, spread_time, stages_of

Floats = npt.NDArray[np.float64]

MOST_STEPS: Final = 512
"""Steps of a row that are computed one by one; of longer rows that many, evenly spaced (error below 1e-6)."""

FEWER_STEPS: Final = 4
"""The same, where a table has very many different shapes (error below 1e-3, and none
where no window fills and the deciding side stays)."""

MOST_POINTS: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class Shapes:
    """Columns of equal length: sequences, tokens cached before, fed and generated a sequence; weight bytes over those
    that the format gives (the file's own size decides); and the most tokens that a pass takes (0: any number).
    """

    batch: Floats
    depth: Floats
    prompt: Floats
    output: Floats
    weight_ratio: Floats
    chunk: Floats

    def distinct(self) -> tuple[Shapes, npt.NDArray[np.int64]]:
        """The different rows among them, and for each row which of these it is."""
        table = pd.DataFrame({name: getattr(self, name) for name in self.__slots__})
        kinds = table.groupby(list(table.columns), sort=False, dropna=False)
        codes: npt.NDArray[np.int64] = np.asarray(kinds.ngroup(), dtype=np.int64)
        first = np.unique(codes, return_index=True)[1]
        return Shapes(*(getattr(self, name)[first] for name in self.__slots__)), codes


@dataclass(frozen=True, slots=True)
class Work:
    """What the timed part takes: seconds of both sides, of the link between devices, and in all; bytes and operations, and
    passes.
    """

    memory_s: Floats
    compute_s: Floats
    link_s: Floats
    seconds: Floats
    bytes: Floats
    flops: Floats
    passes: Floats

    def __add__(self, other: Work) -> Work:
        return Work(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))

    def take(self, codes: npt.NDArray[np.int64]) -> Work:
        """The work of each row, from that of the distinct ones."""
        return Work(*(getattr(self, name)[codes] for name in self.__slots__))


def decode_work(setup: Setup, roof: Roof, shapes: Shapes) -> Work:
    """``output`` steps of ``batch`` sequences, each with logits at its one position; zero where nothing is generated."""
    steps = np.maximum(shapes.output, 0.0)
    most = MOST_STEPS if np.minimum(steps, MOST_STEPS).sum() <= MOST_POINTS else FEWER_STEPS
    points = np.minimum(np.ceil(steps), most).astype(np.int64)
    rows = np.repeat(np.arange(len(steps)), points)
    starts = np.cumsum(points) - points
    at = np.arange(len(rows)) - starts[rows]
    share = steps[rows] / points[rows]
    past = shapes.depth[rows] + (at + 0.5) * share - 0.5
    group = Group(batch=shapes.batch[rows], new=1.0, past=np.maximum(past, 0.0), logits=1.0)
    step = _pass(setup, roof, [group], shapes.weight_ratio[rows], share)
    sums = (np.bincount(rows, getattr(step, name), len(steps)) for name in Work.__slots__)
    return Work(*(np.asarray(total, dtype=np.float64) for total in sums))


def prefill_work(setup: Setup, roof: Roof, shapes: Shapes) -> Work:
    """The prompt of ``batch`` sequences, logits at each one's last position; zero where none is fed.

    The ceiling takes one pass, which reads the weights once; an estimate the passes that the micro-batch makes, all of
    the mean one's cost.
    """
    prompt = np.maximum(shapes.prompt, 0.0)
    fed = shapes.batch * prompt
    chunk = np.where((shapes.chunk > 0) & (roof.kind == "estimate"), shapes.chunk, np.inf)
    passes = np.where(fed > 0, np.maximum(np.ceil(fed / chunk), 1.0), 0.0)
    new = prompt / np.maximum(passes, 1.0)
    past = shapes.depth + 0.5 * (prompt - new)
    group = Group(batch=shapes.batch, new=new, past=past, logits=1.0 / np.maximum(passes, 1.0))
    return _pass(setup, roof, [group], shapes.weight_ratio, passes)


def _pass(setup: Setup, roof: Roof, groups: list[Group], ratio: Floats, times: Floats) -> Work:
    """``times`` passes over the groups under the roof, weight bytes in the given ratio to the format's."""
    if roof.host is not None:
        taken = offloaded_time(setup, groups, roof, roof.kind, ratio)
    else:
        taken = spread_time(setup_terms(setup), groups, roof, roof.kind, stages_of(setup), ratio)
    values = (
        taken.memory_s,
        taken.compute_s,
        taken.link_s,
        taken.seconds,
        taken.cost.bytes,
        taken.cost.flops,
        1.0,
    )
    return Work(*(np.asarray(value) * times for value in values))
