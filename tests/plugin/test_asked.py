"""What the options ask for happens, however suites were named, or the exit status says that it did not."""

from __future__ import annotations

import os

import pytest

from tests.conftest import QUIET, Project

SUITE = "queries: [{query: a, relevant: [d1], must_find: [d1]}]\n"
GOOD = "@pytest.fixture\ndef retriever(): return lambda query: ['d1']\n"
BAD = "@pytest.fixture\ndef retriever(): return lambda query: ['d2']\n"


@pytest.fixture
def shop(project: Project) -> Project:
    project.suite(SUITE)
    project.conftest(GOOD)
    return project


@pytest.mark.parametrize(
    "args",
    [
        ("shop.ir.yaml",),
        (),
        ("--rootdir=.", "./shop.ir.yaml"),
        ("-p", "xdist", "-n1", "shop.ir.yaml"),
        pytest.param(("-p", "xdist", "-n1"), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_whoever_reports_reports_however_suites_were_named(
    shop: Project, args: tuple[str, ...]
) -> None:
    result = shop.pytester.runpytest("--ir-json=out.json", *QUIET, *args)
    assert result.ret == 0
    assert shop.outcomes() == {"a": "passed"}
    result.stdout.fnmatch_lines(["*= search quality =*", "✓ passed  shop (shop.ir.yaml): *"])


@pytest.mark.parametrize(
    "option",
    ["--ir-json=x", "--ir-markdown=x", "--ir-update-baseline", "--ir-save-runs=x,shard=1/1", "--ir-report=x", "--ir-judge=x.csv", "--ir-concurrency=2"],
)  # fmt: skip
def test_an_option_that_needs_suites_collects_them(shop: Project, option: str) -> None:
    assert "a PASSED" in shop.pytester.runpytest(option, "-v", *QUIET).stdout.str()


def test_an_option_of_the_ini_file_waits_for_suites(shop: Project) -> None:
    shop.pytester.makeini("[pytest]\naddopts = --ir-json=out.json\n")
    assert shop.pytester.runpytest(*QUIET).ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert shop.pytester.runpytest(*QUIET, "shop.ir.yaml").ret == 0
    assert shop.outcomes() == {"a": "passed"}


@pytest.mark.parametrize(
    "option",
    ["--ir-json=no/x", "--ir-markdown=no/x", "--ir-report=no/x", "--ir-judge=no/x.csv", "--ir-history=no/x", "--ir-save-runs=no/x", "--ir-baseline=no/x --ir-update-baseline"],
)  # fmt: skip
def test_what_was_asked_for_and_could_not_be_written_fails(shop: Project, option: str) -> None:
    (shop.path / "no").write_text("a file")
    result = shop.run(*option.split())
    assert result.ret == 1
    result.assert_outcomes(passed=1 + 2 * ("baseline" in option))
    result.stdout.fnmatch_lines(["*NOT WRITTEN: no/x*"])


@pytest.mark.usefixtures("pages")
def test_the_default_report_and_the_summary_only_warn(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shop.path / "ir-report.html").mkdir()
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(shop.path / "none" / "x"))
    result = shop.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["NOT WRITTEN: ir-report.html: *", "NOT WRITTEN: the job's summary: *"])  # fmt: skip
    shop.conftest(BAD)
    assert shop.run("--ir-markdown=ir-report.html").ret == 1  # no other status changes


@pytest.mark.parametrize(
    "option", ["--collect-only", "--setup-plan", "--fixtures", "--fixtures-per-test"]
)
def test_who_only_looks_gets_no_report(shop: Project, option: str) -> None:
    result = shop.run(option)
    assert result.ret == 0
    assert "NOT EVALUATED" not in result.stdout.str()
    assert not (shop.path / "out.json").exists()


def test_setup_only_fails_where_a_check_does(shop: Project) -> None:
    assert shop.run("--setup-only").ret == 0
    shop.conftest(BAD)
    result = shop.run("--setup-only")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["✗ FAILED  shop (shop.ir.yaml): *"])


def test_suites_that_would_share_a_file_are_refused(shop: Project) -> None:
    shop.suite(SUITE, "shop.ir.yml")
    for option in ("--ir-update-baseline", "--ir-save-runs=kept"):
        result = shop.run(option)
        assert result.ret == 2
        result.stdout.fnmatch_lines(["*shop.ir.yaml and shop.ir.yml would be kept in one file: give one of them another name"])  # fmt: skip
    (shop.path / "shop.ir.yml").unlink()
    shop.conftest("@pytest.fixture(params=['bm25', 'BM25'])\ndef retriever(request): return lambda query: ['d1']\n")  # fmt: skip
    result = shop.run("--ir-update-baseline")
    result.stdout.fnmatch_lines(["*shop.ir.yaml [[]bm25] and shop.ir.yaml [[]BM25] would be kept in one file*"])  # fmt: skip


@pytest.mark.parametrize("given", ["3", "'ndcg'", "[3]", "object()"])
def test_a_hook_that_gives_no_measures_is_one_line(shop: Project, given: str) -> None:
    shop.conftest(GOOD + f"def pytest_ir_measures(config): return {given}\n")
    result = shop.run()
    assert result.ret == 2
    assert "pytest_ir_measures must give" in result.stdout.str()
    assert "Traceback" not in result.stdout.str()


def test_a_path_that_a_terminal_or_ci_would_act_on_is_no_suite(shop: Project) -> None:
    folder = shop.path / "::stop-commands::k"
    folder.mkdir()
    (folder / "shop.ir.yaml").write_text(SUITE)
    result = shop.run("-v")
    assert result.ret == 2
    assert not any(line.lstrip().startswith("::") for line in result.outlines)


@pytest.mark.parametrize("value", ["3", '"3"'])
@pytest.mark.skipif(pytest.version_tuple < (9,), reason="native TOML came with pytest 9")
def test_a_number_of_toml(shop: Project, value: str) -> None:
    (shop.path / "pytest.toml").write_text(f"[pytest]\nir_max_calls = {value}\n")
    assert shop.run().ret == (0 if value == "3" else 4)


@pytest.mark.slow
def test_an_ascii_terminal_shows_a_query_of_another_script(shop: Project) -> None:
    shop.suite("queries: [{query: 椅子, must_find: [d9]}]\n")
    command = ["-m", "pytest", "--ir-suite", *QUIET]
    import subprocess
    import sys

    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [sys.executable, *command], cwd=shop.path, env=environment, capture_output=True, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert b"UnicodeEncodeError" not in done.stdout + done.stderr


def test_another_plugin_that_annotates_is_enough(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    shop.conftest(BAD)
    assert "::error" in shop.run().stdout.str()
    (shop.path / "pytest_github_actions_annotate_failures.py").write_text("")
    monkeypatch.syspath_prepend(shop.path)
    assert "::error" not in shop.run("-p", "pytest_github_actions_annotate_failures").stdout.str()
