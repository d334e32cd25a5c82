"""False alarms and misses of limits over engines that answer differently each time.

Run it with `python benchmarks/wavering.py FOLDER` (`pip install -e '.[bench]'`), where the folder
holds `corpus.jsonl`, `queries.jsonl` and `qrels/test.qrels`. It prints the tables of
`docs/why/wavering.md`.

Real HNSW and IVF indexes over the collection are rebuilt for every build, with another seed (HNSW
also in another order of the documents). Each trial draws builds for the baseline and for today and
a suite of queries, and holds them to the recommended limits and the default guard. Unchanged code
must not alarm; a query lost outright, no stemming and a dropped field must be found as with one
answer.

What a build scores and finds is worked out once. The rules of a trial are then the product's own
functions over these figures, which takes a hundredth of the time; the first trials of each cell go
through `judge` as well, and the script stops where the two disagree.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import faiss
import hnswlib
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from pytest_irquality.metrics import Judgments, evaluate, parse_measure
from pytest_irquality.retrieval import Answer, Ranking, Run
from pytest_irquality.suite.demands import LostAllRelevant, MaxDrop, MaxSignificantDrop
from pytest_irquality.suite.model import Check, Limits, Place, Query, Suite
from pytest_irquality.verdict import judge
from pytest_irquality.verdict.statistics import EQUAL, holm, sign_flip
from pytest_irquality.verdict.wavering import drop_noise, exceeds_wavering

SIZES = (20, 50, 135, 225)
DEPTH, DIMENSIONS, SEED = 10, 64, 7
MEASURES = tuple(map(parse_measure, ("ndcg@10", "recall@10")))
SIGNIFICANT_DROP, LARGEST_DROP = 0.01, 0.15  # the recommended limits


class Sides(NamedTuple):
    """How many answers each side has. ``builds``: each is a build of its own, not a repeat."""

    baseline: int
    today: int
    builds: bool = True

    def __str__(self) -> str:
        kept = f"{self.baseline} : {self.today}"
        return kept if self.builds else f"{kept} repeats"


SIDES = (Sides(1, 1), Sides(3, 3, False), Sides(3, 3), Sides(5, 5), Sides(10, 3))

Rankings = Mapping[str, Ranking]
Texts = Mapping[str, str]


@dataclass(frozen=True)
class Collection:
    """Queries, documents (title and text) and grades."""

    queries: Texts
    documents: Mapping[str, tuple[str, str]]
    grades: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Vectors:
    """Documents and queries in one space, rows in the order of their ids."""

    ids: Sequence[str]
    documents: np.ndarray
    query_ids: Sequence[str]
    queries: np.ndarray


def read(folder: Path) -> Collection:
    """The collection in a folder."""
    documents, queries = (
        [json.loads(line) for line in (folder / name).read_text(encoding="utf-8").splitlines()]
        for name in ("corpus.jsonl", "queries.jsonl")
    )
    grades: dict[str, dict[str, float]] = {}
    for line in (folder / "qrels" / "test.qrels").read_text(encoding="utf-8").splitlines():
        query, _, document, grade = line.split()
        grades.setdefault(query, {})[document] = float(grade)
    return Collection(
        {query["_id"]: query["text"] for query in queries if query["_id"] in grades},
        {found["_id"]: (found.get("title", ""), found["text"]) for found in documents},
        grades,
    )


def stemmed(word: str) -> str:
    """A crude stem, enough to tell an analyzer that has one from one that has none."""
    return re.sub(r"(ations?|ings?|ions?|ies|ed|es|s|al|ly)$", "", word) if len(word) > 5 else word


def vectors(collection: Collection, *, stems: bool = True, texts: bool = True) -> Vectors:
    """Latent semantic vectors of the collection; without stems, or of titles alone."""

    def words(text: str) -> list[str]:
        found = re.findall(r"[a-z]+", text.lower())
        return [stemmed(word) for word in found] if stems else found

    vectorizer = TfidfVectorizer(analyzer=words, sublinear_tf=True, min_df=2)
    of = [f"{title} {text}" if texts else title for title, text in collection.documents.values()]
    weights = vectorizer.fit_transform(of)
    space = TruncatedSVD(DIMENSIONS, random_state=SEED).fit(weights)

    def placed(found: Any) -> Any:
        norms = np.linalg.norm(found, axis=1, keepdims=True)
        return (found / np.maximum(norms, 1e-9)).astype("float32")

    asked = vectorizer.transform(collection.queries.values())
    return Vectors(
        [*collection.documents],
        placed(space.transform(weights)),
        [*collection.queries],
        placed(space.transform(asked)),
    )


def hnsw(at: Vectors, seed: int, ef: int = 16) -> Rankings:
    """One build of an HNSW index: its levels and the order of insertion follow from the seed."""
    order = np.random.default_rng(seed).permutation(len(at.ids))
    index = hnswlib.Index(space="ip", dim=DIMENSIONS)
    index.init_index(max_elements=len(at.ids), ef_construction=32, M=6, random_seed=seed)
    index.add_items(at.documents[order], order, num_threads=1)
    index.set_ef(ef)
    labels, distances = index.knn_query(at.queries, k=DEPTH, num_threads=1)
    return _rankings(at, labels, -distances)


def ivf(at: Vectors, seed: int, probes: int = 6) -> Rankings:
    """One build of an inverted file of 32 cells, of which a few are probed."""
    index = faiss.IndexIVFFlat(
        faiss.IndexFlatIP(DIMENSIONS), DIMENSIONS, 32, faiss.METRIC_INNER_PRODUCT
    )
    index.cp.seed = seed
    index.train(at.documents)
    index.add(at.documents)
    index.nprobe = probes
    scores, labels = index.search(at.queries, DEPTH)
    return _rankings(at, labels, scores)


def dropped(at: Vectors, seed: int, share: float = 0.05) -> Rankings:
    """An exact search of which each result may be missing: a shard that did not answer."""
    draw = Random(seed)
    found = {}
    scores = at.queries @ at.documents.T
    for row, query in enumerate(at.query_ids):
        best = np.argsort(-scores[row])[: 2 * DEPTH]
        kept = [place for place in best if draw.random() >= share][:DEPTH]
        found[query] = Ranking(
            tuple(at.ids[place] for place in kept), tuple(float(scores[row, p]) for p in kept)
        )
    return found


def _rankings(at: Vectors, labels: np.ndarray, scores: np.ndarray) -> Rankings:
    return {
        query: Ranking(
            tuple(at.ids[label] for label in labels[row] if label >= 0),
            tuple(
                float(score)
                for label, score in zip(labels[row], scores[row], strict=True)
                if label >= 0
            ),
        )
        for row, query in enumerate(at.query_ids)
    }


def exact(at: Vectors, seed: int) -> Rankings:
    """An exact search, which every build answers alike: what one answer a side can see."""
    return dropped(at, seed, share=0.0)


ENGINES: Mapping[str, Callable[[Vectors, int], Rankings]] = {
    "exact": exact,
    "HNSW": hnsw,
    "IVF": ivf,
    "5 % dropped": dropped,
}


# -- what a build scores ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Build:
    """The rankings of a build, what each query scores (a row a measure), and if it finds any."""

    rankings: Rankings
    values: np.ndarray
    finds: np.ndarray


def scored(collection: Collection, rankings: Rankings) -> Build:
    """A build with its figures, the queries in the collection's order."""
    qrels = {id: Judgments(grades) for id, grades in collection.grades.items()}
    found = {id: ranking.collapsed(DEPTH) for id, ranking in rankings.items()}
    scores = evaluate(qrels, found, MEASURES)
    order = sorted(collection.grades)
    return Build(
        rankings,
        np.array([scores.values[id] for id in order], dtype=float).T,
        np.array([not qrels[id].relevant.isdisjoint(found[id]) for id in order]),
    )


