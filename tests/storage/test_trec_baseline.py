"""TREC runs as baselines: a file, a folder, and what cannot be read."""

from __future__ import annotations

import pytest

from tests.conftest import Project

SUITE = """\
queries:
  - {query: desk, id: q1, relevant: [d1]}
  - {query: lamp, id: q2, relevant: [d1]}
thresholds: {mrr: {max_drop: 0.05}}
"""
RUN = "q1 Q0 d1 1 2.0 x\nq1 Q0 d2 2 1.0 x\n"


@pytest.mark.parametrize("place", ["main.run", "kept/shop.run", "kept/deep/shop.trec"])
def test_a_trec_run_is_a_baseline(project: Project, place: str) -> None:
    project.suite(SUITE)
    project.answers({"desk": ["d2", "d1"], "lamp": ["d1"]})
    path = project.path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(RUN)
    result = project.run(f"--ir-baseline={place.partition('/')[0]}")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["mrr@10 fell 1.000 → 0.500, by 0.500: more than max_drop 0.050*"])
    assert project.data["suites"][0]["queries"][1]["new"]  # which the file does not have


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("q1 Q0 d1\n", "main.run:1: 3 fields; a line is: query Q0 document rank score tag"),
        ("other Q0 d1 1 1 x\n", "main.run has no query of shop.ir.yaml: its ids are 'other' ..."),
    ],
)
def test_what_cannot_be_read_says_so(project: Project, content: str, said: str) -> None:
    project.suite(SUITE)
    project.answers({"desk": ["d1"], "lamp": ["d1"]})
    (project.path / "main.run").write_text(content)
    result = project.run("--ir-baseline=main.run")
    assert result.ret == 2
    assert said in result.stdout.str()
    assert "there is no baseline" not in result.stdout.str()
