"""CONTRIBUTING's recipes, followed in a copy of the package: what each takes, and what a forgotten step does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.conftest import ALONE

pytestmark = pytest.mark.slow

PACKAGE = Path(__file__).parents[1] / "pytest_irquality"
MOST_FILES = 3
Ran = subprocess.CompletedProcess[str]

OWNER = """\
    owner: str | None = key(TEXT, "Whom to ask about it.", None, "nobody", shown=True)
"""
PRECEDES = """\
class MustNotPrecede(Rule):
    \"\"\"A good document, which a bad one does not stand above.\"\"\"

    key = "must_not_precede"
    help = "The first of two documents never stands above the second."
    value = IN_ORDER
    roles = ("unwanted", "named")
    on_ranks = False
    breaks_in_any = True

    def parts(self, answers: Sequence[Ranks]) -> Iterable[Sequence[str]]:
        \"\"\"Both together.\"\"\"
        return [list(self.documents)]

    def holds(self, part: Sequence[str], ranks: Ranks) -> bool:
        \"\"\"Whether the good one is there, and above.\"\"\"
        bad, good = part
        return good in ranks and ranks[good] < ranks.get(bad, inf)


"""
PRECEDES_SAID = """\
def _must_not_precede(result: SuiteResult, finding: Finding) -> str:
    bad, good = finding.ranked
    return f"{name(bad)} must not stand above {name(good)}: {place(bad)} and {place(good)}"


"""
HAD = """\
class LostFirst(Guard):
    \"\"\"A relevant document at the top before, none now.\"\"\"

    key = "lost_first"
    help = "Its first result was relevant at baseline and is not now."
    default = "`ignore`"
    needs_relevant = True

    def has(self, top: Sequence[str], relevant: AbstractSet[str], before: Sequence[str]) -> bool:
        \"\"\"Tell whether the first is relevant.\"\"\"
        return not relevant.isdisjoint(top[:1])


"""
HAD_SAID = """\
def _lost_first(result: SuiteResult, finding: Finding) -> str:
    return f"no longer begins with {name(finding.ranked[0])}"


"""
WARN_DROP = """\
class WarnDrop(MaxDrop):
    \"\"\"A drop that fails nothing.\"\"\"

    key = "warn_drop"
    help = "If it fell by more since the baseline, a warning in the summary; never a failure."
    default = "none"
    fails = False


"""

FAILING = """\
\"\"\"The ids of the queries that failed, one a line.\"\"\"

from __future__ import annotations

from collections.abc import Sequence

from pytest_irquality.verdict import SuiteResult


def failing(results: Sequence[SuiteResult]) -> str:
    \"\"\"The text.\"\"\"
    failed = [v.query for result in results for v in result.verdicts if v.outcome == "failed"]
    return "".join(f"{query}\\n" for query in failed)
"""
FAILING_MADE = """\
def _failing(gathered: Gathered) -> str:
    from pytest_irquality.report.failing import failing

    return failing(gathered.results)


"""
FAILING_REPORT = """\
    failing = Report(
        "Write the ids of queries that failed to PATH (default: not written).",
        make=_failing,
    )
"""
TEAM = """\
    team = Text("Put NAME before the name of each suite (default: nothing).", "NAME")
"""
TEAM_USED = """\
        if options.team:
            suite = replace(suite, name=f"{options.team}: {suite.name}")
"""

MISSES = """\
def misses(k: int) -> Compute:
    \"\"\"Whether none of the first k results is relevant.\"\"\"
    return lambda hits: [0.0 if ranks and ranks[0] <= k else 1.0 for ranks in hits.relevant]


"""
MISSES_DEFINED = """\
    Definition(
        name="misses",
        title="Misses",
        formula="1 where none of the first k results is relevant, else 0",
        make=misses,
        source="ours",
        higher_is_better=False,
    ),
"""
PIPED = """\
def piped(lines: Iterable[str]) -> Iterator[Record]:
    \"\"\"``id|document|grade``.\"\"\"
    for number, line in meaningful(lines):
        id, document, grade = line.strip().split("|")
        yield Record(number, line, {"id": id, "document": document, "grade": grade})


