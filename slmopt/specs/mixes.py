"""What each GGUF file type stores where: a mix is a base block and the tensors that get another one.

A file type is not one number of bits: ``Q4_K_M`` keeps the tensors that suffer most from rounding (values, the way back
from the feed-forward block, the head) in larger blocks, in some layers only. The rules are those of llama.cpp's
``src/llama-quant.cpp`` (commit 007dbbf3), restated as data; tests hold them against published file sizes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Rule = tuple[tuple[str, str], ...]
"""(when, block) pairs: the first that applies wins, otherwise the base block stays.

``when`` is ``all``; a place in the stack (``more``: the first and last eighth and every third layer between,
``first_eighth``, ``first_sixteenth``, ``middle``: all but the first and last eighth, ``first_2``, ``first_4``);
or a property of the model (``shared_kv``: four or more heads to a KV head, ``many_experts``: four or more).
"""


@dataclass(frozen=True, slots=True)
class Mix:
    """A file type: base block, head, input embedding (None: the base block), and rules by role."""

    base: str
    head: str = "Q6_K"
    embedding: str | None = None
    rules: dict[str, Rule] = field(default_factory=dict)
    wide_output: bool = False
    """Whether a model of exactly eight experts gets Q5_K for its attention output."""


def _all(block: str) -> Rule:
    return (("all", block),)


def _codebook(base: str, small: str, output: str | None) -> Mix:
    """The 1-bit and 2-bit mixes: one rule, in two sizes of the larger blocks."""
    rules: dict[str, Rule] = {
        "attn_v": (("shared_kv", "Q4_K"), ("many_experts", "Q4_K"), ("all", small)),
        "ffn_down": (("first_eighth", small),),
    }
    if output is not None:
        rules["attn_output"] = _all(output)
    return Mix(base, "Q5_K", small, rules, wide_output=True)


_MORE: dict[str, Rule] = {"attn_v": (("more", "Q6_K"),), "ffn_down": (("more", "Q6_K"),)}
_IQ4: dict[str, Rule] = {"attn_v": (("shared_kv", "Q5_K"),), "ffn_down": (("first_eighth", "Q5_K"),)}

MIXES: dict[str, Mix] = {
    "f32": Mix("F32", "F32"),
    "f16": Mix("F16", "F16"),
    "bf16": Mix("BF16", "BF16"),
    "q8_0": Mix("Q8_0", "Q8_0"),
    "q5_1": Mix("Q5_1"),
    "q5_0": Mix("Q5_0"),
    "q4_1": Mix("Q4_1"),
    "q4_0": Mix("Q4_0"),
    "q6_k": Mix("Q6_K"),
    "q5_k_m": Mix("Q5_K", rules=_MORE),
    "q5_k_s": Mix("Q5_K"),
    "q4_k_m": Mix("Q4_K", rules=_MORE, wide_output=True),
    "q4_k_s": Mix(
        "Q4_K",
        rules={"attn_v": (("first_4", "Q5_K"),), "ffn_down": (("first_eighth", "Q5_K"),)},
        wide_output=True,
    ),
    "q3_k_l": Mix(
        "Q3_K", rules={"attn_v": _all("Q5_K"), "ffn_down": _all("Q5_K"), "attn_output": _all("Q5_K")}
    ),
    "q3_k_m": Mix(
        "Q3_K",
        rules={
            "attn_v": (("first_2", "Q5_K"), ("all", "Q4_K")),
            "ffn_down": (("first_sixteenth", "Q5_K"), ("all", "Q4_K")),
            "attn_output": _all("Q4_K"),
        },
        wide_output=True,
    ),
    "q3_k_s": Mix("Q3_K", wide_output=True),
    "q2_k": Mix(
        "Q2_K",
        rules={
            "attn_v": (("shared_kv", "Q4_K"), ("all", "Q3_K")),
            "ffn_down": _all("Q3_K"),
            "attn_output": _all("Q3_K"),
        },
        wide_output=True,
    ),
    "q2_k_s": Mix(
        "Q2_K", rules={"attn_v": (("shared_kv", "Q4_K"),), "ffn_down": (("first_eighth", "Q4_K"),)}
    ),
    "iq4_nl": Mix("IQ4_NL", rules=_IQ4, wide_output=True),
    "iq4_xs": Mix("IQ4_XS", rules=_IQ4, wide_output=True),
    # With an importance matrix the first layers' way down needs no larger block here, and the plain types get one.
    "iq4_nl_imatrix": Mix("IQ4_NL", rules={"attn_v": _IQ4["attn_v"]}, wide_output=True),
    "iq4_xs_imatrix": Mix("IQ4_XS", rules={"attn_v": _IQ4["attn_v"]}, wide_output=True),
    "q5_0_imatrix": Mix("Q5_0", rules={"ffn_down": (("first_eighth", "Q5_1"),)}),
    "q4_0_imatrix": Mix("Q4_0", rules={"ffn_down": (("first_eighth", "Q4_1"),)}),
    "iq3_m": Mix(
        "IQ3_S",
        rules={
            "attn_v": _all("Q4_K"),
            "ffn_down": (("first_eighth", "Q4_K"),),
            "attn_output": _all("Q4_K"),
        },
        wide_output=True,
    ),
    "iq3_s": Mix("IQ3_S", rules={"attn_v": (("shared_kv", "Q4_K"),)}, wide_output=True),
    "iq3_xs": Mix(
        "IQ3_S",
        rules={
            "attn_v": (("shared_kv", "Q4_K"),),
            "attn_k": _all("IQ3_XXS"),
            "attn_q": _all("IQ3_XXS"),
            "ffn_gate": (("middle", "IQ3_XXS"),),
            "ffn_up": (("middle", "IQ3_XXS"),),
        },
        wide_output=True,
    ),
    "iq3_xxs": Mix(
        "IQ3_XXS",
        "Q5_K",
        "IQ3_S",
        {
            "attn_v": (("shared_kv", "Q4_K"),),
            "attn_k": _all("IQ2_S"),
            "attn_q": _all("IQ2_S"),
            "attn_output": _all("IQ3_S"),
        },
        wide_output=True,
    ),
    "iq2_m": _codebook("IQ2_S", "IQ3_S", "IQ3_S"),
    "iq2_s": _codebook("IQ2_XS", "IQ3_S", "IQ3_S"),
    "iq2_xs": _codebook("IQ2_XS", "Q2_K", None),
    "iq2_xxs": _codebook("IQ2_XXS", "Q2_K", None),
    "iq1_m": _codebook("IQ1_M", "Q2_K", "IQ2_XXS"),
    "iq1_s": _codebook("IQ1_S", "Q2_K", "IQ2_XXS"),
    "tq2_0": Mix("TQ2_0", embedding="Q4_K"),
    "tq1_0": Mix("TQ1_0", embedding="Q4_K"),
    # Everything but the experts is Q8_0; the resolver puts the experts in MXFP4.
    "mxfp4_moe": Mix("Q8_0", "Q8_0"),
}
"""Mixes by recipe name, the file type's name in lower case."""

FALCON: dict[str, dict[str, Rule]] = {
    "q4_k_m": {"ffn_down": (("first_sixteenth", "Q6_K"), ("more", "Q5_K")), "attn_v": (("more", "Q6_K"),)},
    "q4_k_s": {"attn_v": (("first_4", "Q5_K"),)},
    "q3_k_l": {"attn_v": _all("Q5_K"), "ffn_down": _all("Q4_K"), "attn_output": _all("Q4_K")},
    "q3_k_m": {
        "attn_v": (("first_2", "Q5_K"), ("all", "Q4_K")),
        "ffn_down": (("first_sixteenth", "Q5_K"), ("more", "Q4_K")),
    },
    "q2_k": {"attn_v": (("shared_kv", "Q4_K"), ("all", "Q3_K")), "ffn_down": _all("Q3_K")},
}
"""Rules that replace a mix's own for the Falcon family, whose head is Q8_0 as well."""
