"""What the ini file declares: retrievers, the server of ``ir_serve``, and ``ir_prepare``."""

from __future__ import annotations

import re
import shlex
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from pytest_irquality.retrieval import service
from pytest_irquality.retrieval.collect import collect_run
from pytest_irquality.retrieval.errors import RetrieverError
from pytest_irquality.retrieval.http import UrlRetriever
from pytest_irquality.retrieval.service import RetrieverConfig, Server
from pytest_irquality.suite.model import Query
from tests.retrieval.servers import make_response, open_server

PYTHON = shlex.quote(sys.executable)
URL = "http://127.0.0.1:{port}/?q={query}"
SEARCH_SERVER = """
import http.server, json, sys, time

class Search(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"hits": ["d1"]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass

print("loading", flush=True)
time.sleep(0.3)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Search).serve_forever()
"""


def open_retriever(config: RetrieverConfig, server: Server) -> UrlRetriever:
    """Wait for the server of a configuration, as a fixture does."""
    line = config.list_retrievers()["retriever"].line
    retriever = UrlRetriever(line, config.headers, config.folder, config.secrets, server)
    server.wait_until_ready(retriever.check_ready)
    return retriever


def start_and_open(config: RetrieverConfig) -> None:
    """Start the server of a configuration, wait for it, and end it."""
    server = config.start_server()
    try:
        open_retriever(config, server)
    finally:
        server.close()


def test_retrievers_have_names() -> None:
    config = RetrieverConfig(
        urls=["http://h/x?q={query}", "bm25_retriever: http://h/y?q={query}"],
        commands=["node_retriever: node search.mjs"],
    )

    retrievers = config.list_retrievers()

    assert retrievers == {
        "retriever": ("ir_url", "http://h/x?q={query}"),
        "bm25_retriever": ("ir_url", "http://h/y?q={query}"),
        "node_retriever": ("ir_command", "node search.mjs"),
    }
    assert not any(retriever.has_port for retriever in retrievers.values())


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (RetrieverConfig(urls=[URL]), "{port} needs an 'ir_serve' that has it"),
        (RetrieverConfig(urls=[URL], serve="node server.mjs"), "needs an 'ir_serve' that has it"),
        (RetrieverConfig(urls=["http://h/?q={query}"], serve="node {port}"), "no 'ir_url' has its {port}"),
    ],
)  # fmt: skip
def test_a_configuration_that_does_not_fit_is_an_error(
    config: RetrieverConfig, message: str
) -> None:
    with pytest.raises(RetrieverError) as raised:
        config.list_retrievers()

    assert message in str(raised.value)


def test_both_sides_of_a_run_must_not_share_a_server() -> None:
    RetrieverConfig(urls=[URL], serve="node {port}").refuse_shared_server()
    RetrieverConfig(commands=["node x"]).refuse_shared_server()

    with pytest.raises(RetrieverError, match="both branches would use one server"):
        RetrieverConfig(urls=["http://h/?q={query}"]).refuse_shared_server()


def test_a_server_is_waited_for_and_ended(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SEARCH_SERVER)
    config = RetrieverConfig([URL], serve=f"{PYTHON} server.py {{port}}", folder=tmp_path)
    server = config.start_server()
    address = f"http://127.0.0.1:{server.port}/?q=x"

    service = open_retriever(config, server)
    run = collect_run(service, [Query("q", "desk")])
    service.close()
    server.close()

    assert run.answers["desk"][0].doc_ids == ("d1",)
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(address, timeout=5)


def test_a_server_that_ends_shows_what_it_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEA_KEY", "tok-12345")
    (tmp_path / "server.py").write_text(
        "import os, sys\nsys.exit('x' * 70_000 + '\\n' + os.environ['TEA_KEY'] + ' is unknown')"
    )
    config = RetrieverConfig(
        [URL], headers=["X-Key: $TEA_KEY"], serve=f"{PYTHON} server.py {{port}}", folder=tmp_path
    )
    server = config.start_server()

    with pytest.raises(RetrieverError, match=r"exited with status 1. It wrote '\*\*\* is unknown'"):
        open_retriever(config, server)
    server.close()


def test_a_server_that_never_listens_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "START_TIMEOUT_S", 0.3)
    (tmp_path / "server.py").write_text("import time\ntime.sleep(60)")
    config = RetrieverConfig([URL], serve=f"{PYTHON} server.py {{port}}", folder=tmp_path)

    with pytest.raises(RetrieverError) as raised:
        start_and_open(config)

    assert re.search(
        r" is not ready after \d s\. No answer: .*refused.* wrote nothing", str(raised.value)
    )


LISTENER = """
import socket, sys, time

listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
connections = []
while True:
    connection, _ = listener.accept()
    connections.append(connection)
    connection.recv(1000)
"""


def test_a_server_that_accepts_but_never_answers_is_not_waited_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "READY_TIMEOUT_S", 0.1)
    monkeypatch.setattr(service, "SILENCE_TIMEOUT_S", 0.3)
    (tmp_path / "server.py").write_text(LISTENER)
    config = RetrieverConfig([URL], serve=f"{PYTHON} server.py {{port}}", folder=tmp_path)

    with pytest.raises(RetrieverError, match=r"accepts connections, but answers no query within"):
        start_and_open(config)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("200 OK", ""),
        ("404 Not Found", ""),
        ("502 Bad Gateway", "HTTP 502 Bad Gateway"),
        ("503 Service Unavailable", "HTTP 503 Service Unavailable"),
    ],
)
def test_a_server_that_is_loading_is_not_ready(status: str, reason: str) -> None:
    with open_server(lambda request: make_response({}, status)) as server:
        retriever = UrlRetriever(server.url(), (), Path(), RetrieverConfig().secrets)

        assert retriever.check_ready(60) == reason
        retriever.close()


def test_a_server_that_ends_while_it_is_asked_is_not_waited_for(tmp_path: Path) -> None:
    text = LISTENER.replace("connection.recv(1000)", "sys.exit('out of memory')")
    (tmp_path / "server.py").write_text(text)
    config = RetrieverConfig([URL], serve=f"{PYTHON} server.py {{port}}", folder=tmp_path)

    with pytest.raises(RetrieverError, match=r"exited with status 1\. It wrote 'out of memory'"):
        start_and_open(config)


def test_prepare_runs_commands_in_order(tmp_path: Path) -> None:
    (tmp_path / "step.py").write_text("import sys\nopen('log', 'a').write(sys.argv[1])")
    commands = [f"{PYTHON} step.py {number}" for number in range(3)]

    RetrieverConfig(prepare=commands, folder=tmp_path).run_prepare()

    assert (tmp_path / "log").read_text() == "012"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            f"{PYTHON} -c 'raise SystemExit(\"no disk\")'",
            "exited with status 1. It wrote 'no disk'",
        ),
        ("no-such-program", "no-such-program cannot be started."),
        ('node "x', "cannot be started. No closing quotation"),
    ],
)
def test_a_command_that_fails_ends_the_preparation(
    tmp_path: Path, command: str, message: str
) -> None:
    with pytest.raises(RetrieverError, match=r"^Ini key ir_prepare: ") as raised:
        RetrieverConfig(prepare=[command], folder=tmp_path).run_prepare()

    assert message in str(raised.value)
