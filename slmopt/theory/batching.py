"""What a batch buys: throughput against batch, the crossover, and the limit of large batches."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from slmopt.specs.setup import Setup
from slmopt.theory.forward import Kind, Numbers
from slmopt.theory.latency import decode_group, decode_step
from slmopt.theory.roof import PassTime, Roof
from slmopt.theory.roofline import run, setup_terms, stages_of
from slmopt.theory.search import first_whole
from slmopt.theory.static_groups import steps_per_token

FAR = 2.0**40
_SPAN = 2.0**20
_AT_ONCE = 100_000


@dataclass(frozen=True, slots=True)
class BatchCurve:
    """Decode at each batch: arrays of one shape. tokens/s of all sequences (device) and of one (user)."""

    batch: Numbers
    step: PassTime
    device_tokens_per_s: Numbers
    user_tokens_per_s: Numbers


@dataclass(frozen=True, slots=True)
class Crossover:
    """Where arithmetic takes over from memory as the batch grows.

    ``batch`` is None where memory decides at every batch; ``weights_only`` ignores cache reads; beyond
    ``context_limit`` cached tokens there is no crossover (None: there is one however long the context);
    ``throughput_limit`` (tokens/s of the device) is what large batches approach, whether or not memory holds them.
    """

    batch: float | None
    weights_only: float | None
    context_limit: float | None
    throughput_limit: float | None
    kind: Kind


@dataclass(frozen=True, slots=True)
class Slopes:
    """A decode step's time as a straight line in the batch: seconds, and seconds a sequence (``link_s`` over the link).

    ``serial_s`` is what a fit found to come on top of the longer side.
    """

    fixed_memory_s: float
    memory_s: float
    compute_s: float
    link_s: float
    serial_s: float

    def sequence_s(self, kind: Kind) -> float:
        """Seconds that each further sequence of a large batch takes: a ceiling's longest side, an estimate's link on top."""
        longer = max(self.compute_s, self.memory_s) + self.serial_s
        return max(longer, self.link_s) if kind == "ceiling" else longer + self.link_s


def batch_curve(setup: Setup, roof: Roof, batch: Numbers, context: Numbers | None = None) -> BatchCurve:
    """Decode at each ``batch`` (any shape; broadcasts with ``context``)."""
    step = decode_step(setup, roof, batch, context)
    user = 1.0 / step.seconds
    useful = steps_per_token(setup.scenario, roof.kind, batch)
    return BatchCurve(batch, step, batch * user / useful, user)


def slopes(setup: Setup, roof: Roof, context: float) -> Slopes:
    """The straight line through the pass at two batches.

    Exact for a ceiling, and for an estimate of a model without routed experts; with them the line is the one of large
    batches, when every expert is read. Where a fit has another bandwidth for batches, it is theirs.
    """
    if roof.batched_bandwidth is not None:
        roof = replace(roof, bandwidth=roof.batched_bandwidth, batched_bandwidth=None)
    # A micro-batch of a pipeline's holds one sequence at least.
    least = stages_of(setup)
    batches = np.array([least, _SPAN, 2 * _SPAN])
    time = run(setup, [decode_group(setup, batches, context)], roof)
    weights, compute = np.asarray(time.weight_s).tolist(), np.asarray(time.compute_s).tolist()
    first, low, high = np.asarray(time.cache_s).tolist()
    memory = (high - low) / _SPAN
    # Of the cache, only a shared prefix is read whatever the batch.
    return Slopes(
        fixed_memory_s=weights[2] + max(0.0, first - least * memory),
        memory_s=memory,
        compute_s=(compute[2] - compute[1]) / _SPAN,
        link_s=float(np.ptp(np.broadcast_to(time.link_s, 3)[1:])) / _SPAN,
        serial_s=float(np.diff(np.broadcast_to(time.serial_s, 3)[1:])[0]) / _SPAN,
    )


def crossover(setup: Setup, roof: Roof, context: float | None = None) -> Crossover:
    """B* = (W/bw) / (a/peak − r/bw), none where the denominator is not positive; and what belongs to it.

    W is what a step reads whatever the batch; a the operations and r the cache bytes of a sequence.
    """
    depth = float(setup.scenario.depth) if context is None else context
    if np.isnan(roof.peak):
        return Crossover(None, None, None, None, roof.kind)
    line = slopes(setup, roof, depth)
    gap = line.compute_s - line.memory_s
    alone = run(setup, [decode_group(setup, _SPAN, 0.0)], roof, "ceiling")
    return Crossover(
        batch=_crossing(setup, roof, depth, line) if gap > 0 else None,
        weights_only=_ratio(float(alone.weight_s), float(alone.matmul_s) / _SPAN),
        context_limit=_context_limit(setup, roof),
        throughput_limit=1.0 / line.sequence_s(roof.kind),
        kind=roof.kind,
    )


def _ratio(above: float, below: float) -> float | None:
    """None where nothing is below: the rate of what does it all is unknown."""
    return above / below if below else None


def _crossing(setup: Setup, roof: Roof, context: float, line: Slopes) -> float:
    """B* of the line; with routed experts in an estimate, what smaller batches spare of them is weighed in.

    Reading fewer experts only brings the crossing closer, so the line's is the far end of the search.
    """
    far = line.fixed_memory_s / (line.compute_s - line.memory_s)
    # Fewer sequences than a pipeline has stages take what one for each takes.
    far = far if far >= stages_of(setup) else far / stages_of(setup)
    if roof.kind == "ceiling" or not any(term.experts for term in setup_terms(setup)):
        return far
    low, high = 0.0, far
    for _ in range(8):
        tried = np.linspace(low, high, 129)
        step = run(setup, [decode_group(setup, tried, context)], roof)
        crossed = np.asarray(step.compute_s >= step.memory_s)
        crossed[-1] = True
        # Without a sequence nothing is computed: the first of them has never crossed.
        first = int(np.argmax(crossed))
        low, high = float(tried[first - 1]), float(tried[first])
    return high


def _context_limit(setup: Setup, roof: Roof) -> float | None:
    """The context beyond which a sequence's cache takes longer to read than its arithmetic to do.

    The gap between the two is a straight line between the lengths at which a window or a shared prefix ends, so the last
    piece that changes sign holds the answer exactly. Layers that attend in chunks make it a saw, since each chunk's
    start reads nothing, and those that compress a stair: there whole contexts are tried.
    """
    tooth = max(size for term in setup_terms(setup) for size in (term.chunk, term.compress))
    points = _knots(setup)
    if tooth:
        return _limit_of_teeth(setup, roof, tooth, points.max())
    points = np.append(points, FAR)
    gaps = _gaps(setup, roof, points)
    above = np.flatnonzero(gaps > 0)
    if not above.size:
        return 0.0
    last = int(above[-1])
    return None if last == len(gaps) - 1 else _root(points[last : last + 2], gaps[last : last + 2])


def _limit_of_teeth(setup: Setup, roof: Roof, tooth: int, turned: float) -> float | None:
    """The same where every ``tooth`` tokens, from ``turned`` on, the gap moves by as much and takes the same shape."""
    end = tooth * (turned // tooth + 1)
    first = end + np.arange(tooth, dtype=np.float64)
    gaps, later = _gaps(setup, roof, first), _gaps(setup, roof, first + FAR // tooth * tooth)
    if np.any(later > 0):
        return None
    above = gaps > 0
    if above.any():
        teeth = np.floor(gaps[above] / (gaps - later)[above] * (FAR // tooth))
        last: float | None = float(np.max(first[above] + tooth * teeth))
    else:
        last = _last_above(setup, roof, int(end))
    if last is None:
        return 0.0
    pair = np.array([last, last + 1])
    return _root(pair, _gaps(setup, roof, pair))


def _last_above(setup: Setup, roof: Roof, end: int) -> float | None:
    """The last whole context before ``end`` at which the gap is above zero; None where there is none."""
    for stop in range(end, 0, -_AT_ONCE):
        tried = np.arange(max(0, stop - _AT_ONCE), stop, dtype=np.float64)
        above = tried[_gaps(setup, roof, tried) > 0]
        if above.size:
            return float(above[-1])
    return None


def _knots(setup: Setup) -> npt.NDArray[np.float64]:
    """Contexts between which the gap is a straight line, in order, but for chunks and compressed entries."""
    shared = float(setup.scenario.shared_prefix)
    # From the first cached token on recurrent layers read their state and not only write it.
    found = {0.0, 1.0, shared}
    for term in setup_terms(setup):
        for length in term.turns:
            found.update((length - 1, length, length + shared - 1))
    return np.array(sorted(length for length in found if 0 <= length < FAR))


def _gaps(setup: Setup, roof: Roof, contexts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Seconds by which as many sequences more add more arithmetic than reading to a large batch, at each context."""
    batches = np.array([[_SPAN], [2 * _SPAN]])
    step = run(setup, [decode_group(setup, batches, contexts)], roof)
    gaps: npt.NDArray[np.float64] = np.diff(step.compute_s - step.memory_s, axis=0)[0]
    return gaps


