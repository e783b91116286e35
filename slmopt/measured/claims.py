"""What each row claims: so many tokens in so much time, by a certain piece of work.

Tools time different things. Here every row becomes sequences, lengths, the tokens that its speed counts and the seconds
that it says they took; a ceiling is then the same work under the device's roofs. What a row leaves open is taken so
that the ceiling stays a bound (a shorter context, one sequence), and flagged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from slmopt.measured.distinct import lean
from slmopt.measured.pieces import each_piece
from slmopt.theory.speculation import expected_tokens

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

PHASES: Final = ("decode", "prefill", "mixed", "serving")


@dataclass(frozen=True, slots=True)
class Claims:
    """Columns, a value a row: sequences (``together``: as many as may have shared a pass), tokens cached, fed and generated a sequence (``output`` in passes: fewer where a
    pass yields several), tokens counted by the speed, seconds claimed; and flags.
    """

    batch: Floats
    together: Floats
    depth: Floats
    prompt: Floats
    output: Floats
    tokens: Floats
    seconds: Floats
    prefill: Bools
    no_batch: Bools
    no_depth: Bools
    no_length: Bools
    no_speed: Bools
    speculated: Bools
    whole_requests: Bools
    one_of_many: Bools

    def at(self, rows: npt.NDArray[np.int64] | slice) -> Claims:
        """These rows only."""
        return Claims(*(getattr(self, f.name)[rows] for f in fields(self)))


def claims(rows: pd.DataFrame, batch: float | None = None) -> Claims:
    """The claims of a table's rows; ``batch`` is what the user says of rows that state none."""
    size = len(rows)
    kinds = {f.name: np.float64 if f.type == "Floats" else np.bool_ for f in fields(Claims)}
    found: dict[str, npt.NDArray[Any]] = {name: np.empty(size, dtype=kind) for name, kind in kinds.items()}
    columns = _Columns.of(rows)

    def claim(piece: slice) -> None:
        one = _claims(columns.at(piece), batch)
        for name, values in found.items():
            values[piece] = getattr(one, name)

    each_piece(size, claim)
    return Claims(**{name: lean(values) for name, values in found.items()})


def _claims(n: _Columns, batch: float | None) -> Claims:
    """The claims of rows, each by itself."""
    decode, prefill, mixed, serving = (n.says("phase", name) for name in PHASES)
    together = np.where(np.isfinite(n.batch), n.batch, n.concurrency)
    if batch is not None:
        together = np.where(np.isfinite(together), together, float(batch))
    own, both = (n.says("tokens_per_s_basis", name) for name in ("sequence", "mixed"))
    tpot = _time_per_token(n, serving)
    # A stream's own time a token bounds nothing but one sequence, unless all of them decode in step.
    by_tpot = serving & np.isfinite(tpot) & ~((together > 1) & np.isfinite(n.tokens_per_s) & ~own)
    alone = by_tpot | (~np.isfinite(together) & (own | ~np.isfinite(n.tokens_per_s))) | (serving & own)
    sequences = np.where(alone, 1.0, together)
    no_batch = ~np.isfinite(sequences)
    sequences = np.where(no_batch, 1.0, sequences)
    hit = np.nan_to_num(n.cached_tokens)
    fed = np.where(prefill | mixed, np.maximum(n.prompt_tokens - hit, 1.0), 0.0)
    depth = np.nan_to_num(n.depth_tokens) + np.where(
        prefill | mixed, hit, np.where(serving, np.nan_to_num(n.prompt_tokens), 0.0)
    )
    no_length = (prefill & ~np.isfinite(n.prompt_tokens)) | (
        mixed & ~np.isfinite(n.prompt_tokens + n.output_tokens)
    )
    generated = np.where(
        prefill, 0.0, np.where(np.isfinite(n.output_tokens), np.maximum(n.output_tokens, 1.0), 1.0)
    )
    # The prefill emits a request's first token; llama-bench's runs generate every one with a pass of its own.
    first_free = serving | (mixed & ~n.says("tool", "llama-bench"))
    generated = np.where(first_free, np.maximum(generated - 1.0, 1.0), generated)
    per_pass = _tokens_per_pass(n)
    counted = np.select(
        [prefill, mixed & both, mixed],
        [n.prompt_tokens, n.prompt_tokens + n.output_tokens, n.output_tokens],
        generated,
    )
    counted = np.where(no_length, 1.0, counted)
    # Of prompt and output tokens together, the part that was generated.
    share = np.where(serving & both, n.output_tokens / (n.prompt_tokens + n.output_tokens), 1.0)
    speed = n.tokens_per_s * share * np.where(own, sequences, 1.0)
    speed = np.where(by_tpot | (decode & ~np.isfinite(speed)), sequences / tpot, speed)
    with np.errstate(divide="ignore", invalid="ignore"):
        seconds = counted * sequences / speed
        seconds = np.where(prefill & ~np.isfinite(speed), n.ttft_s, seconds)
        seconds = np.where(mixed & ~np.isfinite(speed), n.e2e_s, seconds)
    return Claims(
        batch=sequences,
        depth=depth,
        prompt=np.nan_to_num(fed),
        output=np.maximum(generated / per_pass, np.where(prefill, 0.0, 1e-3)),
        together=np.where(together >= 1, together, 1.0),
        tokens=counted * sequences,
        seconds=seconds,
        prefill=prefill,
        no_batch=no_batch,
        no_depth=(decode & ~np.isfinite(n.depth_tokens)) | (serving & ~np.isfinite(n.prompt_tokens)),
        no_length=no_length,
        no_speed=~(np.isfinite(seconds) & (seconds > 0)) | ~(decode | prefill | mixed | serving),
        speculated=per_pass > 1,
        whole_requests=serving & ~by_tpot,
        one_of_many=by_tpot & (together > 1),
    )


