"""What Batching says."""

from __future__ import annotations

from slmopt.theory.batch_points import BatchingView, Mark
from slmopt.words import numbers as n
from slmopt.words import pace
from slmopt.words.arithmetic import capacity_lines, estimate_line, pass_lines
from slmopt.words.roofline import crossing_words, held_by
from slmopt.words.scenario_line import sequences

Tiles = list[tuple[str, str, str, str]]

# From this share of the large-batch limit on, more sequences gain little.
_NEAR_LIMIT = 0.7

DEVICE_HELP = "Decode throughput of all sequences together at the scenario's context."
USER_HELP = (
    "Decode speed that one user sees; a reply's mean differs, since its context grows as it is written."
)
LARGEST_HELP = "Sequences of this context that memory holds beside the weights."
CROSSOVER_HELP = (
    "The batch from which arithmetic takes longer than memory: beyond it, throughput hardly grows."
)


def answer(v: BatchingView) -> str:
    """What binds a growing batch first, and what it gives."""
    if v.fit == 0:
        return _nothing_fits(v)
    if v.fit is not None and v.now.batch > v.fit and v.largest is not None:
        fit = f"**{v.fit:,}** of the {v.now.batch:,.0f} sequences fit{'s' if v.fit == 1 else ''}"
        return f"Only {fit}, giving at most **{_device(v.largest)}**; the rest would have to wait."
    if not v.known:
        return _unknown(v)
    if v.compute_first:
        return f"Batching gains nothing: one sequence already keeps the arithmetic busy, at most **{_device(v.first)}**."
    if v.crossing is None:
        return _no_crossing(v)
    needed = f"**{crossing_words(v.crossing.batch)}**"
    if v.fit is not None and v.largest is not None and v.fit < v.crossing.batch:
        return f"{_memory_first(v.largest)}; the crossover would need {needed}."
    room = f", and **{v.fit:,}** fit" if v.fit is not None else ""
    return f"Arithmetic binds first: from {needed} sequences on the device gives at most **{_device(v.crossing)}**{room}."


def _nothing_fits(v: BatchingView) -> str:
    c = v.evaluation.capacity
    if c.usable is not None and c.weight_bytes + c.buffer_bytes > c.usable:
        return f"Nothing to batch: the weights need **{n.bytes_(c.weight_bytes)}** and the device has **{n.bytes_(c.usable)}**."
    depth = v.evaluation.setup.scenario.depth
    return f"Nothing to batch: not one sequence of {depth:,} tokens fits; it needs **{n.bytes_(c.bytes_per_sequence)}**."


def _memory_first(largest: Mark) -> str:
    fit = "**1** sequence fits" if largest.batch == 1 else f"**{largest.batch:,.0f}** sequences fit"
    return f"Memory binds first: {fit}, giving at most **{_device(largest)}**"


def _no_crossing(v: BatchingView) -> str:
    limit = v.evaluation.ceiling.crossover.throughput_limit or float("nan")
    reads = held_by(v.evaluation.setup.model)
    if v.largest is None:
        return f"{reads.capitalize()} leaves no crossover: large batches approach at most **{n.tokens_per_s(limit)}**, all sequences together."
    if v.largest.device_tokens_per_s >= _NEAR_LIMIT * limit:
        return f"{_memory_first(v.largest)}; {reads} leaves no crossover, so more would gain little."
    return f"{_memory_first(v.largest)}; {reads} allows at most **{n.figures(limit)}** at any batch."


def _unknown(v: BatchingView) -> str:
    if v.largest is None:
        return f"{sequences(int(v.now.batch)).capitalize()} get at most **{_device(v.now)}** by memory alone; no matrix rate is known."
    return f"{_memory_first(v.largest)} by memory alone; no matrix rate is known."


def _device(mark: Mark) -> str:
    return n.tokens_per_s(mark.device_tokens_per_s)


def tiles(v: BatchingView) -> Tiles:
    """Label, value, note and help of the four headline figures."""
    slow, fast = v.evaluation.estimate["slow"], v.evaluation.estimate["fast"]
    device = n.span(n.figures(slow.device_tokens_per_s, 2), n.figures(fast.device_tokens_per_s, 2))
    user = n.span(n.figures(slow.user_tokens_per_s, 2), n.figures(fast.user_tokens_per_s, 2))
    over = f"✕{n.NBSP}{'none fits' if not v.fit else f'only {v.fit:,} fit'}; " if _over(v) else ""
    return [
        (
            "Device now (tokens/s)",
            f"≤{n.NBSP}{n.figures(v.now.device_tokens_per_s)}",
            f"{over}{device}",
            DEVICE_HELP,
        ),
        ("A user now (tokens/s)", f"≤{n.NBSP}{n.figures(v.now.user_tokens_per_s)}", user, USER_HELP),
        ("Largest batch", *_largest(v), LARGEST_HELP),
        ("Crossover", *_crossover(v), CROSSOVER_HELP),
    ]


