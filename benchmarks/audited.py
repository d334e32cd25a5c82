"""How true the audit is: rates and power that it tells, against builds it has not seen.

Run it with `python benchmarks/audited.py FOLDER` (`pip install -e '.[bench]'`), where the folder is
that of `wavering.py`, whose HNSW and IVF these are; a third engine words each query otherwise now
and then. It prints the tables of `docs/why/red-for-nothing.md`.

A project is an engine, a suite of queries and its limits. It keeps ten builds, and the audit tells
of these how often its gate is red for nothing, and what the gate would find.
Then 200 fresh builds are judged, and builds of an engine that really changed.
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
from pytest_irquality.retrieval import Answer, Ranking, Run
from pytest_irquality.suite.by_default import guarded
from pytest_irquality.suite.demands import MaxDrop
from pytest_irquality.suite.model import Check, Limits, Place, Query, Suite
from pytest_irquality.verdict.build_gate import Gate, Units
from pytest_irquality.verdict.comparison import compare
from pytest_irquality.verdict.gauge import gauged
from pytest_irquality.verdict.gauge_facts import Gauge, Power

KEPT, FRESH, CHANGED, JUDGED, SEED = 10, 200, 12, 60, 7
SIZES = (20, 50, 120)
ONE = 1 / FRESH  # a judging: so near the true rate is known
WORDINGS, REWORDED = 3, 0.3  # of each query, and how often one of these is asked instead
CHANGES = ("stemming off", "titles only", "a filter drops a tenth")


@dataclass(frozen=True)
class Builds:
    """Rankings of builds: of unchanged code, and of each change."""

    same: Sequence[Rankings]
    changed: Mapping[str, Sequence[Rankings]]


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


def filtered(rankings: Rankings) -> Rankings:
    """Rankings without every tenth document: a filter that is wrong."""
    return {
        id: Ranking(tuple(found for found in ranking.ids if int(found) % 10))
        for id, ranking in rankings.items()
    }


def all_builds(collection: Collection) -> Mapping[str, Builds]:
    """The builds of each engine."""
    worded = reworded(collection)
    options = {"same": {}, "stemming off": {"stems": False}, "titles only": {"texts": False}}
    spaces = {name: vectors(worded, **kept) for name, kept in options.items()}
    answered = {name: exact(space, 0) for name, space in spaces.items()}
    plain = {name: _only(space, [*collection.queries]) for name, space in spaces.items()}

    def build(engine: str, space: str, seed: int) -> Rankings:
        if engine == "a rewriter":
            return rewriter(answered[space], [*collection.queries], seed)
        return ENGINES[engine](plain[space], seed)

    found = {}
    for engine in ("HNSW", "IVF", "a rewriter"):
        same = [build(engine, "same", seed) for seed in range(KEPT + FRESH)]
        seeds = range(1000, 1000 + CHANGED)
        changed = {name: [build(engine, name, seed) for seed in seeds] for name in CHANGES[:2]}
        changed[CHANGES[2]] = [filtered(build(engine, "same", seed)) for seed in seeds]
        found[engine] = Builds(same, changed)
    return found


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
        return self.units(self.builds.same[:KEPT])

    @property
    def fresh(self) -> Units:
        return self.units(self.builds.same[KEPT:], KEPT)

    def units(self, builds: Sequence[Rankings], first: int = 0) -> Units:
        """The answers of builds to the suite's queries."""
        ids = [query.id for query in self.suite.queries]
        return [
            (Answer({id: rankings[id] for id in ids}, build=number),)
            for number, rankings in enumerate(builds, first)
        ]

    def audit(self) -> Gauge:
        return gauged(compare(self.suite, run_of(self.kept), None))


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


def measured(gate: Gate, fresh: Units, before: int, now: int) -> float:
    """The share of fresh builds that are red, sides drawn anew each time."""
    draw = Random(SEED)
    drawn = [draw.sample(fresh, before + now) for _ in range(FRESH)]
    return fmean(bool(gate.red(some[:before], some[before:])) for some in drawn)


def found(gate: Gate, same: Units, changed: Units, power: Power) -> tuple[float, float]:
    """The drop of a real change, and the share of judgings that find it."""
    draw, told, drops = Random(SEED), [], []
    for _ in range(JUDGED):
        some = draw.sample(same, power.before + power.now)
        before, after = some[: power.before], draw.sample(changed, power.now)
        told.append(bool(gate.red(before, after) - gate.red(before, some[power.before :])))
        change = gate.compared(before, after).change(MEASURES[0], gate.queries)
        drops.append(change.before - change.now if change else 0.0)
    return fmean(drops), fmean(told)


def predicted(power: Power, drop: float) -> tuple[float, float] | None:
    """The least and the most that is found of any way, of the sizes around a drop."""
    sizes = [one for one in power.drops if one.ways]
    below = [one for one in sizes if one.size <= drop][-1:]
    above = [one for one in sizes if one.size >= drop][:1]
    shares = [share for one in (*below, *above) for _, share in one.ways]
    if not below:
        shares.append(0.0)
    return (min(shares), max(shares)) if shares else None


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
            share = measured(Gate(suite, run_of(fresh)), fresh, side, side)
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
    rates: dict[str, list[bool]] = {}
    hits: list[bool] = []
    for project in projects(collection, all_builds(collection)):
        told = project.audit()
        assert told.power is not None
        fresh = project.fresh
        changed = {name: project.units(of) for name, of in project.builds.changed.items()}
        every = run_of([*project.kept, *fresh])
        gate = Gate(guarded(project.suite), every)
        print(f"\n{project.name}", flush=True)
        for rate in told.rates:
            true = measured(gate, fresh, rate.before, rate.now)
            inside = rate.low - ONE <= true <= rate.high + ONE
            rates.setdefault(f"{rate.now} a side", []).append(inside)
            said = f"told {rate.share:.1%} ({rate.low:.1%} to {rate.high:.1%}), true {true:.1%}"
            print(f"  {rate.now} a side: {said}{'' if inside else '  OUTSIDE'}")
        red = fmean(bool(gate.red(project.kept, [build])) for build in fresh)
        print(f"  one build against ten: {red:.1%}")
        for name, units in changed.items():
            drop, share = found(gate, fresh, units, told.power)
            if span := predicted(told.power, drop):
                inside = span[0] - 1e-9 <= share <= span[1] + 1e-9
                hits.append(inside)
                said = f"told {span[0]:.0%} to {span[1]:.0%}, found {share:.0%}"
                print(f"  {name}, drop {drop:.3f}: {said}{'' if inside else '  OUTSIDE'}")
    print("\nrates inside:", {side: f"{sum(of)} of {len(of)}" for side, of in rates.items()})
    print(f"power inside: {sum(hits)} of {len(hits)}")


if __name__ == "__main__":
    main()
