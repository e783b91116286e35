"""LiteRT-LM and MediaPipe: the BenchmarkInfo block that programs print, and what ``litert-lm benchmark`` prints

Prefill and decode have clocks of their own. The first token comes out of the first decode step, so the time to it is the
prefill and one step, and tokens over decode time is the step's own rate. Speed depends on the cache's size as it was set
(``--max-num-tokens``), which some attention kernels read whole.
"""

from __future__ import annotations

import re
from typing import Final

from slmopt.measured.readers._base import Reader, TextReader
from slmopt.measured.readers._cells import format_in_name, model_name, parse_number
from slmopt.measured.readers._records import NAN, Record, collect, known, phase_pair, positive
from slmopt.measured.readers.ollama import go_seconds
from slmopt.measured.table import ReadResult, Skip

NAME: Final = "LiteRT-LM text"

_ANSI: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_TURN: Final = re.compile(
    r"^[ \t]*(?P<kind>Prefill|Decode) Turn (?P<turn>\d{1,6}):[ \t]*"
    r"(?:Processed (?P<tokens>\d{1,12}) tokens in (?P<time>\S{1,40}) duration\.)?[ \t]*\n"
    r"[ \t]*(?P=kind) Speed:[ \t]*(?P<speed>[\d.]{1,30}|inf|-?nan) tokens/sec",
    re.MULTILINE,
)
_SPEED: Final = re.compile(
    r"^[ \t*•-]{0,20}(?P<kind>Prefill|Decode) speed[ \t]*(?:\((?P<unit>tok\w*/s\w*)\))?[ \t]*:[ \t]*"
    r"(?P<speed>[\d.,]{1,30})[ \t]*(?P<after>tok\w*/s\w*)?",
    re.MULTILINE | re.IGNORECASE,
)
_SETTING: Final = re.compile(
    r"^(Backend|Number of tokens in prefill|Number of tokens in decode|Max number of tokens|Speculative decoding"
    r"|Benchmarking model)[ \t]*:[ \t]*(\S.*)$",
    re.MULTILINE,
)
_MODEL: Final = re.compile(r"--model_path[= ](\S+)")
_BACKEND: Final = re.compile(r"--backend[= ](\w+)")
_FIRST: Final = re.compile(
    r"^[ \t*•-]{0,20}(?:Time to first token|1st token)[ \t]*(?:\(s\w*\))?[ \t]*:[ \t]*(\d{1,9}(?:\.\d{1,12})?)[ \t]*(s|ms)?\b",
    re.MULTILINE | re.IGNORECASE,
)
_RUN: Final = re.compile(r"^(?=BenchmarkInfo:|Benchmarking model:)", re.MULTILINE)
_OWN: Final = re.compile(r"litert|mediapipe|Init time:|Number of tokens in prefill", re.IGNORECASE)
_HOW: Final = "printed tokens over printed time; the first token belongs to the first decode step"


def _is_printed(text: str) -> bool:
    if "Prefill Turn 1" in text:
        return bool(_TURN.search(text))
    if "refill" not in text or not _OWN.search(text):
        return False
    kinds = {found["kind"].lower() for found in _SPEED.finditer(text) if found["unit"] or found["after"]}
    return kinds == {"prefill", "decode"}


def _read_printed(source: str, text: str) -> ReadResult:
    """Each block is a run; its settings stand before it."""
    records: list[Record] = []
    skips: list[Skip] = []
    blocks = _RUN.split(_ANSI.sub("", text))
    settings: dict[str, str] = {}
    model = backend = ""
    order = 0
    for block in blocks:
        settings |= {name: said.strip() for name, said in _SETTING.findall(block)}
        model = (found[1] if (found := _MODEL.search(block)) else "") or model
        backend = (found[1] if (found := _BACKEND.search(block)) else "") or backend
        base = _base(settings, model, backend)
        rows = _turns(block, base, skips, order + 1) or _summary(block, base, settings, order + 1)
        order += bool(rows)
        records += rows
    return collect(NAME, source, records, skips)


