"""The audit of a suite: what of it is no longer true, and what its gate would miss.

Facts only; nothing here asks or opens anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pytest_irquality.retrieval.run import Answer, Ranking
from pytest_irquality.suite.by_default import guarded
from pytest_irquality.suite.model import Check, Query, Suite
from pytest_irquality.verdict.audit_facts import Audit, Dead, LowFloor, Watch
from pytest_irquality.verdict.build_gate import Gate, Units
from pytest_irquality.verdict.comparison import Comparison
from pytest_irquality.verdict.findings import Finding
from pytest_irquality.verdict.gauge import rates, sound_builds
from pytest_irquality.verdict.result import Verdict

LARGE, LEAST = 400_000, 50  # of large suites fewer queries are tried, and at least so many
FAR = 0.75  # of today's value: a lower floor lets more than a quarter of it go


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
    watch = _watched(gate, builds)
    return Audit(
        asked=len(exists or ()),
        dead=None if exists is None else tuple(dead(now, exists)),
        no_answer=no_answer,
        builds=len(builds),
        rates=tuple(rates(gate, builds)),
        watch=watch,
        low_floors=tuple(one for one in _low_floors(verdicts) if one.label not in watch.unbroken),
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


# -- what no check would notice --------------------------------------------------------------------


def _watched(gate: Gate, builds: Units) -> Watch:
    """Take all that it found from one query after the other, and then from all of them.

    Today's builds are what they are compared with. What fails as they are watches over nothing.
    """
    red = gate.red(builds, builds)
    found = [query for query in gate.queries if _found(gate.suite, query, builds)]
    if not found:
        return Watch()
    tried = found[: max(LEAST, LARGE // len(gate.queries))]
    unwatched = [
        query.text
        for query in tried
        if gate.red(builds, _losing(gate.suite, builds, [query])) <= red
    ]
    broken = gate.red(builds, _losing(gate.suite, builds, found))
    held = (check for check in gate.checks if check.name not in broken)
    return Watch(len(tried), tuple(unwatched), tuple(one.label for one in held if _sees(one)))


def _sees(check: Check) -> bool:
    """Tell whether a check is a written limit on a mean of relevance."""
    limits = check.limits if check.over.means and not check.by_default else None
    return limits is not None and limits.measure.needs_relevant


def _found(suite: Suite, query: Query, builds: Units) -> bool:
    """Tell whether a query found anything that it may lose, in any answer."""
    rankings = [answer.rankings[query.id] for unit in builds for answer in unit]
    return not query.expects_nothing and any(
        len(_left(suite, query, ranking).ids) < len(ranking.ids) for ranking in rankings
    )


def _losing(suite: Suite, builds: Units, queries: Sequence[Query]) -> Units:
    """The builds, in which some queries find nothing relevant."""

    def without(answer: Answer) -> Answer:
        lost = {query.id: _left(suite, query, answer.rankings[query.id]) for query in queries}
        return replace(answer, rankings={**answer.rankings, **lost})

    return [tuple(map(without, unit)) for unit in builds]


def _left(suite: Suite, query: Query, ranking: Ranking) -> Ranking:
    """A ranking without what is relevant: nothing where texts or nobody say what that is."""
    gains = query.judgments.gains
    all_lost = not gains or suite.by_text
    left = [] if all_lost else [n for n, id in enumerate(ranking.ids) if id not in gains]
    return replace(ranking.at(left), scores=None)


def _low_floors(verdicts: Sequence[Verdict]) -> Iterator[LowFloor]:
    """The floors far below today's value, in checks that hold a measure to nothing else."""
    for verdict in verdicts:
        failing = [finding for finding in verdict.findings if finding.fails]
        if verdict.over.means and all(finding.demand.floor for finding in failing):
            low = filter(_is_low, failing)
            yield from (LowFloor(verdict.label, one.subject, one.limit, one.value) for one in low)


def _is_low(finding: Finding) -> bool:
    return (finding.limit or 0.0) < FAR * (finding.value or 0.0)
