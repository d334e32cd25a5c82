"""The recipes of CONTRIBUTING, followed in a copy of the package, and what a forgotten step does."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "pytest_irquality"
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
MAX_FILES = 2

CONFTEST = """
import json
from pathlib import Path

import pytest


@pytest.fixture
def retriever():
    return lambda query: json.loads(Path("answer.json").read_text())
"""
ONE_QUERY = "queries:\n  - {query: chair, relevant: [d1]}\n"


class Step(NamedTuple):
    """A text to insert before another text, which the file has once. Without one: a new file."""

    file: str
    text: str
    before: str = ""


class PackageCopy:
    """A copy of the package and a project next to it, whose search returns d2 before d1."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.changed_files: set[str] = set()
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(PACKAGE, folder / "pytest_irquality", ignore=ignored)
        (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        self.answer(["d2", "d1"])

    def follow(self, recipe: Sequence[Step]) -> None:
        """Follow the steps of a recipe."""
        for step in recipe:
            path = self.folder / "pytest_irquality" / step.file
            text = step.text
            if step.before:
                old = path.read_text("utf-8")
                assert old.count(step.before) == 1, f"{step.file} has not once: {step.before}"
                text = old.replace(step.before, step.text + step.before)
            path.write_text(text, encoding="utf-8")
            self.changed_files.add(step.file)

    def answer(self, result: Any) -> None:
        """Set what the search returns for every query."""
        (self.folder / "answer.json").write_text(json.dumps(result), encoding="utf-8")

    def run(self, suite: str, *options: str) -> subprocess.CompletedProcess[str]:
        """Run pytest over a suite with the copy."""
        (self.folder / "shop.ir.yaml").write_text(suite, encoding="utf-8")
        command = ["-m", "pytest", "--ir-suite", "shop.ir.yaml", "--ir-json=out.json", *options]
        return self.run_python(*command)

    def run_python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Python with the copy as the package."""
        environment = {}
        for name, value in os.environ.items():
            if not name.startswith(("GITHUB_", "PYTEST_", "CI")):
                environment[name] = value
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        environment["PYTEST_PLUGINS"] = "pytest_irquality.plugin.entry"
        environment["PYTHONPATH"] = str(self.folder)
        environment["PYTHONUTF8"] = "1"
        environment["COLUMNS"] = "200"
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=environment,
            text=True,
            encoding="utf-8",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )

    def read_report(self) -> Any:
        """Return the JSON report of the last run."""
        return json.loads((self.folder / "out.json").read_text("utf-8"))

    def make_schema(self) -> Any:
        """Return the JSON Schema of suites."""
        completed = self.run_python("-m", "pytest_irquality.suite.keys")
        return json.loads(completed.stdout)


@pytest.fixture
def package(tmp_path: Path) -> PackageCopy:
    return PackageCopy(tmp_path)


# -- Recipes ---------------------------------------------------------------------------------------

RULE = (
    Step(
        "suite/rules.py",
        '''
class MustNotPrecede(InOrder):
    """The first document is never above the second."""

    key = "must_not_precede"
    help = "The first of two documents is never above the second."

    def _iter_violations(self, ranking: RankingView, context: _RuleContext) -> Iterator[Text]:
        ranks = _find_ranks(ranking)
        first, second = self.documents
        if ranks.get(first, 0) and ranks[first] < ranks.get(second, len(ranks) + 1):
            yield write(context.name_document(first), " must not be above ", second)


''',
        "RULES: Mapping[str, type[Rule]] = {",
    ),
    Step("suite/rules.py", "        MustNotPrecede,\n", "        ExpectNoResults,\n        Every"),
)
BOUND = (
    Step(
        "suite/model.py",
        """\
    approx: Bound | None = _make_bound_field("The value, up to a tenth.")
""",
        "    is_warning: bool = False\n    location",
    ),
    Step(
        "evaluation/requirement_checks.py",
        """\
    elif key == "approx":
        is_broken = abs(amount - bound.value) > 0.1
        could_fail = True
        relation = "not near"
""",
        "    else:\n        raise NotImplementedError",
    ),
)
DEFAULT_CHECK = (
    Step(
        "evaluation/results.py",
        '    FIRST_RESULTS = "first results stay"\n',
        '    UNRECOGNIZABLE = "',
    ),
    Step(
        "evaluation/default_checks.py",
        "        yield _check_first_results(comparison)\n",
        "        yield _check_r",
    ),
    Step(
        "evaluation/default_checks.py",
        """
def _check_first_results(comparison: Comparison) -> CheckResult:
    changed = [change.query.id for change in comparison.changes if change.is_first_hit_new]
    return CheckResult(
        DefaultCheck.FIRST_RESULTS,
        Outcome.FAILED if changed else Outcome.PASSED,
        write(f"The first results of {len(changed)} queries changed"),
        label=DefaultCheck.FIRST_RESULTS.value,
        item=_find_default_checks_item(comparison),
        query_ids=tuple(changed),
    )


""",
        "def _find_default_checks_item(",
    ),
)
METRIC = (
    Step(
        "metrics/catalog.py",
        """\
    Definition(
        name="misses",
        title="Misses",
        formula="1 if none of the first k results is relevant, otherwise 0",
        make=lambda cutoff: _score_each(
            lambda ranks: float(bisect_right(ranks, cutoff) == 0), "relevant_ranks"
        ),
        source="ours",
        higher_is_better=False,
    ),
""",
        '    Definition(\n        name="success",',
    ),
)
ENGINE = (Step("retrieval/wrappers.py", '    "winners",\n', '    "hits", "documents", "points"'),)
FORMAT = (
    Step("suite/keys.py", '    "pipes": "lines with pipes",\n', '    "trec": "TREC qrels",\n'),
    Step("suite/data_files.py", '"pipes", ', '"trec", "beir", "jsonl", "csv", "tsv")\n'),
    Step(
        "suite/data_files.py",
        '            "pipes": self._read_pipes,\n',
        '            "trec": self._read_trec,\n',
    ),
    Step(
        "suite/data_files.py",
        """\
    def _read_pipes(self, lines: Iterator[tuple[int, str]]) -> Iterator[Record]:
        for number, line in self._iter_data(lines):
            query_id, document, grade = line.strip().split("|")
            yield Record(number, {"id": query_id, "document": document, "grade": grade})

""",
        "    def _read_topics(",
    ),
)
OPTION = (
    Step(
        "plugin/options.py",
        '    Option("--ir-branch", "NAME", "The name of the branch in reports."),\n',
        '    Option(\n        "--ir-history",',
    ),
    Step("plugin/options.py", '    branch: str = ""\n', '    json: str = ""\n'),
    Step("plugin/report_files.py", "options.branch or ", "_read_branch(search_session.root),"),
)
SUITE_KEY = (
    Step(
        "suite/keys.py",
        '    "owner": Key(kinds.TEXT, "Whom to ask about the suite.", "nobody"),\n',
        '    "probes": Key(',
    ),
    Step("suite/model.py", '    owner: str = ""\n', "    top_k: int = 10\n    depth: int | None"),
)
QUERY_KEY = (
    Step(
        "suite/keys.py",
        '    "owner": Key(kinds.TEXT, "Whom to ask about the query.", "nobody"),\n',
        '    "why": Key(',
    ),
    Step("suite/model.py", '    owner: str = ""\n', '    why: str = ""\n'),
)
NOTICE = (
    Step(
        "evaluation/notices.py",
        "        _create_size_notice,\n",
        "        _create_not_run_notice,\n",
    ),
    Step(
        "evaluation/notices.py",
        """\
def _create_size_notice(facts: SuiteFacts) -> Iterator[Notice]:
    yield Notice("size", write(f"The suite has {len(facts.comparison.suite.queries)} query"))


""",
        "def _create_not_run_notice(",
    ),
)
COLUMN = (
    Step(
        "reports/query_rows.py",
        '    Column("weight", key="weight", read=lambda row: write(f"{row.query.weight:g}")),\n',
        '    Column("before", is_number=True, key="before",',
    ),
)
JSON_FIELD = (
    Step(
        "reports/view_model.py", '    primary_metrics: str = ""\n', "    settings: ViewSettings = "
    ),
    Step(
        "reports/build_view.py",
        '        primary_metrics=", ".join(suite.metric for suite in suites),\n',
        "        settings=settings,\n    )\n",
    ),
)
REPORT = (
    Step(
        "reports/failed_queries.py",
        '''\
"""The ids of the queries that got worse, one in each line."""

from pytest_irquality.reports.view_model import View


def render_failed_queries(view: View) -> str:
    """Render the ids."""
    return "".join(f"{row.query.id}\\n" for row in view.worse)
''',
    ),
    Step(
        "plugin/options.py",
        """\
    Option(
        "--ir-worse",
        "PATH",
        "Write the ids of queries that got worse to PATH.",
        renderer="failed_queries:render_failed_queries",
    ),
""",
        '    Option(\n        "--ir-markdown",',
    ),
    Step("plugin/options.py", '    worse: str = ""\n', '    markdown: str = ""\n'),
)
SOURCE = (
    Step(
        "baselines/fixed.py",
        '''\
"""A baseline in which every query has one result."""

from pytest_irquality.baselines.sources import Baseline
from pytest_irquality.retrieval.run import Ranking, Run


class FixedBaselines:
    """The same result for every query of every suite."""

    label = "fixed"
    commit = ""
    is_committed = False

    def __init__(self) -> None:
        self.errors: dict[str, str] = {}
        self.notes: list = []

    def read_baselines(self, suites):
        """Return a baseline for each suite."""
        baselines = []
        for suite in suites:
            answers = {query.request: (Ranking(("d1",)),) for query in suite.queries}
            baselines.append(Baseline(Run(answers), suite.retriever, suite.path))
        return tuple(baselines)
''',
    ),
    Step(
        "plugin/session.py",
        """\
    if baseline == "fixed":
        from pytest_irquality.baselines.fixed import FixedBaselines

        return FixedBaselines()
""",
        "    path = folder / baseline\n",
    ),
)
RECIPES: Mapping[str, Sequence[Step]] = {
    "a rule": RULE,
    "a bound of thresholds": BOUND,
    "a default check": DEFAULT_CHECK,
    "a metric": METRIC,
    "an engine's response": ENGINE,
    "a file format": FORMAT,
    "an option or ini key": OPTION,
    "a key of suites": SUITE_KEY,
    "a key of queries": QUERY_KEY,
    "a notice about a suite": NOTICE,
    "a column of the table of queries": COLUMN,
    "a field of the JSON report": JSON_FIELD,
    "a report": REPORT,
    "a source of baselines": SOURCE,
}


def read_recipes() -> dict[str, list[str]]:
    """Return the files that each recipe of the page names."""
    recipes: dict[str, list[str]] = {}
    name = ""
    for first, file in re.findall(r"^\| ([^|]*)\| `?([^|`]+)`? \|", CONTRIBUTING, re.MULTILINE):
        name = first.strip() or name
        recipes.setdefault(name, []).append(file)
    del recipes["to add …"]
    return recipes


def test_every_recipe_of_the_page_is_followed() -> None:
    assert read_recipes().keys() - RECIPES.keys() == {"a constant of a check"}
    assert RECIPES.keys() <= read_recipes().keys()


@pytest.mark.parametrize("name", RECIPES)
def test_recipe_names_the_files_that_it_changes(name: str) -> None:
    named = read_recipes()[name]

    changed = {step.file for step in RECIPES[name]}

    assert len(changed) <= MAX_FILES
    for file in changed:
        is_new = not (PACKAGE / file).exists()
        pattern = file.rpartition("/")[0] + "/NAME.py" if is_new else file
        assert pattern in named or "where it acts" in named, file


def test_files_of_the_page_exist() -> None:
    for name in re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.(?:py|yml|txt))`", CONTRIBUTING):
        assert (PACKAGE / name).exists() or (ROOT / name).exists(), name


# -- What recipes add ------------------------------------------------------------------------------


def test_rule_is_checked_and_completed(package: PackageCopy) -> None:
    package.follow(RULE)

    completed = package.run("queries:\n  - {query: chair, must_not_precede: [d2, d1]}\n")

    assert completed.returncode == 1, completed.stdout
    assert '"chair": d2 must not be above d1' in completed.stdout
    properties = package.make_schema()["definitions"]["query"]["properties"]
    assert "must_not_precede" in properties


def test_bound_is_checked_and_completed(package: PackageCopy) -> None:
    package.follow(BOUND)

    completed = package.run(ONE_QUERY + "thresholds: {mrr@10: {approx: 0.8}}\n")

    assert completed.returncode == 1, completed.stdout
    assert "mrr@10 is 0.500, not near 0.8" in completed.stdout
    assert "approx" in json.dumps(package.make_schema())


def test_default_check_fails_a_build(package: PackageCopy) -> None:
    package.follow(DEFAULT_CHECK)
    package.run(ONE_QUERY, "--ir-update-baseline")
    package.answer(["d1", "d2"])

    completed = package.run(ONE_QUERY)

    assert completed.returncode == 1, completed.stdout
    assert "The first results of 1 queries changed" in completed.stdout


def test_metric_has_thresholds_and_a_page(package: PackageCopy) -> None:
    package.follow(METRIC)

    completed = package.run(ONE_QUERY + "thresholds: {misses@1: {max: 0.5}}\n")

    assert completed.returncode == 1, completed.stdout
    assert "misses@1 is 1.000, above the maximum 0.5" in completed.stdout
    assert "misses@10" in json.dumps(package.make_schema())


def test_response_of_an_engine_is_read(package: PackageCopy) -> None:
    package.answer({"took": 3, "winners": [{"id": "d1"}, {"id": "d2"}]})
    suite = "queries:\n  - {query: chair, must_find: {d1: 1}}\n"
    before = package.run(suite)

    package.follow(ENGINE)

    assert "this one has no single list of hits" in before.stdout
    completed = package.run(suite)
    assert completed.returncode == 0, completed.stdout


def test_file_of_a_new_format_is_read(package: PackageCopy) -> None:
    package.follow(FORMAT)
    (package.folder / "graded.txt").write_text("chair|d1|1\n", encoding="utf-8")

    completed = package.run(
        "queries: [{id: chair, query: office chair}]\n"
        "judgments: {file: graded.txt, format: pipes}\nthresholds: {mrr@10: 0.6}\n"
    )

    assert completed.returncode == 1, completed.stdout
    assert "mrr@10 is 0.500, below the minimum 0.6" in completed.stdout


def test_option_acts_and_has_help(package: PackageCopy) -> None:
    package.follow(OPTION)

    completed = package.run(ONE_QUERY, "--ir-branch=faster-search")

    assert completed.returncode == 0, completed.stdout
    assert package.read_report()["header"]["branch"] == "faster-search"
    assert "The name of the branch in reports." in package.run_python("-m", "pytest", "-h").stdout


@pytest.mark.parametrize(
    ("recipe", "expression"),
    [
        pytest.param(SUITE_KEY, "suite.settings.owner", id="suite"),
        pytest.param(QUERY_KEY, "suite.queries[0].owner", id="query"),
    ],
)
def test_key_is_read_completed_and_suggested(
    recipe: Sequence[Step], expression: str, package: PackageCopy
) -> None:
    package.follow(recipe)
    is_query = recipe is QUERY_KEY
    suite = (
        "queries:\n  - query: chair\n    owner: Ana\n" if is_query else "owner: Ana\n" + ONE_QUERY
    )
    (package.folder / "shop.ir.yaml").write_text(suite, encoding="utf-8")

    printed = package.run_python(
        "-c",
        "from pathlib import Path; from pytest_irquality import load_suite;"
        f" suite = load_suite(Path('shop.ir.yaml'), root=Path.cwd()); print({expression})",
    )
    mistyped = package.run(suite.replace("owner", "ownr"))

    assert printed.stdout == "Ana\n"
    assert "Did you mean 'owner'?" in mistyped.stdout
    assert "Whom to ask about the" in json.dumps(package.make_schema())


def test_notice_is_in_every_report(package: PackageCopy) -> None:
    package.follow(NOTICE)

    completed = package.run(ONE_QUERY, "-v", "--ir-markdown=out.md")

    assert completed.returncode == 0, completed.stdout
    assert "The suite has 1 query" in completed.stdout
    assert "size" in [notice["code"] for notice in package.read_report()["notices"]]
    for name in ("out.md", "ir-report.html"):
        assert "The suite has 1 query" in (package.folder / name).read_text("utf-8")


def test_column_is_in_every_report(package: PackageCopy) -> None:
    package.follow(COLUMN)

    completed = package.run(ONE_QUERY, "--ir-markdown=out.md")

    assert completed.returncode == 0, completed.stdout
    assert package.read_report()["suites"][0]["rows"][0]["weight"] == "1"
    page = (package.folder / "ir-report.html").read_text("utf-8")
    assert '<th scope="col" class="weight">weight</th>' in page


def test_field_is_in_the_json_report_and_its_schema(package: PackageCopy) -> None:
    package.follow(JSON_FIELD)

    completed = package.run(ONE_QUERY)

    assert completed.returncode == 0, completed.stdout
    assert package.read_report()["primary_metrics"] == "ndcg@10"


def test_report_is_written_and_named(package: PackageCopy) -> None:
    package.follow(REPORT)
    package.run(ONE_QUERY, "--ir-update-baseline", "--ir-worse=worse.txt")
    (package.folder / "worse.txt").unlink()
    package.answer(["d2", "d3", "d1"])

    completed = package.run(ONE_QUERY, "-v", "--ir-worse=worse.txt")

    assert (package.folder / "worse.txt").read_text("utf-8") == "chair\n", completed.stdout
    assert "worse: worse.txt" in completed.stdout


def test_source_of_baselines_is_compared_with(package: PackageCopy) -> None:
    package.follow(SOURCE)

    completed = package.run(ONE_QUERY, "--ir-baseline=fixed")

    assert completed.returncode == 0, completed.stdout
    report = package.read_report()
    assert report["header"]["compared_with"] == "fixed"
    assert report["suites"][0]["rows"][0]["before"] == 1.0


# -- What a forgotten step does --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("recipe", "forgotten", "message"),
    [
        pytest.param(RULE, RULE[0], "name 'MustNotPrecede' is not defined", id="rule"),
        pytest.param(DEFAULT_CHECK, DEFAULT_CHECK[0], "FIRST_RESULTS", id="default check"),
        pytest.param(BOUND, BOUND[1], "There is no check of 'approx'", id="bound"),
        pytest.param(FORMAT, FORMAT[2], "graded.txt:1: No column", id="format"),
        pytest.param(OPTION, OPTION[0], "--ir-branch", id="option"),
        pytest.param(OPTION, OPTION[1], "branch", id="field of options"),
        pytest.param(SUITE_KEY, SUITE_KEY[0], "'owner' is not a key of the suite", id="suite key"),
        pytest.param(NOTICE, NOTICE[1], "name '_create_size_notice' is not defined", id="notice"),
        pytest.param(JSON_FIELD, JSON_FIELD[0], "primary_metrics", id="field of the report"),
        pytest.param(REPORT, REPORT[0], "failed_queries", id="report"),
        pytest.param(REPORT, REPORT[2], "worse", id="field of a report"),
        pytest.param(SOURCE, SOURCE[0], "pytest_irquality.baselines.fixed", id="source"),
    ],
)
def test_forgotten_step_fails_with_a_name(
    recipe: Sequence[Step], forgotten: Step, message: str, package: PackageCopy
) -> None:
    suite = "owner: Ana\n" * (recipe is SUITE_KEY) + ONE_QUERY
    if recipe is BOUND:
        suite += "thresholds: {mrr@10: {approx: 0.8}}\n"
    if recipe is FORMAT:
        (package.folder / "graded.txt").write_text("chair|d1|1\n", encoding="utf-8")
        suite = "queries: [{id: chair, query: a}]\njudgments: {file: graded.txt, format: pipes}\n"
    package.run(ONE_QUERY, "--ir-update-baseline")
    package.answer(["d1", "d2"])

    package.follow([step for step in recipe if step is not forgotten])
    options = {
        id(OPTION): "--ir-branch=main",
        id(REPORT): "--ir-worse=worse.txt",
        id(SOURCE): "--ir-baseline=fixed",
    }
    completed = package.run(suite, *filter(None, [options.get(id(recipe))]))

    assert completed.returncode != 0, completed.stdout
    assert message in completed.stdout


@pytest.mark.parametrize(
    ("recipe", "line"),
    [
        pytest.param(RULE, '    help = "The first of two documents', id="rule"),
        pytest.param(METRIC, "        formula=", id="metric"),
        pytest.param(OPTION, "", id="option"),
    ],
)
def test_entry_without_a_description_does_not_import(
    recipe: Sequence[Step], line: str, package: PackageCopy
) -> None:
    first = recipe[0]
    lines = first.text.splitlines(keepends=True)
    text = "".join(each for each in lines if not line or not each.startswith(line))
    text = text.replace("(InOrder)", "(Rule)").replace(', "The name of the branch in reports."', "")

    package.follow([first._replace(text=text), *recipe[1:]])
    completed = package.run_python(
        "-c", "import pytest_irquality.plugin.entry, pytest_irquality.suite.keys"
    )

    assert completed.returncode == 1
    assert re.search("'(kind|help|formula)'", completed.stdout.splitlines()[-1])
