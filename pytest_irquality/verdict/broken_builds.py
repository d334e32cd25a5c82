"""Both sides as the judge reads them: by passages, and without builds of which something is broken.

Among several builds of unchanged code (or answers of one) the mean of one may lie so far from the
others that no wavering explains it. It would blind all that asks how far unchanged code wavers. So
the baseline's are left out; today's stay, and fail. The rule was simulated: see
``benchmarks/broken_builds.py`` and ``docs/why/wavering.md``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Literal

from pytest_irquality.metrics import Measure
from pytest_irquality.retrieval.run import Run
from pytest_irquality.storage.stored import StoredRunError
from pytest_irquality.suite.by_default import first_mean
from pytest_irquality.suite.model import Suite
from pytest_irquality.verdict.accepted import Accepting
from pytest_irquality.verdict.facts import Fact
from pytest_irquality.verdict.passages import by_passages
from pytest_irquality.verdict.scoring import Scoring
from pytest_irquality.verdict.sides import Side, Sides
from pytest_irquality.verdict.statistics import EQUAL

FAR = 5 * 1.4826  # times the others' median distance from their median: five standard deviations
LEAST, QUERIES = 0.08, 3  # a mean that is nearer, or that so many queries make up, is not broken
FEWEST, ENOUGH = 3, 4  # units of which one can be told, and that must remain of a baseline

Of = Literal["today", "baseline", "HEAD"]


@dataclass(frozen=True)
class BrokenBuilds(Fact):
    """Builds of ``total``, each by its number from 1, whose mean lies far from the ``median``.

    They are today's, the baseline's or those of the one that HEAD commits; not ``builds``: answers
    of one build.
    """

    of: Of
    measure: str
    median: float
    means: tuple[tuple[int, float], ...]
    total: int
    builds: bool

    @property
    def alarms(self) -> bool:
        """True of today's."""
        return self.of == "today"


Read = tuple[Run, "Run | None", "Accepting | None", tuple[Fact, ...]]
"""Both sides, what the change commits, and the facts on broken builds."""


def as_read(
    suite: Suite,
    run: Run,
    before: Run | None,
    accepting: Accepting | None = None,
    updating: bool = False,
) -> Read:
    """Both sides by passages, the baselines without their broken builds.

    A baseline of which too few builds remain is none: then what the change commits may stand in its
    place, and else ``StoredRunError`` is raised, but for where it is being made again.
    """
    run, before = by_passages(suite, run), before and by_passages(suite, before, today=run)
    found = [broken_builds(suite, run, "today")]
    if accepting:
        committed = by_passages(suite, accepting.run, today=run)
        fact = broken_builds(suite, committed, "HEAD")
        accepting = replace(accepting, run=_without(suite, committed, fact))
        found.append(fact)
    if before and not updating:
        fact = broken_builds(suite, before, "baseline")
        try:
            before = _without(suite, before, fact)
        except StoredRunError as error:
            if accepting is None:
                raise
            before, accepting = Run(before.retriever), replace(accepting, lacks=str(error))
        found.append(fact)
    return run, before, accepting, tuple(fact for fact in found if fact)


def broken_builds(suite: Suite, run: Run, of: Of) -> BrokenBuilds | None:
    """The builds of a side whose mean is not like those of the others; None where all are alike.

    None, too, where they are too few to tell, or nobody said what is relevant.
    """
    measure = first_mean(suite)
    if measure is None or len(run.answers) < FEWEST:
        return None
    side = Sides(suite, run).answers
    units = _values(suite, side, measure)
    if found := unlike(units):
        middle = median(map(fmean, units))
        return BrokenBuilds(of, str(measure), middle, found, len(units), side.builds > 1)
    return None


def _values(suite: Suite, side: Side, measure: Measure) -> Sequence[Sequence[float]]:
    """The value of each query that defines the measure, in each unit of a side."""
    scoring = Scoring(suite)
    scores = [scoring.scores(one.given, one.rankings) for one in side]
    judged = [id for id in scores[0].values if scores[0].value(id, measure) is not None]
    return [
        [fmean(one.value(id, measure) or 0.0 for one in unit) for id in judged]
        for unit in side.units(scores)
    ]


def unlike(units: Sequence[Sequence[float]]) -> tuple[tuple[int, float], ...]:
    """The means that are not like the others, each with its number, of units with their values."""
    if len(units) < FEWEST or not units[0]:
        return ()
    means, least = [*map(fmean, units)], max(LEAST, QUERIES / len(units[0]))
    found = []
    for number, mean in enumerate(means, 1):
        others = [*means[: number - 1], *means[number:]]
        middle = median(others)
        spread = median(abs(other - middle) for other in others)
        if abs(mean - middle) > max(FAR * spread, least) + EQUAL:
            found.append((number, mean))
    return tuple(found)


def _without(suite: Suite, run: Run, fact: BrokenBuilds | None) -> Run:
    """A baseline without the broken builds. Raises ``StoredRunError`` where too few remain."""
    if fact is None:
        return run
    if fact.total - len(fact.means) < ENOUGH:
        raise StoredRunError(
            f"{suite.path}: the builds of the baseline differ too much to be one side ("
            f"{fact.measure}: median {fact.median:.3f}, build"
            f" {', '.join(f'{n}: {mean:.3f}' for n, mean in fact.means)}): fewer than {ENOUGH} that"
            " are alike would remain, so make the baseline again"
        )
    side = Sides(suite, run).answers
    units = side.units(range(len(side)))
    left_out = {place for n, _ in fact.means for place in units[n - 1]}
    others = {name: _only(stage, left_out, len(side)) for name, stage in run.stages.items()}
    variants = run.variants and _only(run.variants, left_out, len(side))
    return replace(_only(run, left_out, len(side)), stages=others, variants=variants)


def _only(run: Run, left_out: Collection[int], total: int) -> Run:
    """A run without the answers at some places, where it has as many as its side."""
    if len(run.answers) != total:
        return run
    kept = (answer for place, answer in enumerate(run.answers) if place not in left_out)
    return replace(run, answers=tuple(kept))
