"""False alarms and misses of each set of limits, over real runs changed in known ways.

Run it with `python benchmarks/simulation.py FOLDER`, where the folder holds `runs/*.run.gz` (TREC
runs of several retrievers over the same queries) and `qrels/test.qrels`. It prints the tables of
`docs/why/simulation.md`.

Every case is a suite of 20, 50 or 200 queries drawn from those of the folder, a baseline and a
changed run, put through `judge` as a build would. Floors are written 0.05 below the baseline on the
day it is made. The `no-op` changes must never alarm. `exchangeable` retrievers differ in every
ranking and are equally good by construction: for every query a coin says which of two is today's. A
`real` change must alarm.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from random import Random
from statistics import fmean

from pytest_irquality.metrics import Judgments, evaluate, parse_measure
from pytest_irquality.retrieval import Answer, Ranking, Run
from pytest_irquality.storage.trec import read_trec
from pytest_irquality.suite.by_default import default_drop, guarded
from pytest_irquality.suite.demands import Bound, LostAllRelevant, MaxDrop, MaxSignificantDrop, Min
from pytest_irquality.suite.model import (
    Check,
    Limits,
    Place,
    Query,
    Suite,
)
from pytest_irquality.verdict import judge
from pytest_irquality.verdict.result import Compared
from pytest_irquality.verdict.together import change_over, fails, judged_together

SIZES = (20, 50, 200)
MEASURES = tuple(map(parse_measure, ("ndcg@10", "recall@10")))
TOP, DEPTH = 10, 100
BELOW = 0.05
SEED = 20240229
CHECKED = 3  # cases of a cell that the judge looks at, too, where figures would do

# The retriever that is the baseline, and those that are worse, or as good.
BASE, WORSE, OTHER = "sqlite-fts5", ("fts5-nostem", "fts5-titleonly"), "osmem-opensearch"

Rankings = Mapping[str, Ranking]
Grades = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class World:
    """What there is to draw from."""

    grades: Grades
    runs: Mapping[str, Rankings]


@dataclass(frozen=True)
class Case:
    """A suite's queries and judgments, today's run and the one before.

    Floors were set on `floor_queries`.
    """

    queries: Sequence[str]
    grades: Grades
    now: Rankings
    before: Rankings
    floor_queries: Sequence[str] = ()


@dataclass(frozen=True)
class Change:
    """A kind of pull request, and how to make one.

    ``other`` is the retriever that answers each query or, where both are exchangeable, some.
    """

    kind: str
    name: str
    make: Callable[[Random, World, Sequence[str]], Case]
    other: str = ""


def read(folder: Path) -> World:
    """The judgments, and every run by its name."""
    grades: dict[str, dict[str, float]] = {}
    for line in (folder / "qrels" / "test.qrels").read_text(encoding="utf-8").splitlines():
        query, _, document, grade = line.split()
        grades.setdefault(query, {})[document] = float(grade)
    runs = {
        path.name.removesuffix(".run.gz"): read_trec(path)
        for path in sorted((folder / "runs").glob("*.run.gz"))
    }
    return World(grades, runs)


# -- changes that must not alarm -------------------------------------------------------------------


def other_ties(draw: Random, world: World, queries: Sequence[str]) -> Case:
    """Equal scores in another order; in one run of the folder a third of all results are tied."""
    before = world.runs[OTHER]

    def shuffled(ranking: Ranking) -> Ranking:
        pairs = zip(ranking.ids, ranking.scores or (), strict=True)
        tied = (list(group) for _, group in groupby(pairs, key=lambda pair: pair[1]))
        mixed = [pair for group in tied for pair in draw.sample(group, len(group))]
        return Ranking(tuple(id for id, _ in mixed), tuple(score for _, score in mixed))

    return Case(
        queries, world.grades, {query: shuffled(before[query]) for query in queries}, before
    )


def new_judgments(draw: Random, world: World, queries: Sequence[str]) -> Case:
    """Judgments of a fifth of the unjudged results in the top, and a fifth judged anew."""
    grades = {}
    for query in queries:
        old = world.grades[query]
        top = [id for run in world.runs.values() for id in run[query].ids[:TOP]]
        grades[query] = {
            id: draw.choice((0.0, 1.0, 2.0, 3.0)) if draw.random() < 0.2 else old[id] for id in old
        }
        grades[query] |= {
            id: draw.choice((0.0, 0.0, 1.0, 2.0))
            for id in top
            if id not in old and draw.random() < 0.2
        }
    return Case(queries, grades, world.runs[BASE], world.runs[BASE])


def other_queries(draw: Random, world: World, queries: Sequence[str]) -> Case:
    """A quarter of the queries leave the suite, and as many new ones come."""
    kept = draw.sample(queries, len(queries) * 3 // 4)
    others = sorted({*world.grades} - {*queries})
    new = draw.sample(others, min(len(others), len(queries) - len(kept)))
    before = {query: world.runs[BASE][query] for query in queries}
    return Case([*kept, *new], world.grades, world.runs[BASE], before, queries)


def resampled(draw: Random, world: World, queries: Sequence[str]) -> Case:
    """The suite is drawn anew from the log; what both have in common is compared.

    They have at least one query in common: where none could be compared, limits on drops fail.
    """
    again = draw.sample(sorted(world.grades), len(queries))
    while {*queries}.isdisjoint(again):
        again = draw.sample(sorted(world.grades), len(queries))
    return Case(
        again,
        world.grades,
        world.runs[BASE],
        {query: world.runs[BASE][query] for query in queries},
        queries,
    )


# -- retrievers that are equally good --------------------------------------------------------------


def exchangeable(other: str) -> Callable[[Random, World, Sequence[str]], Case]:
    """A coin for every query says which of two retrievers is today's."""

    def make(draw: Random, world: World, queries: Sequence[str]) -> Case:
        pairs = {
            query: draw.sample((world.runs[BASE][query], world.runs[other][query]), 2)
            for query in queries
        }
        now, before = ({query: pair[side] for query, pair in pairs.items()} for side in (0, 1))
        return Case(queries, world.grades, now, before)

    return make


