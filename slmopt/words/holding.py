"""What blocks, a shared prefix, the host's memory, sessions and pieces of prompts say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slmopt.serving.holding import Moving, Sessions, Sharing, Stranded
from slmopt.serving.pools import Stall
from slmopt.words import numbers as n

# A gain that reads as 1.00×.
_NOTHING = 1.005


def stranded_title(rows: Sequence[Stranded], block: int) -> str:
    """Finding of the blocks."""
    reserved = rows[-1]
    if reserved.share < 0.005:
        return "A sequence holds the same whatever its length: nothing is left empty"
    own = min(rows[:-1], key=lambda row: abs(row.block - block))
    if not np.isnan(own.fit) and reserved.fit and np.isfinite(own.fit):
        gain = n.factor(own.fit / reserved.fit)
        return (
            f"Reserving leaves {n.percent(reserved.share)} empty; blocks of {own.block:,} fit {gain} as many"
        )
    return (
        f"Reserving leaves {n.percent(reserved.share)} empty, blocks of {own.block:,} {n.percent(own.share)}"
    )


def sharing_title(found: Sharing) -> str:
    """Finding of a shared prefix."""
    gain = f"a hit brings the first token {n.factor(found.ttft_gain)} sooner"
    if found.ttft_gain < _NOTHING:
        gain = "a hit leaves the first token as it is"
    if not found.prefix:
        return "A prompt of one token has no prefix to share"
    more = found.fit_shared - found.fit_apart
    if np.isnan(found.fit_apart) or not np.isfinite(more) or more < 1:
        return f"{found.prefix:,} shared tokens: {gain}"
    return f"{found.prefix:,} shared tokens: {gain}, {n.count(more)} more fit"


def sharing_words(found: Sharing) -> str:
    """What the prefix holds, in a sentence; empty where there is none."""
    if not found.prefix:
        return ""
    return f"One copy of the {found.prefix:,} tokens holds {n.bytes_(found.copy_bytes, 2)}, however many share it."


def moving_words(found: Moving) -> str:
    """From which context on the cache is worth bringing back, in a sentence."""
    if found.from_tokens is None:
        return "At no context here is bringing the cache back faster than computing it again."
    return f"Bringing it back is faster from {found.from_tokens:,.0f} cached tokens on."


def moving_title(found: Moving) -> str:
    """Finding of the host's memory."""
    _, load, again = found.now
    if load < again:
        return f"Bringing the cache back takes {n.seconds(load, 2)}, computing it {n.figures(again / load, 2)}× as long"
    return f"Computing the cache again takes {n.seconds(again, 2)}, bringing it back {n.figures(load / again, 2)}× as long"


def sessions_title(found: Sessions) -> str:
    """Finding of a conversation's turns."""
    last, turns = -1, f"{found.turn[-1]:,.0f} turn{'' if len(found.turn) == 1 else 's'}"
    fit = float(found.fit[last])
    held = f"After {turns} a session holds {n.bytes_(float(found.bytes[last]), 2)}"
    return held if not np.isfinite(fit) else f"{held}; {n.count(fit)} such {'fits' if fit == 1 else 'fit'}"


def sessions_words(found: Sessions) -> str:
    """What the cache does while its user thinks, in a sentence."""
    busy, gain = float(found.busy[-1]), float(found.again_s[-1] / found.reused_s[-1])
    kept = f"Keeping it brings the last turn's first token {n.factor(gain)} sooner."
    if gain < _NOTHING:
        kept = "Keeping it brings the first token no sooner."
    return f"The device works for a session {n.percent(busy)} of the time, and its cache waits for the user the rest. {kept}"


def stall_title(found: Stall) -> str:
    """Finding of a prompt among those who decode."""
    whole = n.seconds(found.whole.gap_s, 2)
    if found.fits is None or found.target_s is None:
        return f"A whole prompt stalls everyone for {whole}; small pieces do not"
    target = n.trimmed(n.seconds(found.target_s))
    if found.fits >= found.chunk[-1]:
        return f"Even a whole prompt keeps the gap within {target} ✓"
    if not found.fits:
        return f"No piece of a prompt keeps the gap within {target} ✕"
    return f"Whole, a prompt stalls all for {whole}; pieces of {found.fits:,} keep {target}"


def stall_words(found: Stall) -> str:
    """What separate pools would give, in a sentence; empty where the device states no link."""
    if found.pools is None:
        return ""
    p = found.pools
    return (
        f"On devices of their own, prompts stall nobody: the cache of {n.bytes_(p.moved_bytes, 2)} takes at least "
        f"{n.seconds(p.move_s, 2)} over this device's link, after the first token. About "
        f"{n.figures(p.prefill_devices, 2)} prefill devices keep one that decodes in work."
    )
