"""``measure``: a running server under load, timed from its client's side, each row kept as it ends."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any, Final

from slmopt.cli import inputs
from slmopt.cli.output import as_json, say
from slmopt.cli.parser import UsageError, add_json_flag
from slmopt.measured.load import MOST_IN_FLIGHT, Level, Progress, Runner
from slmopt.measured.load_file import LoadFile, rows_of
from slmopt.measured.load_prompts import Prompts, read_prompts
from slmopt.measured.load_summary import LoadSummary, summaries
from slmopt.measured.stream_client import PATHS, Endpoint
from slmopt.words import load as words

MOST_TOKENS: Final = 10_000_000
MOST_REQUESTS: Final = 10_000_000
DEFAULT_REQUESTS: Final = 32
SHOWN_EVERY_S: Final = 1.0

COLD: Final = -1_000_000
"""Number of the cold request; the warm-up's count down from -1."""


def add_commands(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "measure",
        help="a running server under load: TTFT, TPOT, tokens/s",
        description=(
            "Measure any OpenAI-compatible endpoint (llama-server, vLLM, Ollama, LM Studio) with streamed requests. Tokens "
            "are those of the server's usage field. Every request is written to --out as it ends; `slmopt compare` and the "
            "page Measurements read that file."
        ),
        allow_abbrev=False,
    )
    where = parser.add_argument_group("the server")
    where.add_argument("--url", required=True, help="base URL, such as http://localhost:8080/v1")
    where.add_argument("--model", metavar="NAME", required=True, help="the model's name there")
    where.add_argument("--api", choices=sorted(PATHS), default="chat", help="which endpoint (default chat)")
    where.add_argument("--timeout", metavar="S", type=inputs.number, default=300.0, help="of a whole request")
    where.add_argument("--api-key-env", metavar="NAME", help="environment variable that holds the key")
    where.add_argument("--device", metavar="TEXT", default="", help="what it runs on, noted in the file")
    where.add_argument("--weights", metavar="TEXT", default="", help="its weight format, noted in the file")

    load = parser.add_argument_group("the load")
    how = load.add_mutually_exclusive_group()
    how.add_argument(
        "--concurrency", metavar="N[,N…]", default="1", help="requests in flight, one level each"
    )
    how.add_argument("--rate", metavar="R", type=inputs.number, help="requests a second, arriving at random")
    load.add_argument(
        "--requests", metavar="N", type=inputs.whole, help=f"a level (default {DEFAULT_REQUESTS})"
    )
    load.add_argument(
        "--minutes", metavar="M", type=inputs.number, help="go on for so long, and tell whether speed drifts"
    )
    load.add_argument(
        "--warmup", metavar="N", type=inputs.whole, default=2, help="untimed requests (default 2)"
    )
    load.add_argument("--cold", action="store_true", help="time the very first request by itself")
    load.add_argument("--seed", metavar="S", type=inputs.whole, default=0, help="of prompts and arrivals")

    what = parser.add_argument_group("the prompts")
    what.add_argument("--prompts", metavar="FILE", help="one a line, or JSON lines with a prompt each")
    what.add_argument(
        "--prompt-tokens", metavar="N", type=inputs.whole, default=512, help="made to this length"
    )
    what.add_argument("--output-tokens", metavar="N", type=inputs.whole, default=128, help="at most so many")
    what.add_argument("--ignore-eos", action="store_true", help="ask for all of them (vLLM, llama-server)")

    parser.add_argument("--out", metavar="FILE", default="slmopt-measure.jsonl", help="(default %(default)s)")
    parser.add_argument("--resume", action="store_true", help="go on with a file that was stopped")
    add_json_flag(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> list[str]:
    """The command's output."""
    _check(options)
    levels = _levels(options)
    endpoint = Endpoint.of(
        options.url,
        options.model,
        api=options.api,
        timeout_s=options.timeout,
        key=_key(options.api_key_env),
        extra=(("ignore_eos", True),) if options.ignore_eos else (),
    )
    prompts = _prompts(options)
    settings = {
        "url": f"{endpoint.scheme}://{endpoint.host}{'' if endpoint.port is None else f':{endpoint.port}'}{endpoint.path}",
        "model": options.model,
        "api": endpoint.api,
        "device": options.device,
        "weights": options.weights,
        "seed": options.seed,
        "prompts_file": Path(options.prompts).name if options.prompts else "",
        "prompt_tokens": 0 if options.prompts else options.prompt_tokens,
        "output_tokens": options.output_tokens,
    }
    path = Path(options.out)
    file = (LoadFile.resume if options.resume else LoadFile.start)(path, settings)
    runner = Runner(endpoint, prompts, options.output_tokens, file, _Shown().show)
    try:
        _measure(runner, levels, options)
    except KeyboardInterrupt:
        say(f"stopped: what was measured is in {path.name}; the same command with --resume goes on with it")
        raise
    finally:
        file.close()
    found = summaries(rows_of(path))
    if options.json:
        return as_json({"file": str(path), "levels": [summary_json(one) for one in found]})
    return [line for one in found for line in (*words.lines(one), "")] + [f"rows: {path}"]


def _measure(runner: Runner, levels: list[Level], options: argparse.Namespace) -> None:
    if options.cold and not runner.file.done:
        timing = runner.alone("cold", COLD)
        say(f"cold request: {timing.error or f'first token after {timing.ttft_s:.3g} s'}")
    for at in range(options.warmup):
        timing = runner.alone("warmup", -1 - at)
        if timing.error:
            say(f"warning: warm-up request {at + 1} failed: {timing.error}")
    for level in levels:
        found = runner.level(level)
        if not found.done and options.resume and options.minutes is not None:
            say(f"{level.name}: the file holds its {options.minutes:g} minutes already, so nothing was sent")


def _check(options: argparse.Namespace) -> None:
    numbers = (
        ("--prompt-tokens", options.prompt_tokens, 1, MOST_TOKENS),
        ("--output-tokens", options.output_tokens, 1, MOST_TOKENS),
        ("--requests", options.requests, 1, MOST_REQUESTS),
        ("--warmup", options.warmup, 0, MOST_REQUESTS),
    )
    for flag, value, low, high in numbers:
        if value is not None and not low <= value <= high:
            raise UsageError(f"{flag} = {value}: it must be a whole number between {low} and {high:,}.")
    for flag, value in (
        ("--rate", options.rate),
        ("--minutes", options.minutes),
        ("--timeout", options.timeout),
    ):
        if value is not None and value <= 0:
            raise UsageError(f"{flag} = {value:g}: it must be above 0.")


def _levels(options: argparse.Namespace) -> list[Level]:
    seconds = None if options.minutes is None else 60.0 * options.minutes
    requests = options.requests
    if requests is None and seconds is None:
        requests = DEFAULT_REQUESTS
    if options.rate is not None:
        return [Level(rate=options.rate, requests=requests, seconds=seconds)]
    levels = []
    for part in options.concurrency.split(","):
        text = part.strip()
        if not text.isdecimal() or not 1 <= int(text) <= MOST_IN_FLIGHT:
            raise UsageError(
                f"--concurrency = {options.concurrency[:60]}: give whole numbers between 1 and {MOST_IN_FLIGHT:,}, such as 1,2,4."
            )
        levels.append(Level(concurrency=int(text), requests=requests, seconds=seconds))
    return levels


def _key(name: str | None) -> str:
    if name is None:
        return ""
    key = os.environ.get(name, "")
    if not key:
        raise UsageError(f"--api-key-env {name}: no such environment variable is set, or it is empty.")
    return key


def _prompts(options: argparse.Namespace) -> Prompts:
    given: tuple[str, ...] = ()
    if options.prompts is not None:
        path = Path(options.prompts)
        given = read_prompts(inputs.read_bytes(path, 64 << 20), path.name)
    return Prompts(options.prompt_tokens, options.seed, given)


class _Shown:
    """Progress on stderr: one line that is rewritten in a terminal, else a line now and then."""

    def __init__(self) -> None:
        self._last = 0.0
        self._live = sys.stderr.isatty()

    def show(self, progress: Progress) -> None:
        """Tell how far a level is, at most once a second; its end always."""
        now = time.perf_counter()
        whole = progress.level.requests
        ended = whole is not None and progress.done >= whole
        if not ended and now - self._last < (SHOWN_EVERY_S if self._live else 10 * SHOWN_EVERY_S):
            return
        self._last = now
        of = "" if whole is None else f" of {whole:,}"
        took = now - progress.started
        text = (
            f"{progress.level.name}: {progress.done:,}{of} done, {progress.failed:,} failed, "
            f"{progress.tokens / took:,.1f} tokens/s, {took:,.0f} s"
        )
        if self._live and not ended:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
        else:
            print(f"\r\033[K{text}" if self._live else text, file=sys.stderr, flush=True)


def summary_json(found: LoadSummary) -> dict[str, Any]:
    """A level's figures: seconds, tokens, tokens/s."""
    drift = found.drift
    return {
        "level": found.level,
        "concurrency": found.concurrency,
        "requests": found.requests,
        "failures": found.failures,
        "no_usage": found.no_usage,
        "errors": [{"why": why, "times": times} for why, times in found.errors],
        "wall_s": found.wall_s,
        "prompt_tokens": found.prompt_tokens,
        "output_tokens": found.output_tokens,
        "cached_tokens": found.cached_tokens,
        "output_tokens_per_s": found.tokens_per_s,
        **{
            f"{name}_s": dict(zip(("p50", "p95", "p99"), values, strict=True))
            for name, values in (("ttft", found.ttft), ("tpot", found.tpot), ("e2e", found.e2e))
        },
        "mean_in_flight": found.in_flight,
        "drift": None
        if drift is None
        else {"first_s": drift.first_s, "last_s": drift.last_s, "change": drift.change, "real": drift.real},
        "notes": words.notes(found),
    }
