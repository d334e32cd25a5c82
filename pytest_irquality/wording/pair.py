"""The rankings of one query, then and now, in words."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import cache

from pytest_irquality.verdict.result import QueryResult, ShownDocument, SuiteResult
from pytest_irquality.wording.block import Documents, Pair, Placed
from pytest_irquality.wording.losses import because
from pytest_irquality.wording.moves import LEFT_INDEX, in_answers, place, rank
from pytest_irquality.wording.numbers import counted
from pytest_irquality.wording.words import cut

LONG_TITLE = 160
MOST_MISSING = 100  # documents that a query expects and did not find


def pair_of(
    result: SuiteResult, query: QueryResult, forbidden: AbstractSet[str], top: float
) -> Pair:
    """Both rankings of a query. Documents whose ids are ``forbidden`` are marked.

    ``top`` is the highest grade of the suite, by which grades are coloured.
    """
    missing = query.missing if query.fault is None else ()
    many = len(missing)
    listed = f"the first {MOST_MISSING} of {many:,}" if many > MOST_MISSING else ""
    absent = tuple([_absent(one, query, top) for one in missing[:MOST_MISSING]])
    return Pair(
        _then(result, query, top),
        _now(query, forbidden, top),
        Documents("Expected, but not among them", listed, many, absent) if many else None,
        result.top_k,
    )


def _now(query: QueryResult, forbidden: AbstractSet[str], top: float) -> Documents | None:
    if query.fault is not None:
        return None
    said, shown = found(query), len(query.ranking)
    if shown < query.returned:
        said = f"the first {shown} of {query.returned} results"
    of = tuple([_of_today(one, query, top, forbidden) for one in query.ranking])
    return Documents("This run", said, query.returned, of)


def _then(result: SuiteResult, query: QueryResult, top: float) -> Documents | None:
    """The baseline's ranking; None where there is no such side."""
    if query.before is None or result.baseline is None:
        return None
    unchanged = query.ranking and query.ranking[0].before == 1
    said = "the same ranking" if unchanged else "no results"
    if query.ranking_before:
        said = counted(len(query.ranking_before), "result")
    of = tuple([_of_then(one, query, top) for one in query.ranking_before])
    return Documents("Baseline", said, len(of), of)


def found(query: QueryResult) -> str:
    """The number of results."""
    if query.returned:
        return counted(query.returned, "result")
    return "no results, as expected" if query.expects_nothing else "no results"


def top_grade(result: SuiteResult) -> float:
    """The highest grade of what is shown."""
    documents = (one for query in result.queries for one in (*query.ranking, *query.missing))
    return max((document.grade or 0.0 for document in documents), default=0.0)


def _placed(document: ShownDocument, query: QueryResult, top: float, move: str) -> Placed:
    """A document as every ranking shows it; ``move`` says where it was or went."""
    id, title = document.id, document.title
    css, grade = _graded(document.grade, document.relevant, top)
    often = in_answers(document, query) if document.in_answers else ""
    move = ", ".join((move, often)) if move and often else move or often
    return Placed(
        document.rank,
        document.before,
        cut(id),
        cut(title, LONG_TITLE) if title and title != id else "",
        css,
        grade,
        move,
        "" if document.score is None else f"{document.score:.4g}",
        LEFT_INDEX if document.gone else because(document),
        document.chunk,
        often,
    )


def _of_today(
    document: ShownDocument, query: QueryResult, top: float, forbidden: AbstractSet[str]
) -> Placed:
    """A document of today's ranking: where it was in the baseline."""
    shown = _placed(document, query, top, _came(document, query))
    if document.id in forbidden:
        return shown._replace(css="wrong forbidden", grade="⊘ forbidden")
    return shown


def _came(document: ShownDocument, query: QueryResult) -> str:
    """The place in the baseline of a document of today's ranking."""
    if query.before is None:
        return ""
    if document.before is None:
        return "new here"
    if document.rank is None or document.rank == document.before:
        return "="
    return f"{'▲' if document.rank < document.before else '▼'} was {document.before}"


def _of_then(document: ShownDocument, query: QueryResult, top: float) -> Placed:
    """A document of the baseline's ranking: its rank then, and where it is now."""
    then, now = document.before, document.rank
    shown = _placed(document, query, top, "=" if now == then else f"→ {rank(document)}")
    css = f"{shown.css} lost" if now is None and document.relevant else shown.css
    return shown._replace(rank=then, other=now, css=css, score="")


def _absent(document: ShownDocument, query: QueryResult, top: float) -> Placed:
    """A document that the shown ranking lacks.

    It says what that would have been worth, and where it is instead.
    """
    was = "" if document.before is None else f"was {document.before}"
    at = "" if document.gone else place(document)
    css = "lost" if document.rank is None else "deep"
    moved = ", ".join(filter(None, (at, was)))
    return _placed(document, query, top, moved)._replace(css=css)


@cache
def _graded(grade: float | None, relevant: bool, top: float) -> tuple[str, str]:
    """A grade's colour, by how near it comes to the highest, and the grade in words."""
    if grade is None:
        return "unjudged", "unjudged"
    if not relevant:
        return "wrong", f"{grade:g} ✗"
    part = grade / top if top > 0 else 1.0
    step = 3 if part > 0.9 else 2 if part > 0.5 else 1
    return f"grade{step}", f"{grade:g} ✓"
