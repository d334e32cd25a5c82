"""The cost of reading a result of 1,000 hits compared with a loop written for its shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import process_time
from timeit import Timer
from typing import Any

from benchmarks.timing import Figure, Options, compute_ratio, measure_in_turns, run_benchmark
from pytest_irquality.retrieval.hit_reader import ResultReader

HITS = 1_000
CALLS = 20
TARGET = 2.5
TEXT = "A chair of solid oak with armrests, and a cushion of wool. " * 4

Result = Any
Loop = Callable[[Result], object]


@dataclass
class SearchHit:
    """A hit of a client with classes of its own."""

    id: str
    score: float
    title: str


@dataclass
class Document:
    """A document of LangChain."""

    id: str
    metadata: dict[str, Any]
    page_content: str


@dataclass
class Point:
    """A point of Qdrant."""

    id: int
    score: float
    payload: dict[str, Any]


@dataclass
class Points:
    """A response of Qdrant."""

    points: list[Point]


@dataclass
class NodeWithScore:
    """A hit of LlamaIndex."""

    node_id: str
    score: float
    metadata: dict[str, Any]
    text: str


def make_shapes() -> dict[str, tuple[Result, Loop]]:
    """Make results, each with the loop that a user would write for it."""
    ids = [str(number) for number in range(HITS)]
    dicts = [
        {"id": doc_id, "score": 1 / (rank + 1), "title": "A chair"}
        for rank, doc_id in enumerate(ids)
    ]
    hits = [{"_id": hit["id"], "_score": 0.5, "_source": hit} for hit in dicts]
    fields = {"title": "A chair", "text": TEXT}
    documents = [Document(doc_id, fields, TEXT) for doc_id in ids]
    vespa_hits = [
        {"id": f"id:shop:product::{doc_id}", "relevance": 0.5, "source": "shop", "fields": fields}
        for doc_id in ids
    ]
    solr_hits = [{"id": doc_id, "title": ["A chair"], "score": 0.5} for doc_id in ids]
    chroma = {"ids": [ids], "distances": [[0.5] * HITS], "metadatas": [[fields] * HITS]}
    return {
        "Elasticsearch": ({"hits": {"hits": hits}}, read_elasticsearch),
        "ids": (ids, lambda result: [str(doc_id) for doc_id in result]),
        "(id, score)": (
            [(doc_id, 0.5) for doc_id in ids],
            lambda result: [(str(doc_id), float(score)) for doc_id, score in result],
        ),
        "(score, id)": (
            [(0.5, doc_id) for doc_id in ids],
            lambda result: [(str(doc_id), float(score)) for score, doc_id in result],
        ),
        "dicts": (dicts, read_dicts),
        "objects": ([SearchHit(doc_id, 0.5, "A chair") for doc_id in ids], read_objects),
        "LangChain": (documents, read_langchain),
        "LangChain with scores": ([(each, 0.5) for each in documents], read_langchain_pairs),
        "Qdrant": (Points([Point(int(doc_id), 0.5, fields) for doc_id in ids]), read_qdrant),
        "Vespa": ({"root": {"id": "toplevel", "children": vespa_hits}}, read_vespa),
        "LlamaIndex": ([NodeWithScore(doc_id, 0.5, fields, TEXT) for doc_id in ids], read_nodes),
        "Chroma": (chroma, read_chroma),
        "Solr": ({"response": {"docs": solr_hits}}, read_solr),
        "rows of a table": ([(int(doc_id), "A chair", TEXT, 0.5) for doc_id in ids], read_rows),
    }


def read_elasticsearch(result: Result) -> object:
    return [
        (str(hit["_id"]), float(hit["_score"]), hit["_source"]["title"])
        for hit in result["hits"]["hits"]
    ]


def read_dicts(result: Result) -> object:
    return [(str(hit["id"]), float(hit["score"]), hit["title"]) for hit in result]


def read_objects(result: Result) -> object:
    return [(str(hit.id), float(hit.score), hit.title) for hit in result]


def read_langchain(result: Result) -> object:
    return [(str(hit.id), hit.metadata["title"]) for hit in result]


def read_langchain_pairs(result: Result) -> object:
    return [(str(hit.id), float(score), hit.metadata["title"]) for hit, score in result]


def read_qdrant(result: Result) -> object:
    return [(str(hit.id), float(hit.score), hit.payload["title"]) for hit in result.points]


def read_vespa(result: Result) -> object:
    return [
        (str(hit["id"]), float(hit["relevance"]), hit["fields"]["title"])
        for hit in result["root"]["children"]
    ]


def read_nodes(result: Result) -> object:
    return [(str(hit.node_id), float(hit.score), hit.metadata["title"]) for hit in result]


def read_chroma(result: Result) -> object:
    columns = (result[name][0] for name in ("ids", "distances", "metadatas"))
    hits = zip(*columns, strict=True)
    return [(str(doc_id), float(distance), fields["title"]) for doc_id, distance, fields in hits]


def read_solr(result: Result) -> object:
    hits = result["response"]["docs"]
    return [(str(hit["id"]), float(hit["score"]), hit["title"][0]) for hit in hits]


def read_rows(result: Result) -> object:
    return [(str(doc_id), float(score), title) for doc_id, title, _, score in result]


def measure_calls(function: Callable[[], object]) -> float:
    """Return the seconds of the processor that one of several calls takes."""
    return Timer(function, timer=process_time).timeit(CALLS) / CALLS


def measure(options: Options) -> list[Figure]:
    reader = ResultReader()
    ratios: dict[str, float] = {}
    seconds_by_shape: dict[str, float] = {}
    for name, (result, loop) in make_shapes().items():

        def read(result: Result = result) -> float:
            return measure_calls(lambda: reader.read(result, HITS))

        def read_by_hand(result: Result = result, loop: Loop = loop) -> float:
            return measure_calls(lambda: loop(result))

        seconds = measure_in_turns({"read": read, "hand": read_by_hand}, options.rounds)
        ratios[name] = compute_ratio(seconds["read"], seconds["hand"])
        seconds_by_shape[name] = median(seconds["read"])
    figures = []
    for name, ratio in ratios.items():
        figures.append(
            Figure(
                f"results-{name}",
                f"read a result of {HITS:,} hits ({name})",
                "a handwritten loop",
                ratio,
                target=TARGET,
                seconds=seconds_by_shape[name],
            )
        )
    return figures


if __name__ == "__main__":
    run_benchmark(__doc__, measure, rounds=15)