def wavering(answer: Callable[[Random, Ranking], Ranking]) -> Callable[..., Case]:
    """An engine that answers otherwise each time, today as when the baseline was made."""

    def make(draw: Random, world: World, queries: Sequence[str]) -> Case:
        run = world.runs[BASE]
        now, before = ({query: answer(draw, run[query]) for query in queries} for _ in "12")
        return Case(queries, world.grades, now, before)

    return make


def random_tail(draw: Random, ranking: Ranking) -> Ranking:
    """What stands below rank 5 comes in any order."""
    ids = ranking.ids
    return Ranking((*ids[:5], *draw.sample(ids[5:], len(ids[5:]))))


def score_noise(draw: Random, ranking: Ranking) -> Ranking:
    """Every score is off by up to a tenth of itself."""
    pairs = zip(ranking.ids, ranking.scores or (), strict=True)
    noisy = {id: score * draw.uniform(0.9, 1.1) for id, score in pairs}
    ids = sorted(noisy, key=noisy.__getitem__, reverse=True)
    return Ranking(tuple(ids), tuple(noisy[id] for id in ids))


# -- changes that must alarm -----------------------------------------------------------------------


def replaced_by(other: str) -> Callable[[Random, World, Sequence[str]], Case]:
    """Another configuration answers every query."""
    return lambda draw, world, queries: Case(
        queries, world.grades, world.runs[other], world.runs[BASE]
    )


def lost_query(draw: Random, world: World, queries: Sequence[str]) -> Case:
    """One query that found something loses every relevant document; all others stay as they are."""
    before = world.runs[BASE]
    able = [
        query for query in queries if not relevant(world, query).isdisjoint(before[query].ids[:TOP])
    ]
    lost = draw.choice(able)
    return Case(
        queries,
        world.grades,
        {**before, lost: without(before[lost], relevant(world, lost))},
        before,
    )


def broken_slice(draw: Random, world: World, queries: Sequence[str]) -> Case:
    """The queries of one tag, a fifth of all, lose their first three results."""
    before = world.runs[BASE]
    broken = queries[::SLICES]
    return Case(
        queries,
        world.grades,
        {**before, **{id: without(before[id], before[id].ids[:3]) for id in broken}},
        before,
    )


def relevant(world: World, query: str) -> set[str]:
    return {document for document, grade in world.grades[query].items() if grade >= 1}


def without(ranking: Ranking, documents: Iterable[str]) -> Ranking:
    gone = {*documents}
    return Ranking(tuple(id for id in ranking.ids if id not in gone))


