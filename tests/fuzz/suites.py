"""Valid suites that use every key, each with what it says in plain values, made without the reader."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_irquality.suite import Check, Query, Suite
from pytest_irquality.suite.model import Limits

Dice = random.Random
Plain = dict[str, Any]
LETTERS = "abcxyz 019.-_:/é椅😀'\"#,{}[]&*!|>%@`=+~\\\t"
MEASURES = {
    "ndcg@10": "ndcg@10", "NDCG@5": "ndcg@5", "p@3": "precision@3", "precision@1": "precision@1", "mrr@10": "mrr@10",
    "rr@4": "mrr@4", "recall@20": "recall@20", "R@2": "recall@2", "map@100": "map@100", "ap@7": "map@7",
    "hit_rate@3": "success@3", "success@5": "success@5", "f1@10": "f1@10", "err@20": "err@20",
}  # fmt: skip
"""As it is written, and as it is shown. All of them within 0 to 1."""
DURATIONS = {"5s": 5.0, "200ms": 0.2, "1.5s": 1.5, "2min": 120.0}


def word(dice: Dice, letters: str = "abcdefgh0123456789-_") -> str:
    """A plain word."""
    return "".join(dice.choices(letters, k=dice.randint(1, 8)))


def words(dice: Dice, most: int = 6) -> list[str]:
    """Distinct plain words."""
    return list(dict.fromkeys(word(dice) for _ in range(dice.randint(1, most))))


def text(dice: Dice) -> str:
    """A text with whatever a person may write."""
    return "q" + "".join(dice.choices(LETTERS, k=dice.randint(0, 12))).rstrip() + "q"


@dataclass
class Flow:
    """A value that is written on one line, as JSON, which YAML reads."""

    value: Any

    def __str__(self) -> str:
        return json.dumps(self.value, ensure_ascii=False)


@dataclass
class Made:
    """A suite as it is written, key by key, and what it says."""

    dice: Dice
    lines: list[str] = field(default_factory=list)
    says: Plain = field(default_factory=dict)
    checks: list[Plain] = field(default_factory=list)

    def maybe(self, share: float = 0.35) -> bool:
        return self.dice.random() < share

    def write(self, key: str, value: Any) -> None:
        """One key, its value on its line, or where it is a mapping perhaps on lines of their own."""
        if isinstance(value, dict) and value and self.maybe(0.5):
            self.lines.append(f"{key}:")
            self.lines += [f"  {Flow(name)}: {Flow(inner)}" for name, inner in value.items()]
        else:
            self.lines.append(f"{key}: {Flow(value)}")


def suite(dice: Dice) -> tuple[str, Plain]:
    """A suite and what it says."""
    made = Made(dice)
    _settings(made)
    tags = words(dice, 3) if made.maybe() else []
    ids = words(dice)
    queries = [_query(made, id, tags, first=id == ids[0]) for id in ids]
    written = [lines for lines, _ in queries]
    made.says["queries"] = {id: says for id, (_, says) in zip(ids, queries, strict=True)}
    used = [tag for tag in tags if any(tag in says["tags"] for _, says in queries)]
    _limits(made, used)
    blocks = ["queries:", *(line for lines in written for line in lines)]
    settings = made.lines
    whole = [*settings, *blocks] if made.maybe(0.5) else [*blocks, *settings]
    made.says["checks"] = sorted(made.checks, key=repr)
    return "\n".join(whole) + "\n", made.says


def _settings(made: Made) -> None:
    dice, says = made.dice, made.says
    choices: Mapping[str, tuple[Any, str, Any]] = {}
    n, duration = dice.randint(1, 9), dice.choice(list(DURATIONS))
    name, params = text(dice), {word(dice, "abc"): dice.choice([1, 2.5, True, None, "x y"])}
    choices = {
        "suite": (name, "name", name),
        "top_k": (n, "top_k", n),
        "relevant_from": (half := dice.choice([0.5, 1, 2]), "relevant_from", half),
        "undefined": (undefined := dice.choice(["skip", "zero"]), "undefined", undefined),
        "concurrency": (n, "concurrency", n),
        "timeout": (duration, "timeout", DURATIONS[duration]),
        "errors": ({"max": n}, "max_errors", n),
        "repeat": (n, "repeat", n),
        "params": (params, "params", params),
        "id_field": ("metadata.source", "id_field", "metadata.source"),
        "show": (["price"], "show", ["price"]),
    }
    for key, (written, attribute, value) in choices.items():
        if made.maybe():
            made.write(key, written)
            says[attribute] = value
    if made.maybe():
        chosen = list(dict.fromkeys(dice.choices(list(MEASURES), k=3)))
        shown = [MEASURES[measure] for measure in chosen]
        if len(set(shown)) == len(shown):
            made.write("metrics", chosen)
            says["metrics"] = shown


def _limit(dice: Dice) -> tuple[Any, dict[str, float]]:
    """What stands under a measure, and its bounds."""
    floor = dice.choice([0.05, 0.25, 0.5, 0.9])
    return dice.choice([
        (floor, {"min": floor}),
        (f"{round(100 * floor)}%", {"min": floor}),
        ({"min": floor, "max_drop": 0.1}, {"min": floor, "max_drop": 0.1}),
        ({"max_drop": "5%", "warn_below": floor}, {"max_drop": 0.05, "warn_below": floor}),
        ({"max_significant_drop": 0.01}, {"max_significant_drop": 0.01}),
    ])  # fmt: skip


def _block(made: Made, scope: str, tag: str | None) -> dict[str, Any]:
    dice, block = made.dice, {}
    alone = scope == "each_query"  # no test over many queries is of one
    for measure in {MEASURES[name]: name for name in dice.choices(list(MEASURES), k=2)}.values():
        written, bounds = _limit(dice)
        while alone and "max_significant_drop" in bounds:
            written, bounds = _limit(dice)
        check = {"scope": scope, "tag": tag, "measure": MEASURES[measure], "bounds": bounds}
        if isinstance(written, dict) and not alone and made.maybe(0.2):
            written = {**written, "known_issue": "T-1"}
            check["known_issue"] = "T-1"
        if not (bounds.keys() - {"warn_below"}):
            check.pop("known_issue", None)
        block[measure] = written
        made.checks.append(check)
    return block


def _limits(made: Made, tags: Sequence[str]) -> None:
    if made.maybe(0.5):
        made.write("thresholds", _block(made, "suite", None))
    if tags and made.maybe(0.5):
        made.write("tags", {tag: _block(made, "tag", tag) for tag in tags})
    if tags and made.maybe(0.5):
        made.write("each_tag", _block(made, "each_tag", None))
    if made.maybe():
        made.write("each_query", _block(made, "each_query", None))


def _query(made: Made, id: str, tags: Sequence[str], first: bool) -> tuple[list[str], Plain]:
    """A query's lines and what they say. The first has relevant documents, so that every limit has a query."""
    dice = made.dice
    says: Plain = {"text": text(dice), "grades": {}, "tags": [], "rules": {}, "thresholds": []}
    keys: dict[str, Any] = {"query": says["text"], "id": id}
    lowest = made.says.get("relevant_from", 1)
    top_k = made.says.get("top_k", 10)
    documents = words(dice)
    if not first and made.maybe(0.1):
        keys["expect_no_results"] = True
        says["rules"] = {"expect_no_results": {}}
        return _lines(made, keys), says
    if made.maybe(0.4):
        keys["relevant"] = documents
        says["grades"] = dict.fromkeys(documents, float(max(1, lowest)))
    else:
        grades = {name: dice.choice([-1, 0, 1, 2, 3.5]) for name in documents}
        if first or made.maybe(0.7):
            grades[documents[0]] = 4
        keys["relevant"] = grades
        says["grades"] = {name: float(grade) for name, grade in grades.items()}
    for kind in ("must_find", "must_find_any", "must_not_find", "in_order"):
        if not made.maybe(0.25):
            continue
        named = documents if kind != "must_not_find" else [f"no-{name}" for name in documents]
        if kind == "in_order" and len(named) < 2:
            continue
        if kind == "in_order" or made.maybe(0.5):
            keys[kind], ranks = named, dict.fromkeys(named, top_k)
        else:
            ranks = {name: dice.randint(1, 30) for name in named}
            keys[kind] = ranks
        says["rules"][kind] = dict(ranks)
    if tags and (first or made.maybe(0.5)):
        keys["tags"] = says["tags"] = list(dict.fromkeys(dice.choices(tags, k=2)))
    for key, value in {"why": text(dice), "weight": dice.choice([0, 0.5, 3]), "params": {"a": 1}}.items():  # fmt: skip
        if made.maybe(0.2):
            keys[key] = value
            says[key] = value
    if any(grade >= lowest for grade in says["grades"].values()) and made.maybe(0.3):
        measure, (written, bounds) = dice.choice(list(MEASURES)), _limit(dice)
        if "max_significant_drop" not in bounds:
            keys["thresholds"] = {measure: written}
            says["thresholds"] = [(MEASURES[measure], bounds)]
    if (says["rules"] or says["thresholds"]) and made.maybe(0.3):
        keys["known_issue"] = says["known_issue"] = "S-212"
    return _lines(made, keys), says


