"""Marks, skips, xfails and exits: what pytest excuses our reports excuse, and what it does not run they do not judge."""

from __future__ import annotations

import pytest

from tests.conftest import Project

SUITE = (
    "queries:\n  - {query: good, relevant: [d1], must_find: [d1]}\n  - {query: bad, must_find: [d9]}\n"
    "  - {query: also bad, must_find: [d9]}\nthresholds: {mrr: 0.5}\n"
)
RETRIEVER = "@pytest.fixture\ndef retriever(): return lambda query: ['d1']\n"
MARKS = (
    "def pytest_collection_modifyitems(items):\n    for item in items:\n"
    "        if item.name == 'bad': item.add_marker(pytest.mark.xfail(reason='SEARCH-1'))\n"
    "        if item.name == 'also-bad': item.add_marker(pytest.mark.skip(reason='later'))\n"
)


@pytest.mark.parametrize("args", [(), pytest.param(("-n1",), marks=pytest.mark.slow)], ids=str)
def test_marks_of_a_conftest_excuse_in_every_report(
    project: Project, args: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    project.suite(SUITE)
    project.conftest(RETRIEVER + MARKS)
    result = project.run(*args)
    assert result.ret == 0
    result.assert_outcomes(passed=2, xfailed=1, skipped=1)
    assert project.outcomes() == {"good": "passed", "bad": "known", "mrr-10": "passed"}
    (suite,) = project.data["suites"]
    assert suite["skipped"] == ["also bad (later)"]
    assert project.data["outcome"] == "partial"
    assert "::error" not in result.stdout.str()
    result.stdout.fnmatch_lines(
        ["! PARTIAL  shop (shop.ir.yaml): Partial: 1 check skipped, 1 limit holds, 1 known issue*"]
    )


def test_a_strict_mark_whose_item_passes_is_loud(project: Project) -> None:
    project.suite(SUITE)
    project.conftest(
        RETRIEVER + "def pytest_collection_modifyitems(items):\n    for item in items:\n"
        "        item.add_marker(pytest.mark.xfail(reason='SEARCH-1', strict=True))\n"
    )
    result = project.run()
    assert result.ret == 1
    assert project.outcomes()["good"] == "fixed"
    assert project.outcomes()["bad"] == "known"


def test_a_mark_for_another_error_excuses_nothing(project: Project) -> None:
    project.suite(SUITE)
    project.conftest(RETRIEVER + MARKS.replace("reason='SEARCH-1'", "raises=KeyError"))
    assert project.run().ret == 1
    assert project.outcomes()["bad"] == "failed"


@pytest.mark.parametrize("where", ["fixture", "call"])
@pytest.mark.parametrize(
    ("what", "outcome"), [("pytest.skip('no GPU')", "skipped"), ("pytest.xfail('no GPU')", "xfailed")]
)  # fmt: skip
def test_skips_and_xfails_mean_what_they_mean_in_any_test(
    project: Project, where: str, what: str, outcome: str
) -> None:
    project.suite(SUITE)
    before, inside = (what, "['d1']") if where == "fixture" else ("None", what)
    project.conftest(
        f"@pytest.fixture\ndef retriever():\n    {before}\n    return lambda query: {inside}\n"
    )
    result = project.run()
    assert result.ret == 0
    result.assert_outcomes(**{outcome: 4})
    assert result.outlines.count("shop.ir.yaml: no GPU: NOT EVALUATED") == 1
    assert project.data["left_out"] == ["shop.ir.yaml: no GPU"]
    assert project.data["outcome"] == "partial"


def test_what_is_skipped_is_shown_at_its_line_of_the_suite(project: Project) -> None:
    project.suite(SUITE)
    project.conftest(
        "@pytest.fixture\ndef retriever():\n    return lambda query: pytest.skip('no GPU')\n"
    )
    lines = [line for line in project.run("-rs").outlines if line.startswith("SKIPPED")]
    assert lines == [f"SKIPPED [1] shop.ir.yaml:{line}: no GPU" for line in (2, 3, 4, 5)]
    project.run("--fixtures-per-test").stdout.fnmatch_lines(["*(shop.ir.yaml:3)*"])


@pytest.mark.parametrize("where", ["fixture", "call"])
def test_an_exit_ends_the_session_with_its_status(project: Project, where: str) -> None:
    project.suite(SUITE)
    what = "pytest.exit('enough', returncode=0)"
    before, inside = (what, "['d1']") if where == "fixture" else ("None", what)
    project.conftest(
        f"@pytest.fixture\ndef retriever():\n    {before}\n    return lambda query: {inside}\n"
    )
    result = project.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["shop.ir.yaml: NOT EVALUATED", "*Exit: enough*"])
    assert project.data["not_evaluated"] == ["shop.ir.yaml"]


def test_a_failure_or_any_exception_of_a_call_is_that_querys(project: Project) -> None:
    project.suite(SUITE)
    project.conftest(
        "class Odd(BaseException): pass\n@pytest.fixture\ndef retriever():\n    def ask(query):\n"
        "        if query == 'bad': pytest.fail('broken here')\n        if query == 'also bad': raise Odd('x')\n"
        "        return ['d1']\n    return ask\n"
    )
    result = project.run()
    result.stdout.fnmatch_lines(["'bad': Failed: broken here", "'also bad': Odd: x"])
    result.stdout.no_fnmatch_line("*traceback entries are hidden*")
    assert project.outcomes()["good"] == "passed"
    assert project.outcomes()["bad"] == "error"


def test_a_system_exit_in_the_fixture_is_told_once(project: Project) -> None:
    project.suite(SUITE)
    project.conftest("@pytest.fixture\ndef retriever():\n    raise SystemExit('gone')\n")
    result = project.run()
    result.assert_outcomes(errors=4)
    assert result.stdout.str().count("not evaluated: SystemExit: gone (shown at good)") >= 3
    assert "AssertionError" not in result.stdout.str()
