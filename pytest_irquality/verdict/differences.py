"""The differences of two exams: each a line of a table, and weaker only where that can be known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, Literal, NamedTuple

from pytest_irquality.suite.demands import Bound, Guard
from pytest_irquality.suite.model import Check, Limits, Query, Suite, TrendLimits
from pytest_irquality.suite.rules import Rule
from pytest_irquality.suite.yaml import Place

Direction = Literal["weaker", "stronger", "other"]
SETTINGS = (
    "retriever", "top_k", "depth", "params", "relevant_from", "undefined", "id_field",
    "text_field", "match", "repeat", "retry", "timeout",
    "baseline_retriever",
)  # fmt: skip
TOLD = 4  # documents
OF_QUERY = ("judgments", "tags", "weight", "variants")


@dataclass(frozen=True)
class Difference:
    """Something in which two exams differ.

    ``kind`` and ``name`` say what, ``then`` and ``now`` are both values in words, with their
    places. ``query`` is the id of the base's query that it is of.
    """

    kind: str
    direction: Direction
    name: str
    then: str = ""
    now: str = ""
    place_then: str = ""
    place_now: str = ""
    query: str | None = None


class Part(NamedTuple):
    """A part of an exam: its value to compare, in words, and where it stands."""

    value: Any
    words: str
    place: Place
    name: str
    query: str | None = None
    by_default: bool = False


class Kind(NamedTuple):
    """The direction of a part that was removed, added, or that has another value."""

    removed: Direction
    added: Direction
    changed: Callable[[Any, Any], Direction]


def _other(then: Any, now: Any) -> Direction:
    return "other"


def _bound(then: Bound, now: Bound) -> Direction:
    if (then.share, then.relative) != (now.share, now.relative):
        return "other"
    return _more(then.left(0.0, then.value), now.left(0.0, now.value))


def _more(then: float, now: float) -> Direction:
    """The direction of a number that allows more when it is higher."""
    return "weaker" if now > then else "stronger"


def _rule(then: Rule, now: Rule) -> Direction:
    if not now.at_least(then) and then.at_least(now):
        return "weaker"
    return "stronger" if now.at_least(then) and not then.at_least(now) else "other"


def _judged(then: tuple[Any, ...], now: tuple[Any, ...]) -> Direction:
    """The direction of a query's grades, which stand first: without any it is in no mean."""
    return "weaker" if then[0] and not now[0] else "other"


KINDS: Mapping[str, Kind] = {
    "limit": Kind("weaker", "stronger", _bound),
    "warning": Kind("other", "other", _other),
    "rule": Kind("weaker", "stronger", _rule),
    "guard": Kind("weaker", "stronger", _more),
    "known issue": Kind("stronger", "weaker", _other),
    "errors": Kind("other", "other", _more),
    "query": Kind("weaker", "other", _other),
    "setting": Kind("other", "other", _other),
    **{name: Kind("other", "other", _other) for name in OF_QUERY},
    "judgments": Kind("weaker", "other", _judged),
}


def differences(then: Suite, now: Suite, fate: Mapping[str, tuple[str, str]]) -> list[Difference]:
    """Every difference. ``fate`` says what became of each query of then, and its id today."""
    same = {old: new for old, (what, new) in fate.items() if what in ("same", "reworded")}
    known = {*same.values()}
    new = [query.text for query in now.queries if query.id not in known]
    added = [Difference("query added", "other", text) for text in new]
    return [*_of_parts(then, now, fate, same), *_of_queries(then, now, fate), *added]


def _of_parts(
    then: Suite, now: Suite, fate: Mapping[str, tuple[str, str]], same: Mapping[str, str]
) -> Iterator[Difference]:
    before, after = _parts(then, {id: id for id in fate}), _parts(now, _back(same))
    for key in {**before, **after}:
        old, new = before.get(key), after.get(key)
        of = (old or after[key]).query  # queries that are new or gone are told themselves
        if (of is None or of in same) and _differ(old, new):
            yield _difference(key[0], old, new, then, now)


def _of_queries(
    then: Suite, now: Suite, fate: Mapping[str, tuple[str, str]]
) -> Iterator[Difference]:
    """The queries of then that are not asked as they were."""
    for id, (what, new_id) in fate.items():
        if what != "same":
            yield _moved(then.by_id[id], what, now.by_id.get(new_id), then)


def _differ(old: Part | None, new: Part | None) -> bool:
    """Tell whether a part was changed, added or removed by somebody.

    A limit that nobody wrote moves with the number of queries that have judgments.
    """
    if old is None or new is None:
        return True
    return old.value != new.value and not (old.by_default and new.by_default)


