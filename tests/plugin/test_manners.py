"""What the plugin leaves alone."""

from __future__ import annotations

import pytest

from tests.project import Project

SUITE = "queries:\n  - {query: red shoes, relevant: [a], must_find: [a]}\n"

CHECK_IMPORTS = """
import sys

HEAVY = ("yaml", "jinja2", "asyncio", "pytest_irquality.plugin.session")

def test_imports():
    assert not [name for name in HEAVY if name in sys.modules]
"""


@pytest.fixture
def shop(project: Project) -> Project:
    project.write_suite(SUITE)
    project.write_rankings({"red shoes": ["a"]})
    return project


@pytest.mark.parametrize("addopts", ["", "addopts = --ir-suite"])
def test_unrelated_run_imports_nothing_heavy(project: Project, addopts: str) -> None:
    project.write_ini(addopts)
    project.write("conftest.py", "")
    project.write("test_imports.py", CHECK_IMPORTS)

    result = project.run_pytest("-p", "no:xdist", in_subprocess=True)

    result.assert_outcomes(passed=1)


def test_unrelated_run_says_nothing_of_suites(shop: Project) -> None:
    shop.write("test_unit.py", "def test_unit(): pass\n")

    result = shop.run_pytest()

    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*search*quality*")
    assert not (shop.path / "ir-report.html").exists()


@pytest.mark.parametrize("option", ["--collect-only", "--setup-plan", "--fixtures"])
def test_nothing_runs_and_nothing_is_written_if_pytest_only_shows(
    shop: Project, option: str
) -> None:
    result = shop.run(option)

    assert result.ret == 0
    assert not shop.list_calls()
    assert not (shop.path / "ir-report.html").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["-p", "no:capture"],
        ["-p", "no:junitxml"],
        ["-W", "error"],
        ["--import-mode=importlib"],
        ["-s"],
        ["-q"],
        ["-vv", "--setup-show"],
        ["--tb=no", "-o", "python_functions=check_*"],
        ["--strict-markers", "--strict-config"],
        ["--doctest-modules"],
        pytest.param(["-p", "no:terminal"], marks=pytest.mark.slow),
        pytest.param(["-v"], marks=pytest.mark.slow),
        pytest.param(["-o", "collect_imported_tests=false"], marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_options_of_pytest_change_nothing(shop: Project, arguments: list[str]) -> None:
    in_subprocess = "no:terminal" in arguments

    passed = shop.run(*arguments, in_subprocess=in_subprocess)
    shop.write_rankings({"red shoes": ["x"]})
    failed = shop.run(*arguments, in_subprocess=in_subprocess)

    assert (passed.ret, failed.ret) == (0, 1)


def test_last_failed_runs_the_failed_query_again(shop: Project) -> None:
    shop.write_suite(SUITE + "  - {query: blue shoes, must_find: [b]}\n")
    shop.write_rankings({"red shoes": ["a"], "blue shoes": ["x"]})
    quiet = ("-p", "no:random_order", "-p", "no:hypothesispytest", "--ir-suite")
    shop.pytester.runpytest_inprocess(*quiet)
    shop.list_calls()

    result = shop.pytester.runpytest_inprocess(*quiet, "--lf")

    result.assert_outcomes(failed=1)
    assert shop.list_calls() == ["blue shoes"]


def test_plugin_works_without_autoload(shop: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    result = shop.pytester.runpytest_subprocess("-p", "pytest_irquality.plugin.entry", "--ir-suite")

    assert result.ret == 0


def test_report_is_added_to_the_job_summary(shop: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = shop.write("summary.md", "# Before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))

    shop.run("--ir-report=none")

    text = summary.read_text()
    assert text.startswith("# Before\n")
    assert "shop" in text


def test_failures_are_annotated_on_github(shop: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    shop.write_rankings({"red shoes": ["x"]})

    shop.run().stdout.fnmatch_lines(["::error file=shop.ir.yaml,line=2*"])


def test_output_of_a_teardown_is_shown_with_the_failure(shop: Project) -> None:
    """The terminal reporter keeps only those reports of teardowns that have output."""
    code = (
        "@pytest.fixture\ndef retriever():\n    yield lambda query, k: ['b']\n    print('closed')\n"
    )
    shop.write_conftest(code)

    result = shop.run("--ir-report=none")
    with_durations = shop.run("--ir-report=none", "--durations=0", "-vv")

    result.stdout.fnmatch_lines(["*Captured stdout teardown*", "closed"])
    with_durations.stdout.fnmatch_lines(["*s setup *", "*s teardown *"])
