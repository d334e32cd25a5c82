"""Retrievers that the ini file declares, and the fixture ``bm25_retriever``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tests.project import Project

with suppress(ImportError):
    import numpy  # noqa: F401 - it cannot be imported twice in a process

SUITE = "queries:\n  - {query: red shoes, must_find: [a]}\n"
PROGRAM = """\
import json, sys
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "hits": ["a", "b"]}), flush=True)
"""


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps(
            {"hits": [{"id": "a"}, {"id": "b"}], "key": self.headers.get("Key")}
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    """Return the address of a search service."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/?q={{query}}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def shop(project: Project) -> Project:
    project.write("conftest.py", "")
    project.write_suite(SUITE)
    return project


def test_url_is_a_retriever(shop: Project, url: str) -> None:
    shop.write_ini(f"ir_url = {url}")

    assert shop.run().ret == 0


def test_fixture_of_the_project_replaces_the_url(shop: Project) -> None:
    shop.write_ini("ir_url = http://127.0.0.1:1/?q={query}")
    shop.write_conftest("@pytest.fixture\ndef retriever(): return lambda query: ['a']\n")

    assert shop.run().ret == 0


def test_program_is_a_retriever(shop: Project) -> None:
    shop.write("answer.py", PROGRAM)
    shop.write_ini(f"ir_command = {sys.executable} answer.py")

    assert shop.run().ret == 0


def test_named_retrievers_are_fixtures_and_the_usual_name_is_each_of_them(
    shop: Project, url: str
) -> None:
    shop.write("answer.py", PROGRAM)
    shop.write_ini(f"ir_url = web: {url}\nir_command = program: {sys.executable} answer.py")
    shop.write_suite("retriever: web\n" + SUITE, "web.ir.yaml")

    result = shop.run("-v")

    result.stdout.fnmatch_lines(
        ["*shop.ir.yaml::*[[]web] PASSED*", "*shop.ir.yaml::*[[]program] PASSED*"]
    )
    result.stdout.fnmatch_lines(["*web.ir.yaml::* PASSED*"])
    assert result.ret == 0


def test_two_retrievers_of_one_name_are_refused(shop: Project) -> None:
    shop.write_ini("ir_url =\n  a: http://x/{query}\n  a: http://y/{query}")

    result = shop.run()

    result.stderr.fnmatch_lines(["ERROR: *two retrievers with the name 'a'*"])
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_secret_of_the_environment_is_masked(
    shop: Project, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_KEY", "s3cr3t-value")
    shop.write_ini(f"ir_url = {url}\nir_headers = Key: $SHOP_KEY")

    result = shop.run("--ir-json=out.json", "--ir-save-runs=runs")

    assert "s3cr3t-value" not in result.stdout.str()
    for path in shop.path.rglob("*"):
        assert not path.is_file() or b"s3cr3t-value" not in path.read_bytes()


def test_one_server_for_both_sides_is_refused(shop: Project, url: str) -> None:
    shop.write_ini(f"ir_url = {url}")
    shop.commit()
    shop.start_branch()

    result = shop.run("--ir-baseline=run:main")

    assert result.ret != 0
    assert "{port}" in result.stdout.str() + result.stderr.str()


def test_preparation_runs_once_before_the_program(shop: Project) -> None:
    shop.write("answer.py", PROGRAM)
    prepare = f"{sys.executable} -c \"open('prepared.txt', 'a').write('x')\""
    shop.write_ini(f"ir_command = {sys.executable} answer.py\nir_prepare = {prepare}")
    shop.write_suite(SUITE, "other.ir.yaml")

    assert shop.run().ret == 0
    assert shop.read("prepared.txt") == "x"


def test_bm25_searches_the_corpus(project: Project) -> None:
    pytest.importorskip("bm25s")
    rows = [{"id": "a", "text": "red leather shoes"}, {"id": "b", "text": "blue suede boots"}]
    project.write("corpus.jsonl", "\n".join(map(json.dumps, rows)) + "\n")
    project.write_suite("retriever: bm25_retriever\ncorpus: {files: corpus.jsonl}\n" + SUITE)

    assert project.run().ret == 0


def test_bm25_needs_a_corpus(project: Project) -> None:
    project.write_suite("retriever: bm25_retriever\n" + SUITE)

    result = project.run()

    result.stdout.fnmatch_lines(["*'bm25_retriever' needs the key 'corpus'*"])
    assert result.ret == 2


def test_suite_is_compared_with_the_yardstick(project: Project) -> None:
    pytest.importorskip("bm25s")
    rows = [
        {"id": "a", "text": "red leather shoes"},
        {"id": "b", "text": "blue suede boots"},
        {"id": "c", "text": "green rubber sandals"},
    ]
    project.write("corpus.jsonl", "\n".join(map(json.dumps, rows)) + "\n")
    project.write_suite(
        "baseline: {retriever: bm25_retriever}\ncorpus: {files: corpus.jsonl}\n"
        "thresholds: {mrr@10: {max_drop: 0.1}}\n"
        "queries:\n"
        "  - {query: red shoes, relevant: {a: 1, c: 0}}\n"
        "  - {query: blue boots, relevant: {b: 1, a: 0}}\n"
    )
    project.write_rankings({"red shoes": ["c"], "blue boots": ["b", "a"]})

    result = project.run("--ir-markdown=report.md")

    assert result.ret == 1
    headline = "retriever is worse than bm25_retriever for 1 of 2 queries"
    output = result.stdout.str()
    assert f'{headline}. Only bm25_retriever finds relevant documents for "red shoes".' in output
    assert "bm25_retriever  retriever  difference  threshold" in output
    assert "Search got worse" not in output
    assert "lost all" not in output
    assert "accept" not in output  # An update would not change what BM25 returns.
    markdown = project.read("report.md")
    assert "| query | bm25\\_retriever | retriever | difference |" in markdown
    assert "**Worse than bm25\\_retriever**" in markdown
    assert "| red shoes |" in markdown.partition("Found only by bm25")[2]
