"""The page of a suite's keys, drawn from the tables that the reader reads by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_irquality.suite.blocks import GUARD_KEYS, LINE_KEYS
from pytest_irquality.suite.key_tables import EXPERIMENTAL, Key
from pytest_irquality.suite.keys import FILE_KEYS, QUERY_KEYS, SUITE_KEYS

HEAD = """\
# Keys

Every key of [the suite file](suite.md), drawn from the tables that suites are read by (`python -m docs.tools.renew`).
Keys marked *experimental* may still change; all others are stable.
"""

TABLES: Mapping[str, tuple[Mapping[str, Key], str]] = {
    "Suite": (SUITE_KEYS, "At the top of the file."),
    "Query": (QUERY_KEYS, "An entry under `queries`, or a line of a JSONL file of queries."),
    "File": (FILE_KEYS, "An entry under `judgments`, or one under `queries` that is a file."),
    "Limit": (
        LINE_KEYS,
        "Under a measure: numbers, percentages, or durations for latency; drops in points, or a"
        " percentage of the baseline's value. A number that stands alone is the floor, or the"
        " ceiling where lower is better.",
    ),
    "Guard": (GUARD_KEYS, "Under `each_query`: `fail`, `warn`, `ignore`, or `{max: 2}` queries."),
}

NOTHING = ("none", "no such rule", "no floor", "no ceiling", "any drop", "any rise")


def page() -> str:
    """The whole page, as Markdown."""
    return "\n".join([HEAD, *(line for title in TABLES for line in section(title))])


def section(title: str) -> Iterator[str]:
    """One table of keys."""
    keys, about = TABLES[title]
    yield f"## {title}"
    yield ""
    yield about
    yield ""
    for name, key in keys.items():
        default = "**Required.**" if not key.default else f"Default: {key.default}."
        said = "" if key.default in NOTHING else f" {default}"
        form = "" if title in ("Limit", "Guard") else f" ({key.kind.form})"
        may_change = " *Experimental.*" if name in EXPERIMENTAL else ""
        yield f"- `{name}`{form}: {key.help}{said}{may_change}"
    yield ""
