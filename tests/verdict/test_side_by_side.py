"""Several retrievers of one suite: which is best, and by more than chance or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_irquality import judge, load_suite
from pytest_irquality.retrieval import Answer, Fault, Ranking, Run
from pytest_irquality.verdict import SuiteResult
from pytest_irquality.verdict.side_by_side import Side, SideBySide, side_by_side

Lists = Mapping[str, Sequence[str]]
QUERIES = 12
SUITE = (
    "metrics: [mrr@3, recall@3, rank_of_first@3, num_results, latency_p50MORE]\nqueries:\n"
    + "".join(
        f"  - {{query: q{n}, relevant: [d{n}], weight: {10 if n == 0 else 1}}}\n"
        for n in range(QUERIES)
    )
)
FIRST = {f"q{n}": [f"d{n}", "x", "y"] for n in range(QUERIES)}
SECOND = {f"q{n}": ["x", f"d{n}", "y"] for n in range(QUERIES)}
HALF = {id: (FIRST if n % 2 else SECOND)[id] for n, id in enumerate(FIRST)}
NONE: Lists = {id: ["x"] for id in FIRST}


def beside(
    folder: Path, more: str = "", faults: Sequence[str] = (), **retrievers: Lists
) -> SideBySide:
    (table,) = side_by_side(results(folder, more, faults, **retrievers))
    return table


def results(
    folder: Path, more: str = "", faults: Sequence[str] = (), **retrievers: Lists
) -> list[SuiteResult]:
    """One result a retriever; the first one has the faults."""
    file = folder / "s.ir.yaml"
    file.write_text(SUITE.replace("MORE", more), encoding="utf-8")
    suite = load_suite(file, shown="s.ir.yaml")
    found = []
    for name, lists in retrievers.items():
        rankings = {
            id: Ranking(tuple(ids), seconds=len(ids))
            for id, ids in lists.items()
            if id not in faults
        }
        broken = {id: Fault("it broke") for id in faults}
        found.append(judge(suite, Run(name, (Answer(rankings),), broken)))
        faults = ()
    return found


def sides(table: SideBySide, measure: str) -> dict[str, Side]:
    row = next(row for row in table.rows if row.measure == measure)
    return dict(zip(table.retrievers, row.sides, strict=True))


def test_the_best_is_marked_and_the_others_are_held_against_it(tmp_path: Path) -> None:
    table = beside(tmp_path, bm25=SECOND, hybrid=FIRST, dense=HALF)
    assert (table.path, table.retrievers) == ("s.ir.yaml", ("bm25", "hybrid", "dense"))
    assert [row.measure for row in table.rows] == [
        "mrr@3",
        "recall@3",
        "rank_of_first@3",
        "num_results",
        "latency_p50",
    ]
    mrr = sides(table, "mrr@3")
    assert mrr["hybrid"] == Side(1.0, QUERIES, best=True)
    assert mrr["bm25"] == Side(
        0.5, QUERIES, worse=12, p=2 * 2 / 2**12
    )  # two tests, of which the smaller p counts double
    assert mrr["dense"] == Side(0.75, QUERIES, equal=6, worse=6, p=2 / 2**6)


def test_where_lower_is_better_the_lowest_is_best(tmp_path: Path) -> None:
    first = sides(beside(tmp_path, bm25=SECOND, hybrid=FIRST), "rank_of_first@3")
    assert (first["hybrid"].best, first["bm25"].best) == (True, False)
    assert (first["bm25"].better, first["bm25"].worse) == (0, 12)


def test_all_that_share_the_best_value_are_best(tmp_path: Path) -> None:
    recall = sides(beside(tmp_path, bm25=SECOND, none=NONE, hybrid=FIRST), "recall@3")
    assert [side.best for side in recall.values()] == [True, False, True]
    assert [side.p is None for side in recall.values()] == [True, False, True]
    same = sides(beside(tmp_path, one=HALF, other=HALF), "mrr@3")
    assert all(side.best and side.p is None for side in same.values())


def test_times_have_a_best_but_no_test_and_counts_have_neither(tmp_path: Path) -> None:
    table = beside(tmp_path, none=NONE, hybrid=FIRST)
    assert sides(table, "latency_p50") == {
        "none": Side(1.0, QUERIES, best=True),
        "hybrid": Side(3.0, QUERIES),
    }
    assert sides(table, "num_results") == {"none": Side(1.0, QUERIES), "hybrid": Side(3.0, QUERIES)}


def test_only_queries_that_both_answered_are_compared(tmp_path: Path) -> None:
    mrr = sides(beside(tmp_path, faults=["q3", "q4"], bm25=SECOND, hybrid=FIRST), "mrr@3")
    assert (mrr["bm25"].queries, mrr["hybrid"].queries) == (10, 12)
    assert mrr["bm25"].worse == 10
    assert mrr["bm25"].p == 2 / 2**10
    broken = sides(beside(tmp_path, faults=[*FIRST], bm25=SECOND, hybrid=FIRST), "mrr@3")
    assert broken == {"bm25": Side(None, 0), "hybrid": Side(1.0, 12)}


def test_weights_count_where_the_mean_is_weighted(tmp_path: Path) -> None:
    heavy = {**SECOND, "q0": FIRST["q0"]}
    light = {**FIRST, "q0": NONE["q0"]}
    table = beside(tmp_path, more=", weighted mrr@3", heavy=heavy, light=light)
    assert [side.best for side in sides(table, "mrr@3").values()] == [False, True]
    weighted = sides(table, "weighted mrr@3")
    assert [side.best for side in weighted.values()] == [True, False]
    assert weighted["light"].p == 1  # q0 alone outweighs all others, whatever their signs
    assert sides(table, "mrr@3")["heavy"].p == 2 * (1 + 11 + 55 + 1) / 2**12


def test_a_suite_with_one_retriever_has_nothing_beside_it(tmp_path: Path) -> None:
    assert side_by_side(results(tmp_path, bm25=SECOND)) == ()
    assert side_by_side([]) == ()
