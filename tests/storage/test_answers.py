"""Several answers and other wordings, kept in a file and read back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_irquality import load_suite, retrieve
from pytest_irquality.storage.jsonl import parse_run, read_run, write_run
from pytest_irquality.storage.stored import Header, StoredRunError, stored_run
from pytest_irquality.suite import Suite
from tests.conftest import Project

SUITE = """\
repeat: 3
metrics: [mrr@10]
queries:
  - {query: office chair, relevant: [a], variants: [offce chair]}
  - {query: hose, relevant: [b]}
"""


def suite(folder: Path) -> Suite:
    path = folder / "s.ir.yaml"
    path.write_text(SUITE, encoding="utf-8")
    return load_suite(path)


def test_what_goes_in_comes_out(tmp_path: Path) -> None:
    asked = []

    def search(query: str) -> list[tuple[str, float]]:
        asked.append(query)
        return [(f"{query} {len(asked)}", 1.0)]

    held = suite(tmp_path)
    run = retrieve(held, search)
    path = tmp_path / "run.jsonl"
    write_run(path, stored_run(held, run, Header("s", "s.ir.yaml", 10)))
    back = read_run(path).run(held)
    assert [answer.rankings for answer in back.answers] == [
        answer.rankings for answer in run.answers
    ]
    assert back.variants is not None
    assert run.variants is not None
    assert [answer.rankings for answer in back.variants.answers] == [
        answer.rankings for answer in run.variants.answers
    ]
    assert (
        len({ranking.ids for answer in back.answers for ranking in answer.rankings.values()}) == 6
    )


@pytest.mark.parametrize(
    "more",
    [
        f'"answers": [{", ".join(["{}"] * 1000)}]',
        '"answers": 3',
        '"answers": [3]',
        '"answers": [{"docs": 3}]',
        '"build": "x"',
        '"of": 1',
    ],
)
def test_what_is_damaged_is_one_line(more: str) -> None:
    header = {
        "format": "pytest-irquality run", "format_version": 2, "suite": "s", "path": "s", "depth": 9
    }  # fmt: skip
    line = f'{{"id": "q", "query": "q", "docs": ["a"], {more}}}'
    lines = [json.dumps(header).encode(), line.encode(), b'{"end": "pytest-irquality run"}']
    with pytest.raises(StoredRunError, match="run:2: damaged"):
        parse_run(lines, "run")


def test_a_baseline_keeps_all_answers_and_no_variants(project: Project) -> None:
    project.suite(SUITE, "shop.ir.yaml")
    project.conftest(
        "@pytest.fixture\ndef retriever():\n"
        "    asked = []\n"
        "    def search(query):\n"
        "        asked.append(query)\n"
        "        return ['a', 'b', str(len(asked) % 2)]\n"
        "    return search\n"
    )
    assert "2 new" in project.run("--ir-update-baseline").stdout.str()
    lines = (project.path / ".ir-baseline/shop.jsonl").read_text(encoding="utf-8").splitlines()
    kept = [json.loads(line) for line in lines if line.startswith("{")]
    assert [len(line.get("answers", [])) for line in kept[1:-1]] == [2, 2]
    assert project.run().ret == 0
    noise = project.data["suites"][0]["noise"]
    assert (noise["answers"], noise["answers_before"]) == (3, 3)
    again = project.run("--ir-update-baseline").stdout.str()
    assert "baseline unchanged" in again


def keep_a_build(project: Project, number: int, found: str) -> None:
    project.conftest(f"@pytest.fixture\ndef retriever(): return lambda query: [{found!r}, 'x']\n")
    project.run(f"--ir-save-runs=runs/{number}")


BUILDS = ("--ir-runs=runs/1", "--ir-runs=runs/2", "--ir-runs=runs/3")


@pytest.mark.slow
def test_each_kept_run_is_a_build(project: Project) -> None:
    project.suite("metrics: [mrr@10]\nqueries: [{query: hose, relevant: [b]}]\n", "shop.ir.yaml")
    for number, found in enumerate("bya", 1):
        keep_a_build(project, number, found)
    project.run(*BUILDS)
    suite = project.data["suites"][0]
    assert (suite["noise"]["answers"], suite["noise"]["builds"]) == (3, 3)
    assert suite["means"][0]["value"] == pytest.approx(1 / 3)
    project.run(*BUILDS, "--ir-update-baseline")
    project.run(*BUILDS)
    noise = project.data["suites"][0]["noise"]
    assert (noise["builds"], noise["builds_before"]) == (3, 3)


def test_a_build_may_be_given_file_by_file(project: Project) -> None:
    for name in ("shop", "rag"):
        project.suite("queries: [{query: hose, relevant: [b]}]\n", f"{name}.ir.yaml")
    keep_a_build(project, 1, "b")
    keep_a_build(project, 2, "b")
    files = ("--ir-runs=runs/2/shop.jsonl", "--ir-runs=runs/2/rag.jsonl")
    assert project.run("--ir-runs=runs/1", *files).ret == 0
    assert [suite["noise"]["builds"] for suite in project.data["suites"]] == [2, 2]


def test_builds_of_two_commits_are_no_side(project: Project) -> None:
    project.suite("metrics: [mrr@10]\nqueries: [{query: hose, relevant: [b]}]\n", "shop.ir.yaml")
    for number in (1, 2):
        keep_a_build(project, number, "b")
        path = project.path / f"runs/{number}/shop.jsonl"
        text = path.read_text(encoding="utf-8")
        header = {**json.loads(text.splitlines()[0]), "commit": f"abc{number}"}
        path.write_text(
            "\n".join([json.dumps(header), *text.splitlines()[1:], ""]), encoding="utf-8"
        )
    result = project.run(*BUILDS[:2])
    assert result.ret == 2
    assert "are of several commits (abc1, abc2)" in result.stdout.str()


def shop(project: Project, builds: str, side: str = "runs") -> list[str]:
    """A suite, and a kept build for each letter: the document that it finds."""
    project.suite("metrics: [mrr@10]\nqueries: [{query: hose, relevant: [b]}]\n", "shop.ir.yaml")
    for number, found in enumerate(builds, 1):
        project.conftest(
            f"@pytest.fixture\ndef retriever(): return lambda query: [{found!r}, 'x']\n"
        )
        project.run(f"--ir-save-runs={side}/{number}")
    return [f"{side}/{number}" for number in range(1, len(builds) + 1)]


def test_several_builds_are_a_baseline(project: Project) -> None:
    before = shop(project, "bbab", "before")
    now = shop(project, "bba", "now")
    options = [f"--ir-baseline={path}" for path in before] + [f"--ir-runs={path}" for path in now]
    result = project.run(*options)
    assert result.ret == 0, result.stdout.str()
    (suite,) = project.data["suites"]
    noise = suite["noise"]
    assert (noise["builds"], noise["builds_before"]) == (3, 4)
    assert suite["baseline"]["source"] == "4 builds: before/1, before/2, before/3, before/4"
    change = suite["means"][0]["change"]
    assert change["before"] == pytest.approx(3 / 4)
    assert change["now"] == pytest.approx(2 / 3)


def test_a_side_of_one_answer_and_one_of_several(project: Project) -> None:
    """One loss of one unit against three is more than chance only where nothing else wavers."""
    before, now = shop(project, "b", "before"), shop(project, "aaa", "now")
    result = project.run(f"--ir-baseline={before[0]}", *(f"--ir-runs={path}" for path in now))
    assert result.ret == 1
    assert "'hose' lost all its relevant documents of the top 10: b 1 → not" in result.stdout.str()


@pytest.mark.slow
def test_shares_are_joined_within_each_build(project: Project) -> None:
    project.suite(
        "metrics: [mrr@10]\n"
        "queries: [{query: hose, relevant: [b]}, {query: tap, relevant: [b]}, {query: c, relevant: [b]}]\n"
    )
    project.conftest("@pytest.fixture\ndef retriever(): return lambda query: ['b']\n")
    for build in (1, 2):
        for share in (1, 2):
            project.run(f"--ir-save-runs=runs/{build},shard={share}/2")
    result = project.run(
        "--ir-baseline=runs/1", "--ir-baseline=runs/2", "--ir-runs=runs/1", "--ir-runs=runs/2"
    )
    assert result.ret == 0, result.stdout.str()
    (suite,) = project.data["suites"]
    assert (suite["noise"]["builds"], suite["noise"]["builds_before"]) == (2, 2)
    assert suite["means"][0]["change"]["queries"] == 3
    (project.path / "runs/2/shop.2-of-2.jsonl").unlink()
    result = project.run("--ir-baseline=runs/1", "--ir-baseline=runs/2", "--ir-runs=runs/1")
    assert "share 2/2 is missing" in result.stdout.str()


@pytest.mark.parametrize("option", ["--ir-runs", "--ir-baseline"])
@pytest.mark.parametrize("left", ["", "rag.jsonl", "shop.jsonl.7.part"])
def test_a_build_that_ended_in_between_is_missed(project: Project, option: str, left: str) -> None:
    """Else the build that broke is the one that nobody looks at."""
    for name in ("shop", "rag"):
        project.suite("queries: [{query: hose, relevant: [b]}]\n", f"{name}.ir.yaml")
    for number in (1, 2):
        keep_a_build(project, number, "b")
    for file in (project.path / "runs/2").iterdir():
        if file.name == left:
            continue
        file.rename(project.path / "runs/2" / left) if "part" in left else file.unlink()
    result = project.run(f"{option}=runs/1", f"{option}=runs/2")
    assert result.ret == 2
    assert "no kept run of shop.ir.yaml in runs/2: another build has one" in result.stdout.str()


def test_each_suite_may_have_its_own_place(project: Project) -> None:
    for name in ("shop", "rag"):
        project.suite("queries: [{query: hose, relevant: [b]}]\n", f"{name}.ir.yaml")
    keep_a_build(project, 1, "b")
    (project.path / "runs/2").mkdir()
    (project.path / "runs/1/rag.jsonl").rename(project.path / "runs/2/rag.jsonl")
    assert project.run("--ir-runs=runs/1", "--ir-runs=runs/2").ret == 0


def test_builds_of_two_commits_are_no_side_where_only_ci_knows_these(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.suite("queries: [{query: hose, relevant: [b]}]\n")
    for build, sha in enumerate(("a" * 40, "b" * 40), 1):
        monkeypatch.setenv("GITHUB_SHA", sha)
        keep_a_build(project, build, "b")
    result = project.run("--ir-runs=runs/1", "--ir-runs=runs/2")
    assert result.ret == 2
    assert "of several commits (aaaaaaaaaaaa, bbbbbbbbbbbb)" in result.stdout.str()


@pytest.mark.parametrize("option", ["--ir-runs", "--ir-baseline"])
@pytest.mark.parametrize(
    ("given", "error"),
    [
        (["runs"], "more than one kept run: runs/1/shop.jsonl, runs/2/shop.jsonl; of several"),
        (["runs/1", "other"], "of several commits (abc, def)"),
        (["runs/1", "runs/1"], "is given twice by runs/1 and runs/1: it is one build"),
    ],
)
def test_what_are_no_builds_of_one_side(
    project: Project, option: str, given: list[str], error: str
) -> None:
    shop(project, "bb")
    (project.path / "other").mkdir()
    kept = project.path / "runs/1/shop.jsonl"
    header, rest = kept.read_text(encoding="utf-8").split("\n", 1)
    of_commit = {**json.loads(header), "commit": "abc"}
    kept.write_text(f"{json.dumps(of_commit)}\n{rest}", encoding="utf-8")
    of_commit["commit"] = "def"
    (project.path / "other/shop.jsonl").write_text(
        f"{json.dumps(of_commit)}\n{rest}", encoding="utf-8"
    )
    result = project.run(*(f"{option}={path}" for path in given))
    assert result.ret == 2
    assert error in result.stdout.str()


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--ir-baseline=git:main", "--ir-baseline=runs/1"], "--ir-baseline git:main stands alone"),
        (["--ir-baseline=runs/1", "--ir-baseline=run:main"], "--ir-baseline run:main stands alone"),
        (
            ["--ir-baseline=runs/1", "--ir-baseline=runs/2", "--ir-update-baseline"],
            "--ir-update-baseline writes one baseline",
        ),
        (["--ir-baseline=runs/1", "--ir-baseline=runs/3"], "runs/3: there is no such file"),
    ],
)
def test_options_that_contradict_each_other(
    project: Project, options: list[str], error: str
) -> None:
    shop(project, "bb")
    result = project.run(*options)
    assert result.ret == 4
    assert error in result.stderr.str()


def test_a_baseline_of_the_command_line_stands_in_place_of_the_ini_files(project: Project) -> None:
    before = shop(project, "ba", "before")
    project.pytester.makeini(f"[pytest]\naddopts = --ir-baseline={before[0]}\n")
    project.run()
    assert project.data["suites"][0]["baseline"]["source"] == "before/1/shop.jsonl"
    project.run(f"--ir-baseline={before[1]}")
    assert project.data["suites"][0]["baseline"]["source"] == "before/2/shop.jsonl"


def test_trec_runs_are_builds_too(project: Project) -> None:
    project.suite("metrics: [mrr@10]\nqueries: [{query: hose, relevant: [b]}]\n", "shop.ir.yaml")
    project.conftest("@pytest.fixture\ndef retriever(): pass\n")
    for side in ("before", "now"):
        for number, found in enumerate("bba", 1):
            path = project.path / f"{side}/{number}/shop.run"
            path.parent.mkdir(parents=True)
            path.write_text(f"hose Q0 {found} 1 1 x\n", encoding="utf-8")
    project.run(
        *(f"--ir-runs=now/{number}" for number in (1, 2, 3)),
        *(f"--ir-baseline=before/{number}" for number in (1, 2)),
    )
    (suite,) = project.data["suites"]
    assert (suite["noise"]["builds"], suite["noise"]["builds_before"]) == (3, 2)
    change = suite["means"][0]["change"]
    assert (change["before"], change["now"]) == (1.0, pytest.approx(2 / 3))


def test_builds_that_had_several_answers_keep_all_of_them(project: Project) -> None:
    project.suite("repeat: 2\nmetrics: [mrr@10]\nqueries: [{query: hose, relevant: [b]}]\n")
    project.conftest("@pytest.fixture\ndef retriever(): return lambda query: ['b']\n")
    for number in (1, 2):
        project.run(f"--ir-save-runs=runs/{number}")
    project.run("--ir-runs=runs/1", "--ir-runs=runs/2", "--ir-save-runs=both")
    project.run("--ir-runs=both", "--ir-baseline=runs/1", "--ir-baseline=runs/2")
    noise = project.data["suites"][0]["noise"]
    assert (noise["answers"], noise["builds"]) == (4, 2)
    assert (noise["answers_before"], noise["builds_before"]) == (4, 2)
