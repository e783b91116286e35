"""The flags that make a scenario, shared by every command that needs one."""

from __future__ import annotations

import argparse
from typing import get_args

from slmopt.cli import inputs
from slmopt.cli.parser import FULL_NAMES, MODEL_FILES, UsageError
from slmopt.specs.base import SpecError
from slmopt.specs.device import RATES
from slmopt.specs.formats import WeightFormat
from slmopt.specs.places import HOST
from slmopt.specs.scenario import (
    Allocation,
    AttentionKernels,
    Batching,
    Engine,
    Parallel,
    Residency,
    Scenario,
    scenario,
)

# Scenario fields whose flag has another name; errors speak of flags.
_FLAGS = {"cache_k": "kv", "cache_v": "kv-v", "allocation": "memory", "cpu_moe_layers": "n-cpu-moe"}


def add_scenario_flags(parser: argparse.ArgumentParser) -> None:
    """Model, device, formats, workload, speculation and achievable factors."""
    what = parser.add_argument_group("what runs where")
    what.add_argument("--model", metavar="M", required=True, help=f"{FULL_NAMES} ({MODEL_FILES})")
    what.add_argument("--device", metavar="D", required=True, help=FULL_NAMES)
    what.add_argument("--devices", metavar="N", type=inputs.whole, help="how many of them")
    what.add_argument("--weights", metavar="W", help=f"{FULL_NAMES}, or bits a weight: --weights 4.5")
    what.add_argument("--kv", metavar="K", help=f"cache format: {FULL_NAMES}, or bits an element")
    what.add_argument(
        "--kv-v", metavar="K", help="cache format of the values, where it is not that of the keys"
    )
    what.add_argument("--engine", choices=get_args(Engine), help="the runtime; exact is the model's own need")
    what.add_argument(
        "--compute", metavar="T", choices=RATES, help=f"compute type of the estimate: {', '.join(RATES)}"
    )
    what.add_argument("--memory", choices=get_args(Allocation), help="how the cache is allocated")
    what.add_argument(
        "--capacity-gb", metavar="GB", type=inputs.number, help="usable memory, where it is not the device's"
    )
    what.add_argument(
        "--micro-batch", metavar="N", type=inputs.whole, help="llama.cpp's --ubatch-size (default: 512)"
    )
    what.add_argument(
        "--gpu-memory-utilization",
        metavar="X",
        type=inputs.number,
        help="share of memory that vLLM or SGLang fills",
    )
    what.add_argument(
        "--full-windows",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="window layers keep the whole context (llama.cpp: --swa-full)",
    )
    _add_places(parser)
    _add_serving(parser)

    load = parser.add_argument_group("workload (tokens)")
    load.add_argument("--batch", metavar="N", type=inputs.whole, help="sequences decoded together")
    load.add_argument("--prompt", metavar="N", type=inputs.whole, help="prompt length")
    load.add_argument("--output", metavar="N", type=inputs.whole, help="reply length")
    load.add_argument(
        "--context",
        metavar="N",
        type=inputs.whole,
        help="cached tokens a sequence (default: prompt + output)",
    )
    load.add_argument(
        "--prefix-hit", metavar="N", type=inputs.whole, help="prompt tokens that a prefix cache supplies"
    )
    load.add_argument(
        "--shared-prefix", metavar="N", type=inputs.whole, help="tokens that all sequences have in common"
    )

    draft = parser.add_argument_group("speculation")
    draft.add_argument(
        "--acceptance", metavar="A", type=inputs.number, help="share of drafted tokens accepted, 0 to 1"
    )
    draft.add_argument("--draft-tokens", metavar="K", type=inputs.whole, help="tokens drafted a pass")
    cost = draft.add_mutually_exclusive_group()
    cost.add_argument(
        "--draft-cost", metavar="C", type=inputs.number, help="a drafted token's time over a decode step's"
    )
    cost.add_argument("--draft-model", metavar="M", help=FULL_NAMES)
    draft.add_argument("--draft-device", metavar="D", help="where the draft model runs, if not on the device")
    draft.add_argument(
        "--draft-width",
        metavar="N",
        type=inputs.whole,
        help="candidates at each place of a tree (default: 1)",
    )
    draft.add_argument(
        "--verify-cost",
        metavar="X",
        type=inputs.number,
        help="what each further checked token adds to a step, as a share of it (measured; default: the pass's own)",
    )
    draft.add_argument(
        "--draft-heads-gb", metavar="GB", type=inputs.number, help="weights of heads that are built in"
    )

    reach = parser.add_argument_group(
        "what is achieved (default: reference measurements of the device's class)"
    )
    reach.add_argument("--bandwidth-fraction", metavar="X", type=inputs.number, help="0 to 1")
    reach.add_argument("--compute-fraction", metavar="X", type=inputs.number, help="0 to 1")
    reach.add_argument(
        "--fixed-ms", metavar="T", type=inputs.number, help="time of a pass that nothing else explains"
    )
    reach.add_argument("--fit", metavar="FILE", help="this machine's rates, as `slmopt fit --out` wrote them")


def _add_places(parser: argparse.ArgumentParser) -> None:
    """Several devices, and a card beside its host."""
    places = parser.add_argument_group("more than one memory")
    places.add_argument(
        "--parallel", choices=get_args(Parallel), help="how several devices share the model (default: tensor)"
    )
    places.add_argument(
        "--link-gbs",
        metavar="GB/s",
        type=inputs.number,
        help="link, per direction, where it is not the device's",
    )
    places.add_argument(
        "--link-latency-us", metavar="T", type=inputs.number, help="time of a message over it"
    )
    places.add_argument(
        "--gpu-layers",
        metavar="N",
        type=inputs.whole,
        help="llama.cpp's -ngl: the last N of the layers and the head, which is last, run on the device",
    )
    places.add_argument(
        "--n-cpu-moe", metavar="N", type=inputs.whole, help="experts of the first N layers stay on the host"
    )
    places.add_argument("--host", metavar="D", help=f"what runs the rest: {FULL_NAMES} (default: {HOST})")


