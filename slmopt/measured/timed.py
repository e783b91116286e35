"""The timed work of rows as forward passes: bytes, operations and least time, for whole columns at once.

Several devices that are known to split the model, and layers on a host, take their own pass (:mod:`slmopt.theory.parallel`,
:mod:`slmopt.theory.offload`). Decode of n tokens on top of d cached ones is n steps with past = d … d + n − 1; prefill is
one pass over the prompt; a mixed row is the one after the other. Rows of equal shape are computed once, and steps of rows
that have them in common are added up once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from slmopt.measured.distinct import distinct
from slmopt.measured.pieces import PIECE, each_part
from slmopt.specs.setup import Setup
from slmopt.theory.forward import Group
from slmopt.theory.roof import Roof
from slmopt.theory.roofline import offloaded_time, setup_terms, spread_time, stages_of

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

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

    def distinct(self) -> tuple[Shapes, Ints]:
        """The different rows among them, and for each row which of these it is."""
        codes, first = distinct(self.columns, len(self.batch))
        return self.at(first), codes

    @property
    def columns(self) -> tuple[Floats, ...]:
        """All of them."""
        return tuple(getattr(self, name) for name in self.__slots__)

    def at(self, rows: Ints) -> Shapes:
        """These rows only."""
        return Shapes(*(column[rows] for column in self.columns))


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


@dataclass(frozen=True, slots=True)
class Sums:
    """Decode steps of rows that count in whole tokens, as places in running sums over the cached tokens.

    Sequences and weight ratio are those of a lane; a row's steps are what its lane's sum grows by from ``begin`` to ``end``.
    """

    batch: Floats
    ratio: Floats
    low: int
    width: int
    begin: Ints
    end: Ints

    @classmethod
    def of(cls, shapes: Shapes, times: Ints) -> Sums | None:
        """The rows' places; None where a row has parts of tokens, or where step by step is less, each as often as ``times`` says."""
        low = float(shapes.depth.min())
        # From the lowest depth on: added to a depth of 2^53 or more, a step is lost in rounding.
        reach = float((shapes.depth - low + shapes.output).max())
        if not (low >= 0 and reach < MOST_POINTS and shapes.output.min() >= 0):
            return None
        if not (_whole(shapes.depth) and _whole(shapes.output)):
            return None
        lane, first = distinct((shapes.batch, shapes.weight_ratio), len(shapes.batch))
        width = int(reach)
        points = width * len(first)
        if points > min(MOST_POINTS, float((np.minimum(shapes.output, MOST_STEPS) * times).sum())):
            return None
        begin = lane * (width + 1) + (shapes.depth - low).astype(np.int64)
        end = begin + shapes.output.astype(np.int64)
        return cls(shapes.batch[first], shapes.weight_ratio[first], int(low), width, begin, end)

    def work(self, setup: Setup, roof: Roof) -> Work:
        """The running sums, all lanes one behind the other."""
        lanes = len(self.batch)
        past = np.tile(np.arange(self.low, self.low + self.width, dtype=np.float64), lanes)
        group = Group(batch=np.repeat(self.batch, self.width), new=1.0, past=past, logits=1.0)
        step = _pass(setup, roof, [group], np.repeat(self.ratio, self.width), np.ones(len(past)))
        sums = np.zeros((lanes, self.width + 1))
        found = []
        for name in Work.__slots__:
            np.cumsum(getattr(step, name).reshape(lanes, self.width), axis=1, out=sums[:, 1:])
            found.append(sums.ravel().copy())
        return Work(*found)


class Rows:
    """The timed work of rows, looked at once for however many roofs it is held against.

    A row may stand for several of its shape: ``times`` says for how many.
    """

    def __init__(self, shapes: Shapes, times: Ints | None = None) -> None:
        self.size = len(shapes.batch)
        after = replace(shapes, depth=shapes.depth + shapes.prompt)
        generated = bool((shapes.output > 0).any())
        often = np.ones(self.size, dtype=np.int64) if times is None else times
        self.sums = Sums.of(after, often) if generated else None
        self.shapes: Shapes | None = None
        if (shapes.prompt > 0).any() or (generated and self.sums is None):
            self.shapes, self.codes = shapes.distinct()

    def work(self, setup: Setup, first: Roof, later: Roof) -> Work:
        """Each row's work: its prompt under the first roof, what follows under the other."""
        return Work(**self._columns(setup, first, later, Work.__slots__))

    def seconds(self, setup: Setup, first: Roof, later: Roof) -> Floats:
        """Each row's least time."""
        return self._columns(setup, first, later, ("seconds",))["seconds"]

    def _columns(self, setup: Setup, first: Roof, later: Roof, names: Sequence[str]) -> dict[str, Floats]:
        alone: Work | None = None
        if self.shapes is not None:
            alone = prefill_work(setup, first, self.shapes)
            if self.sums is None:
                after = replace(self.shapes, depth=self.shapes.depth + self.shapes.prompt)
                alone += decode_work(setup, later, after)
        grown = None if self.sums is None else self.sums.work(setup, later)
        return {name: self._column(name, alone, grown) for name in names}

    def _column(self, name: str, alone: Work | None, grown: Work | None) -> Floats:
        parts: list[Floats] = []
        if alone is not None:
            parts.append(getattr(alone, name)[self.codes])
        if grown is not None:
            assert self.sums is not None
            sums: Floats = getattr(grown, name)
            parts.append(sums[self.sums.end] - sums[self.sums.begin])
        if not parts:
            return np.zeros(self.size)
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]


def _whole(values: Floats) -> bool:
    return bool((np.floor(values) == values).all())


def decode_work(setup: Setup, roof: Roof, shapes: Shapes) -> Work:
    """``output`` steps of ``batch`` sequences, each with logits at its one position; zero where nothing is generated."""
    steps = np.maximum(shapes.output, 0.0)
    most = MOST_STEPS if np.minimum(steps, MOST_STEPS).sum() <= MOST_POINTS else FEWER_STEPS
    points = np.minimum(np.ceil(steps), most).astype(np.int64)
    found = {name: np.empty(len(steps)) for name in Work.__slots__}

    def add_up(part: slice) -> None:
        rows = np.repeat(np.arange(part.stop - part.start), points[part])
        starts = np.cumsum(points[part]) - points[part]
        at = np.arange(len(rows)) - starts[rows]
        share = steps[part][rows] / points[part][rows]
        past = shapes.depth[part][rows] + (at + 0.5) * share - 0.5
        group = Group(batch=shapes.batch[part][rows], new=1.0, past=np.maximum(past, 0.0), logits=1.0)
        step = _pass(setup, roof, [group], shapes.weight_ratio[part][rows], share)
        for name, sums in found.items():
            sums[part] = np.bincount(rows, getattr(step, name), len(starts))

    each_part(_bounds(points), add_up)
    return Work(**found)


def _bounds(points: Ints) -> list[int]:
    """Where parts of rows begin and end that have about a piece's number of points each."""
    reached = np.cumsum(points)
    pieces = -(-int(reached[-1]) // PIECE) if len(reached) else 0
    cuts = np.searchsorted(reached, np.arange(1, pieces) * PIECE)
    return [0, *np.unique(cuts[cuts > 0]).tolist(), len(points)]


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