CHANGES = (
    Change("no-op", "ties in another order", other_ties),
    Change("no-op", "new judgments", new_judgments),
    Change("no-op", "queries added and removed", other_queries),
    Change("no-op", "resampled suite", resampled),
    Change("exchangeable", "another engine", exchangeable(OTHER), OTHER),
    Change("exchangeable", "stemming on or off", exchangeable(WORSE[0]), WORSE[0]),
    Change("wavering", "any order below rank 5", wavering(random_tail)),
    Change("wavering", "10 % score noise", wavering(score_noise)),
    Change("real", "stemming off", replaced_by(WORSE[0]), WORSE[0]),
    Change("real", "titles only", replaced_by(WORSE[1]), WORSE[1]),
    Change("real", "a query lost", lost_query),
    Change("real", "a slice broken", broken_slice),
)

# -- limits ----------------------------------------------------------------------------------------

SLICES = 5
FLOORS = "floors"
GUARD = LostAllRelevant.key
LINES: Mapping[str, tuple[str, Bound]] = {
    "max_drop: 0.01": ("suite", MaxDrop(0.01)),
    "max_drop: 0.05": ("suite", MaxDrop(0.05)),
    "max_drop: 0.15": ("suite", MaxDrop(0.15)),
    "max_significant_drop: 0.01": ("suite", MaxSignificantDrop(0.01)),
    "each_tag max_drop: 0.20": ("each_tag", MaxDrop(0.20)),
}
MEANS = ("max_drop: 0.15", "max_significant_drop: 0.01")
COLUMNS: Mapping[str, Sequence[str]] = {
    **{
        label: (label,)
        for label in (FLOORS, "max_drop: 0.01", "max_drop: 0.05", "max_significant_drop: 0.01")
    },
    "recommended, on means": MEANS,
    "default guard": (GUARD,),
    "each_tag max_drop: 0.20": ("each_tag max_drop: 0.20",),
    "means and guard": (*MEANS, GUARD),
}


CUTS = (1, 2, 5)
DEFAULTS = {cut: f"by default, {cut} suite{'s' if cut > 1 else ''}" for cut in CUTS}


def alarms_by_default(case: Case, cut: int) -> bool:
    """Tell whether the default limits alarm, the guard aside, on a case cut into suites."""
    results = []
    for part in range(cut):
        ids = case.queries[part::cut]
        queries = tuple(Query(id, id, Judgments(case.grades[id])) for id in ids)
        name = f"part {part}"
        suite = Suite(name, name, queries, depth=DEPTH, metrics=MEASURES)
        suite = guarded(replace(suite, guards=frozenset([GUARD])))
        now = Run("", (Answer({id: case.now[id] for id in ids}),))
        before = Run("", (Answer({id: case.before[id] for id in ids if id in case.before}),))
        results.append(judge(suite, now, suite.checks, before=before))
    return any(result.failed for result in judged_together(results))


Figures = Mapping[str, tuple[float, float]]


def figures(world: World, before: str, now: str) -> Figures:
    """The first measure of each query before and now, as the judge compares them."""
    queries = tuple(Query(id, id, Judgments(grades)) for id, grades in sorted(world.grades.items()))
    suite = Suite("all", "all", queries, depth=DEPTH, metrics=MEASURES)
    runs = [Run("", (Answer({q.id: world.runs[n][q.id] for q in queries}),)) for n in (now, before)]
    result = judge(suite, runs[0], before=runs[1])
    return {query.id: query.sides(0) or (0.0, 0.0) for query in result.queries}


def quick_rates(change: Change, world: World, size: int, cases: int) -> Mapping[str, float]:
    """The share of cases in which the default limits alarm, over figures that are worked out once.

    The first cases go through the judge, too.
    """
    forth, back = figures(world, BASE, change.other), figures(world, change.other, BASE)
    draw, raised = Random(f"{SEED} {change.name} {size}"), Counter[str]()
    for number in range(cases):
        queries = draw.sample(sorted(world.grades), size)
        swapped = {id for id in queries if change.kind == "exchangeable" and draw.random() < 0.5}
        pairs = [(id, *(back if id in swapped else forth)[id]) for id in queries]
        for cut, name in DEFAULTS.items():
            alarm = _alarms(tuple(pairs[part::cut]) for part in range(cut))
            raised[name] += alarm
            if number < CHECKED:
                now, before = (
                    {
                        id: world.runs[change.other if (id in swapped) != today else BASE][id]
                        for id in queries
                    }
                    for today in (True, False)
                )
                if alarms_by_default(Case(queries, world.grades, now, before), cut) != alarm:
                    raise SystemExit(f"{change.name}: the judge says otherwise of case {number}")
    return {name: raised[name] / cases for name in DEFAULTS.values()}


