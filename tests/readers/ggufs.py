"""Small GGUF files, written and checked with the gguf package: tensors by name, shape (rows by columns) and type."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFReader, GGUFWriter

from slmopt.readers.bytes_source import Source
from slmopt.readers.files import read_model_file
from slmopt.readers.gguf_header import read_header
from slmopt.specs.library import library
from slmopt.specs.scenario import scenario
from slmopt.specs.weights import stored_bytes, tensor_bits
from slmopt.theory.evaluation import evaluate
from slmopt.theory.memory import bytes_per_token

T = GGMLQuantizationType
Tensors = dict[str, tuple[tuple[int, ...], GGMLQuantizationType]]

H, FF, V, HEADS, KV, HEAD = 256, 512, 96, 4, 2, 64


def size_of(shape: tuple[int, ...], kind: GGMLQuantizationType) -> int:
    block, size = GGML_QUANT_SIZES[kind]
    return int(np.prod(shape)) // block * size


def write(path: Path, arch: str, tensors: Tensors, keys: Mapping[str, Any], **options: Any) -> Path:
    """A GGUF of zeros. Keys without a dot in front of their name's first part stand under the architecture."""
    writer = GGUFWriter(path, arch, **options)
    for key, value in keys.items():
        name = key if key.startswith(("general.", "split.", "tokenizer.", "clip.")) else f"{arch}.{key}"
        if isinstance(value, bool):
            writer.add_bool(name, value)
        elif isinstance(value, int):
            writer.add_uint32(name, value)
        elif isinstance(value, float):
            writer.add_float32(name, value)
        elif isinstance(value, str):
            writer.add_string(name, value)
        else:
            writer.add_array(name, value)
    for name, (shape, kind) in tensors.items():
        if kind in (T.F32, T.F16):
            writer.add_tensor(name, np.zeros(shape, np.float32 if kind == T.F32 else np.float16))
        else:
            block, size = GGML_QUANT_SIZES[kind]
            assert shape[-1] % block == 0
            zeros = np.zeros((*shape[:-1], shape[-1] // block * size), np.uint8)
            writer.add_tensor(name, zeros, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def keys(layers: int, **more: Any) -> dict[str, Any]:
    """The metadata of an ordinary decoder."""
    return {
        "general.name": "Tiny",
        "block_count": layers,
        "context_length": 4096,
        "embedding_length": H,
        "feed_forward_length": FF,
        "attention.head_count": HEADS,
        "attention.head_count_kv": KV,
        **{name.replace("__", "."): value for name, value in more.items()},
    }


def outside(kind: GGMLQuantizationType = T.Q6_K, *, head: bool = True) -> Tensors:
    """Embedding, head and last norm."""
    tensors: Tensors = {"token_embd.weight": ((V, H), kind), "output_norm.weight": ((H,), T.F32)}
    if head:
        tensors["output.weight"] = ((V, H), T.Q8_0)
    return tensors


def mixing(
    at: int, kind: GGMLQuantizationType = T.Q4_K, *, head: int = HEAD, heads: int = HEADS, kv: int = KV
) -> Tensors:
    """Norm and attention of a layer, values in larger blocks."""
    p = f"blk.{at}."
    return {
        f"{p}attn_norm.weight": ((H,), T.F32),
        f"{p}attn_q.weight": ((heads * head, H), kind),
        f"{p}attn_k.weight": ((kv * head, H), kind),
        f"{p}attn_v.weight": ((kv * head, H), T.Q6_K),
        f"{p}attn_output.weight": ((H, heads * head), kind if heads * head % 256 == 0 else T.Q8_0),
    }


def dense(at: int, kind: GGMLQuantizationType = T.Q4_K, width: int = FF) -> Tensors:
    """Norm and gated MLP of a layer."""
    p = f"blk.{at}."
    return {
        f"{p}ffn_norm.weight": ((H,), T.F32),
        f"{p}ffn_gate.weight": ((width, H), kind),
        f"{p}ffn_up.weight": ((width, H), kind),
        f"{p}ffn_down.weight": ((H, width), T.Q6_K),
    }


def experts(at: int, count: int, kind: GGMLQuantizationType = T.Q4_K, width: int = FF) -> Tensors:
    """Norm, router and experts of a layer."""
    p = f"blk.{at}."
    return {
        f"{p}ffn_norm.weight": ((H,), T.F32),
        f"{p}ffn_gate_inp.weight": ((count, H), T.F32),
        f"{p}ffn_gate_exps.weight": ((count, width, H), kind),
        f"{p}ffn_up_exps.weight": ((count, width, H), kind),
        f"{p}ffn_down_exps.weight": ((count, H, width), kind),
    }


@cache
def tiny() -> tuple[bytes, int]:
    """The bytes of a small GGUF with a vocabulary, and how many of them are its header."""
    more = {"tokenizer.ggml.tokens": ["a", "bb", "ccc"], "tokenizer.ggml.scores": [0.0, 1.0, 2.0]}
    with TemporaryDirectory() as folder:
        path = write(Path(folder) / "tiny.gguf", "llama", llama(2), keys(2) | more)
        with Source(path) as source:
            return path.read_bytes(), read_header(source).size


def llama(layers: int = 2, *, head: bool = True) -> Tensors:
    """Every tensor of a Llama."""
    tensors = outside(head=head)
    for at in range(layers):
        tensors |= mixing(at) | dense(at)
    return tensors


def cache_of(model):
    f16 = library().caches["f16"]
    return bytes_per_token(model, f16, f16)


def by_role(found):
    """Bits a weight by role, of the last tensor in that role."""
    return {
        t.role: bits
        for t, bits in zip(found.model.tensors, tensor_bits(found.weights, found.model), strict=True)
    }


def checked(path):
    """A file as read, once its bytes and weights equal what the gguf package's own reader finds."""
    found = read_model_file(path)
    theirs = GGUFReader(path).tensors
    size = sum(int(t.n_bytes) for t in theirs)
    assert found.size_bytes == size
    assert stored_bytes(found.weights, found.model) == size
    assert sum(t.size_bytes for t in found.weights.stored) == size
    assert found.model.stored_params == sum(int(t.n_elements) for t in theirs)
    assert [t.role for t in found.weights.stored] == [t.role for t in found.model.tensors]
    assert not any("could not be told" in phrase for phrase in found.model.assumed)
    result = evaluate(
        scenario(
            {
                "model": found.model,
                "weights": found.weights,
                "device": "rtx-4090",
                "prompt": 64,
                "output": 8,
                "batch": 2,
            }
        )
    )
    assert math.isfinite(float(result.ceiling.decode.seconds))
    assert result.setup.weight_bytes == size
    return found