def says(column: pd.Series, word: str) -> Bools:
    """Where a column of categories holds exactly this text."""
    return _says(column.cat.codes.to_numpy(), list(column.cat.categories), word)


def _says(codes: npt.NDArray[Any], names: list[str], word: str) -> Bools:
    return np.asarray(codes == (names.index(word) if word in names else -2))


@dataclass(frozen=True, slots=True)
class _Columns:
    """What claims look at: the table's number columns as arrays, by attribute; of texts the codes, and their meanings."""

    numbers: Mapping[str, Floats]
    codes: Mapping[str, npt.NDArray[Any]]
    names: Mapping[str, list[str]]

    @classmethod
    def of(cls, rows: pd.DataFrame) -> _Columns:
        """The columns of a table."""
        texts = {name: rows[name].cat for name in _TEXTS}
        return cls(
            {name: rows[name].to_numpy(dtype=np.float64) for name in _NUMBERS},
            {name: text.codes.to_numpy() for name, text in texts.items()},
            {name: list(text.categories) for name, text in texts.items()},
        )

    def at(self, piece: slice) -> _Columns:
        """These rows only."""
        numbers = {name: values[piece] for name, values in self.numbers.items()}
        return _Columns(numbers, {name: codes[piece] for name, codes in self.codes.items()}, self.names)

    def says(self, column: str, word: str) -> Bools:
        """Where a column holds exactly this text."""
        return _says(self.codes[column], self.names[column], word)

    def __getattr__(self, name: str) -> Floats:
        return self.numbers[name]


_NUMBERS: Final = (
    "batch", "concurrency", "prompt_tokens", "output_tokens", "depth_tokens", "cached_tokens", "tokens_per_s", "ttft_s",
    "tpot_s", "tpot_p50_s", "e2e_s", "acceptance", "draft_tokens", "tokens_per_pass",
)  # fmt: skip
_TEXTS: Final = ("phase", "tokens_per_s_basis", "tool")


def _time_per_token(n: _Columns, serving: Bools) -> Floats:
    """Time per token after the first: as stated, its median, or of whole requests what follows the first token."""
    stated = np.where(np.isfinite(n.tpot_s), n.tpot_s, n.tpot_p50_s)
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = (n.e2e_s - n.ttft_s) / (n.output_tokens - 1.0)
    return np.where(np.isfinite(stated), stated, np.where(serving & (rest > 0), rest, np.nan))


def _tokens_per_pass(n: _Columns) -> Floats:
    """Tokens that a pass yields where speculation is declared, else 1."""
    acceptance, drafted = n.acceptance, n.draft_tokens
    known = np.isfinite(acceptance) & (acceptance >= 0) & (acceptance <= 1) & (drafted >= 1)
    found = np.ones(len(known))
    if known.any():
        found[known] = expected_tokens(acceptance[known], drafted[known])
    stated = n.tokens_per_pass
    return np.maximum(np.where(np.isfinite(stated) & (stated >= 1), stated, found), 1.0)
