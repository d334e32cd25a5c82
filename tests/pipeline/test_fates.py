"""The sums of queries, against an oracle that makes the changes at random and so knows them."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

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
FATES = [
    *["same"] * 6, "removed", "reworded", "variant", "moved", "graded", "ungraded", "renumbered",
]  # fmt: skip
NOW = [*["answer"] * 6, "unanswered now", "skipped"]
HEADER = {"format": "pytest-irquality run", "format_version": 2, "depth": 10}


@dataclass
class Change:
    """The files of a base and of a change, and what is to be told of each suite's queries."""

    base: dict[str, str] = field(default_factory=dict)
    today: dict[str, str] = field(default_factory=dict)
    expected: dict[str, Counter[str]] = field(default_factory=dict)
    fails: set[str] = field(default_factory=set)
    skips: set[str] = field(default_factory=set)


def change(random: Random) -> Change:
    """Make a change of one or two suites, in which something becomes of every query."""
    made = Change(expected={name: Counter() for name in SUITES})
    there = {"shop"} | ({"tools"} if random.random() < 0.7 else set())
    then: dict[str, list[object]] = {name: [] for name in SUITES}
    now: dict[str, list[object]] = {name: [] for name in SUITES}
    variants: dict[str, list[str]] = {name: [] for name in SUITES}
    stored: dict[str, list[object]] = {name: [] for name in SUITES}

    def asked(suite: str, text: str, otherwise: str) -> None:
        """Note what comes of a query of today, which would be told as this had it an answer."""
        came = random.choice(NOW)
        if came != "answer":
            (made.fails if came == "unanswered now" else made.skips).add(text)
        first = came == "skipped" or (came != "answer" and otherwise != "reworded")
        made.expected[suite][came if first else otherwise] += 1

    for number in range(random.randint(1, 9)):
        suite = random.choice(sorted(there))
        other = next(name for name in SUITES if name != suite)
        text, id = f"word{number}", f"id{number}"
        query = {"query": text, "id": id, "relevant": ["d"]}
        then[suite].append(query)
        kept = random.random() < 0.8
        if kept:
            stored[suite].append({"id": id, "query": text, "docs": ["d"]})
        fate = random.choice(FATES)
        compared = "compared" if kept else "unanswered then"
        if fate == "removed":
            if other in there and random.random() < 0.3:  # it was in both, and is left in one
                then[other].append(query)
                now[other].append(query)
                asked(other, text, "unanswered then")
            made.expected[suite]["removed"] += 1
        elif fate == "variant":
            variants[suite].append(text)
            made.expected[suite]["variant"] += 1
        elif fate == "moved":
            now[other].append(query)
            made.expected[suite]["moved"] += 1
            asked(other, text, "new")
        elif fate == "reworded":
            now[suite].append({**query, "query": f"other{number}"})
            asked(suite, f"other{number}", "reworded")
        elif fate == "graded":
            now[suite].append({**query, "relevant": ["d", "e"]})
            asked(suite, text, "compared with other judgments" if kept else compared)
        elif fate == "ungraded":
            now[suite].append({"query": text, "id": id})
            asked(suite, text, "unjudged now" if kept else compared)
        else:
            now[suite].append({**query, "id": f"new{number}"} if fate == "renumbered" else query)
            asked(suite, text, compared)
    for number in range(random.randint(0, 2)):
        suite = random.choice(SUITES)
        now[suite].append({"query": f"fresh{number}", "relevant": ["d"]})
        asked(suite, f"fresh{number}", "new")
    for name in SUITES:
        anchor = {"query": f"anchor {name}", "id": "anchor", "relevant": ["d"]}
        if name in there:
            made.base[f"{name}.ir.yaml"] = json.dumps({"queries": [anchor, *then[name]]})
            lines = [{"id": "anchor", "query": f"anchor {name}", "docs": ["d"]}, *stored[name]]
            rows = [
                {**HEADER, "suite": name, "path": f"{name}.ir.yaml"},
                *lines,
                {"end": HEADER["format"]},
            ]
            text = "".join(f"{json.dumps(row)}\n" for row in rows)
            made.base[f".ir-baseline/{name}.jsonl"] = text
        if name in there or now[name]:
            anchor |= {"variants": variants[name]} if variants[name] else {}
            random.shuffle(now[name])
            made.today[f"{name}.ir.yaml"] = json.dumps({"queries": [anchor, *now[name]]})
            made.expected[name]["compared" if name in there else "new"] += 1
    return made


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


@pytest.mark.parametrize("many", [60, pytest.param(3000, marks=pytest.mark.slow)])
def test_the_fates_of_queries_add_up(tmp_path: Path, many: int) -> None:
    random = Random(many)
    changes = [change(random) for _ in range(many)]
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
