"""The speed of measures: this package, pytrec_eval, ir_measures and ranx, on the same lists.

Run it with `python benchmarks/metrics.py`, after `pip install -e .[bench]`. Every library computes
ndcg@10, map@100, recall@100, precision@10 and mrr@10 for each query and their means; values are
compared before anything is timed.
"""

from __future__ import annotations

import argparse
import gc
import random
import statistics
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from pytest_irquality.metrics import Judgments, Scores, evaluate, parse_measure

ir_measures: Any = import_module("ir_measures")
pytrec_eval: Any = import_module("pytrec_eval")
ranx: Any = import_module("ranx")

Run = dict[str, list[str]]
Qrels = dict[str, dict[str, int]]
Values = Mapping[str, tuple[float, ...]]

NAMES = ("ndcg@10", "map@100", "recall@100", "precision@10", "mrr@10")
DEEPEST = 100
OURS, FLOOR = "this package", "bare floor (lookups)"
SEED = 20240229
ROUNDS = (3, 9)  # at least, at most
BUDGET = 15.0  # seconds that a workload may take, unless the least number of rounds takes longer
TURN = 0.2  # seconds that a contender repeats itself before it is the next one's turn


@dataclass(frozen=True)
class Workload:
    """Rankings and judgments, and the factors that this package has promised to be faster by."""

    name: str
    make: Callable[[], tuple[Qrels, Run]]
    promises: Mapping[str, float]


@dataclass(frozen=True)
class Contender:
    """One way to get the values: `run` is what is timed, `values` makes its answer comparable."""

    name: str
    run: Callable[[], Any]
    values: Callable[[Any], Values] | None = None


def generate(queries: int, results: int, corpus: int = 500_000) -> tuple[Qrels, Run]:
    """Rankings in which a few judged documents hide, more of them near the top."""
    draw = random.Random(SEED)
    documents = [f"doc-{number:07d}" for number in range(corpus)]
    qrels: Qrels = {}
    run: Run = {}
    for number in range(queries):
        ranking = draw.sample(documents, results)
        near = {ranking[int(results * draw.random() ** 3)] for _ in range(draw.randint(1, 12))}
        elsewhere = draw.sample(documents, 4)
        qrels[f"q{number}"] = {
            document: grade
            for document in (*sorted(near), *elsewhere)
            for grade in draw.choices((0, 1, 2, 3), (4, 3, 2, 1))
        } | {elsewhere[0]: 1}
        run[f"q{number}"] = ranking
    return qrels, run


@cache
def large() -> tuple[Qrels, Run]:
    """As many queries as MS MARCO's development set, a thousand results each."""
    return generate(6_980, 1_000)


def cut() -> tuple[Qrels, Run]:
    """The same, a hundred results each."""
    qrels, run = large()
    return qrels, {query: ranking[:DEEPEST] for query, ranking in run.items()}


def small() -> tuple[Qrels, Run]:
    """As many queries as a suite that a team writes."""
    return generate(200, 50)


OTHERS = (
    "pytrec_eval, from lists",
    "ir_measures, from lists",
    "ranx, prebuilt",
    "ranx, from lists",
)
WORKLOADS = (
    Workload("6,980 × 1,000", large, {"pytrec_eval, from lists": 20, "ranx, prebuilt": 8}),
    Workload("6,980 × 100", cut, {"pytrec_eval, from lists": 2.5}),
    Workload("200 × 50", small, dict.fromkeys(OTHERS, 1.0)),
)


def scored(run: Run) -> dict[str, dict[str, float]]:
    """Lists as the other libraries want them: a score for each document, highest first."""
    length = max(map(len, run.values()))
    scores = [float(length - place) for place in range(length)]
    return {query: dict(zip(ranking, scores, strict=False)) for query, ranking in run.items()}


def ours(qrels: Qrels, run: Run) -> Contender:
    """Our own measures, judgments prepared as they are when a suite is loaded."""
    judgments = {query: Judgments(grades) for query, grades in qrels.items()}
    measures = [parse_measure(name) for name in NAMES]

    def work() -> Scores:
        scores = evaluate(judgments, run, measures)
        for measure in measures:
            scores.aggregate(measure)
        return scores

    return Contender(OURS, work, lambda scores: scores.values)


def floor(qrels: Qrels, run: Run) -> Contender:
    """The least that can be done: one dict lookup a document, down to the deepest cutoff."""
    lookups = {query: Judgments(grades).gains.__contains__ for query, grades in qrels.items()}

    def work() -> None:
        for query, ranking in run.items():
            deque(map(lookups[query], ranking[:DEEPEST]), maxlen=0)

    return Contender(FLOOR, work)