def _over(v: BatchingView) -> bool:
    return v.fit is not None and v.now.batch > v.fit


def _largest(v: BatchingView) -> tuple[str, str]:
    if v.largest is not None:
        step = n.seconds(v.largest.step_s)
        return n.count(v.fit), f"≤{n.NBSP}{_device(v.largest)}, ≥{n.NBSP}{step} a step"
    if v.fit == 0:
        return "0", f"✕{n.NBSP}at {v.evaluation.setup.scenario.depth:,} tokens"
    if v.evaluation.capacity.usable is None:
        return n.UNKNOWN, "memory is not known: enter it under Hardware"
    return "any", "a sequence holds nothing of its own"


def _crossover(v: BatchingView) -> tuple[str, str]:
    if not v.known:
        return n.UNKNOWN, "no matrix rate is known: enter yours"
    alone = v.crossing_weights_only
    said = "" if alone is None else f"weights alone would say {crossing_words(alone[0])}"
    if v.crossing is None:
        return n.NEVER, said
    crossing = crossing_words(v.crossing.batch)
    if v.crossing.batch <= 1:
        return crossing, "arithmetic decides from the first sequence on"
    if alone is not None and crossing_words(alone[0]) == crossing:
        return crossing, "sequences, with cache reads or without"
    return crossing, said


def throughput_title(v: BatchingView) -> str:
    """Finding of the main figure."""
    now = sequences(int(v.now.batch))
    if v.fit == 0:
        return _lacking(v)
    if v.largest is not None and v.now.batch > v.largest.batch:
        would = n.tokens_per_s(v.largest.device_tokens_per_s)
        return f"{now} do not fit; {v.largest.batch:,.0f} would give at most {would} ✕"
    limit = v.evaluation.ceiling.crossover.throughput_limit
    verb = "earns" if v.now.batch == 1 else "earn"
    if v.largest is not None and v.now.batch < v.largest.batch:
        share = v.now.device_tokens_per_s / v.largest.device_tokens_per_s
        already = "already " if share >= _NEAR_LIMIT else ""
        return f"{now} {already}{verb} {n.percent(share)} of what {v.largest.batch:,.0f} would"
    if limit is None:
        return f"{now} {'gives' if v.now.batch == 1 else 'give'} at most {_device(v.now)}"
    of_limit = f"{n.percent(v.now.device_tokens_per_s / limit)} of the large-batch limit"
    if v.largest is not None:
        fits = "1 sequence fits and earns" if v.now.batch == 1 else f"{now} fit and earn"
        return f"{fits} {of_limit}"
    return f"{now} {verb} {of_limit}"


def _lacking(v: BatchingView) -> str:
    c = v.evaluation.capacity
    held = c.fixed_bytes
    if c.usable is not None and held > c.usable:
        return f"Nothing fits: the weights lack {n.bytes_(held - c.usable)} ✕"
    return f"Nothing fits: the first sequence lacks {n.bytes_(c.lacking)} ✕"


def user_title(v: BatchingView) -> str:
    """Finding of the figure of each user's speed."""
    if v.fit == 0:
        return (
            f"Nothing fits; alone, a user would see at most {n.figures(v.first.user_tokens_per_s)} tokens/s"
        )
    if v.target_s is None:
        return f"A user sees at most {n.figures(v.now.user_tokens_per_s)} tokens/s now"
    target = f"The {n.trimmed(pace.shown(v.target_s))} target"
    most = min(v.reach, v.fit) if v.fit is not None else v.reach
    ceiling, slow = min(v.holds["ceiling"], most), min(v.holds["slow"], most)
    if ceiling == 0:
        return f"Not even one sequence meets the {n.trimmed(pace.shown(v.target_s))} target ✕"
    if v.now.batch > ceiling:
        return f"{target} holds to {ceiling:,} at most; {v.now.batch:,.0f} now ✕"
    if slow >= most:
        if v.fit is None or v.fit > most:
            return f"{target} is safe beyond {most:,} sequences ✓"
        return f"{target} is safe for {'the one' if v.fit == 1 else f'all {most:,}'} that fit{'s' if v.fit == 1 else ''} ✓"
    if slow == 0:
        return f"{target} holds to {ceiling:,}, but only at the ceiling ◐"
    mark = "✓" if v.now.batch <= slow else "◐"
    if slow == ceiling:
        return f"{target} holds to {sequences(ceiling)} {mark}"
    return f"{target} is safe to {sequences(slow)}, possible to {ceiling:,} {mark}"


