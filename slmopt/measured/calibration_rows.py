"""Measured rows as the passes that a fit explains: what each costs by the product's own cost function, and what it took.

Only rows that time decode or prefill by themselves say something about a pass. Where a file has none, the time per token
of serving runs stands in: queueing and other requests' prefills are then in the fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from slmopt.measured.claims import Claims, claims, says
from slmopt.measured.compare import each_kind
from slmopt.measured.placed import Facts, Place
from slmopt.theory.forward import Group, PassCost, forward
from slmopt.theory.roofline import setup_terms

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Texts = npt.NDArray[np.object_]

LLAMA_CELLS: Final = 256
"""llama.cpp attends to its cache in steps of so many cells (GGML_PAD in its key-value cache)."""

MOST_SPREAD: Final = 0.25
"""Relative spread of repeats above which a row says nothing about a machine."""

MOST_POINTS: Final = 400
"""Different points that are fitted at most; of more, so many evenly spaced ones."""


@dataclass(frozen=True, slots=True, eq=False)
class FitRows:
    """Columns of equal length, a point each: one kind of pass, with the median time of the rows that timed it.

    ``seconds`` a pass; ``batch`` sequences, ``context`` cached and ``prompt`` fed tokens a sequence (0: decode);
    ``stored_bytes`` of the whole model; ``model`` names what is left out together, ``label`` says what a point is,
    ``setting`` how it ran. ``bandwidth`` and ``peak`` are the device's ceilings (bytes/s,
    FLOP/s; NaN where not known), ``cache_step`` what the costs were counted with.
    """

    weight_bytes: Floats
    cache_bytes: Floats
    matmul_flops: Floats
    attention_flops: Floats
    tokens: Floats
    seconds: Floats
    batch: Floats
    context: Floats
    prompt: Floats
    stored_bytes: Floats
    bandwidth: Floats
    peak: Floats
    cache_step: Floats
    model: Texts
    label: Texts
    device: Texts
    setting: Texts

    def __len__(self) -> int:
        return len(self.seconds)

    def take(self, rows: npt.NDArray[np.int64] | Bools) -> FitRows:
        """These points only."""
        return FitRows(*(getattr(self, f.name)[rows] for f in fields(self)))

    @property
    def cost(self) -> PassCost:
        """What the passes move and do."""
        return PassCost(
            self.weight_bytes,
            self.cache_bytes,
            self.matmul_flops,
            self.attention_flops,
            tokens=self.tokens,
        )

    @classmethod
    def joined(cls, parts: Sequence[FitRows]) -> FitRows:
        """Several as one."""
        return cls(*(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(cls)))


@dataclass(frozen=True, slots=True, eq=False)
class Usable:
    """Rows of one device at one setting, and what was left aside: ``left_out`` as (rows, why)."""

    rows: FitRows
    device: str
    left_out: tuple[tuple[int, str], ...]


def passes(rows: pd.DataFrame, facts: Facts | None = None) -> FitRows:
    """The passes of a table's rows (:mod:`slmopt.measured.table`), one a row; rows that time no pass are left out."""
    said = Facts() if facts is None else facts
    claimed = claims(rows, said.batch)
    alone = says(rows["phase"], "decode") | says(rows["phase"], "prefill")
    if not alone.any():
        alone = says(rows["phase"], "serving") & ~claimed.whole_requests
    sound = alone & ~claimed.no_speed & ~claimed.no_batch & ~claimed.no_length & ~claimed.speculated
    sound &= ~(rows["spread"].to_numpy(dtype=np.float64) > MOST_SPREAD)
    parts = [
        _points(rows, claimed.at(at), at, found)
        for at, found in each_kind(rows, said, sound)
        if found.setup is not None and found.devices == 1 and not found.by_count and not found.split
    ]
    return FitRows.joined(parts) if parts else _EMPTY


