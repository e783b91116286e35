"""Models that layer groups do not describe, refused by name before anything is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slmopt.specs.base import SpecError

ENCODER_DECODERS = frozenset(
    """
    t5 mt5 umt5 longt5 switch_transformers t5gemma t5gemma2 bart mbart plbart mvp pegasus pegasus_x bigbird_pegasus
    blenderbot blenderbot-small led marian m2m_100 nllb-moe prophetnet fsmt encoder-decoder whisper speech_to_text
    seamless_m4t seamless_m4t_v2 musicgen
    """.split()  # noqa: SIM905 - one name a line would fill a page
)
ENCODERS = frozenset(
    """
    bert roberta xlm-roberta distilbert albert electra deberta deberta-v2 modernbert mpnet camembert big_bird longformer
    nomic_bert xlnet clip siglip vit dinov2 wav2vec2
    """.split()  # noqa: SIM905 - one name a line would fill a page
)
SHARING = frozenset({"zamba", "zamba2", "xlstm", "blt", "hrm_text", "dory", "jetmoe"})
"""Decoders whose layers share weights, loop, or route their attention."""


def refuse(config: Mapping[str, Any], types: set[str]) -> None:
    """Raises :class:`SpecError` for an encoder-decoder, an encoder, or a decoder with shared layers."""
    if config.get("is_encoder_decoder") is True or types & ENCODER_DECODERS:
        kind = min(types & ENCODER_DECODERS or types) or "this model"
        raise SpecError(f"{kind} is an encoder-decoder: slmopt describes decoder-only language models.")
    if types & ENCODERS:
        raise SpecError(
            f"{min(types & ENCODERS)} is an encoder: slmopt describes decoder-only language models."
        )
    if types & SHARING:
        raise SpecError(
            f"{min(types & SHARING)} shares or loops its blocks, which layer groups do not describe: give its params, "
            "layers, kv_heads and head_dim instead."
        )
