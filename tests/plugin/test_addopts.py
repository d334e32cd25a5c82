"""``addopts = --ir-suite``: suites run with every pytest, from the command line and from editors, and are silent elsewhere."""

from __future__ import annotations

import pytest

from tests.conftest import QUIET, Project, installed

SUITE = "queries:\n  - {query: desk, must_find: {d1: 1}}\n  - {query: lamp, relevant: [d1]}\n"
UNIT = "def test_unit():\n    pass\n"


@pytest.fixture
def shop(project: Project) -> Project:
    """Suites below tests/search, where the fixture is, and unit tests below tests/unit."""
    project.pytester.makepyprojecttoml('[tool.pytest.ini_options]\naddopts = ["--ir-suite"]\n')
    project.suite(SUITE, "tests/search/shop.ir.yaml")
    project.conftest(
        "@pytest.fixture\ndef retriever():\n    return lambda query: ['d1']\n", "tests/search"
    )
    unit = project.path / "tests/unit/test_unit.py"
    unit.parent.mkdir()
    unit.write_text(UNIT)
    return project


def run(shop: Project, *arguments: str) -> pytest.RunResult:
    return shop.pytester.runpytest(*QUIET, *arguments)


@pytest.mark.slow
def test_unit_tests_alone_load_nothing_for_it(shop: Project) -> None:
    unit = shop.path / "tests/unit/test_unit.py"
    unit.write_text(
        "import sys\n"
        "def test_unit():\n"
        "    heavy = {'yaml', 'jinja2', 'asyncio', 'pytest_irquality.plugin.collect'}\n"
        "    assert heavy.isdisjoint(sys.modules)\n"
    )
    result = shop.pytester.runpytest_subprocess("tests/unit")
    result.assert_outcomes(passed=1)


@pytest.mark.usefixtures("pages")
def test_suites_run_beside_unit_tests(shop: Project) -> None:
    result = run(shop)
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["*search quality*", "✓ passed  shop (tests/search/shop.ir.yaml)*"])
    assert (shop.path / "ir-report.html").exists()


@pytest.mark.parametrize(
    ("arguments", "status", "passed"),
    [
        (["tests/unit"], 0, 1),
        (["tests/unit/test_unit.py::test_unit"], 0, 1),
        (["-m", "not ir_suite"], 0, 1),
        (["-k", "unit"], 0, 1),
        (["-k", "nothing_is_called_so"], 5, 0),
        (["-p", "no:irquality", "-o", "addopts="], 0, 1),
        (["--lf", "tests/unit"], 0, 1),
    ],
    ids=str,
)
@pytest.mark.usefixtures("pages")
def test_where_no_suite_is_asked_for_nothing_is_said_or_written(
    shop: Project,
    arguments: list[str],
    status: int,
    passed: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if "no:irquality" in arguments:
        installed(monkeypatch)
    result = run(shop, *arguments)
    assert result.ret == status
    assert result.parseoutcomes().get("passed", 0) == passed
    words = result.stdout.str().partition("collected")[2]
    assert "irquality" not in words
    assert "search quality" not in words
    assert not (shop.path / "ir-report.html").exists()


@pytest.mark.parametrize(
    "arguments",
    [[], ["-q"], ["-qq"], pytest.param(["-p", "xdist", "-n1"], marks=pytest.mark.slow)],
    ids=str,
)
@pytest.mark.usefixtures("pages")
def test_an_editor_looks_for_tests(shop: Project, arguments: list[str]) -> None:
    """VS Code and PyCharm collect first, and want node ids and no more."""
    result = run(shop, "--collect-only", f"--rootdir={shop.path}", *arguments)
    assert result.ret == 0
    assert "search quality" not in result.stdout.str()
    assert not (shop.path / "ir-report.html").exists()
    if arguments == ["-q"]:
        result.stdout.fnmatch_lines([
            "tests/search/shop.ir.yaml::desk",
            "tests/search/shop.ir.yaml::lamp",
            "tests/unit/test_unit.py::test_unit",
        ])  # fmt: skip


# What PyCharm's and VS Code's runners do: they listen to the reports, and print no summary of pytest's.
LISTENS = """
import pytest
def pytest_collection_modifyitems(items):
    for item in items:
        print("place", *item.location[:2], item.path.name)
def pytest_runtest_logreport(report):
    if report.when == "call":
        print("report", report.nodeid, report.outcome, report.longreprtext.split("\\n")[0])
"""


def test_an_editor_runs_one_item_by_its_node_id_and_shows_its_text(shop: Project) -> None:
    shop.suite(SUITE.replace("{d1: 1}", "{d2: 1}"), "tests/search/shop.ir.yaml")
    (shop.path / "conftest.py").write_text(LISTENS)
    result = run(
        shop, "tests/search/shop.ir.yaml::desk", "--no-header", "--no-summary", "-q", "-s",
        f"--rootdir={shop.path}",
    )  # fmt: skip
    assert result.ret == 1
    result.stdout.fnmatch_lines([
        "place tests/search/shop.ir.yaml 1 shop.ir.yaml",
        "*report tests/search/shop.ir.yaml::desk failed 'desk'*",
    ])  # fmt: skip


def test_a_suite_that_is_named_is_collected_without_the_option(shop: Project) -> None:
    result = run(shop, "-o", "addopts=", "tests/search/shop.ir.yaml")
    result.assert_outcomes(passed=2)
    result = run(shop, "-o", "addopts=")
    result.assert_outcomes(passed=1)
