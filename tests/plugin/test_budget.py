"""Calls that a suite asks for are reckoned before the first is made."""

from __future__ import annotations

import pytest

from tests.conftest import Project
from tests.repository import git

RETRIEVER = "@pytest.fixture\ndef retriever():\n    return lambda query: open('asked', 'w').close() or ['d1']\n"


def queries(number: int) -> str:
    return "queries:\n" + "".join(f"  - {{query: q{n}, relevant: [d1]}}\n" for n in range(number))


@pytest.mark.parametrize(
    ("more", "reckoned"),
    [
        ("repeat: 1000\n", "120,000 calls for 1,200,000 results"),
        ("depth: 100000\n", "120 calls for 12,000,000 results"),
        ("repeat: 300\nretry: {times: 3}\n", "144,000 calls for 1,440,000 results"),
    ],
)
@pytest.mark.parametrize("workers", [(), pytest.param(("-n1",), marks=pytest.mark.slow)])
def test_too_many_are_refused_before_the_first(
    project: Project, more: str, reckoned: str, workers: tuple[str, ...]
) -> None:
    project.conftest(RETRIEVER)
    project.suite(queries(120) + more)
    result = project.run(*workers)
    assert result.ret != 0
    said = result.stdout.str() + result.stderr.str()
    assert f"these suites ask for {reckoned}, and the ini key ir_max_calls allows 100,000" in said
    assert not (project.path / "asked").exists()


def test_the_ini_file_allows_more_or_less(project: Project) -> None:
    project.conftest(RETRIEVER)
    project.suite(queries(3))
    (project.path / "pytest.ini").write_text("[pytest]\nir_max_calls = 2\n")
    assert project.run().ret == 4
    assert project.run("-k", "q1").ret == 0  # what is selected counts
    (project.path / "pytest.ini").write_text("[pytest]\nir_max_calls = 3\n")
    assert project.run().ret == 0


def test_queries_of_the_base_that_are_asked_once_more_count(project: Project) -> None:
    project.conftest(RETRIEVER)
    project.suite(queries(5))
    (project.path / ".gitignore").write_text("ir-report.html\nout.*\nasked\n")
    git(project.path, "init", "-q", "-b", "main")
    project.run("--ir-update-baseline")
    git(project.path, "add", "-A")
    git(project.path, "commit", "-qm", "five")
    project.suite(queries(2))
    against = ("--ir-baseline=git:main", "-o")
    assert project.run(*against, "ir_max_calls=7").ret == 0  # two may be asked once more, for ties
    assert project.run(*against, "ir_max_calls=6").ret == 4
