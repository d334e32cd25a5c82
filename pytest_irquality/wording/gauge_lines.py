"""Lines of an audit on what the gate found of itself."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_irquality.verdict.findings import Noise
from pytest_irquality.verdict.gauge import FEWEST
from pytest_irquality.verdict.gauge_facts import Drop, Gauge, Harms, Power, Rate
from pytest_irquality.wording.numbers import apart, counted, few
from pytest_irquality.wording.words import quoted

RARE = 0.1  # times that a gate may be red for nothing, and nobody need look
NUMBERS = {1: "one build", 3: "three builds", 5: "five builds"}
SHOWN = (0.02, 0.05, 0.1)  # drops that the terminal tells of


def red_for_nothing(gauge: Gauge, noise: Noise | None) -> Iterator[str]:
    """The lines on how often unchanged code is red, or why nobody knows."""
    if not gauge.rates:
        yield f"not known: {_too_few(gauge, noise)}"
    for rate in gauge.rates:
        of, builds = _sides(rate), counted(rate.builds, "build")
        reach = f"up to {_percent(rate.high)}"
        if rate.share > RARE:
            reach = f"{_percent(rate.low)[:-2]} to {_percent(rate.high)}"
        yield f"{often(rate.share)} ({reach}, {builds}) {of}{_causes(rate)}"


def is_rare(gauge: Gauge) -> bool:
    """Tell whether unchanged code is hardly ever red."""
    return all(rate.share <= RARE for rate in gauge.rates)


def often(share: float) -> str:
    """A share as people say it: ``never``, ``1 in 12``, ``9 in 10``, ``always``."""
    if share in (0.0, 1.0):
        return "always" if share else "never"
    if share < 0.5:
        return f"1 in {round(1 / share)}"
    return "over 9 in 10" if share > 0.95 else f"{round(10 * share)} in 10"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _sides(of: Rate | Power) -> str:
    now = NUMBERS[of.now]
    if of.kept:
        return f"with {now} against this baseline of {of.before}"
    number, are = now.split()[0], "is" if of.now == 1 else "are"
    return f"where {now} {are} compared with {number}"


def _causes(rate: Rate) -> str:
    if not rate.checks:
        return ""
    labels = (f"{label!r} {often(share)}" for label, share in rate.checks[:3])
    return f": {', '.join(labels)}"


def would_find(gauge: Gauge) -> Iterator[str]:
    """The lines on what the gate finds of harm done on purpose."""
    power = gauge.power
    if power is None:
        return
    yield from _drops(power, alone=gauge.builds == 1 and not power.kept)
    one_by_one = {
        "a query that loses all it found": power.lost,
        f"a broken tag of {counted(power.tags.queries, 'query', 'queries')}": power.tags,
    }
    if harms := [f"{what}: {_seen(harm)}" for what, harm in one_by_one.items() if harm.of]:
        yield "; ".join(harms)
    if power.unbroken:
        held = counted(len(power.unbroken), "limit")
        yield f"{held} held through every drop: {few(list(map(repr, power.unbroken)))}"


def _drops(power: Power, *, alone: bool) -> Iterator[str]:
    """The line on drops of the mean; ``alone``: no other build tells how far they differ."""
    drops = [f"of {drop.size:g}: {_finds(drop)}" for drop in power.drops if drop.size in SHOWN]
    if drops:
        sides = "if the next build answers alike" if alone else _sides(power)
        red = f"; red without any harm: {often(power.red)}" if power.red else ""
        yield f"a drop of {power.measure} {', '.join(drops)} ({sides}{red})"


def _seen(harms: Harms) -> str:
    named = f", never {few(list(map(quoted, harms.never)))}"
    return found(harms.found) + (named if 0 < len(harms.never) < harms.of else "")


def misses_nothing(gauge: Gauge) -> bool:
    """Tell whether every query and tag is noticed by some check, and every limit can break."""
    power = gauge.power
    return not (power and (power.lost.never or power.tags.never or power.unbroken))


def found(share: float) -> str:
    """The share that is found: ``always``, ``63 %``, ``never``."""
    return {0.0: "never", 1.0: "always"}.get(share) or f"{min(99, max(1, round(100 * share)))} %"


def _finds(drop: Drop) -> str:
    (_, best), (hardest, worst) = drop.ways[0], drop.ways[-1]
    by_kind = f" (hardest, {hardest}: {found(worst)})" if worst < best else ""
    return f"{found(drop.found)}{by_kind}"


def _too_few(gauge: Gauge, noise: Noise | None) -> str:
    takes = f"a rate takes {FEWEST} builds of unchanged code, each kept and given as --ir-runs"
    if gauge.builds == 1 and gauge.answers == 1:
        return f"one build tells nothing of it; {takes}"
    spread = ""
    if noise and noise.spreads:
        first = noise.spreads[0]
        spread = f" ({first.measure} {' to '.join(apart(first.low, first.high))})"
    if gauge.builds == 1:
        answers = counted(gauge.answers, "answer")
        return f"{answers} of one build show what asking again does{spread}, and no more; {takes}"
    return f"{gauge.builds} builds show how far they lie apart{spread}, and no more; {takes}"
