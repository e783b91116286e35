"""The one table behind every benchmark reader: its columns, their units, and what a reader returns.

Columnar throughout: a file of a million rows is some forty NumPy columns, never a million objects. Texts that repeat
(a model, a device, a phase) are categories. Nothing is guessed: what a file does not say is missing (NaN), never 0.

The timed part
--------------
Every row times one stretch of work, and three columns say what it was, per sequence:

* ``depth_tokens`` were in the cache before the clock started,
* ``prompt_tokens`` were fed while it ran,
* ``output_tokens`` were generated while it ran.

So a decode row after a prompt of 512 tokens has depth 512 and prompt 0, and a serving row that times whole requests has
its prompt in ``prompt_tokens``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal

import numpy as np
import pandas as pd

from slmopt.measured.distinct import alike

Kind = Literal["category", "str", "float64", "datetime64[us]"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the table: its name, unit, pandas dtype and meaning."""

    name: str
    unit: str
    dtype: Kind
    meaning: str


COLUMNS: Final[tuple[Column, ...]] = (
    Column(
        "source_file", "", "category", "the file, or the archive and the file inside it, that held the row"
    ),
    Column(
        "row",
        "",
        "str",
        "where the user finds it: 'row 3' of a sheet (blank lines and headers not counted), 'line 5', 'item 2'",
    ),
    Column("tool", "", "category", "the benchmark that wrote the number"),
    Column("tool_version", "", "category", "its version or build, as written"),
    Column("model", "", "category", "the model's name as written, folders and file endings removed"),
    Column("model_file", "", "category", "the model file as written"),
    Column("model_type", "", "category", "architecture, size and quantisation as the tool described them"),
    Column("weight_bytes", "B", "float64", "size of the weights"),
    Column("params", "parameters", "float64", "total parameters, active or not"),
    Column("weight_format", "", "category", "weight format, such as Q4_K_M, F16, fp8"),
    Column("cache_k", "", "category", "format of cached keys, such as F16, Q8_0"),
    Column("cache_v", "", "category", "format of cached values"),
    Column("device", "", "category", "the device that did the work, as written"),
    Column("device_count", "devices", "float64", "how many of them"),
    Column("backend", "", "category", "compute back end or serving engine, such as CUDA, CPU, vllm"),
    Column("threads", "threads", "float64", "CPU threads"),
    Column("gpu_layers", "layers", "float64", "layers on the GPU; -1 or more than the model has: all"),
    Column("flash_attention", "", "category", "'on', 'off' or 'auto'"),
    Column(
        "chunk_tokens",
        "tokens",
        "float64",
        "most prompt tokens a pass takes (micro-batch); not a batch of users",
    ),
    Column(
        "phase",
        "",
        "category",
        "'decode', 'prefill', 'mixed' (both inside one clock) or 'serving' (whole requests)",
    ),
    Column("batch", "sequences", "float64", "sequences that a pass advances together"),
    Column(
        "concurrency",
        "sequences",
        "float64",
        "requests in flight, as set or as measured; NaN: not stated or unlimited",
    ),
    Column("prompt_tokens", "tokens/sequence", "float64", "prompt tokens fed in the timed part (mean)"),
    Column("output_tokens", "tokens/sequence", "float64", "tokens generated in the timed part (mean)"),
    Column("depth_tokens", "tokens/sequence", "float64", "tokens cached before the timed part"),
    Column("cached_tokens", "tokens/sequence", "float64", "prompt tokens that a prefix cache supplied"),
    Column(
        "tokens_per_s",
        "tokens/s",
        "float64",
        "speed on the basis of the next column: output tokens, but prompt tokens where the phase is prefill",
    ),
    Column(
        "tokens_per_s_basis",
        "",
        "category",
        "'sequence' (one user's stream), 'device' (all sequences on all devices together), 'mixed' (prompt and output tokens of all sequences)",
    ),
    Column("ttft_s", "s", "float64", "time to first token"),
    Column("tpot_s", "s", "float64", "time per output token after the first, of one sequence"),
    Column(
        "itl_s",
        "s",
        "float64",
        "gap between stream chunks; a chunk may hold several tokens, so never a decode time",
    ),
    Column("e2e_s", "s", "float64", "time of a whole request, or of the whole timed part"),
    Column(
        "statistic",
        "",
        "category",
        "which statistic the four times are: 'mean', 'p50' or 'single' (one request)",
    ),
    Column("ttft_p50_s", "s", "float64", "median time to first token"),
    Column("ttft_p95_s", "s", "float64", "95th percentile"),
    Column("ttft_p99_s", "s", "float64", "99th percentile"),
    Column("tpot_p50_s", "s", "float64", "median time per output token"),
    Column("tpot_p95_s", "s", "float64", "95th percentile"),
    Column("tpot_p99_s", "s", "float64", "99th percentile"),
    Column("repeats", "runs", "float64", "repetitions behind the number"),
    Column(
        "spread",
        "1",
        "float64",
        "standard deviation of the repetitions' speed over its mean; NaN where one run tells nothing",
    ),
    Column("requests", "requests", "float64", "requests that completed"),
    Column(
        "failures",
        "requests",
        "float64",
        "requests that failed, silent ones included where the file shows them",
    ),
    Column("acceptance", "1", "float64", "share of drafted tokens accepted (speculation)"),
    Column("draft_tokens", "tokens/pass", "float64", "tokens drafted a pass (speculation)"),
    Column(
        "tokens_per_pass", "tokens/pass", "float64", "mean tokens a verification pass produced (speculation)"
    ),
    Column(
        "timestamp", "", "datetime64[us]", "when it ran: UTC where the file names its zone, else as written"
    ),
    Column(
        "clock",
        "",
        "category",
        "'server' (timed where the model runs) or 'client' (network and queue included)",
    ),
    Column("note", "", "category", "what a reader noticed about this row"),
    Column("conversion", "", "category", "how the tool's numbers became these"),
)

