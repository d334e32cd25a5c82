"""How often a build is named as broken, of builds that are sound and of some with one that is not.

Run it with `python benchmarks/broken_builds.py FOLDER` (`pip install -e '.[bench]'`), where the
folder is that of `wavering.py`, whose engines these are. It prints the table of
`docs/why/wavering.md`.

Each trial draws builds and a suite of queries. A broken build has lost so many of its queries that
its mean is at least 0.2 lower.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from statistics import fmean

from wavering import ENGINES, SEED, SIZES, Collection, Rankings, Vectors, read, vectors

from pytest_irquality.metrics import Judgments, evaluate, parse_measure
from pytest_irquality.retrieval import Ranking
from pytest_irquality.verdict.broken_builds import unlike

BUILDS, ALL = (3, 5, 10), 30
LOST = 0.2
MEASURE = parse_measure("ndcg@10")

Values = Mapping[str, float]


def silent(at: Vectors, seed: int, shards: int = 12) -> Rankings:
    """An exact search of which for each query one shard of twelve does not answer."""
    draw, exact = Random(seed), ENGINES["exact"](at, 0)
    found = {}
    for query, ranking in exact.items():
        lost = draw.randrange(shards)
        found[query] = Ranking(tuple(id for id in ranking.ids if int(id) % shards != lost))
    return found


def scored(collection: Collection, rankings: Rankings) -> Values:
    ids = {query: found.ids for query, found in rankings.items()}
    judgments = {query: Judgments(grades) for query, grades in collection.grades.items()}
    scores = evaluate(judgments, ids, [MEASURE])
    return {query: scores.value(query, MEASURE) or 0.0 for query in collection.queries}


def trial(draw: Random, builds: Sequence[Values], many: int, size: int) -> tuple[bool, bool]:
    """Tell whether a sound build is named, and whether one that is broken is."""
    queries = draw.sample(sorted(builds[0]), size)
    drawn = draw.sample(builds, many)
    units = [[of[query] for query in queries] for of in drawn]
    broken, least = [*units[0]], fmean(units[0]) - LOST
    for place in draw.sample(range(size), size):
        if fmean(broken) <= least:
            break
        broken[place] = 0.0
    return bool(unlike(units)), 1 in dict(unlike([broken, *units[1:]]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trials", type=int, default=2000, help="of each cell")
    arguments = parser.parse_args()
    collection = read(arguments.folder)
    at = vectors(collection)
    sizes = " / ".join(map(str, SIZES))
    print(f"| named, % ({sizes} queries) | {' | '.join(f'{n} builds' for n in BUILDS)} |")
    print(f"|---|{'---:|' * len(BUILDS)}")
    engines = {**ENGINES, "a shard of 12 silent": silent}
    del engines["exact"]
    for name, engine in engines.items():
        builds = [scored(collection, engine(at, seed)) for seed in range(ALL)]
        draw = Random(SEED)
        found = [
            [[trial(draw, builds, many, size) for _ in range(arguments.trials)] for size in SIZES]
            for many in BUILDS
        ]
        for place, said in enumerate(("sound", "one broken")):
            cells = (
                " / ".join(f"{100 * fmean(one[place] for one in of):.2f}" for of in column)
                for column in found
            )
            print(f"| {name}, {said} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
