"""The audit of a suite: what of it is no longer true, and what its gate would miss.

Facts only; nothing here asks or opens anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_irquality.suite.by_default import guarded
from pytest_irquality.suite.model import Query, Suite
from pytest_irquality.verdict.audit_facts import Audit, Dead
from pytest_irquality.verdict.build_gate import Gate
from pytest_irquality.verdict.comparison import Comparison
from pytest_irquality.verdict.gauge import rates, sound_builds
from pytest_irquality.verdict.result import Verdict
from pytest_irquality.verdict.watched import low_floors, watched


def audit(
    now: Comparison,
    verdicts: Sequence[Verdict],
    *,
    exists: Mapping[str, bool] | None = None,
    no_answer: str = "",
) -> Audit:
    """Audit a suite by what a run and its baseline returned, and by its verdicts.

    ``exists`` says of every judged document whether it is still there; None where nobody can say.
    """
    gate = Gate(guarded(now.suite), now.sides.run)
    builds = sound_builds(gate)
    watch = watched(gate, builds)
    return Audit(
        asked=len(exists or ()),
        dead=None if exists is None else tuple(dead(now, exists)),
        no_answer=no_answer,
        builds=len(builds),
        rates=tuple(rates(gate, builds)),
        watch=watch,
        low_floors=tuple(one for one in low_floors(verdicts) if one.label not in watch.unbroken),
    )


def judged_documents(suite: Suite) -> list[str]:
    """Every document that somebody graded or a rule demands, once.

    No passages, which have no ids.
    """
    documents = (
        document
        for query in suite.queries
        if not suite.by_text
        for document in (*query.judgments.grades, *_demanded(query))
    )
    return list(dict.fromkeys(documents))


def _demanded(query: Query) -> Iterator[str]:
    for rule in query.rules:
        yield from rule.relied_on


def dead(now: Comparison, exists: Mapping[str, bool]) -> Iterator[Dead]:
    """Judged documents that no longer exist, the ones that decide most queries first.

    What a query returned today exists, whatever is said of it.
    """
    returned = {document for ids in now.sides.rankings.values() for document in ids}
    found = []
    for document, is_there in exists.items():
        if not is_there and document not in returned:
            decided = [
                query.text
                for query in now.suite.queries
                if document in query.judgments.relevant or document in _demanded(query)
            ]
            found.append(Dead(document, now.titles.get(document, ""), tuple(decided)))
    yield from sorted(found, key=lambda one: (-len(one.queries), one.document))
