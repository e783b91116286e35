"""Commands that would check a scenario, and the flags that start its engine, quoted so that nothing in a name takes effect.

Flags are those of llama.cpp (llama-bench, llama-batched-bench, llama-server) and vLLM (serve, bench serve) as of 2026.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from typing import Final

from slmopt.advice.launch import launch
from slmopt.specs.formats import CacheFormat
from slmopt.specs.model import Model
from slmopt.specs.scenario import Scenario
from slmopt.theory.evaluation import Evaluation

SERVED: Final = "http://localhost:8080/v1"
VLLM_SERVED: Final = "http://localhost:8000"
ALL_LAYERS: Final = "99"
MOST_LEVELS: Final = 6

_LLAMA_CACHES: Final = {
    "f32": "f32",
    "f16": "f16",
    "bf16": "bf16",
    "q8_0": "q8_0",
    "q4_0": "q4_0",
    "q4_1": "q4_1",
    "iq4_nl": "iq4_nl",
    "q5_0": "q5_0",
    "q5_1": "q5_1",
}
_REPOSITORY: Final = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Command:
    """A command line: what it is for, and its text for a POSIX shell."""

    what: str
    text: str


def checks(e: Evaluation) -> list[Command]:
    """Commands that measure the scenario, so that its ceiling and estimate can be checked."""
    s, file, name = e.setup.scenario, model_file(e), repository(e)
    prompt, output, depth = str(s.prompt), str(s.output), str(s.depth)
    bench = [
        "llama-bench",
        "-m",
        file,
        "-p",
        prompt,
        "-n",
        output,
        "-d",
        f"0,{depth}",
        *_layers(e),
        *_caches(e),
        "-fa",
        "1",
        "-r",
        "5",
        "-o",
        "jsonl",
    ]
    found = [Command("Prefill and decode alone, empty and at the scenario's depth (llama.cpp)", _line(bench))]
    if s.batch > 1:
        whole = launch(e).whole_context
        batched = [
            "llama-batched-bench",
            "-m",
            file,
            "-c",
            str(whole),
            "-npp",
            prompt,
            "-ntg",
            output,
            "-npl",
            _levels(s.batch),
            *_layers(e),
            *_caches(e),
            "--output-format",
            "jsonl",
        ]
        found.append(Command("Decode at growing batches (llama.cpp)", _line(batched)))
    serve = [
        "vllm", "bench", "serve", "--base-url", VLLM_SERVED, "--model", name, "--dataset-name", "random",
        "--random-input-len", prompt, "--random-output-len", output, "--ignore-eos",
        "--max-concurrency", str(s.batch), "--num-prompts", str(max(100, 4 * s.batch)),
        "--percentile-metrics", "ttft,tpot,itl,e2el", "--save-result",
    ]  # fmt: skip
    found.append(Command("A vLLM server under the scenario's load", _line(serve)))
    own = [
        "python", "-m", "slmopt", "measure", "--url", SERVED, "--model", name, "--concurrency", _levels(s.batch),
        "--prompt-tokens", prompt, "--output-tokens", output, "--requests", "100",
        "--device", _plain(e.setup.device.name), "--weights", _plain(e.setup.weights.id),
    ]  # fmt: skip
    found.append(Command("Any OpenAI-compatible server, with this product's own client", _line(own)))
    return found


def launches(e: Evaluation) -> list[Command]:
    """Commands that start a server as the scenario has it."""
    s, numbers = e.setup.scenario, launch(e)
    llama = [
        "llama-server",
        "-m",
        model_file(e),
        "-c",
        str(numbers.whole_context),
        "-np",
        str(numbers.sequences),
        *_layers(e),
        *_caches(e),
    ]
    if s.micro_batch is not None:
        llama += ["-ub", str(s.micro_batch)]
    if s.full_windows:
        llama.append("--swa-full")
    llama += _serving(s)
    vllm = [
        "vllm",
        "serve",
        repository(e),
        "--max-model-len",
        str(numbers.context),
        "--max-num-seqs",
        str(numbers.sequences),
    ]
    if s.prefill_chunk_tokens is not None:
        # Its budget of a pass holds everybody's next tokens as well.
        whole = s.prefill_chunk_tokens + s.batch
        vllm += ["--enable-chunked-prefill", "--max-num-batched-tokens", str(whole)]
    if s.gpu_memory_utilization is not None:
        vllm += ["--gpu-memory-utilization", f"{s.gpu_memory_utilization:g}"]
    if e.setup.cache_k.id == "fp8":
        vllm += ["--kv-cache-dtype", "fp8"]
    vllm += _sharing(e)
    if s.draft_tokens and e.setup.draft is not None:
        draft = {"model": _repository(e.setup.draft), "num_speculative_tokens": s.draft_tokens}
        vllm += ["--speculative-config", json.dumps(draft)]
        llama += ["-md", _file(e.setup.draft.name, "draft"), "--draft-max", str(s.draft_tokens)]
    return [Command("llama.cpp", _line(llama)), Command("vLLM", _line(vllm))]


def _serving(s: Scenario) -> list[str]:
    """llama-server's flags for prompts in pieces, fixed groups and kernels that are not fused."""
    flags = [] if s.prefill_chunk_tokens is None else ["-b", str(s.prefill_chunk_tokens + s.batch)]
    flags += ["--no-cont-batching"] if s.batching == "static" else []
    return [*flags, "-fa", "off"] if s.unfused else flags


