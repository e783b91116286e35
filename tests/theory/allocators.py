"""What runtimes reserve, counted slot by slot: loops over layers, sequences and blocks, no formula.

Each function plays an engine's rules as its sources state them (see the modules ``engine_*``): it hands out blocks, pads by
adding cells, deals layers into groups. Pools of SGLang are not computed but checked: which sizes keep all its promises.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from slmopt.specs.model import Attention, LayerGroup, Model


@dataclass(frozen=True)
class Asked:
    """A question to an engine, in exact numbers."""

    model: Model
    k: Fraction
    v: Fraction
    sequences: int
    tokens: int
    block: int = 16
    paged: bool = True
    shared: int = 0
    devices: int = 1
    micro_batch: int = 512
    full_windows: bool = False
    layout: str = "latent"


@dataclass(frozen=True)
class Layer:
    """One thing that one layer keeps."""

    what: str
    token: Fraction = Fraction(0)
    limit: int | None = None
    every: int = 1
    index_dim: int = 0
    state: Fraction = Fraction(0)
    conv: Fraction = Fraction(0)
    state_bits: int | None = None


def padded(tokens: int | Fraction, size: int) -> int:
    """The first multiple of ``size`` that is no less than ``tokens``."""
    room = 0
    while room < tokens:
        room += size
    return room


def heads_here(heads: int, devices: int) -> int:
    """Heads of the first device where they are dealt out one by one."""
    return sum(1 for head in range(heads) if head % devices == 0)


def stack(asked: Asked) -> list[Layer]:
    """Everything that every layer keeps on the first of the devices."""
    if asked.model.by_count:
        m = asked.model
        one = heads_here(m.kv_heads, asked.devices) * m.head_dim * (asked.k + asked.v) / 8
        return [Layer("full", one) for _ in range(m.layers) if one]
    return [kept for g in asked.model.groups for _ in range(g.count) for kept in _of_group(g, asked)]


def _of_group(group: LayerGroup, asked: Asked) -> list[Layer]:
    found = []
    a = group.attention
    if a is not None and a.owns_cache:
        token = _token(a, asked)
        if a.window is not None:
            found.append(Layer("window", token, a.window))
        elif a.chunk is not None:
            found.append(Layer("chunk", token, a.chunk))
        else:
            found.append(Layer("full", token))
        if a.compress is not None:
            found.append(Layer("entries", token, every=a.compress))
        if a.indexer is not None and not a.indexer.shared:
            dim = a.indexer.head_dim
            found.append(Layer("index", dim * asked.k / 8, every=a.compress or 1, index_dim=dim))
    s = group.state
    if s is not None and (s.state_elements or s.conv_elements):
        state, conv = Fraction(s.state_elements, asked.devices), Fraction(s.conv_elements, asked.devices)
        found.append(Layer("state", state=state, conv=conv, state_bits=s.state_bits))
    return found


def _token(a: Attention, asked: Asked) -> Fraction:
    if a.latent is not None:
        c = a.latent
        if asked.layout == "expanded":
            key, value = (c.nope_dim + c.rope_dim) * asked.k / 8, c.v_dim * asked.v / 8
            return heads_here(a.heads, asked.devices) * (key + value)
        again = c.kv_rank * asked.v / 8 if asked.layout == "transposed" else 0
        return (c.kv_rank + c.rope_dim) * asked.k / 8 + again
    total = Fraction(0)
    for _head in range(heads_here(a.kv_heads, asked.devices)):
        total += a.head_dim * asked.k / 8
        if not a.single_kv:
            total += (a.v_head_dim or a.head_dim) * asked.v / 8
    return total


def own(layer: Layer, asked: Asked) -> Fraction:
    """The model's own need of one layer: distinct blocks (single tokens where nothing is paged) that hold something."""
    if layer.what == "state":
        return 2 * asked.sequences * (layer.state + layer.conv)
    size = asked.block if asked.paged else 1
    blocks = [range(start, start + size) for start in range(0, asked.tokens, size)]
    if layer.limit is not None:
        while (len(blocks) - 1) * size >= layer.limit:
            blocks.pop(0)
        return asked.sequences * len(blocks) * size * layer.token
    common = [block for block in blocks if block.stop <= asked.shared]
    entries = [[p for b in some for p in b if (p + 1) % layer.every == 0] for some in (blocks, common)]
    # What all have in common is there once.
    distinct = asked.sequences * (len(entries[0]) - len(entries[1])) + len(entries[1])
    return distinct * layer.token


