"""A server on loopback of which a test decides every byte."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class HttpRequest:
    """A request as it came, with the number of its connection."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    connection: int

    @property
    def params(self) -> dict[str, str]:
        query = parse_qs(urlsplit(self.target).query, keep_blank_values=True)
        return {name: values[-1] for name, values in query.items()}

    @property
    def query(self) -> str:
        return self.params["q"]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Respond = Callable[[HttpRequest], "bytes | Iterable[bytes]"]


def make_response(body: object, status: str = "200 OK", **headers: str) -> bytes:
    """Make a complete response. What is no text goes as JSON."""
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    named = {"Content-Type": "application/json", "Content-Length": str(len(raw))}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + raw


def make_hits(*doc_ids: str) -> bytes:
    """Make the response of a search that found these documents."""
    return make_response(
        {"hits": [{"id": doc_id, "title": f"Title {doc_id}"} for doc_id in doc_ids]}
    )


@dataclass
class LoopbackServer:
    """A server that notes its requests. An empty part of a response closes the connection."""

    respond: Respond
    requests: list[HttpRequest] = field(default_factory=list)
    origin: str = ""
    connection_count: int = 0
    has_stopped: threading.Event = field(default_factory=threading.Event)

    def url(self, rest: str = "/search?q={query}&size={k}") -> str:
        return self.origin + rest

    def serve(self, stream: Any, out: Any) -> None:
        self.connection_count += 1
        connection = self.connection_count
        while line := stream.readline():
            method, target, _ = line.decode().split(" ", 2)
            headers = {}
            while (header := stream.readline().strip()) != b"":
                name, _, value = header.decode("latin-1").partition(":")
                headers[name.lower()] = value.strip()
            body = stream.read(int(headers.get("content-length", 0)))
            request = HttpRequest(method, target, headers, body, connection)
            self.requests.append(request)
            response = self.respond(request)
            parts = [response] if isinstance(response, bytes) else response
            for part in parts:
                if not part or self.has_stopped.is_set():
                    return
                out.write(part)
                out.flush()


@contextmanager
def open_server(respond: Respond) -> Iterator[LoopbackServer]:
    """Serve for as long as the block lasts."""
    server = LoopbackServer(respond)

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            with suppress(OSError, ValueError):
                server.serve(self.rfile, self.wfile)

    class Listener(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False
        allow_reuse_address = True
        request_queue_size = 64

    with Listener(("127.0.0.1", 0), Handler) as listener:
        server.origin = f"http://127.0.0.1:{listener.server_address[1]}"
        threading.Thread(target=listener.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield server
        finally:
            server.has_stopped.set()
            listener.shutdown()
