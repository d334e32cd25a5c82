"""Rules about the results of one query: each class defines, parses and checks one kind.

To add a rule, write a subclass of ``Rule`` and add it to ``RULES``. The parser, the JSON Schema
and the reference page follow from its attributes.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Protocol

from pytest_irquality.io.text import (
    DataPart,
    DocPart,
    Part,
    QueryPart,
    Text,
    format_count,
    join,
    write,
)
from pytest_irquality.suite import kinds
from pytest_irquality.suite.kinds import Schema, suggest
from pytest_irquality.suite.yaml_source import (
    ListNode,
    Location,
    MappingNode,
    Mistake,
    Node,
    ScalarNode,
    quote,
)

PARAM_PREFIX = "$params."
_PARTS = re.compile(r"[0-9]+|[^\W\d_]+")
RANKS_SCHEMA: Schema = {
    "anyOf": [
        kinds.ANY_TEXT,
        kinds.make_list_schema(kinds.ANY_TEXT, minItems=1),
        {"type": "object", "minProperties": 1, "additionalProperties": kinds.CUTOFF.schema},
    ]
}


class Answer(Protocol):
    """The part of a ``Ranking`` that rules read."""

    @property
    def doc_ids(self) -> Sequence[str]:
        """Return the ids of the results (or of the passages in them), best first."""

    @property
    def passages(self) -> Mapping[int, tuple[str, ...]]:
        """Return the passages in a result by its index, if ``locate_passages`` found some."""

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
        form: What the reference page calls the value.
        is_for_each_query: Whether the rule may be written under ``each_query``.
        expects_results: Whether the rule contradicts ``expect_no_results``.
        wants_documents: Whether the documents that the rule names must be found.
        reads_fields: Whether the rule reads fields of results. Such a rule is checked on the
            results themselves, also with ``match: text``.
    """

    location: Location = field(default=Location(), compare=False, kw_only=True)

    key: ClassVar[str]
    help: ClassVar[str]
    form: ClassVar[str]
    schema: ClassVar[Schema]
    is_for_each_query: ClassVar[bool] = False
    expects_results: ClassVar[bool] = True
    wants_documents: ClassVar[bool] = False
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
        """Return the documents that must be found."""
        return self.doc_ids if self.wants_documents else ()

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
        self, answer: Answer, *, query: AnsweredQuery, top_k: int, titles: Mapping[str, str]
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
        return list(self._iter_violations(answer, _Check(query, top_k, titles)))

    def _iter_violations(self, answer: Answer, check: _Check) -> Iterator[Text]:
        raise NotImplementedError


class _Check(NamedTuple):
    """What a rule needs besides an answer, and the words that all rules share."""

    query: AnsweredQuery
    top_k: int
    titles: Mapping[str, str]

    def write(self, *parts: Part | Text) -> Text:
        """Write a text that begins with the query."""
        return write(QueryPart(self.query.id, self.query.text), *parts)

    def name_document(self, doc_id: str) -> DocPart:
        title = self.titles.get(doc_id, "")
        return DocPart(doc_id, title if title != doc_id else "")

    def name_result(self, result: _Result) -> Text:
        return self.write(f": result {result.rank}, ", self.name_document(result.doc_id))

    def describe_missing_field(self, result: _Result, path: str) -> Text:
        return self.name_result(result) + f", has no field '{path}'"


class _Result(NamedTuple):
    rank: int
    doc_id: str
    fields: Mapping[str, object]


# -- Rules about documents ------------------------------------------------------------------------


