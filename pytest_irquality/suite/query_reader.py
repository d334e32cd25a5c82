"""Queries of a suite as its other keys mean them: grades, ranks, variants, and what contradicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_irquality.metrics import Judgments
from pytest_irquality.suite.grades import Word
from pytest_irquality.suite.judges import Said
from pytest_irquality.suite.key_tables import shared
from pytest_irquality.suite.keys import QUERY_KEYS, QuerySettings, WrittenQuery, WrittenSuite
from pytest_irquality.suite.limit_reader import LimitReader
from pytest_irquality.suite.model import Limits, Query, Rule
from pytest_irquality.suite.rules import RULE_KEYS, RULES, with_ranks
from pytest_irquality.suite.yaml import Document, no_grade, short

if TYPE_CHECKING:
    from pytest_irquality.suite.entries import SuiteFiles


@dataclass(frozen=True)
class QueryReader:
    """A reader of the queries of a suite, which ``files`` may judge, too."""

    document: Document
    written: WrittenSuite
    limits: LimitReader
    files: SuiteFiles | None

    def query(self, written: WrittenQuery) -> Query:
        """A query with its judgments, rules and thresholds."""
        said = self._said(written)
        judgments = said.judgments(self.written.relevant_from)
        rules = tuple(self._rules(written))
        self._refuse_contradiction(written, rules, judgments)
        thresholds = tuple(self._thresholds(written, judgments))
        can_fail = rules or any(limits.can_fail for limits in thresholds)
        if written.known_issue and not can_fail:
            self.document.fail_at(
                written.places["known_issue"],
                "'known_issue' on a query with no rule and no threshold: nothing could fail",
            )
        return Query(
            id=written.name,
            text=written.query,
            judgments=judgments,
            rules=rules,
            thresholds=thresholds,
            bulk=written.bulk,
            place=written.place,
            issue_line=written.places.get("known_issue", written.place).line,
            votes=said.votes,
            settled=said.settled,
            notes=said.notes,
            **shared(QuerySettings, written),
        )

    # -- judgments ---------------------------------------------------------------------------------

    def _said(self, written: WrittenQuery) -> Said:
        """The grades of the suite and its files for each document."""
        relevant = written.relevant
        grades = {document: self._grade(grade) for document, grade in relevant.grades.items()}
        if self.files is None:
            return Said(grades)

        def place(document: str) -> str:
            return f"{written.place.path or self.document.path}:{relevant.line_of[document]}"

        return self.files.judged.joined(written.name, grades, place)

    def _grade(self, grade: float | Word | None) -> float:
        if grade is None:
            return max(1.0, self.written.relevant_from)
        if not isinstance(grade, Word):
            return grade
        words = self.written.grades
        if grade.text not in words:
            self.document.fail_at(grade.place, no_grade(grade.text, words))
        return words[grade.text]

    # -- demands -----------------------------------------------------------------------------------

    def _rules(self, written: WrittenQuery) -> Iterator[Rule]:
        for name, rule in RULES.items():
            documents = written.rules.get(name)
            if documents is not None:
                yield rule(with_ranks(documents, self.written.top_k), written.places[name])

    def _refuse_contradiction(
        self, written: WrittenQuery, rules: Iterable[Rule], judgments: Judgments
    ) -> None:
        """Refuse whatever asks for results of a query that expects none."""
        empty = next((rule for rule in rules if rule.expects_nothing), None)
        if empty is None:
            return
        for name, key in {**RULE_KEYS, **QUERY_KEYS}.items():
            if key.wants_results and name in written.places:
                self.document.fail_at(written.places[name], f"{name!r} contradicts {empty.key!r}")
        if judgments.relevant:
            self.document.fail_at(
                empty.place,
                "a judgment file has relevant documents for this query: it expects results",
            )

    def _thresholds(self, written: WrittenQuery, judgments: Judgments) -> Iterator[Limits]:
        for line in written.thresholds:
            limits = self.limits.of_one(line)
            if limits.known_issue:
                self.document.fail_at(
                    limits.place, "'known_issue' of one query stands on the query, beside its rules"
                )
            if limits.measure.needs_relevant and not judgments.relevant:
                self.document.fail_at(
                    limits.place,
                    f"{limits.measure} is undefined for this query: it has no relevant document",
                )
            yield limits

    # -- variants ----------------------------------------------------------------------------------

    def reworded(self, queries: Iterable[Query]) -> Iterator[Query]:
        """The variants of queries."""
        for query in queries:
            if query.text in query.variants:
                self.document.fail_at(
                    query.place, f"a variant of {short(query.id)} is the query itself"
                )
            for number, text in enumerate(query.variants, 1):
                yield query.variant(number, text)
