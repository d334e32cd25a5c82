"""The pytest items of a suite, under names that ``-k``, node ids, JUnit and editors can have."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace

from pytest_irquality.suite.model import CheckItem, ItemKind, Location, Suite

MAX_NAME_LENGTH = 80

# xdist splits node ids at "@", which is also a syntax error in -k, as are brackets, colons and
# spaces.
_UNSAFE = re.compile(r"[\s@\[\]():\x00-\x1f\x7f]+")
# pytest gives these names a meaning, or drops them.
_SPECIAL = re.compile(
    r"_.*|pytest_.*|pytestmark|(setup|teardown)(_(module|function|class|method))?"
    r"|(setUp|tearDown)(Module|Class)?"
)


def make_items(suite: Suite, checks: Sequence[CheckItem]) -> tuple[CheckItem, ...]:
    """Make the items of a suite, each with a name of its own.

    Args:
        suite: The suite without items.
        checks: What is required of several queries, still without names.

    Returns:
        An item for each inline query (variants included) and each query from a file that has rules
        or thresholds, then the checks in the order of the file, then one for all answers and one
        for the default checks.
    """
    items = []
    for query in suite.queries:
        if not query.is_sampled or query.rules or query.thresholds:
            items.append(
                CheckItem(query.id, query.text, ItemKind.QUERY, query.location, query_id=query.id)
            )
    items += sorted(checks, key=lambda check: check.location.line)
    first_line = Location(suite.path)
    items.append(CheckItem("answers", "every query has an answer", ItemKind.ANSWERS, first_line))
    if not suite.is_probe_suite and not suite.baseline_retriever:
        items.append(CheckItem("baseline", "default checks", ItemKind.DEFAULT_CHECKS, first_line))
    named = []
    for item, name in zip(items, _choose_names(items), strict=True):
        named.append(item if item.name == name else replace(item, name=name))
    return tuple(named)


def make_item_name(text: str) -> str:
    """Make the part of a node id for a text: ``office chair`` becomes ``office-chair``."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else " " for c in text)
    name = _UNSAFE.sub("-", text)[:MAX_NAME_LENGTH].strip("-") or "-"
    try:
        os.fsencode(name)  # pytest puts the name of the current test into the environment
    except UnicodeEncodeError:
        return name.encode("ascii", "backslashreplace").decode()
    return name


def _choose_names(items: Sequence[CheckItem]) -> list[str]:
    """Choose unique names. Checks come first, so a new query never renames one."""
    wanted = [make_item_name(item.label if item.name == "" else item.name) for item in items]
    is_query = [item.kind is ItemKind.QUERY for item in items]
    check_names = {name for name, of_query in zip(wanted, is_query, strict=True) if not of_query}
    names = wanted.copy()
    taken: set[str] = set()
    next_numbers: dict[str, int] = {}
    for index in sorted(range(len(items)), key=is_query.__getitem__):
        name = wanted[index]
        if is_query[index] and (name in check_names or _SPECIAL.fullmatch(name)):
            name = f"query-{name}"
        elif _SPECIAL.fullmatch(name):
            name = f"check-{name}"
        unique, number = name, next_numbers.get(name, 2)
        while unique in taken:
            unique = f"{name}-{number}"
            number += 1
        next_numbers[name] = number
        taken.add(unique)
        names[index] = unique
    return names