def pytrec_eval_contenders(
    qrels: Qrels, run: Run, ready: dict[str, dict[str, float]]
) -> list[Contender]:
    """pytrec_eval-terrier; its recip_rank has no cutoff, so a run cut to 10 is its mrr@10."""
    names = ("ndcg_cut_10", "map_cut_100", "recall_100", "P_10", "recip_rank")
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(names))

    def work(of: Callable[[], dict[str, dict[str, float]]]) -> Any:
        values = evaluator.evaluate(of())
        for name in names:
            pytrec_eval.compute_aggregated_measure(name, [row[name] for row in values.values()])
        return values

    def comparable(values: Any) -> Values:
        rows = {query: tuple(row[name] for name in names) for query, row in values.items()}
        return {
            query: (*row[:4], row[4] if row[4] >= 1 / 10 else 0.0) for query, row in rows.items()
        }

    return [
        Contender("pytrec_eval, from lists", lambda: work(lambda: scored(run)), comparable),
        Contender("pytrec_eval, ready dicts", lambda: work(lambda: ready), comparable),
    ]


def ir_measures_contender(qrels: Qrels, run: Run) -> Contender:
    """ir_measures with the providers that it chooses."""
    ir = ir_measures
    measures = [ir.nDCG @ 10, ir.AP @ 100, ir.R @ 100, ir.P @ 10, ir.RR @ 10]
    evaluator = ir_measures.evaluator(measures, qrels)

    def comparable(result: Any) -> Values:
        rows: dict[str, dict[Any, float]] = {}
        for metric in result.per_query:
            rows.setdefault(metric.query_id, {})[metric.measure] = metric.value
        return {query: tuple(row[measure] for measure in measures) for query, row in rows.items()}

    return Contender("ir_measures, from lists", lambda: evaluator.calc(scored(run)), comparable)


def ranx_contenders(qrels: Qrels, run: Run, ready: dict[str, dict[str, float]]) -> list[Contender]:
    """ranx, compiled before anything is timed.

    It runs on its own objects, and with the run built from lists each time.
    """
    names = ["ndcg@10", "map@100", "recall@100", "precision@10", "mrr@10"]
    judged, prebuilt = ranx.Qrels(qrels), ranx.Run(ready)

    def work(of: Callable[[], Any]) -> Any:
        made = of()
        ranx.evaluate(judged, made, names)
        return made.scores

    def comparable(values: Any) -> Values:
        return {query: tuple(float(values[name][query]) for name in names) for query in run}

    return [
        Contender("ranx, prebuilt", lambda: work(lambda: prebuilt), comparable),
        Contender("ranx, from lists", lambda: work(lambda: ranx.Run(scored(run))), comparable),
    ]


def compare(workload: Workload) -> dict[str, list[float]]:
    """The seconds of every contender in each round, after their values were found to agree."""
    qrels, run = workload.make()
    ready = scored(run)
    contenders = [
        floor(qrels, run),
        ours(qrels, run),
        *pytrec_eval_contenders(qrels, run, ready),
        ir_measures_contender(qrels, run),
        *ranx_contenders(qrels, run, ready),
    ]
    expected = ours(qrels, run).run().values
    for contender in contenders:
        answer = contender.run()  # compiles and warms up what can be
        if contender.values is not None:
            check(contender.name, contender.values(answer), expected)
        del answer
    taken: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    start, rounds = time.perf_counter(), 0
    while rounds < ROUNDS[0] or (rounds < ROUNDS[1] and time.perf_counter() - start < BUDGET):
        rounds += 1
        for (
            contender
        ) in contenders:  # in turns, so that whatever else the machine does falls on all of them
            taken[contender.name].append(turn(contender.run))
    return taken


def check(name: str, values: Values, expected: Values) -> None:
    """Every value of every query, or the benchmark compares apples with pears."""
    for query, row in expected.items():
        for measure, wanted, got in zip(NAMES, row, values[query], strict=True):
            if abs(wanted - got) > 1e-9:
                raise SystemExit(
                    f"{name} says {got} for {measure} of {query}, this package {wanted}"
                )


def turn(work: Callable[[], Any]) -> float:
    """The seconds of one call, of as many as fit into a turn; without the garbage collector."""
    gc.collect()
    gc.disable()
    calls, took, start = 0, 0.0, time.perf_counter()
    while took < TURN:
        work()
        calls, took = calls + 1, time.perf_counter() - start
    gc.enable()
    return took / calls


def table(workload: Workload, taken: Mapping[str, list[float]]) -> str:
    """Medians, the factors that this package is faster by, and what was promised.

    A factor is the median of the rounds.
    """

    def ratio(one: str, other: str) -> float:
        return statistics.median(a / b for a, b in zip(taken[one], taken[other], strict=True))

    lines = [
        f"### {workload.name}",
        "",
        "| | median, ms | ÷ this package | promised |",
        "|---|---:|---:|---:|",
    ]
    for name, times in taken.items():
        promised = f"≥ {workload.promises[name]:g}" if name in workload.promises else ""
        lines.append(
            f"| {name} | {statistics.median(times) * 1000:,.2f} | {ratio(name, OURS):.2f} |"
            f" {promised} |"
        )
    lines += [
        "",
        f"This package takes {ratio(OURS, FLOOR):.2f} times the bare floor (promised: ≤ 1.8).",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="workloads whose name contains this")
    arguments = parser.parse_args()
    for workload in WORKLOADS:
        if not arguments.only or arguments.only in workload.name:
            print(table(workload, compare(workload)), flush=True)


if __name__ == "__main__":
    main()
