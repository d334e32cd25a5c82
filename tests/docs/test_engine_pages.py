"""The fixture of each engine's page, run against its engine over five documents."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sybil", reason="needs `pip install -e . --group test`")

from tests.docs.shown_pages import (
    DOCS,
    EVALUATORS,
    find_blocks,
    follow_page,
    list_languages,
    make_environment,
)

FOLDER = DOCS / "recipes/engines"
PAGES = sorted(path.stem for path in FOLDER.glob("*.md") if path.stem != "index")
LIBRARIES: Mapping[str, tuple[str, ...]] = {
    "bm25s": ("bm25s",),
    "duckdb": ("duckdb",),
    "elasticsearch": ("elasticsearch", "opensearchpy"),
    "faiss": ("faiss",),
    "haystack": ("haystack",),
    "lancedb": ("lancedb",),
    "langchain": ("langchain_core",),
    "llamaindex": ("llama_index.core",),
    "postgresql": ("psycopg", "pgvector", "pgserver"),
    "qdrant": ("qdrant_client",),
    "sqlite": (),
    "tantivy": ("tantivy",),
}
DOCUMENTS = {
    "51": "mesh office chair",
    "7": "kneeling chair of birch",
    "486": "desk lamp",
    "9": "wireless headphones",
    "12": "polycarbonate mat for a chair",
}
RELEVANT_TITLES = {DOCUMENTS["51"], DOCUMENTS["7"], DOCUMENTS["12"]}
MY_SHOP = f"""
DOCUMENTS = {DOCUMENTS!r}

def embed(text):
    vector = [0.0] * 16
    for word in text.split():
        vector[sum(map(ord, word)) % 16] += 1.0
    return vector
"""


def import_library(name: str) -> Any:
    """Import a library, or skip the test. ``IRQUALITY_ENGINES=all`` fails instead."""
    if os.environ.get("IRQUALITY_ENGINES") == "all":
        return importlib.import_module(name)
    return pytest.importorskip(name, exc_type=ImportError)


class SearchHandler(BaseHTTPRequestHandler):
    """Answers like Elasticsearch."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        words = request["query"]["multi_match"]["query"]
        doc_ids = [doc_id for doc_id, title in DOCUMENTS.items() if words in title]
        hits = []
        for rank, doc_id in enumerate(doc_ids[: request["size"]], start=1):
            source = {"title": DOCUMENTS[doc_id]}
            hits.append(
                {"_index": "products", "_id": doc_id, "_score": 1 / rank, "_source": source}
            )
        total = {"value": len(hits), "relation": "eq"}
        answer = {
            "took": 1,
            "timed_out": False,
            "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
            "hits": {"total": total, "max_score": 1.0, "hits": hits},
        }
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Elastic-Product", "Elasticsearch")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), SearchHandler) as search_server:
        thread = threading.Thread(target=search_server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{search_server.server_port}"
        search_server.shutdown()
        thread.join()


@pytest.fixture
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pgserver = import_library("pgserver")
    postgres = pgserver.get_server(tmp_path_factory.mktemp("postgres"))
    yield postgres.get_uri()
    postgres.cleanup()


def run_suite(folder: Path, **variables: str) -> None:
    """Run the suite in a folder, and check that the titles of all relevant documents arrive."""
    completed = subprocess.run(
        [sys.executable, "-m", "pytest", "--ir-suite", "--ir-save-runs=runs"],
        cwd=folder,
        env={**make_environment(), **variables},
        text=True,
        capture_output=True,
        check=False,
    )
    assert completed.returncode == 0, completed.stdout + completed.stderr
    for path in (folder / "runs").glob("*.jsonl"):
        text = path.read_text("utf-8")
        assert [title for title in RELEVANT_TITLES if json.dumps(title) not in text] == []


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_fixture_of_page_searches(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    # Nobody may be logged in, and a library that warns of a missing folder would fail the test.
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    for name in LIBRARIES[page]:
        import_library(name)
    variables = {"PYTHONPATH": str(tmp_path)}
    if page == "elasticsearch":
        variables["SEARCH_URL"] = request.getfixturevalue("server")
    if page == "postgresql":
        variables["DATABASE_URL"] = request.getfixturevalue("database")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_shop.py").write_text(MY_SHOP)
    follow_page(FOLDER / "index.md", tmp_path)
    suite = (tmp_path / "shop.ir.yaml").read_text()
    (tmp_path / "shop.ir.yaml").unlink()
    follow_page(FOLDER / f"{page}.md", tmp_path)
    keys = "".join(find_blocks(FOLDER / f"{page}.md", "yaml"))

    conftests = sorted(tmp_path.rglob("conftest.py"))
    assert conftests
    for conftest in conftests:
        folder = tmp_path / f"run-{conftest.parent.name}"
        folder.mkdir()
        (folder / "conftest.py").write_bytes(conftest.read_bytes())
        (folder / "shop.ir.yaml").write_text(keys + suite)
        run_suite(folder, **variables)


@pytest.mark.slow
def test_url_alone_searches(tmp_path: Path, server: str) -> None:
    (suite,) = find_blocks(FOLDER / "index.md", "yaml")
    (ini,) = find_blocks(FOLDER / "elasticsearch.md", "ini")
    (body,) = find_blocks(FOLDER / "elasticsearch.md", "json")
    (tmp_path / "search.json").write_text(body)
    (tmp_path / "pytest.ini").write_text(re.sub(r"http://127.0.0.1:\d+", server, ini))
    (tmp_path / "shop.ir.yaml").write_text(suite)

    run_suite(tmp_path, SEARCH_KEY="key-12345")


def test_index_lists_every_page() -> None:
    index = (FOLDER / "index.md").read_text("utf-8")
    (listed,) = re.findall(r"```{toctree}\n:maxdepth: 1\n\n(.*?)```", index, re.S)

    assert sorted(listed.split()) == PAGES == sorted(LIBRARIES)


@pytest.mark.parametrize("page", [*PAGES, "index"])
def test_page_names_the_language_of_every_block(page: str) -> None:
    assert list_languages(FOLDER / f"{page}.md") <= {*EVALUATORS, "{toctree}"}
