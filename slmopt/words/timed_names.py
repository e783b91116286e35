"""What measured rows timed, in a few letters; columns at once, since a table may hold a million different lengths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from slmopt.measured.distinct import distinct, members, texts_in_use
from slmopt.measured.pieces import each_piece
from slmopt.words import numbers as n

Floats = npt.NDArray[np.float64]

_SHAPE: Final = ("phase", "prompt_tokens", "output_tokens", "depth_tokens", "batch", "concurrency")

_MOST_CATEGORIES: Final = 10_000
"""More different names than this are plain texts: as categories they would be longer."""


CARRIED: Final = {
    "timed_prompt": "prompt_tokens",
    "timed_output": "output_tokens",
    "timed_depth": "depth_tokens",
    "timed_batch": "batch",
    "timed_users": "concurrency",
}
"""Columns that a table of judged rows carries of what was timed, beside its own numbers, and what they are in the one table."""


def named(rows: pd.DataFrame) -> pd.DataFrame:
    """Judged rows with their tests' names as a column.

    Names are made for the rows that are shown: those of a million rows take as long as judging them.
    """
    if "test" in rows:
        return rows
    timed = {own: rows[name] for name, own in CARRIED.items()}
    return rows.assign(test=test_names(pd.DataFrame({"phase": rows["phase"], **timed})))


def test_codes(rows: pd.DataFrame) -> list[npt.NDArray[Any]]:
    """Columns of numbers in which judged rows agree exactly where their tests have the same name."""
    phases = rows["phase"].cat
    words = [_PHASES.get(str(name), 3 + at) for at, name in enumerate(phases.categories)]
    known = np.array([*words, 2], dtype=np.int64)
    codes = phases.codes.to_numpy()
    timed = [rows[name].to_numpy(dtype=np.float64) for name in CARRIED]
    found = [np.empty(len(rows), dtype=np.int64), *(np.empty(len(rows)) for _ in timed)]

    def code(piece: slice) -> None:
        phase = known[codes[piece]]
        prompt, output, depth, batch, users = (values[piece] for values in timed)
        fed, made = prompt > 0, output > 0
        decode, prefill = phase == 0, phase == 1
        whole = ~(decode | prefill)
        parts = (
            np.where(whole & (fed | made), 2, np.where(whole & (phase == 2), len(words) + 3, phase)),
            np.where(fed & ~decode, np.where(prefill, np.rint(prompt), np.floor(prompt)), -1.0),
            np.where(made & ~prefill, np.where(decode, np.rint(output), np.floor(output)), -1.0),
            np.where(depth > 0, np.floor(depth), -1.0),
            np.where(batch > 1, np.floor(batch), -1.0),
            np.where(np.isnan(batch) & (users > 1), np.floor(users), -1.0),
        )
        for column, part in zip(found, parts, strict=True):
            column[piece] = part

    each_piece(len(rows), code)
    return found


_PHASES: Final = {"decode": 0, "prefill": 1}
"""Phases whose names tell one length only."""


def test_names(rows: pd.DataFrame) -> pd.Series:
    """What each row of a benchmark table timed: "tg32", "pp512, depth 1,024", "tg16, batch 8"."""
    if rows.empty:
        return pd.Series(pd.Categorical([]), index=rows.index)
    codes, first = distinct((rows[name] for name in _SHAPE), len(rows))
    names = _names(rows[list(_SHAPE)].iloc[first])
    if len(first) > _MOST_CATEGORIES:
        every = names if len(first) == len(rows) else names.take(pa.array(codes))
        return pd.Series(every.to_pandas(), dtype="str").set_axis(rows.index)
    at, known = pd.factorize(np.asarray(names.to_pandas(), dtype=object))
    return pd.Series(pd.Categorical.from_codes(at[codes], pd.Index(known, dtype="str")), index=rows.index)


def _names(rows: pd.DataFrame) -> Any:
    """A name a row, as an Arrow array."""
    phases = ["", *texts_in_use(rows["phase"])]
    codes = np.zeros(len(rows), dtype=np.int64)
    for at, phase in enumerate(phases[1:], 1):
        codes[(rows["phase"] == phase).to_numpy()] = at
    places = members(codes, len(phases))
    parts = [
        _of_phase(phase, rows if len(at) == len(rows) else rows.iloc[at])
        for phase, at in zip(phases, places, strict=True)
        if len(at)
    ]
    if len(parts) == 1:
        return parts[0]
    order = np.concatenate([at for at in places if len(at)])
    back = np.empty(len(rows), dtype=np.int64)
    back[order] = np.arange(len(rows))
    return pa.concat_arrays(parts).take(pa.array(back))


def _of_phase(phase: str, rows: pd.DataFrame) -> Any:
    prompt, output, depth, batch, users = (rows[name].to_numpy(dtype=np.float64) for name in _SHAPE[1:])
    if phase == "decode":
        head = [_texts(output, lambda value: f"tg{value:.0f}" if value > 0 else "decode")]
    elif phase == "prefill":
        head = [_texts(prompt, lambda value: f"pp{value:.0f}" if value > 0 else "prefill")]
    else:
        joint = (prompt > 0).astype(np.float64) + 2 * (output > 0)
        head = [
            _texts(prompt, lambda value: f"{n.count(value)} in" if value > 0 else ""),
            _texts(joint, lambda value: {0: phase or "nan", 3: ", "}.get(int(value), "")),
            _texts(output, lambda value: f"{n.count(value)} out" if value > 0 else ""),
        ]
    tail = [
        _texts(depth, lambda value: f", depth {n.count(value)}" if value > 0 else ""),
        _texts(batch, lambda value: f", batch {n.count(value)}" if value > 1 else ""),
        _texts(
            np.where(np.isnan(batch), users, np.nan),
            lambda value: f", {n.count(value)} at once" if value > 1 else "",
        ),
    ]
    pieces = [piece for piece in (*head, *tail) if piece is not None]
    return pieces[0] if len(pieces) == 1 else pc.binary_join_element_wise(*pieces, _NOTHING)


_NOTHING: Final = pa.scalar("", pa.large_string())


def _texts(values: Floats, form: Callable[[float], str]) -> Any:
    """The text of each value; None where all are empty."""
    codes, known = pd.factorize(values, use_na_sentinel=False)
    texts = [form(float(value)) for value in known]
    if not any(texts):
        return None
    return pa.array(texts, pa.large_string()).take(pa.array(codes))
