"""Every command that a red build advises, typed: it does what the sentence before it says."""

from __future__ import annotations

import html
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_irquality import check
from tests.conftest import Project
from tests.repository import git

NAMES = "abcdef"
GOOD = {name: [f"{name}-d", "x", "y"] for name in NAMES}
LOST = {**GOOD, "a": ["x", "y"], "b": ["x", "y"]}
QUERIES = "queries:\n" + "".join(f"  - {{query: {name}, relevant: [{name}-d]}}\n" for name in NAMES)
GUARD = "metrics: [mrr@10]\neach_query: {lost_all_relevant: fail}\n"
LIMIT = "thresholds:\n  mrr@10: {max_drop: 0.1}\n"
FLOOR = "metrics: [mrr@10]\nthresholds:\n  mrr@10: 0.9\neach_query: {lost_all_relevant: ignore}\n"

UPDATE = "accept today's rankings, then commit the baseline"
COMMIT = "commit the baseline that this writes, to accept today's rankings"
FIRST = "keep today's rankings as the baseline, to see changes"
AGAIN = "run what failed again"

Advice = Mapping[str, str]


def answer(project: Project, answers: Mapping[str, list[str]]) -> None:
    """What search returns from now on: another file than the conftest, which the base has, too."""
    (project.path / "found.py").write_text(f"FOUND = {dict(answers)!r}\n")
    project.conftest(
        "import runpy, pathlib\n"
        "FOUND = runpy.run_path(str(pathlib.Path(__file__).with_name('found.py')))['FOUND']\n"
        "def pytest_addoption(parser): parser.addoption('--engine', default='none')\n"
        "@pytest.fixture\ndef retriever(): return lambda query: FOUND[query]\n"
    )


def typed(project: Project, command: str) -> pytest.RunResult:
    """Run a command as a POSIX shell would read it."""
    program, *words = shlex.split(command)
    assert program == "pytest"
    return project.pytester.runpytest("-v", *words)


def failed(result: pytest.RunResult) -> set[str]:
    """The names of the items that failed."""
    return set(re.findall(r"^(?:FAILED|ERROR) (\S+)", result.stdout.str(), re.M))


def advised(project: Project, result: pytest.RunResult) -> Advice:
    """Every step, by its words. Terminal, Markdown and page advise the same ones."""
    said = result.stdout.str()
    told = said[said.index("= search quality =") :]
    commands = dict(re.findall(r"^  (\S.*):\n    (pytest .*)$", told, re.M))
    markdown = (project.path / "out.md").read_text(encoding="utf-8")
    for command in commands.values():
        assert f"`{command}`" in markdown
    page = (project.path / "ir-report.html").read_text(encoding="utf-8")
    lists = re.findall(r">Next</h\d>\n<ul.*?</ul>", page, re.S)
    if len(lists) > 1:
        return commands
    items = re.findall(
        r"<li>([^<]*?)(?:: <code class=\"command\">(.*?)</code>)?</li>", "".join(lists)
    )
    steps = {html.unescape(words): html.unescape(command) for words, command in items}
    assert {words: command for words, command in steps.items() if command} == commands
    assert all(f"\n  {words}" in told for words in steps)
    seen = markdown.partition("<details>")[0].replace("\\", "")
    assert all(f"\n- {words}" in seen for words in steps)
    return steps


def red(project: Project, *args: str) -> Advice:
    """The steps after a red run. What failed does so again, and nothing else, where it is typed."""
    result = project.pytester.runpytest("-v", "--ir-suite", "--ir-markdown=out.md", *args)
    assert result.ret == 1
    steps = advised(project, result)
    if AGAIN in steps:
        again = typed(project, steps[AGAIN])
        assert (again.ret, failed(again)) == (1, failed(result))
    return steps


def started(project: Project, suite: str, *, committed: bool = False) -> None:
    """A suite with the baseline of a search that was good; it lies in a commit, too, maybe."""
    project.suite(suite)
    answer(project, GOOD)
    assert project.run("-v", "--ir-update-baseline").ret == 0
    if committed:
        (project.path / ".gitignore").write_text("*.md\n*.html\n*.json\n.pytest_cache\n")
        git(project.path, "init", "-q", "-b", "main")
        commit(project, "good")
        git(project.path, "checkout", "-q", "-b", "change")


def commit(project: Project, message: str) -> None:
    git(project.path, "add", "-A")
    git(project.path, "commit", "-q", "-m", message)


