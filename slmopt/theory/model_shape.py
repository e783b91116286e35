"""What a model is made of: the weight bytes of each layer, and its parameters by role."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Final, Literal

from slmopt.specs.formats import WeightFormat
from slmopt.specs.model import EXPERT_ROLES, LOOKUP_ROLES, VECTOR_ROLES, Model, Tensor
from slmopt.specs.weights import tensor_bits

Role = Literal[
    "embedding",
    "shared",
    "attention",
    "state",
    "mlp",
    "experts",
    "head",
    "other",
    "towers",
    "prediction",
    "all",
]
"""``shared``: one table that is embedding and head. ``all``: a model known by its count alone."""

ROLES: Final[tuple[Role, ...]] = (
    "all",
    "embedding",
    "shared",
    "attention",
    "state",
    "mlp",
    "experts",
    "head",
    "other",
    "towers",
    "prediction",
)

# Attention, or a state, or both: what tells layers apart.
_MIXER: Final = frozenset({"attention", "state"})


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """Bytes of one layer: its mixer (attention or state), what else every token uses, and experts by use.

    ``used_experts`` are those that a token takes, ``other_experts`` the rest. ``kind`` is the group's.
    """

    place: int
    group: int
    kind: str
    mixer: float
    mlp: float
    used_experts: float
    other_experts: float

    @property
    def total(self) -> float:
        """Bytes of the whole layer."""
        return self.mixer + self.mlp + self.used_experts + self.other_experts


@dataclass(frozen=True, slots=True)
class RoleParams:
    """Parameters of one role; ``used`` of them by each token (of experts those it takes)."""

    role: Role
    params: float
    used: float


def layer_weights(model: Model, weights: WeightFormat) -> tuple[LayerWeights, ...]:
    """Every layer in the order of the stack; none for a model known by its count alone."""
    if model.by_count:
        return ()
    sums: list[defaultdict[str, float]] = [defaultdict(float) for _ in model.groups]
    for tensor, bits in zip(model.tensors, tensor_bits(weights, model), strict=True):
        if tensor.group is None:
            continue
        one = tensor.params * bits / 8 / len(tensor.layers)
        role = role_of(tensor, model)
        sums[tensor.group]["experts" if role == "experts" else "mixer" if role in _MIXER else "mlp"] += one
    layers = []
    for at, group in enumerate(model.groups):
        held = sums[at]
        share = 0.0 if group.moe is None else group.moe.active / group.moe.experts
        experts = held["experts"]
        layers += [
            LayerWeights(
                place, at, group.kind, held["mixer"], held["mlp"], experts * share, experts * (1 - share)
            )
            for place in model.positions[at]
        ]
    return tuple(sorted(layers, key=lambda layer: layer.place))


def params_by_role(model: Model) -> tuple[RoleParams, ...]:
    """Parameters stored, role by role; their sum is all that the files hold."""
    if model.params is not None:
        return (RoleParams("all", model.params, model.params),)
    sums: dict[Role, list[float]] = {role: [0.0, 0.0] for role in ROLES}
    for tensor in model.tensors:
        role = role_of(tensor, model)
        sums[role][0] += tensor.params
        sums[role][1] += tensor.params * _share(tensor, role, model)
    return tuple(RoleParams(role, *sums[role]) for role in ROLES if sums[role][0])


def _share(tensor: Tensor, role: Role, model: Model) -> float:
    """The share of a tensor that one token uses."""
    if role in {"towers", "prediction"} or tensor.role == "per_layer_token_embd":
        return 0.0
    if role != "experts" or tensor.group is None:
        return 1.0
    moe = model.groups[tensor.group].moe
    return 1.0 if moe is None else moe.active / moe.experts


_PREFIXES: Final[tuple[tuple[tuple[str, ...], Role], ...]] = (
    (("attn_", "indexer_"), "attention"),
    (("ssm_", "state_", "conv_", "shortconv_"), "state"),
    (("ffn_",), "mlp"),
)


def role_of(tensor: Tensor, model: Model) -> Role:
    """The role of a tensor."""
    if tensor.role == "token_embd":
        return "shared" if model.tied else "embedding"
    if tensor.role in LOOKUP_ROLES:
        return "embedding"
    exact: dict[str, Role] = {
        "output": "head",
        "output_bias": "head",
        "tower": "towers",
        "mtp": "prediction",
        **dict.fromkeys(EXPERT_ROLES, "experts"),
        **dict.fromkeys(VECTOR_ROLES - {"output_bias"}, "other"),
    }
    if tensor.role in exact:
        return exact[tensor.role]
    return next((role for starts, role in _PREFIXES if tensor.role.startswith(starts)), "other")
