"""The engines' pages: the fixture of each is run as it is shown, against its engine, over five documents."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytest.importorskip("sybil", reason="an older environment: pip install -e '.[test]'")

from tests.docs.pages import EVALUATORS, ROOT, follow, languages, outer_environment
from tests.engines.conftest import DOCUMENTS, library

PAGES = sorted(
    path.stem for path in (ROOT / "docs/recipes/engines").glob("*.md") if path.stem != "index"
)
NEEDED = {
    "sqlite": [], "postgresql": ["psycopg", "pgvector", "pgserver"],
    "elasticsearch": ["elasticsearch", "opensearchpy"], "qdrant": ["qdrant_client"], "lancedb": ["lancedb"],
    "duckdb": ["duckdb"], "tantivy": ["tantivy"], "bm25s": ["bm25s"], "faiss": ["faiss"], "haystack": ["haystack"],
    "langchain": ["langchain_core"], "llamaindex": ["llama_index.core"],
}  # fmt: skip
TITLES = {DOCUMENTS[id] for id in ("51", "7", "12")}
MY_SHOP = f"""
DOCUMENTS = {DOCUMENTS!r}

def embed(text):
    vector = [0.0] * 16
    for word in text.split():
        vector[sum(map(ord, word)) % 16] += 1.0
    return vector
"""


class Server(BaseHTTPRequestHandler):
    """Elasticsearch's search, in the form of its documentation."""

    def _found(self, query: str, size: int) -> list[str]:
        return [id for id, title in DOCUMENTS.items() if query in title][:size]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        ids = self._found(body["query"]["multi_match"]["query"], body["size"])
        hits = [
            {"_index": "products", "_id": id, "_score": 1 / n, "_source": {"title": DOCUMENTS[id]}}
            for n, id in enumerate(ids, 1)
        ]
        total = {"value": len(hits), "relation": "eq"}
        found = {"total": total, "max_score": 1.0, "hits": hits}
        shards = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
        self._answer({"took": 1, "timed_out": False, "_shards": shards, "hits": found})

    def _answer(self, data: object) -> None:
        body = json.dumps(data).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Elastic-Product", "Elasticsearch")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@pytest.fixture
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as served:
        thread = threading.Thread(target=served.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()
        thread.join()


@pytest.fixture
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pgserver = library("pgserver")
    postgres = pgserver.get_server(tmp_path_factory.mktemp("postgres"))
    yield postgres.get_uri()
    postgres.cleanup()


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_fixture_of_a_page_finds_what_is_there(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    # Where nobody is logged in there is no such folder, and a warning of it would be an error.
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    for name in NEEDED[page]:
        library(name)
    if page == "elasticsearch":
        monkeypatch.setenv("SEARCH_URL", request.getfixturevalue("server"))
    if page == "postgresql":
        monkeypatch.setenv("DATABASE_URL", request.getfixturevalue("database"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_shop.py").write_text(MY_SHOP)
    follow(ROOT / "docs/recipes/engines/index.md", tmp_path)
    suite = (tmp_path / "shop.ir.yaml").read_text()
    follow(ROOT / f"docs/recipes/engines/{page}.md", tmp_path)
    keys = re.findall(
        r"```yaml\n(.*?)```", (ROOT / f"docs/recipes/engines/{page}.md").read_text("utf-8"), re.S
    )
    for conftest in tmp_path.rglob("conftest.py"):
        (conftest.parent / "shop.ir.yaml").write_text("".join(keys) + suite)
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "--ir-suite", "--ir-save-runs=runs", "-p", "no:cacheprovider"],
            cwd=conftest.parent, env={**outer_environment(), "PYTHONPATH": str(tmp_path)},
            text=True, capture_output=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        for kept in (conftest.parent / "runs").glob("*.jsonl"):
            text = kept.read_text("utf-8")
            assert {title for title in TITLES if json.dumps(title) not in text} == set()
        (conftest.parent / "shop.ir.yaml").unlink()
        conftest.unlink()


@pytest.mark.slow
def test_a_url_alone_finds_what_is_there(tmp_path: Path, server: str) -> None:
    text = (ROOT / "docs/recipes/engines/elasticsearch.md").read_text("utf-8")
    (suite,) = re.findall(
        r"```yaml\n(.*?)```", (ROOT / "docs/recipes/engines/index.md").read_text("utf-8"), re.S
    )
    (ini,) = re.findall(r"```ini\n(.*?)```", text, re.S)
    for body in re.findall(r"```json\n(.*?)```", text, re.S):
        (tmp_path / "search.json").write_text(body)
    (tmp_path / "pytest.ini").write_text(re.sub(r"http://127.0.0.1:\d+", server, ini))
    (tmp_path / "shop.ir.yaml").write_text(suite)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--ir-suite", "--ir-save-runs=runs", "-p", "no:cacheprovider"],
        cwd=tmp_path, env={**outer_environment(), "SEARCH_KEY": "key-12345"}, text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (kept,) = (tmp_path / "runs").glob("*.jsonl")
    assert all(json.dumps(title) in kept.read_text("utf-8") for title in TITLES)


def test_every_page_is_listed() -> None:
    index = (ROOT / "docs/recipes/engines/index.md").read_text("utf-8")
    (listed,) = re.findall(r"```{toctree}\n:maxdepth: 1\n\n(.*?)```", index, re.S)
    assert sorted(listed.split()) == PAGES
    assert sorted(NEEDED) == PAGES


@pytest.mark.parametrize("page", [*PAGES, "index"])
def test_every_block_says_what_it_is(page: str) -> None:
    assert languages(ROOT / f"docs/recipes/engines/{page}.md") <= {*EVALUATORS, "{toctree}"}
