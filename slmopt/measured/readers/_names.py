"""What people call things: column names of hand-made tables, split into a quantity, a statistic and a unit.

The words come from the headers of some 260 public tables. ``DOCUMENTED`` are the names of the project's own plain CSV,
whose meaning is fixed; all others are guesses, and said to be.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

Kind = Literal["text", "number", "time"]

TEXT_FIELDS: Final = frozenset(
    [
        "tool",
        "tool_version",
        "model",
        "model_file",
        "model_type",
        "weight_format",
        "cache",
        "cache_k",
        "cache_v",
        "device",
        "backend",
        "flash_attention",
        "phase",
        "basis",
        "statistic",
        "clock",
        "note",
        "conversion",
        "test",
    ]
)
NUMBER_FIELDS: Final = frozenset(
    [
        "params",
        "weight_bytes",
        "device_count",
        "threads",
        "gpu_layers",
        "chunk_tokens",
        "batch",
        "concurrency",
        "prompt_tokens",
        "output_tokens",
        "both_tokens",
        "depth_tokens",
        "cached_tokens",
        "total_prompt_tokens",
        "total_output_tokens",
        "repeats",
        "spread",
        "requests",
        "failures",
        "tensor_parallel",
        "pipeline_parallel",
        "cpu_moe_layers",
        "acceptance",
        "draft_tokens",
        "tokens_per_pass",
        "ttft",
        "tpot",
        "itl",
        "e2e",
        "prefill_speed",
        "decode_speed",
        "output_speed",
        "total_speed",
        "user_speed",
        "speed",
    ]
)
TIME_FIELDS: Final = frozenset({"timestamp"})
DURATIONS: Final = frozenset({"ttft", "tpot", "itl", "e2e"})
SPEEDS: Final = frozenset(
    {"prefill_speed", "decode_speed", "output_speed", "total_speed", "user_speed", "speed"}
)
MEASURES: Final = DURATIONS | SPEEDS

SECONDS: Final = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "msec": 1e-3, "msecs": 1e-3, "millisecond": 1e-3, "milliseconds": 1e-3,
    "s": 1.0, "sec": 1.0, "secs": 1.0, "second": 1.0, "seconds": 1.0, "min": 60.0,
}  # fmt: skip
BYTES: Final = {
    "b": 1.0, "bytes": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30,
}  # fmt: skip

_STATISTICS: Final = {
    "mean": "mean", "avg": "mean", "average": "mean", "moyen": "mean", "median": "p50", "p50": "p50", "p95": "p95", "p99": "p99",
    "std": "sd", "stddev": "sd", "stdev": "sd", "sd": "sd", "min": "other", "max": "other", "p90": "other", "p75": "other",
    "p25": "other", "p10": "other", "p5": "other", "p1": "other", "p999": "other", "peak": "other", "minimum": "other", "maximum": "other",
}  # fmt: skip

# The plain CSV: name -> field, and for durations the unit.
_PLAIN: Final = {
    "weights": "weight_format", "devices": "device_count", "engine": "backend", "tokens_per_s": "speed", "tokens_per_s_basis": "basis",
    "basis": "basis", "dtype": "weight_format", "quantization": "weight_format", "gpus": "device_count",
    "label": "note", "variant": "note", "config": "note", "configuration": "note", "setting": "note", "settings": "note",
    "experiment": "note", "branch": "note", "commit": "note", "change": "note", "side": "note",
}  # fmt: skip
DOCUMENTED: Final[dict[str, tuple[str, str, str]]] = {
    **{
        name: (name, "", "")
        for name in (TEXT_FIELDS | NUMBER_FIELDS | TIME_FIELDS) - MEASURES - {"both_tokens", "test"}
    },
    **{name: (field, "", "") for name, field in _PLAIN.items()},
    **{f"{field}_{unit}": (field, "", unit) for field in DURATIONS for unit in ("s", "ms")},
    **{
        f"{field}_{p}_{unit}": (field, p, unit)
        for field in ("ttft", "tpot")
        for p in ("p50", "p95", "p99")
        for unit in ("s", "ms")
    },
}
"""Column names with a fixed meaning: (field, statistic, unit). The table's own column names are among them."""

