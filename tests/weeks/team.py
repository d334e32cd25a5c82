"""A team in a real repository: what it does in a week, drawn at random, and what it sees of the product."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from random import Random

import pytest

from tests.conftest import QUIET, Project
from tests.repository import git
from tests.weeks import model
from tests.weeks.model import Query, Ranking, Rankings, State, Suite

CONFTEST = """\
import json, pathlib
HERE = pathlib.Path(__file__).parent
@pytest.fixture
def retriever():
    search = json.loads((HERE / "search.json").read_text())
    down = (HERE / "down").read_text().split() if (HERE / "down").exists() else []
    def ask(query):
        if query in down: raise ConnectionError("503")
        return search.get(query, [])
    return ask
"""
IGNORED = "out*\n*.html\n__pycache__\n.pytest_cache\nkept*\nnights\nnow\ndown\n"
GRADE = "grade what it rests on"
AGAIN = "run what failed again"
ACCEPT = "commit the baseline that this writes, to accept today's rankings"
LIMITS = 3
"""The line of a suite's limits; its queries begin two lines below."""
FIRST = "keep today's rankings as the baseline, to see changes"


class Team:
    """``now`` is the work tree, ``main`` the branch, ``base`` where the change left it."""

    def __init__(self, project: Project, random: Random) -> None:
        self.project, self.random = project, random
        self.path = project.path
        self.log: list[str] = []
        self.change = self.queries = 0
        self.acts = self.verdicts = 0
        self.last_night: Rankings | None = None
        self.lines: set[tuple[str, str]] = set()
        self.now = State()
        for name in ("a", "b"):
            self.now.suites[name] = Suite(0.1, 0.25, {})
            for _ in range(random.randint(3, 5)):
                self._query(name)
        project.conftest(CONFTEST)
        (self.path / ".gitignore").write_text(IGNORED)
        git(self.path, "init", "-q", "-b", "main")
        self._write()
        self._update()
        self.commit("The first baseline")
        self.main = self.now.copy()
        self.base = self.main

    # -- search and suites ---------------------------------------------------------------------------------------------

    def _ranking(self, text: str) -> Ranking:
        found = [f"{text}-{letter}" for letter in "abc"] + ["x", "y"]
        self.random.shuffle(found)
        return found[: self.random.randint(1, 5)]

    def _query(self, name: str) -> None:
        self.queries += 1
        text = f"q{self.queries}"
        self.now.search[text] = [f"{text}-a", f"{text}-b", "x"]
        rule = (f"{text}-a", self.random.randint(1, 2)) if self.random.random() < 0.3 else None
        self.now.suites[name].queries[text] = Query([f"{text}-a", f"{text}-b"], rule)

    def changes_search(self) -> None:
        for text in self.random.sample(sorted(self.now.search), self.random.randint(1, 3)):
            self.now.search[text] = self._ranking(text)

    def mends_search(self) -> None:
        """What the base returned, for everything that broke."""
        self.now.search.update({text: list(its) for text, its in self.base.search.items()})

    def changes_judgments(self) -> None:
        suite = self._any_suite()
        text = self.random.choice(sorted(suite.queries))
        relevant = self.random.sample([f"{text}-{letter}" for letter in "abc"], self.random.randint(1, 3))  # fmt: skip
        rule = suite.queries[text].rule
        suite.queries[text] = Query(sorted(relevant), rule if rule and rule[0] in relevant else None)  # fmt: skip

    def changes_limits(self) -> None:
        suite = self._any_suite()
        suite.floor = self.random.choice([0.1, 0.3, 0.5])
        suite.drop = self.random.choice([0.05, 0.1, 0.25, 0.5])

    def adds_a_query(self) -> None:
        self._query(self.random.choice(sorted(self.now.suites)))

    def renames(self) -> None:
        old = self.random.choice(sorted(self.now.suites))
        self.now.suites[self._new_name()] = self.now.suites.pop(old)

    def splits(self) -> None:
        name = max(self.now.suites, key=lambda one: len(self.now.suites[one].queries))
        suite = self.now.suites[name]
        if len(suite.queries) < 4 or len(self.now.suites) > 3:
            return
        moved = self.random.sample(sorted(suite.queries), len(suite.queries) // 2)
        queries = {text: suite.queries.pop(text) for text in moved}
        self.now.suites[self._new_name()] = Suite(suite.floor, suite.drop, queries)

    def merges_suites(self) -> None:
        if len(self.now.suites) > 1:
            one, other = self.random.sample(sorted(self.now.suites), 2)
            self.now.suites[one].queries |= self.now.suites.pop(other).queries

    def updates(self) -> None:
        self._write()
        self._update()

    def _any_suite(self) -> Suite:
        return self.now.suites[self.random.choice(sorted(self.now.suites))]

    def _new_name(self) -> str:
        self.queries += 1
        return f"s{self.queries}"

    # -- files and commits -------------------------------------------------------------------------------------------

    def _write(self) -> None:
        for file in self.path.glob("*.ir.yaml"):
            if file.name.partition(".")[0] not in self.now.suites:
                file.unlink()
        for name, suite in self.now.suites.items():
            (self.path / f"{name}.ir.yaml").write_text(suite.text())
        rows = [f"{json.dumps(text)}: {json.dumps(its)}" for text, its in self.now.search.items()]
        (self.path / "search.json").write_text("{\n" + ",\n".join(rows) + "\n}\n")

    def commit(self, message: str) -> None:
        self._write()
        self.now.stored = self.stored()
        git(self.path, "add", "-A")
        git(self.path, "commit", "-qm", message, "--allow-empty")

    def stored(self) -> dict[str, Rankings]:
        """What the baseline files hold, read as a person would."""
        files = sorted((self.path / ".ir-baseline").glob("*.jsonl"))
        return {file.stem: rankings(file.read_text()) for file in files}

    def _update(self) -> None:
        result = self.run("--ir-update-baseline")
        told = model.outcomes(self.now, State(), exam=True)
        assert result.ret == int("failed" in told.values()), self.say(result)
        self._tidied()
        assert self.stored() == {name: self._today(name) for name in self.now.suites}, self.say(result)  # fmt: skip
        self.now.stored = self.stored()

    def _today(self, name: str) -> Rankings:
        return {text: self.now.search[text] for text in self.now.suites[name].queries}

    def _tidied(self) -> None:
        """Delete the baselines of suites that are gone."""
        stored = self.stored()
        waiting = [set(its.queries) for name, its in self.now.suites.items() if name not in stored]
        for name in sorted(stored.keys() - self.now.suites):
            theirs = stored[name].keys()
            if any(2 * len(theirs & one) >= min(len(theirs), len(one)) for one in waiting):
                continue  # a suite that has none yet is compared with it
            file = f".ir-baseline/{name}.jsonl"
            (self.path / file).unlink()

    # -- what the product says ---------------------------------------------------------------------------------------

    def run(self, *args: str) -> pytest.RunResult:
        (self.path / "out.json").unlink(missing_ok=True)
        self.log.append(f"pytest --ir-suite {shlex.join(args)}")
        return self.project.run("-v", "--ir-report=none", *args)

    def say(self, result: pytest.RunResult | None = None) -> str:
        lines = ["", *self.log, ""]
        if result is not None:
            lines += [f"status {result.ret}", *result.outlines, *result.errlines]
        return "\n".join([*lines, f"now {self.now}", f"base {self.base}"])

    def told(self) -> dict[tuple[str, str], str]:
        """The outcome of each check of the run's JSON, but the exam of the base."""
        return {
            (Path(suite["path"]).name.partition(".")[0], one["check"]): one["outcome"]
            for suite in self.project.data["suites"]
            for one in suite["verdicts"]
            if not one["check"].startswith(model.EXAM)
        }

    def judged(self, *args: str) -> tuple[str, pytest.RunResult]:
        """The verdict of a change against main, held to what is true."""
        self.verdicts += 1
        result = self.run("--ir-baseline=git:main", *args)
        true = model.outcomes(self.now, self.base, self.now.stored)
        told = self.told()
        # With nothing to compare with, the guard is there or not, and cannot fail.
        idle = {
            key for key in told.keys() - true if key[1] == model.GUARD and told[key] == "passed"
        }
        wrong = {key: (told.get(key), true.get(key)) for key in (told.keys() | true) - idle if told.get(key) != true.get(key)}  # fmt: skip
        assert not wrong, f"told and true: {wrong}{self.say(result)}"
        verdict = model.verdict(self.now, self.base, self.now.stored)
        assert result.ret == int(verdict == "failed"), f"{verdict}{self.say(result)}"
        last = next(line for line in reversed(result.outlines) if line.startswith(("✓", "✗", "!")))
        words = "ACCEPTED|accepted (a )?drop|the base's suite fails"  # what is partial, too, says so first
        said = "failed" if "FAILED" in last else "accepted" if re.search(words, last) else "passed"
        assert said == verdict, f"{verdict}{self.say(result)}"
        return verdict, result

    def steps(self, result: pytest.RunResult) -> dict[str, str]:
        """Every step that a run advises, and its command, if it has one."""
        told = result.stdout.str().partition(" search quality ")[2]
        found = dict(re.findall(r"^  (\S.*):\n    (?:python -m )?(pytest .*)$", told, re.M))
        return found | dict.fromkeys(re.findall(r"^  (mend search.*|remove .*)$", told, re.M), "")

    def goes_on(self, result: pytest.RunResult) -> None:
        """One of the ways that a red run shows; what it promises is so."""
        steps = self.steps(result)
        again = steps.pop(AGAIN, "")
        if again and self.random.random() < 0.3:
            assert self.types(again).ret == 1, self.say(result)
        if grade := steps.pop(GRADE, ""):
            self.types(grade)
            assert (self.path / "judge.html").exists(), self.say(result)
        assert steps, f"there is no way on{self.say(result)}"
        words = self.random.choice(sorted(steps))
        if words.startswith("mend search"):
            self._edits(words) if self.random.random() < 0.5 else self.mends_search()
        elif words.startswith((ACCEPT, FIRST)):
            self._accepts(words, steps[words])
        else:
            raise AssertionError(f"an unknown way: {words}{self.say(result)}")
        self.commit(words)

    def _edits(self, words: str) -> None:
        """Edit the lines that a step names: a floor goes, or a rule."""
        for name, number in re.findall(r"(\w+)\.ir\.yaml:(\d+)", words):
            suite, line = self.now.suites[name], int(number)
            if line == LIMITS:
                suite.floor = None
            else:
                list(suite.queries.values())[line - LIMITS - 2].rule = None

    def _accepts(self, words: str, command: str) -> None:
        before = self.stored()
        result = self.types(command)
        named = re.findall(r"(\w+)\.ir\.yaml", command)
        self._tidied()
        expected = {**before, **{name: self._today(name) for name in named or self.now.suites}}
        after = self.stored()
        # Of a suite that is gone the file may have been taken over.
        assert after == {name: its for name, its in expected.items() if name in after}, self.say(result)  # fmt: skip
        assert after.keys() >= self.now.suites.keys() & expected.keys(), self.say(result)
        self.commit(words)
        if words in (ACCEPT, FIRST):
            self.judged()
            told = self.told()
            for name in named or self.now.suites:  # what is broken besides has its own step
                assert told[name, model.GUARD] != "failed", self.say()
                if self.now.suites[name].floor_holds(self.now.search):
                    assert told[name, model.LIMIT] != "failed", self.say()

    def types(self, command: str) -> pytest.RunResult:
        program, *words = shlex.split(command)
        assert program == "pytest"
        self.log.append(command)
        return self.project.pytester.runpytest(*words, "-v", *QUIET, "--ir-json=out.json", "--ir-report=none")  # fmt: skip

    # -- jobs --------------------------------------------------------------------------------------------------------

    def shards(self) -> None:
        """Jobs of shares, one of them lost and run again, give the verdict of a run by hand."""
        self.judged()
        by_hand = self.project.data["suites"]
        shutil.rmtree(self.path / "kept", ignore_errors=True)
        many = self.random.randint(2, 3)
        lost = self.random.randint(1, many) if self.random.random() < 0.5 else 0
        for share in range(1, many + 1):
            if share != lost:
                self.run(f"--ir-save-runs=kept,shard={share}/{many}")
        if lost:
            result = self.run("--ir-runs=kept", "--ir-baseline=git:main")
            assert result.ret != 0, self.say(result)
            assert f"{lost}/{many}" in result.stdout.str() + result.stderr.str(), self.say(result)
            self.run(f"--ir-save-runs=kept,shard={lost}/{many}")
        _, result = self.judged("--ir-runs=kept")
        joined = self.project.data["suites"]
        for one, other in zip(by_hand, joined, strict=True):
            for what in ("verdicts", "ledger", "queries"):
                assert without_time(one.get(what)) == without_time(other.get(what)), self.say(
                    result
                )

    def judged_by_code(self) -> None:
        """The base's own search is run beside today's: what it returns there is what today's is held to."""
        result = self.run("--ir-baseline=run:main")
        then = State(self.base.search, self.now.suites)
        for name, suite in self.now.suites.items():
            then.stored[name] = {text: self.base.search.get(text, []) for text in suite.queries}
        true, told = model.outcomes(self.now, then, self.now.stored), self.told()
        assert told == true, f"told and true: {told} {true}{self.say(result)}"

    def reruns(self) -> None:
        self.judged()
        first = without_time(self.project.data["suites"])
        _, result = self.judged()
        assert without_time(self.project.data["suites"]) == first, self.say(result)

    def nightly(self) -> None:
        git(self.path, "checkout", "-q", "main")
        self.now = self.main.copy()
        self.night()

    def night(self) -> None:
        """A nightly job on main: against the last good night, with a history, and an outage now and then."""
        head = git(self.path, "rev-parse", "HEAD").strip()
        last, history = self.path / "nights/last", self.path / "nights/history.jsonl"
        outage = self.random.random() < 0.2
        if outage:
            down = self.random.sample(sorted(self.now.search), 2)
            (self.path / "down").write_text(" ".join(down))
        against = ["--ir-baseline=nights/last"] if last.exists() else []
        result = self.run(*against, f"--ir-history={history}", "--ir-save-runs=now")
        (self.path / "down").unlink(missing_ok=True)
        by_hand = self.last_night is None and not outage
        if outage:
            assert result.ret != 0, self.say(result)
        elif self.last_night is not None:
            self._held_to_last_night(result)
        kept = {name: dict(self.now.search) for name in self.now.suites}
        if by_hand or result.ret == 0:
            self.log.append("mv now nights/last")
            shutil.rmtree(last, ignore_errors=True)
            (self.path / "now").rename(last)
            self.last_night = self.now.search
        if self.last_night is not None and self.last_night is self.now.search:
            files = {file.stem: rankings(file.read_text()) for file in last.glob("*.jsonl")}
            expected = {n: {t: kept[n][t] for t in s.queries} for n, s in self.now.suites.items()}
            assert files == expected, self.say(result)
        shutil.rmtree(self.path / "now", ignore_errors=True)
        lines = history.read_text().splitlines() if history.exists() else []
        there = {(row["suite"], row["commit"]) for row in map(json.loads, lines)}
        self.lines |= there
        assert self.lines == there, f"a line is lost: {self.lines - there}{self.say(result)}"
        if not outage:
            written = {name.partition(".")[0] for name, commit in there if head.startswith(commit)}
            lacks = self.now.suites.keys() - written
            assert not lacks, f"no line of {lacks} at {head} in {sorted(there)}{self.say(result)}"

    def _held_to_last_night(self, result: pytest.RunResult) -> None:
        assert self.last_night is not None
        told = set(self.told().values())
        assert result.ret == int("failed" in told), self.say(result)

    # -- branches ----------------------------------------------------------------------------------------------------

    def branches(self) -> None:
        self.change += 1
        git(self.path, "checkout", "-qb", f"change{self.change}", "main")
        self.now, self.base = self.main.copy(), self.main.copy()

    def main_moves(self) -> None:
        """Somebody else's change is merged meanwhile."""
        ours, branch = self.now, f"change{self.change}"
        self.commit("what there is")
        git(self.path, "checkout", "-q", "main")
        self.now = self.main.copy()
        self.random.choice([self.changes_search, self.changes_judgments])()
        if self.random.random() < 0.6:
            self.updates()
        self.commit("somebody else's")
        self.main = self.now.copy()
        git(self.path, "checkout", "-q", branch)
        self.now = ours

    def takes_in_main(self) -> None:
        """A merge or a rebase; a baseline in conflict is written anew."""
        self.commit("what there is")
        both = model.merged(self.now, self.main, self.base)
        if self.random.random() < 0.5:
            git(self.path, "rebase", "-q", "main", check=False)
            self.log.append("git rebase main")
            if not (self.path / ".git/rebase-merge").exists():
                self._taken_in(both)
                return
            git(self.path, "rebase", "--abort")
        self.log.append("git merge main")
        git(self.path, "merge", "-q", "main", check=False)
        self._taken_in(both)

    def _taken_in(self, both: State) -> None:
        self.now, self.base = both, self.main.copy()
        self._write()
        files = [*(self.path / ".ir-baseline").glob("*.jsonl")]
        if any("<<<<<<<" in file.read_text() for file in files):
            self.run("--ir-baseline=git:main")  # before anybody has repaired it
            self.log.append("a baseline is in conflict")
            self._update()
        git(self.path, "add", "-A")
        git(self.path, "commit", "-qm", "take in main", "--allow-empty")
        self.now.stored = self.stored()

    def merges(self) -> None:
        """The change goes into main, squashed or not; where git cannot, main is taken in first."""
        branch = f"change{self.change}"
        git(self.path, "checkout", "-q", "main")
        if self.random.random() < 0.5:
            git(self.path, "merge", "-q", "--no-ff", "-m", branch, branch)
        else:
            git(self.path, "merge", "-q", "--squash", branch)
            git(self.path, "commit", "-qm", branch, "--allow-empty")
        self.main = self.now.copy()


def rankings(text: str) -> Rankings:
    """The rankings of a stored run; none of one that a merge has left in conflict."""
    if "<<<<<<<" in text:
        return {}
    rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    return {
        row["query"]: [doc if isinstance(doc, str) else doc[0] for doc in row["docs"]]
        for row in rows
        if "docs" in row
    }


def without_time(value: object) -> object:
    """A part of a report without what no two runs have in common."""
    if isinstance(value, dict):
        return {key: without_time(its) for key, its in value.items() if key not in ("latency", "seconds", "timing")}  # fmt: skip
    return [without_time(its) for its in value] if isinstance(value, list) else value