def _lines(made: Made, keys: Mapping[str, Any]) -> list[str]:
    if made.maybe(0.3):
        return [f"  - {Flow(dict(keys))}"]
    first, *rest = (f"{key}: {Flow(value)}" for key, value in keys.items())
    return [f"  - {first}", *(f"    {line}" for line in rest)]


# -- what a suite that was read says -----------------------------------------------------------------------------


def said(read: Suite, expected: Plain) -> Plain:
    """What a suite says of the settings that ``expected`` has, of its queries and of its limits."""
    settings = {name: getattr(read, name) for name in expected if name not in ("queries", "checks")}
    for name, value in settings.items():
        if isinstance(value, tuple):
            settings[name] = [str(entry) for entry in value]
    queries = {
        query.id: dict(_said_of(query, expected["queries"].get(query.id, {})))
        for query in read.queries
    }
    limits = [_check(check) for check in read.checks if check.limits]
    return {**settings, "queries": queries, "checks": sorted(limits, key=repr)}


def _said_of(query: Query, expected: Plain) -> Iterator[tuple[str, Any]]:
    yield "text", query.text
    yield "grades", dict(query.judgments.grades)
    yield "tags", list(query.tags)
    yield "rules", {rule.key: dict(rule.documents) for rule in query.rules}
    yield "thresholds", [(str(limits.measure), _bounds(limits)) for limits in query.thresholds]
    for name in ("why", "weight", "params"):
        if name in expected:
            yield name, getattr(query, name)
    if issue := query.known_issue:
        yield "known_issue", issue


def _check(check: Check) -> Plain:
    assert check.limits
    said = {"scope": check.scope, "tag": check.tag, "measure": str(check.limits.measure), "bounds": _bounds(check.limits)}  # fmt: skip
    if issue := check.demand.known_issue:
        said["known_issue"] = issue
    return said


def _bounds(limits: Limits) -> dict[str, float]:
    return {bound.key: bound.value for bound in limits.bounds}
