"""The queries of then beside today's: what became of each, and what it got where it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from pytest_irquality.metrics import Judgments
from pytest_irquality.storage.found import Found
from pytest_irquality.storage.matching import Matching, Question
from pytest_irquality.storage.stored import StoredQuery, StoredRun, asked
from pytest_irquality.suite import Suite
from pytest_irquality.verdict.comparison import Then

__all__ = ["Question", "fates", "questions", "then_of", "with_moved"]
Fates = Mapping[str, "tuple[str, str]"]
"""What became of queries, by id, with their ids today."""
LEFT = ("removed", "variant", "moved")


def questions(suite: Suite) -> Mapping[Question, str]:
    """Give all that a suite asks, with the ids of its queries."""
    return {asked(suite, query).question: query.id for query in suite.queries}


def fates(then: Suite, now: Suite, elsewhere: Collection[Question] = ()) -> Fates:
    """Tell what became of each query of then, by id, with its id today where it has one.

    It is asked the same, reworded, another query's variant, moved ``elsewhere``, or removed.
    """
    matching = Matching(
        {query.id: asked(then, query).question for query in then.queries},
        {query.id: asked(now, query).question for query in now.queries},
    )
    same = {old: id for id, old in matching.same.items()}
    edited = {old: id for id, old in matching.edited.items()}
    variants = {asked(now, variant).question: variant.of for variant in now.reworded}

    def fate(id: str) -> tuple[str, str]:
        question = matching.stored[id]
        if id in same:
            return "same", same[id]
        if question in variants:
            return "variant", variants[question]
        if question in elsewhere:
            return "moved", ""
        return ("reworded", edited[id]) if id in edited else ("removed", "")

    return {id: fate(id) for id in matching.stored}


def then_of(exams: Sequence[tuple[Suite, Fates]], moved: Collection[str]) -> Then:
    """Give what the ledger must know of suites of then, of which the first is today's own.

    What a suite took over from others is new to it.
    """
    same, reworded = dict[str, Judgments](), set[str]()
    left = Counter(what for _, fate in exams for what, _ in fate.values())
    for suite, fate in exams[:1]:
        known = suite.by_id
        same = {id: known[old].judgments for old, (what, id) in fate.items() if what == "same"}
        reworded = {id for what, id in fate.values() if what == "reworded"}
    return Then(same, {what: left[what] for what in LEFT}, reworded, moved)


def with_moved(found: Found, then: Found, ids: Mapping[Question, str]) -> Found:
    """Give what a suite is compared with, and of another suite's then what it asks by some ``ids``.

    What was asked for less than today's suite reads is left out.
    """
    if then.stored is None or then.stored.lacks(found.target.suite, staged=False):
        return found
    own = found.stored.queries if found.stored else {}
    moved = _lines(then.stored, ids, {line.question for line in own.values()})
    if not moved:
        return found
    queries = {**own, **_free(moved, own)}
    if found.stored:
        return replace(found, stored=replace(found.stored, queries=queries))
    stored, committed = replace(then.stored, queries=queries), found.committed
    return replace(then, target=found.target, stored=stored, committed=committed)


def _lines(
    stored: StoredRun, ids: Mapping[Question, str], known: Collection[Question]
) -> Mapping[str, StoredQuery]:
    """Give what questions got that are not known, by the ids that they have today."""
    own = (line for line in stored.queries.values() if not line.of)  # and no variants
    asked = (line for line in own if line.question in ids and line.question not in known)
    return {ids[line.question]: line for line in asked}


def _free(lines: Mapping[str, StoredQuery], own: Collection[str]) -> Mapping[str, StoredQuery]:
    """Give lines ids that no line has: another question may have had today's."""
    free = {id: f"moved: {id}" if id in own else id for id in lines}
    return {free[id]: replace(line, id=free[id]) for id, line in lines.items()}
