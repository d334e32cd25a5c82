"""The summary by default: fifteen lines whatever broke, and the last one says that it did."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_irquality import judge, load_suite
from pytest_irquality.report.text import BRIEF, summary
from pytest_irquality.retrieval import Run
from pytest_irquality.retrieval.run import Fault
from pytest_irquality.verdict import SuiteResult
from pytest_irquality.verdict.together import judged_together
from tests.verdict.test_comparison import FIRST, run_of, sunk

ELSEWHERE = {id: [f"x-{id}"] for id in FIRST}
LIMITS = ", ".join(f"{name}: 0.9" for name in ("mrr", "ndcg", "recall@5", "precision@1", "map"))
LONG = "a query that somebody pasted from a mail " * 9


def queries(of_each: str, text: str = "") -> str:
    lines = (f"  - {{query: {text}q{n}, id: q{n}, {of_each.format(n=n)}}}\n" for n in range(20))
    return f"queries:\n{''.join(lines)}"


def result(path: Path, text: str, now: Run, before: Run | None = None) -> SuiteResult:
    file = path / "s.ir.yaml"
    file.write_text(text, encoding="utf-8")
    return judge(load_suite(file, shown="s.ir.yaml"), now, before=before)


RELEVANT, RULES = "relevant: [d{n}]", "relevant: [d{n}], must_find: {{d{n}: 1}}"
KINDS: dict[str, Callable[[Path], Sequence[SuiteResult]]] = {
    "the mean fell": lambda path: [result(path, queries(RELEVANT), run_of(sunk(19)), run_of(FIRST))],
    "all is lost": lambda path: [result(path, queries(RELEVANT), run_of(ELSEWHERE), run_of(FIRST))],
    "nothing came": lambda path: [
        result(path, f"{queries(RELEVANT)}thresholds: {{{LIMITS}}}\n", run_of(dict.fromkeys(FIRST, ())), run_of(FIRST))
    ],
    "rules": lambda path: [result(path, queries(RULES), run_of(sunk(19)), run_of(FIRST))],
    "rules alone": lambda path: [result(path, queries(RULES), run_of(sunk(19)))],
    "tags and long texts": lambda path: [
        result(path, f"{queries(f'{RELEVANT}, tags: [t{{n}}]', LONG)}each_tag: {{{LIMITS}}}\n", run_of(sunk(19)), run_of(FIRST))
    ],
    "nothing is graded": lambda path: [result(path, queries("tags: [t]"), run_of(ELSEWHERE), run_of(FIRST))],
    "twelve suites": lambda path: [
        replace(result(path, queries(RULES), run_of(sunk(19)), run_of(FIRST)), path=f"s{n}.ir.yaml", suite=f"s{n}")
        for n in range(12)
    ],
    "three retrievers": lambda path: [
        replace(result(path, queries(RULES), run_of(sunk(19)), run_of(FIRST)), retriever=name)
        for name in ("bm25", "dense", "hybrid")
    ],
    "no answers": lambda path: [
        result(path, queries(RULES), Run("", run_of({"q0": ["d0"]}).answers, {
            f"q{n}": Fault(f"TimeoutError: {n}") for n in range(1, 20)
        }), run_of(FIRST))
    ],
}  # fmt: skip


@pytest.mark.parametrize("width", [80, 100, 120, 200])
@pytest.mark.parametrize("kind", KINDS)
def test_a_red_build_is_told_in_fifteen_lines(kind: str, width: int, tmp_path: Path) -> None:
    results = judged_together(KINDS[kind](tmp_path))
    assert all(one.failed for one in results)
    lines = [*summary(results, width, ["report: ir-report.html"], brief=True)]
    assert 4 <= len(lines) <= BRIEF == 15, "\n".join(lines)
    assert any(line.startswith("✗ FAILED") for line in lines[-4:])


@pytest.mark.parametrize("worse", [1, 3])
def test_of_broken_limits_the_first_are_shown(worse: int, tmp_path: Path) -> None:
    text = f"{queries(RELEVANT)}thresholds: {{{LIMITS}}}\n"
    now = {**FIRST, **{f"q{n}": ("x",) for n in range(worse)}}
    one = result(tmp_path, text.replace("0.9", "0.99"), run_of(now), run_of(FIRST))

    def limits(lines: Iterator[str]) -> list[str]:
        return [line.split()[1] for line in lines if line.startswith("  ✗ ")]

    for written in range(9):
        shown = limits(summary([one], 80, ["report: x"] * written, brief=True))
        assert shown == limits(summary([one], 80))[: len(shown)]
