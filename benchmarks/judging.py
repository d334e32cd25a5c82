"""The cost of a verdict beside the measures it rests on.

    python benchmarks/judging.py [--queries 7000] [--results 100] [--rounds 5] [--profile]

It times the judge, with and without a baseline, and the five measures alone, on the same rankings.
A third of the rankings changed since the baseline. Every judging begins with a suite and a run as
they are read, nothing of which was worked out before, and ends with all that reports may show.
Seconds are those of the processor.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import random
from collections.abc import Callable
from statistics import median

from beside import in_turns, ratio, seconds

from pytest_irquality.metrics import Judgments, evaluate, parse_measure
from pytest_irquality.retrieval.run import Answer, Ranking, Run
from pytest_irquality.suite.demands import Min
from pytest_irquality.suite.model import Check, Limits, Place, Query, Suite
from pytest_irquality.verdict import judge

NAMES = ("ndcg@10", "map@100", "recall@100", "precision@10", "mrr@10")
MEASURES, ALONE, COMPARED = "the five measures alone", "without a baseline", "against a baseline"

Grades = dict[str, dict[str, int]]


def make(queries: int, results: int) -> tuple[Grades, Run, Run]:
    """Judgments, today's run, and one from which a third of its rankings differ."""
    draw = random.Random(20240229)
    documents = [f"doc-{number:07d}" for number in range(500_000)]
    grades: Grades = {}
    now: dict[str, Ranking] = {}
    then: dict[str, Ranking] = {}
    for number in range(queries):
        ids = draw.sample(documents, results + 5)
        scores = sorted((draw.random() * 20 for _ in range(results)), reverse=True)
        near = {ids[int(results * draw.random() ** 3)] for _ in range(draw.randint(1, 12))}
        grades[f"q{number}"] = {id: draw.randint(0, 3) for id in sorted(near)} | {ids[-1]: 1}
        now[f"q{number}"] = Ranking(tuple(ids[:results]), tuple(scores))
        old = [*ids[2 : results // 2], ids[-2], *ids[:2], *ids[results // 2 : results - 1]]
        changed = number % 3 == 0
        then[f"q{number}"] = Ranking(tuple(old if changed else ids[:results]), tuple(scores))
    return grades, Run("", (Answer(now),)), Run("", (Answer(then),))


def suite_of(grades: Grades, depth: int) -> Suite:
    """A suite of these queries, nothing of it worked out yet."""
    measures = tuple(map(parse_measure, NAMES))
    limits = Limits(measures[0], (Min(0.01),))
    return Suite(
        name="large",
        path="large.ir.yaml",
        queries=tuple(
            Query(id, f"the words of {id}", judgments=Judgments(judged))
            for id, judged in grades.items()
        ),
        depth=depth,
        metrics=measures,
        checks=(Check("ndcg-10", "ndcg@10", Place(1), limits),),
    )


def read_anew(run: Run) -> Run:
    """The run with nothing remembered of what was worked out of it."""
    rankings = {id: Ranking(known.ids, known.scores) for id, known in run.first.rankings.items()}
    return Run(run.retriever, (Answer(rankings),))


def works(grades: Grades, now: Run, then: Run, depth: int) -> dict[str, Callable[[], float]]:
    """The measures, and the judge with either; what each is given is made before the clock runs."""
    measures = tuple(map(parse_measure, NAMES))

    def five() -> float:
        judgments = {id: Judgments(judged) for id, judged in grades.items()}
        rankings = {id: ranking.ids for id, ranking in now.first.rankings.items()}

        def work() -> None:
            scores = evaluate(judgments, rankings, measures)
            for measure in measures:
                scores.aggregate(measure)

        return seconds(work)

    def judged(before: Run | None) -> float:
        suite, today, then = suite_of(grades, depth), read_anew(now), before and read_anew(before)
        return seconds(lambda: judge(suite, today, before=then))

    return {MEASURES: five, ALONE: lambda: judged(None), COMPARED: lambda: judged(then)}


def profiled(suite: Suite, now: Run, before: Run | None) -> None:
    """Where the time of a judging goes."""
    profile = cProfile.Profile()
    profile.runcall(judge, suite, now, before=before)
    pstats.Stats(profile).sort_stats("tottime").print_stats(25)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=7_000)
    parser.add_argument("--results", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--profile", action="store_true", help="where the time goes, instead")
    chosen = parser.parse_args()
    grades, now, then = make(chosen.queries, chosen.results)
    if chosen.profile:
        for before in (None, then):
            suite = suite_of(grades, chosen.results)
            profiled(suite, read_anew(now), before and read_anew(before))
        return
    taken = in_turns(works(grades, now, then, chosen.results), chosen.rounds)
    print(f"### {chosen.queries:,} queries × {chosen.results:,} results\n")
    print("| | median, s | ÷ the five measures |")
    print("|---|---:|---:|")
    for name, times in taken.items():
        print(f"| {name} | {median(times):.3f} | {ratio(times, taken[MEASURES]):.1f} |")


if __name__ == "__main__":
    main()