def _root(points: npt.NDArray[np.float64], gaps: npt.NDArray[np.float64]) -> float:
    """Where the line through two points meets zero; the second where it stays above."""
    left, right, a, b = (float(x) for x in (*points, *gaps))
    return right if b > 0 else left + (right - left) * a / (a - b)


def weights_alone(setup: Setup, roof: Roof, batch: Numbers) -> Numbers:
    """tokens/s of the device if no cache were read: B / max(W/bw, B·a/peak), a the matrix products of a token."""
    alone = run(setup, [decode_group(setup, batch, 0.0)], roof, "ceiling")
    return batch / np.fmax(alone.weight_s, alone.matmul_s)


def largest_batch_within(setup: Setup, roof: Roof, seconds: float, most: int) -> int:
    """The most sequences, up to ``most``, whose decode step takes no longer than ``seconds``; 0 where none does."""
    over = first_whole(lambda batch: float(decode_step(setup, roof, float(batch)).seconds) > seconds, most)
    return most if over is None else over - 1


def cache_outgrows_weights(setup: Setup, roof: Roof, most: int) -> int | None:
    """The smallest batch, up to ``most``, at which a step reads the caches for longer than the weights."""

    def outgrown(batch: int) -> bool:
        step = decode_step(setup, roof, float(batch))
        return bool(np.asarray(step.cache_s) > np.asarray(step.weight_s))

    return first_whole(outgrown, most)
