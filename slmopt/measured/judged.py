"""The judged columns of a benchmark table, filled kind by kind, and the codes that go with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from slmopt.measured.ceilings import ceiling_and_band
from slmopt.measured.claims import Claims, says
from slmopt.measured.placed import SIZE_ROOM, Place
from slmopt.measured.verdicts import BIT, NOISY, VERDICTS, Evidence, judge, reason_names

Floats = npt.NDArray[np.float64]
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
        self.numbers = {name: np.full(size, np.nan) for name in _NUMBERS}
        self.verdict = np.full(size, VERDICTS.index("unknown"))
        self.side = np.zeros(size, dtype=np.int64)
        self.reasons = np.zeros(size, dtype=np.int64)
        self.kind = np.full(size, -1)
        self.places: list[Place] = []

    def fill(self, at: Ints, found: Place) -> None:
        """Judge the rows ``at``, all of one kind."""
        self.kind[at] = len(self.places)
        self.places.append(found)
        claim = self.claimed.at(at)
        lost = np.full(len(at), sum(BIT[name] for name in found.missing))
        lost |= np.where(claim.no_batch, BIT["need_batch"], 0) | np.where(
            claim.no_length, BIT["no_length"], 0
        )
        told = {
            "measured": claim.tokens / claim.seconds,
            "batch": np.where(claim.no_batch, np.nan, claim.together),
            "context": claim.depth
            + claim.prompt / 2
            + np.maximum(claim.output - 1, 0) / 2 * (claim.output > 0),
        }
        self._set(at, told)
        if found.setup is None:
            self.reasons[at] = lost
            return
        stated = self.rows["weight_bytes"].to_numpy(dtype=np.float64)[at]
        ratio = np.where(stated > 0, stated / found.format_bytes, 1.0)
        best, band = ceiling_and_band(
            found, claim, ratio, self.rows["chunk_tokens"].to_numpy(dtype=np.float64)[at]
        )
        known = lost == 0
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
            on_cpu=np.full(len(at), found.setup.device.reference_class in ("cpu", "sbc")),
            offloaded=_offloaded(self.rows, at, found),
            by_count=np.full(len(at), found.by_count),
            count_assumed=np.full(len(at), "devices_assumed" in found.notes),
            speculated=claim.speculated,
            lost=lost,
        )
        self.verdict[at], self.reasons[at] = judge(evidence)
        link = best.link_s > np.fmax(best.memory_s, best.compute_s)
        self.side[at] = np.where(link, _SIDES.index("link"), compute)
        values = {
            "ceiling": np.where(known, claim.tokens / best.seconds, np.nan),
            "fraction": share,
            **band,
            "intensity": best.flops / best.bytes,
            "flops_per_s": best.flops / claim.seconds,
            "pass_s": evidence.pass_s,
            "bounded": np.where(known & rate_known, 1.0, np.nan),
            "size_ratio": ratio,
        }
        self._set(at, values)

    def _set(self, at: Ints, values: dict[str, Floats]) -> None:
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
        bound = np.where(np.isnan(self.numbers["bounded"]), -1, self.side)
        index = self.rows.index
        looked_up = {
            name: pd.Series(_from_codes(self.kind, texts), index=index) for name, texts in names.items()
        }
        numbers = {
            name: values for name, values in self.numbers.items() if name not in ("bounded", "size_ratio")
        }
        return pd.DataFrame(
            {
                **{name: self.rows[name] for name in ("source_file", "row", "phase")},
                **looked_up,
                **numbers,
                "spread": self.rows["spread"],
                "bound": _from_codes(bound, _SIDES),
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
        noisy = np.where(spread > NOISY, np.round(spread * 100), 0)
        ratio = self.numbers["size_ratio"]
        flags = {
            "other_size": np.abs(ratio - 1) > SIZE_ROOM,
            "no_depth": self.claimed.no_depth,
            "speculated": self.claimed.speculated,
            "whole_requests": self.claimed.whole_requests,
            "one_of_many": self.claimed.one_of_many,
        }
        bits = sum(
            (where.astype(np.int64) << at for at, where in enumerate(flags.values())),
            np.zeros(len(spread), np.int64),
        )
        key = (
            (self.kind + 1) * _MOST_PERCENT + np.minimum(noisy, _MOST_PERCENT - 1).astype(np.int64)
            << len(flags)
        ) + bits
        codes, distinct = pd.factorize(key)
        return _from_codes(
            codes, ["|".join(self._note_codes(int(value), tuple(flags))) for value in distinct]
        )

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
    "bounded",
    "size_ratio",
)


def _offloaded(rows: pd.DataFrame, at: Ints, found: Place) -> npt.NDArray[np.bool_]:
    """Whether a part of the model may lie in main memory beyond what the ceiling counts: layers counted out, the cache, or
    tensors placed by hand.
    """
    layers = rows["gpu_layers"].to_numpy(dtype=np.float64)[at]
    several = found.devices > 1
    few = several & (layers >= 0) & (layers < FEW_LAYERS) & ~says(rows["backend"], "CPU")[at]
    words: tuple[str, ...] = ("cache lies in main memory", "placed by hand")
    words += () if found.split and not found.host_unknown else ("main memory",)
    moved = [name for name in rows["note"].cat.categories if any(word in name for word in words)]
    return few | found.host_unknown | rows["note"].isin(moved).to_numpy(dtype=bool)[at]


def _joined(bits: Ints) -> Texts:
    codes, distinct = pd.factorize(bits)
    return _from_codes(codes, ["|".join(reason_names(int(value))) for value in distinct])


def _from_codes(codes: Ints, texts: Sequence[str | None]) -> Texts:
    """A column of few different texts; None is missing."""
    known = list(dict.fromkeys(text for text in texts if text is not None))
    at = {text: place for place, text in enumerate(known)}
    place_of = np.array([*(-1 if text is None else at[text] for text in texts), -1], dtype=np.int64)
    return pd.Categorical.from_codes(place_of[codes], pd.Index(known, dtype="str"))
