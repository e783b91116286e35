"""MLX-LM: what ``mlx_lm.generate`` and ``mlx_lm.benchmark`` print. A benchmark's generation speed is of its whole batch."""

from __future__ import annotations

import re
from typing import Final

from slmopt.measured.readers._base import Reader, TextReader
from slmopt.measured.readers._records import NAN, Record, collect, phase_pair, positive
from slmopt.measured.table import ReadResult

_GENERATE: Final = re.compile(r"^(Prompt|Generation): (\d+) tokens, ([\d.]+) tokens-per-sec", re.MULTILINE)
_TRIAL: Final = re.compile(
    r"^(?:Trial (\d+)|Averages):\s+prompt_tps=([\d.]+), generation_tps=([\d.]+)", re.MULTILINE
)


def _is_printed(text: str) -> bool:
    return bool(_GENERATE.search(text) or _TRIAL.search(text))


def _read_printed(source: str, text: str) -> ReadResult:
    """``mlx_lm.generate`` prints counts and speeds; ``mlx_lm.benchmark`` speeds of a batch that only its command names."""
    records: list[Record] = []
    prompt = NAN
    for order, (kind, count, speed) in enumerate(_GENERATE.findall(text)):
        base: Record = {"row": f"run {order // 2 + 1}", "tool": "mlx_lm", "backend": "mlx"}
        tokens, seconds = float(count), float(count) / positive(float(speed))
        how = "printed speed as it is: tokens over time"
        if kind == "Prompt":
            prompt = tokens
            records += phase_pair(base, (tokens, seconds), NAN, (NAN, NAN), how)
        else:
            records += [
                row | {"depth_tokens": prompt}
                for row in phase_pair(base, (NAN, NAN), NAN, (tokens, seconds), how)
            ]
    trials = [trial for trial in _TRIAL.findall(text) if trial[0]]
    for name, prefill, decode in trials or _TRIAL.findall(text):
        for phase, speed in (("prefill", prefill), ("decode", decode)):
            records.append(
                {
                    "row": f"trial {name}" if name else "averages",
                    "tool": "mlx_lm.benchmark",
                    "backend": "mlx",
                    "phase": phase,
                    "tokens_per_s": positive(float(speed)),
                    "tokens_per_s_basis": "device",
                    "statistic": "single" if name else "mean",
                    "clock": "server",
                    "note": "batch and lengths are not printed: they are needed to compare it",
                    "conversion": "printed speed as it is: all sequences of the batch together",
                }
            )
    return collect("mlx_lm text", source, records)


READERS: Final[tuple[Reader, ...]] = (TextReader("mlx_lm text", _is_printed, _read_printed),)
