"""The cost of an evaluation compared with the five metrics that it is based on.

The same rankings of 7,000 queries with 100 results are scored with five metrics, evaluated without
a baseline, and evaluated with a baseline from which a third of the rankings differ. Every
evaluation starts with a suite and runs as they are after reading, without cached values.
"""

from __future__ import annotations

import cProfile
import pstats
import random
from statistics import median

from benchmarks.timing import (
    Figure,
    Options,
    compute_ratio,
    measure_cpu,
    measure_in_turns,
    run_benchmark,
)
from pytest_irquality.baselines.sources import Baseline
from pytest_irquality.evaluation.decide import decide
from pytest_irquality.evaluation.evaluate import Branch, evaluate
from pytest_irquality.metrics import Judgments, RankingBatch, aggregate_values, parse_metric
from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.model import (
    Bound,
    CheckItem,
    ItemKind,
    Query,
    RetrieverId,
    RunKey,
    Settings,
    Suite,
    Threshold,
)

NAMES = ("ndcg@10", "map@100", "recall@100", "precision@10", "mrr@10")
METRICS = tuple(parse_metric(name) for name in NAMES)
QUERIES, SHORT_QUERIES, RESULTS = 7_000, 2_000, 100
KEY = RunKey(RetrieverId())

Grades = dict[str, dict[str, int]]
Rankings = dict[str, Ranking]


def generate(queries: int, results: int) -> tuple[Grades, Rankings, Rankings]:
    """Generate grades, current rankings, and rankings of a baseline."""
    draw = random.Random(20240229)
    documents = [f"doc-{number:07d}" for number in range(500_000)]
    grades: Grades = {}
    now: Rankings = {}
    before: Rankings = {}
    for number in range(queries):
        doc_ids = draw.sample(documents, results + 5)
        scores = tuple(sorted((draw.random() * 20 for _ in range(results)), reverse=True))
        # A few documents are judged, most of them near the top.
        judged = {doc_ids[int(results * draw.random() ** 3)] for _ in range(draw.randint(1, 12))}
        query = f"query {number}"
        grades[query] = {doc_id: draw.randint(0, 3) for doc_id in sorted(judged)}
        grades[query][doc_ids[-1]] = 1
        now[query] = Ranking(tuple(doc_ids[:results]), scores)
        middle = results // 2
        changed = [*doc_ids[2:middle], doc_ids[-2], *doc_ids[:2], *doc_ids[middle : results - 1]]
        before[query] = Ranking(tuple(changed), scores) if number % 3 == 0 else now[query]
    return grades, now, before


def make_suite(grades: Grades) -> Suite:
    """Make a suite of these queries."""
    queries = []
    for text, judged in grades.items():
        queries.append(Query(text, text, Judgments(dict(judged)), is_sampled=True))
    threshold = Threshold(METRICS[0], min=Bound(0.01))
    items = (
        CheckItem("ndcg@10", "ndcg@10", ItemKind.THRESHOLD, threshold=threshold),
        CheckItem("answers", "answers", ItemKind.ANSWERS),
        CheckItem("default checks", "default checks", ItemKind.DEFAULT_CHECKS),
    )
    settings = Settings(depth=RESULTS)
    return Suite("Large", tuple(queries), "large.ir.yaml", METRICS, items=items, settings=settings)


def make_run(rankings: Rankings) -> Run:
    """Make a run of new rankings, which share nothing with another run."""
    answers = {}
    for text, ranking in rankings.items():
        answers[text] = (Ranking((*ranking.doc_ids,), ranking.scores),)
    return Run(answers)


def score_five_metrics(grades: Grades, now: Rankings) -> float:
    """Score the five metrics and their means."""
    judgments = [Judgments(dict(judged)) for judged in grades.values()]
    rankings = [(*ranking.doc_ids,) for ranking in now.values()]

    def work() -> None:
        batch = RankingBatch(judgments, rankings)
        batch.prepare(METRICS)
        for metric in METRICS:
            aggregate_values(metric, batch.score(metric))

    return measure_cpu(work)


def measure_evaluation(grades: Grades, now: Rankings, before: Rankings | None) -> float:
    """Evaluate a suite."""
    suite, run = make_suite(grades), make_run(now)
    baseline_run = make_run(before) if before else None
    return measure_cpu(lambda: evaluate(suite, run, baseline_run))


def measure_decision(grades: Grades, now: Rankings, before: Rankings | None) -> float:
    """Decide on a build of one suite."""
    suite, run = make_suite(grades), make_run(now)
    baselines = (Baseline(make_run(before)),) if before else ()
    branch = Branch(suites=(suite,), baselines=baselines)
    return measure_cpu(lambda: decide(branch, {KEY: run}))


def show_profile(grades: Grades, now: Rankings, before: Rankings | None) -> None:
    """Show where the time of an evaluation goes."""
    suite, run = make_suite(grades), make_run(now)
    baseline_run = make_run(before) if before else None
    profile = cProfile.Profile()
    profile.runcall(evaluate, suite, run, baseline_run)
    pstats.Stats(profile).sort_stats("tottime").print_stats(30)


def measure(options: Options) -> list[Figure]:
    queries = SHORT_QUERIES if options.short else QUERIES
    grades, now, before = generate(queries, RESULTS)
    if options.profile:
        show_profile(grades, now, None)
        show_profile(grades, now, before)
        return []
    works = {
        "metrics": lambda: score_five_metrics(grades, now),
        "plain": lambda: measure_evaluation(grades, now, None),
        "baseline": lambda: measure_evaluation(grades, now, before),
        "decision": lambda: measure_decision(grades, now, before),
    }
    seconds = measure_in_turns(works, options.rounds)
    ratios = {name: compute_ratio(seconds[name], seconds["metrics"]) for name in works}
    work = f"evaluate {QUERIES:,} queries × {RESULTS} results"
    peer = "scoring their five metrics"
    return [
        Figure(
            "evaluation", work, peer, ratios["plain"], target=2.0, seconds=median(seconds["plain"])
        ),
        Figure(
            "evaluation-baseline",
            f"{work} with a baseline",
            peer,
            ratios["baseline"],
            target=4.0,
            seconds=median(seconds["baseline"]),
        ),
        Figure(
            "decision",
            "decide on a build of them",
            peer,
            ratios["decision"],
            seconds=median(seconds["decision"]),
        ),
    ]


if __name__ == "__main__":
    run_benchmark(__doc__, measure)