def _alarms(parts: Iterable[tuple[tuple[str, float, float], ...]]) -> bool:
    parts = [part for part in parts if part]
    drops = [fmean(before - now for _, before, now in part) for part in parts]
    alone = any(
        drop > default_drop(len(part)) + 1e-9 for drop, part in zip(drops, parts, strict=True)
    )
    return alone or fails(change_over([Compared(part) for part in parts]))


def suite_of(case: Case, world: World) -> Suite:
    """A suite with every set of limits; the label of each check says to which it belongs."""
    on = {query: case.before[query].ids for query in case.floor_queries or case.queries}
    then = evaluate({query: Judgments(world.grades[query]) for query in on}, on, MEASURES)
    checks = [Check(GUARD, GUARD, Place(1), LostAllRelevant(), "each_query")]
    for measure in MEASURES:
        floor: tuple[str, Bound] = (
            "suite",
            Min((then.aggregate(measure).value or 0.0) - BELOW),
        )
        for label, (scope, bound) in {FLOORS: floor, **LINES}.items():
            limits = Limits(measure, (bound,))
            checks.append(Check(f"{label} {measure}", label, Place(1), limits, scope))
    queries = tuple(
        Query(id, id, Judgments(case.grades[id]), tags=(f"slice {place % SLICES}",))
        for place, id in enumerate(case.queries)
    )
    return Suite(
        "simulation", "simulation", queries, depth=DEPTH, metrics=MEASURES, checks=tuple(checks)
    )


def alarms(case: Case, world: World) -> Iterator[str]:
    """The columns of which a limit fails."""
    suite = suite_of(case, world)
    today = {query: case.now[query] for query in case.queries}
    then = {query: case.before[query] for query in case.queries if query in case.before}
    now, before = Run("now", (Answer(today),)), Run("before", (Answer(then),))
    result = judge(suite, now, suite.checks, before=before)
    failed = {verdict.label for verdict in result.verdicts if verdict.outcome == "failed"}
    return (column for column, labels in COLUMNS.items() if not failed.isdisjoint(labels))


def default_alarms(case: Case, world: World) -> Iterator[str]:
    """The numbers of suites at which the default limits alarm."""
    return (name for cut, name in DEFAULTS.items() if alarms_by_default(case, cut))


Alarms = Callable[[Case, World], Iterable[str]]


def rates(
    change: Change, world: World, size: int, cases: int, alarms: Alarms = alarms
) -> Mapping[str, float]:
    """The share of cases in which each column alarms."""
    draw = Random(f"{SEED} {change.name} {size}")
    raised = Counter[str]()
    for _ in range(cases):
        raised.update(
            alarms(change.make(draw, world, draw.sample(sorted(world.grades), size)), world)
        )
    return {column: raised[column] / cases for column in (*COLUMNS, *DEFAULTS.values())}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--cases",
        type=int,
        default=200,
        help="of every change and size; of exchangeable ones 5 times",
    )
    parser.add_argument("--default", action="store_true", help="the default limits alone")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="queries of a suite")
    parser.add_argument("--only", default="", help="changes whose kind and name contain this")
    arguments = parser.parse_args()
    world = read(arguments.folder)
    sizes = " / ".join(map(str, arguments.sizes))
    digits = int(arguments.default)
    columns = tuple(DEFAULTS.values()) if arguments.default else tuple(COLUMNS)
    alarmed = default_alarms if arguments.default else alarms
    print(
        f"In suites of {sizes} queries, {arguments.cases} cases of each (exchangeable: 5 times as"
        " many).\n"
    )
    for kinds, said in (
        (("no-op", "exchangeable", "wavering"), "False alarms, %"),
        (("real",), "Misses, %"),
    ):
        chosen = [c for c in CHANGES if c.kind in kinds and arguments.only in f"{c.kind}: {c.name}"]
        print(f"| {said} | {' | '.join(columns)} |\n|---|{'---:|' * len(columns)}")
        for change in chosen:
            cases = arguments.cases * (
                5 if change.kind == "exchangeable" else 1
            )  # what is held to a percentage
            if arguments.default and change.other:
                found = [quick_rates(change, world, size, cases) for size in arguments.sizes]
            else:
                found = [rates(change, world, size, cases, alarmed) for size in arguments.sizes]
            wrong = [
                {column: 1 - rate if kinds == ("real",) else rate for column, rate in of.items()}
                for of in found
            ]
            cells = (
                " / ".join(f"{100 * of[column]:.{digits}f}" for of in wrong) for column in columns
            )
            print(f"| {change.kind}: {change.name} | {' | '.join(cells)} |", flush=True)
        print()


if __name__ == "__main__":
    main()
