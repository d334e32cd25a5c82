"""What a pool does to figures and verdicts: real engines over a collection whose truth is known.

Run it with `python benchmarks/pooling.py FOLDER`, where the folder holds `runs/*.run.gz` (TREC runs
of several retrievers over the same queries) and `qrels/test.qrels`. It prints the tables of
`docs/why/pooling.md`.

First, what recall, nDCG and a comparison say where only the top 10 of one engine was graded, of
two, of all. Then draws of queries in which a worse engine is the change and the build is red: the
queries whose grades could turn the verdict are graded, the build is judged again, and so on until
no grade could turn it. `complete` is what the whole truth says of the same draws. `today's` grades
only what the change itself returned, in the same queries, as somebody would who wants it green.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from simulation import MEASURES, Grades, Rankings, World, read

from pytest_irquality.metrics import Judgments, evaluate
from pytest_irquality.retrieval import Answer, Run
from pytest_irquality.suite.demands import GUARDS, MaxDrop
from pytest_irquality.suite.model import Check, Limits, Place, Query, Suite
from pytest_irquality.verdict import judge
from pytest_irquality.verdict.pool import by_importance, pool

NDCG, RECALL = MEASURES
TOP = 10
DRAWS, SIZES = 200, (20, 50)
SEED = 34
# A better engine, and a worse one that is to take its place.
PAIRS = (
    ("sqlite-fts5", "fts5-nostem"),
    ("sqlite-fts5", "osmem-opensearch"),
    ("fts5-nostem", "osmem-opensearch"),
    ("sqlite-fts5", "fts5-titleonly"),
)


def pooled(world: World, queries: Collection[str], sides: Sequence[Rankings]) -> Grades:
    """The truth on what the sides returned, of these queries."""
    found = {q: dict.fromkeys(d for side in sides for d in side[q].collapsed(TOP)) for q in queries}
    return {q: {id: world.grades[q].get(id, 0.0) for id in ids} for q, ids in found.items()}


def means(grades: Grades, rankings: Rankings) -> Sequence[float]:
    """The means of nDCG and recall, over the queries that have them."""
    judgments = {query: Judgments(given, 1) for query, given in grades.items()}
    ids = {query: rankings[query].collapsed(TOP) for query in grades}
    scores = evaluate(judgments, ids, [NDCG, RECALL]).values.values()
    columns = (
        [value for value in column if value is not None] for column in zip(*scores, strict=True)
    )
    return [sum(values) / len(values) if values else 0.0 for values in columns]


def wins(grades: Grades, change: Rankings, base: Rankings) -> bool:
    """Whether the change is as good as the base by these grades."""
    return means(grades, change)[0] >= means(grades, base)[0] - 1e-9


# -- one engine's pool, two, all -------------------------------------------------------------------


def of_pools(world: World, one: str, other: str) -> Iterator[str]:
    """A line for each pool: what it says of two engines."""
    runs, queries = world.runs, list(world.grades)
    pools = {
        f"{one} alone": [runs[one]],
        f"{other} alone": [runs[other]],
        "both": [runs[one], runs[other]],
        f"all {len(runs)} engines": [*runs.values()],
    }
    graded: dict[str, Grades] = {
        name: pooled(world, queries, sides) for name, sides in pools.items()
    }
    for name, grades in {**graded, "the truth": world.grades}.items():
        (ndcg, recall), (others_ndcg, others_recall) = (
            means(grades, runs[n]) for n in (one, other)
        )
        yield (
            f"| {name:<26} | {ndcg:.3f} | {others_ndcg:.3f} | {recall:.3f} | {others_recall:.3f}"
            f" | {one if ndcg > others_ndcg else other} |"
        )


# -- chosen grades ---------------------------------------------------------------------------------


def half(draw: Random, world: World, queries: Sequence[str], sides: Sequence[Rankings]) -> Grades:
    """Half of what both sides returned is graded, by chance."""
    grades = pooled(world, queries, sides)
    return {
        q: {id: g for id, g in given.items() if draw.random() < 0.5} for q, given in grades.items()
    }


def of_base(
    draw: Random, world: World, queries: Sequence[str], sides: Sequence[Rankings]
) -> Grades:
    """What the base returned is graded, as where its results were graded once."""
    return pooled(world, queries, sides[1:])


STATES: Mapping[str, Callable[..., Grades]] = {"half of both": half, "the base's": of_base}


@dataclass(frozen=True)
class Build:
    """Some queries, today's side and the one before."""

    queries: Sequence[str]
    change: Rankings
    base: Rankings

    def judged(self, grades: Grades) -> tuple[bool, set[str]]:
        """Whether it is red by these grades, and the queries whose grades could turn that."""
        asked = tuple(Query(q, q, judgments=Judgments(grades[q], 1)) for q in self.queries)
        check = Check("ndcg", "ndcg", Place(1), Limits(NDCG, (MaxDrop(0.0),)))
        suite = Suite("s", "s", asked, metrics=(NDCG,), checks=(check,), guards=frozenset(GUARDS))
        sides = ({q: side[q] for q in self.queries} for side in (self.change, self.base))
        now, before = (Run("", (Answer(rankings),)) for rankings in sides)
        result = judge(suite, now, before=before)
        (found,) = by_importance([pool(suite, [now, before], TOP)], [result])
        return result.failed, {query.id for query in found.queries if query.decides}

    def chosen(self, grades: Grades, truth: Grades) -> set[str]:
        """The queries that are graded until no grade could turn the verdict."""
        graded: set[str] = set()
        _, decide = self.judged(grades)
        while decide - graded:
            graded |= decide
            _, decide = self.judged({**grades, **{q: truth[q] for q in graded}})
        return graded


def of_draws(world: World, better: str, worse: str, size: int, state: str) -> str:
    """A line: how often the worse engine is as good as the better one, of red builds."""
    draw, base, change = Random(SEED), world.runs[better], world.runs[worse]
    red = chosen = complete = todays = graded = 0
    while red < DRAWS:
        queries = draw.sample(sorted(world.grades), size)
        build = Build(queries, change, base)
        grades = STATES[state](draw, world, queries, (change, base))
        if not build.judged(grades)[0]:
            continue
        red += 1
        # What both sides returned, and what the judge knows to be missing.
        both = pooled(world, queries, (change, base))
        truth = {q: {**both[q], **world.grades[q]} for q in queries}
        decide = build.chosen(grades, truth)
        graded += len(decide)
        only_todays = pooled(world, queries, (change,))
        todays += wins(
            {**grades, **{q: {**grades[q], **only_todays[q]} for q in decide}}, change, base
        )
        chosen += wins({**grades, **{q: truth[q] for q in decide}}, change, base)
        complete += wins({q: world.grades[q] for q in queries}, change, base)
    return (
        f"| {worse} for {better} | {size} | {state} | {graded / red:.1f} | {complete} | {chosen}"
        f" | {todays} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    world = read(parser.parse_args().folder)
    print("| graded | ndcg@10 | of the other | recall@10 | of the other | better is |")
    for line in of_pools(world, "sqlite-fts5", "osmem-opensearch"):
        print(line)
    print(
        "\n| change | queries | graded before | chosen | complete | chosen grades | today's only |"
    )
    for better, worse in PAIRS:
        for size in SIZES:
            for state in STATES:
                print(of_draws(world, better, worse, size, state), flush=True)


if __name__ == "__main__":
    main()
