"""Names of items: what ``-k``, node ids, JUnit and IDEs can live with."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from pytest_irquality.suite.model import Check

# "@" splits a node id in xdist and is a syntax error in -k, as are brackets, colons and white
# space.
UNFIT = re.compile(r"[\s@\[\]():\x00-\x1f\x7f]+")
SPECIAL = re.compile(
    r"_.*|pytest_.*|pytestmark|(setup|teardown)(_(module|function|class|method))?|(setUp|tearDown)(Module|Class)?"
)
LONGEST = 80


def slug(text: str) -> str:
    """A text as part of a node id: ``office chair`` -> ``office-chair``."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else " " for c in text)
    name = UNFIT.sub("-", text)[:LONGEST].strip("-") or "-"
    try:
        os.fsencode(name)  # pytest keeps the name of the current test in the environment
    except UnicodeEncodeError:
        return name.encode("ascii", "backslashreplace").decode()
    return name


def check_names(checks: Iterable[Check]) -> Iterator[Check]:
    """The checks under unique names.

    Limits claim theirs first, so that a new query never renames a threshold.
    """
    checks = list(checks)
    limits = {slug(check.name) for check in checks if check.query is None}
    taken: set[str] = set()
    latest: dict[str, int] = {}
    names: dict[int, str] = {}
    for index, check in sorted(enumerate(checks), key=lambda pair: pair[1].query is not None):
        name = slug(check.name)
        if check.query and (name in limits or SPECIAL.fullmatch(name)):
            name = f"query-{name}"
        elif SPECIAL.fullmatch(name):
            name = f"limit-{name}"
        unique, n = name, latest.get(name, 1)
        while unique in taken:
            n += 1
            unique = f"{name}-{n}"
        latest[name] = n
        taken.add(unique)
        names[index] = unique
    for index, check in enumerate(checks):
        yield check._replace(name=names[index])