"""


class Copy:
    """A copy of the package, and which of its files were changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.changed: set[str] = set()
        shutil.copytree(PACKAGE, folder / "pytest_irquality")  # with what is compiled of it

    def insert(self, file: str, before: str, text: str) -> None:
        """Put a text before another, which stands there once."""
        path = self.folder / "pytest_irquality" / file
        whole = path.read_text("utf-8")
        assert whole.count(before) == 1, f"{before!r} is not once in {file}"
        path.write_text(whole.replace(before, text + before), encoding="utf-8")
        self.changed.add(file)

    def add(self, file: str, text: str) -> None:
        """Add a module."""
        self.folder.joinpath("pytest_irquality", file).write_text(text, encoding="utf-8")
        self.changed.add(file)

    def run(self, *command: str) -> Ran:
        """Run Python with this copy as the package, in a folder beside it."""
        env = {name: text for name, text in os.environ.items() if not name.startswith("GITHUB_")}
        env |= {**ALONE, "PYTHONPATH": str(self.folder), "PYTHONUTF8": "1", "COLUMNS": "400"}
        return subprocess.run(
            [sys.executable, *command],
            cwd=self.folder, env=env, text=True, capture_output=True, check=False,
        )  # fmt: skip

    def judge(self, suite: str, *options: str, returned: str = "['d2', 'd1']") -> Ran:
        """Run pytest over a suite, with an engine that returns d2 before d1."""
        self.folder.joinpath("conftest.py").write_text(
            f"import pytest\n@pytest.fixture\ndef retriever(): return lambda query: {returned}\n",
            encoding="utf-8",
        )
        return self.ask(suite, *options)

    def ask(self, suite: str, *options: str) -> Ran:
        """Run pytest over a suite, with the engine of the conftest."""
        self.folder.joinpath("shop.ir.yaml").write_text(suite, encoding="utf-8")
        return self.run(
            "-m", "pytest", "shop.ir.yaml", "--ir-suite", "-p", "no:cacheprovider",
            "--ir-json=out.json", "--ir-markdown=out.md", "--ir-report=out.html", *options,
        )  # fmt: skip


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def test_a_key_that_every_report_shows_is_one_line(copy: Copy) -> None:
    copy.insert("suite/keys.py", "    weight: float = key(", OWNER)
    copy.insert("suite/keys.py", "    top_k: int = key(", OWNER)
    assert len(copy.changed) <= MOST_FILES
    ran = copy.judge(
        "owner: Team Search\nqueries:\n  - {query: chair, must_find: {d1: 1}, owner: Ana}\n", "-v"
    )
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "\n  owner: Ana\n" in ran.stdout
    assert "\n  owner: Team Search\n" in ran.stdout
    (result,) = json.loads((copy.folder / "out.json").read_text("utf-8"))["suites"]
    assert result["remarks"] == {"owner": "Team Search"}
    assert result["queries"][0]["remarks"] == {"owner": "Ana"}
    for report in ("out.md", "out.html"):
        text = (copy.folder / report).read_text("utf-8")
        assert "Ana" in text
        assert "Team Search" in text
    schema = json.loads(copy.run("-m", "pytest_irquality.suite.schema").stdout)
    assert schema["properties"]["owner"]["description"].startswith("Whom to ask about it.")
    mistyped = copy.judge("ownr: x\nqueries: [{query: chair}]\n").stdout
    assert "unknown key 'ownr' in the suite; did you mean 'owner'?" in mistyped


SENTENCE = """\
    yield None, f"{len(result.queries)} queries, so a page of them"
"""


def test_a_sentence_in_every_report_is_one_line_of_one_file(copy: Copy) -> None:
    copy.insert("wording/notes.py", "    for fact in result.facts:\n        yield fact,", SENTENCE)
    assert len(copy.changed) == 1
    ran = copy.judge(BROKEN, "-v")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "\n  2 queries, so a page of them\n" in ran.stdout
    (result,) = json.loads((copy.folder / "out.json").read_text("utf-8"))["suites"]
    assert "2 queries, so a page of them" in result["notes"]
    assert "\n- 2 queries, so a page of them\n" in (copy.folder / "out.md").read_text("utf-8")
    page = (copy.folder / "out.html").read_text("utf-8")
    assert "<li><span>2 queries, so a page of them</span></li>" in page


