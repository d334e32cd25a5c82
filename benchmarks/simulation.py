"""False alarms and power of the default checks, over real runs that are changed in known ways.

Run it with `python benchmarks/simulation.py FOLDER`, where the folder holds `runs/*.run.gz` (TREC
runs of several retrievers over the same queries) and `qrels/test.qrels`, such as the Cranfield
collection. The shop of `example_project` is the second collection, and needs no folder. The tables
are those of `docs/why/simulation.md`.

Every build is a suite of some queries, which is cut into one to five suites of one retriever, a
baseline and a changed run. `decide` decides on it as on any other build. Two retrievers are
`exchangeable` if a coin says for each query which of them is the current one: every ranking
differs, and neither side is better, so a failed test of means is a false alarm. What changes
nothing must never fail.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from random import Random

from pytest_irquality.baselines.sources import Baseline
from pytest_irquality.evaluation.decide import Decision, decide
from pytest_irquality.evaluation.evaluate import Branch
from pytest_irquality.evaluation.results import DefaultCheck, Outcome
from pytest_irquality.metrics import Judgments
from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.model import CheckItem, ItemKind, Query, RetrieverId, RunKey, Suite
from pytest_irquality.suite.parser import load_suite

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "example_project"

SEED = 20_260_101
TOP = 10
SIZES = (5, 7, 8, 10, 20, 50, 100, 225)
CUTS = (1, 2, 3, 5)
REPEATS = ((1, 1), (3, 3), (5, 5), (10, 3))  # answers of the baseline, and current ones
SCORE_NOISE = 0.05  # by which a score of a nondeterministic engine may differ from its mean
KEY = RunKey(RetrieverId())
TESTS_OF_MEANS = (DefaultCheck.SIGNIFICANT_DROP, DefaultCheck.FEW_DROPS)

MAX_CELL_RATE = 0.065
MAX_MEAN_RATE = 0.05

Rankings = Mapping[str, Ranking]
Pair = tuple[Rankings, Rankings]  # the baseline and the current rankings, by request


@dataclass(frozen=True)
class Collection:
    """Queries from a file, and the answers of several retrievers.

    Attributes:
        runs: The rankings by retriever and request, deeper than the first ten results if known.
        base: The retriever whose answers are the baseline.
        others: Retrievers to exchange with the base.
        worse: Retrievers that are worse.
    """

    name: str
    queries: Sequence[Query]
    runs: Mapping[str, Rankings]
    base: str
    others: Sequence[str]
    worse: Sequence[str]


# -- Collections -----------------------------------------------------------------------------------


def read_cranfield(folder: Path) -> Collection:
    """Read judgments and runs in TREC formats."""
    grades: dict[str, dict[str, float]] = {}
    for line in (folder / "qrels" / "test.qrels").read_text(encoding="utf-8").splitlines():
        query_id, _, doc_id, grade = line.split()
        grades.setdefault(query_id, {})[doc_id] = float(grade)
    queries = [
        Query(query_id, query_id, Judgments(judged), is_sampled=True)
        for query_id, judged in grades.items()
    ]
    runs = {}
    for path in sorted((folder / "runs").glob("*.run.gz")):
        rows: dict[str, list[tuple[str, float]]] = {}
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line in file:
                query_id, _, doc_id, _, score, _ = line.split()
                rows.setdefault(query_id, []).append((doc_id, float(score)))
        runs[path.name.removesuffix(".run.gz")] = {
            query_id: make_ranking(hits) for query_id, hits in rows.items()
        }
    return Collection(
        "cranfield",
        queries,
        runs,
        base="sqlite-fts5",
        others=("osmem-opensearch", "fts5-nostem"),
        worse=("fts5-nostem", "fts5-titleonly"),
    )


def make_ranking(hits: Sequence[tuple[str, float]]) -> Ranking:
    return Ranking(tuple(doc_id for doc_id, _ in hits), tuple(score for _, score in hits))


def search_shop() -> Collection:
    """Search the shop of the example with other weights of its fields."""
    sys.path.insert(0, str(EXAMPLE))
    shop_search = importlib.import_module("shop_search")
    suite = load_suite(EXAMPLE / "shop.ir.yaml", root=EXAMPLE)
    queries = [
        Query(query.id, query.text, query.judgments, is_sampled=True)
        for query in suite.queries
        if query.judgments.grades and not query.variant_of
    ]
    weights = {
        "weighted": dict(shop_search.WEIGHTS),
        "another weighting": {"title": 1.0, "brand": 1.0, "category": 8.0, "description": 4.0},
        "equal weights": dict.fromkeys(shop_search.WEIGHTS, 1.0),
        "descriptions first": {"title": 1.0, "brand": 1.0, "category": 1.0, "description": 8.0},
    }
    runs = {}
    for name, field_weights in weights.items():
        shop_search.WEIGHTS.update(field_weights)
        shop = shop_search.ShopSearch()
        rankings = {}
        for query in queries:
            hits = shop.search(query.text, 100)
            rankings[query.request] = make_ranking([(hit["id"], hit["score"]) for hit in hits])
        runs[name] = rankings
        shop.close()
    return Collection(
        "example shop",
        queries,
        runs,
        base="weighted",
        others=("another weighting", "equal weights"),
        worse=("equal weights", "descriptions first"),
    )


# -- Changes ---------------------------------------------------------------------------------------

Change = Callable[[Random, Collection, Sequence[Query]], Pair]


def exchange(other: str) -> Change:
    """Let a coin say for each query which of two retrievers is the current one."""

    def change(draw: Random, collection: Collection, queries: Sequence[Query]) -> Pair:
        before, now = {}, {}
        for query in queries:
            request = query.request
            pair = [collection.runs[collection.base][request], collection.runs[other][request]]
            draw.shuffle(pair)
            before[request], now[request] = pair
        return before, now

    return change


def replace_by(other: str) -> Change:
    """Let another retriever answer every query."""
    return lambda draw, collection, queries: (
        collection.runs[collection.base],
        collection.runs[other],
    )


def keep_all(draw: Random, collection: Collection, queries: Sequence[Query]) -> Pair:
    """Change nothing."""
    rankings = collection.runs[collection.base]
    return rankings, rankings


def shuffle_ties(draw: Random, collection: Collection, queries: Sequence[Query]) -> Pair:
    """Return equal scores in another order, before only the first ten are kept.

    A tie longer than half of ``top_k`` keeps its order, because such scores do not order a ranking,
    and another order of its documents is a change.
    """
    # The retriever with the most equal scores shows the most.
    rankings = collection.runs[collection.others[0]]
    now = {}
    for query in queries:
        hits: list[tuple[str, float]] = []
        for _, group in groupby(iterate_hits(rankings[query.request]), key=lambda hit: hit[1]):
            tied = list(group)
            if len(tied) <= TOP // 2:
                draw.shuffle(tied)
            hits += tied
        now[query.request] = make_ranking(hits)
    return rankings, now


def jitter_scores(draw: Random, collection: Collection, queries: Sequence[Query]) -> Pair:
    """Change every score by a millionth of itself at most."""
    rankings = collection.runs[collection.base]
    now = {}
    for query in queries:
        hits = []
        for doc_id, score in iterate_hits(rankings[query.request]):
            hits.append((doc_id, score * draw.uniform(1 - 1e-6, 1 + 1e-6)))
        hits.sort(key=lambda hit: -hit[1])
        now[query.request] = make_ranking(hits)
    return rankings, now


def lose_results(draw: Random, collection: Collection, queries: Sequence[Query]) -> Pair:
    """Let a fifth of the queries lose their first three results."""
    rankings = collection.runs[collection.base]
    now = dict(rankings)
    for query in queries[::5]:
        hits = list(iterate_hits(rankings[query.request]))
        now[query.request] = make_ranking(hits[3:])
    return rankings, now


def swap_first(draw: Random, collection: Collection, queries: Sequence[Query]) -> Pair:
    """Let a tenth of the queries, and five at least, return one rank lower what they return."""
    rankings = collection.runs[collection.base]
    now = dict(rankings)
    for query in queries[: max(5, len(queries) // 10)]:
        hits = list(iterate_hits(rankings[query.request]))
        now[query.request] = make_ranking([("junk", hits[0][1] if hits else 1.0), *hits])
    return rankings, now


def iterate_hits(ranking: Ranking) -> Sequence[tuple[str, float]]:
    return list(zip(ranking.doc_ids, ranking.scores or (), strict=True))


def vary_scores(draw: Random, ranking: Ranking, noise: float) -> Ranking:
    """Return the ranking of a nondeterministic engine, whose scores vary from call to call."""
    hits = []
    for doc_id, score in iterate_hits(ranking):
        hits.append((doc_id, score * draw.uniform(1 - noise, 1 + noise)))
    hits.sort(key=lambda hit: -hit[1])
    return make_ranking(hits)


# -- Builds ----------------------------------------------------------------------------------------


def decide_on_build(queries: Sequence[Query], cut: int, pair: Pair) -> Decision:
    """Decide on a build of some queries, cut into suites."""
    suites = []
    for number in range(cut):
        name = f"suite {number}"
        items = (CheckItem("default checks", "default checks", ItemKind.DEFAULT_CHECKS),)
        suites.append(Suite(name, tuple(queries[number::cut]), f"{number}.ir.yaml", items=items))
    before, now = (
        Run({query.request: (rankings[query.request].cut(TOP),) for query in queries})
        for rankings in pair
    )
    return decide_on_runs(suites, before, now)


def decide_on_runs(suites: Sequence[Suite], before: Run, now: Run) -> Decision:
    """Decide on the suites of a build."""
    current = Branch(suites=tuple(suites), baselines=(Baseline(before),))
    return decide(current, {KEY: now})


def find_failures(decision: Decision) -> set[str]:
    """Return whether a test of means or of lost queries fails."""
    failed = set()
    for result in decision.current.results:
        if result.outcome is Outcome.FAILED:
            failed.add("means" if result.check in TESTS_OF_MEANS else "lost")
    return failed


@dataclass(frozen=True)
class Row:
    """A change, and the fraction of builds that fail, by size and number of suites."""

    label: str
    size: int
    means: Sequence[float]
    lost: Sequence[float]

    def format(self) -> str:
        cells = [f"{100 * rate:.1f}" for rate in self.means]
        lost = "/".join(f"{100 * rate:.1f}" for rate in self.lost)
        return f"| {self.label} | {self.size} | {' | '.join(cells)} | {lost} |"


def simulate(
    collection: Collection, name: str, change: Change, sizes: Sequence[int], cases: int
) -> list[Row]:
    """Simulate builds of each size and cut."""
    rows = []
    for size in sizes:
        if size > len(collection.queries):
            continue
        draw = Random(f"{SEED} {collection.name} {name} {size}")
        counts = {cut: Counter[str]() for cut in CUTS}
        for _ in range(cases):
            queries = draw.sample(collection.queries, size)
            pair = change(draw, collection, queries)
            for cut in CUTS:
                counts[cut].update(find_failures(decide_on_build(queries, cut, pair)))
        row = Row(
            f"{collection.name}: {name}",
            size,
            means=[counts[cut]["means"] / cases for cut in CUTS],
            lost=[counts[cut]["lost"] / cases for cut in CUTS],
        )
        rows.append(row)
        print(row.format(), flush=True)
    return rows


def simulate_repeats(collection: Collection, size: int, cases: int) -> None:
    """Simulate builds of a nondeterministic engine that did not change, and print the rates."""
    for is_sampled in (True, False):
        cells = []
        for before_count, now_count in REPEATS:
            draw = Random(f"{SEED} {collection.name} {size} {before_count} {now_count}")
            failed: Counter[str] = Counter()
            for _ in range(cases):
                queries = [
                    replace(query, is_sampled=is_sampled)
                    for query in draw.sample(collection.queries, size)
                ]
                runs = []
                for count in (before_count, now_count):
                    answers = {}
                    for query in queries:
                        ranking = collection.runs[collection.base][query.request]
                        answers[query.request] = tuple(
                            vary_scores(draw, ranking, SCORE_NOISE).cut(TOP) for _ in range(count)
                        )
                    runs.append(Run(answers))
                items = (CheckItem("default checks", "default checks", ItemKind.DEFAULT_CHECKS),)
                suite = Suite("suite", tuple(queries), "suite.ir.yaml", items=items)
                failed.update(find_failures(decide_on_runs([suite], *runs)))
            cells.append(f"{100 * failed['means'] / cases:.1f}/{100 * failed['lost'] / cases:.1f}")
        place = "from a file" if is_sampled else "in the suite"
        print(f"| {size} {place} | {' | '.join(cells)} |", flush=True)


def print_head(title: str) -> None:
    cuts = " | ".join(f"{cut} suite{'s' if cut > 1 else ''}" for cut in CUTS)
    print(f"\n{title}, in %\n")
    print(f"| change | queries | {cuts} | lost queries |")
    print(f"|---|---:|{'---:|' * len(CUTS)}---:|")


def summarize(rows: Sequence[Row]) -> bool:
    """Print the highest and the mean rate, and return whether both are as promised."""
    rates = [rate for row in rows for rate in row.means]
    mean = sum(rates) / len(rates)
    print(f"\nTests of means: at most {max(rates):.1%} in a cell, {mean:.1%} on average.")
    for row in rows:
        if max(row.means) > MAX_CELL_RATE:
            print(f"- above {MAX_CELL_RATE:.1%}: {row.label}, {row.size} queries")
    return max(rates) <= MAX_CELL_RATE and mean <= MAX_MEAN_RATE


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--cases", type=int, default=1000, help="builds of each cell")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="queries of a build")
    arguments = parser.parse_args()
    collections = []
    if arguments.folder and (arguments.folder / "qrels" / "test.qrels").is_file():
        collections.append(read_cranfield(arguments.folder))
    else:
        print("No Cranfield collection: give its folder. Only the example shop is simulated.")
    collections.append(search_shop())
    sizes = sorted(set(arguments.sizes))
    cases = arguments.cases

    print_head(f"False alarms of exchangeable retrievers, {cases} builds of each cell")
    alarms = []
    for collection in collections:
        for other in collection.others:
            alarms += simulate(collection, f"{other} or not", exchange(other), sizes, cases)
    is_kept = summarize(alarms)

    few = max(20, cases // 10)
    print_head(f"Exchangeable retrievers, queries written in the suite, {few} builds of each cell")
    for collection in collections:
        written = [replace(query, is_sampled=False) for query in collection.queries]
        inline = replace(collection, queries=written)
        for other in collection.others:
            simulate(inline, f"{other} or not", exchange(other), sizes, few)

    print(f"\nA nondeterministic engine that did not change, {few} builds of each cell, in %")
    print("(means/lost queries), by answers of the baseline : current answers\n")
    print(f"| queries | {' | '.join(f'{before} : {now}' for before, now in REPEATS)} |")
    print(f"|---|{'---:|' * len(REPEATS)}")
    for collection in collections[:1]:
        for size in sizes:
            if size <= len(collection.queries):
                simulate_repeats(collection, size, few)

    print_head(f"False alarms if nothing changed, {few} builds of each cell")
    unchanged = []
    for collection in collections:
        for name, change in (
            ("identical rankings", keep_all),
            ("shuffled ties", shuffle_ties),
            ("jitter of 1e-6", jitter_scores),
        ):
            unchanged += simulate(collection, name, change, sizes, few)

    print_head(f"Power: builds that fail because search is worse, {few} builds of each cell")
    for collection in collections:
        for other in collection.worse:
            simulate(collection, other, replace_by(other), sizes, few)
        simulate(collection, "a fifth loses three results", lose_results, sizes, few)
        simulate(collection, "a tenth sinks by a rank", swap_first, sizes, few)

    has_alarms = any(rate for row in unchanged for rate in (*row.means, *row.lost))
    if has_alarms or not is_kept:
        raise SystemExit("The rates are higher than promised.")


if __name__ == "__main__":
    main()
