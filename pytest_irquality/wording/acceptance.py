"""The drop that a change accepts, in the words with which every report begins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_irquality.verdict import facts
from pytest_irquality.verdict.result import SuiteResult, Verdict
from pytest_irquality.wording.examined import exam_lines
from pytest_irquality.wording.numbers import few
from pytest_irquality.wording.reasons import reason
from pytest_irquality.wording.words import queries

ACCEPTS = "This change accepts a drop"
REFUSED = "This change's own baseline would accept a drop, and ir_accepted = fail lets nobody do so"


def accepted(result: SuiteResult) -> tuple[str, ...]:
    """The figures against the merge base, then the queries.

    Nothing where nothing was accepted.
    """
    fact = next((fact for fact in result.facts if isinstance(fact, facts.Accepted)), None)
    return (*exam_lines(result), *(_lines(result, fact) if fact else ()))


def _lines(result: SuiteResult, fact: facts.Accepted) -> Iterator[str]:
    said = few([reason(result, verdict) for verdict in _own(result)])
    against = f" (against {fact.source})" if fact.source else ""
    yield f"{REFUSED if fact.refused else ACCEPTS}: {said}{against}"
    if fact.lacks:
        yield f"compared with the baseline that HEAD commits, because {fact.lacks}"
    if fact.queries:
        so = "no worse, but for noise" if fact.for_noise else "so"
        yield f"committed with other rankings, and returned {so}: {queries(result, fact.queries)}"


def _own(result: SuiteResult) -> Sequence[Verdict]:
    """The accepted verdicts of today's suite."""
    return [one for one in result.verdicts if one.accepted and not one.over.exam]
