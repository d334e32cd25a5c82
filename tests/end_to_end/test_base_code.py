"""Scenarios: ``run:REF``, where the base branch's own code answers in a worktree."""

from __future__ import annotations

import json
import shlex
import sys

import pytest

from tests.end_to_end.shop import QUERIES, STRICT, Shop, find, list_docs, make_suite, sink

AGAINST_CODE = "--ir-baseline=run:main"
pytestmark = pytest.mark.slow

PACKAGE_CONFTEST = """
import pytest
from shopsearch.engine import search

@pytest.fixture
def retriever():
    return search
"""
ENGINE = """
def search(query, k):
    docs = [f"{query.replace(' ', '-')}-{number}" for number in range(1, 13)]
    return rank(docs)[:k]

def rank(docs):
    return docs
"""


def write_package(shop: Shop) -> None:
    """Write a package in a src layout, as an editable install would find it."""
    shop.write("src/shopsearch/__init__.py", "")
    shop.write("src/shopsearch/engine.py", ENGINE)
    shop.write("conftest.py", PACKAGE_CONFTEST)
    shop.write_ini("pythonpath = src")


def test_code_of_main_answers_without_any_stored_file(shop: Shop) -> None:
    """S22: 'run:main' without any stored file, in a src layout."""
    write_package(shop)
    shop.write_suite(make_suite())
    shop.commit()
    shop.start_branch()
    unchanged = shop.build(AGAINST_CODE, in_subprocess=True)
    worse = ENGINE.replace("return docs\n", "return docs[3:7] + docs[:3] + docs[7:]\n")
    shop.write("src/shopsearch/engine.py", worse)

    build = shop.build(AGAINST_CODE, in_subprocess=True)

    assert unchanged.verdict == ("PASSED", 0), unchanged.text
    assert build.verdict == ("FAILED", 1), build.text
    assert build.coverage["compared"] == 20
    assert (
        shop.git("rev-parse", "--short=7", "main").strip() in build.data["header"]["compared_with"]
    )
    assert "site-packages" not in build.text


def test_improvement_that_is_undone_fails(shop: Shop) -> None:
    """S68: another change undoes an improvement whose baseline was never updated."""
    shop.write_suite(make_suite())
    shop.break_search(QUERIES[:7], lambda docs: sink(docs, 1))
    shop.record()
    shop.commit()
    shop.write_rankings(find())
    shop.commit("Improve seven queries")
    shop.start_branch()
    shop.break_search(QUERIES[:7], lambda docs: sink(docs, 1))
    shop.commit()

    build = shop.build(AGAINST_CODE, in_subprocess=True)

    assert build.verdict == ("FAILED", 1), build.text


def test_each_side_reads_its_own_data_file(shop: Shop) -> None:
    """S45: a data file of the engine is broken now."""
    shop.write_suite(make_suite())
    shop.commit()
    shop.start_branch()
    shop.break_search(QUERIES[:6], lambda docs: [])

    build = shop.build(AGAINST_CODE, in_subprocess=True)

    assert build.verdict == ("FAILED", 1), build.text
    assert "6 queries now return nothing" in build.text or "return nothing" in build.text


def test_updated_baseline_needs_a_review(shop: Shop) -> None:
    """S16: updates the baseline file in the same pull request, under 'run:'."""
    shop.write_suite(make_suite())
    shop.start_change()
    shop.break_search()
    shop.build("--ir-update-baseline")
    shop.commit()

    build = shop.build(AGAINST_CODE, in_subprocess=True)

    assert build.verdict == ("REVIEW", 0), build.text


def test_equal_sides_are_questioned(shop: Shop) -> None:
    """S46: all rankings of both sides are equal although code changed."""
    shop.write_suite(make_suite())
    shop.commit()
    shop.start_branch()
    shop.write("conftest.py", shop.read("conftest.py") + "\nANALYZER = 'new'\n")
    shop.commit()

    build = shop.build(AGAINST_CODE, in_subprocess=True)

    assert build.outcome == "PASSED", build.text
    assert "Do both branches search the same index?" in build.top


