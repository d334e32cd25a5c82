"""Reruns of items and limits on their time, by other plugins."""

from __future__ import annotations

import json

import pytest

from tests.compatibility.conftest import Neighborhood

SUITE = "queries:\n" + "".join(
    f"  - {{query: q{i}, relevant: [d{i}], must_find: [d{i}]}}\n" for i in range(10)
)


def run(neighborhood: Neighborhood, plugin: str, *arguments: str) -> pytest.RunResult:
    return neighborhood.run("--ir-suite", "--ir-json=out.json", *arguments, plugins=[plugin])


@pytest.mark.needs("pytest_rerunfailures")
def test_rerun_repeats_only_queries_without_an_answer(neighborhood: Neighborhood) -> None:
    neighborhood.project.write_suite(SUITE + "thresholds: {ndcg@10: 0.8}\n")
    neighborhood.project.write_conftest(
        "queries = []\n"
        "def search(query):\n    queries.append(query)\n"
        "    if query in ('q1', 'q2') and queries.count(query) < 2:\n"
        "        raise ConnectionError('down')\n"
        "    return ['d' + query[1:]] if query != 'q3' else []\n"
        "@pytest.fixture\ndef retriever(): return search\n"
        "def pytest_terminal_summary(terminalreporter):\n"
        "    terminalreporter.write_line(f'REPEATED {queries[10:]}')\n"
    )

    result = run(neighborhood, "rerunfailures", "--reruns=2")

    # A rule that an answer broke stays broken.
    assert result.ret == 1, result.stdout.str()
    result.stdout.fnmatch_lines(["REPEATED ['q1', 'q2']", "FAILED shop.ir.yaml::q3*"])
    assert json.loads(neighborhood.project.read("out.json"))["outcome"] == "FAILED"
    assert "no answer" not in result.stdout.str().partition(" search quality ")[2]


@pytest.mark.needs("pytest_rerunfailures")
def test_rerun_sets_up_a_broken_fixture_again(neighborhood: Neighborhood) -> None:
    neighborhood.project.write_suite(SUITE)
    neighborhood.project.write_conftest(
        "attempts = []\n@pytest.fixture\ndef retriever():\n    attempts.append(1)\n"
        "    if len(attempts) < 2: raise OSError('not up yet')\n"
        "    return lambda query: ['d' + query[1:]]\n"
    )

    result = run(neighborhood, "rerunfailures", "--reruns=1")

    assert result.ret == 0, result.stdout.str()


@pytest.mark.needs("pytest_rerunfailures")
def test_broken_fixture_is_an_error_after_all_reruns(neighborhood: Neighborhood) -> None:
    neighborhood.project.write_suite(SUITE)
    neighborhood.project.write_conftest(
        "@pytest.fixture\ndef retriever(): raise OSError('no index')\n"
    )

    assert run(neighborhood, "rerunfailures", "--reruns=2").ret == 2


@pytest.mark.needs("pytest_timeout")
def test_timeout_of_an_item_ends_a_retriever_that_hangs(neighborhood: Neighborhood) -> None:
    neighborhood.project.write_suite(SUITE)
    neighborhood.project.write_conftest(
        "import time\n"
        "def search(query):\n    if query == 'q3': time.sleep(60)\n    return ['d' + query[1:]]\n"
        "@pytest.fixture\ndef retriever(): return search\n"
    )

    result = run(neighborhood, "timeout", "--timeout=1", "--timeout-method=signal")

    assert result.ret in (1, 2), result.stdout.str()
    assert "Timeout" in result.stdout.str()
