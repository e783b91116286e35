"""GGUF headers byte by byte, as no writer would make them."""

from __future__ import annotations

import struct


def text(data):
    return struct.pack("<Q", len(data)) + data


def pair(key, kind, value):
    return text(key.encode()) + struct.pack("<I", kind) + value


def texts(key, items):
    return pair(key, 9, struct.pack("<IQ", 8, len(items)) + b"".join(map(text, items)))


def gguf(tensors, pairs, infos=b"", *, version=3, count=None):
    return (
        b"GGUF"
        + struct.pack("<IQQ", version, tensors, len(pairs) if count is None else count)
        + b"".join(pairs)
        + infos
    )


def info(name=b"token_embd.weight", dims=(256, 8), kind=0, offset=0):
    return text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, offset)


ARCH = pair("general.architecture", 8, text(b"llama"))
HUGE = 2**60


def huge_gguf():
    """The header of a model of 200 GB, with the vocabulary of the largest ones."""
    tensors = {
        "token_embd.weight": (16384, 128_256),
        "output.weight": (16384, 128_256),
        "output_norm.weight": (16384,),
    }
    for at in range(100):
        p = f"blk.{at}."
        tensors |= {f"{p}attn_norm.weight": (16384,), f"{p}ffn_norm.weight": (16384,), f"{p}attn_q.weight": (16384, 16384),
                    f"{p}attn_k.weight": (16384, 1024), f"{p}attn_v.weight": (16384, 1024), f"{p}attn_output.weight": (16384, 16384),
                    f"{p}ffn_gate.weight": (16384, 53248), f"{p}ffn_up.weight": (16384, 53248), f"{p}ffn_down.weight": (53248, 16384)}  # fmt: skip
    infos, offset = b"", 0
    for name, dims in tensors.items():
        kind, size = (0, 4) if len(dims) == 1 else (12, 0.5625)
        infos += info(name.encode(), dims, kind, offset)
        offset += int(dims[0] * (dims[1] if len(dims) > 1 else 1) * size)
    numbers = {
        "block_count": 100,
        "attention.head_count": 128,
        "attention.head_count_kv": 8,
        "context_length": 131072,
    }
    pairs = [ARCH, *(pair(f"llama.{key}", 4, struct.pack("<I", value)) for key, value in numbers.items())]
    pairs += [
        texts("tokenizer.ggml.tokens", [b"token%d" % i for i in range(262_144)]),
        pair("tokenizer.ggml.scores", 9, struct.pack("<IQ", 6, 262_144) + bytes(4 * 262_144)),
        texts("tokenizer.ggml.merges", [b"tok en%d" % i for i in range(514_000)]),
    ]
    return gguf(len(tensors), pairs, infos)