_TOKENS_PER_S: Final = re.compile(
    r"(?:\b|_)(?:tok(?:en)?s?[ _-]*(?:/|per|[ _-])[ _-]*s(?:ec(?:ond)?s?)?|t/s|tps|toks|tk/s|jetons/s|tokens?/s(?:ec)?)(?:/user)?(?=\b|_)",
    re.IGNORECASE,
)
_BRACKETS: Final = re.compile(r"[(\[]([^()\[\]]*)[)\]]")
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def _compiled(*rules: tuple[str, str]) -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern), field) for pattern, field in rules)


# Quantity by the words that remain; the first that matches holds. A column that names something else entirely comes first.
_RULES: Final = _compiled(
    (
        r"\b(?:power|watts?|price|cost|usd|perplexity|ppl|accuracy|temp(?:erature)?|energy|goodput|req(?:uest)?s?/s|qps|rps|ratio|speedup)\b",
        "",
    ),
    (r"\brequest (?:throughput|rate)\b|\brequests? per\b", ""),
    (r"\bttft\b|time to first (?:output )?token|\bfirst token\b|\b1st latency\b|\bttfr\b", "ttft"),
    (
        r"\btpot\b|time per output token|\b2nd avg latency\b|\bper (?:output )?token latency\b|\bms per token\b",
        "tpot",
    ),
    (r"\bitl\b|\binter ?token\b|\binter ?chunk\b", "itl"),
    (
        r"\be2el?\b|\bend to end\b|\bend latency\b|\breq(?:uest)? latency\b|^(?:total )?latency$|^latency ",
        "e2e",
    ),
    (r"\bcache(?:d)? tokens\b|\bcache n\b", "cached_tokens"),
    (r"\btotal input tokens\b", "total_prompt_tokens"),
    (r"\btotal (?:output|generated) tokens\b", "total_output_tokens"),
    (r"^input output len(?:gth)?$", "both_tokens"),
    (r"\baccept(?:ance|ed)?(?: rate)?$", "acceptance"),
    (r"\bacc(?:eptance|ept)? len(?:gth)?\b", "tokens_per_pass"),
    (r"\bn ubatch\b|\bubatch\b", "chunk_tokens"),
    (r"\bn batch\b|\bmax num batched\b", ""),
    (r"\bbatch(?: ?size)?\b|^bs$", "batch"),
    (
        r"\bconcurren|\bparallel (?:slots|requests|sequences)\b|^(?:num )?users?$|^conc$|\bnum clients\b",
        "concurrency",
    ),
    (r"^isl/osl$", ""),
    (
        r"\bprompt (?:tokens?|len(?:gth)?|size)\b|\binput (?:tokens?|len(?:gth)?|size|num tokens)\b|^isl$|^n prompt$|\bmax input len",
        "prompt_tokens",
    ),
    (
        r"\b(?:output|gen|generated|completion|new) (?:tokens?|len(?:gth)?|size|num tokens)\b|^osl$|^n gen$|\bmax output len|\bmax (?:new )?tokens\b|\btokens generated\b",
        "output_tokens",
    ),
    (r"\bdepth\b|^context(?: size| len(?:gth)?| tokens)?$|^ctx$|^seq ?len$", "depth_tokens"),
    (r"^(?:completed|successes|successful requests|num requests|num prompts|requetes reussies)$", "requests"),
    (r"^(?:failed(?: requests)?|failures|errors?|error (?:requests|count))$", "failures"),
    (
        r"\bquant\w*\b|\bweights? (?:format|dtype|precision)\b|^precision$|^dtype$|^model quant$",
        "weight_format",
    ),
    (r"^(?:kv )?cache(?: (?:d?type|format|quant))?$|^kv cache (?:data type|precision)$", "cache"),
    (r"^type k$", "cache_k"),
    (r"^type v$", "cache_v"),
    (
        r"\bnum(?:ber)?(?: of)? (?:gpus?|hardware|devices?)\b|\bgpu count\b|^n gpus$|^tp(?: size)?$|^nr gpus$",
        "device_count",
    ),
    (r"^(?:model|llm)(?: (?:name|id|clean|path))?$", "model"),
    (
        r"^(?:gpus?|device|hardware|hw|accelerator|accel name|chip|machine|system|gpu (?:name|info|type)|hardware name|cpu)$",
        "device",
    ),
    (r"^(?:backend|engine|framework|runtime|server|provider|inference engine)$", "backend"),
    (r"^(?:fa|flash att(?:entio)?n)$", "flash_attention"),
    (r"^(?:n )?threads$", "threads"),
    (r"^(?:ngl|n gpu layers|gpu layers)$", "gpu_layers"),
    (r"^(?:model )?(?:n )?params?(?: b)?$|^parameters$", "params"),
    (r"^(?:model|file|weights?) size$|^size$", "weight_bytes"),
    (r"^(?:date|timestamp|test (?:time|date)|time ?stamp)$", "timestamp"),
    (r"^(?:num )?runs$|^repeats$|^repetitions$", "repeats"),
    (r"^(?:phase|test type|series)$", "phase"),
    (r"^test(?: name)?$", "test"),
)
_SPEED_RULES: Final = _compiled(
    (r"\bper (?:gpu|device|chip)\b|/gpu\b|\bpeak\b|\bmax\b|\bmin\b|\beffective\b|\bcommitted\b", ""),
    (r"\bper (?:user|request|sequence)\b|\binteractivity\b|\bintvty\b", "user_speed"),
    (r"\btotal\b|\boverall\b", "total_speed"),
    (
        r"\bprompt\b(?!.*processing).*\bthroughput\b",
        "",
    ),  # prompt tokens over whole requests are no prefill speed
    (r"\bprompt\b|\bprefill\b|^pp\b|\bpp$", "prefill_speed"),
    (r"\binput\b", ""),  # input tokens over the run's time are no prefill speed
    (r"\boutput\b|\bout\b|\bsortie\b|\bcompletion\b", "output_speed"),
    (r"\bgen\b|\bgeneration\b|\bgenerated\b|\bdecode\b|\btg\b|\beval\b|\bpredicted\b", "decode_speed"),
    (r"", "speed"),
)
_SPEED_WORDS: Final = re.compile(
    r"tok/s|\bthroughput|\beval rate\b|\bspeed\b|\binteractivity\b|^ts$|\bdebit\b"
)