# -- trials ----------------------------------------------------------------------------------------


class Trial(NamedTuple):
    """The queries (by place) judged on some builds; ``lost`` loses all its documents today."""

    queries: Sequence[int]
    before: Sequence[Build]
    now: Sequence[Build]
    lost: int | None


def trials(
    pools: tuple[Sequence[Build], Sequence[Build]], sides: Sides, size: int, lose: bool
) -> Iterator[Trial]:
    """Endless trials: builds of the first pool against builds of the second."""
    draw = Random(f"{SEED} {sides} {size} {lose}")
    head = np.all([build.finds for build in pools[0]], axis=0)  # what every build finds
    places = range(len(head))
    while True:
        queries = draw.sample(places, min(size, len(head)))
        b, n = (sides.baseline, sides.today) if sides.builds else (1, 1)
        if pools[0] is pools[1]:
            drawn = draw.sample(pools[0], b + n)
            before, now = drawn[:b], drawn[b:]
        else:
            before, now = draw.sample(pools[0], b), draw.sample(pools[1], n)
        if not sides.builds:
            before, now = before * sides.baseline, now * sides.today
        lost = draw.choice([place for place in queries if head[place]]) if lose else None
        yield Trial(queries, before, now, lost)


def alarms(trial: Trial) -> set[str]:
    """Which kinds of limit fail, by the product's own rules: ``means``, ``guard``."""
    places = list(trial.queries)
    before = np.array([build.values[:, places] for build in trial.before])
    now = np.array([build.values[:, places] for build in trial.now])
    then_finds = np.array([build.finds[places] for build in trial.before])
    finds = np.array([build.finds[places] for build in trial.now])
    if trial.lost is not None:
        now[:, :, places.index(trial.lost)] = 0.0
        finds[:, places.index(trial.lost)] = False
    red = {"means"} if any(_drops(before, now)) else set()
    return red | ({"guard"} if _loses(then_finds, finds) else set())


