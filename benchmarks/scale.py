"""The cost of a large suite: calls in flight, and a whole `pytest --ir-suite`.

Run it with `python benchmarks/scale.py`. Calls in flight are held against the ideal. Nothing is
asked over a network: a call sleeps for 20 ms, or looks up a list. Everything is done ROUNDS times,
and the median counts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from beside import process, pytest_command

from pytest_irquality.retrieval import retrieve
from pytest_irquality.suite import Query, Suite

PAUSE, CALLS, CONCURRENCY, ALLOWED = 0.02, 1_000, 16, 1.3
IDEAL = CALLS * PAUSE / CONCURRENCY
ROUNDS = 3


def function(query: str) -> list[str]:
    time.sleep(PAUSE)
    return [query]


async def coroutine(query: str) -> list[str]:
    await asyncio.sleep(PAUSE)
    return [query]


# What is not this package's own doing is timed apart: the retriever, and the measures.
FROM_MEMORY = """
import functools, json, time
started = time.perf_counter()
import pytest
from pytest_irquality.verdict import scoring
spent = {"retriever": 0.0, "metrics": 0.0}

def timed(name, function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        start = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            spent[name] += time.perf_counter() - start
    return call

for name in ("see", "scored", "evaluate"):
    setattr(scoring, name, timed("metrics", getattr(scoring, name)))

def build():
    with open("rankings.json") as file:
        return [f"doc-{number:07d}" for number in range(500_000)], json.load(file)

@pytest.fixture(scope="session")
def retriever():
    corpus, rankings = timed("retriever", build)()
    def ask(query, k):
        start, step, relevant = rankings[query]
        found = corpus[start : start + step * k : step]
        for rank, document in relevant:
            found[rank] = document
        return found
    return timed("retriever", ask)

def pytest_sessionfinish(session):
    with open("spent.json", "w") as file:
        json.dump(spent, file)
"""


def write_suite(
    folder: Path, queries: Mapping[str, Mapping[str, int]], head: str, bulk: bool
) -> None:
    """The suite of some judged queries, in the suite itself, or, in bulk, in files beside it."""
    if bulk:
        lines = (json.dumps({"_id": id, "text": id}) for id in queries)
        (folder / "queries.jsonl").write_text("\n".join(lines))
        qrels = (
            f"{id} 0 {document} {grade}"
            for id, judged in queries.items()
            for document, grade in judged.items()
        )
        (folder / "judged.qrels").write_text("\n".join(qrels))
        body = "queries: queries.jsonl\njudgments: judged.qrels\n"
    else:
        body = "queries:\n" + "".join(
            f"  - query: {id}\n    relevant:"
            f" {{{', '.join(f'{doc}: {grade}' for doc, grade in judged.items())}}}\n"
            for id, judged in queries.items()
        )
    (folder / "scale.ir.yaml").write_text(head + body)


def in_flight() -> bool:
    """Against the ideal: calls that take 20 ms, 16 at once, in a pass of their own."""
    queries = tuple(Query(f"q{number}", f"q{number}") for number in range(CALLS))
    suite = Suite(name="scale", path="scale", queries=queries, concurrency=CONCURRENCY)
    seconds: dict[str, list[float]] = {"functions": [], "coroutines": []}
    for _ in range(ROUNDS):
        for caller, ask in (("functions", function), ("coroutines", coroutine)):
            start = time.perf_counter()
            assert len(retrieve(suite, ask).first.rankings) == CALLS
            seconds[caller].append(time.perf_counter() - start)
    good = True
    print(f"{CALLS:,} calls of {PAUSE * 1000:.0f} ms, {CONCURRENCY} in flight; ideal {IDEAL:.2f} s")
    for caller, some in seconds.items():
        ratio = statistics.median(some) / IDEAL
        good &= ratio <= ALLOWED
        print(
            f"  {caller:<11}{statistics.median(some):5.2f} s: {ratio:.2f} times the ideal (allowed:"
            f" {ALLOWED})"
        )
    return good


def from_memory(queries: int, results: int, bulk: bool, report: str) -> None:
    """From the start of pytest to its exit, with measures and the HTML report."""
    draw = random.Random(20240229)
    rankings, judged = {}, {}
    for number in range(queries):
        start, step = draw.randrange(100_000), draw.randrange(1, 300)
        near = {int(results * draw.random() ** 3) for _ in range(draw.randint(1, 12))}
        relevant = [(rank, f"judged-{number}-{rank}") for rank in sorted(near)]
        rankings[f"q{number}"] = start, step, relevant
        judged[f"q{number}"] = {document: draw.randint(1, 3) for _, document in relevant} | {
            f"lost-{number}": 1
        }
    head = (
        f"top_k: 10\ndepth: {results}\nmetrics: [ndcg@10, map@100, recall@100, mrr@10,"
        f" recall@{results}]\nthresholds: {{ndcg@10: 0.1}}\n"
    )
    taken = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "conftest.py").write_text(FROM_MEMORY)
        (folder / "rankings.json").write_text(json.dumps(rankings))
        write_suite(folder, judged, head, bulk)
        for _ in range(ROUNDS):
            seconds, cpu, memory = process(
                pytest_command("--ir-suite", f"--ir-report={report}"), folder
            )
            spent = json.loads((folder / "spent.json").read_text())
            taken.append((seconds, cpu, memory, spent["retriever"], spent["metrics"]))
        size = (folder / report).stat().st_size if report != "none" else 0
    seconds, cpu, memory, retriever, metrics = sorted(taken)[len(taken) // 2]
    rest = seconds - retriever - metrics
    kind = "in bulk, from files" if bulk else "each an item"
    page = f"HTML of {size / 2**20:.1f} MB" if size else "no HTML"
    print(
        f"{queries:,} queries ({kind}) × {results:,} results: {seconds:.1f} s ({cpu:.1f} s of CPU),"
        f" {page}"
    )
    print(
        f"  at most {memory / 2**20:.0f} MB; retriever {retriever:.1f} s, measures {metrics:.1f} s"
    )
    print(f"  everything else: {rest:.1f} s ({100 * rest / seconds:.0f} %)")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=6_980)
    parser.add_argument("--results", type=int, default=1_000)
    parser.add_argument(
        "--only", choices=["flight", "items", "bulk"], help="one of the three parts"
    )
    chosen = parser.parse_args()
    good = True
    if chosen.only in (None, "flight"):
        good = in_flight()
    for part, bulk in (("items", False), ("bulk", True)):
        if chosen.only in (None, part):
            from_memory(chosen.queries, chosen.results, bulk, "report.html")
    sys.exit(not good)


if __name__ == "__main__":
    main()
