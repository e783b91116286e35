"""Reports of small scenarios, and readers for what they were written as."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from functools import cache
from html.parser import HTMLParser
from typing import Any

from slmopt.measured.compare import compare
from slmopt.measured.detect import read_many
from slmopt.measured.placed import Facts
from slmopt.reports.measured_part import measured_part
from slmopt.reports.report import Report, report
from slmopt.specs.scenario import scenario
from tests.shared import ROOT

DATE = datetime(2026, 1, 2, 15, 4, tzinfo=UTC)
SERVER = {
    "model": "article-7b",
    "device": "article-80gb",
    "weights": "16-bit",
    "cache_k": "16-bit",
    "batch": 16,
    "context": 4000,
    "target_ttft_ms": 500.0,
    "target_tpot_ms": 40.0,
}
UNPRINTABLE = "a\x00\x0b\ud800\u202eb"
HOSTILE = '=cmd|"/c calc"!A1</script><script>alert(1)</script> **x** | [a](javascript:1) @me'
SWEEP = ROOT / "presets" / "this_machine" / "llama-bench_moe_Q8_0.csv"


@cache
def server() -> Report:
    """The articles' server."""
    return report(scenario(SERVER), date=DATE)


@cache
def hostile() -> Report:
    """Names that would take effect if anything let them."""
    model = {
        "id": "m",
        "name": HOSTILE,
        "params": 7e9,
        "layers": 32,
        "kv_heads": 8,
        "head_dim": 128,
        "source": HOSTILE,
    }
    device = {"id": "d", "name": HOSTILE, "bandwidth_gbs": 100, "peak_tflops": 10, "capacity_gb": 16}
    return report(scenario({"model": model, "device": device}), date=DATE)


@cache
def measured() -> Report:
    """A scenario with rows of a benchmark file."""
    made = scenario({"model": "granite-3.1-1b-a400m", "device": "epyc-2core", "weights": "q8_0"})
    read = read_many([(SWEEP.name, SWEEP.read_bytes())])
    return report(made, measured=measured_part(read, compare(read.rows, Facts.of(made)), 1), date=DATE)


@cache
def hostile_rows() -> Report:
    """Rows of a file whose every text would take effect if anything let it."""
    written = io.StringIO()
    texts = {
        "model": HOSTILE,
        "device": HOSTILE,
        "note": HOSTILE,
        "tool": HOSTILE,
        "weights": "Q4_0",
    }
    rows = [
        {
            **texts,
            "phase": "decode",
            "tokens_per_s": speed,
            "prompt_tokens": 0,
            "output_tokens": 10,
            "params": 1.2e9,
        }
        for speed in (10, 20)
    ]
    writer = csv.DictWriter(written, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    made = scenario(SERVER)
    read = read_many([(f"{HOSTILE}.csv", written.getvalue().encode())])
    judged = compare(read.rows, Facts(device="rtx-4090", batch=1.0))
    return report(made, measured=measured_part(read, judged, 1), date=DATE)


class Page(HTMLParser):
    """What a browser would make of a page: its elements, its visible text, its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.scripts: list[str] = []
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts.append(data)
        elif not self._inside:
            self.words.append(data)

    @property
    def text(self) -> str:
        """All visible words on one line."""
        return " ".join(" ".join(self.words).split())

    def having(self, name: str) -> list[dict[str, str | None]]:
        """Attributes of the elements that carry an attribute of this name."""
        return [attrs for _, attrs in self.elements if name in attrs]

    def figures(self) -> dict[str, Any]:
        """The data that the page's script draws from."""
        held = json.loads(self.scripts[0])
        return {key: json.loads(text) for key, text in held["figures"].items()}