def llama(layer: Layer, asked: Asked) -> Fraction:
    """One layer under llama.cpp."""
    n, t = asked.sequences, asked.tokens
    if layer.what == "state":
        return 4 * n * (layer.state + layer.conv)
    pools = [padded(n * t, 256)] if asked.paged else [padded(t, 256)] * n
    sees_all = any(one.what in ("full", "entries") for one in stack(asked))
    if layer.limit is not None and sees_all and not asked.full_windows:
        inside = n if asked.paged else 1
        rings = [padded(min(pool, layer.limit * inside + asked.micro_batch), 256) for pool in pools]
        return sum(rings) * layer.token
    if layer.limit is not None:
        return sum(pools) * layer.token
    return sum(padded(pool, layer.every) // layer.every for pool in pools) * layer.token


def index_key(dim: int) -> int:
    """Bytes of an indexer's key: one each, and four for every 128 begun."""
    return dim + sum(4 for _scale in range(0, dim, 128))


def _pages(layer: Layer, asked: Asked, block: int) -> int:
    """Pages of one layer for all sequences."""
    if layer.what == "state":
        return asked.sequences
    each = [range(start, start + block) for start in range(0, asked.tokens, block)]
    if layer.limit is None:
        common = sum(page.stop <= asked.shared for page in each)
        return common + asked.sequences * (len(each) - common)
    # The next token sees so many; they may begin in the middle of a page.
    seen = min(layer.limit, asked.tokens)
    most = padded(seen, block) // block + (layer.what == "window")
    return asked.sequences * min(len(each), most)


def vllm(asked: Asked) -> dict[str, Fraction]:
    """All layers under vLLM: bytes by what is kept."""
    held: Counter[str] = Counter()
    tokens: list[Named] = []
    states: list[Named] = []
    for layer in stack(asked):
        if layer.what == "state":
            states.append(Named("state", layer))
        elif layer.what == "entries" or layer.every > 1:
            held[layer.what] += own(layer, asked)
        elif layer.what == "index":
            held["index"] += _pages(layer, asked, asked.block) * asked.block * index_key(layer.index_dim)
        else:
            tokens.append(Named(layer.what, Layer("full", layer.token) if asked.full_windows else layer))
    if not tokens or (len({(one.layer.what, one.layer.limit) for one in tokens}) == 1 and not states):
        for one in tokens:
            held[one.name] += _pages(one.layer, asked, asked.block) * asked.block * one.layer.token
        for one in states:
            held["state"] += asked.sequences * state_page(one.layer)
    else:
        held.update(_grouped(asked, tokens, states))
    return dict(held)


@dataclass(frozen=True)
class Named:
    """A layer as the engine keeps it, and what it is called by its model."""

    name: str
    layer: Layer


def _grouped(asked: Asked, tokens: list[Named], states: list[Named]) -> Counter[str]:
    """Pages of one size for layers of several kinds, in groups of as many layers."""
    held: Counter[str] = Counter()
    block, page = page_size(asked, [one.layer for one in tokens], [one.layer for one in states])
    families: dict[object, list[Named]] = {}
    for one in tokens + states:
        kept = one.layer
        families.setdefault((kept.what, kept.limit, kept.token, kept.state, kept.conv), []).append(one)
    size = group_size([len(family) for family in families.values()])
    for family in families.values():
        kept = family[0].layer
        inside = block
        while kept.token and (inside + block) * kept.token <= page:
            inside += block
        # Slots of the last group that no layer takes are paid for as well.
        for place in range(padded(len(family), size)):
            owner = family[min(place, len(family) - 1)]
            held[owner.name] += _pages(kept, asked, inside) * page
    return held


def page_size(asked: Asked, token_layers: list[Layer], states: list[Layer]) -> tuple[int, Fraction]:
    """Tokens of a block of the widest layers, and bytes of every page."""
    widest = max(layer.token for layer in token_layers)
    block = asked.block
    if states:
        needed = 0
        while needed * widest < max(map(state_page, states)):
            needed += 16
        block = max(block, needed)
    return block, block * widest


def group_size(counts: list[int]) -> int:
    """Layers of a group: as many as the rarest kind has, unless all are nearly as common."""
    return max(counts) if 2 * max(counts) < 3 * min(counts) else min(counts)


def state_page(layer: Layer) -> Fraction:
    """Bytes of a recurrent layer's state."""
    return layer.state * Fraction(layer.state_bits or 16, 8) + 2 * layer.conv


@dataclass(frozen=True)
class Need:
    """What SGLang's pools must hold: tokens of both kinds and bytes of states; and bytes of one token in each."""

    full: int
    window: int
    states: Fraction
    full_token: Fraction
    window_token: Fraction


def sglang(asked: Asked) -> Need:
    """What the sequences take from each pool, without the extra page."""
    full_token, window_token, states = Fraction(0), Fraction(0), Fraction(0)
    widest = 0
    for layer in stack(asked):
        if layer.what == "state":
            states += 3 * asked.sequences * (4 * layer.state + 2 * layer.conv)
        elif layer.every > 1:
            # Compressed entries and their keys lie in no pool.
            continue
        elif layer.limit is not None and not asked.full_windows:
            window_token += layer.token
            widest = max(widest, layer.limit)
        else:
            full_token += index_key(layer.index_dim) if layer.what == "index" else layer.token
    each = padded(asked.tokens, asked.block)
    common = each
    while common > asked.shared:
        common -= asked.block
    window = min(each, padded(widest, asked.block) + asked.block)
    return Need(
        common + asked.sequences * (each - common),
        asked.sequences * window,
        states,
        full_token,
        window_token,
    )