def test_a_drop_is_run_again_and_accepted(project: Project) -> None:
    started(project, GUARD + LIMIT + QUERIES)
    answer(project, LOST)
    steps = red(project)
    checks = "shop.ir.yaml::each_query-lost_all_relevant shop.ir.yaml::mrr-10"
    assert steps == {
        AGAIN: f"pytest --ir-suite {checks}",
        UPDATE: "pytest --ir-suite --ir-update-baseline shop.ir.yaml",
    }
    assert typed(project, steps[UPDATE]).ret == 0
    assert project.run("-v").ret == 0


def test_options_that_matter_are_repeated_and_others_are_not(project: Project) -> None:
    started(project, GUARD + QUERIES)
    (project.path / "old base").mkdir()
    old = "--ir-baseline", "old base/x.jsonl"
    assert project.run("-v", "--ir-update-baseline", *old).ret == 0
    answer(project, LOST)
    (project.path / ".ir-baseline" / "shop.jsonl").unlink()
    steps = red(
        project, *old, "-rA", "--engine=es", "-k", "a or lost", "-o", "ir_max_calls=50", "--ir-json",
        "out.json", "--lf", "shop.ir.yaml", "--tb=short", "-p", "no:doctest", "-vv",
    )  # fmt: skip
    options = "--ir-baseline 'old base/x.jsonl' --engine=es -o ir_max_calls=50 -p no:doctest"
    assert steps == {
        AGAIN: f"pytest --ir-suite {options} shop.ir.yaml::each_query-lost_all_relevant",
        UPDATE: f"pytest --ir-suite {options} --ir-update-baseline shop.ir.yaml",
    }
    assert typed(project, steps[UPDATE]).ret == 0
    assert project.run("-v", *old).ret == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--api-key=s3cr3t"], "--api-key=…"),
        (["--api-key", "s3cr3t"], "--api-key …"),
        (["-o", "ir_headers=Authorization: s3cr3t"], "-o ir_headers=…"),
        (["--override-ini=ir_headers=s3cr3t"], "--override-ini=ir_headers=…"),
    ],
)
@pytest.mark.usefixtures("pages")
def test_secrets_stand_in_no_report(project: Project, given: list[str], said: str) -> None:
    project.suite(FLOOR + QUERIES)
    answer(project, LOST)
    with (project.path / "conftest.py").open("a") as conftest:
        conftest.write("def pytest_addoption(parser): parser.addoption('--api-key')\n")
    result = project.pytester.runpytest(
        "--ir-suite", "--ir-json=out.json", "--ir-markdown=out.md", *given
    )
    told = result.stdout.str().replace("'", "")
    assert f"pytest --ir-suite {said} shop.ir.yaml::mrr-10" in told
    for file in ("out.json", "out.md", "ir-report.html"):
        assert "s3cr3t" not in (project.path / file).read_text(encoding="utf-8")
    assert "s3cr3t" not in told


@pytest.mark.parametrize("source", ["git:main", pytest.param("run:main", marks=pytest.mark.slow)])
def test_against_a_commit_the_advice_is_against_it_too(project: Project, source: str) -> None:
    started(project, GUARD + LIMIT + QUERIES, committed=True)
    answer(project, LOST)
    commit(project, "bad")
    steps = red(project, f"--ir-baseline={source}")
    assert steps[AGAIN].startswith(f"pytest --ir-suite --ir-baseline={source} shop.ir.yaml::")
    assert typed(project, steps[COMMIT]).ret == 0
    commit(project, "as advised")
    result = project.run("-v", f"--ir-baseline={source}")
    assert result.ret == 0
    assert "This change accepts a drop" in result.stdout.str()


def test_where_nothing_may_be_accepted_no_baseline_is_advised(project: Project) -> None:
    started(project, GUARD + LIMIT + QUERIES, committed=True)
    (project.path / "pytest.ini").write_text("[pytest]\nir_accepted = fail\n")
    answer(project, LOST)
    commit(project, "bad")
    assert [*red(project, "--ir-baseline=git:main")] == [AGAIN]


def test_a_floor_is_no_matter_of_a_baseline(project: Project) -> None:
    started(project, FLOOR + QUERIES)
    answer(project, LOST)
    steps = red(project)
    mend = "mend search, or edit shop.ir.yaml:3"
    assert steps == {AGAIN: "pytest --ir-suite shop.ir.yaml::mrr-10", mend: ""}
    (project.path / "shop.ir.yaml").write_text((FLOOR + QUERIES).replace("0.9", "0.6"))
    assert project.run("-v").ret == 0


