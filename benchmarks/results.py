"""The cost of reading what a retriever returned, beside a loop that takes the ids out by hand.

python benchmarks/results.py
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import process_time
from timeit import Timer
from typing import Any

from pytest_irquality.retrieval.results import read_result

HITS = 1000
ROUNDS = 15

Shape = tuple[Any, Callable[[Any], object]]


def shapes() -> dict[str, Shape]:
    """Results of 1,000 hits, each with the loop that a user would write for it."""
    ids = [str(number) for number in range(HITS)]
    dicts = [{"id": id, "score": 1 / (n + 1), "title": "A chair"} for n, id in enumerate(ids)]
    response = {
        "hits": {"hits": [{"_id": hit["id"], "_score": 0.5, "_source": hit} for hit in dicts]}
    }
    return {
        "ids": (ids, lambda result: [str(id) for id in result]),
        "(id, score)": (
            [(id, 0.5) for id in ids],
            lambda result: [(str(id), float(score)) for id, score in result],
        ),
        "(score, id)": (
            [(0.5, id) for id in ids],
            lambda result: [(str(id), float(score)) for score, id in result],
        ),
        "dicts": (
            dicts,
            lambda result: [(str(h["id"]), float(h["score"]), h["title"]) for h in result],
        ),
        "Elasticsearch": (
            response,
            lambda result: [
                (str(h["_id"]), float(h["_score"]), h["_source"]["title"])
                for h in result["hits"]["hits"]
            ],
        ),
    }


def seconds(function: Callable[..., object], *given: object) -> float:
    return Timer(lambda: function(*given), timer=process_time).timeit(20) / 20


def main() -> None:
    print(f"one result of {HITS} hits, median of {ROUNDS}   read      by hand   ratio")
    for name, (result, by_hand) in shapes().items():
        pairs = [
            (seconds(read_result, result, HITS), seconds(by_hand, result)) for _ in range(ROUNDS)
        ]
        read, hand = (median(column) for column in zip(*pairs, strict=True))
        ratio = median(one / other for one, other in pairs)
        print(f"{name:38} {read * 1000:6.3f} ms {hand * 1000:6.3f} ms {ratio:6.1f}")


if __name__ == "__main__":
    main()
