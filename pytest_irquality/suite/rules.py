"""Rules about the results of one query. Each class defines, parses and checks one rule.

To add a rule, write a subclass of ``Rule`` and add it to ``RULES``. The parser, the JSON Schema
and the reference page follow from its ``kind`` and its other attributes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any, ClassVar, NamedTuple, Protocol

from pytest_irquality.io import dataclass, field, replace
from pytest_irquality.io.text import DataPart, DocPart, Text, format_count, join, write
from pytest_irquality.suite import kinds
from pytest_irquality.suite.kinds import CUTOFF, TEXT, Key, Kind
from pytest_irquality.suite.mistakes import Location, Mistake, quote
from pytest_irquality.suite.yaml_source import ListNode, MappingNode, Node, ScalarNode

PARAM_PREFIX = "$params."


class RankingView(Protocol):
    """The part of a ``Ranking`` that rules read, because ``suite`` cannot import ``retrieval``."""

    @property
    def doc_ids(self) -> Sequence[str]:
        """Return the ids of the results (or of the passages in them), best first."""

    @property
    def passages(self) -> Mapping[int, tuple[str, ...]]:
        """Return the passages in each result that has some, by the index of the result."""

    @property
    def fields(self) -> Sequence[Mapping[str, object]]:
        """Return the fields of each result by their dotted path, best first."""


@dataclass(frozen=True)
class Rule:
    """A requirement on the results of one query.

    Attributes:
        key: The key in a suite.
        help: What the rule requires, for the reference page and editors.
        kind: How the value of the key is read.
        is_for_each_query: Whether the rule may be written under ``each_query``.
        expects_results: Whether the rule contradicts ``expect_no_results``. A rule that only
            forbids results does not.
        wants_documents: Whether the documents that the rule names must be found.
        reads_fields: Whether the rule reads fields of results. Such a rule is checked on the
            results themselves, even with ``match: text``.
    """

    location: Location = field(default=Location(), compare=False, kw_only=True)

    key: ClassVar[str]
    help: ClassVar[str]
    kind: ClassVar[Kind[Any]]
    is_for_each_query: ClassVar[bool] = False
    expects_results: ClassVar[bool] = True
    wants_documents: ClassVar[bool] = False
    reads_fields: ClassVar[bool] = False

    @classmethod
    def make(cls, value: Any, location: Location) -> Rule | None:
        """Make the rule from the value of its key. Return ``None`` if it switches the rule off."""
        make: Callable[..., Rule] = cls  # Most subclasses have a field for the value.
        return make(value, location=location)

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
        self,
        ranking: RankingView,
        params: Mapping[str, object],
        top_k: int,
        titles: Mapping[str, str],
    ) -> list[Text]:
        """Return the ways in which a ranking breaks the rule.

        Args:
            ranking: The results. With ``match: text``, the ids are passages, except for rules that
                read fields.
            params: The parameters of the query.
            top_k: The rank for documents without one.
            titles: The titles of documents, by id.

        Returns:
            One text for each violation, without the query. Empty if the rule holds.
        """
        return list(self._iter_violations(ranking, _RuleContext(params, top_k, titles)))

    def _iter_violations(self, ranking: RankingView, context: _RuleContext) -> Iterator[Text]:
        raise NotImplementedError


class _RuleContext(NamedTuple):
    """The values that a rule is checked with, and the names of documents in its texts."""

    params: Mapping[str, object]
    top_k: int
    titles: Mapping[str, str]

    def name_document(self, doc_id: str) -> DocPart:
        title = self.titles.get(doc_id, "")
        return DocPart(doc_id, title if title != doc_id else "")

    def name_hit(self, hit: _Hit) -> Text:
        return write(f"result {hit.rank}, ", self.name_document(hit.doc_id))

    def report_missing_fields(self, hit: _Hit, paths: Sequence[str]) -> Iterator[Text]:
        for path in paths:
            if hit.fields.get(path) is None:
                yield self.name_hit(hit) + f", has no field '{path}'"


class _Hit(NamedTuple):
    rank: int
    doc_id: str
    fields: Mapping[str, object]


# -- Rules about documents -------------------------------------------------------------------------


def _read_ranks(node: Node, name: str) -> dict[str, int | None]:
    """Read documents: a mapping to ranks, a list, or a single id."""
    ranks: dict[str, int | None] = {}
    if isinstance(node, MappingNode):
        for key, value in kinds.read_entries(node, name):
            kinds.check_pair(key, value, "rank", name)
            ranks[key.text] = CUTOFF.read(value, f"The rank of {quote(key.text)}")
    else:
        ranks = dict.fromkeys(kinds.TEXTS.read(node, name))
    if not ranks:
        raise Mistake(node.line, f"{name} lists no documents")
    return ranks


@dataclass(frozen=True)
class DocumentRule(Rule):
    """A rule that names documents.

    Attributes:
        ranks: The rank of each document, or ``None`` for ``top_k``.
    """

    ranks: Mapping[str, int | None]

    kind = Kind(_read_ranks, {})

    def __hash__(self) -> int:
        # The order of a mapping does not matter for equality.
        return hash((self.key, frozenset(self.ranks.items())))

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

    def _iter_violations(self, ranking: RankingView, context: _RuleContext) -> Iterator[Text]:
        ranks = _find_ranks(ranking)
        verb = "must" if self.wants_documents else "must not"
        for doc_id, rank in self.iter_ranks(context.top_k):
            if _is_in_top(ranks, doc_id, rank) != self.wants_documents:
                problem = f" {_describe_rank(ranks, doc_id)}, but {verb} be in the top {rank}"
                yield write(context.name_document(doc_id), problem)


def _find_ranks(ranking: RankingView) -> dict[str, int]:
    """Return the rank of each document without duplicates or, with passages, its position.

    Several passages may be in one result, and then share its rank.
    """
    if ranking.passages:
        ranks: dict[str, int] = {}
        for index, doc_id in enumerate(ranking.doc_ids):
            for name in ranking.passages.get(index, (doc_id,)):
                ranks.setdefault(name, index + 1)
        return ranks
    return {doc_id: rank for rank, doc_id in enumerate(dict.fromkeys(ranking.doc_ids), start=1)}


def _is_in_top(ranks: Mapping[str, int], doc_id: str, rank: int) -> bool:
    return doc_id in ranks and ranks[doc_id] <= rank


def _describe_rank(ranks: Mapping[str, int], doc_id: str) -> str:
    return f"is at rank {ranks[doc_id]}" if doc_id in ranks else "was not retrieved"


class MustFind(DocumentRule):
    """Each named document must be at its rank or better."""

    key = "must_find"
    help = "Each of these documents must be at the given rank or better; in a list, within `top_k`."
    wants_documents = True


class MustFindAny(DocumentRule):
    """At least one named document must be at its rank or better."""

    key = "must_find_any"
    help = "At least one of these documents must be at its rank or better."
    wants_documents = True

    def _iter_violations(self, ranking: RankingView, context: _RuleContext) -> Iterator[Text]:
        ranks = _find_ranks(ranking)
        problems = []
        for doc_id, rank in self.iter_ranks(context.top_k):
            if _is_in_top(ranks, doc_id, rank):
                return
            problem = f" in the top {rank} (it {_describe_rank(ranks, doc_id)})"
            problems.append(write(context.name_document(doc_id), problem))
        yield write("needs ", join(problems, " or "))


class MustNotFind(DocumentRule):
    """None of the named documents may be at its rank or better."""

    key = "must_not_find"
    help = "None of these documents may be at the given rank or better; in a list, within `top_k`."
    is_for_each_query = True
    expects_results = False


@dataclass(frozen=True)
class InOrder(Rule):
    """Documents that must be in this order. A missing one counts as below all others."""

    documents: tuple[str, ...]

    key = "in_order"
    help = "These documents must be in this order."
    kind = kinds.make_list(TEXT, minimum=2)

    @property
    def doc_ids(self) -> tuple[str, ...]:
        """Return the documents in their order."""
        return self.documents

    def _iter_violations(self, ranking: RankingView, context: _RuleContext) -> Iterator[Text]:
        ranks = _find_ranks(ranking)
        if ranks.keys().isdisjoint(self.documents):
            # Otherwise an empty ranking would satisfy the rule.
            named = list(map(context.name_document, self.documents))
            yield write("none of ", join(named), " was returned")
            return
        after_last = len(ranking.doc_ids) + 1
        for above, below in pairwise(self.documents):
            if below in ranks and ranks.get(above, after_last) > ranks[below]:
                yield write(
                    context.name_document(above),
                    f" {_describe_rank(ranks, above)}, but must be above ",
                    context.name_document(below),
                    f", which is at rank {ranks[below]}",
                )


@dataclass(frozen=True)
class ExpectNoResults(Rule):
    """The query must return nothing."""

    key = "expect_no_results"
    help = "Whether the query must return nothing."
    kind = kinds.FLAG
    expects_results = False

    @classmethod
    def make(cls, value: Any, location: Location) -> Rule | None:
        """Make the rule if the value is true."""
        return cls(location=location) if value else None

    def get_depth(self, top_k: int) -> int:
        """Return 1, since the first result breaks the rule."""
        return 1

    def _iter_violations(self, ranking: RankingView, context: _RuleContext) -> Iterator[Text]:
        if ranking.doc_ids:
            count = format_count(len(ranking.doc_ids), "result")
            first = context.name_document(ranking.doc_ids[0])
            yield write(f"must return nothing, but returned {count}, starting with ", first)


# -- Rules about fields ----------------------------------------------------------------------------


_CONDITIONS = {
    "is": "must be ",
    "not": "must not be ",
    "min": "must be at least ",
    "max": "must be at most ",
}


@dataclass(frozen=True)
class FieldCondition:
    """A condition on one field of every result.

    Attributes:
        path: The dotted path of the field.
        key: The key in a suite, or ``is`` for values without a key.
        values: Values as written, or ``$params.name`` for a parameter of the query.
    """

    path: str
    key: str
    values: tuple[object, ...]

    def explain_violation(self, value: object, params: Mapping[str, object]) -> Text:
        """Say what the value must be, or return an empty text if it meets the condition.

        Of a field with several values, one must meet ``is``, and every one ``min`` and ``max``.
        """
        values = value if isinstance(value, list | tuple) else (value,)
        required = _resolve(self.values, params)
        if self.key in ("is", "not"):
            named = set(map(_normalize, required))
            is_named = any(_normalize(each) in named for each in values)
            is_broken = is_named == (self.key == "not")
        else:
            sign = 1 if self.key == "min" else -1
            # A parameter that is a list is not a limit, so no value meets the condition.
            limit = required[0] if len(required) == 1 else None
            orders = [_compare_numbers(each, limit) for each in values]
            is_broken = not orders or any(each is None or each * sign < 0 for each in orders)
        if not is_broken:
            return Text()
        shown = _show_values(required) if required else "a value of an empty list"
        return write(_CONDITIONS[self.key], shown)


def _read_values(node: Node, name: str) -> tuple[object, ...]:
    """Read one value or a list of values."""
    nodes = node.items if isinstance(node, ListNode) else [node]
    if not nodes:
        raise Mistake(node.line, f"{name} lists no values")
    values = []
    for item in nodes:
        text = kinds.read_text(item, name)
        if text.startswith("$") and not _get_param_name(text):
            hint = f"Write '{PARAM_PREFIX}name' for a parameter of the query"
            raise Mistake(item.line, f"{name} is {quote(text)}. {hint}.")
        values.append(text if text.startswith(PARAM_PREFIX) else kinds.read_value(item, name))
    return tuple(values)


def _read_limit(node: Node, name: str) -> tuple[object, ...]:
    values = _read_values(node, name)
    if len(values) != 1:
        raise Mistake(node.line, f"{name} must be a single value")
    if not _get_param_name(values[0]) and not _split_parts(values[0]):
        message = f"{name} must be a number or a date, not {quote(str(values[0]))}"
        raise Mistake(node.line, message)
    return values


_VALUES = Kind(_read_values, {})
_LIMIT = Kind(_read_limit, TEXT.schema)
_CONDITION_KEYS = {
    "not": Key(_VALUES, "Values that it must not have.", "none"),
    "min": Key(_LIMIT, "The lowest allowed value.", "none"),
    "max": Key(_LIMIT, "The highest allowed value.", "none"),
}
_COMPARISON = re.compile("([<>])=? *(?=[0-9$])")


def _read_condition(node: Node, name: str) -> Mapping[str, tuple[object, ...]]:
    """Read values by the key of their condition."""
    if isinstance(node, ScalarNode) and (sign := _COMPARISON.match(node.text)):
        bound = "min" if sign[1] == ">" else "max"
        number = node.text[sign.end() :]
        message = f"{name} must be written as {{{bound}: {number}}}, not {quote(node.text)}"
        raise Mistake(node.line, message)
    if not isinstance(node, MappingNode):
        return {"is": _read_values(node, name)}
    values: dict[str, tuple[object, ...]] = kinds.make_table(_CONDITION_KEYS).read(node, name)
    if not values:
        raise Mistake(node.line, f"{name} needs a value, 'not', 'min' or 'max'")
    return values


_CONDITION = Kind(_read_condition, {})


class FieldRule(Rule):
    """A rule about fields of the first results."""

    is_for_each_query = True
    expects_results = False
    reads_fields = True


@dataclass(frozen=True)
class EveryResult(FieldRule):
    """Conditions on fields of each of the first results."""

    conditions: tuple[FieldCondition, ...]

    key = "every_result"
    help = "Conditions on fields of the first `top_k` results: a value, `not`, `min` or `max`."
    kind = kinds.make_mapping(_CONDITION, "'every_result: {key}'", example="{FIELD: VALUE}")

    @classmethod
    def make(cls, value: Any, location: Location) -> Rule | None:
        """Make the rule from its conditions, by field path."""
        conditions = []
        for path, values_by_key in value.items():
            for key, values in values_by_key.items():
                conditions.append(FieldCondition(path, key, values))
        return cls(tuple(conditions), location=location)

    @property
    def field_paths(self) -> tuple[str, ...]:
        """Return the fields of results that the rule reads."""
        return tuple(dict.fromkeys(condition.path for condition in self.conditions))

    @property
    def param_names(self) -> tuple[str, ...]:
        """Return the parameters that the conditions name."""
        values = chain.from_iterable(condition.values for condition in self.conditions)
        return tuple(dict.fromkeys(filter(None, map(_get_param_name, values))))

    def _iter_violations(self, ranking: RankingView, context: _RuleContext) -> Iterator[Text]:
        for hit in _iter_hits(ranking, context.top_k):
            yield from context.report_missing_fields(hit, self.field_paths)
            for condition in self.conditions:
                value = hit.fields.get(condition.path)
                if value is None:
                    continue
                problem = condition.explain_violation(value, context.params)
                if problem:
                    has = write(f", has {condition.path} ", _show_values((value,)), ", but ")
                    yield context.name_hit(hit) + has + problem


@dataclass(frozen=True)
class MaxPer(FieldRule):
    """At most a given number of results with the same value of a field, for diversity."""

    limits: Mapping[str, int]

    key = "max_per"
    help = "How many of the first `top_k` results may have the same value of a field."
    kind = kinds.make_mapping(kinds.COUNT, "'max_per: {key}'", example="{FIELD: NUMBER}")

    def __hash__(self) -> int:
        return hash((self.key, frozenset(self.limits.items())))

    @property
    def field_paths(self) -> tuple[str, ...]:
        """Return the fields of results that the rule reads."""
        return tuple(self.limits)

    def _iter_violations(self, ranking: RankingView, context: _RuleContext) -> Iterator[Text]:
        for path, limit in self.limits.items():
            groups: dict[Hashable, list[_Hit]] = {}
            for hit in _iter_hits(ranking, context.top_k):
                value = hit.fields.get(path)
                yield from context.report_missing_fields(hit, [path])
                if value is not None:
                    groups.setdefault(_normalize(value), []).append(hit)
            for group in groups.values():
                if len(group) > limit:
                    number = f", is number {limit + 1} of {len(group)} with {path} "
                    value = _show_values((group[limit].fields[path],))
                    allowed = f", but at most {limit} may have it"
                    yield context.name_hit(group[limit]) + number + value + allowed


@dataclass(frozen=True)
class NewestFirst(FieldRule):
    """Among the results of a group, no older version may be above a newer one.

    Attributes:
        group_path: The field that versions of one document share (``within``).
        version_path: The field that orders them (``by``): numbers, dates or versions.
    """

    group_path: str
    version_path: str

    key = "newest_first"
    help = "No outdated version may be above a newer one."
    kind = kinds.make_table(
        {
            "within": Key(TEXT, "The field that versions of one document share."),
            "by": Key(TEXT, "The field that orders them."),
        },
        "`{within: FIELD, by: FIELD}`",
    )

    @classmethod
    def make(cls, value: Any, location: Location) -> Rule | None:
        """Make the rule from its two fields."""
        return cls(value["within"], value["by"], location=location)

    @property
    def field_paths(self) -> tuple[str, ...]:
        """Return the fields of results that the rule reads."""
        return (self.group_path, self.version_path)

    def _iter_violations(self, ranking: RankingView, context: _RuleContext) -> Iterator[Text]:
        # The result with the oldest version of each group so far. If any result above is older
        # than the current one, this one is.
        oldest: dict[Hashable, _Hit] = {}
        for hit in _iter_hits(ranking, context.top_k):
            yield from context.report_missing_fields(hit, self.field_paths)
            group = hit.fields.get(self.group_path)
            version = hit.fields.get(self.version_path)
            if group is None or version is None:
                continue
            above = oldest.setdefault(_normalize(group), hit)
            above_version = above.fields[self.version_path]
            order = _compare_versions(above_version, version)
            if order is None or order < 0:
                problem = "is above" if order else "cannot be compared with"
                yield context.name_hit(above) + write(
                    f", has {self.version_path} ",
                    _show_values((above_version,)),
                    f", and {problem} result {hit.rank}, ",
                    context.name_document(hit.doc_id),
                    f", with {self.version_path} ",
                    _show_values((version,)),
                )
            elif order > 0:
                oldest[_normalize(group)] = hit


# -- Values of fields ------------------------------------------------------------------------------


def _iter_hits(ranking: RankingView, top_k: int) -> Iterator[_Hit]:
    """Yield each of the first results with its fields."""
    for index, doc_id in enumerate(ranking.doc_ids[:top_k]):
        fields = ranking.fields[index] if index < len(ranking.fields) else {}
        yield _Hit(index + 1, doc_id, fields)


def _show_values(values: Sequence[object]) -> Text:
    """Show values of fields, which come from data."""
    return join([DataPart(quote(str(value))) for value in values], " or ")


def _get_param_name(value: object) -> str:
    if isinstance(value, str) and value.startswith(PARAM_PREFIX):
        return value.removeprefix(PARAM_PREFIX)
    return ""


def _resolve(values: Sequence[object], params: Mapping[str, object]) -> tuple[object, ...]:
    """Replace the names of parameters with their values. A parameter may be a list of values."""
    resolved: list[object] = []
    for value in values:
        name = _get_param_name(value)
        resolved_value = params.get(name) if name else value
        if isinstance(resolved_value, list | tuple):
            resolved += resolved_value
        else:
            resolved.append(resolved_value)
    return tuple(resolved)


def _normalize(value: object) -> Hashable:
    """Return a key for comparing values: 3, 3.0 and "3" have the same key.

    Texts are compared as they are, so the tenants "0123" and "123" differ.
    """
    if value is None:
        return ()  # It equals no text, not even "None".
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


_NUMBERS_AND_WORDS = re.compile(r"[0-9]+|[^\W\d_]+")


def _compare_parts(value: object, other: object) -> int | None:
    """Compare texts by the numbers and words in them, from left to right."""
    parts, other_parts = _split_parts(value), _split_parts(other)
    if not parts or not other_parts:
        return None
    return (parts > other_parts) - (parts < other_parts)


def _split_parts(value: object) -> list[tuple[int, int, str]]:
    """Split a text that contains a number into words and numbers. Words sort below numbers.

    A text is below its own continuation: "1.0" is below "1.0-rc1".
    """
    parts: list[tuple[int, int, str]] = []
    for part in _NUMBERS_AND_WORDS.findall(str(value).lower()):
        is_number = part.isdecimal()
        parts.append((1, int(part), "") if is_number else (0, 0, part))
    return parts if any(is_number for is_number, _, _ in parts) else []


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