def test_what_a_baseline_mends_of_several_failures_is_counted(project: Project) -> None:
    rule = GUARD + QUERIES + "  - {query: g, must_find: {g-d: 3}}\n"
    project.suite(rule)
    answer(project, {**GOOD, "g": ["g-d"]})
    assert project.run("-v", "--ir-update-baseline").ret == 0
    answer(project, {**LOST, "g": ["x"]})
    steps = red(project)
    some = f"{UPDATE} (1 of 2 failures; the others stay red)"
    assert "mend search, or edit shop.ir.yaml:10" in steps
    assert typed(project, steps[some]).ret == 1
    assert failed(project.run("-v")) == {"shop.ir.yaml::g"}


def test_a_known_issue_that_is_fixed_names_the_line_to_remove(project: Project) -> None:
    query = "  - query: g\n    must_find: {g-d: 3}\n    known_issue: S-1\n"
    limit = "metrics: [mrr@10]\nthresholds:\n  mrr@10:\n    min: 0.5\n    known_issue: S-2\n"
    path = project.suite(limit + QUERIES + query)
    answer(project, {**GOOD, "g": ["g-d"]})
    result = project.run("-v")
    first = "remove 'known_issue' at shop.ir.yaml:5: known issue S-2 no longer fails"
    assert f"FAILED shop.ir.yaml::mrr-10 - {first}" in result.stdout.str()
    steps = red(project)
    assert {*steps} == {
        AGAIN,
        FIRST,
        *(f"remove 'known_issue' at shop.ir.yaml:{n}" for n in (5, 15)),
    }
    lines = path.read_text().splitlines()
    kept = [line for n, line in enumerate(lines, 1) if n not in (5, 15)]
    path.write_text("\n".join(kept))
    assert project.run("-v").ret == 0


def test_a_strict_mark_that_is_fixed_is_named(project: Project) -> None:
    project.suite(FLOOR + QUERIES)
    answer(project, GOOD)
    with (project.path / "conftest.py").open("a") as conftest:
        conftest.write(
            "def pytest_collection_modifyitems(items):\n"
            "    items[0].add_marker(pytest.mark.xfail(strict=True, reason='S-3'))\n"
        )
    steps = red(project)
    assert any("remove the mark 'xfail' of" in words for words in steps)


def test_several_suites_are_told_what_to_do(project: Project) -> None:
    for name in ("one", "two", "three"):
        project.suite(GUARD + LIMIT + QUERIES, f"{name}/{name} shop.ir.yaml")
    answer(project, GOOD)
    assert project.run("-v", "--ir-update-baseline").ret == 0
    answer(project, {**LOST, "c": ["y"]})
    steps = red(project)
    files = "'one/one shop.ir.yaml' 'three/three shop.ir.yaml' 'two/two shop.ir.yaml'"
    assert steps[AGAIN] == f"pytest --ir-suite {files}"
    assert typed(project, steps[UPDATE]).ret == 0
    assert project.run("-v").ret == 0


def test_a_drop_over_all_suites_is_run_again_over_all(project: Project) -> None:
    for name in ("one", "two"):
        queries = QUERIES.replace("relevant", f"params: {{of: {name}}}, relevant")
        project.suite(
            f"metrics: [mrr@10]\neach_query: {{lost_all_relevant: ignore}}\n{queries}",
            f"{name}.ir.yaml",
        )
    answer(project, GOOD)
    conftest = (project.path / "conftest.py").read_text()
    (project.path / "conftest.py").write_text(conftest.replace("lambda query", "lambda query, of"))
    assert project.run("-v", "--ir-update-baseline").ret == 0
    worse = {name: ["x", f"{name}-d"] for name in "abc"}
    (project.path / "found.py").write_text(f"FOUND = { ({**GOOD, **worse})!r}\n")
    steps = red(project)
    assert steps[AGAIN] == "pytest --ir-suite"
    assert typed(project, steps[UPDATE]).ret == 0
    assert project.run("-v").ret == 0


def test_errors_and_nothing_at_all_are_run_again(project: Project) -> None:
    project.suite(FLOOR + QUERIES)
    answer(project, {name: GOOD[name] for name in "abcd"})
    assert [*red(project)] == [AGAIN]
    answer(project, {name: [] for name in NAMES})
    project.suite("metrics: [mrr@10]\nthresholds: {zero_results: {max: 9}}\n" + QUERIES)
    assert [*red(project)] == [AGAIN]