def _add_serving(parser: argparse.ArgumentParser) -> None:
    """How the engine feeds prompts, shares slots, keeps the model and attends."""
    serve = parser.add_argument_group("how it serves")
    serve.add_argument(
        "--prefill-chunk-tokens",
        metavar="N",
        type=inputs.whole,
        help="prompts come in pieces of N tokens beside everyone's next token (default: whole)",
    )
    serve.add_argument(
        "--batching",
        choices=get_args(Batching),
        help="static: a group decodes until its longest reply ends (default: continuous)",
    )
    serve.add_argument(
        "--output-spread",
        metavar="X",
        type=inputs.number,
        help="standard deviation of reply lengths over their mean, 0 to 1, for static (default: 1)",
    )
    serve.add_argument(
        "--residency",
        choices=get_args(Residency),
        help="cold: the first token waits for the model's file (default: resident)",
    )
    serve.add_argument(
        "--storage-gbs", metavar="GB/s", type=inputs.number, help="rate at which storage gives that file"
    )
    serve.add_argument(
        "--attention-kernels",
        choices=get_args(AttentionKernels),
        help="unfused: scores are written to memory and read again (default: fused)",
    )


def scenario_from(options: argparse.Namespace) -> tuple[Scenario, tuple[str, ...]]:
    """The scenario of the flags, and what was assumed where a flag was left out."""
    if options.draft_tokens and options.acceptance is None:
        raise UsageError(
            "--draft-tokens needs --acceptance, the share of drafted tokens that is accepted (0 to 1): it is never guessed."
        )
    model, stored = inputs.model_and_weights(options.model)
    values: dict[str, object] = {"model": model, "device": inputs.device(options.device)}
    if options.weights is not None:
        values["weights"] = inputs.weights(options.weights)
    elif stored is not None:
        values["weights"] = stored
    if options.kv is not None:
        values["cache_k"] = inputs.cache(options.kv)
    if options.kv_v is not None:
        values["cache_v"] = inputs.cache(options.kv_v, "--kv-v")
    if options.draft_model is not None:
        values["draft_model"] = inputs.model(options.draft_model, "--draft-model")
    if options.draft_device is not None:
        values["draft_device"] = inputs.device(options.draft_device, "--draft-device")
    if options.host is not None:
        values["host"] = inputs.device(options.host, "--host")
    plain = {
        "devices": options.devices,
        "parallel": options.parallel,
        "link_gbs": options.link_gbs,
        "link_latency_us": options.link_latency_us,
        "gpu_layers": options.gpu_layers,
        "cpu_moe_layers": options.n_cpu_moe,
        "micro_batch": options.micro_batch,
        "gpu_memory_utilization": options.gpu_memory_utilization,
        "full_windows": options.full_windows,
        "draft_width": options.draft_width,
        "verify_cost": options.verify_cost,
        "draft_heads_gb": options.draft_heads_gb,
        "prefill_chunk_tokens": options.prefill_chunk_tokens,
        "batching": options.batching,
        "output_spread": options.output_spread,
        "residency": options.residency,
        "storage_gbs": options.storage_gbs,
        "attention_kernels": options.attention_kernels,
        "engine": options.engine,
        "compute": options.compute,
        "allocation": options.memory,
        "capacity_gb": options.capacity_gb,
        "batch": options.batch,
        "prompt": options.prompt,
        "output": options.output,
        "context": options.context,
        "prefix_hit": options.prefix_hit,
        "shared_prefix": options.shared_prefix,
        "acceptance": options.acceptance,
        "draft_tokens": options.draft_tokens,
        "draft_cost": options.draft_cost,
        "bandwidth_fraction": options.bandwidth_fraction,
        "compute_fraction": options.compute_fraction,
        "fixed_ms": options.fixed_ms,
    }
    values.update({name: value for name, value in plain.items() if value is not None})
    if options.fit is not None:
        values["calibration"] = inputs.calibration(options.fit)
    try:
        made = scenario(values)
    except SpecError as error:
        raise SpecError(as_flags(str(error))) from error
    return made, _assumed(options, made)


def _assumed(options: argparse.Namespace, made: Scenario) -> tuple[str, ...]:
    notes = []
    if options.weights is None and isinstance(made.weights, str):
        notes.append(f"--weights is not given: {made.weights} is assumed")
    elif options.weights is None and isinstance(made.weights, WeightFormat) and not made.weights.stored:
        notes.append(f"--weights is not given: {made.weights.id} is taken, as the model's config names")
    if options.kv is None:
        notes.append(f"--kv is not given: an {made.cache_k} cache is assumed")
    if made.offloads and made.host is None:
        notes.append(f"--host is not given: {HOST} is assumed, with the most memory that it is sold with")
    elif made.host is not None and not made.offloads:
        notes.append("--host has no effect without --gpu-layers or --n-cpu-moe")
    return tuple(notes)


def as_flags(message: str) -> str:
    """An error that names a field, naming the flag instead."""
    field, equals, rest = message.partition(" = ")
    if not equals or not field.isidentifier():
        return message
    return f"--{_FLAGS.get(field, field.replace('_', '-'))} = {rest}"
