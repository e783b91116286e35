"""A model with single facts corrected by hand, where its file leaves them out or states them wrongly."""

from __future__ import annotations

from typing import Any, Final

from pydantic import ValidationError

from slmopt.specs.base import SpecError, sentence
from slmopt.specs.model import Model

FIELDS: Final = ("kv_heads", "head_dim", "window", "experts_used", "context_limit")
ENDING: Final = ", mended"


def present(model: Model, field: str) -> tuple[int, ...]:
    """The values that the model has for a field that can be mended, each once; none where it cannot apply."""
    if field == "context_limit":
        return () if model.context_limit is None else (model.context_limit,)
    if model.by_count:
        value = {"kv_heads": model.kv_heads, "head_dim": model.head_dim}.get(field, 0)
        return (value,) if value else ()
    found: dict[int, None] = {}
    for group in model.groups:
        a, moe = group.attention, group.moe
        value = 0
        if field == "experts_used":
            value = 0 if moe is None else moe.active
        elif a is not None and (a.latent is None or field == "window"):
            value = {"kv_heads": a.kv_heads, "head_dim": a.head_dim, "window": a.window or 0}[field]
        if value:
            found[value] = None
    return tuple(found)


def can_mend(model: Model, field: str) -> bool:
    """Whether the field says something about the model; a context limit can always be given."""
    return field == "context_limit" or bool(present(model, field))


def mended(model: Model, changes: dict[str, int | None]) -> Model:
    """The model with these fields replaced wherever it has them, and a name that says so.

    Parameters
    ----------
    changes
        New values by the names in :data:`FIELDS`; None and what the model has already change nothing.

    Raises
    ------
    SpecError
        In one sentence, if the fields do not fit one another.
    """
    wanted = {
        field: value
        for field, value in changes.items()
        if value is not None and can_mend(model, field) and present(model, field) != (value,)
    }
    if not wanted:
        return model
    values: dict[str, Any] = model.model_dump(exclude_defaults=True)
    if "context_limit" in wanted:
        values["context_limit"] = wanted["context_limit"]
    for field in ("kv_heads", "head_dim"):
        if model.by_count and field in wanted:
            values[field] = wanted[field]
    for group in values.get("groups", ()):
        _mend_group(group, wanted)
    name = model.name.removesuffix(ENDING) + ENDING
    note = "; ".join(f"{field} = {value:,}" for field, value in wanted.items())
    values |= {
        "id": model.id.removesuffix("-mended") + "-mended",
        "name": name,
        "note": "; ".join(filter(None, (model.note, f"mended by hand: {note}"))),
        "published_params": None,
    }
    try:
        return Model.model_validate(values)
    except ValidationError as error:
        raise SpecError(sentence(error, None, Model)) from error


def _mend_group(group: dict[str, Any], wanted: dict[str, int]) -> None:
    attention, moe = group.get("attention"), group.get("moe")
    if moe is not None and "experts_used" in wanted:
        moe["active"] = wanted["experts_used"]
    if attention is None:
        return
    if "window" in wanted and attention.get("window"):
        attention["window"] = wanted["window"]
    if attention.get("latent") is None:
        attention |= {field: wanted[field] for field in ("kv_heads", "head_dim") if field in wanted}
