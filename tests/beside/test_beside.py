"""Reruns, and a limit on a test's time, by other plugins."""

from __future__ import annotations

import pytest

from tests.beside.conftest import Beside

SUITE = "queries:\n" + "".join(
    f"  - {{query: q{i}, relevant: [d{i}], must_find: [d{i}]}}\n" for i in range(10)
)


def run(beside: Beside, plugin: str, *args: str) -> pytest.RunResult:
    return beside.run("--ir-suite", "--ir-json=out.json", *args, plugins=[plugin])


@pytest.mark.needs("pytest_rerunfailures")
def test_reruns_ask_again_only_what_had_no_answer(beside: Beside) -> None:
    beside.project.suite(SUITE + "thresholds: {ndcg@10: 0.8}\n")
    beside.project.conftest(
        "asked = []\n"
        "def ask(query):\n    asked.append(query)\n"
        "    if query in ('q1', 'q2') and asked.count(query) < 2: raise ConnectionError('down')\n"
        "    return ['d' + query[1:]] if query != 'q3' else []\n"
        "@pytest.fixture\ndef retriever(): return ask\n"
        "def pytest_terminal_summary(terminalreporter): terminalreporter.write_line(f'ASKED {asked[10:]}')\n"
    )
    result = run(beside, "rerunfailures", "--reruns=2")
    assert result.parseoutcomes() == {
        "passed": 10,
        "failed": 1,
        "rerun": 3,
    }  # q3's rule stays broken
    result.stdout.fnmatch_lines(["ASKED ['q1', 'q2']"])
    assert beside.project.outcomes()["q1"] == "passed"
    assert not beside.project.data["suites"][0]["queries"][1]["fault"]


@pytest.mark.needs("pytest_rerunfailures")
def test_a_fixture_that_was_broken_is_tried_again_by_a_rerun(beside: Beside) -> None:
    beside.project.suite(SUITE)
    beside.project.conftest(
        "tried = []\n@pytest.fixture\ndef retriever():\n    tried.append(1)\n"
        "    if len(tried) < 2: raise OSError('not up yet')\n    return lambda query: ['d' + query[1:]]\n"
    )
    run(beside, "rerunfailures", "--reruns=1").assert_outcomes(passed=10)


@pytest.mark.needs("pytest_rerunfailures")
def test_what_was_never_judged_is_told_apart_after_reruns_too(beside: Beside) -> None:
    """A search for the change that broke something passes over it by status 2."""
    beside.project.suite(SUITE)
    beside.project.conftest("@pytest.fixture\ndef retriever(): raise OSError('no index')\n")
    assert run(beside, "rerunfailures", "--reruns=2").ret == 2


@pytest.mark.needs("pytest_timeout")
def test_a_limit_on_a_tests_time_ends_a_pass_that_hangs(beside: Beside) -> None:
    beside.project.suite(SUITE)
    beside.project.conftest(
        "import time\ndef ask(query):\n    if query == 'q3': time.sleep(60)\n    return ['d']\n"
        "@pytest.fixture\ndef retriever(): return ask\n"
    )
    result = run(beside, "timeout", "--timeout=1", "--timeout-method=signal")
    result.assert_outcomes(errors=1, failed=9)  # the query that hung, and those that find no 'd'
    result.stdout.fnmatch_lines(["'q3': Failed: Timeout (>1.0s) from pytest-timeout."])