def test_a_first_baseline_is_advised_where_there_is_none(project: Project) -> None:
    project.suite(FLOOR + QUERIES)
    answer(project, LOST)
    steps = red(project)
    assert [*steps] == [FIRST, AGAIN, "mend search, or edit shop.ir.yaml:3"]
    assert typed(project, steps[FIRST]).ret == 1
    assert "there is no baseline" not in project.run("-v").stdout.str()


def test_a_baseline_that_fits_no_more_is_renewed(project: Project) -> None:
    started(project, "metrics: [mrr@10]\nthresholds:\n  recall@20: {max_drop: 0.1}\n" + QUERIES)
    path = project.path / "shop.ir.yaml"
    path.write_text(path.read_text().replace("recall@20", "recall@50"))
    steps = red(project)
    assert typed(project, steps[UPDATE]).ret == 0
    assert project.run("-v").ret == 0


def test_retrievers_with_parameters_and_with_another_as_baseline(project: Project) -> None:
    project.suite("baseline: {retriever: old}\n" + GUARD + LIMIT + QUERIES)
    project.conftest(
        f"FOUND = { ({'old': GOOD, 'new': LOST})!r}\n"
        "@pytest.fixture(params=['old', 'new'])\n"
        "def retriever(request): return lambda query: FOUND[request.param][query]\n"
    )
    steps = red(project)
    checks = ("each_query-lost_all_relevant", "mrr-10")
    nodes = " ".join(f"'shop.ir.yaml::{name}[new]'" for name in checks)
    assert steps == {AGAIN: f"pytest --ir-suite {nodes}"}


def test_where_no_pytest_ran_no_command_is_advised(project: Project) -> None:
    project.suite(FLOOR + QUERIES)
    done = check(project.path / "shop.ir.yaml", lambda query: LOST[query], start=project.path)
    assert "mend search, or edit shop.ir.yaml:3\n" in str(done)
    assert "pytest" not in str(done)
    assert "pytest --" not in done.to_html()


@pytest.mark.slow
def test_from_another_folder_and_with_workers(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    started(project, GUARD + LIMIT + QUERIES)
    answer(project, LOST)
    folder = project.path / "tests"
    folder.mkdir()
    monkeypatch.chdir(folder)
    result = project.pytester.runpytest("-v", "--ir-suite", "-p", "xdist", "-n2", "../shop.ir.yaml")
    commands = re.findall("^    (pytest .*)", result.stdout.str(), re.M)
    assert commands[0].startswith("pytest --ir-suite -p xdist ../shop.ir.yaml::")
    again = typed(project, commands[0])
    assert (again.ret, len(failed(again))) == (1, 2)
    assert typed(project, commands[1]).ret == 0


@pytest.mark.slow
def test_a_shell_takes_the_commands(project: Project) -> None:
    started(project, GUARD + LIMIT + QUERIES)
    (project.path / "shop.ir.yaml").rename(project.path / "it's $HOME (new).ir.yaml")
    answer(project, GOOD)
    assert project.run("-v", "--ir-update-baseline").ret == 0
    answer(project, LOST)
    steps = advised(project, project.run("-v", "--ir-markdown=out.md"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for words, status in ((AGAIN, 1), (UPDATE, 0), (AGAIN, 0)):
        done = subprocess.run(
            ["sh", "-c", steps[words]],
            cwd=project.path,
            env={**os.environ, "PATH": path},
            check=False,
        )
        assert done.returncode == status, words


def test_a_first_green_run_says_how_to_see_changes(project: Project) -> None:
    project.suite("queries: [{query: a, must_find: [d1]}]\n")
    project.answers({"a": ["d1"]})
    step = "  keep today's rankings as the baseline, to see changes:"
    assert step in project.run().outlines
    assert step not in project.run("--ir-update-baseline").outlines
    assert step not in project.run().outlines


def test_an_update_over_losses_says_so_in_the_headline(project: Project) -> None:
    project.suite(QUERIES)
    answer(project, GOOD)
    project.run("--ir-update-baseline")
    answer(project, LOST)
    updated = project.run("--ir-update-baseline")
    said = " ".join(updated.stdout.str().split())
    assert updated.ret == 0
    assert "but the new baseline accepts what 2 queries lost" in said
    assert "✓ passed" not in said
    again = " ".join(project.run("--ir-update-baseline").stdout.str().split())
    assert "new baseline accepts" not in again
