"""How often limits cry wolf over engines that answer differently each time, and what they still
find.

Run it with `python benchmarks/wavering.py FOLDER` (`pip install -e '.[bench]'`), where the folder
holds `corpus.jsonl`, `queries.jsonl` and `qrels/test.qrels`. It prints the tables of
`docs/guides/limits.md`.

Real HNSW and IVF indexes over the collection are rebuilt for every build, with another seed and
another order of the documents. Each trial draws builds for the baseline and for today, a suite of
queries, and puts them through `judge` with the recommended limits and the default guard. Unchanged
code must not alarm; a query lost outright, no stemming and a dropped field must be found as with
one answer.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import faiss
import hnswlib
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from pytest_irquality.metrics import Judgments, parse_measure
from pytest_irquality.retrieval import Ranking, Run
from pytest_irquality.suite.model import Bound, Check, Guard, Limits, Place, Query, Suite
from pytest_irquality.verdict import judge

SIZES = (20, 50, 135, 225)
UNITS = ((1, 1), (3, 3), (5, 5), (10, 3))
DEPTH, DIMENSIONS, SEED = 10, 64, 7
MEASURES = tuple(map(parse_measure, ("ndcg@10", "recall@10")))

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
    """An exact search of which each result is missing with a probability: a shard that did not
    answer.
    """
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


ENGINES: Mapping[str, Callable[[Vectors, int], Rankings]] = {
    "HNSW": hnsw,
    "IVF": ivf,
    "5 % dropped": dropped,
}


# -- trials ----------------------------------------------------------------------------------------


def side(builds: Sequence[Rankings], queries: Sequence[str]) -> Run:
    """The builds of one side, an answer each."""
    runs = [
        Run("", {query: build[query] for query in queries}, build=number, depth=DEPTH)
        for number, build in enumerate(builds)
    ]
    return replace(runs[0], again=tuple(runs[1:]))


def suite_of(collection: Collection, queries: Sequence[str]) -> Suite:
    """The recommended limits over some queries."""
    bounds = (Bound("max_significant_drop", 0.01), Bound("max_drop", 0.15))
    checks = [
        Check(str(measure), "means", Place(1), limits=Limits(measure, bounds))
        for measure in MEASURES
    ]
    guard = Check("guard", "guard", Place(1), scope="each_query", guard=Guard("lost_all_relevant"))
    return Suite(
        "wavering",
        "wavering",
        tuple(Query(id, id, Judgments(collection.grades[id])) for id in queries),
        depth=DEPTH,
        metrics=MEASURES,
        checks=(*checks, guard),
    )


def alarms(collection: Collection, queries: Sequence[str], now: Run, before: Run) -> set[str]:
    """Which kinds of limit fail: ``means``, ``guard``."""
    suite = suite_of(collection, queries)
    result = judge(suite, now, suite.checks, before=before)
    return {verdict.label for verdict in result.verdicts if verdict.outcome == "failed"}


def lost(collection: Collection, queries: Sequence[str], now: Run, draw: Random) -> Run:
    """One query that every answer found something for loses all of it, in every answer."""

    def found(query: str) -> bool:
        good = {id for id, grade in collection.grades[query].items() if grade >= 1}
        return all(not good.isdisjoint(run.rankings[query].ids) for run in now.answers)

    chosen = draw.choice([query for query in queries if found(query)])
    good = {id for id, grade in collection.grades[chosen].items() if grade >= 1}

    def without(run: Run) -> Run:
        left = tuple(id for id in run.rankings[chosen].ids if id not in good)
        return replace(run, rankings={**run.rankings, chosen: Ranking(left)})

    return replace(without(now), again=tuple(map(without, now.again)))


def trials(
    collection: Collection,
    pools: tuple[Sequence[Rankings], Sequence[Rankings]],
    units: tuple[int, int],
    size: int,
    count: int,
    *,
    lose: bool = False,
) -> Iterator[set[str]]:
    """The alarms of some trials: builds of the first pool against builds of the second."""
    draw = Random(f"{SEED} {units} {size} {lose}")
    same = pools[0] is pools[1]
    for _ in range(count):
        queries = draw.sample(sorted(collection.grades), min(size, len(collection.grades)))
        if same:
            drawn = draw.sample(pools[0], sum(units))
            before, now = drawn[: units[0]], drawn[units[0] :]
        else:
            before, now = draw.sample(pools[0], units[0]), draw.sample(pools[1], units[1])
        today = side(now, queries)
        if lose:
            today = lost(collection, queries, today, draw)
        yield alarms(collection, queries, today, side(before, queries))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trials", type=int, default=300, help="of each cell")
    parser.add_argument("--builds", type=int, default=60, help="of each engine")
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
    for engine, build in ENGINES.items():
        pools = {
            name: [build(space, seed) for seed in range(arguments.builds)]
            for name, space in spaces.items()
        }
        for change in ("unchanged", "a query lost", "stemming off", "titles only"):
            lose = change == "a query lost"
            pair = pools["unchanged"], pools.get(change, pools["unchanged"])
            for units in UNITS:
                cells: dict[str, list[str]] = {"means": [], "guard": [], "either": []}
                for size in SIZES:
                    raised = [*trials(collection, pair, units, size, arguments.trials, lose=lose)]
                    for column, found in cells.items():
                        red = sum(bool(r) if column == "either" else column in r for r in raised)
                        found.append(f"{100 * red / len(raised):.1f}")
                row = " | ".join(" / ".join(found) for found in cells.values())
                print(f"| {engine} | {change} | {units[0]} : {units[1]} | {row} |", flush=True)


if __name__ == "__main__":
    main()
