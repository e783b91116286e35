"""The scenario: everything a page needs, in one frozen object that a link, a file and the command line all carry."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from slmopt.specs.base import Spec, SpecError, sentence
from slmopt.specs.calibration import Calibration
from slmopt.specs.device import Device, Rate
from slmopt.specs.formats import CacheFormat, WeightFormat
from slmopt.specs.model import Model

SCHEMA_VERSION = 1

Engine = Literal["exact", "llama.cpp", "vllm", "sglang"]
Allocation = Literal["paged", "reserved"]
Parallel = Literal["tensor", "pipeline", "expert"]
Batching = Literal["continuous", "static"]
Residency = Literal["resident", "cold"]
AttentionKernels = Literal["fused", "unfused"]

Tokens = Annotated[int, Field(ge=0, le=100_000_000)]
Positive = Annotated[float, Field(gt=0)]
Fraction = Annotated[float, Field(gt=0, le=1)]

UNITS: dict[str, str] = {
    "bandwidth_gbs": "GB/s",
    "peak_tflops": "TFLOPS",
    "capacity_gb": "GB",
    "capacity_gib": "GiB",
    "buffers_gb": "GB",
    "weight_bits": "bits",
    "link_gbs": "GB/s",
    "link_latency_us": "µs",
    "gpu_layers": "layers",
    "cpu_moe_layers": "layers",
    "prompt": "tokens",
    "output": "tokens",
    "context": "tokens",
    "prefix_hit": "tokens",
    "shared_prefix": "tokens",
    "batch": "sequences",
    "micro_batch": "tokens",
    "block_tokens": "tokens",
    "fixed_ms": "ms",
    "attention_tflops": "TFLOPS",
    "target_ttft_ms": "ms",
    "target_tpot_ms": "ms",
    "target_tokens_per_s": "tokens/s",
    "target_memory_gb": "GB",
    "request_rate": "requests/s",
    "draft_width": "candidates",
    "draft_tokens": "tokens",
    "draft_heads_gb": "GB",
    "prefill_chunk_tokens": "tokens",
    "power_w": "W",
    "price_per_hour": "per hour",
    "gbs": "GB/s",
    "storage_gbs": "GB/s",
    "latency_us": "µs",
    "bits": "bits",
    "kept_bits": "bits",
}


class Scenario(Spec):
    """One question put to the product.

    Model, device and formats are a preset's id or a whole description. What a preset gives is nullable here: None means
    the preset's value, anything else overrides it. ``context`` is the cached tokens a sequence at which decode and
    capacity are evaluated; None means prompt + output.

    ``allocation`` "paged" gives out blocks as sequences grow (llama.cpp: one cache that all share), "reserved" each its
    longest length (llama.cpp: a cache of its own). What an engine decides is None until set: ``micro_batch``, tokens of
    llama.cpp's ``--ubatch-size``; ``gpu_memory_utilization``, the share of memory that vLLM or SGLang
    (``--mem-fraction-static``) may fill; ``full_windows``, window layers kept whole (llama.cpp ``--swa-full``, vLLM
    ``--disable-hybrid-kv-cache-manager`` and versions before it, SGLang ``--disable-hybrid-swa-memory``).

    Drafting: ``draft_width`` candidates are drafted at each place of a tree (1: a chain); ``draft_device`` runs the draft
    model where it is not the scenario's device; ``verify_cost`` is what each further checked token adds to a step, as a
    share of it (None: what the pass says). ``request_rate`` is how many requests arrive a second.

    ``draft_heads_gb`` are the weights of heads that are built in (EAGLE, Medusa, prediction layers) and stored beside the
    model's own.

    How the engine serves: ``prefill_chunk_tokens`` feeds a prompt in pieces of so many tokens, each in a pass with the
    next tokens of those who decode (None: whole, while they wait). ``batching`` "static" decodes a group until its longest
    reply ends; ``output_spread`` is the standard deviation of reply lengths as a share of their mean (None: 1 where it is
    needed, as of exponential lengths). ``residency`` "cold": the request finds the model not loaded, and waits until
    ``storage_gbs`` (None: the device's) has brought its file. ``attention_kernels`` "unfused" write attention's scores to
    memory and read them again.

    ``parallel`` says how several ``devices`` share the model; ``link_gbs`` (per direction) and ``link_latency_us`` override
    the link that joins them, or with partial offload the one between card and host. ``gpu_layers`` and
    ``cpu_moe_layers`` are llama.cpp's ``-ngl`` and ``--n-cpu-moe``: what is not on the device stays on ``host``.

    ``calibration`` is what a fit to measurements of this machine found; factors that are given beside it win over it.
    It describes one device with the whole model on it: :attr:`fit` is None for any other scenario.
    """

    version: Literal[1] = 1
    name: str = ""

    model: str | Model = "llama-3.1-8b"
    device: str | Device = "rtx-4090"
    devices: int = Field(default=1, ge=1, le=4096)
    parallel: Parallel = "tensor"
    link_gbs: Positive | None = None
    link_latency_us: Annotated[float, Field(ge=0)] | None = None
    gpu_layers: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    cpu_moe_layers: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    host: str | Device | None = None
    prefill_unit: str | None = None
    decode_unit: str | None = None
    weights: str | WeightFormat = "q4_k_m"
    cache_k: str | CacheFormat = "f16"
    cache_v: str | CacheFormat | None = None
    engine: Engine = "exact"
    compute: Rate | None = None

    bandwidth_gbs: Positive | None = None
    peak_tflops: Positive | None = None
    capacity_gb: Positive | None = None
    weight_bits: Annotated[float, Field(gt=0, le=64)] | None = None
    power_w: Positive | None = None
    price_per_hour: Annotated[float, Field(ge=0)] | None = None

    prompt: Annotated[int, Field(ge=1, le=100_000_000)] = 2000
    output: Annotated[int, Field(ge=1, le=100_000_000)] = 200
    context: Tokens | None = None
    batch: Annotated[int, Field(ge=1, le=10_000_000)] = 1
    prefix_hit: Tokens = 0
    shared_prefix: Tokens = 0

    allocation: Allocation = "paged"
    block_tokens: Annotated[int, Field(ge=1, le=65_536)] = 16
    buffers_gb: Annotated[float, Field(ge=0)] | None = None
    micro_batch: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    gpu_memory_utilization: Fraction | None = None
    full_windows: bool | None = None

    draft_tokens: Annotated[int, Field(ge=0, le=64)] = 0
    acceptance: Annotated[float, Field(ge=0, le=1)] | None = None
    draft_cost: Annotated[float, Field(ge=0)] | None = None
    draft_model: str | Model | None = None
    draft_device: str | Device | None = None
    draft_width: Annotated[int, Field(ge=1, le=64)] = 1
    verify_cost: Annotated[float, Field(ge=0, le=10)] | None = None
    draft_heads_gb: Annotated[float, Field(ge=0)] | None = None

    prefill_chunk_tokens: Annotated[int, Field(ge=1, le=100_000_000)] | None = None
    batching: Batching = "continuous"
    output_spread: Annotated[float, Field(ge=0, le=1)] | None = None
    residency: Residency = "resident"
    storage_gbs: Positive | None = None
    attention_kernels: AttentionKernels = "fused"

    target_ttft_ms: Positive | None = None
    target_tpot_ms: Positive | None = None
    target_users: Annotated[int, Field(ge=1)] | None = None
    target_tokens_per_s: Positive | None = None
    target_memory_gb: Positive | None = None
    request_rate: Positive | None = None

    bandwidth_fraction: Fraction | None = None
    compute_fraction: Fraction | None = None
    attention_tflops: Positive | None = None
    fixed_ms: Annotated[float, Field(ge=0)] | None = None
    factors_origin: str = ""
    calibration: Calibration | None = None

    @field_validator("model", "draft_model", mode="before")
    @classmethod
    def _name(cls, value: object) -> object:
        return named(value)

    @field_validator("calibration", mode="before")
    @classmethod
    def _calibration(cls, value: object) -> object:
        return Calibration.parse(value) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _consistent(self) -> Scenario:
        if self.prefix_hit > self.prompt - 1:
            raise ValueError(
                f"prefix_hit = {self.prefix_hit} tokens: it must be at most prompt - 1 = {self.prompt - 1}, "
                "since the last prompt token has to be computed to give the first token"
            )
        if self.shared_prefix > self.depth:
            raise ValueError(
                f"shared_prefix = {self.shared_prefix} tokens: it must be at most the context of {self.depth} tokens"
            )
        if self.devices > 1 and self.offloads:
            raise ValueError(
                f"devices = {self.devices}: partial offload is computed for one card; give devices = 1, "
                "or leave gpu_layers and cpu_moe_layers out"
            )
        return self

    @property
    def offloads(self) -> bool:
        """Whether part of the model may stay on the host."""
        return self.gpu_layers is not None or bool(self.cpu_moe_layers)

    @property
    def fit(self) -> Calibration | None:
        """The calibration where it applies: a fit is of one device with the whole model on it."""
        return self.calibration if self.devices == 1 and not self.offloads else None

    @property
    def depth(self) -> int:
        """Cached tokens a sequence at which decode and capacity are evaluated."""
        return self.prompt + self.output if self.context is None else self.context

    @property
    def decodes_beside(self) -> bool:
        """Whether others decode while a prompt comes in: not beside a single sequence, nor before a fixed group starts."""
        return self.batch > 1 and self.batching == "continuous"

    @property
    def unfused(self) -> bool:
        """Whether attention's kernels write scores to memory and read them again."""
        return self.attention_kernels == "unfused"

    @property
    def reply_spread(self) -> float:
        """``output_spread``, or 1 where it is not given."""
        return 1.0 if self.output_spread is None else self.output_spread

    @property
    def target_ttft_s(self) -> float | None:
        """The target for the first token [s]."""
        return None if self.target_ttft_ms is None else self.target_ttft_ms / 1e3

    @property
    def target_tpot_s(self) -> float | None:
        """The target for the time per token [s]."""
        return None if self.target_tpot_ms is None else self.target_tpot_ms / 1e3

    def change(self, **values: Any) -> Scenario:
        """A new scenario with these fields replaced, checked as a whole; raises :class:`SpecError`."""
        return scenario({**{name: getattr(self, name) for name in type(self).model_fields}, **values})


def scenario(values: dict[str, Any]) -> Scenario:
    """A checked scenario, or :class:`SpecError` with one sentence naming field, value, range and unit."""
    try:
        return Scenario.model_validate(values)
    except ValidationError as error:
        raise SpecError(sentence(error, UNITS, Scenario)) from error


def named(model: object) -> object:
    """An inline model's values with the id and name that a short form such as ``{"params": 7e9}`` leaves out."""
    if not isinstance(model, dict):
        return model
    params = model.get("params")
    name = f"{params / 1e9:.3g}B" if isinstance(params, int | float) else "own model"
    return {"id": "inline", "name": name, **model}