def _drops(before: np.ndarray, now: np.ndarray) -> Iterator[bool]:
    differences = now.mean(axis=0) - before.mean(axis=0)
    drops = -differences.mean(axis=1)
    suspect = drops > SIGNIFICANT_DROP + EQUAL
    ps = [sign_flip(list(row)) for row in differences] if suspect.any() else [1.0] * len(drops)
    for measure, (drop, p) in enumerate(zip(drops, holm(ps), strict=True)):
        means = (side[:, measure].mean(axis=1).tolist() for side in (before, now))
        beyond = drop > (drop_noise(*means) or 0.0)
        significant = suspect[measure] and p < 0.05 and beyond
        yield bool(significant or drop > LARGEST_DROP + EQUAL)


def _loses(before: np.ndarray, now: np.ndarray) -> bool:
    b, n = len(before), len(now)
    lost = before.all(axis=0) & ~now.any(axis=0)
    scattered = (before.sum(axis=0) + now.sum(axis=0) == b) & before.any(axis=0) & ~lost
    return exceeds_wavering(int(lost.sum()), int(scattered.sum()), b, n)


# -- the same by `judge` ---------------------------------------------------------------------------


def judged(collection: Collection, trial: Trial, builds: bool) -> set[str]:
    """The same, found by ``judge``."""
    order = sorted(collection.grades)
    queries = [order[place] for place in trial.queries]
    now = side(trial.now, queries, builds)
    if trial.lost is not None:
        now = without(now, order[trial.lost], {*collection.grades[order[trial.lost]]})
    suite = suite_of(collection, queries)
    result = judge(suite, now, suite.checks, before=side(trial.before, queries, builds))
    return {verdict.label for verdict in result.verdicts if verdict.outcome == "failed"}


def side(answers: Sequence[Build], queries: Sequence[str], builds: bool) -> Run:
    """The answers of one side, each of a build of its own or all of one."""
    given = (
        Answer({query: answer.rankings[query] for query in queries}, build=number if builds else 0)
        for number, answer in enumerate(answers)
    )
    return Run("", tuple(given), depth=DEPTH)


def without(run: Run, query: str, documents: set[str]) -> Run:
    """A run that finds none of some documents for a query, in no answer."""
    answers = []
    for answer in run.answers:
        left = tuple(id for id in answer.rankings[query].ids if id not in documents)
        rankings = {**answer.rankings, query: Ranking(left)}
        answers.append(replace(answer, rankings=rankings))
    return replace(run, answers=tuple(answers))


def suite_of(collection: Collection, queries: Sequence[str]) -> Suite:
    """The recommended limits over some queries."""
    bounds = (MaxSignificantDrop(SIGNIFICANT_DROP), MaxDrop(LARGEST_DROP))
    checks = [
        Check(str(measure), "means", Place(1), Limits(measure, bounds)) for measure in MEASURES
    ]
    guard = Check("guard", "guard", Place(1), LostAllRelevant(), "each_query")
    return Suite(
        "wavering",
        "wavering",
        tuple(Query(id, id, Judgments(collection.grades[id])) for id in queries),
        depth=DEPTH,
        checks=(*checks, guard),
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trials", type=int, default=1000, help="of each cell")
    parser.add_argument("--judged", type=int, default=2, help="of these, also put through judge")
    parser.add_argument("--builds", type=int, default=60, help="of each engine")
    parser.add_argument("--engines", nargs="*", choices=ENGINES, default=[*ENGINES])
    arguments = parser.parse_args()
    collection = read(arguments.folder)
    spaces = {
        "unchanged": vectors(collection),
        "stemming off": vectors(collection, stems=False),
        "titles only": vectors(collection, texts=False),
    }
    print(f"{arguments.trials} trials a cell; suites of {' / '.join(map(str, SIZES))} queries\n")
    print("| engine | change | baseline : today | means, % red | guard, % red | either, % red |")
    print("|---|---|---|---:|---:|---:|")
    for engine in arguments.engines:
        build = ENGINES[engine]
        pools = {
            name: [scored(collection, build(space, seed)) for seed in range(arguments.builds)]
            for name, space in spaces.items()
        }
        for change in ("unchanged", "a query lost", "stemming off", "titles only"):
            pair = pools["unchanged"], pools.get(change, pools["unchanged"])
            for sides in SIDES[:1] if engine == "exact" else SIDES:
                cells: dict[str, list[str]] = {"means": [], "guard": [], "either": []}
                for size in SIZES:
                    red = dict.fromkeys(cells, 0)
                    drawn = trials(pair, sides, size, change == "a query lost")
                    for number, trial in enumerate(islice(drawn, arguments.trials)):
                        found = alarms(trial)
                        if number < arguments.judged:
                            by_judge = judged(collection, trial, sides.builds)
                            assert found == by_judge, (engine, change, sides, size, number)
                        for column in found:
                            red[column] += 1
                        red["either"] += bool(found)
                    for column, count in red.items():
                        cells[column].append(f"{100 * count / arguments.trials:.1f}")
                row = " | ".join(" / ".join(figures) for figures in cells.values())
                print(f"| {engine} | {change} | {sides} | {row} |", flush=True)


if __name__ == "__main__":
    main()
