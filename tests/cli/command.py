"""Running the command line inside the test's process."""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import dataclass
from typing import Any

from slmopt.cli import main

MODEL_7B = '{"params": 7e9, "layers": 32, "kv_heads": 32, "head_dim": 128}'
MODEL_1B = '{"params": 1e9, "layers": 16, "kv_heads": 8, "head_dim": 64}'
CARD = '{"bandwidth_gbs": 2000, "peak_tflops": 400, "capacity_gb": 80}'
SMALL = '{"bandwidth_gbs": 50, "peak_tflops": 4}'


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out, parse_constant=_no_such_constant)


def _no_such_constant(name: str) -> None:
    raise AssertionError(f"{name} in JSON")


def call(*arguments: str) -> Answer:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(arguments))
    return Answer(code, out.getvalue(), err.getvalue())


def estimate(model: str, device: str, *more: str) -> Any:
    answer = call("estimate", "--model", model, "--device", device, *more, "--json")
    assert answer.code == 0, answer.err
    return answer.json
