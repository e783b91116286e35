"""What the page Your model says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from slmopt.readers.file_model import FileModel
from slmopt.specs.formats import CacheFormat, WeightFormat
from slmopt.specs.model import Model
from slmopt.specs.weights import bits_per_weight, stored_bytes
from slmopt.theory.cache_growth import CacheGrowth, Grown
from slmopt.theory.model_shape import Role
from slmopt.words import numbers as n
from slmopt.words.measured_rows import marked, short

# A title or an answer holds that many kinds of layer; more are counted.
_MOST_KINDS: Final = 3
_LONGEST_KIND: Final = 32

KINDS: Final = {
    "mamba1": "Mamba",
    "mamba2": "Mamba-2",
    "gated_delta": "gated delta",
    "kimi_delta": "Kimi delta",
    "short_conv": "short convolution",
    "mlp": "MLP only",
    "experts": "experts only",
}
ROLES: Final[dict[Role, str]] = {
    "all": "All weights",
    "embedding": "Embedding",
    "shared": "Embedding, also head",
    "attention": "Attention",
    "state": "State layers",
    "mlp": "MLP",
    "experts": "Experts",
    "head": "Head",
    "other": "Norms and the rest",
    "towers": "Vision and audio",
    "prediction": "Prediction layers",
}
FIELDS: Final = {
    "kv_heads": "KV heads",
    "head_dim": "Head width",
    "window": "Window (tokens)",
    "experts_used": "Experts used a token",
    "context_limit": "Context limit (tokens)",
}
CANNOT: Final = {
    "kv_heads": "No layer has KV heads of its own: latents or states are cached.",
    "head_dim": "No layer has KV heads of its own: latents or states are cached.",
    "window": "No layer has a window.",
    "experts_used": "The model has no experts.",
}
LARGE: Final = (
    "Large file? Only its header counts: run `python -m slmopt inspect FILE --json > model.json` where it lies and add that "
    "`model.json`, or only the first megabytes of a GGUF."
)
STAYS: Final = "Files and models of your own stay in this session; a link carries neither."


def kind_name(kind: str) -> str:
    """A kind of layer in the field's words; what a file calls it where it is none of ours."""
    parts = kind.split(" + ")
    alone = len(parts) == 1
    return " + ".join(
        KINDS.get(part, short(part, _LONGEST_KIND)) if alone or part not in {"mlp", "experts"} else part
        for part in parts
    )


def mixer_name(kind: str) -> str:
    """What tells the layer apart beside its experts: "latent" of "latent + experts"."""
    return kind_name(kind.removesuffix(" + experts"))


def layer_kinds(model: Model) -> list[tuple[str, int]]:
    """Kinds of layer with their counts, the most frequent first."""
    counts: Counter[str] = Counter()
    for group in model.groups:
        counts[group.kind] += group.count
    return [(kind_name(kind), count) for kind, count in counts.most_common()]


def layers(model: Model) -> str:
    """The layers by kind: "52 window and 10 full layers", "61 latent layers, 58 with experts"."""
    if model.by_count:
        return f"{model.layers:,} layers" if model.layers else "layers that nobody described"
    counts: Counter[str] = Counter()
    for group in model.groups:
        counts[mixer_name(group.kind)] += group.count
    kinds = counts.most_common()
    told = [f"{count:,} {kind}" for kind, count in kinds[:_MOST_KINDS]]
    rest = sum(count for _, count in kinds[_MOST_KINDS:])
    if rest:
        told.append(f"{rest:,} other")
    listed = f"{', '.join(told[:-1])} and {told[-1]}" if told[1:] else told[0]
    named = f"{listed} layer{'' if model.layer_count == 1 else 's'}"
    experts = sum(group.count for group in model.groups if group.kind.endswith("+ experts"))
    if not experts:
        return named
    return f"{named} with experts" if experts == model.layer_count else f"{named}, {experts:,} with experts"


def params(value: float) -> str:
    """A count of parameters: "8.03 B" (billions), "135 M"."""
    scale, prefix = _billions(value)
    return f"{n.figures(value / scale)}{n.NBSP}{prefix}".rstrip(n.NBSP)


def _billions(value: float) -> tuple[float, str]:
    """Thousands of billions stay billions, as the field says them."""
    scale, prefix = n.si_scale(value)
    return (1e9, "B") if scale >= 1e9 else (scale, prefix)


def scenario_line(model: Model, found: FileModel | None, weights: WeightFormat, cache: CacheFormat) -> str:
    """Which model the page is about, and in which formats."""
    kinds = {
        "config": "read from a config.json",
        "gguf": "read from a GGUF",
        "safetensors": "read from safetensors",
        "inspected": "read from what `inspect` wrote",
        "described": "read from a description",
    }
    told = [] if found is None else [kinds[found.kind], "**not in use yet**"]
    return " · ".join(
        [marked(model.name), *told, f"{marked(weights.name)} weights", f"{marked(cache.name)} cache"]
    )


def answer(model: Model, growth: CacheGrowth) -> str:
    """Size, what a token uses, and what one more token of context costs."""
    size = f"**{params(model.total_params)}** parameters"
    if model.active_params < 0.995 * model.total_params:
        size += f", **{params(model.active_params)}** of them for each token,"
    return f"{size} in {marked(layers(model), 120)}; {_token_words(growth)}."