def _moved(query: Query, what: str, now: Query | None, then: Suite) -> Difference:
    """The difference of a query that is not asked as it was."""
    place = f"{query.place.path or then.path}:{query.place.line}"
    direction: Direction = "weaker" if what in ("removed", "variant") else "other"
    text = now.text if now and what == "reworded" else ""
    return Difference(f"query {what}", direction, query.text, "", text, place, query=query.id)


_NOTHING = Part(None, "", Place(1), "")


def _difference(
    kind: str, old: Part | None, new: Part | None, then: Suite, now: Suite
) -> Difference:
    rule = KINDS[kind]
    if old is None:
        direction = rule.added
    elif new is None:
        direction = rule.removed
    else:
        direction = rule.changed(old.value, new.value)

    def at(part: Part | None, suite: Suite) -> str:
        return f"{part.place.path or suite.path}:{part.place.line}" if part else ""

    either = old or new or _NOTHING
    return Difference(
        kind, direction, either.name, old.words if old else "", new.words if new else "",
        at(old, then), at(new, now), either.query,
    )  # fmt: skip


def _back(same: Mapping[str, str]) -> Mapping[str, str]:
    return {new: old for old, new in same.items()}


def _parts(suite: Suite, ids: Mapping[str, str]) -> dict[tuple[str, ...], Part]:
    """The parts of an exam by their keys, queries by their ids of then."""
    found: dict[tuple[str, ...], Part] = {}
    for check in (*suite.checks, *suite.trends):
        for key, part in _of_check(check):
            found[key] = part
    for query in suite.queries:
        id = ids.get(query.id, f"new {query.id}")
        for key, part in _of_query(query):
            found[(key[0], id, *key[1:])] = part._replace(query=id)
    for name in SETTINGS:
        value = getattr(suite, name, None)
        place = suite.places.get(name, Place(1))
        found["setting", name] = Part(value, str(value), place, name)
    errors = suite.places.get("errors", Place(1))
    found["errors", ""] = Part(suite.max_errors, str(suite.max_errors), errors, "errors")
    return found


def _of_check(check: Check) -> Iterator[tuple[tuple[str, ...], Part]]:
    demand, on = check.demand, (check.scope, check.tag or "")
    if isinstance(demand, Guard):
        most = inf if demand.most is None else demand.most
        yield ("guard", demand.key), Part(most, str(demand.most), check.place, check.label)
    elif isinstance(demand, Rule):
        yield ("rule", *on, demand.key), _rule_part(demand, check.place)
    elif isinstance(demand, Limits):
        yield from _of_limits(demand, on, check)


def _of_limits(
    limits: Limits, on: tuple[str, ...], check: Check
) -> Iterator[tuple[tuple[str, ...], Part]]:
    place, name = check.place, check.label
    if isinstance(limits, TrendLimits):
        on = (*on, str(limits.over))
    for bound in limits.bounds:
        kind = "limit" if bound.fails else "warning"
        words = f"{bound.key} {bound.text or bound.value}"
        part = Part(bound, words, place, name, by_default=check.by_default)
        yield (kind, *on, str(limits.measure), bound.key), part
    if limits.known_issue:
        key = ("known issue", *on, str(limits.measure))
        yield key, Part(limits.known_issue, limits.known_issue, place, name)


def _of_query(query: Query) -> Iterator[tuple[tuple[str, ...], Part]]:
    for rule in query.rules:
        yield ("rule", rule.key), _rule_part(rule, query.place, query.text)
    for limits in query.thresholds:
        for bound in limits.bounds:
            kind = "limit" if bound.fails else "warning"
            words = f"{limits.measure} {bound.key} {bound.text or bound.value}"
            key = (kind, str(limits.measure), bound.key)
            yield key, Part(bound, words, query.place, query.text)
    if query.known_issue:
        words = str(query.known_issue)
        yield ("known issue",), Part(query.known_issue, words, query.place, query.text)
    given = query.judgments
    grades = (dict(given.grades), given.relevant_from)
    words = ", ".join(f"{id}: {grade:g}" for id, grade in [*given.grades.items()][:TOLD])
    words += f" and {len(given.grades) - TOLD} more" if len(given.grades) > TOLD else ""
    yield ("judgments",), Part(grades, words, query.place, query.text)
    for name in OF_QUERY[1:]:
        value = getattr(query, name)
        yield (name,), Part(value, str(value), query.place, query.text)


def _rule_part(rule: Rule, place: Place, name: str = "each_query") -> Part:
    words = f"{rule.key} {', '.join(f'{id}: {rank}' for id, rank in rule.documents.items())}"
    # Their order counts, too.
    return Part(_Ordered(rule, tuple(rule.documents.items())), words, place, name)


class _Ordered(NamedTuple):
    rule: Rule
    documents: tuple[tuple[str, int], ...]

    def at_least(self, other: _Ordered) -> bool:
        """Tell whether it demands all that another one does."""
        return self.rule.at_least(other.rule)