SERVER = """
import json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

RANKINGS = json.loads(Path("rankings.json").read_text())

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        query = parse_qs(urlsplit(self.path).query)["q"][0]
        body = json.dumps({"hits": [{"id": doc} for doc in RANKINGS.get(query, [])]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args): pass

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def test_each_side_has_its_own_server(shop: Shop) -> None:
    """S49: a service without a line of Python in the tests, an ini file with a URL, a list."""
    python = shlex.quote(sys.executable)
    shop.remove("conftest.py")
    shop.write("server.py", SERVER)
    shop.write("queries.txt", "\n".join(QUERIES) + "\n")
    rows = [
        f"{query},{doc},{4 - n}"
        for query in QUERIES
        for n, doc in enumerate(list_docs(query, 3), 1)
    ]
    shop.write("grades.csv", "query,doc,grade\n" + "\n".join(rows) + "\n")
    shop.write_suite("queries: queries.txt\njudgments: grades.csv\n")
    url = "http://127.0.0.1:{port}/search?q={query}&size={k}"
    shop.write_ini(f"ir_serve = {python} server.py {{port}}\nir_url = {url}")
    shop.commit()
    shop.start_branch()
    unchanged = shop.build(AGAINST_CODE, in_subprocess=True)
    shop.break_search(QUERIES[:8])
    shop.commit()

    build = shop.build(AGAINST_CODE, in_subprocess=True)

    assert unchanged.verdict == ("PASSED", 0), unchanged.text
    assert build.verdict == ("FAILED", 1), build.text
    assert build.coverage["compared"] == 20


def test_rate_limit_is_kept(shop: Shop) -> None:
    """S48: an API of 20 calls a second, eight in flight, 'rate: 18/s'."""
    code = """
import threading, time

class Api:
    def __init__(self):
        self.lock = threading.Lock()
        self.calls = []
        self.refused = 0

    def search(self, query, k):
        with self.lock:
            now = time.monotonic()
            self.calls = [call for call in self.calls if now - call < 1]
            if len(self.calls) >= 20:
                self.refused += 1
                open("refused", "a").write("x")
                raise ConnectionError("429 too many requests")
            self.calls.append(now)
        return [f"{query.replace(' ', '-')}-1"]

@pytest.fixture(scope="session")
def retriever():
    return Api()
"""
    shop.write_conftest(code)
    queries = [f"item {number}" for number in range(90)]
    head = "concurrency: 8\nrate: 18/s\nretry: {times: 3}\nthresholds: {ndcg@10: 0.3}\n"
    shop.write_suite(make_suite(queries, head))

    build = shop.build()

    assert build.verdict == ("PASSED", 0), build.text
    refused = shop.path / "refused"
    assert not refused.exists() or len(refused.read_text()) < 15


@pytest.mark.parametrize("arguments", [("-n2",), ("-n2", "--dist=loadfile")])
def test_workers_give_the_same_report(shop: Shop, arguments: tuple[str, ...]) -> None:
    """S13: the same run with and without '-n'."""
    shop.write_suite(make_suite(QUERIES[:12]), "a.ir.yaml")
    shop.write_suite(make_suite(QUERIES[12:]), "b.ir.yaml")
    shop.start_change()
    shop.break_search(QUERIES[::3])

    alone = shop.build("--ir-baseline=git:main").data
    parallel = shop.build("--ir-baseline=git:main", *arguments, in_subprocess=True).data

    for data in (alone, parallel):
        del data["timing"]
        del data["next_steps"]
    assert json.dumps(alone) == json.dumps(parallel)


def test_workers_run_hidden_suites(shop: Shop) -> None:
    """S51: with workers, a suite that the change hides is evaluated for main as well."""
    shop.write_suite(make_suite(), "tests/shop/shop.ir.yaml")
    shop.write_suite(make_suite(QUERIES[:3]), "tests/help/help.ir.yaml")
    shop.start_change()
    shop.break_search(QUERIES[3:13])
    shop.write_ini("ir_suite_files = help.ir.yaml")

    build = shop.build("--ir-baseline=git:main", "-n2", *STRICT, in_subprocess=True)

    assert build.verdict == ("REVIEW", 1), build.text
    assert "shop" in build.last