RULE = [
    ("suite/rules.py", "def with_ranks(", PRECEDES),
    ("wording/demand_words.py", "# -- guards ---", PRECEDES_SAID),
    ("wording/demand_words.py", '        "in_order": Words(', '        "must_not_precede": Words(_must_not_precede),\n'),
]  # fmt: skip
ANSWERS = """\
import pytest
class Engine:
    answers = ANSWERS
    def __call__(self, query): return self.answers.pop(0)
    def exists(self, id):
        with open("asked.txt", "a") as asked: print(id, file=asked)
        return True
@pytest.fixture
def retriever(): return Engine()
"""


def answering(copy: Copy, suite: str, *answers: list[str], options: Sequence[str] = ()) -> Ran:
    """Run pytest over a suite with an engine that gives these answers, one after the other."""
    copy.folder.joinpath("conftest.py").write_text(ANSWERS.replace("ANSWERS", repr([*answers])))
    return copy.ask(suite, *options)


def test_a_rule_is_two_files(copy: Copy) -> None:
    for step in RULE:
        copy.insert(*step)
    assert len(copy.changed) == 2
    suite = "queries:\n  - {query: a, must_not_precede: [bad, good], relevant: [other]}\n"
    ran = answering(copy, suite, ["good", "bad", "other"])
    assert ran.returncode == 0, ran.stdout + ran.stderr
    for answer, where in ((["bad", "good"], "at rank 1 and at rank 2"), (["bad"], "at rank 1 and not returned"), (["other"], "not returned and not returned")):  # fmt: skip
        ran = answering(copy, suite, answer)
        assert ran.returncode == 1, ran.stdout + ran.stderr
        assert f"✗ bad must not stand above good: {where}" in ran.stdout
    schema = json.loads(copy.run("-m", "pytest_irquality.suite.schema").stdout)
    assert "must_not_precede" in schema["definitions"]["query"]["properties"]


def test_every_report_knows_the_rule(copy: Copy) -> None:
    for step in RULE:
        copy.insert(*step)
    suite = "queries:\n  - {query: a, must_not_precede: [bad, good], must_find: [other]}\n"
    options = ["--ir-audit", "--junitxml=out.xml"]
    ran = answering(copy, suite, ["bad", "x"], options=options)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    said = "bad must not stand above good: at rank 1 and not returned"
    for report in ("out.md", "out.html", "out.json", "out.xml"):
        text = copy.folder.joinpath(report).read_text("utf-8")
        assert said in text.replace("\\", ""), report
    (result,) = json.loads(copy.folder.joinpath("out.json").read_text("utf-8"))["suites"]
    # Only what is wanted is listed as missing, only what is unwanted is marked as forbidden.
    assert [document["id"] for document in result["queries"][0]["missing"]] == ["other"]
    page = copy.folder.joinpath("out.html").read_text("utf-8")
    assert page.count("⊘ forbidden") == 1
    # The audit asks for what is wanted and for what is named.
    asked = copy.folder.joinpath("asked.txt").read_text("utf-8").split()
    assert {"good", "other"} <= {*asked}
    assert "bad" not in asked


def test_one_answer_in_three_breaks_the_rule(copy: Copy) -> None:
    for step in RULE:
        copy.insert(*step)
    suite = "repeat: 3\nqueries:\n  - {query: a, must_not_precede: [bad, good]}\n"
    good, bad = ["good", "bad"], ["bad", "good"]
    assert answering(copy, suite, good, good, good).returncode == 0
    ran = answering(copy, suite, good, bad, good)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "at rank 1 and at rank 2 (in 1 of 3 answers)" in ran.stdout


