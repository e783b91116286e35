"""A Hugging Face config.json as a model, for every decoder-only architecture that can be read from one.

Nothing is looked up by name: layers, heads and widths come from the file, what the file leaves out comes from the
library's default for that ``model_type`` and is listed in ``Model.assumed``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from slmopt.readers.hf_attention import CONTEXT, HIDDEN, decide
from slmopt.readers.hf_blocks import deepseek_v4, nemotron, openelm, rwkv
from slmopt.readers.hf_families import LLAMA, Family, family_of
from slmopt.readers.hf_fields import Fields, library_defaults, show
from slmopt.readers.hf_gemma import gemma3n, gemma4
from slmopt.readers.hf_mtp import mtp_params
from slmopt.readers.hf_refused import refuse
from slmopt.readers.hf_stack import Stack, longcat, norm_size, read_stack
from slmopt.readers.hf_towers import tower_params
from slmopt.readers.safe_json import load_object
from slmopt.specs.base import SpecError, sentence
from slmopt.specs.model import LayerGroup, Matrix, Model
from slmopt.specs.tensors import layer_params

STACKS: dict[str, Callable[[Fields, Family, int], Stack]] = {
    "deepseek_v4": deepseek_v4,
    "gemma3n": gemma3n,
    "gemma4": gemma4,
    "longcat_flash": longcat,
    "nemotron_h": nemotron,
    "openelm": openelm,
    "rwkv": rwkv,
    "rwkv5": rwkv,
}
NESTED = ("text_config", "language_config", "llm_config", "thinker_config")


def read_config(
    data: Mapping[str, Any] | bytes | str,
    *,
    id: str | None = None,  # noqa: A002 - the spec's own word
    name: str | None = None,
) -> Model:
    """The model that a config.json describes.

    Parameters
    ----------
    data
        The file's bytes or text, or what it holds as a mapping.
    id
        Identifier of the result; by default one made from the name.
    name
        Name of the result; by default the file's own ``_name_or_path``, else its ``model_type``.

    Raises
    ------
    SpecError
        In one sentence, if the file is not a readable config or not of a decoder-only language model.
    """
    config = load_object(data)
    try:
        return _read(config, id, name)
    except ValidationError as error:
        raise SpecError(f"The config does not add up: {sentence(error)}") from None


def _read(config: dict[str, Any], ident: str | None, name: str | None) -> Model:
    text, outer_type = text_part(config)
    model_type = _word(text.get("model_type")) or outer_type
    refuse(config, {model_type, outer_type})
    known = family_of(model_type) or family_of(outer_type)
    assumed: list[str] = []
    family, key = known or (LLAMA, "")
    f = Fields(text, _defaults_key(model_type, outer_type, key), assumed, family.extra)
    if known is None:
        _unknown(f, model_type)
    hidden = f.whole(*HIDDEN)
    own = STACKS.get(key)
    stack = own(f, family, hidden) if own is not None else read_stack(f, family, hidden, known is not None)
    tower = tower_params(config, outer_type, hidden, assumed)
    layers, tower = _images_only(f, stack.layers, hidden, tower)
    groups, order = compact(layers)
    headless, score = _head(config, f, hidden)
    label = name or _word(config.get("_name_or_path")) or model_type or "model"
    parts: dict[str, Any] = {
        "id": ident or slug(label),
        "name": label,
        "model_type": model_type,
        "hidden": hidden,
        "vocab": f.whole("vocab_size", "padded_vocab_size"),
        "tied": headless or _tied(f, config),
        "groups": groups,
        "order": order,
        "final_norm_params": norm_size(family, hidden) * (family.final_norm + family.embed_norm)
        + stack.extra_params,
        "output_bias": decide(f, family.head_bias),
        "learned_positions": _positions(f, family),
        "matrices": stack.matrices + score,
        "lookups": stack.lookups + _image_tokens(f, hidden),
        "tower_params": tower,
        "mtp_params": mtp_params(f, family, hidden, stack.layers),
        "context_limit": f.maybe(*CONTEXT),
    }
    if known is None:
        _not_understood(f)
    return Model(**parts, assumed=tuple(assumed))


def _images_only(
    f: Fields, layers: list[LayerGroup], hidden: int, tower: int
) -> tuple[list[LayerGroup], int]:
    """Cross-attention layers read an image and are passed over without one: they count with the tower."""
    listed = f.items("cross_attention_layers") if f.model_type == "mllama_text_model" else None
    if not listed:
        return layers, tower
    places = {item for item in listed if isinstance(item, int) and 0 <= item < len(layers)}
    f.assume(f"{len(places)} cross-attention layers read images only: counted with the vision tower")
    for place in places:
        mixer = layers[place].attention
        gates = 2 + 2 * (mixer.head_dim if mixer is not None else 0)
        tower += layer_params(layers[place], hidden) + gates
    kept = [layer for place, layer in enumerate(layers) if place not in places]
    if not kept:
        raise SpecError("cross_attention_layers names every layer: some should attend to text.")
    return kept, tower


def _image_tokens(f: Fields, hidden: int) -> tuple[Matrix, ...]:
    """Eight rows beyond the vocabulary, which only images use."""
    return (Matrix(role="token_types", rows=8, cols=hidden),) if f.model_type == "mllama_text_model" else ()


def text_part(config: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The part that describes the language model, and the ``model_type`` of the whole."""
    outer = _word(config.get("model_type"))
    for key in NESTED:
        inner = config.get(key)
        if isinstance(inner, Mapping):
            nested, _ = text_part(dict(inner))
            return nested, outer
        if inner is not None:
            raise SpecError(f"{key} = {show(inner)}: it should be an object.")
    for key in ("attn_config", "ffn_config"):
        inner = config.get(key)
        if isinstance(inner, Mapping):
            config = {**inner, **config, "model_type": outer}
    return config, outer


