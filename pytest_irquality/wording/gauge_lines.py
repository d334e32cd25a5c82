"""Lines of an audit on what the gate found of itself."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_irquality.verdict.findings import Noise
from pytest_irquality.verdict.gauge import FEWEST
from pytest_irquality.verdict.gauge_facts import Gauge, Rate
from pytest_irquality.wording.numbers import apart, counted

RARE = 0.1  # times that a gate may be red for nothing, and nobody need look
NUMBERS = {1: "one build", 3: "three builds", 5: "five builds"}


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


def _sides(rate: Rate) -> str:
    now = NUMBERS[rate.now]
    if rate.kept:
        return f"with {now} against this baseline of {rate.before}"
    return f"with {now} a side, the baseline made anew each time"


def _causes(rate: Rate) -> str:
    if not rate.checks:
        return ""
    labels = (f"{label!r} {often(share)}" for label, share in rate.checks[:3])
    return f": {', '.join(labels)}"


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