@dataclass(frozen=True)
class DocumentRule(Rule):
    """A rule that names documents.

    Attributes:
        ranks: The rank of each document, or ``None`` for ``top_k``.
    """

    ranks: Mapping[str, int | None]

    form = "documents, with ranks or without"
    schema = kinds.make_reference("ranks")

    def __hash__(self) -> int:
        return hash((self.key, *self.ranks.items()))

    @classmethod
    def parse(cls, node: Node, location: Location) -> Rule | None:
        """Parse documents: a mapping to ranks, a list, or a single id."""
        ranks: dict[str, int | None] = {}
        if isinstance(node, ListNode):
            ranks = dict.fromkeys(
                text for text, _ in kinds.read_distinct_texts(node, f"'{cls.key}'")
            )
        elif isinstance(node, ScalarNode):
            ranks = {kinds.read_text(node, f"'{cls.key}'"): None}
        else:
            for key, value in kinds.read_entries(node, f"'{cls.key}'"):
                kinds.check_pair(key, value, "rank", cls.key)
                ranks[key.text] = kinds.read_cutoff(value, f"The rank of {quote(key.text)}")
        if not ranks:
            raise Mistake(node.line, f"'{cls.key}' names no document")
        return cls(ranks, location=location)

    @property
    def doc_ids(self) -> tuple[str, ...]:
        """Return the documents that the rule names."""
        return tuple(self.ranks)

    def get_depth(self, top_k: int) -> int:
        """Return the deepest rank."""
        return max(rank or top_k for rank in self.ranks.values())

    def relax_for_variant(self) -> Rule:
        """Return the rule without ranks."""
        return replace(self, ranks=dict.fromkeys(self.ranks))

    def iter_ranks(self, top_k: int) -> Iterator[tuple[str, int]]:
        """Yield each document with its rank."""
        for doc_id, rank in self.ranks.items():
            yield doc_id, rank or top_k


def _find_ranks(answer: Answer) -> dict[str, int]:
    """Return the rank of each document, counted without duplicates such as chunks.

    Several passages may be in one result, and then share its rank.
    """
    if answer.passages:
        ranks: dict[str, int] = {}
        for index, doc_id in enumerate(answer.doc_ids):
            for name in answer.passages.get(index, (doc_id,)):
                ranks.setdefault(name, index + 1)
        return ranks
    return {doc_id: rank for rank, doc_id in enumerate(dict.fromkeys(answer.doc_ids), start=1)}


def _describe_rank(ranks: Mapping[str, int], doc_id: str) -> str:
    return f"is at rank {ranks[doc_id]}" if doc_id in ranks else "was not retrieved"


class MustFind(DocumentRule):
    """Each of some documents, at its rank or better."""

    key = "must_find"
    help = "Each of these documents, at its rank or better; in a list, within `top_k`."
    wants_documents = True

    def _iter_violations(self, answer: Answer, check: _Check) -> Iterator[Text]:
        ranks = _find_ranks(answer)
        for doc_id, rank in self.iter_ranks(check.top_k):
            if doc_id not in ranks or ranks[doc_id] > rank:
                found = f" {_describe_rank(ranks, doc_id)}, and must be in the top {rank}"
                yield check.write(": ", check.name_document(doc_id), found)


class MustFindAny(DocumentRule):
    """One of some documents, at its rank or better."""

    key = "must_find_any"
    help = "One of these documents is enough, at its rank or better."
    wants_documents = True

    def _iter_violations(self, answer: Answer, check: _Check) -> Iterator[Text]:
        ranks = _find_ranks(answer)
        findings = []
        for doc_id, rank in self.iter_ranks(check.top_k):
            if doc_id in ranks and ranks[doc_id] <= rank:
                return
            found = f" {_describe_rank(ranks, doc_id)} (not in the top {rank})"
            findings.append(write(check.name_document(doc_id), found))
        yield check.write(" must find one of these: ", join(findings))


class MustNotFind(DocumentRule):
    """None of some documents down to its rank."""

    key = "must_not_find"
    help = "None of these documents in the top that many; in a list, not within `top_k`."
    is_for_each_query = True
    expects_results = False

    def _iter_violations(self, answer: Answer, check: _Check) -> Iterator[Text]:
        ranks = _find_ranks(answer)
        for doc_id, rank in self.iter_ranks(check.top_k):
            if doc_id in ranks and ranks[doc_id] <= rank:
                found = f" is at rank {ranks[doc_id]}, and must not be in the top {rank}"
                yield check.write(": ", check.name_document(doc_id), found)


