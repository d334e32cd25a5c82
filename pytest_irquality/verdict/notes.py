"""What a reader of the figures must know, a line each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_irquality.suite.model import Check, Query
from pytest_irquality.verdict.measured import Measured
from pytest_irquality.verdict.numbers import and_more, share


def notes(now: Measured) -> Iterator[str]:
    """What happened in retrieval, and what the figures leave out."""
    suite, asked = now.suite, now.asked
    if now.run.interrupted:
        yield f"PARTIAL: interrupted after {len(asked)} queries"
    elif len(asked) < len(suite.queries):
        yield f"only {share(len(asked), len(suite.queries))} queries were selected; every figure is over these"
    if now.faults:
        allowed = f"; 'errors' allows {suite.max_errors}" if suite.max_errors else ""
        yield f"{share(len(now.faults), len(asked))} queries could not be answered and are in no figure{allowed}"
    if now.empty:
        yield f"{share(len(now.empty), len(asked))} queries returned nothing and score 0: {texts(now.empty)}"
    undefined = [q for q in asked if not q.expects_nothing and not q.judgments.relevant]
    if undefined:
        what = "score 0" if suite.undefined == "zero" else "are left out of relevance means"
        yield f"{share(len(undefined), len(asked))} queries have no relevant document and {what}"
    if now.duplicated and suite.duplicates == "collapse":
        id, twice = next(iter(now.duplicated.items()))
        more = and_more(len(now.duplicated), 1)
        yield (
            f"{share(len(now.duplicated), len(asked))} queries returned a document more than once, credited once"
            f" and the ranks closed up: {suite.by_id[id].text!r} returned {now.name(twice[0])} twice{more}"
        )
    if not any(map(can_fail, suite.checks)):
        yield "nothing gated: this suite has no rule and no limit that could fail"


def texts(queries: Sequence[Query], named: int = 3) -> str:
    """Queries by their texts, the first few of them."""
    return ", ".join(repr(query.text) for query in queries[:named]) + and_more(len(queries), named)


def can_fail(check: Check) -> bool:
    """Whether a check demands anything."""
    if check.query:
        return bool(check.query.rules) or any(b.fails for limits in check.query.thresholds for b in limits.bounds)
    if check.guard:
        return check.guard.most is not None
    return check.rule is not None or any(bound.fails for bound in (check.limits.bounds if check.limits else ()))
