"""Rules about the results of one query: each class defines, parses and checks one kind.

To add a rule, write a subclass of ``Rule`` with its key. The parser, the JSON Schema and the
reference page find it in ``RULES``.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from pytest_irquality.io.text import Text
from pytest_irquality.suite.yaml_source import Location, Node


class Answer(Protocol):
    """The part of a ``Ranking`` that rules read."""

    @property
    def doc_ids(self) -> Sequence[str]:
        """Return the ids of the results (or of the passages in them), best first."""

    @property
    def fields(self) -> Sequence[Mapping[str, object]]:
        """Return the fields of each result by their dotted path, best first."""


class AnsweredQuery(Protocol):
    """The part of a ``Query`` that rules read."""

    @property
    def id(self) -> str:
        """Return the id."""

    @property
    def text(self) -> str:
        """Return the text that was searched for."""

    @property
    def params(self) -> Mapping[str, object]:
        """Return the parameters of the call."""


@dataclass(frozen=True)
class Rule:
    """A requirement on the results of one query.

    Attributes:
        key: The key in a suite.
        help: What the rule requires, for the reference page and editors.
        is_for_each_query: Whether the rule may be written under ``each_query``.
        is_broken_by_any_repeat: Whether one of several answers to a query is enough to break the
            rule. Otherwise each part of the rule must hold in at least one answer.
        expects_results: Whether the rule contradicts ``expect_no_results``.
        reads_fields: Whether the rule reads fields of results. Such a rule is checked on the
            results themselves, also with ``match: text``.
    """

    location: Location = field(default=Location(), compare=False, kw_only=True)

    key: ClassVar[str] = ""
    help: ClassVar[str] = ""
    is_for_each_query: ClassVar[bool] = False
    is_broken_by_any_repeat: ClassVar[bool] = False
    expects_results: ClassVar[bool] = True
    reads_fields: ClassVar[bool] = False

    @classmethod
    def parse(cls, node: Node, location: Location) -> Rule | None:
        """Parse the value of the rule's key.

        Returns:
            The rule, or ``None`` if the value switches it off.

        Raises:
            Mistake: The value is not what the rule expects.
        """
        raise NotImplementedError

    @property
    def doc_ids(self) -> tuple[str, ...]:
        """Return the documents (or passages) that the rule names."""
        return ()

    @property
    def wanted_doc_ids(self) -> tuple[str, ...]:
        """Return the documents that must be found, and without which the rule cannot hold."""
        return ()

    @property
    def field_paths(self) -> tuple[str, ...]:
        """Return the fields of results that the rule reads."""
        return ()

    @property
    def param_names(self) -> tuple[str, ...]:
        """Return the parameters of the query that the rule compares with."""
        return ()

    def get_depth(self, top_k: int) -> int:
        """Return the number of results that the rule reads."""
        return top_k

    def relax_for_variant(self) -> Rule:
        """Return the rule for a variant of its query: ranks become "within top_k"."""
        return self

    def find_violations(
        self,
        answer: Answer,
        *,
        query: AnsweredQuery,
        top_k: int,
        titles: Mapping[str, str],
    ) -> list[Text]:
        """Find how an answer breaks the rule.

        Args:
            answer: The results. With ``match: text``, the ids are passages, except for rules that
                read fields.
            query: The query that was answered.
            top_k: The number of results that a rank which nobody wrote means.
            titles: What documents are called, by id.

        Returns:
            One text for each violation, which names the query. Empty if the rule holds.
        """
        return list(self.find_broken_parts(answer, query, top_k, titles).values())

    def find_violations_in_repeats(
        self,
        answers: Sequence[Answer],
        *,
        query: AnsweredQuery,
        top_k: int,
        titles: Mapping[str, str],
    ) -> list[Text]:
        """Find how several answers to the same query break the rule.

        A forbidding rule is broken by any answer. Each part of a demanding rule (such as one of its
        documents) must hold in at least one answer, because an engine may be nondeterministic.
        """
        raise NotImplementedError

    def find_broken_parts(
        self,
        answer: Answer,
        query: AnsweredQuery,
        top_k: int,
        titles: Mapping[str, str],
    ) -> Mapping[Hashable, Text]:
        """Find the parts of the rule that an answer breaks, each with its text.

        A part is what can hold on its own, such as one document of ``must_find``.
        """
        raise NotImplementedError


RULES: Mapping[str, type[Rule]] = {}
