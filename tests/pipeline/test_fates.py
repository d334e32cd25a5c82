"""The sums of queries, against an oracle that makes the changes at random and so knows them."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pytest_irquality import load_suite
from pytest_irquality.edges.project import Project
from pytest_irquality.pipeline.exams import Exams
from pytest_irquality.pipeline.judged import Asking, judged
from pytest_irquality.pipeline.plan import Plan
from pytest_irquality.storage.commits import AtCommit
from pytest_irquality.storage.target import Target
from tests.repository import git

SUITES = ("shop", "tools")
Row = dict[str, Any]
OTHERWISE: dict[str, tuple[Row, str]] = {
    "same": ({}, "compared"),
    "renumbered": ({"id": "new"}, "compared"),
    "graded": ({"relevant": ["d", "e"]}, "compared with other judgments"),
    "ungraded": ({"relevant": []}, "unjudged now"),
}
FATES = [*["same"] * 5, *OTHERWISE, "removed", "reworded", "variant", "moved"]
NOW = [*["answer"] * 6, "unanswered now", "skipped"]
HEADER = {"format": "pytest-irquality run", "format_version": 2, "depth": 10}


class Change:
    """The files of a base and of a change, and what is to be told of each suite's queries."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.base: dict[str, str] = {}
        self.today: dict[str, str] = {}
        self.expected: dict[str, Counter[str]] = {name: Counter() for name in SUITES}
        self.fails: set[str] = set()
        self.skips: set[str] = set()
        self.there = {"shop"} | ({"tools"} if random.random() < 0.7 else set())
        self.then: dict[str, list[Row]] = {name: [] for name in SUITES}
        self.now: dict[str, list[Row]] = {name: [] for name in SUITES}
        self.variants: dict[str, list[str]] = {name: [] for name in SUITES}
        self.stored: dict[str, list[Row]] = {name: [] for name in SUITES}
        for number in range(random.randint(1, 9)):
            self._becomes(number, random.choice(FATES))
        for number in range(random.randint(0, 2)):
            self._asks(random.choice(SUITES), {"query": f"fresh{number}", "relevant": ["d"]}, "new")
        for name in SUITES:
            self._written(name)

    def __repr__(self) -> str:
        return f"{self.base}\n{self.today}\nfails: {self.fails}, skips: {self.skips}"

    def _asks(self, suite: str, query: Row, told: str) -> None:
        """Note a query of today, which is to be ``told`` so if it gets an answer."""
        self.now[suite].append(query)
        came = self.random.choice(NOW)
        if came != "answer":
            (self.fails if came == "unanswered now" else self.skips).add(str(query["query"]))
        first = came == "skipped" or (came != "answer" and told != "reworded")
        self.expected[suite][came if first else told] += 1

    def _becomes(self, number: int, fate: str) -> None:
        """Note a query of the base, and what becomes of it."""
        suite = self.random.choice(sorted(self.there))
        other = next(name for name in SUITES if name != suite)
        text, id = f"word{number}", f"id{number}"
        query: Row = {"query": text, "id": id, "relevant": ["d"]}
        self.then[suite].append(query)
        kept = self.random.random() < 0.8
        if kept:
            self.stored[suite].append({"id": id, "query": text, "docs": ["d"]})
        if fate == "removed" and other in self.there and number % 3 == 0:  # it is left in another
            self.then[other].append(query)
            self._asks(other, query, "unanswered then")
        if fate == "variant":
            self.variants[suite].append(text)
        if fate in ("removed", "variant", "moved"):
            self.expected[suite][fate] += 1
        if fate == "moved":
            self._asks(other, query, "moved" if kept else "unanswered then")
        elif fate == "reworded":
            self._asks(suite, {**query, "query": f"other{number}"}, fate)
        elif fate in OTHERWISE:
            changed, told = OTHERWISE[fate]
            id = str(changed.get("id", "id")) + str(number)
            row = {**query, **changed, "id": id}
            self._asks(suite, row, told if kept else "unanswered then")

    def _written(self, name: str) -> None:
        """Write a suite on both sides, each with a query that stays."""
        anchor: Row = {"query": f"anchor {name}", "id": "anchor", "relevant": ["d"]}
        if name in self.there:
            self.base[f"{name}.ir.yaml"] = json.dumps({"queries": [anchor, *self.then[name]]})
            lines: list[Row] = [{"id": "anchor", "query": f"anchor {name}", "docs": ["d"]}]
            lines += [*self.stored[name], {"end": HEADER["format"]}]
            rows = [{**HEADER, "suite": name, "path": f"{name}.ir.yaml"}, *lines]
            text = "".join(f"{json.dumps(row)}\n" for row in rows)
            self.base[f".ir-baseline/{name}.jsonl"] = text
        if name in self.there or self.now[name]:
            anchor |= {"variants": self.variants[name]} if self.variants[name] else {}
            self.random.shuffle(self.now[name])
            self.today[f"{name}.ir.yaml"] = json.dumps({"queries": [anchor, *self.now[name]]})
            self.expected[name]["compared" if name in self.there else "new"] += 1


def committed(folder: Path, changes: list[Change]) -> None:
    """Commit every base to a branch, one on top of the other, each with a name."""
    git(folder, "init", "-q", "-b", "main")
    stream = ""
    for number, one in enumerate(changes):
        stream += "commit refs/heads/main\ncommitter a <a@example.org> 0 +0000\ndata 0\ndeleteall\n"
        for name, text in one.base.items():
            stream += f"M 644 inline {name}\ndata {len(text)}\n{text}\n"
        stream += f"\nreset refs/heads/base{number}\nfrom refs/heads/main\n\n"
    subprocess.run(
        ["git", "-C", folder, "fast-import", "--quiet"], input=stream, text=True, check=True
    )
    for name in SUITES:
        (folder / f"{name}.ir.yaml").write_text("")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "a change that has both")


MANY = int(os.environ.get("IRQUALITY_CHANGES", "240"))
"""Changes that are drawn where there is time; 3,000 of them take some four minutes."""


@pytest.mark.parametrize("many", [10, pytest.param(MANY, marks=pytest.mark.slow)])
def test_the_fates_of_queries_add_up(tmp_path: Path, many: int) -> None:
    random = Random(many)
    changes = [Change(random) for _ in range(many)]
    committed(tmp_path, changes)
    for number, one in enumerate(changes):

        def search(query: str, one: Change = one) -> list[str]:
            if query in one.skips:
                pytest.skip("not here")
            if query in one.fails:
                raise ConnectionError("503")
            return ["d"]

        for name in SUITES:
            (tmp_path / f"{name}.ir.yaml").unlink(missing_ok=True)
        for path, text in one.today.items():
            (tmp_path / path).write_text(text)
        project = Project(tmp_path, tmp_path, named=[tmp_path])
        at = AtCommit(project, f"git:base{number}")
        plan = Plan(project, compared=at, exams=Exams(at, project))
        suites = {}
        for path in one.today:
            file = tmp_path / path
            suites[file] = load_suite(file, shown=path, allowed=project.allowed(file))
        plan.will_judge(Target(suite, file, "") for file, suite in suites.items())
        for file, suite in suites.items():
            target = Target(plan.guarded(suite, file), file, "")
            result, _, _ = judged(plan, target, target.suite.checks, Asking(search))
            expected = one.expected[file.name.partition(".")[0]]
            told = f"{file.name} of {one}"
            assert result.ledger.queries == expected, told
            assert not any(exam.unread for exam in result.exams), told
