"""A shop with a search, suites and a repository, and what a build of a change says.

The search returns the rankings of a file. By default, twelve documents are returned for each of
twenty queries, and the first three have the grades 3, 2 and 1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from tests.project import Project

QUERIES = tuple(
    f"{color} {thing}"
    for thing in ("kettle", "lamp", "chair", "towel", "bowl")
    for color in ("red", "blue", "green", "white")
)
AGAINST_MAIN = "--ir-baseline=git:main"
STRICT = ("-o", "ir_gate=strict")

# Answers vary from call to call: a query has a list of rankings, which take turns.
VARYING_SEARCH = """
import json
from itertools import count
from pathlib import Path

ANSWERS = Path(__file__).with_name("answers.json")

@pytest.fixture(scope="session")
def retriever():
    answers = json.loads(ANSWERS.read_text())
    numbers = {query: count() for query in answers}

    def search(query, k):
        rankings = answers.get(query, [[]])
        return rankings[next(numbers[query]) % len(rankings)][:k]

    return search
"""

Ranking = list[Any]


def mark_rest_slow(count: int, values: Iterable[object]) -> list[Any]:
    """Return parameters of a test, of which only the first few run by default."""
    return [
        value if number < count else pytest.param(value, marks=pytest.mark.slow)
        for number, value in enumerate(values)
    ]


def list_docs(query: str, count: int = 12) -> Ranking:
    """Return the documents of a query, best first."""
    return [f"{query.replace(' ', '-')}-{number}" for number in range(1, count + 1)]


def sink(docs: Sequence[str], ranks: int = 4) -> Ranking:
    """Return a ranking in which the three graded documents lost some ranks."""
    return [*docs[3 : 3 + ranks], *docs[:3], *docs[3 + ranks :]]


def lose(docs: Sequence[str]) -> Ranking:
    """Return a ranking without the three graded documents."""
    return list(docs[3:])


def find(
    queries: Iterable[str] = QUERIES,
    changed: Iterable[str] = (),
    change: Callable[[Sequence[str]], Ranking] = sink,
) -> dict[str, Ranking]:
    """Return the rankings of all queries, some of which are changed."""
    changed = set(changed)
    rankings = {}
    for query in queries:
        docs = list_docs(query)
        rankings[query] = change(docs) if query in changed else docs
    return rankings


def make_suite(
    queries: Iterable[str] = QUERIES,
    head: str = "",
    extra: Mapping[str, str] | Callable[[str], str] = {},  # noqa: B006 - never changed
) -> str:
    """Make a suite in which the first three documents of each query have grades.

    Args:
        queries: The texts of the queries.
        head: YAML in front of the queries.
        extra: More keys of queries, in the style ``must_find: [d1], weight: 0``.
    """
    lines = [head, "queries:\n"]
    for query in queries:
        first, second, third = list_docs(query, 3)
        more = extra(query) if callable(extra) else extra.get(query, "")
        lines.append(f"  - {{query: {query}, relevant: {{{first}: 3, {second}: 2, {third}: 1}}")
        lines.append(f", {more}}}\n" if more else "}\n")
    return "".join(lines)


@dataclass(frozen=True)
class Build:
    """What a run of ``pytest --ir-suite`` said.

    Attributes:
        outcome: The first word of the conclusion, or empty if there was no decision.
        status: The exit status of pytest.
        text: All that was printed, with single spaces.
        last: The conclusion: the last paragraph of the section.
        data: The JSON report.
    """

    outcome: str
    status: int
    text: str
    last: str
    data: dict[str, Any]
    result: pytest.RunResult

    @property
    def verdict(self) -> tuple[str, int]:
        """Return the outcome and the exit status."""
        return self.outcome, self.status

    @property
    def top(self) -> str:
        """Return the headline and the causes."""
        causes = [cause["text"] for cause in self.data["causes"]]
        return " ".join([self.data["headline"], self.data["summary"], *causes])

    @property
    def coverage(self) -> dict[str, int]:
        """Return the number of queries by status."""
        return dict(self.data["coverage"])

    def list_failed(self, part: str = "checks") -> list[str]:
        """Return the labels of the checks that are not passed."""
        return [each["label"] for each in self.data[part] if each["outcome"] != "PASSED"]


class Shop(Project):
    """A project whose search is good at first."""

    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(pytester, monkeypatch)
        self.write_rankings(find())

    def build(self, *arguments: str, in_subprocess: bool = False) -> Build:
        """Run ``pytest --ir-suite`` with a JSON report."""
        report = self.path / "out.json"
        report.unlink(missing_ok=True)
        page = () if any(a.startswith("--ir-report") for a in arguments) else ("--ir-report=none",)
        result = self.run("--ir-json=out.json", *page, *arguments, in_subprocess=in_subprocess)
        data = json.loads(report.read_text("utf-8")) if report.exists() else {}
        text = " ".join([*result.outlines, *result.errlines])
        return Build(
            data.get("outcome", ""),
            int(result.ret),
            " ".join(text.split()),
            " ".join(data.get("last_paragraph", "").split()),
            data,
            result,
        )

    def record(self, *arguments: str) -> None:
        """Record the baseline, which must succeed."""
        build = self.build("--ir-update-baseline", *arguments)
        assert build.status == 0, build.text

    def break_search(
        self,
        queries: Iterable[str] = QUERIES[:10],
        change: Callable[[Sequence[str]], Ranking] = sink,
    ) -> None:
        """Change the rankings of some queries."""
        self.write_rankings(find(QUERIES, queries, change))

    def vary(self, answers: Mapping[str, Sequence[Ranking]]) -> None:
        """Let the search return the rankings of each query in turn."""
        self.write_conftest(VARYING_SEARCH)
        self.write("answers.json", json.dumps(dict(answers)))

    def remove(self, *names: str) -> None:
        """Delete files."""
        for name in names:
            (self.path / name).unlink()
