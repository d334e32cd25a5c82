"""The pytest items of a suite, under names that ``-k``, node ids, JUnit and editors can have."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
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
    return tuple(_name_items(items))


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


def _name_items(items: Sequence[CheckItem]) -> Iterator[CheckItem]:
    """Give each item a unique name. Checks choose first, so a new query never renames one."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    next_numbers: dict[str, int] = {}
    is_query = [item.kind is ItemKind.QUERY for item in items]
    check_names = set()
    for index, item in enumerate(items):
        if not is_query[index]:
            check_names.add(make_item_name(item.name or item.label))
    for index in sorted(range(len(items)), key=is_query.__getitem__):
        name = make_item_name(items[index].name or items[index].label)
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
    for index, item in enumerate(items):
        yield replace(item, name=names[index])
