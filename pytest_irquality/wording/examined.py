"""The base's exam in words: what is not passed of it, and in what today's is weaker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pytest_irquality.verdict.damage import Damage
from pytest_irquality.verdict.differences import Difference
from pytest_irquality.verdict.result import Exam, SuiteResult
from pytest_irquality.wording.block import Column, Row, Table
from pytest_irquality.wording.losers import worsened
from pytest_irquality.wording.numbers import counted, few
from pytest_irquality.wording.reasons import reason
from pytest_irquality.wording.words import quoted

WORST, TOLD = 3, 5
ORDER = ("weaker", "other", "stronger")
OF_A_QUERY: Mapping[str, str] = {
    "query removed": "removed", "query variant": "made variants", "query reworded": "reworded",
    "query added": "added", "query moved": "moved",
}  # fmt: skip
OF_ONE: Mapping[str, str] = {
    "errors": "limit of errors", "judgments": "query's judgments", "tags": "query's tags",
    "variants": "query's variants",
}  # fmt: skip
PLURALS: Mapping[str, str] = {
    "query": "queries", "errors": "limits of errors", "judgments": "queries' judgments",
    "tags": "queries' tags", "weight": "weights", "variants": "queries' variants",
}  # fmt: skip


def exam_lines(result: SuiteResult) -> Iterator[str]:
    """The lines that are said first: the base's checks that fail, why, and what allows it."""
    for exam in result.exams:
        of = exam.source if exam.path == result.path else f"{exam.source} {exam.path}"
        if exam.unread:
            yield f"Accepted, not passed: the suite of {of} cannot be read: {exam.unread}"
        elif exam.verdicts:
            yield from _accepted(exam, exam.told(result), of)


def _accepted(exam: Exam, then: SuiteResult, of: str) -> Iterator[str]:
    """The checks that fail, the queries that are worse, and the differences at work."""
    failed = [reason(then, verdict) or verdict.label for verdict in exam.verdicts]
    does = "Refused by ir_accepted" if exam.refused else "Accepted, not passed"
    against = f"today's suite lets pass what that of {of} fails"
    yield f"{does}: {against}: {few(failed)}"
    damage = Damage(then)
    worse = [worsened(damage, query) for query in damage.worse[:WORST]]
    if worse:
        told = few([f"{quoted(one.query.text)} {one.values}" for one in worse], len(damage.worse))
        yield f"worse by the base's judgments: {told}"
    touching = _touching(exam)
    yield from map(difference, touching[:TOLD])
    if others := len(exam.differences) - len(touching[:TOLD]):
        yield f"{counted(others, 'other difference')} between both exams"


def _touching(exam: Exam) -> Sequence[Difference]:
    """The differences of the failed checks, and of the queries that these are about."""
    labels = {verdict.label for verdict in exam.verdicts}
    ids = {query.id for query in exam.queries}
    return [one for one in exam.differences if one.query in ids or one.name in labels]


def difference(one: Difference) -> str:
    """A difference on one line, with its places on both sides."""
    values = " → ".join([one.then or "none", one.now or "none"]) if one.then or one.now else ""
    said = ": ".join(filter(None, (_what(one), values)))
    places = _places(one)
    return f"{said} ({places})" if places else said


def _what(one: Difference) -> str:
    return f"{one.kind} of {quoted(one.name)}"


def _places(one: Difference) -> str:
    return " → ".join(filter(None, (one.place_then, one.place_now)))


HEAD = tuple(map(Column, ("today's is", "what", "then", "now", "where")))


def in_full(exam: Exam) -> tuple[str, Table]:
    """An exam by itself: what it comes to, and its differences, what is weaker first."""
    failed = len(exam.verdicts)
    checks = counted(sum(exam.checks.values()), "check")
    does = f"{failed} of its {checks} not passed" if failed else f"its {checks} passed"
    said = exam.unread or "; ".join([does, *_sums(exam.differences)])
    ordered = sorted(exam.differences, key=lambda one: ORDER.index(one.direction))
    rows = [Row((one.direction, _what(one), one.then, one.now, _places(one))) for one in ordered]
    return f"{exam.path} as in {exam.source}: {said}", Table(HEAD, tuple(rows))


def of_the_base(result: SuiteResult) -> Iterator[str]:
    """The caveats by the base's exam, which every last line has."""
    yield from filter(None, (not_passed(result), weaker(result)))


def not_passed(result: SuiteResult) -> str:
    """The checks of the base that fail, and what is not weaker but allows it."""
    labels = [verdict.label for exam in result.exams for verdict in exam.verdicts]
    others = _sums(
        one for exam in result.exams if exam.accepted for one in exam.differences
        if one.direction == "other"
    )  # fmt: skip
    unread = ["the base's suite was not judged" for exam in result.exams if exam.unread]
    fails = [f"the base's suite fails: {few(labels)}"] if labels else []
    return "; ".join([*fails, *unread, *others])


def weaker(result: SuiteResult) -> str:
    """``exam weaker: 9 queries removed, 1 limit loosened``; "" where it is not."""
    every = [one for exam in result.exams for one in exam.weaker]
    # What is of queries first: no limit sees those that lost their judgments.
    found = _sums(sorted(every, key=lambda one: one.query is None))
    return f"exam weaker: {', '.join(found)}" if found else ""


def differs(result: SuiteResult) -> str:
    """The number of differences of each kind; "" where both exams are the same."""
    found = _sums(one for exam in result.exams for one in exam.differences)
    return f"the suite is another than the base's: {', '.join(found)}" if found else ""


def _sums(differences: Iterable[Difference]) -> Sequence[str]:
    found = Counter(map(_kind, differences))
    return [
        f"{counted(n, OF_ONE.get(what, what), PLURALS.get(what, f'{what}s'))} {done}"
        for (what, done), n in found.items()
    ]


def _kind(one: Difference) -> tuple[str, str]:
    if done := OF_A_QUERY.get(one.kind):
        return "query", done
    if not one.then:
        return one.kind, "added"
    if not one.now:
        return one.kind, "removed"
    return one.kind, {"weaker": "loosened", "stronger": "tightened"}.get(one.direction, "changed")
