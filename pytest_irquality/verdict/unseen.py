"""The queries without a relevant document."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_irquality.verdict import facts
from pytest_irquality.verdict.comparison import Comparison


def without_relevant(comparison: Comparison) -> Iterator[facts.Fact]:
    """Queries without a relevant document, graded or not, or that the suite has no grade at all."""
    if comparison.suite.says_nothing:
        yield facts.NothingExpected()
        return
    asked = comparison.sides.asked
    unknown = [q for q in asked if not (q.expects_nothing or q.judgments.relevant)]
    for graded in (False, True):
        ids = tuple(q.id for q in unknown if bool(q.judgments.grades) == graded)
        if ids:
            score_0 = comparison.suite.defines(comparison.suite.by_id[ids[0]])
            changed = sum(id in comparison.sides.changed for id in ids)
            yield facts.WithoutRelevant(ids, len(asked), score_0, graded, changed)
