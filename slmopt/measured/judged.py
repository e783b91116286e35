"""The judged columns of a benchmark table, filled kind by kind, and the codes that go with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from slmopt.measured.ceilings import ceilings
from slmopt.measured.claims import Claims, says
from slmopt.measured.distinct import distinct, once, taken
from slmopt.measured.pieces import each_piece
from slmopt.measured.placed import SIZE_ROOM, Place
from slmopt.measured.timed import Shapes, Work
from slmopt.measured.verdicts import BIT, NOISY, VERDICTS, Evidence, judge, reason_names

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Texts: TypeAlias = "pd.Categorical[Any]"

NEEDS: Final = {
    "need_device": "device",
    "need_model": "model",
    "experts_shape": "model",
    "need_weights": "weights",
    "need_batch": "batch",
}


class Columns:
    """The judged columns, filled kind by kind."""

    def __init__(self, rows: pd.DataFrame, claimed: Claims) -> None:
        size = len(rows)
        self.rows, self.claimed = rows, claimed
        # What no kind fills is no row of the result.
        self.numbers = {name: np.empty(size) for name in _NUMBERS}
        self.verdict = np.full(size, VERDICTS.index("unknown"), dtype=np.int8)
        self.side = np.full(size, -1, dtype=np.int8)
        self.other_size = np.zeros(size, dtype=bool)
        self.reasons = np.zeros(size, dtype=np.int32)
        self.kind = np.full(size, -1, dtype=np.int32)
        self.places: list[Place] = []

    def fill(self, at: Ints, found: Place) -> None:
        """Judge the rows ``at``, all of one kind."""
        number = len(self.places)
        self.places.append(found)
        if found.setup is None:
            each_piece(len(at), lambda piece: self._unplaced(at[piece], number))
            return
        whole = len(at) == len(self.rows)
        stated, chunks = (
            taken(self.rows[name].to_numpy(dtype=np.float64), at) for name in ("weight_bytes", "chunk_tokens")
        )
        with np.errstate(invalid="ignore"):
            ratio = once(lambda size: np.where(size > 0, size / found.format_bytes, 1.0), stated)
        claim = self.claimed
        names = ("batch", "depth", "prompt", "output", "together", "one_of_many")
        batch, depth, prompt, output, together, one_of_many = (
            taken(getattr(claim, name), at) for name in names
        )
        shapes = Shapes(batch, depth, prompt, output, ratio, once(np.nan_to_num, chunks))
        held = ceilings(found, shapes, together, one_of_many)
        offloaded = _offloaded(self.rows, at, found)

        def judge_piece(piece: slice) -> None:
            rows = piece if whole else at[piece]
            sizes = (stated[piece], ratio[piece])
            self._judge(rows, number, claim.at(rows), held.at(piece), sizes, offloaded[piece])

        each_piece(len(at), judge_piece)

    def _unplaced(self, at: Ints, number: int) -> None:
        """Rows that nothing is known to hold against."""
        claim = self.claimed.at(at)
        self.kind[at], self.reasons[at] = number, _lost(claim, self.places[number])
        self._set(at, {**dict.fromkeys(_NUMBERS, np.float64(np.nan)), **_told(claim)})

    def _judge(
        self,
        at: Ints | slice,
        number: int,
        claim: Claims,
        held: tuple[Work, dict[str, Floats]],
        sizes: tuple[Floats, Floats],
        offloaded: Bools,
    ) -> None:
        """Rows of one kind against their ceilings; ``sizes``: bytes of the weights as stated, and over their format's."""
        found = self.places[number]
        assert found.setup is not None
        best, band = held
        stated, ratio = sizes
        lost = _lost(claim, found)
        known = lost == 0
        size = len(lost)
        share = np.where(known, best.seconds / claim.seconds, np.nan)
        rate_known = ~np.isnan(best.compute_s)
        compute = rate_known & (best.compute_s > best.memory_s)
        evidence = Evidence(
            share=share,
            p10=band["p10"],
            p90=band["p90"],
            spread=self.rows["spread"].to_numpy(dtype=np.float64)[at],
            compute=compute,
            rate_known=rate_known,
            prefill=claim.prefill,
            serving=claim.whole_requests,
            batch=claim.batch,
            fed=claim.batch * claim.prompt,
            pass_s=best.seconds / best.passes,
            weight_bytes=np.where(stated > 0, stated, found.format_bytes),
            on_cpu=np.full(size, found.setup.device.reference_class in ("cpu", "sbc")),
            offloaded=offloaded,
            by_count=np.full(size, found.by_count),
            count_assumed=np.full(size, "devices_assumed" in found.notes),
            speculated=claim.speculated,
            lost=lost,
        )
        self.kind[at] = number
        self.verdict[at], self.reasons[at] = judge(evidence)
        link = best.link_s > np.fmax(best.memory_s, best.compute_s)
        side = np.where(link, _SIDES.index("link"), compute)
        self.side[at] = np.where(known & rate_known, side, -1)
        self.other_size[at] = np.abs(ratio - 1) > SIZE_ROOM
        values = {
            **_told(claim),
            "ceiling": np.where(known, claim.tokens / best.seconds, np.nan),
            "fraction": share,
            **band,
            "intensity": best.flops / best.bytes,
            "flops_per_s": best.flops / claim.seconds,
            "pass_s": evidence.pass_s,
        }
        self._set(at, values)

    def _set(self, at: Ints | slice, values: Mapping[str, Floats | np.float64]) -> None:
        for name, value in values.items():
            self.numbers[name][at] = value

    def needs(self, judged: npt.NDArray[np.bool_]) -> tuple[str, ...]:
        """What rows lack and the user can give, each once."""
        lost = int(np.bitwise_or.reduce(self.reasons[judged], initial=0))
        needs = [need for name, need in NEEDS.items() if lost & BIT[name]]
        return tuple(
            dict.fromkeys([*needs, *(["host"] if any(one.host_unknown for one in self.places) else [])])
        )

    def table(self) -> pd.DataFrame:
        """The result's columns."""
        names: dict[str, list[str | None]] = {"model": [], "weights": [], "device": [], "origin": []}
        for found in self.places:
            s = found.setup
            texts = (s.model.name, s.weights.name, s.device.name, s.factors.origin) if s else (None,) * 4
            for column, text in zip(names.values(), texts, strict=True):
                column.append(text)
        index = self.rows.index
        looked_up = {
            name: pd.Series(_from_codes(self.kind, texts), index=index) for name, texts in names.items()
        }
        return pd.DataFrame(
            {
                **{name: self.rows[name] for name in ("source_file", "row", "phase")},
                **looked_up,
                **self.numbers,
                "spread": self.rows["spread"],
                "bound": _from_codes(self.side, _SIDES),
                "verdict": _from_codes(self.verdict, VERDICTS),
                "reasons": _joined(self.reasons),
                "notes": self._notes(),
                "note": self.rows["note"],
            },
            index=index,
            copy=False,
        )

    def _notes(self) -> Texts:
        """Codes of what was taken and what to beware of, built once for each different combination."""
        spread = self.rows["spread"].to_numpy(dtype=np.float64)
        claim = self.claimed
        flags = {
            "other_size": self.other_size,
            "no_depth": claim.no_depth,
            "speculated": claim.speculated,
            "whole_requests": claim.whole_requests,
            "one_of_many": claim.one_of_many,
        }
        keys = np.empty(len(spread), dtype=np.int64)

        def key(piece: slice) -> None:
            part = spread[piece]
            noisy = np.where(part > NOISY, np.minimum(np.round(part * 100), _MOST_PERCENT - 1), 0)
            found = (self.kind[piece] + np.int64(1)) * _MOST_PERCENT + noisy.astype(np.int64) << len(flags)
            for at, where in enumerate(flags.values()):
                found |= where[piece].astype(np.int64) << at
            keys[piece] = found

        each_piece(len(keys), key)
        codes, first = distinct([keys], len(keys))
        known = keys[first].tolist()
        return _from_codes(codes, ["|".join(self._note_codes(value, tuple(flags))) for value in known])

    def _note_codes(self, key: int, flags: tuple[str, ...]) -> list[str]:
        kind, noisy = divmod(key >> len(flags), _MOST_PERCENT)
        held = [name for at, name in enumerate(flags) if key & 1 << at]
        found = list(self.places[kind - 1].notes) if kind else []
        # A bare count has no format whose size could differ; of a format named loosely no size is known.
        if not kind or self.places[kind - 1].by_count or "least_bits" in found:
            held = [name for name in held if name != "other_size"]
        return [*found, *held, *([f"spread={noisy}"] if noisy else [])]


