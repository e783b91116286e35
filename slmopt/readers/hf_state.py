"""Layers that keep a state of fixed size: state-space, linear attention, short convolution, recurrence.

``scan_flops`` counts one token's work outside the matrix products, a multiplication and an addition apart: the
depthwise convolution (2 a tap and channel) and, for each element of the state, decay, update and read-out:
5 for Mamba-2 (decay 1, input 2, read-out 2), 6 for Mamba-1 (which also scales its decay by the time step), 7 for
delta rules (decay 1, look-up 2, correction 2, read-out 2), 5 for plain linear attention. Exponentials are left out.
"""

from __future__ import annotations

from slmopt.readers.hf_fields import Fields
from slmopt.specs.base import SpecError
from slmopt.specs.model import Matrix, State

CONV = ("mamba_d_conv", "conv_kernel", "d_conv")
STATE = ("mamba_d_state", "ssm_state_size", "state_size", "d_state")
EXPAND = ("mamba_expand", "expand")
PROJ_BIAS = ("mamba_proj_bias", "use_bias", "projectors_bias")
CONV_BIAS = ("mamba_conv_bias", "use_conv_bias")
STATE_TYPES = {"float32": 32, "float16": 16, "bfloat16": 16}


def _state_bits(f: Fields) -> int | None:
    """Precision that the config asks of the state's elements; None where it leaves that to the runtime."""
    _, dtype = f.raw("mamba_ssm_dtype", "mamba_ssm_cache_dtype", silent=True)
    return STATE_TYPES.get(dtype) if isinstance(dtype, str) else None


def mamba2(f: Fields, hidden: int) -> State:
    """Mamba-2: one input projection for gate, values, B, C and time steps."""
    heads = f.whole("mamba_n_heads", "mamba_num_heads", "n_mamba_heads", "num_heads")
    names = ("mamba_d_head", "mamba_head_dim", "mamba_headdim", "head_dim")
    # The library's own default may be "auto": what the expansion leaves a head.
    head_dim = None if f.raw(*names)[1] == "auto" else f.maybe(*names)
    inner = f.maybe("mamba_d_ssm")
    if head_dim is None:
        inner = inner or f.whole(*EXPAND) * hidden
        head_dim = inner // heads
    inner = inner or heads * head_dim
    state, groups = f.whole(*STATE), f.maybe("mamba_n_groups", "n_groups", "mamba_ngroups") or 1
    kernel = f.whole(*CONV)
    channels = inner + 2 * groups * state
    vectors = channels * (kernel + f.flag(*CONV_BIAS)) + 3 * heads
    if f.model_type != "falcon_h1" or f.flag("mamba_rms_norm"):
        vectors += inner
    rows = inner + channels + heads
    if f.flag(*PROJ_BIAS):
        vectors += rows + hidden
    return State(
        kind="mamba2",
        matrices=(
            Matrix(role="ssm_in", rows=rows, cols=hidden),
            Matrix(role="ssm_out", rows=hidden, cols=inner),
        ),
        vector_params=vectors,
        state_elements=inner * state,
        state_bits=_state_bits(f),
        conv_elements=channels * (kernel - 1),
        scan_flops=5 * inner * state + 2 * channels * kernel,
    )


