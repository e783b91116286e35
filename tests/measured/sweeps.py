"""Made-up sweeps: step times that a given calibration would give, as the loop around libllama writes them."""

from __future__ import annotations

from collections.abc import Iterable

from slmopt.measured.calibration_rows import LLAMA_CELLS
from slmopt.specs.calibration import Calibration
from slmopt.specs.scenario import scenario
from slmopt.specs.setup import resolve
from slmopt.theory.latency import decode_group, prefill_group
from slmopt.theory.roofline import estimate_roof, run

HEAD = "model_file,kind,threads,kv,fa,batch_or_prompt,ctx,reps,wall_med_s"
FILES = {
    "smollm2-135m": ("smollm2-135m", "Q8_0", "q8_0"),
    "smollm2-360m": ("smollm2-360m", "Q4_0", "q4_0"),
    "llama-3.2-1b": ("llama-3.2-1b", "F16", "f16"),
    "qwen2.5-0.5b": ("qwen2.5-0.5b", "Q8_0", "q8_0"),
}
DEVICE = "epyc-2core"


def step_time(calibration: Calibration, model: str, weights: str, batch: int, context: int) -> float:
    """Seconds of a decode step, as an estimate under the calibration says."""
    setup = _setup(calibration, model, weights)
    return float(
        run(setup, [decode_group(setup, batch, context)], estimate_roof(setup, "decode", "typical")).seconds
    )


def prompt_time(calibration: Calibration, model: str, weights: str, prompt: int) -> float:
    """Seconds of a prefill."""
    setup = _setup(calibration, model, weights)
    return float(
        run(setup, [prefill_group(setup, prompt, 0)], estimate_roof(setup, "prefill", "typical")).seconds
    )


def _setup(calibration, model, weights):
    values = {"model": model, "device": DEVICE, "weights": weights, "engine": "llama.cpp"}
    return resolve(
        scenario({**values, "calibration": calibration.model_copy(update={"cache_step": LLAMA_CELLS})})
    )


def sweep(
    calibration: Calibration,
    *,
    batches: Iterable[int] = (1, 2, 4, 8, 16),
    contexts: Iterable[int] = (0, 512, 2048),
    prompts: Iterable[int] = (),
    models: Iterable[str] = FILES,
    noise: float = 0.0,
) -> bytes:
    """The sweep's file; ``noise`` alternates the sign of an error of that size."""
    lines = [HEAD]
    for model in models:
        stem, name, weights = FILES[model]
        for batch in batches:
            for context in contexts:
                took = step_time(calibration, model, weights, batch, context)
                lines.append(_line(stem, name, "tg", batch, context, took * _off(noise, len(lines))))
        for prompt in prompts:
            took = prompt_time(calibration, model, weights, prompt)
            lines.append(_line(stem, name, "pp", prompt, 0, took * _off(noise, len(lines))))
    return ("\n".join(lines) + "\n").encode()


def _off(noise: float, number: int) -> float:
    return 1 + noise * (1 if number % 2 else -1)


def _line(stem: str, name: str, kind: str, size: int, context: int, seconds: float) -> str:
    return f"{stem}-{name}.gguf,{kind},2,f16,0,{size},{context},5,{seconds:.9f}"
