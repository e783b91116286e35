"""A trace: CSV with a request a line, its arrival time and its prompt's and reply's tokens."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from slmopt.serving.traffic import LONGEST, MOST_REQUESTS, Array, Ints, Requests
from slmopt.specs.base import SpecError

TIME = ("arrival_s", "arrival", "arrival_time", "arrived_at", "timestamp", "time", "time_s", "t")
PROMPT = (
    *(
        "prompt_tokens",
        "prompt",
        "prompt_len",
        "input_tokens",
        "input_length",
        "input_len",
        "num_prefill_tokens",
    ),
    *("contexttokens", "request_tokens"),
)
OUTPUT = (
    *("output_tokens", "output", "output_len", "output_length", "completion_tokens", "num_decode_tokens"),
    *("generatedtokens", "response_tokens"),
)
WANTED = "a header with arrival_s, prompt_tokens, output_tokens"
_FLOAT = sys.float_info.max


def read_trace(content: bytes, name: str = "trace") -> Requests:
    """The requests of a CSV file, sorted by arrival.

    Times are seconds, or dates (seconds after the first then). A column keeps its meaning whatever its order; without a
    header the first three are arrival, prompt and output. Rows that no server could take (a negative time, no tokens)
    stay: the server refuses and counts them. Raises :class:`SpecError` where the file is no such table.
    """
    table = _table(content, name)
    if len(table) > MOST_REQUESTS:
        raise SpecError(f"{name} has {len(table):,} requests: give at most {MOST_REQUESTS:,}.")
    columns = {_plain(column): column for column in table.columns}
    found = [_column(columns, names) for names in (TIME, PROMPT, OUTPUT)]
    missing = [
        names[0] for names, column in zip((TIME, PROMPT, OUTPUT), found, strict=True) if column is None
    ]
    if missing:
        raise SpecError(f"{name} lacks {', '.join(missing)}: give {WANTED}.")
    arrival = _times(table[found[0]])
    endless = int(np.isinf(arrival).sum())
    if endless:
        raise SpecError(
            f"{name} has {endless:,} {'time that is' if endless == 1 else 'times that are'} infinite: give seconds or dates."
        )
    order = np.argsort(arrival, kind="stable")
    late = arrival[:-1] > arrival[1:]
    return Requests(
        arrival=arrival[order],
        prompt=_tokens(table[found[1]])[order],
        output=_tokens(table[found[2]])[order],
        hits=np.ones(len(table), dtype=np.bool_),
        sorted_in=int(late.sum()),
    )


def _table(content: bytes, name: str) -> pd.DataFrame:
    try:
        table = pd.read_csv(io.BytesIO(content), skipinitialspace=True)
        if all(_is_number(column) for column in table.columns[:3]) and len(table.columns) >= 3:
            table = pd.read_csv(io.BytesIO(content), skipinitialspace=True, header=None)
            table.columns = pd.Index([TIME[0], PROMPT[0], OUTPUT[0], *map(str, table.columns[3:])])
    except (ValueError, UnicodeDecodeError) as error:
        # pandas' own errors of reading are ValueErrors.
        raise SpecError(
            f"{name} is no CSV table ({' '.join(str(error).split())[:120]}): give {WANTED}."
        ) from error
    if table.empty:
        raise SpecError(f"{name} has no requests: give {WANTED} and a line for each.")
    return table


def _plain(name: object) -> str:
    return str(name).strip().lower().replace(" ", "_").replace("-", "_")


def _is_number(text: object) -> bool:
    try:
        float(str(text))
    except ValueError:
        return False
    return True


def _column(columns: Mapping[str, object], names: Sequence[str]) -> object | None:
    return next((columns[name] for name in names if name in columns), None)


def _numbers(values: pd.Series) -> Array:
    """As float64; NaN for what is no number, infinite for what is too long for one."""
    if values.dtype == object:
        # pandas itself fails on whole numbers beyond a float's range.
        values = values.map(
            lambda value: float("inf") if isinstance(value, int) and abs(value) > _FLOAT else value
        )
    return pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64)


def _times(values: pd.Series) -> Array:
    numbers = _numbers(values)
    if not np.isnan(numbers).all():
        return numbers
    dates = pd.to_datetime(values, errors="coerce", utc=True)
    return np.asarray((dates - dates.min()) / pd.Timedelta(seconds=1), dtype=np.float64)


def _tokens(values: pd.Series) -> Ints:
    """Whole tokens; what is no number counts as none, and the server refuses it."""
    whole = np.nan_to_num(_numbers(values), nan=0.0, posinf=2.0 * LONGEST, neginf=0.0)
    tokens: Ints = np.clip(np.rint(whole), 0, 2 * LONGEST).astype(np.int64)
    return tokens