@dataclass(frozen=True)
class InOrder(Rule):
    """Some documents, each above the next. One that was not returned is below all others."""

    documents: tuple[str, ...]

    key = "in_order"
    help = "These documents come in this order."
    form = "a list of two or more documents"
    schema = kinds.make_list_schema(kinds.ANY_TEXT, minItems=2)

    @classmethod
    def parse(cls, node: Node, location: Location) -> Rule | None:
        """Parse a list of documents."""
        doc_ids = [text for text, _ in kinds.read_distinct_texts(node, f"'{cls.key}'")]
        if len(doc_ids) < 2:
            raise Mistake(node.line, f"'{cls.key}' needs at least two documents")
        return cls(tuple(doc_ids), location=location)

    @property
    def doc_ids(self) -> tuple[str, ...]:
        """Return the documents in their order."""
        return self.documents

    def _iter_violations(self, answer: Answer, check: _Check) -> Iterator[Text]:
        ranks = _find_ranks(answer)
        if ranks.keys().isdisjoint(self.documents):
            # Nothing is in order if nothing is there.
            named = list(map(check.name_document, self.documents))
            yield check.write(": none of ", join(named), " was returned")
            return
        last = len(ranks) + 1
        for above, below in pairwise(self.documents):
            if below in ranks and ranks.get(above, last) > ranks[below]:
                yield check.write(
                    ": ",
                    check.name_document(above),
                    f" {_describe_rank(ranks, above)}, and must be above ",
                    check.name_document(below),
                    f", which is at rank {ranks[below]}",
                )


@dataclass(frozen=True)
class ExpectNoResults(Rule):
    """An empty ranking."""

    key = "expect_no_results"
    help = "Whether nothing should be found."
    form = "`true` or `false`"
    schema = {"type": "boolean"}  # noqa: RUF012 - a JSON Schema, which nobody changes
    expects_results = False

    @classmethod
    def parse(cls, node: Node, location: Location) -> Rule | None:
        """Parse ``true`` or ``false``."""
        return cls(location=location) if kinds.read_flag(node, f"'{cls.key}'") else None

    def get_depth(self, top_k: int) -> int:
        """Return 1, since the first result breaks the rule."""
        return 1

    def _iter_violations(self, answer: Answer, check: _Check) -> Iterator[Text]:
        if answer.doc_ids:
            count = format_count(len(answer.doc_ids), "result")
            first = check.name_document(answer.doc_ids[0])
            yield check.write(f" must return nothing, and returned {count}, first ", first)


# -- Rules about fields ---------------------------------------------------------------------------


@dataclass(frozen=True)
class FieldCondition:
    """What one field of every result must be.

    Values are as written, or ``$params.name`` for a parameter of the query.

    Attributes:
        path: The dotted path of the field.
        equal: The allowed values, or ``None`` if any.
        unequal: The values that are not allowed.
        minimum: The lowest allowed number, and ``maximum`` the highest.
    """

    path: str
    equal: tuple[object, ...] | None = None
    unequal: tuple[object, ...] = ()
    minimum: object = None
    maximum: object = None

    @property
    def param_names(self) -> tuple[str, ...]:
        """Return the parameters of the query that the condition names."""
        values = (*(self.equal or ()), *self.unequal, self.minimum, self.maximum)
        return tuple(name for value in values if (name := _get_param_name(value)))

    def explain_violation(self, value: object, params: Mapping[str, object]) -> Text:
        """Say what the value must be, or return an empty text if it fulfills the condition.

        A field with several values fulfills ``equal`` if one of them does.
        """
        values = value if isinstance(value, list | tuple) else (value,)
        written = {_normalize(each) for each in values}
        if self.equal is not None:
            allowed = _resolve(self.equal, params)
            if written.isdisjoint(map(_normalize, allowed)):
                return write("must be ", _show_values(allowed))
        forbidden = _resolve(self.unequal, params)
        if not written.isdisjoint(map(_normalize, forbidden)):
            return write("must not be ", _show_values(forbidden))
        for bound, sign, word in ((self.minimum, 1, "at least "), (self.maximum, -1, "at most ")):
            if bound is None:
                continue
            limits = _resolve((bound,), params)
            limit = limits[0] if len(limits) == 1 else None
            orders = [_compare_numbers(each, limit) for each in values]
            if any(order is None or order * sign < 0 for order in orders):
                return write("must be ", word, _show_values(limits))
        return Text()


