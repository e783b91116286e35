"""What the frontier says: knee, targets, cost and energy of a token."""

from __future__ import annotations

from slmopt.serving.frontier import Frontier
from slmopt.words import numbers as n
from slmopt.words.scenario_line import sequences


def title(v: Frontier) -> str:
    """Finding of throughput against speed."""
    knee = f"the knee is at {v.knee.batch:,}"
    if v.fit == 0:
        return "Nothing fits; the frontier is one sequence that would ✕"
    most = f"the {v.reach:,} that fit" if v.fit is not None else f"{v.reach:,}"
    if not v.allowed:
        return f"From 1 to {most}, {knee}"
    about, ideal = v.allowed["typical"], v.allowed["ceiling"]
    if not ideal:
        return f"No batch meets the targets ✕; {knee}"
    if not about:
        return f"Only the ceiling meets the targets, to {ideal:,} ◐; {knee}"
    if about >= v.reach:
        return (
            f"Targets allow all of {most} ✓; {knee}"
            if v.fit is not None
            else f"Targets allow {most} ✓; {knee}"
        )
    return f"Targets allow {about:,} of {most}; {knee}"


def alt(v: Frontier) -> str:
    """The figure for those who do not see it."""
    line = v.lines["typical"]
    return (
        f"{title(v)}. Tokens/s of the device against tokens/s per user, both logarithmic: about "
        f"{n.figures(float(line.device[0]), 2)} at {n.figures(float(line.user[0]), 2)} alone, "
        f"{n.figures(float(line.device[-1]), 2)} at {n.figures(float(line.user[-1]), 2)} with {v.reach:,}."
    )


def cost_title(v: Frontier) -> str:
    """Finding of the cost; of the energy where no price is known."""
    best = v.best or v.largest
    of = f"at {sequences(best.batch)}"
    if v.priced:
        return f"A million tokens cost about {n.figures(v.now.about_cost, 2)} now, {n.figures(best.about_cost, 2)} {of}"
    if v.powered:
        return f"A token takes about {_joules(v.now.about_energy)} now, {_joules(best.about_energy)} {of}"
    return "No price and no power is known for this device: enter one under Hardware"


def _joules(value: float) -> str:
    return n.with_unit(value * 1e3, "mJ", 2) if value < 1 else n.with_unit(value, "J", 2)


def cost_alt(v: Frontier) -> str:
    """The cost for those who do not see it."""
    what = "Cost of a million tokens" if v.priced else "Energy of a token in joules"
    return (
        f"{cost_title(v)}. {what} against 1 to {v.reach:,} sequences, both logarithmic, ceiling and estimate."
    )


def arithmetic(v: Frontier) -> list[str]:
    """The formulas with this scenario's numbers, by the typical estimate."""
    s, about = v.evaluation.setup.scenario, v.evaluation.typical
    first, step = float(about.prefill.seconds), float(about.decode.seconds)
    lines = [
        (
            f"**Device with prompts**: {s.batch:,} · {s.output:,} / ({s.batch:,} · {n.seconds(first)} + "
            f"{s.output - 1:,} · {n.seconds(step)}) = about {n.tokens_per_s(v.now.about_device)}"
        ),
        f"**Knee**: {v.knee.batch:,}, where tokens/s of the device times tokens/s per user is greatest",
    ]
    price, power = v.evaluation.setup.price_per_hour, v.evaluation.setup.power_w
    rate = n.tokens_per_s(v.now.about_device)
    if price is not None:
        lines.append(
            f"**Cost**: {n.figures(price)} an hour / 3,600 s / {rate} · 1,000,000 = {n.figures(v.now.about_cost)} a million tokens"
        )
    if power is not None:
        lines.append(
            f"**Energy**: {n.figures(power)}{n.NBSP}W / {rate} = {_joules(v.now.about_energy)} a token"
        )
    return lines
