"""The console script, and ``--ir-init``."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from pytest_irquality.plugin.console import main
from tests.project import Project


def test_demo_passes_and_then_fails(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status = main(["demo", str(tmp_path / "shop")])

    output = capfd.readouterr().out
    assert status == 0
    assert output.index("PASSED ") < output.index("FAILED ")
    assert output.index("FAILED ") < output.index("pytest --ir-suite --ir-update-baseline")
    assert (tmp_path / "shop/ir-report.html").exists()


def test_demo_does_not_write_into_a_folder_with_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("mine")

    assert main(["demo", str(tmp_path)]) == 1
    assert "already exists" in capsys.readouterr().err


def test_add_writes_a_query_into_the_only_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    installed = tmp_path / ".venv/lib/site-packages/example/shop.ir.yaml"
    installed.parent.mkdir(parents=True)
    installed.write_text("queries: [{query: a}]\n")
    suite = tmp_path / "shop.ir.yaml"
    suite.write_text("# Ours\nqueries:\n  - query: boots  # first\n    must_find: [a]\n")

    status = main(["add", "red shoes", "--must-find", "sku-12:3", "--why", "TICKET-7"])

    text = suite.read_text()
    assert status == 0
    assert text.startswith("# Ours\nqueries:\n  - query: boots  # first\n")
    assert "must_find: {sku-12: 3}" in text
    assert "shop.ir.yaml:5" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "no suite here"),
        (["a.ir.yaml", "b.ir.yaml"], "several suites here (a.ir.yaml, b.ir.yaml)"),
    ],
)
def test_add_needs_to_know_the_suite(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    names: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in names:
        (tmp_path / name).write_text("queries: [{query: a}]\n")

    assert main(["add", "red shoes"]) == 1
    assert message in capsys.readouterr().err


def test_add_explains_a_broken_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.ir.yaml").write_text("querys: []\n")

    assert main(["add", "red shoes", "--suite", "a.ir.yaml"]) == 1
    assert "a.ir.yaml:1" in capsys.readouterr().err


def test_first_suite_brings_a_workflow_where_there_are_some(project: Project) -> None:
    project.write("queries.txt", "office chair\n")
    project.write_conftest("@pytest.fixture\ndef retriever(): return lambda query: ['d1']\n")
    project.write(".github/workflows/lint.yml", "name: Lint\n")

    result = project.run_pytest("--ir-init=queries.txt")

    name = ".github/workflows/search-quality.yml"
    workflow = yaml.safe_load(project.read(name))
    commands = [step.get("run", "") for step in workflow["jobs"]["search"]["steps"]]
    assert 'pytest --ir-suite --ir-baseline="git:origin/$BASE"' in commands
    assert f"Wrote {name}" in result.stdout.str()

    (project.path / "queries.ir.yaml").unlink()
    project.write(name, "steps: [{run: pytest --ir-suite}]\n")
    project.run_pytest("--ir-init=queries.txt")

    assert project.read(name) == "steps: [{run: pytest --ir-suite}]\n"


def test_list_of_queries_may_be_a_link(project: Project) -> None:
    project.write("data/all.txt", "office chair\n")
    project.write_conftest("@pytest.fixture\ndef retriever(): return lambda query: ['d1']\n")
    (project.path / "queries.txt").symlink_to(project.path / "data/all.txt")

    result = project.run_pytest("--ir-init=queries.txt")

    result.stdout.fnmatch_lines(["Wrote queries.ir.yaml with 1 query*"])


def test_list_of_queries_becomes_a_suite_that_passes(project: Project) -> None:
    project.write("search/my.queries.txt", "office chair\nlamp\nbroken\n")
    project.write("search/test_other.py", "def test_other(): assert False\n")
    project.write_conftest(
        "@pytest.fixture(params=['bm25', 'hybrid'])\n"
        "def retriever(request):\n"
        "    def search(query, k):\n"
        "        if query == 'broken': raise OSError('no index')\n"
        "        return [{'id': f'{request.param}-{n}', 'title': f'T {n}'} for n in range(2)]\n"
        "    return search\n",
        folder="search",
    )

    result = project.run_pytest("--ir-init=search/my.queries.txt")

    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["Wrote search/my.ir.yaml with 3 queries.*"])
    text = project.read("search/my.ir.yaml")
    assert "bm25-0: ok" in text
    assert "hybrid-1: ok" in text
    assert project.run("-k", "office-chair").ret == 0


def test_first_suite_keeps_a_repeated_query_once(project: Project) -> None:
    project.write("queries.txt", "office chair\ndesk\noffice chair\n")
    project.write_rankings({"office chair": ["a"], "desk": ["b"]})

    result = project.run_pytest("--ir-init=queries.txt")

    result.stdout.fnmatch_lines(["Wrote * with 2 queries.", "*1 repeated query ignored*"])
    assert project.list_calls() == ["office chair", "desk"]
    assert project.run().ret == 0


def test_first_suite_needs_a_retriever(project: Project) -> None:
    project.write("queries.txt", "office chair\n")
    project.write("conftest.py", "")

    result = project.run_pytest("--ir-init=queries.txt")

    result.stdout.fnmatch_lines(["*There is no fixture 'retriever'*"])
    assert result.ret == pytest.ExitCode.INTERRUPTED


@pytest.mark.parametrize(
    ("name", "message"), [("nothing.txt", "is not a file"), ("queries.txt", "already exists")]
)
def test_first_suite_replaces_nothing(project: Project, name: str, message: str) -> None:
    project.write("queries.txt", "office chair\n")
    project.write_suite("queries: [{query: a}]\n", "queries.ir.yaml")

    result = project.run_pytest(f"--ir-init={name}")

    result.stderr.fnmatch_lines([f"ERROR: --ir-init: *{message}*"])
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert project.read("queries.ir.yaml") == "queries: [{query: a}]\n"


def test_first_suite_needs_an_answer(project: Project) -> None:
    project.write("queries.txt", "office chair\n")
    project.write_rankings({"office chair": "down"})

    result = project.run_pytest("--ir-init=queries.txt")

    result.stdout.fnmatch_lines(["*No query has an answer*down*"])
    assert not (project.path / "queries.ir.yaml").exists()


def test_init_needs_a_single_process(project: Project) -> None:
    project.write("queries.txt", "tea\n")

    result = project.run_pytest("--ir-init=queries.txt", "-p", "xdist", "-n2")

    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: --ir-init needs a single process. Add `-n0`."])


def test_init_names_a_workflow_that_was_not_written(project: Project) -> None:
    project.write("queries.txt", "tea\n")
    project.write_conftest("@pytest.fixture\ndef retriever(): return lambda query: ['d1']\n")
    project.write(".github/workflows/lint.yml", "name: Lint\n")
    (project.path / ".github/workflows/search-quality.yml").symlink_to("missing.yml")

    result = project.run_pytest("--ir-init=queries.txt")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*search-quality.yml was not written. *"])
    assert (project.path / "queries.ir.yaml").exists()