_CONDITION_KEYS = ("not", "min", "max")
_CONDITION_VALUES: Sequence[Schema] = (
    kinds.ANY_TEXT,
    kinds.make_list_schema(kinds.ANY_TEXT, minItems=1),
)
_CONDITION_SCHEMA: Schema = {
    "anyOf": [
        *_CONDITION_VALUES,
        kinds.make_object_schema(
            {
                "not": {"anyOf": [*_CONDITION_VALUES]},
                "min": kinds.ANY_TEXT,
                "max": kinds.ANY_TEXT,
            },
            minProperties=1,
        ),
    ]
}


@dataclass(frozen=True)
class EveryResult(Rule):
    """Conditions on fields of each of the first results."""

    conditions: tuple[FieldCondition, ...]

    key = "every_result"
    help = "What fields of the first `top_k` results must be: a value, `not`, `min` or `max`."
    form = "fields, each with its condition"
    schema: ClassVar[Schema] = {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": _CONDITION_SCHEMA,
    }
    is_for_each_query = True
    expects_results = False
    reads_fields = True

    @classmethod
    def parse(cls, node: Node, location: Location) -> Rule | None:
        """Parse a mapping from fields to conditions."""
        conditions = []
        for key, value in kinds.read_entries(node, f"'{cls.key}'"):
            conditions.append(_parse_condition(key.text, value))
        if not conditions:
            raise Mistake(node.line, f"'{cls.key}' names no field")
        return cls(tuple(conditions), location=location)

    @property
    def field_paths(self) -> tuple[str, ...]:
        """Return the fields of results that the rule reads."""
        return tuple(condition.path for condition in self.conditions)

    @property
    def param_names(self) -> tuple[str, ...]:
        """Return the parameters that the conditions name."""
        names = [name for condition in self.conditions for name in condition.param_names]
        return tuple(dict.fromkeys(names))

    def _iter_violations(self, answer: Answer, check: _Check) -> Iterator[Text]:
        for result in _iter_results(answer, check.top_k):
            for condition in self.conditions:
                value = result.fields.get(condition.path)
                if value is None:
                    yield check.describe_missing_field(result, condition.path)
                    continue
                required = condition.explain_violation(value, check.query.params)
                if required:
                    has = write(f", has {condition.path} ", _show_values((value,)), ", and ")
                    yield check.name_result(result) + has + required


@dataclass(frozen=True)
class MaxPer(Rule):
    """At most so many results with one value of a field, for diversity."""

    limits: Mapping[str, int]

    key = "max_per"
    help = "At most that many of the first `top_k` results with the same value of a field."
    form = "fields, each with a number"
    schema: ClassVar[Schema] = {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": {"type": "integer", "minimum": 1},
    }
    is_for_each_query = True
    expects_results = False
    reads_fields = True

    def __hash__(self) -> int:
        return hash((self.key, *self.limits.items()))

    @classmethod
    def parse(cls, node: Node, location: Location) -> Rule | None:
        """Parse a mapping from fields to numbers."""
        limits = {}
        for key, value in kinds.read_entries(node, f"'{cls.key}'"):
            limits[key.text] = kinds.read_count(value, f"'{cls.key}: {key.text}'")
        if not limits:
            raise Mistake(node.line, f"'{cls.key}' names no field")
        return cls(limits, location=location)

    @property
    def field_paths(self) -> tuple[str, ...]:
        """Return the fields of results that the rule reads."""
        return tuple(self.limits)

    def _iter_violations(self, answer: Answer, check: _Check) -> Iterator[Text]:
        for path, limit in self.limits.items():
            groups: dict[Hashable, list[_Result]] = {}
            for result in _iter_results(answer, check.top_k):
                value = result.fields.get(path)
                if value is None:
                    yield check.describe_missing_field(result, path)
                else:
                    groups.setdefault(_normalize(value), []).append(result)
            for group in groups.values():
                if len(group) > limit:
                    number = f", is number {limit + 1} of {len(group)} with {path} "
                    value = _show_values((group[limit].fields[path],))
                    allowed = f", and at most {limit} may have it"
                    yield check.name_result(group[limit]) + number + value + allowed