@dataclass(frozen=True, slots=True)
class Name:
    """What a header means: a field of ``MEASURES`` or a fact ('' where nothing known), its statistic and its unit."""

    field: str
    statistic: str = ""
    unit: str = ""
    documented: bool = False


def words(header: str) -> str:
    """A header in lower case with single spaces, tokens per second spelt 'tok/s'."""
    text = _CAMEL.sub(" ", header).lower()
    for accented, bare in (("é", "e"), ("è", "e"), ("ê", "e")):
        text = text.replace(accented, bare)
    text = _TOKENS_PER_S.sub(" tok/s ", text)
    text = re.sub(r"[^a-z0-9/%µμ.+]+", " ", text).strip(" .")
    return re.sub(r"\s+", " ", text)


@lru_cache(maxsize=4096)
def read_name(header: str) -> Name:
    """The meaning of one column name."""
    fixed = DOCUMENTED.get(header.strip().lower().replace(" ", "_"))
    if fixed:
        return Name(*fixed, documented=True)
    unit = ""
    body = header
    if bracket := _BRACKETS.search(header):
        inside = words(bracket[1])
        if inside in SECONDS or inside in BYTES or "tok/s" in inside or inside in {"%", "tokens"}:
            unit = inside
            body = header[: bracket.start()] + " " + header[bracket.end() :]
    parts = words(body).split()
    statistic = ""
    whole = " ".join(parts)
    for part in list(parts):
        found = _STATISTICS.get(part)
        if found and len(parts) > 1:
            statistic = statistic or found
            parts.remove(part)
    if len(parts) > 1 and not unit and (parts[-1] in SECONDS or parts[-1] in BYTES) and parts[-1] != "b":
        unit = parts.pop()
    core = " ".join(parts)
    field = _quantity(f"{core} {unit}" if "tok/s" in unit else core)
    if statistic == "other" and field not in MEASURES:
        # "max concurrency" is a setting, no statistic; "prompt tokens max" is one.
        field, statistic = (_quantity(whole), "") if whole.startswith("max ") else ("", "")
    return Name(field, statistic, "" if field in SPEEDS else unit)


def _quantity(core: str) -> str:
    if _SPEED_WORDS.search(core) and not re.search(r"\breq(?:uests?)?\b|\bqps\b", core):
        return next(field for pattern, field in _SPEED_RULES if pattern.search(core))
    return next((field for pattern, field in _RULES if pattern.search(core)), "")


def kind_of(field: str) -> Kind:
    """Whether a field holds texts, numbers or times."""
    return "text" if field in TEXT_FIELDS else "time" if field in TIME_FIELDS else "number"