def test_the_rule_under_a_known_issue(copy: Copy) -> None:
    for step in RULE:
        copy.insert(*step)
    suite = "queries:\n  - {query: a, must_not_precede: [bad, good], known_issue: S-1}\n"
    ran = answering(copy, suite, ["bad", "good"])
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1 xfailed" in ran.stdout
    ran = answering(copy, suite, ["good", "bad"])
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "known issue S-1 no longer fails" in ran.stdout


@pytest.mark.parametrize("forgotten", ["suite/rules.py", "wording/demand_words.py"])
def test_a_rule_that_is_not_known_everywhere_fails_at_import(copy: Copy, forgotten: str) -> None:
    for file, before, text in RULE:
        if file != forgotten:
            copy.insert(file, before, text)
    ran = copy.run("-c", "import pytest_irquality.wording.demand_words")
    assert ran.returncode == 1
    assert "must_not_precede" in ran.stderr.splitlines()[-1]


def test_a_guard_is_two_files(copy: Copy) -> None:
    copy.insert("suite/demands.py", "GUARDS: ", HAD)
    copy.insert("wording/demand_words.py", "# -- bounds ---", HAD_SAID)
    copy.insert(
        "wording/demand_words.py",
        '        "min": Words(',
        '        "lost_first": Words(_guard(_lost_first), several="begin otherwise"),\n',
    )
    assert len(copy.changed) == 2
    suite = "queries:\n  - {query: a, relevant: [d1]}\neach_query: {lost_first: fail}\n"
    copy.judge(suite, "--ir-update-baseline", returned="['d1', 'd2']")
    ran = copy.judge(suite)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "'a' no longer begins with d1" in ran.stdout
    assert copy.judge(suite, returned="['d1']").returncode == 0


def test_a_bound_is_two_files(copy: Copy) -> None:
    copy.insert("suite/demands.py", "class MaxRise(", WARN_DROP)
    copy.insert("suite/demands.py", "MaxDrop, MaxRise, ", "WarnDrop, ")
    copy.insert(
        "wording/demand_words.py",
        '        "max_rise": Words(',
        '        "warn_drop": Words(_change, name="drop", sign="warn drop >"),\n',
    )
    assert len(copy.changed) == 2
    suite = "queries:\n  - {query: a, relevant: [d1]}\nthresholds: {mrr: {warn_drop: 0.1}}\n"
    copy.judge(suite, "--ir-update-baseline", returned="['d1', 'd2']")
    ran = copy.judge(suite)
    assert "mrr@10 fell 1.000 → 0.500, by 0.500: more than warn_drop 0.1" in ran.stdout


BROKEN = "queries: [{query: a, must_find: {d1: 1}}, {query: b, must_find: {d2: 1}}]\n"


def test_a_report_is_a_module_and_a_line_of_the_table(copy: Copy) -> None:
    copy.add("report/failing.py", FAILING)
    copy.insert("plugin/reports.py", "class Reports(Declared):", FAILING_MADE)
    copy.insert("plugin/reports.py", "    judge = Report(", FAILING_REPORT)
    assert len(copy.changed) <= MOST_FILES
    ran = copy.judge(BROKEN, "--ir-failing=failing.txt")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "\nreport: failing.txt\n" in ran.stdout
    assert copy.folder.joinpath("failing.txt").read_text("utf-8") == "a\n"
    assert "Write the ids of queries that failed" in copy.run("-m", "pytest", "--help").stdout


def test_a_report_that_nothing_makes_fails_at_import(copy: Copy) -> None:
    forgotten = FAILING_REPORT.replace("        make=_failing,\n", "")
    copy.insert("plugin/reports.py", "    judge = Report(", forgotten)
    ran = copy.run("-c", "import pytest_irquality.plugin.hooks")
    assert ran.returncode == 1
    assert "'make'" in ran.stderr.splitlines()[-1]


def test_an_option_is_a_line_of_the_table_and_where_it_acts(copy: Copy) -> None:
    copy.insert("plugin/options.py", "    repeat = Count(", TEAM)
    copy.insert("plugin/suite_module.py", "        if options.repeat:\n", TEAM_USED)
    assert len(copy.changed) <= MOST_FILES
    ran = copy.judge(BROKEN, "--ir-team=Search")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    (result,) = json.loads((copy.folder / "out.json").read_text("utf-8"))["suites"]
    assert result["suite"] == "Search: shop"