@dataclass(frozen=True)
class NewestFirst(Rule):
    """Within results that share a field, no older version above a newer one.

    Attributes:
        group_path: The field that versions of one document share (``within``).
        version_path: The field that orders them (``by``): numbers, dates or versions.
    """

    group_path: str
    version_path: str

    key = "newest_first"
    help = "An outdated version is never above its successor."
    form = "`{within: FIELD, by: FIELD}`"
    schema: ClassVar[Schema] = kinds.make_object_schema(
        {"within": {"type": "string"}, "by": {"type": "string"}}, required=["within", "by"]
    )
    is_for_each_query = True
    expects_results = False
    reads_fields = True

    @classmethod
    def parse(cls, node: Node, location: Location) -> Rule | None:
        """Parse ``{within: FIELD, by: FIELD}``."""
        keys = ("within", "by")
        read = kinds.read_table
        paths = read(node, f"'{cls.key}'", dict.fromkeys(keys, kinds.TEXT), keys, cls.form)
        return cls(paths["within"], paths["by"], location=location)

    @property
    def field_paths(self) -> tuple[str, ...]:
        """Return the fields of results that the rule reads."""
        return (self.group_path, self.version_path)

    def _iter_violations(self, answer: Answer, check: _Check) -> Iterator[Text]:
        # Of the results so far, the one with the lowest version of each group. If any result is
        # older than one below it, this one is.
        oldest: dict[Hashable, _Result] = {}
        for result in _iter_results(answer, check.top_k):
            for path in self.field_paths:
                if result.fields.get(path) is None:
                    yield check.describe_missing_field(result, path)
            group = result.fields.get(self.group_path)
            version = result.fields.get(self.version_path)
            if group is None or version is None:
                continue
            above = oldest.setdefault(_normalize(group), result)
            above_version = above.fields[self.version_path]
            order = _compare_versions(above_version, version)
            if order is None or order < 0:
                problem = "is above" if order else "cannot be compared with"
                yield check.name_result(above) + write(
                    f", has {self.version_path} ",
                    _show_values((above_version,)),
                    f", and {problem} result {result.rank}, ",
                    check.name_document(result.doc_id),
                    f", with {self.version_path} ",
                    _show_values((version,)),
                )
            elif order > 0:
                oldest[_normalize(group)] = result


_COMPARISON = re.compile("([<>])=? *(?=[0-9$])")


def _parse_condition(path: str, node: Node) -> FieldCondition:
    name = f"'every_result: {path}'"
    if isinstance(node, ScalarNode) and (sign := _COMPARISON.match(node.text)):
        bound = "min" if sign[1] == ">" else "max"
        number = node.text[sign.end() :]
        raise Mistake(node.line, f"Write {path}: {{{bound}: {number}}}, not {quote(node.text)}")
    if not isinstance(node, MappingNode):
        return FieldCondition(path, equal=_read_condition_values(node, name))
    values: dict[str, Any] = {}
    for key, value in kinds.read_entries(node, name):
        if key.text not in _CONDITION_KEYS:
            hint = suggest(key.text, _CONDITION_KEYS, "Use 'not', 'min' or 'max'.")
            raise Mistake(key.line, f"{quote(key.text)} is not a condition{hint}")
        read = _read_condition_values(value, f"'{key.text}' of {path}")
        if key.text != "not":
            if len(read) != 1:
                raise Mistake(value.line, f"'{key.text}' of {path} must be a single value")
            if not _get_param_name(read[0]) and not _split_parts(read[0]):
                message = f"'{key.text}' of {path} must be a number or a date"
                raise Mistake(value.line, f"{message}, not {quote(str(read[0]))}")
        values[key.text] = read
    if not values:
        raise Mistake(node.line, f"{name} needs a value, 'not', 'min' or 'max'")
    return FieldCondition(
        path,
        unequal=values.get("not", ()),
        minimum=values.get("min", (None,))[0],
        maximum=values.get("max", (None,))[0],
    )