def mamba1(f: Fields, hidden: int, inner_norms: bool) -> State:
    """Mamba-1: time steps, B and C are projected from the values."""
    inner = f.whole(*EXPAND) * hidden
    if f.model_type in {"mamba", "falcon_mamba"}:
        inner = f.maybe("intermediate_size", "d_inner") or inner
    state, kernel = f.whole(*STATE), f.whole(*CONV)
    name, rank_value = f.raw("mamba_dt_rank", "time_step_rank")
    rank = -(-hidden // 16) if rank_value in (None, "auto") else f.whole(name)
    vectors = inner * (kernel + f.flag(*CONV_BIAS)) + inner + inner * state + inner
    if inner_norms:
        vectors += rank + 2 * state
    if f.flag(*PROJ_BIAS):
        vectors += 2 * inner + hidden
    return State(
        kind="mamba1",
        matrices=(
            Matrix(role="ssm_in", rows=2 * inner, cols=hidden),
            Matrix(role="ssm_x", rows=rank + 2 * state, cols=inner),
            Matrix(role="ssm_dt", rows=inner, cols=rank),
            Matrix(role="ssm_out", rows=hidden, cols=inner),
        ),
        vector_params=vectors,
        state_elements=inner * state,
        conv_elements=inner * (kernel - 1),
        scan_flops=6 * inner * state + 2 * inner * kernel,
    )


def gated_delta(f: Fields, hidden: int) -> State:
    """Gated delta rule (Qwen3-Next, Qwen3.5, OLMo hybrid): a key by value matrix for each value head."""
    k_heads, v_heads = f.whole("linear_num_key_heads"), f.whole("linear_num_value_heads")
    k_dim, v_dim = f.whole("linear_key_head_dim"), f.whole("linear_value_head_dim")
    kernel = f.whole("linear_conv_kernel_dim")
    keys, values = k_heads * k_dim, v_heads * v_dim
    channels = 2 * keys + values
    elements = v_heads * k_dim * v_dim
    return State(
        kind="gated_delta",
        matrices=(
            Matrix(role="ssm_qkv", rows=channels, cols=hidden),
            Matrix(role="ssm_gate", rows=values, cols=hidden),
            Matrix(role="ssm_ba", rows=2 * v_heads, cols=hidden),
            Matrix(role="ssm_out", rows=hidden, cols=values),
        ),
        vector_params=channels * kernel + 2 * v_heads + v_dim,
        state_elements=elements,
        state_bits=_state_bits(f),
        conv_elements=channels * (kernel - 1),
        scan_flops=7 * elements + 2 * channels * kernel,
    )


def kimi_delta(hidden: int, heads: int, head_dim: int, kernel: int) -> State:
    """Kimi delta attention: a gate for each channel of the key, through a bottleneck of one head's width."""
    inner = heads * head_dim
    elements = heads * head_dim * head_dim
    return State(
        kind="kimi_delta",
        matrices=(
            Matrix(role="ssm_qkv", rows=3 * inner, cols=hidden),
            Matrix(role="ssm_f_a", rows=head_dim, cols=hidden),
            Matrix(role="ssm_f_b", rows=inner, cols=head_dim),
            Matrix(role="ssm_beta", rows=heads, cols=hidden),
            Matrix(role="ssm_g_a", rows=head_dim, cols=hidden),
            Matrix(role="ssm_g_b", rows=inner, cols=head_dim),
            Matrix(role="ssm_out", rows=hidden, cols=inner),
        ),
        vector_params=3 * inner * kernel + inner + heads + head_dim,
        state_elements=elements,
        conv_elements=3 * inner * (kernel - 1),
        scan_flops=7 * elements + 2 * 3 * inner * kernel,
    )


def short_conv(f: Fields, hidden: int) -> State:
    """LFM2's gated short convolution: what it keeps is its last inputs."""
    kernel = f.whole("conv_L_cache")
    bias = f.flag("conv_bias")
    return State(
        kind="short_conv",
        matrices=(
            Matrix(role="conv_in", rows=3 * hidden, cols=hidden),
            Matrix(role="conv_out", rows=hidden, cols=hidden),
        ),
        vector_params=hidden * kernel + (5 * hidden if bias else 0),
        conv_elements=hidden * (kernel - 1),
        scan_flops=2 * hidden * (kernel + 2),
    )


def lightning(hidden: int, heads: int, head_dim: int) -> State:
    """MiniMax's lightning attention: a key by value matrix a head, a norm and an output gate."""
    inner = heads * head_dim
    elements = heads * head_dim * head_dim
    return State(
        kind="linear",
        matrices=(
            Matrix(role="ssm_qkv", rows=3 * inner, cols=hidden),
            Matrix(role="ssm_gate", rows=inner, cols=hidden),
            Matrix(role="ssm_out", rows=hidden, cols=inner),
        ),
        vector_params=inner,
        state_elements=elements,
        scan_flops=5 * elements,
    )


def recurrent(f: Fields, hidden: int, heads: int) -> State:
    """RecurrentGemma's gated linear recurrence with block-diagonal gates, a block a head."""
    width = f.maybe("lru_width") or hidden
    kernel = f.whole("conv1d_width")
    if width % heads:
        raise SpecError(f"lru_width = {width}: it should be a multiple of the {heads} heads.")
    block = width // heads
    return State(
        kind="recurrent",
        matrices=(
            Matrix(role="ssm_in", rows=2 * width, cols=hidden),
            Matrix(role="ssm_gate", rows=block, cols=block, copies=2 * heads),
            Matrix(role="ssm_out", rows=hidden, cols=width),
        ),
        vector_params=2 * width + hidden + width * (kernel + 1) + width + 2 * width,
        state_elements=width,
        conv_elements=width * (kernel - 1),
        scan_flops=5 * width + 2 * width * kernel,
    )