def step_title(v: BatchingView) -> str:
    """Finding of the figure of a step's time."""
    most = min(v.reach, v.fit) if v.fit else v.reach
    if v.compute_first:
        return "Arithmetic takes longer than memory at every batch"
    kept = held_by(v.evaluation.setup.model).removeprefix("reading ")
    cost = "cost" if " and " in kept else "costs"
    if v.outgrown is not None and v.outgrown <= most:
        if v.outgrown == 1:
            return f"{kept[0].upper()}{kept[1:]} {cost} more than the weights at every batch"
        return f"From {v.outgrown:,} sequences on, {kept} {cost} more than the weights"
    if v.crossing is not None and v.crossing.batch <= most:
        return f"From {crossing_words(v.crossing.batch)} sequences on, arithmetic costs more than memory"
    if most == 1:
        return f"One sequence fits; the weights cost more than {kept}"
    return f"Up to {most:,} sequences, the weights cost more than {kept}"


def throughput_alt(v: BatchingView) -> str:
    """The main figure for those who do not see it."""
    shown = f"Tokens/s of the device against 1 to {v.top:,.0f} sequences, both logarithmic"
    ends = f"the ceiling goes from {n.figures(v.first.device_tokens_per_s)} to {n.figures(v.wide.device[-1])}"
    fit = f"; memory ends at {v.fit:,}" if v.fit is not None else ""
    return f"{throughput_title(v)}. {shown}: {ends}{fit}."


def user_alt(v: BatchingView) -> str:
    """Each user's speed for those who do not see the figure."""
    ends = f"from {n.figures(v.first.user_tokens_per_s)} to {n.figures(v.near.user[-1])}"
    return f"{user_title(v)}. Tokens/s that a user sees against 1 to {v.reach:,} sequences: at most {ends}."


def step_alt(v: BatchingView) -> str:
    """A step's time for those who do not see the figure."""
    last = v.near
    return (
        f"{step_title(v)}. Time of a decode step against 1 to {v.reach:,} sequences; at the end weights take "
        f"{n.seconds(float(last.weight_s[-1]))} and caches {n.seconds(float(last.cache_s[-1]))}."
    )


def arithmetic(v: BatchingView) -> list[str]:
    """The page's figures with this scenario's numbers in the formulas."""
    e = v.evaluation
    lines = pass_lines("Decode step", e.ceiling.decode, e.ceiling.decode_roof)
    step = n.seconds(v.now.step_s)
    lines.append(
        f"**Device**: {v.now.batch:,.0f} / {step} = {_device(v.now)}; a user: 1 / {step} = {n.tokens_per_s(v.now.user_tokens_per_s)}"
    )
    if e.capacity.usable is not None:
        lines += capacity_lines(e)
    if v.known:
        lines += _crossover_lines(v)
    return [*lines, estimate_line(e)]


def _crossover_lines(v: BatchingView) -> list[str]:
    line, limit = v.slopes, v.evaluation.ceiling.crossover.throughput_limit
    compute, memory = n.seconds(line.compute_s), n.seconds(line.memory_s)
    lines = [
        f"**A further sequence**: {compute} of arithmetic, {memory} of reads; read once for all: {n.seconds(line.fixed_memory_s)}"
    ]
    if v.crossing is None:
        lines.append(
            f"**Crossover**: never, since {memory} is not below {compute}: reads grow at least as fast as arithmetic"
        )
    else:
        lines.append(
            f"**Crossover**: {n.seconds(line.fixed_memory_s)} / ({compute} − {memory}) = {n.figures(v.crossing.batch)} sequences"
        )
    if v.crossing_weights_only is not None:
        lines.append(f"**By weights alone**: {n.figures(v.crossing_weights_only[0])} sequences")
    lines.append(f"**Large batches approach**: 1 / max({compute}, {memory}) = {n.tokens_per_s(limit)}")
    return lines
