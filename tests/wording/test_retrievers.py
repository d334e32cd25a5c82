"""Several retrievers of one suite: which is best, and over which queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_irquality import judge, load_suite
from pytest_irquality.retrieval import Answer, Fault, Ranking, Run
from pytest_irquality.wording.mean_tables import retrievers

Lists = Mapping[str, Sequence[str]]
QUERIES = 12
SUITE = "metrics: [mrr@3, recall@3, rank_of_first@3, latency_p50]\nqueries:\n" + "".join(
    f"  - {{query: q{n}, relevant: [d{n}]}}\n" for n in range(QUERIES)
)
FIRST = {f"q{n}": [f"d{n}", "x", "y"] for n in range(QUERIES)}
SECOND = {f"q{n}": ["x", f"d{n}", "y"] for n in range(QUERIES)}
HALF = {id: (FIRST if n % 2 else SECOND)[id] for n, id in enumerate(FIRST)}
NONE: Lists = {id: ["x"] for id in FIRST}


def beside(folder: Path, faults: Sequence[str] = (), **lists: Lists) -> dict[str, list[str]]:
    """The cells of each measure's row; the first retriever has the faults."""
    file = folder / "s.ir.yaml"
    file.write_text(SUITE, encoding="utf-8")
    suite = load_suite(file, shown="s.ir.yaml")
    results = []
    for name, found in lists.items():
        rankings = {
            id: Ranking(tuple(ids), seconds=len(ids))
            for id, ids in found.items()
            if id not in faults
        }
        results.append(
            judge(suite, Run(name, (Answer(rankings),), dict.fromkeys(faults, Fault(""))))
        )
        faults = ()
    tables = [*retrievers(results)]
    assert [column.name for column in tables[0][1].columns] == ["measure", *lists] if tables else 1
    return {
        str(row.cells[0]): [str(cell) for cell in row.cells[1:]]
        for _, t in tables
        for row in t.rows
    }


def test_the_best_is_marked_and_the_others_are_held_against_it(tmp_path: Path) -> None:
    rows = beside(tmp_path, bm25=SECOND, hybrid=FIRST, dense=HALF)
    assert rows["mrr@3"] == ["0.500 (12 worse, 0 better)", "1.000 ★", "0.750 (6 worse, 0 better)"]


def test_where_lower_is_better_the_lowest_is_best(tmp_path: Path) -> None:
    rows = beside(tmp_path, bm25=SECOND, hybrid=FIRST)
    assert rows["rank_of_first@3"] == ["2.000 (12 worse, 0 better)", "1.000 ★"]


def test_all_that_share_the_best_value_are_best(tmp_path: Path) -> None:
    rows = beside(tmp_path, bm25=SECOND, none=NONE, hybrid=FIRST)
    assert rows["recall@3"] == ["1.000 ★", "0.000 (12 worse, 0 better)", "1.000 ★"]


def test_times_have_a_best_alone(tmp_path: Path) -> None:
    rows = beside(tmp_path, none=NONE, hybrid=FIRST)
    assert rows["latency_p50"] == ["1.00 s ★", "3.00 s"]


def test_only_queries_that_both_answered_are_compared(tmp_path: Path) -> None:
    rows = beside(tmp_path, ["q3", "q4"], bm25=SECOND, hybrid=FIRST)
    assert rows["mrr@3"] == ["0.500 over 10 (10 worse, 0 better)", "1.000 over 12 ★"]
    rows = beside(tmp_path, [*FIRST], bm25=SECOND, hybrid=FIRST)
    assert rows["mrr@3"] == ["– over 0", "1.000 over 12"]


def test_a_suite_with_one_retriever_has_nothing_beside_it(tmp_path: Path) -> None:
    assert beside(tmp_path, bm25=SECOND) == {}
