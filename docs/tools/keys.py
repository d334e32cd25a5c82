"""Write the reference page of a suite's keys from the tables that suites are read by."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from docs.tools import ROOT
from pytest_irquality.suite.keys import FILE_KEYS, QUERY_KEYS, SUITE_KEYS, THRESHOLD_KEYS
from pytest_irquality.suite.kinds import Key, Schema

PAGE = ROOT / "docs/reference/keys.md"

# The keys that most suites need, in the order in which people meet them.
ESSENTIAL_SUITE_KEYS = ("suite", "queries", "metrics", "thresholds", "tags", "each_query")
ESSENTIAL_QUERY_KEYS = ("query", "tags", "relevant", "must_find", "must_not_find", "known_issue")
UNREMARKABLE_DEFAULTS = frozenset({"none", "nothing", "no such rule", "any drop", "any rise"})

UNREMARKABLE_FORMS = frozenset({"a whole number of 1 or more", "`true` or `false`"})

HEAD = """\
# Keys

All keys of [the suite file](suite.md). The first twelve are enough for most suites; look up the
advanced ones when you need them. This page is generated from the code.
"""


def generate() -> Iterator[tuple[Path, str]]:
    """Yield the page."""
    yield PAGE, render_page()


def render_page() -> str:
    """Render the page as Markdown. Each key is a heading, so that it has an anchor."""
    essential_suite_keys = {name: SUITE_KEYS[name] for name in ESSENTIAL_SUITE_KEYS}
    essential_query_keys = {name: QUERY_KEYS[name] for name in ESSENTIAL_QUERY_KEYS}
    advanced_suite_keys = {
        name: key for name, key in SUITE_KEYS.items() if name not in essential_suite_keys
    }
    advanced_query_keys = {
        name: key for name, key in QUERY_KEYS.items() if name not in essential_query_keys
    }
    lines = [HEAD]
    lines += _render_section("Suite", "", essential_suite_keys)
    lines += _render_section("Query", "", essential_query_keys, owner="query")
    lines += _render_section("Advanced: suite", "", advanced_suite_keys)
    lines += _render_section("Advanced: query", "", advanced_query_keys, owner="query")
    lines += _render_section(
        "Advanced: threshold",
        "Under the name of a metric. A single number is the minimum, or the maximum if lower is"
        " better.",
        THRESHOLD_KEYS,
        owner="threshold",
    )
    lines += _render_section(
        "Advanced: file", "In an entry of `judgments` or `queries` that is a file:", FILE_KEYS
    )
    return "\n".join(lines)


def _render_section(
    title: str, about: str, keys: Mapping[str, Key], *, owner: str = ""
) -> Iterator[str]:
    yield from (f"## {title}", "")
    if about:
        yield from (about, "")
    for name, key in keys.items():
        # An anchor must stay the same if a key of this name is added elsewhere.
        others = QUERY_KEYS if owner == "threshold" else SUITE_KEYS
        is_ambiguous = bool(owner) and name in others
        yield from (f"### `{name}`{f' of a {owner}' if is_ambiguous else ''}", "")
        yield _describe(key)
        yield ""
        yield from _list_nested_keys(key.schema)


def _describe(key: Key) -> str:
    parts = [key.help]
    # Words such as "a list of metrics" add nothing. Examples and limits do.
    if re.search(r"[`0-9]", key.kind.form) and key.kind.form not in UNREMARKABLE_FORMS:
        parts.append(f"Value: {key.kind.form}.")
    if not key.default:
        parts.append("**Required.**")
    elif key.default not in UNREMARKABLE_DEFAULTS:
        parts.append(f"Default: {key.default}.")
    return " ".join(parts)


def _list_nested_keys(schema: Schema) -> Iterator[str]:
    """List the keys of a value that is a mapping, each with its description."""
    described = []
    for name, entry in schema.get("properties", {}).items():
        if "description" in entry:
            described.append(f"- `{name}`: {entry['description']}")
    # A single key repeats what the help of the value says.
    if len(described) > 1:
        yield from (*described, "")