_MOST_PERCENT: Final = 1000

_SIDES: Final = ("memory", "compute", "link")

FEW_LAYERS: Final = 20
"""Layers on the accelerator below which a model of today is split; tools write 99 or -1 for all."""

_NUMBERS: Final = (
    "batch",
    "context",
    "measured",
    "ceiling",
    "fraction",
    "p10",
    "p50",
    "p90",
    "intensity",
    "flops_per_s",
    "pass_s",
)


def _told(claim: Claims) -> dict[str, Floats]:
    """What rows measured, and at which batch and context."""
    return {
        "measured": claim.tokens / claim.seconds,
        "batch": np.where(claim.no_batch, np.nan, claim.together),
        "context": claim.depth + claim.prompt / 2 + np.maximum(claim.output - 1, 0) / 2 * (claim.output > 0),
    }


def _lost(claim: Claims, found: Place) -> Ints:
    """The bits of what rows lack."""
    lost = np.full(len(claim.batch), sum(BIT[name] for name in found.missing), dtype=np.int64)
    lost |= np.where(claim.no_batch, BIT["need_batch"], 0)
    lost |= np.where(claim.no_length, BIT["no_length"], 0)
    return lost


def _offloaded(rows: pd.DataFrame, at: Ints, found: Place) -> Bools:
    """Whether a part of the model may lie in main memory beyond what the ceiling counts: layers counted out, the cache, or
    tensors placed by hand.
    """
    held = np.full(len(at), found.host_unknown)
    if found.devices > 1:
        layers = rows["gpu_layers"].to_numpy(dtype=np.float64)[at]
        held |= (layers >= 0) & (layers < FEW_LAYERS) & ~says(rows["backend"], "CPU")[at]
    words: tuple[str, ...] = ("cache lies in main memory", "placed by hand")
    words += () if found.split and not found.host_unknown else ("main memory",)
    notes = rows["note"].cat
    moved = [at for at, name in enumerate(notes.categories) if any(word in name for word in words)]
    return held | np.isin(notes.codes.to_numpy()[at], moved) if moved else held


def _joined(bits: npt.NDArray[Any]) -> Texts:
    codes, distinct = pd.factorize(bits)
    return _from_codes(codes, ["|".join(reason_names(int(value))) for value in distinct])


def _from_codes(codes: npt.NDArray[Any], texts: Sequence[str | None]) -> Texts:
    """A column of few different texts; None is missing."""
    known = list(dict.fromkeys(text for text in texts if text is not None))
    at = {text: place for place, text in enumerate(known)}
    places = [*(-1 if text is None else at[text] for text in texts), -1]
    place_of = np.array(places, dtype=np.min_scalar_type(-len(known) - 1))
    return pd.Categorical.from_codes(place_of[codes], pd.Index(known, dtype="str"), validate=False)