def test_an_option_that_is_not_declared_stops_every_suite(copy: Copy) -> None:
    copy.insert("plugin/suite_module.py", "        if options.repeat:\n", TEAM_USED)
    ran = copy.judge(BROKEN)
    assert ran.returncode == 2
    assert "'Options' object has no attribute 'team'" in ran.stdout


def test_a_setting_without_a_sentence_fails_at_import(copy: Copy) -> None:
    copy.insert("plugin/options.py", "    repeat = Count(", "    team = Text()\n")
    ran = copy.run("-c", "import pytest_irquality.plugin.hooks")
    assert ran.returncode == 1
    assert "'help'" in ran.stderr.splitlines()[-1]


def test_a_measure_is_an_entry_of_its_family(copy: Copy) -> None:
    copy.insert("metrics/families/binary.py", "def success(", MISSES)
    copy.insert(
        "metrics/families/binary.py", '    Definition(\n        name="recall"', MISSES_DEFINED
    )
    assert len(copy.changed) <= MOST_FILES
    ran = copy.judge("queries: [{query: a, relevant: [d1]}]\nthresholds: {misses@1: 0.5}\n")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "misses@1 is 1.000, above its ceiling 0.500" in ran.stdout
    assert '"misses' in copy.run("-m", "pytest_irquality.suite.schema").stdout


def test_a_measure_without_a_formula_fails_at_import(copy: Copy) -> None:
    formula = '        formula="1 where none of the first k results is relevant, else 0",\n'
    copy.insert("metrics/families/binary.py", "def success(", MISSES)
    copy.insert(
        "metrics/families/binary.py",
        '    Definition(\n        name="recall"',
        MISSES_DEFINED.replace(formula, ""),
    )
    ran = copy.run("-c", "import pytest_irquality.metrics")
    assert ran.returncode == 1
    assert "'formula'" in ran.stderr.splitlines()[-1]


ENGINE = "{'took': 3, 'winners': [{'id': 'd2'}, {'id': 'd1'}]}"
FOUND = "queries: [{query: a, must_find: {d1: 2}}]\n"


def test_the_response_of_an_engine_is_a_name_of_the_table(copy: Copy) -> None:
    unknown = copy.judge(FOUND, returned=ENGINE)
    assert unknown.returncode == 1
    assert "this one holds no single list of hits" in unknown.stdout
    copy.insert("retrieval/wrappers.py", '"hits", "documents", ', '"winners", ')
    assert len(copy.changed) <= MOST_FILES
    ran = copy.judge(FOUND, returned=ENGINE)
    assert ran.returncode == 0, ran.stdout + ran.stderr


FORMAT = [
    ("suite/files/formats.py", "def topics(", PIPED),
    ("suite/files/source.py", "    plain,\n", "    piped,\n"),
    ("suite/files/source.py", '"jsonl", "csv", "tsv")', '"piped", '),
    ("suite/files/source.py", '    "topics": Format(', '    "piped": Format("pipes", piped, words=False),\n'),
]  # fmt: skip


def test_a_format_is_its_reader_and_its_entry(copy: Copy) -> None:
    for step in FORMAT:
        copy.insert(*step)
    assert len(copy.changed) <= MOST_FILES
    copy.folder.joinpath("graded.txt").write_text("a|d1|1\n", encoding="utf-8")
    ran = copy.judge(
        "queries: [{id: a, query: chair}]\njudgments: {file: graded.txt, format: piped}\n"
        "thresholds: {mrr: 0.6}\n"
    )
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "mrr@10 is 0.500, below its floor 0.600" in ran.stdout


def test_a_format_that_holds_nothing_fails_at_import(copy: Copy) -> None:
    for step in FORMAT:
        if "jsonl" not in step[1]:
            copy.insert(*step)
    ran = copy.run("-c", "import pytest_irquality.suite.files.source")
    assert ran.returncode == 1
    assert "every format holds queries, or judgments, or both" in ran.stderr.splitlines()[-1]