def _points(rows: pd.DataFrame, claim: Claims, at: Ints, found: Place) -> FitRows:
    """The passes of rows of one kind: the mean step of a decode, the mean micro-batch of a prefill."""
    setup = found.setup
    assert setup is not None
    # The stream of one among several was timed, but all of them shared its steps.
    batch = np.where(claim.one_of_many, claim.together, claim.batch)
    chunk = rows["chunk_tokens"].to_numpy(dtype=np.float64)[at]
    fed = batch * claim.prompt
    chunks = np.where(fed > 0, np.ceil(fed / np.where(chunk > 0, chunk, np.inf)), 0.0)
    times = np.where(claim.prefill, np.maximum(chunks, 1.0), np.maximum(claim.output, 1e-3))
    new = np.where(claim.prefill, claim.prompt / times, 1.0)
    past = claim.depth + np.where(
        claim.prefill, 0.5 * (claim.prompt - new), 0.5 * np.maximum(claim.output - 1.0, 0.0)
    )
    step = LLAMA_CELLS if setup.scenario.engine == "llama.cpp" else 1
    terms = tuple(replace(term, cache_step=step) for term in setup_terms(setup))
    logits = np.where(claim.prefill, 1.0 / times, 1.0)
    cost = forward(terms, [Group(batch, new, np.maximum(past, 0.0), logits)], "estimate")
    stated = rows["weight_bytes"].to_numpy(dtype=np.float64)[at]
    ratio = np.where(stated > 0, stated / found.format_bytes, 1.0)
    peak = np.where(claim.prefill, setup.prefill.ceiling or np.nan, setup.decode.ceiling or np.nan)
    size = len(at)
    matmul, attention = _full(cost.matmul_flops, size), _full(cost.attention_flops, size)
    # A prefill's attention is a matrix product as well; only decode's runs at a rate of its own.
    matmul = matmul + np.where(claim.prefill, attention, 0.0)
    attention = np.where(claim.prefill, 0.0, attention)
    return FitRows(
        weight_bytes=_full(cost.weight_bytes, size) * ratio,
        cache_bytes=_full(cost.cache_bytes, size),
        matmul_flops=matmul,
        attention_flops=attention,
        tokens=_full(cost.tokens, size),
        # A stream among several states its own tokens only; its steps are the passes.
        seconds=claim.seconds / times,
        batch=_full(batch, size),
        context=past,
        prompt=np.where(claim.prefill, claim.prompt, 0.0),
        stored_bytes=setup.weight_bytes * ratio,
        bandwidth=np.full(size, setup.bandwidth),
        peak=peak,
        cache_step=np.full(size, float(step)),
        model=_texts(setup.model.name, size),
        label=_labels(setup.model.name, setup.weights.name, claim, batch, past),
        device=_texts(setup.device.name, size),
        setting=_settings(rows, at),
    )


def _full(value: object, size: int) -> Floats:
    return np.broadcast_to(np.asarray(value, dtype=np.float64), (size,)).copy()


def _texts(text: str, size: int) -> Texts:
    return np.full(size, text, dtype=object)


def _labels(model: str, weights: str, claim: Claims, batch: Floats, past: Floats) -> Texts:
    """What each point is: model, weights, work."""
    told = [
        f"{model} {weights}, "
        + (f"prefill {prompt:,.0f}" if prefill else f"batch {b:,.0f}, context {c:,.0f}")
        for prefill, prompt, b, c in zip(claim.prefill, claim.prompt, batch, past, strict=True)
    ]
    return np.array(told, dtype=object)


def _settings(rows: pd.DataFrame, at: Ints) -> Texts:
    """What of a run changes a machine's rates: its threads, back end and layers on the accelerator."""
    few = rows.iloc[at]
    names = {"threads": "threads", "backend": "", "gpu_layers": "GPU layers"}
    columns = [
        [
            "" if pd.isna(value) else f"{value:g} {word}" if word else str(value)
            for value in few[name].astype(object)
        ]
        for name, word in names.items()
    ]
    return np.array([", ".join(filter(None, parts)) for parts in zip(*columns, strict=True)], dtype=object)


_EMPTY: Final = FitRows(
    *(np.zeros(0),) * 13,
    *(np.zeros(0, dtype=object),) * 4,
)


def usable(points: FitRows, device: str | None = None) -> Usable:
    """The points of one device at one setting, equal ones as the median of their times.

    ``device`` by name; None means the one with most rows. The setting with most rows is kept, among equals the one whose
    rows were fastest: one machine at one and at two threads has two bandwidths.
    """
    if not len(points):
        return Usable(points, device or "", ())
    left: list[tuple[int, str]] = []
    wanted = _commonest(points.device, points.seconds) if device is None else device
    others = int(np.count_nonzero(points.device != wanted))
    if others:
        left.append((others, "on another device"))
    points = points.take(points.device == wanted)
    if len(points):
        kept = _commonest(points.setting, points.seconds)
        left += [
            (int(np.count_nonzero(points.setting == other)), f"at another setting ({other})")
            for other in sorted(set(points.setting.tolist()) - {kept})
        ]
        points = points.take(points.setting == kept)
    merged = _merged(points)
    if len(merged) > MOST_POINTS:
        left.append((len(merged) - MOST_POINTS, "more points than a fit needs"))
        merged = merged.take(np.linspace(0, len(merged) - 1, MOST_POINTS).round().astype(np.int64))
    return Usable(merged, wanted, tuple(left))


def _commonest(names: Texts, seconds: Floats) -> str:
    """The name that most rows have; of equals the one whose rows took least."""
    found = pd.Series(seconds).groupby(pd.Series(names, dtype=object)).agg(["size", "median"])
    return str(found.sort_values(["size", "median"], ascending=[False, True]).index[0])


def _merged(points: FitRows) -> FitRows:
    """Points of equal cost as one, with the median of their times."""
    if not len(points):
        return points
    keys = pd.DataFrame({"label": points.label, "bytes": points.weight_bytes, "cache": points.cache_bytes})
    codes = keys.assign(flops=points.matmul_flops).groupby(list(keys.columns), sort=False).ngroup()
    found = np.asarray(codes, dtype=np.int64)
    first = np.unique(found, return_index=True)[1]
    median: Floats = np.asarray(pd.Series(points.seconds).groupby(found).median(), dtype=np.float64)
    return replace(points.take(first), seconds=median)