def _tied(f: Fields, config: dict[str, Any]) -> bool:
    if f.present("tie_word_embeddings"):
        return f.flag("tie_word_embeddings")
    if "tie_word_embeddings" in config:
        return Fields(config, f.model_type, f.assumed).flag("tie_word_embeddings")
    outer = _word(config.get("model_type"))
    if config is not f.data and "tie_word_embeddings" in library_defaults().get(outer, {}):
        return Fields({}, outer, f.assumed).flag("tie_word_embeddings")
    return f.flag("tie_word_embeddings")


def _head(config: dict[str, Any], f: Fields, hidden: int) -> tuple[bool, tuple[Matrix, ...]]:
    """Whether the saved class has no language-model head, and the classifier that it has instead.

    Only classes of the library are judged by their name: elsewhere a ``…Model`` may well have a head.
    """
    listed = config.get("architectures")
    saved = listed[0] if isinstance(listed, list) and listed and isinstance(listed[0], str) else ""
    if f.model_type not in library_defaults():
        return False, ()
    classifier = saved.endswith(("ForSequenceClassification", "ForTokenClassification"))
    bare = saved.endswith("Model") and not saved.endswith(("LMHeadModel", "HeadsModel"))
    if not (bare or classifier):
        return False, ()
    f.assume(f"{saved} has no language-model head: its embedding stands in for one")
    if not classifier:
        return True, ()
    labels = config.get("id2label")
    rows = len(labels) if isinstance(labels, Mapping) and labels else f.maybe("num_labels") or 2
    return True, (Matrix(role="score", rows=rows, cols=hidden),)


def _defaults_key(model_type: str, outer_type: str, key: str) -> str:
    tables = library_defaults()
    candidates = (model_type, f"{model_type}_text", f"{model_type}_text_model", key, outer_type)
    return next((t for t in candidates if "vocab_size" in tables.get(t, {})), model_type or key)


def _positions(f: Fields, family: Family) -> int:
    if family.positions is None:
        return 0
    return f.whole("n_positions", "max_position_embeddings") + family.positions


def compact(layers: list[LayerGroup]) -> tuple[tuple[LayerGroup, ...], tuple[tuple[int, int], ...]]:
    """Like layers as groups, and the order in which they stand; no order where the groups follow one another."""
    index: dict[LayerGroup, int] = {}
    counts: list[int] = []
    runs: list[list[int]] = []
    for layer in layers:
        at = index.setdefault(layer, len(index))
        if at == len(counts):
            counts.append(0)
        counts[at] += 1
        if runs and runs[-1][0] == at:
            runs[-1][1] += 1
        else:
            runs.append([at, 1])
    groups = tuple(
        layer.model_copy(update={"count": count}) for layer, count in zip(index, counts, strict=True)
    )
    return groups, () if len(runs) == len(groups) else tuple((group, run) for group, run in runs)


def _not_understood(f: Fields) -> None:
    names = f.leftovers()
    if names:
        more = f" and {len(names) - 6} more" if len(names) > 6 else ""
        f.assume(f"not understood, and not counted: {', '.join(names[:6])}{more}")


def _unknown(f: Fields, model_type: str) -> None:
    f.assume(
        f"architecture {model_type or '(none given)'} is unknown: read as a Llama-style decoder (two RMS norms a layer, "
        "gated MLP, biases only where the file says so)"
    )


def slug(text: str) -> str:
    """A lower-case identifier from a name."""
    return re.sub(r"[^a-z0-9.]+", "-", text.rsplit("/", 1)[-1].lower()).strip("-.") or "model"


def _word(value: object) -> str:
    return value if isinstance(value, str) else ""