NAMES: Final[tuple[str, ...]] = tuple(column.name for column in COLUMNS)
DTYPES: Final[dict[str, Kind]] = {column.name: column.dtype for column in COLUMNS}

# What places a row against a ceiling and that no measurement can supply: a page asks for those that a file lacks.
FACTS: Final[tuple[str, ...]] = ("model", "weight_format", "cache_k", "device", "device_count")

SKIPPED_NAMES: Final[tuple[str, ...]] = ("source_file", "row", "why")


@dataclass(frozen=True, slots=True, eq=False)
class ReadResult:
    """What a reader made of one file or of several.

    ``format`` names the tool and layout (several: joined by " + "); ``rows`` has exactly ``COLUMNS``; ``skipped`` has a
    line (source_file, row, why) for each row left out; ``warnings`` are sentences about the file as a whole.
    """

    format: str
    rows: pd.DataFrame
    skipped: pd.DataFrame
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Skip:
    """One row left out: where it stood and why."""

    row: str
    why: str


def make_rows(columns: Mapping[str, object], length: int | None = None) -> pd.DataFrame:
    """The table of ``columns``, each an array or one value for all rows; columns not named are missing.

    Raises
    ------
    KeyError
        A name that is not a column: a reader's mistake, never the user's.
    """
    unknown = set(columns) - set(NAMES)
    if unknown:
        raise KeyError(f"not columns of the table: {', '.join(sorted(unknown))}")
    size = _length(columns) if length is None else length
    data = {column.name: _typed(columns.get(column.name), column.dtype, size) for column in COLUMNS}
    return pd.DataFrame(data, index=pd.RangeIndex(size), copy=False)


def rows_from_records(records: Sequence[Mapping[str, object]]) -> pd.DataFrame:
    """The table of a few records (dicts with column names as keys); for tools that write one object a run."""
    names = {name for record in records for name in record}
    return make_rows({name: [record.get(name) for record in records] for name in names}, len(records))


def empty_rows() -> pd.DataFrame:
    """The table with no rows."""
    return make_rows({}, 0)


def skipped_frame(source: str, skips: Iterable[Skip]) -> pd.DataFrame:
    """The table of rows left out of one file."""
    pairs = [(source, skip.row, skip.why) for skip in skips]
    return pd.DataFrame(pairs, columns=list(SKIPPED_NAMES), dtype="str")


def result(
    form: str, source: str, rows: pd.DataFrame, skips: Iterable[Skip] = (), warnings: Iterable[str] = ()
) -> ReadResult:
    """A reader's answer for one file; ``rows`` need not carry the file's name yet."""
    named = rows.assign(source_file=_categories(source, len(rows)))
    return ReadResult(form, named, skipped_frame(source, skips), tuple(warnings))