def _token_words(growth: CacheGrowth) -> str:
    if not growth.growing:
        return (
            f"a sequence keeps **{n.bytes_(growth.now)}**, however long it is"
            if growth.now
            else "what a token of context costs is not known"
        )
    now = _per_token_now(growth)
    if now == growth.growing:
        return f"one more token of context costs **{n.bytes_(now)}**"
    if not now:
        return f"beyond {growth.limits[-1]:,} tokens the cache grows no more"
    return f"at {growth_context(growth)} tokens one more costs **{n.bytes_(now)}**"


def growth_context(growth: CacheGrowth) -> str:
    """The scenario's context."""
    return f"{growth.context_now:,.0f}"


def _per_token_now(growth: CacheGrowth) -> float:
    """Bytes that one more token adds at the scenario's context."""
    return growth.token_bytes_at(growth.context_now)


def tiles(
    model: Model, weights: WeightFormat, growth: CacheGrowth, own_format: bool
) -> list[tuple[str, str, str, str]]:
    """Parameters, active, cache, weights."""
    scale, prefix = _billions(model.total_params)
    used, used_prefix = _billions(model.active_params)
    size = stored_bytes(weights, model)
    bytes_scale, bytes_unit = n.byte_scale(size)
    share = model.active_params / model.total_params
    extra = model.stored_params - model.total_params
    held = "as in the file" if own_format else short(weights.name, 24)
    return [
        (
            f"Parameters ({prefix})" if prefix else "Parameters",
            n.figures(model.total_params / scale),
            f"+ {params(extra)} to predict ahead"
            if extra
            else f"{model.layer_count:,} layers"
            if model.layer_count
            else "",
            "",
        ),
        (
            f"Active a token ({used_prefix})" if used_prefix else "Active a token",
            n.figures(model.active_params / used),
            "all of them" if share >= 0.995 else f"{n.percent(share)} of all",
            "Weights that one token uses, embedding and head included.",
        ),
        _cache_tile(growth),
        (
            f"Weights ({bytes_unit})",
            n.figures(size / bytes_scale),
            f"{held}, {n.figures(bits_per_weight(weights, model))} bits each",
            "",
        ),
    ]


def _cache_tile(growth: CacheGrowth) -> tuple[str, str, str, str]:
    if not growth.growing and growth.now:
        scale, unit = n.byte_scale(growth.now)
        return (f"State a sequence ({unit})", n.figures(growth.now / scale), "however long it is", "")
    scale, unit = n.byte_scale(growth.growing)
    note = ""
    if growth.unlimited != growth.growing:
        beyond = n.bytes_(growth.unlimited) if growth.unlimited else "nothing"
        note = f"{beyond} beyond {growth.limits[-1]:,}"
    states = sum(one.now for one in growth.kinds if one.kind == "state")
    if states and growth.growing and not note:
        note = f"and {n.bytes_(states)} of states, once"
    return (
        f"Cache a token ({unit})",
        n.figures(growth.growing / scale) if growth.growing else n.UNKNOWN,
        note,
        "Bytes that one more token of context adds to a sequence before its windows are full.",
    )


def grown_name(one: Grown) -> str:
    """A curve's name: "10 full", "52 window 1,024"."""
    word = {
        "full": "full",
        "latent": "latent",
        "window": "window",
        "chunk": "chunked",
        "entries": "compressed",
        "index": "indexers",
        "state": "state",
    }[one.kind]
    return f"{one.layers:,} {word}" + (f" {one.limit:,}" if one.limit is not None else "")


def field_now(values: Sequence[int]) -> str:
    """What the model has in a field, for its placeholder."""
    return " or ".join(f"{value:,}" for value in values) or "not given"


def assumed(model: Model) -> list[str]:
    """One Markdown line for each value that the file did not give."""
    return [marked(text, 240) for text in model.assumed]


def assumed_head(model: Model, found: FileModel | None) -> str:
    """What stands above that list."""
    count = len(model.assumed)
    if count:
        return (
            f"Not in the file, so assumed ({count:,}):"
            if found is not None
            else f"Assumed of this model ({count:,}):"
        )
    return "Nothing had to be assumed: the file gives every value." if found is not None else ""


def format_words(found: FileModel | None) -> str:
    """What a config says of how its weights are stored; empty where it says nothing."""
    if found is None or not found.quantised:
        return ""
    if found.named_weights is None:
        return (
            "Its quantisation is of a kind that is not known here: choose the weights' format in the panel."
        )
    return f"Its quantisation names {marked(found.named_weights.name)} weights: “Use it in every page” takes them too."


def unknown(key: str, name: object, instead: str) -> str:
    """What a page says whose address names a record that this session does not have."""
    what = {"model": "model", "device": "device", "weights": "weight format", "cache_k": "cache format"}[key]
    return (
        f"This link names a {what} that is not known here, “{marked(name, 60)}”: what its owner uploaded stayed with them, "
        f"so {marked(instead)} stands in."
    )
