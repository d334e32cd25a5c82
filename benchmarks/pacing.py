"""Engines that limit how often they are asked: how long a pass takes, and how much is refused.

A server on loopback is a bucket of tokens, refilled at a fixed rate. It also answers some calls
with 503, cuts some connections and is slow with some. Printed are the time of a pass over the
ideal one (queries by rate), the share of calls that were refused, and the queries left unanswered.

    python benchmarks/pacing.py            # 20 a second, 300 queries
    python benchmarks/pacing.py --workers  # also two processes of pytest-xdist
    python benchmarks/pacing.py --small    # an engine that lets five calls or one follow at once
"""

from __future__ import annotations

import argparse
import asyncio
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from pytest_irquality import retrieve
from pytest_irquality.suite import Query, Suite
from pytest_irquality.suite.keys import Retry

CONFTEST = """
import json, urllib.request, pytest

@pytest.fixture(scope="session")
def retriever():
    def search(query):
        with urllib.request.urlopen({url!r} + query) as answer:
            return json.load(answer)
    return search
"""


class Bucket:
    """Tokens, refilled at a rate; ``faulty`` is the share of calls that go wrong otherwise."""

    def __init__(self, rate: float, size: float, faulty: float) -> None:
        self.rate, self.size, self.faulty = rate, size, faulty
        self.tokens, self.at = size, time.monotonic()
        self.lock = threading.Lock()
        self.asked = self.refused = 0
        self.first = 0.0
        self.random = random.Random(7)

    def takes(self) -> bool:
        with self.lock:
            now = time.monotonic()
            self.tokens = min(self.size, self.tokens + (now - self.at) * self.rate)
            self.at = now
            self.first = self.first or now
            self.asked += 1
            if self.tokens < 1:
                self.refused += 1
                return False
            self.tokens -= 1
            return True


@contextmanager
def served(bucket: Bucket) -> Iterator[str]:
    """Serve a bucket, and give the address to which a query is added."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if not bucket.takes():
                self.send_response(429)
                self.send_header("Retry-After", "1")
                self.end_headers()
                return
            kind = bucket.random.random()
            if kind < bucket.faulty / 3:
                self.send_error(503)
            elif kind < 2 * bucket.faulty / 3:
                self.connection.close()
            else:
                time.sleep(0.5 if kind < bucket.faulty else 0.01)
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b'["d1"]')

        def log_message(self, *arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=20)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--workers", action="store_true")
    parser.add_argument("--small", action="store_true")
    chosen = parser.parse_args()
    for rate in (chosen.rate, None):
        for size in (5, 1) if chosen.small else (chosen.rate,):
            for faulty in (0.0, 0.06):
                for how in ("one by one", "threads", "coroutines"):
                    measured(chosen, rate, size, faulty, how)
    if chosen.workers:
        for rate in (chosen.rate, None):
            for faulty in (0.0, 0.06):
                with_workers(chosen, rate, faulty)


def measured(
    chosen: argparse.Namespace, rate: float | None, size: float, faulty: float, how: str
) -> None:
    bucket = Bucket(chosen.rate, size, faulty)
    with served(bucket) as url:

        def ask(query: str) -> list[str]:
            with urllib.request.urlopen(url + query) as answer:
                return [answer.read().decode()]

        async def awaited(query: str) -> list[str]:
            return await asyncio.to_thread(ask, query)

        queries = tuple(Query(f"q{n}", f"q{n}") for n in range(chosen.queries))
        suite = Suite("s", "s", queries, rate=rate, concurrency=1 if how == "one by one" else 8,
                      retry=Retry(times=3, on=("5xx", "timeout")))  # fmt: skip
        start = time.monotonic()
        run = retrieve(suite, awaited if how == "coroutines" else ask)
        seconds = time.monotonic() - start
        said = f"{paced(rate)}, {how}, bucket of {size:g}, {100 * faulty:g} % other faults"
        report(bucket, chosen.queries, said, seconds, len(run.faults))


def with_workers(chosen: argparse.Namespace, rate: float | None, faulty: float) -> None:
    bucket = Bucket(chosen.rate, chosen.rate, faulty)
    with served(bucket) as url, tempfile.TemporaryDirectory() as folder:
        given = "concurrency: 8\nretry: {times: 3, on: [5xx, timeout]}\n"
        given += f"rate: {rate:g}/s\n" if rate else ""
        for name in ("one", "two"):
            half = range(chosen.queries // 2)
            queries = "".join(f"  - {{query: {name}{n}, must_find: [d1]}}\n" for n in half)
            Path(folder, f"{name}.ir.yaml").write_text(f"{given}queries:\n{queries}")
        Path(folder, "conftest.py").write_text(CONFTEST.format(url=url))
        command = [sys.executable, "-m", "pytest", "--ir-suite", "-q", "-n2", "--dist=loadfile"]
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False, text=True)
        left = done.stdout.count("\nERROR ")
        seconds = bucket.at - bucket.first
        said = f"{paced(rate)}, two workers, bucket of {bucket.size:g}"
        said += f", {100 * faulty:g} % other faults"
        report(bucket, chosen.queries, said, seconds, left)


def paced(rate: float | None) -> str:
    return f"rate: {rate:g}/s" if rate else "no rate"


def report(bucket: Bucket, queries: int, said: str, seconds: float, unanswered: int) -> None:
    ideal = queries / bucket.rate
    print(
        f"{said:<62} {seconds:6.1f} s  {seconds / ideal:5.2f} x ideal"
        f"  {100 * bucket.refused / bucket.asked:5.1f} % refused  {unanswered} unanswered",
        flush=True,
    )


if __name__ == "__main__":
    main()
