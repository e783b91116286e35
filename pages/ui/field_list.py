"""The scenario's number fields: names, labels, what they mean, and the stops of those with a slider."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Field:
    """A nullable number of the scenario. ``steps`` are the slider's stops; none for fields without a slider."""

    name: str
    label: str
    whole: bool = False
    steps: tuple[float, ...] = ()
    help: str | None = None


def one_two_five(first: int, last: int) -> tuple[float, ...]:
    """Stops 1, 2, 5 of every decade from 10^first to 10^last."""
    stops = [m * 10.0**decade for decade in range(first, last) for m in (1, 2, 5)]
    return (*stops, 10.0**last)


def powers_of_two(last: int) -> tuple[float, ...]:
    """1, 2, 4 … 2^last."""
    return tuple(2.0**power for power in range(last + 1))


FIELDS = {
    field.name: field
    for field in (
        Field("prompt", "Prompt (tokens)", True, one_two_five(1, 6)),
        Field("output", "Output (tokens)", True, one_two_five(1, 5)),
        Field("batch", "Sequences at once", True, powers_of_two(12)),
        Field(
            "context",
            "Context (tokens)",
            True,
            one_two_five(2, 6),
            help="Cached tokens a sequence at which decode and memory are evaluated.",
        ),
        Field("bandwidth_gbs", "Bandwidth (GB/s)", False, one_two_five(1, 4)),
        Field("peak_tflops", "Matrix rate (TFLOPS)", False, one_two_five(-1, 4)),
        Field(
            "weight_bits", "Bits a weight", False, (1.58, 2.0, 3.0, 4.0, 4.5, 5.0, 6.0, 8.0, 8.5, 16.0, 32.0)
        ),
        Field("capacity_gb", "Memory (GB)"),
        Field("power_w", "Power (W)"),
        Field("price_per_hour", "Price (per hour)"),
        Field("target_ttft_ms", "First token (ms)"),
        Field("target_tpot_ms", "Time per token (ms)"),
        Field("target_users", "Users at once", True),
        Field("target_tokens_per_s", "Device (tokens/s)"),
        Field("target_memory_gb", "Memory held (GB)"),
        Field(
            "request_rate",
            "Requests a second",
            help="With it times on the Plan are 95th percentiles, queueing included.",
        ),
        Field(
            "shared_prefix",
            "Shared by all (tokens)",
            True,
            help="A prefix that all sequences have in common: held and read once.",
        ),
        Field(
            "prefix_hit",
            "Of the prompt, cached (tokens)",
            True,
            help="Prompt tokens already in the cache: prefill skips them.",
        ),
        Field("draft_tokens", "Draft length (tokens)", True),
        Field("acceptance", "Acceptance rate (0 to 1)"),
        Field(
            "draft_cost",
            "Draft cost (of a step)",
            help="Time for one drafted token as a share of a decode step.",
        ),
        Field(
            "draft_width",
            "Candidates at each place",
            True,
            help="1 drafts a chain; more draft a tree, all of which is checked in one pass.",
        ),
        Field(
            "verify_cost",
            "Checking a token (of a step)",
            help="What each further checked token adds to a step, measured. Empty: what bytes and operations say.",
        ),
        Field(
            "draft_heads_gb",
            "Built-in heads (GB)",
            help="Weights of heads that draft (EAGLE, Medusa, prediction layers), stored beside the model's own.",
        ),
        Field(
            "prefill_chunk_tokens",
            "Prompt chunk (tokens)",
            True,
            help="Prompts come in pieces beside everyone's next token. Empty: whole, while the others wait.",
        ),
        Field(
            "output_spread",
            "Spread of replies (0 to 1)",
            help="Standard deviation of reply lengths over their mean: what fixed groups wait for. Empty: 1.",
        ),
        Field("storage_gbs", "Storage (GB/s)", help="Rate at which storage gives the model's file."),
        Field("bandwidth_fraction", "Bandwidth reached (0 to 1)"),
        Field("compute_fraction", "Matrix rate reached (0 to 1)"),
        Field("fixed_ms", "Fixed time a pass (ms)"),
        Field("devices", "Devices", True, help="How many such devices share the model."),
        Field("link_gbs", "Link (GB/s)", help="What joins the devices, or card and host: per direction."),
        Field("link_latency_us", "Link latency (µs)", help="Time of one message over the link."),
        Field(
            "gpu_layers",
            "Layers on the card",
            True,
            help="llama.cpp's -ngl: the head counts as the last layer, and the last ones go to the card first.",
        ),
        Field(
            "cpu_moe_layers",
            "Experts on the host (layers)",
            True,
            help="llama.cpp's --n-cpu-moe: the first layers' experts stay on the host.",
        ),
        Field("micro_batch", "Micro-batch (tokens)", True, help="llama.cpp's --ubatch-size."),
        Field(
            "gpu_memory_utilization",
            "Memory filled (0 to 1)",
            help="--gpu-memory-utilization of vLLM, --mem-fraction-static of SGLang.",
        ),
        Field("buffers_gb", "Buffers (GB)"),
        Field("block_tokens", "Block (tokens)", True),
    )
}