def _base(settings: dict[str, str], model: str, backend: str) -> Record:
    named = settings.get("Benchmarking model", "").split(" (")
    path = named[-1].rstrip(")") if named[0] else model
    name = model_name(path) if path else ""
    notes = []
    if cells := settings.get("Max number of tokens"):
        notes.append(f"the cache was set to {cells} tokens")
    if settings.get("Speculative decoding", "").lower() == "true":
        notes.append("speculative: more than one token a pass")
    return {
        "tool": "LiteRT-LM",
        "model": name,
        "model_file": path,
        "weight_format": format_in_name(name),
        "backend": f"LiteRT {settings.get('Backend') or backend}".strip(),
        "note": "; ".join(notes),
    }


def _turns(block: str, base: Record, skips: list[Skip], order: int) -> list[Record]:
    """Rows of the turns of a BenchmarkInfo block; what a conversation's earlier turns cached lies under the later ones."""
    turns: dict[str, dict[str, tuple[float, float]]] = {}
    speeds: list[Record] = []
    for found in _TURN.finditer(block):
        label = f"run {order}, turn {found['turn']}"
        if found["tokens"]:
            tokens, seconds = float(found["tokens"]), go_seconds(found["time"])
            if not (tokens > 0 and seconds > 0):
                skips.append(
                    Skip(label, f"{found['kind'].lower()} of {tokens:g} tokens in {found['time']}: no time")
                )
                continue
            turns.setdefault(found["turn"], {})[found["kind"]] = (tokens, seconds)
        else:
            speeds.append(_speed_row(base | {"row": label}, found["kind"].lower(), found["speed"], NAN, NAN))
    rows: list[Record] = []
    depth = 0.0
    for turn, pair in sorted(turns.items(), key=lambda entry: int(entry[0])):
        fed, made = pair.get("Prefill", (NAN, NAN)), pair.get("Decode", (NAN, NAN))
        both = phase_pair(base | {"row": f"run {order}, turn {turn}"}, fed, depth, made, _HOW)
        rows += [row | {"cached_tokens": NAN} for row in both]
        depth += sum(tokens for tokens, _ in (fed, made) if known(tokens))
    return _with_first(rows, block) + speeds


def _with_first(rows: list[Record], block: str) -> list[Record]:
    """The time to the first token stands with the first prefill of a block that has one."""
    seconds = _first_token(block)
    at = next((place for place, row in enumerate(rows) if row["phase"] == "prefill"), None)
    if at is not None and known(seconds):
        rows[at] = rows[at] | {"ttft_s": seconds}
    return rows


def _first_token(block: str) -> float:
    found = _FIRST.search(block)
    if not found:
        return NAN
    return positive(float(found[1])) * (1e-3 if found[2] == "ms" else 1.0)


def _summary(block: str, base: Record, settings: dict[str, str], order: int) -> list[Record]:
    """Rows of two printed speeds, with the lengths that the settings above them name."""
    prompt = parse_number(settings.get("Number of tokens in prefill", ""))[0]
    output = parse_number(settings.get("Number of tokens in decode", ""))[0]
    rows: dict[str, Record] = {}
    for found in _SPEED.finditer(block):
        if found["unit"] or found["after"]:
            kind = found["kind"].lower()
            rows[kind] = _speed_row(base | {"row": f"run {order}"}, kind, found["speed"], prompt, output)
    if not {"prefill", "decode"} <= set(rows):
        return []
    return _with_first(list(rows.values()), block)


def _speed_row(base: Record, phase: str, printed: str, prompt: float, output: float) -> Record:
    speed = positive(parse_number(printed)[0])
    decode = phase == "decode"
    return base | {
        "phase": phase,
        "batch": 1.0,
        "concurrency": 1.0,
        "prompt_tokens": 0.0 if decode else prompt,
        "output_tokens": output if decode else 0.0,
        "depth_tokens": prompt if decode else 0.0,
        "tokens_per_s": speed,
        "tokens_per_s_basis": "sequence",
        "tpot_s": 1 / speed if decode else NAN,
        "statistic": "mean",
        "clock": "server",
        "conversion": "printed speed as it is: the first token belongs to the first decode step",
    }


READERS: Final[tuple[Reader, ...]] = (TextReader(NAME, _is_printed, _read_printed),)
