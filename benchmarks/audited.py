"""How true the audit is: the rates that it tells, against builds it has not seen.

Run it with `python benchmarks/audited.py FOLDER` (`pip install -e '.[bench]'`), where the folder is
that of `wavering.py`, whose HNSW and IVF these are; a third engine words each query otherwise now
and then. It prints the tables of `docs/why/red-for-nothing.md`.

A project is an engine, a suite of queries and its limits. It keeps ten builds, and the audit tells
of these how often its gate is red for nothing. Then 200 fresh builds are judged.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from random import Random
from statistics import fmean

from wavering import DEPTH, ENGINES, MEASURES, Collection, Rankings, Vectors, exact, read, vectors

from pytest_irquality.metrics import Judgments
from pytest_irquality.retrieval import Answer, Run
from pytest_irquality.suite.by_default import guarded
from pytest_irquality.suite.demands import MaxDrop
from pytest_irquality.suite.model import Check, Limits, Place, Query, Suite
from pytest_irquality.verdict.audit_facts import Rate
from pytest_irquality.verdict.build_gate import Gate, Units
from pytest_irquality.verdict.gauge import rates

KEPT, FRESH, SEED = 10, 200, 7
SIZES = (20, 50, 120)
ONE = 1 / FRESH  # a judging: so near the true rate is known
WORDINGS, REWORDED = 3, 0.3  # of each query, and how often one of these is asked instead


Builds = Sequence[Rankings]
"""Rankings of builds of unchanged code."""


def reworded(collection: Collection) -> Collection:
    """The collection, each of whose queries is there in other wordings, too: a word is left out."""
    draw, queries = Random(SEED), {}
    for id, text in collection.queries.items():
        words = text.split()
        queries[id] = text
        for number in range(WORDINGS):
            left_out = draw.randrange(len(words))
            queries[f"{id} {number}"] = " ".join(words[:left_out] + words[left_out + 1 :])
    return replace(collection, queries=queries)


def rewriter(found: Rankings, queries: Sequence[str], seed: int) -> Rankings:
    """One answer of an exact search that asks some queries in another wording."""
    draw = Random(seed)
    return {
        id: found[f"{id} {draw.randrange(WORDINGS)}" if draw.random() < REWORDED else id]
        for id in queries
    }


def all_builds(collection: Collection) -> Mapping[str, Builds]:
    """The builds of each engine."""
    space = vectors(reworded(collection))
    answered, plain = exact(space, 0), _only(space, [*collection.queries])

    def build(engine: str, seed: int) -> Rankings:
        if engine == "a rewriter":
            return rewriter(answered, [*collection.queries], seed)
        return ENGINES[engine](plain, seed)

    return {
        engine: [build(engine, seed) for seed in range(KEPT + FRESH)]
        for engine in ("HNSW", "IVF", "a rewriter")
    }


def _only(at: Vectors, queries: Sequence[str]) -> Vectors:
    rows = [at.query_ids.index(id) for id in queries]
    return replace(at, query_ids=queries, queries=at.queries[rows])


# -- a project -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Project:
    """A suite over an engine, with what its audit says of the kept builds."""

    name: str
    suite: Suite
    builds: Builds

    @property
    def kept(self) -> Units:
        return self.units(self.builds[:KEPT])

    @property
    def fresh(self) -> Units:
        return self.units(self.builds[KEPT:], KEPT)

    def units(self, builds: Sequence[Rankings], first: int = 0) -> Units:
        """The answers of builds to the suite's queries."""
        ids = [query.id for query in self.suite.queries]
        return [
            (Answer({id: rankings[id] for id in ids}, build=number),)
            for number, rankings in enumerate(builds, first)
        ]

    def rates(self) -> Sequence[Rate]:
        """The rates that an audit of the kept builds tells."""
        return [*rates(Gate(guarded(self.suite), run_of(self.kept)), self.kept)]


def run_of(units: Units) -> Run:
    return Run("", tuple(answer for unit in units for answer in unit), depth=DEPTH)


def projects(collection: Collection, builds: Mapping[str, Builds]) -> Iterator[Project]:
    """Twenty projects, each with queries of its own."""
    draw = Random(SEED)
    strict = Check("ndcg", "ndcg", Place(1), Limits(MEASURES[0], (MaxDrop(0.02),)))
    kinds = [*product(builds, SIZES, ("default", "max_drop 0.02"))]
    kinds += [("HNSW", 225, "default"), ("a rewriter", 225, "default")]
    for engine, size, limits in kinds:
        ids = draw.sample(sorted(collection.grades), size)
        queries = tuple(
            Query(id, collection.queries[id], Judgments(collection.grades[id])) for id in ids
        )
        checks = () if limits == "default" else (strict,)
        suite = Suite("s", "s", queries, depth=DEPTH, metrics=MEASURES, checks=checks)
        yield Project(f"{engine}, {size} queries, {limits}", suite, builds[engine])


def measured(gate: Gate, fresh: Units, side: int) -> float:
    """The share of fresh builds that are red, sides drawn anew each time."""
    draw = Random(SEED)
    drawn = [draw.sample(fresh, 2 * side) for _ in range(FRESH)]
    return fmean(bool(gate.red(some[:side], some[side:])) for some in drawn)


def unchanged(collection: Collection, builds: Mapping[str, Builds]) -> None:
    """Print how often gates are red on fresh builds of all 225 queries: bars of a share each."""
    ids = sorted(collection.grades)
    queries = tuple(
        Query(id, collection.queries[id], Judgments(collection.grades[id])) for id in ids
    )
    ndcg = MEASURES[0]
    naive = {
        f"ndcg@10 fell by {most:g}": Check("n", "n", Place(1), Limits(ndcg, (MaxDrop(most),)))
        for most in (0.0, 0.01)
    }
    ours = Suite("s", "s", queries, depth=DEPTH, metrics=MEASURES)
    gates = [("ours", guarded(ours), side) for side in (1, 3, 5)]
    gates += [(name, replace(ours, checks=(check,)), 1) for name, check in naive.items()]
    for engine, its in builds.items():
        fresh = Project(engine, ours, its).fresh
        for name, suite, side in gates:
            share = measured(Gate(suite, run_of(fresh)), fresh, side)
            bar = "█" * round(40 * share)
            print(f"{engine:12} {name:20} {side} : {side}  {100 * share:5.1f} %  {bar}", flush=True)


def main() -> None:
    """Print a line for each project, and the sums."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--unchanged", action="store_true", help="only the bars of all queries")
    arguments = parser.parse_args()
    collection = read(arguments.folder)
    if arguments.unchanged:
        unchanged(collection, all_builds(collection))
        return
    held: dict[str, list[bool]] = {}
    for project in projects(collection, all_builds(collection)):
        fresh = project.fresh
        gate = Gate(guarded(project.suite), run_of([*project.kept, *fresh]))
        print(f"\n{project.name}", flush=True)
        for rate in project.rates():
            true = measured(gate, fresh, rate.a_side)
            inside = rate.low - ONE <= true <= rate.high + ONE
            held.setdefault(f"{rate.a_side} a side", []).append(inside)
            said = f"told {rate.share:.1%} ({rate.low:.1%} to {rate.high:.1%}), true {true:.1%}"
            print(f"  {rate.a_side} a side: {said}{'' if inside else '  OUTSIDE'}")
        red = fmean(bool(gate.red(project.kept, [build])) for build in fresh)
        print(f"  one build against ten: {red:.1%}")
    print("\nrates inside:", {side: f"{sum(of)} of {len(of)}" for side, of in held.items()})


if __name__ == "__main__":
    main()