def concat(results: Iterable[ReadResult]) -> ReadResult:
    """Several results as one, in order; categories are merged, so dtypes stay as documented."""
    parts = list(results)
    if len(parts) == 1:
        return parts[0]
    formats = " + ".join(dict.fromkeys(name for part in parts for name in part.format.split(" + ") if name))
    warnings = tuple(dict.fromkeys(sentence for part in parts for sentence in part.warnings))
    skipped = [part.skipped for part in parts if len(part.skipped)]
    return ReadResult(
        formats,
        concat_rows([part.rows for part in parts]),
        pd.concat(skipped, ignore_index=True) if skipped else skipped_frame("", ()),
        warnings,
    )


def concat_rows(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Tables one after the other."""
    filled = [frame for frame in frames if len(frame)]
    if not filled:
        return empty_rows()
    if len(filled) == 1:
        return filled[0].reset_index(drop=True)
    data: dict[str, object] = {}
    for name, dtype in DTYPES.items():
        parts = [frame[name] for frame in filled]
        if dtype == "category":
            data[name] = pd.api.types.union_categoricals(parts)
        elif dtype == "float64":
            data[name] = _joined([part.to_numpy() for part in parts])
        else:
            data[name] = pd.concat(parts, ignore_index=True)
    return pd.DataFrame(data, copy=False)


def _joined(parts: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """Columns one behind the other; of one number in all of them that number once."""
    ends = np.array([part[0] for part in parts])
    if alike(ends) and all(map(alike, parts)):
        return np.broadcast_to(ends[0], sum(map(len, parts)))
    return np.concatenate(parts)


def _length(columns: Mapping[str, object]) -> int:
    """Rows that the arrays among ``columns`` have; a table of single values only has one."""
    sizes = {len(values) for values in columns.values() if isinstance(values, Sized) and _is_array(values)}
    if len(sizes) > 1:
        raise ValueError(f"columns of different lengths: {sorted(sizes)}")
    return sizes.pop() if sizes else 1


def _is_array(values: object) -> bool:
    return isinstance(
        values, list | tuple | np.ndarray | pd.Series | pd.Categorical | pd.api.extensions.ExtensionArray
    )


def _typed(values: object, dtype: Kind, size: int) -> object:
    """``values`` as a column of ``dtype`` with ``size`` rows; None is a missing column."""
    if dtype == "category":
        return _categories(values, size)
    if dtype == "float64":
        if values is None or not _is_array(values):
            # One number in the memory of one, since most columns of a file are of this kind.
            return np.broadcast_to(np.float64(np.nan if values is None else values), size)  # type: ignore[arg-type]
        return pd.Series(values, dtype="float64", copy=False).to_numpy()
    if dtype == "datetime64[us]":
        if values is None or not _is_array(values):
            return np.full(size, np.datetime64("NaT" if values is None else values, "us"))  # type: ignore[call-overload]
        return pd.Series(values, dtype="datetime64[us]", copy=False)
    if values is None or not _is_array(values):
        return pd.Series([values] * size, dtype="str")
    return pd.Series(values, dtype="str", copy=False)


def _categories(values: object, size: int) -> pd.Categorical:
    """A categorical column; an empty text is missing."""
    if values is None or (isinstance(values, str) and not values):
        return pd.Categorical.from_codes(
            np.full(size, -1, dtype=np.int8), dtype=_one_text(None), validate=False
        )
    if isinstance(values, str):
        return pd.Categorical.from_codes(
            np.zeros(size, dtype=np.int8), dtype=_one_text(values), validate=False
        )
    made = values if isinstance(values, pd.Categorical) else pd.Categorical(pd.Series(values, dtype="str"))
    if "" in made.categories:
        made = made.remove_categories([""])
    used = np.bincount(np.asarray(made.codes, dtype=np.int64) + 1, minlength=len(made.categories) + 1)[1:] > 0
    return made if used.all() else made.remove_unused_categories()


@lru_cache(maxsize=1024)
def _one_text(text: str | None) -> Any:
    """The type of a column with one text, or with none; kept, since making it costs more than the column."""
    return pd.CategoricalDtype(pd.Index([] if text is None else [text], dtype="str"))