def notes(e: Evaluation) -> list[str]:
    """What to know of the commands; plain text."""
    numbers, s = launch(e), e.setup.scenario
    told = ["Put your own paths in place of the model's names."]
    if s.offloads:
        told.append("Layers off the device are llama.cpp's: vLLM has no flags that place them so.")
    elif numbers.cpu_experts:
        told.append(
            f"The model does not fit: the experts of {numbers.cpu_experts:,} layers go to main memory (--n-cpu-moe)."
        )
    elif numbers.gpu_layers is not None:
        told.append(
            f"The model does not fit: {numbers.gpu_layers:,} layers stay on the device (-ngl), the rest in main memory."
        )
    if len(set(e.setup.cache)) > 1 or e.setup.cache_k.id not in _LLAMA_CACHES:
        told.append(
            "llama.cpp has no flag for a cache format that it does not know; its default, F16, then runs."
        )
    if s.devices > 1 and s.parallel == "expert":
        told.append(
            "llama.cpp does not spread experts over devices: it holds layers in turn there (-sm layer)."
        )
    return told


def _layers(e: Evaluation) -> list[str]:
    """Which layers the device takes."""
    numbers, s = launch(e), e.setup.scenario
    if numbers.cpu_experts:
        here = ALL_LAYERS if s.gpu_layers is None else str(s.gpu_layers)
        return ["-ngl", here, "--n-cpu-moe", str(numbers.cpu_experts)]
    flags = ["-ngl", ALL_LAYERS if numbers.gpu_layers is None else str(numbers.gpu_layers)]
    return [*flags, "-sm", "row" if s.parallel == "tensor" else "layer"] if s.devices > 1 else flags


def _sharing(e: Evaluation) -> list[str]:
    """How vLLM shares the model over several devices; it splits experts with all else unless told otherwise."""
    s = e.setup.scenario
    if s.devices == 1:
        return []
    if s.parallel == "pipeline":
        return ["--pipeline-parallel-size", str(s.devices)]
    flags = ["--tensor-parallel-size", str(s.devices)]
    return [*flags, "--enable-expert-parallel"] if s.parallel == "expert" else flags


def _caches(e: Evaluation) -> list[str]:
    """The cache's formats where they are not llama.cpp's default."""
    flags: list[str] = []
    for flag, cache in zip(("-ctk", "-ctv"), e.setup.cache, strict=True):
        name = _cache(cache)
        if name and name != "f16":
            flags += [flag, name]
    return flags


def _cache(cache: CacheFormat) -> str:
    return _LLAMA_CACHES.get(cache.id, "")


def _levels(batch: int) -> str:
    """1, 2, 4 … up to the batch, in a few steps."""
    steps = [1]
    while steps[-1] * 2 < batch:
        steps.append(steps[-1] * 2)
    few = steps[-(MOST_LEVELS - 1) :] if len(steps) >= MOST_LEVELS else steps
    return ",".join(map(str, dict.fromkeys([*few, batch])))


def model_file(e: Evaluation) -> str:
    """A file name for the model in its format."""
    return _file(e.setup.model.name, e.setup.weights.id)


def _file(name: str, weights: str) -> str:
    return f"{_plain(name)}-{_plain(weights).upper()}.gguf"


def repository(e: Evaluation) -> str:
    """The model's name on Hugging Face where its record has one, else its own."""
    return _repository(e.setup.model)


def _repository(model: Model) -> str:
    return model.hf_id if _REPOSITORY.match(model.hf_id) else _plain(model.name)


def _plain(name: str) -> str:
    """A name in which nothing but letters, digits, dots and single dashes is left, and that begins with none of the latter."""
    text = re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-._")
    return text[:80] or "model"


def _line(parts: list[str]) -> str:
    return " ".join(shlex.quote(part) for part in parts)