def _read_condition_values(node: Node, name: str) -> tuple[object, ...]:
    """Read one value or a list of values of a condition."""
    nodes = node.items if isinstance(node, ListNode) else [node]
    if not nodes:
        raise Mistake(node.line, f"{name} names no value")
    values = []
    for item in nodes:
        text = kinds.read_text(item, name)
        if text.startswith("$") and not (
            text.startswith(PARAM_PREFIX) and text.removeprefix(PARAM_PREFIX)
        ):
            hint = f"Write '{PARAM_PREFIX}name' for a parameter of the query"
            raise Mistake(item.line, f"{name} is {quote(text)}. {hint}.")
        values.append(text if text.startswith(PARAM_PREFIX) else kinds.read_value(item, name))
    return tuple(values)


# -- Values of fields -----------------------------------------------------------------------------


def _iter_results(answer: Answer, top_k: int) -> Iterator[_Result]:
    """Yield each of the first results with its fields."""
    for index, doc_id in enumerate(answer.doc_ids[:top_k]):
        fields = answer.fields[index] if index < len(answer.fields) else {}
        yield _Result(index + 1, doc_id, fields)


def _show_values(values: Sequence[object]) -> Text:
    """Show values of fields, which come from data."""
    return join([DataPart(quote(str(value))) for value in values], " or ")


def _get_param_name(value: object) -> str:
    if isinstance(value, str) and value.startswith(PARAM_PREFIX):
        return value.removeprefix(PARAM_PREFIX)
    return ""


def _resolve(values: Sequence[object], params: Mapping[str, object]) -> tuple[object, ...]:
    """Replace the names of parameters by their values. A parameter may be a list of values."""
    resolved: list[object] = []
    for value in values:
        name = _get_param_name(value)
        found = params.get(name) if name else value
        if isinstance(found, list | tuple):
            resolved += found
        else:
            resolved.append(found)
    return tuple(resolved)


def _normalize(value: object) -> Hashable:
    """Return a key that a number and the text that spells it share, such as 3, 3.0 and "3".

    Texts are compared as they are, so the tenants "0123" and "123" differ.
    """
    if value is None:
        return ()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    return str(value)


def _compare_numbers(value: object, limit: object) -> int | None:
    """Compare two numbers or dates. Return -1, 0 or 1, or ``None`` if that is not possible."""
    number, bound = kinds.parse_number(str(value).strip()), kinds.parse_number(str(limit).strip())
    if number is None and bound is None:
        return _compare_parts(value, limit)
    if number is None or bound is None:
        return None  # "EUR 500" is neither above nor below 10
    return (number > bound) - (number < bound)


def _compare_versions(value: object, other: object) -> int | None:
    """Compare numbers as numbers, and texts as dates or versions: "1.9" is below "1.10"."""
    if isinstance(value, str) and isinstance(other, str):
        return _compare_parts(value, other)
    return _compare_numbers(value, other)


def _compare_parts(value: object, other: object) -> int | None:
    """Compare texts by the numbers and words in them, from left to right."""
    parts, other_parts = _split_parts(value), _split_parts(other)
    if not parts or not other_parts:
        return None
    return (parts > other_parts) - (parts < other_parts)


def _split_parts(value: object) -> list[tuple[int, int, str]]:
    """Split a text that contains a number into words and numbers. Words sort below numbers."""
    parts: list[tuple[int, int, str]] = []
    for part in _PARTS.findall(str(value).lower()):
        is_number = part.isdecimal()
        parts.append((1, int(part), "") if is_number else (0, 0, part))
    return parts if any(kind for kind, _, _ in parts) else []


RULES: Mapping[str, type[Rule]] = {
    rule.key: rule
    for rule in (
        MustFind,
        MustFindAny,
        MustNotFind,
        InOrder,
        ExpectNoResults,
        EveryResult,
        MaxPer,
        NewestFirst,
    )
}
