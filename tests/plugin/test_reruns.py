"""pytest-rerunfailures repeats queries without an answer and no others."""

from __future__ import annotations

import pytest

from tests.project import Project

pytest.importorskip("pytest_rerunfailures")

CONFTEST = """
CALLS = []

@pytest.fixture(scope="session")
def retriever():
    def search(query):
        CALLS.append(query)
        with open("calls.txt", "a") as file:
            file.write(query + "\\n")
        if query == "flaky" and CALLS.count(query) == 1:
            raise OSError("down")
        return ["a"]
    return search
"""


def test_rerun_runs_only_queries_without_an_answer(project: Project) -> None:
    project.write_conftest(CONFTEST)
    project.write_suite(
        "queries:\n  - {query: steady, must_find: [a]}\n  - {query: flaky, must_find: [a]}\n"
    )

    result = project.run("-p", "rerunfailures", "--reruns=1")

    assert project.list_calls() == ["steady", "flaky", "flaky"]
    assert result.parseoutcomes()["rerun"] == 1
    assert result.ret == 0


def test_rerun_does_not_turn_a_broken_rule_green(project: Project) -> None:
    project.write_conftest(CONFTEST)
    project.write_suite("queries:\n  - {query: steady, must_find: [b]}\n")

    result = project.run("-p", "rerunfailures", "--reruns=2")

    assert project.list_calls() == ["steady"]
    assert result.ret == 1
