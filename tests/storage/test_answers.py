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
    ['"answers": 3', '"answers": [3]', '"answers": [{"docs": 3}]', '"build": "x"', '"of": 1'],
)
def test_what_is_damaged_is_one_line(more: str) -> None:
    header = {
        "format": "pytest-irquality run", "format_version": 2, "suite": "s", "path": "s", "depth": 9
    }  # fmt: skip
    line = f'{{"id": "q", "query": "q", "docs": ["a"], {more}}}'
    lines = [json.dumps(header).encode(), line.encode(), b'{"end": "pytest-irquality run"}']
    with pytest.raises(StoredRunError, match="run:2: damaged"):
        parse_run(lines, "run")


def test_a_baseline_keeps_all_answers_and_variants(project: Project) -> None:
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
    assert [len(line.get("answers", [])) for line in kept[1:-1]] == [2, 2, 2]
    assert [line.get("of") for line in kept[1:-1]] == [None, None, "office chair"]
    assert project.run().ret == 0
    noise = project.data["suites"][0]["noise"]
    assert (noise["answers"], noise["answers_before"]) == (3, 3)
    again = project.run("--ir-update-baseline").stdout.str()
    assert "baseline unchanged" in again


def keep_a_build(project: Project, number: int, found: str) -> None:
    project.conftest(f"@pytest.fixture\ndef retriever(): return lambda query: [{found!r}, 'x']\n")
    project.run(f"--ir-save-runs=runs/{number}")


BUILDS = ("--ir-runs=runs/1", "--ir-runs=runs/2", "--ir-runs=runs/3")


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
