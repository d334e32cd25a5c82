"""What a URL as the retriever costs beside the same calls made by hand with httpx, at 16 in flight.

python benchmarks/endpoint.py
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import httpx

from pytest_irquality.retrieval import retrieve
from pytest_irquality.retrieval.endpoint import Endpoint
from pytest_irquality.retrieval.secrets import Secrets
from pytest_irquality.suite import Query, Suite

IN_FLIGHT = 16
QUERIES = 1000
ROUNDS = 5
HITS = [{"id": f"d{n}", "score": 1 / (n + 1), "title": f"A chair, {n}"} for n in range(10)]


class Server(asyncio.Protocol):
    """As little of a server as will do: the cost is to be that of whoever asks."""

    delay = 0.0
    body = json.dumps({"hits": HITS}).encode()
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport

    def data_received(self, data: bytes) -> None:
        asked = data.count(b"\r\n\r\n")
        asyncio.get_running_loop().call_later(self.delay, self.reply, asked)

    def reply(self, asked: int) -> None:
        self.transport.write((self.answer % (len(self.body), self.body)) * asked)


async def serve(delay: float) -> None:
    Server.delay = delay
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0, backlog=100)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def by_url(origin: str) -> None:
    queries = tuple(Query(f"q{n}", f"chair {n}") for n in range(QUERIES))
    suite = Suite("s", "s", queries, depth=10, concurrency=IN_FLIGHT)
    endpoint = Endpoint(f"{origin}/search?q={{query}}&size={{k}}", (), Path(), Secrets([]))
    run = retrieve(suite, endpoint)
    endpoint.close()
    assert len(run.first.rankings) == QUERIES


def _read(response: httpx.Response) -> list[tuple[str, float, str]]:
    response.raise_for_status()
    return [(hit["id"], hit["score"], hit["title"]) for hit in response.json()["hits"]]


def in_threads(origin: str) -> None:
    found = {}
    with httpx.Client(limits=httpx.Limits(max_connections=IN_FLIGHT)) as client:

        def ask(number: int) -> None:
            start = perf_counter()
            asked: dict[str, str | int] = {"q": f"chair {number}", "size": 10}
            hits = _read(client.get(f"{origin}/search", params=asked))
            found[number] = hits, perf_counter() - start

        with ThreadPoolExecutor(IN_FLIGHT) as pool:
            list(pool.map(ask, range(QUERIES)))
    assert len(found) == QUERIES


def in_a_loop(origin: str) -> None:
    async def run() -> None:
        found = {}
        numbers = iter(range(QUERIES))
        limits = httpx.Limits(max_connections=IN_FLIGHT)
        async with httpx.AsyncClient(limits=limits) as client:

            async def work() -> None:
                for number in numbers:
                    start = perf_counter()
                    asked: dict[str, str | int] = {"q": f"chair {number}", "size": 10}
                    hits = _read(await client.get(f"{origin}/search", params=asked))
                    found[number] = hits, perf_counter() - start

            await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))
        assert len(found) == QUERIES

    asyncio.run(run())


def seconds(ask: Callable[[str], None], origin: str) -> tuple[float, float]:
    """By the clock on the wall, and of the processor."""
    wall, processor = perf_counter(), process_time()
    ask(origin)
    return perf_counter() - wall, process_time() - processor


def main() -> None:
    print(f"{QUERIES} queries, {IN_FLIGHT} in flight, median of {ROUNDS}: ms a query, and ratios")
    print("the server takes        this    httpx, threads    httpx, async")
    for delay in (0.0, 0.005, 0.05):
        command = [sys.executable, __file__, str(delay)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            origin = f"http://127.0.0.1:{server.stdout.readline().strip()}"
            ways = (by_url, in_threads, in_a_loop)
            times = [[seconds(way, origin) for way in ways] for _ in range(ROUNDS)]
            server.terminate()
        for clock, what in enumerate(("wall", "processor")):
            columns = zip(*([way[clock] for way in row] for row in times), strict=True)
            ours, *others = (1000 * median(column) / QUERIES for column in columns)
            beside = "".join(f"  {other:8.2f} {ours / other:6.2f}" for other in others)
            print(f"{1000 * delay:4.0f} ms  {what:9}  {ours:6.2f}{beside}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(serve(float(sys.argv[1])))
    else:
        main()
