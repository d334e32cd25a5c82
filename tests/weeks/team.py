"""A team in a real repository: what it does in a week, drawn at random, and what it is told."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from tests.project import USER, Project
from tests.weeks import model
from tests.weeks.model import Query, Ranking, Rankings, Results, State, Suite

CONFTEST = """\
import json, pathlib
SEARCH = pathlib.Path(__file__).with_name("search.json")
@pytest.fixture
def retriever():
    search = json.loads(SEARCH.read_text())
    return lambda query: search.get(query, [])
"""
IGNORED = "out*\n*.html\n__pycache__\n.pytest_cache\nkept*\n"
LABELS = {
    "queries that lost all relevant documents do not outnumber those that gained one": "lost",
    "no statistically significant drop": "significant drop",
    "no large drops in a few changed queries": "large drops",
    "mrr@10": "mrr@10",
}
MAX_SUITES = 3


class Team:
    """``now`` is the working tree, ``main`` the branch, ``base`` where the change left it."""

    def __init__(self, project: Project, random: Random) -> None:
        self.project = project
        self.random = random
        self.path = project.path
        self.log: list[str] = []
        self.change_count = self.query_count = self.act_count = self.verdict_count = 0
        self.outcomes: list[str] = []
        self.now = State()
        for name in ("a", "b"):
            self.now.suites[name] = Suite(*self._draw_bounds(), {})
            for _ in range(random.randint(3, 6)):
                self._add_query(name)
        project.write_conftest(CONFTEST)
        project.write(".gitignore", IGNORED)
        project.git("init", "-q", "-b", "main")
        self._write()
        self.update()
        self.commit("The first baseline")
        self.main = self.now.copy()
        self.base = self.main

    # -- Search and suites -------------------------------------------------------------------------

    def _draw_bounds(self) -> tuple[float | None, float | None]:
        return self.random.choice([None, 0.1, 0.3]), self.random.choice([None, None, 0.05, 0.25])

    def _draw_ranking(self, text: str) -> Ranking:
        docs = [f"{text}-{letter}" for letter in "abc"] + ["x", "y"]
        self.random.shuffle(docs)
        return docs[: self.random.randint(1, 5)]

    def _add_query(self, name: str) -> None:
        self.query_count += 1
        text = f"q{self.query_count}"
        self.now.search[text] = [f"{text}-a", f"{text}-b", "x"]
        rule = (f"{text}-a", self.random.randint(1, 2)) if self.random.random() < 0.3 else None
        self.now.suites[name].queries[text] = Query([f"{text}-a", f"{text}-b"], rule)

    def change_search(self) -> None:
        texts = sorted(self.now.search)
        for text in self.random.sample(texts, self.random.randint(1, min(7, len(texts)))):
            if self.random.random() < 0.5:
                self.now.search[text] = self._draw_ranking(text)
            else:
                docs = [doc for doc in self.now.search[text] if doc != "z"]
                self.now.search[text] = ["z", *docs][:5]

    def fix_search(self) -> None:
        """Return to what the base branch returned."""
        self.now.search.update({text: list(its) for text, its in self.base.search.items()})

    def change_judgments(self) -> None:
        suite = self._draw_suite()
        text = self.random.choice(sorted(suite.queries))
        letters = self.random.sample("abc", self.random.randint(1, 3))
        relevant = sorted(f"{text}-{letter}" for letter in letters)
        rule = suite.queries[text].rule
        suite.queries[text] = Query(relevant, rule if rule and rule[0] in relevant else None)

    def change_bounds(self) -> None:
        suite = self._draw_suite()
        suite.minimum = self.random.choice([None, 0.1, 0.3, 0.5])
        suite.drop = self.random.choice([None, 0.05, 0.1, 0.25, 0.5, 0.9])

    def add_query(self) -> None:
        self._add_query(self.random.choice(sorted(self.now.suites)))

    def remove_query(self) -> None:
        suite = self._draw_suite()
        if len(suite.queries) > 1:
            text = self.random.choice(sorted(suite.queries))
            del suite.queries[text]

    def rename_suite(self) -> None:
        old = self.random.choice(sorted(self.now.suites))
        self.now.suites[self._make_name()] = self.now.suites.pop(old)

    def split_suite(self) -> None:
        name = max(sorted(self.now.suites), key=lambda one: len(self.now.suites[one].queries))
        suite = self.now.suites[name]
        if len(suite.queries) < 4 or len(self.now.suites) >= MAX_SUITES:
            return
        moved = self.random.sample(sorted(suite.queries), len(suite.queries) // 2)
        queries = {text: suite.queries.pop(text) for text in moved}
        self.now.suites[self._make_name()] = Suite(suite.minimum, suite.drop, queries)

    def merge_suites(self) -> None:
        if len(self.now.suites) > 1:
            one, other = self.random.sample(sorted(self.now.suites), 2)
            self.now.suites[one].queries |= self.now.suites.pop(other).queries

    def delete_suite(self) -> None:
        if len(self.now.suites) > 1:
            del self.now.suites[self.random.choice(sorted(self.now.suites))]

    def add_suite(self) -> None:
        if len(self.now.suites) < MAX_SUITES:
            name = self._make_name()
            self.now.suites[name] = Suite(*self._draw_bounds(), {})
            for _ in range(self.random.randint(1, 3)):
                self._add_query(name)

    def _draw_suite(self) -> Suite:
        return self.now.suites[self.random.choice(sorted(self.now.suites))]

    def _make_name(self) -> str:
        self.query_count += 1
        return f"s{self.query_count}"

    # -- Files and commits -------------------------------------------------------------------------

    def _write(self) -> None:
        for file in self.path.glob("*.ir.yaml"):
            if file.name.partition(".")[0] not in self.now.suites:
                file.unlink()
        for name, suite in self.now.suites.items():
            self.project.write(f"{name}.ir.yaml", suite.format())
        rows = [f"{json.dumps(text)}: {json.dumps(its)}" for text, its in self.now.search.items()]
        self.project.write("search.json", "{\n" + ",\n".join(rows) + "\n}\n")

    def commit(self, message: str) -> None:
        self._write()
        self.now.stored = self.read_stored()
        self.project.git("add", "-A")
        self.project.git(*USER, "commit", "-q", "--allow-empty", "-m", message)

    def read_stored(self) -> dict[str, Rankings]:
        """Return what the baseline files contain, read as a person would."""
        files = sorted((self.path / ".ir-baseline").glob("*.jsonl"))
        return {file.stem: read_rankings(file.read_text()) for file in files}

    def update(self) -> None:
        """Record all baselines, and delete those of suites that are gone."""
        self._write()
        for name in self.read_stored().keys() - self.now.suites.keys():
            if self.random.random() < 0.7:
                (self.path / f".ir-baseline/{name}.jsonl").unlink()
        self.now.stored = {
            name: its
            for name, its in self.read_stored().items()
            if "<<<<<<<" not in (self.path / f".ir-baseline/{name}.jsonl").read_text()
        }
        results = model.evaluate_current(self.now, None)

        result = self.run("--ir-update-baseline")

        is_broken = any(
            outcome == "FAILED" and (check.startswith("must_find") or self._is_low(name))
            for (name, check), outcome in results.items()
        )
        assert result.ret == int(is_broken), self.describe(result)
        stored = self.read_stored()
        expected = {name: self._get_rankings(name) for name in self.now.suites}
        assert {name: stored.get(name) for name in expected} == expected, self.describe(result)
        self.now.stored = stored

    def _is_low(self, name: str) -> bool:
        suite = self.now.suites.get(name)
        if suite is None or suite.minimum is None:
            return False
        without_drop = Suite(suite.minimum, None, suite.queries)
        compared = model.Compared(name, without_drop, {}, False, self.now.search)
        return model.check_suite(compared)[name, "mrr@10"] == "FAILED"

    def _get_rankings(self, name: str) -> Rankings:
        return {text: self.now.search[text] for text in self.now.suites[name].queries}

    # -- Builds ------------------------------------------------------------------------------------

    def run(self, *arguments: str) -> pytest.RunResult:
        self._write()
        self.log.append(" ".join(arguments))
        (self.path / "out.json").unlink(missing_ok=True)
        return self.project.run("--ir-json=out.json", "--ir-report=none", *arguments)

    def read_report(self) -> dict[str, Any]:
        return dict(json.loads(self.project.read("out.json")))

    def describe(self, result: pytest.RunResult) -> str:
        """Return all that is needed to understand a failure."""
        state = f"search {self.now.search}\nsuites {self.now.suites}\nstored {self.now.stored}"
        base = f"base {self.base if hasattr(self, 'base') else None}"
        return "\n".join(["", *self.log[-8:], state, base, result.stdout.str()])

    def list_results(self, part: str) -> Results:
        """Return the outcomes that a report has, as the model names them."""
        results: Results = {}
        for check in self.read_report()[part]:
            label = check["label"]
            if label == "must_find":
                key = (check["subject"], f"must_find {check['query_ids'][0]}")
            elif LABELS.get(label) in ("significant drop", "large drops"):
                key = ("", LABELS[label])
            elif label in LABELS:
                key = (check["subject"], LABELS[label])
            else:
                continue
            known = results.get(key, "PASSED")
            results[key] = max(known, check["outcome"], key=model.ORDER.index)
        return results

    def judge(self, *arguments: str) -> str:
        """Run a build of the change, and hold it to what is true."""
        self.verdict_count += 1
        result = self.run("--ir-baseline=git:main", *arguments)
        self._compare(result, None)
        return self.outcomes[-1]

    def judge_with_base_code(self) -> None:
        """Run a build in which the base branch's own code answers."""
        self.verdict_count += 1
        result = self.run("--ir-baseline=run:main")
        texts = self.now.list_texts() | self.base.list_texts()
        self._compare(result, {text: self.base.search.get(text, []) for text in texts})

    def judge_strictly(self) -> None:
        result = self.run("--ir-baseline=git:main", "-o", "ir_gate=strict")
        is_passed = model.is_strict_pass(self.now, self.base)
        assert result.ret == int(not is_passed), self.describe(result)

    def _compare(self, result: pytest.RunResult, answers: Rankings | None) -> None:
        expected = model.decide(self.now, self.base, answers)
        outcome = self.read_report()["outcome"]
        assert outcome == expected, f"{outcome}, not {expected}{self.describe(result)}"
        assert result.ret == int(expected == "FAILED"), self.describe(result)
        self.outcomes.append(outcome)
        truth = model.evaluate_current(self.now, self.base, answers)
        said = self.list_results("checks")
        for key in sorted(said.keys() | truth.keys()):
            if key[1] != "nothing can fail":
                pair = (said.get(key, "PASSED"), truth.get(key, "PASSED"))
                assert pair[0] == pair[1], f"{key}: {pair}{self.describe(result)}"
        if outcome == "REVIEW":
            base_truth = model.evaluate_base(self.now, self.base, answers)
            for key, base_outcome in self.list_results("base_checks").items():
                if base_outcome != "PASSED":
                    assert base_truth.get(key) in ("FAILED", "REVIEW"), self.describe(result)
        coverage = self.read_report()["coverage"]
        total = sum(len(suite.queries) for suite in self.now.suites.values())
        assert coverage["compared"] + coverage["new"] == total, self.describe(result)
        gone = self.base.list_texts() - self.now.list_texts()
        assert coverage["removed"] == coverage["base_only"] == len(gone), self.describe(result)

    def run_shards(self) -> None:
        """Jobs that run a part each give the verdict of one job, also if one has to run again."""
        self.judge()
        alone = self.read_report()
        folder = self.path / "kept"
        for file in folder.glob("*"):
            file.unlink()
        count = self.random.randint(2, 3)
        lost = self.random.randint(1, count) if self.random.random() < 0.5 else 0
        for number in range(1, count + 1):
            if number != lost:
                self._run_shard(number, count)
        if lost:
            result = self.run("--ir-runs=kept", "--ir-baseline=git:main")
            assert result.ret != 0, self.describe(result)
            self._run_shard(lost, count)
        self.judge("--ir-runs=kept")
        joined = self.read_report()
        for part in ("outcome", "headline", "checks", "base_checks", "coverage", "last_paragraph"):
            assert alone[part] == joined[part], self.log[-8:]

    def _run_shard(self, number: int, count: int) -> None:
        target = f"--ir-save-runs=kept,shard={number}/{count}"
        result = self.run(target, "--ir-baseline=git:main")
        assert result.ret in (0, 1, 5), self.describe(result)

    def rerun(self) -> None:
        self.judge()
        first = self.read_report()
        self.judge()
        second = self.read_report()
        for report in (first, second):
            del report["timing"]
        assert first == second

    # -- Branches ----------------------------------------------------------------------------------

    def start_branch(self) -> None:
        self.change_count += 1
        self.project.git("checkout", "-qb", f"change{self.change_count}", "main")
        self.now, self.base = self.main.copy(), self.main.copy()

    def move_main(self) -> None:
        """Merge another person's change meanwhile."""
        ours, branch = self.now, f"change{self.change_count}"
        self.commit("A part")
        self.project.git("checkout", "-q", "main")
        self.now = self.main.copy()
        self.random.choice([self.change_search, self.change_judgments])()
        if self.random.random() < 0.6:
            self.update()
        self.commit("Another person's change")
        self.main = self.now.copy()
        self.project.git("checkout", "-q", branch)
        self.now = ours

    def merge_main(self) -> None:
        """Merge main into the branch. A baseline with a conflict is recorded again."""
        self.commit("A part")
        both = model.merge(self.now, self.main, self.base)
        self.log.append("git merge main")
        try:
            self.project.git(*USER, "merge", "-q", "main")
        except Exception:
            self.log.append("a conflict")
        self.now, self.base = both, self.main.copy()
        self._write()
        files = list((self.path / ".ir-baseline").glob("*.jsonl"))
        if any("<<<<<<<" in file.read_text() for file in files):
            result = self.run("--ir-baseline=git:main")
            assert result.ret == 2, self.describe(result)
            self.update()
        self.project.git("add", "-A")
        self.project.git(*USER, "commit", "-q", "--allow-empty", "-m", "Merge main")
        self.now.stored = self.read_stored()

    def merge_change(self) -> None:
        """Merge the change into main."""
        branch = f"change{self.change_count}"
        self.project.git("checkout", "-q", "main")
        self.project.git(*USER, "merge", "-q", "--no-ff", "-m", branch, branch)
        self.main = self.now.copy()


def read_rankings(text: str) -> Rankings:
    """Return the stored rankings, or none of a file that a merge left in conflict."""
    if "<<<<<<<" in text:
        return {}
    rankings = {}
    for line in text.splitlines():
        row = json.loads(line) if line.startswith("{") else {}
        if "docs" in row:
            docs = [doc if isinstance(doc, str) else doc[0] for doc in row["docs"]]
            rankings[row["query"]] = docs
    return rankings
