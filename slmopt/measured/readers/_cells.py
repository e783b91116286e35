"""What a cell says: numbers with units, separators, bold marks and ranges around them; formats named in words; names.

Whole columns are parsed through their distinct values, so a million rows cost what their variety costs.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np
import pandas as pd

Floats = np.ndarray[tuple[int], np.dtype[np.float64]]
Times = np.ndarray[tuple[int], np.dtype[np.datetime64]]

# Words for "did not run" or "not stated": missing, and no reason to complain about the cell.
MISSING: Final = frozenset(
    {
        "",
        "-",
        "--",
        "—",
        "–",
        "?",
        "n/a",
        "na",
        "nan",
        "none",
        "null",
        "nil",
        "#n/a",
        "#div/0!",
        "#value!",
        "#ref!",
        "#name?",
        "#num!",
        "tbd",
        "x",
    }
)
# Words for "could not run": missing too, but worth a remark.
FAILED: Final = frozenset(
    {"oom", "out of memory", "error", "err", "fail", "failed", "crash", "crashed", "timeout", "dnf"}
)

_LINK: Final = re.compile(r"\[([^\[\]]+)\]\([^()\s]*\)")
_MARKUP: Final = re.compile(r"<su[pb]>.*?</su[pb]>|<[^<>]*>|\*\*|__|`|\[\^?\w{1,3}\]")
_SPACES: Final = re.compile("[\u00a0\u202f\u2009\u2007\u2008\ufeff\t ]+")
_NUMBER: Final = re.compile(
    r"""(?P<about>[~≈<>≤≥]?\s*)
        (?P<value>[+-]?(?:\d[\d.,' _]*|\.\d+)(?:[eE][+-]?\d+)?)
        \s*(?:(?:±|\+/-|\+-)\s*(?P<sd>\d[\d.,' ]*(?:[eE][+-]?\d+)?)\s*)?
        (?P<unit>[^\d\s±][^±]*)?$""",
    re.VERBOSE,
)
_INFINITE: Final = re.compile(r"[+-]?inf(?:inity)?$", re.IGNORECASE)


def plain(cell: str) -> str:
    """A cell without markup, footnotes and odd spaces."""
    return _SPACES.sub(" ", _MARKUP.sub("", _LINK.sub(r"\1", cell))).strip()


def parse_number(cell: str, decimal: str = ".") -> tuple[float, float, str]:
    """Value, standard deviation (NaN where none) and unit of a cell such as '1,786.17 ± 19.42', '~20', '35 tok/s', '26 %'.

    Thousands separators are recognised by their groups of three. NaN where the cell holds no single finite number.
    """
    text = plain(cell)
    found = _NUMBER.match(text)
    if not found:
        return math.nan, math.nan, ""
    value = _float(found["value"].strip(), decimal)
    spread = _float(found["sd"].strip(), decimal) if found["sd"] else math.nan
    return value, spread, (found["unit"] or "").strip()


def _float(digits: str, decimal: str) -> float:
    """The number that the digits spell, with ``decimal`` as its decimal sign; NaN where the grouping is impossible."""
    thousands = "," if decimal == "." else "."
    body = digits.replace("_", "").replace("'", "").replace(" ", "")
    if thousands in body:
        groups = body.split(decimal)[0].lstrip("+-").split(thousands)
        if not all(len(group) == 3 for group in groups[1:]) or len(groups[0]) > 3 or not groups[0]:
            return math.nan
        body = body.replace(thousands, "")
    body = body.replace(decimal, ".")
    try:
        value = float(body)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def is_missing(cell: str) -> bool:
    """Whether a cell says nothing, an infinity included (what it stands for, "no limit" or "division by 0", is no speed)."""
    text = plain(cell).lower()
    return text in MISSING or bool(_INFINITE.match(text))


def parse_column(cells: pd.Series[str], decimal: str = ".") -> tuple[Floats, Floats, list[str]]:
    """Values, standard deviations, and the distinct texts that are neither numbers nor words for missing."""
    codes, distinct = pd.factorize(cells)
    values = np.full(len(distinct) + 1, np.nan)
    spreads = np.full(len(distinct) + 1, np.nan)
    odd: list[str] = []
    for position, cell in enumerate(distinct):
        text = str(cell)
        values[position], spreads[position], _ = parse_number(text, decimal)
        if math.isnan(values[position]) and not is_missing(text):
            odd.append(text)
    return values[codes], spreads[codes], odd


_GGML_TYPE: Final = re.compile(
    r"\b(?P<type>(?:IQ|TQ|Q)\d(?:_\d|_K(?:_[SML])?|_XXS|_XS|_NL|_S|_M)?(?:_\d)*|BF16|F16|F32|MXFP4|NVFP4)(?:\s*-\s*(?P<size>Small|Medium|Large))?",
    re.IGNORECASE,
)
_SIZES: Final = {"small": "_S", "medium": "_M", "large": "_L"}


def ggml_format(model_type: str) -> str:
    """Weight format in what llama.cpp calls a model type: 'llama 1B Q4_K - Medium' is Q4_K_M, as
    is 'Q4_K_M' itself; empty where it names none.
    """
    every = list(_GGML_TYPE.finditer(model_type))
    if not every:
        return ""
    found = every[-1]  # a name may hold such a word; the format comes after it
    size = (found["size"] or "").lower()
    return found["type"].upper() + (
        _SIZES[size] if size and not found["type"].upper().endswith("_K_" + size[0].upper()) else ""
    )


_SHARD: Final = re.compile(r"-\d{5}-of-\d{5}$")
_ENDING: Final = re.compile(r"\.(?:gguf|bin|safetensors|ggml|onnx|xml|tflite|litertlm)$", re.IGNORECASE)


def model_name(path: str) -> str:
    """A model's name from its file: folders, the number of a part and the file's ending removed."""
    name = re.split(r"[\\/]", path.strip().rstrip("\\/"))[-1]
    return _SHARD.sub("", _ENDING.sub("", name))


_FORMAT_IN_NAME: Final = re.compile(
    r"(?:^|[-_.: @])(?P<format>(?:UD-)?(?:I?Q|TQ)\d_(?:K_(?:XL|XS|[SML])|K|[01](?:_\d+)*|XXS|XS|NL|[SM])|BF16|F16|FP16|F32|FP32|MXFP4|NVFP4|FP8|FP4"
    r"|INT8|INT4|W\dA\d+|AWQ|GPTQ|[2-8]-?bit)(?=$|[-_.: @])",
    re.IGNORECASE,
)


def format_in_name(name: str) -> str:
    """Weight format that a model's name carries, as it is spelt there (upper case); empty where it carries none."""
    every = list(_FORMAT_IN_NAME.finditer(name))
    return every[-1]["format"].upper().replace("-BIT", "BIT").removeprefix("UD-") if every else ""


_CACHE_IN_TEXT: Final = re.compile(r"\bkv[ _]cache\s*=\s*([\w.]+)", re.IGNORECASE)
_WEIGHT_IN_TEXT: Final = re.compile(r"\bweights?\s*=\s*([\w.]+)", re.IGNORECASE)


def weight_in_text(text: str) -> str:
    """The weight format in a cell such as 'Weight = fp8, KV Cache = fp16'; empty where it names none."""
    found = _WEIGHT_IN_TEXT.search(text)
    return found[1] if found else ""


def cache_format(text: str) -> str:
    """A cache format as llama.cpp names it, in upper case; empty for 'auto' and for yes and no, which name none."""
    found = _CACHE_IN_TEXT.search(text)
    name = (found[1] if found else text).strip().upper()
    return "" if name in {"AUTO", "TRUE", "FALSE", "YES", "NO", "NONE"} or name.lower() in MISSING else name


_SI: Final = {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9, "G": 1e9, "T": 1e12}
_BYTES: Final = {
    "B": 1.0,
    "KIB": 2.0**10,
    "MIB": 2.0**20,
    "GIB": 2.0**30,
    "TIB": 2.0**40,
    "KB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "TB": 1e12,
}


def parameters(cell: str) -> float:
    """'116.83 B' as 116.83e9 parameters; NaN where it is no such number."""
    value, _, unit = parse_number(cell)
    return value * _SI.get(unit.upper(), math.nan)


def size_bytes(cell: str) -> float:
    """'59.02 GiB' in bytes; NaN where it is no size."""
    value, _, unit = parse_number(cell)
    return value * _BYTES.get(unit.upper(), math.nan)


_TIME: Final = re.compile(
    r"(\d{4})[-./]?(\d\d)[-./]?(\d\d)(?:[T _-]{1,2}(\d\d):?(\d\d)(?::?(\d\d)(?:[.,](\d{1,9}))?)?)?\s*(Z|UTC|[+-]\d\d:?\d\d)?$"
)


def parse_time(text: str) -> np.datetime64:
    """A date and time as benchmarks write them ('2025-10-28T15:42:18Z', '20241109-150547'), in UTC where a zone is given."""
    found = _TIME.match(text.strip())
    if not found:
        return _epoch(text.strip())
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    micro = int((found[7] or "").ljust(6, "0")[:6] or 0)
    try:
        moment = datetime(year, month, day, hour, minute, second, micro, tzinfo=UTC)
        zone = found[8] or "Z"
        if zone[0] in "+-":
            shift = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
            moment -= shift if zone[0] == "+" else -shift
    except (ValueError, OverflowError):
        return np.datetime64("NaT", "us")
    return np.datetime64(moment.replace(tzinfo=None), "us")


_EPOCH: Final = re.compile(r"(\d{10})(\d{3})?(\d{6})?(?:\.\d+)?$")


def _epoch(text: str) -> np.datetime64:
    """Seconds, milliseconds or nanoseconds since 1970, told by their number of digits; only this century's."""
    found = _EPOCH.match(text)
    if not found or not 946_684_800 <= int(found[1]) < 4_102_444_800:
        return np.datetime64("NaT", "us")
    return np.datetime64(1_000_000 * int(found[1]) + 1000 * int(found[2] or 0), "us")


def parse_times(cells: pd.Series[str]) -> tuple[Times, list[str]]:
    """Dates and times of a column, and the distinct texts that are none."""
    codes, distinct = pd.factorize(cells)
    values = np.full(len(distinct) + 1, np.datetime64("NaT", "us"))
    odd: list[str] = []
    for position, cell in enumerate(distinct):
        values[position] = parse_time(str(cell))
        if np.isnat(values[position]) and not is_missing(str(cell)):
            odd.append(str(cell))
    return values[codes], odd


_TEST: Final = re.compile(r"(?:pp ?(?P<pp>\d+))?(?:\s*\+?\s*tg ?(?P<tg>\d+))?(?:\s*@\s*d\s*(?P<depth>\d+))?$")


def parse_test(cell: str) -> tuple[float, float, float] | None:
    """Prompt, output and depth tokens of a test such as 'pp512', 'tg128 @ d4096', 'pp512+tg128'; None where it is none."""
    found = _TEST.match(cell.strip())
    if not found or not (found["pp"] or found["tg"]):
        return None
    return float(found["pp"] or 0), float(found["tg"] or 0), float(found["depth"] or 0)
