"""A server on loopback whose every byte a test decides."""

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
class Asked:
    """A request as it came. ``connection`` numbers the connections."""

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


Answer = Callable[[Asked], "bytes | Iterable[bytes]"]


def reply(body: object, status: str = "200 OK", **headers: str) -> bytes:
    """A whole response; what is no text goes as JSON."""
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    named = {"Content-Type": "application/json", "Content-Length": str(len(raw))}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + raw


def found(*ids: str) -> bytes:
    """The response of a search that found these."""
    return reply({"hits": [{"id": id, "title": f"title of {id}"} for id in ids]})


@dataclass
class Server:
    """``asked`` is what came so far. An empty answer closes the connection."""

    answer: Answer
    asked: list[Asked] = field(default_factory=list)
    origin: str = ""
    connections: int = 0
    stopped: threading.Event = field(default_factory=threading.Event)

    def url(self, rest: str = "/search?q={query}&size={k}") -> str:
        return self.origin + rest

    def serve(self, stream: Any, out: Any) -> None:
        self.connections += 1
        connection = self.connections
        while line := stream.readline():
            method, target, _ = line.decode().split(" ", 2)
            headers = {}
            while (header := stream.readline().strip()) != b"":
                name, _, value = header.decode("latin-1").partition(":")
                headers[name.lower()] = value.strip()
            body = stream.read(int(headers.get("content-length", 0)))
            asked = Asked(method, target, headers, body, connection)
            self.asked.append(asked)
            answer = self.answer(asked)
            parts = [answer] if isinstance(answer, bytes) else answer
            for part in parts:
                if not part or self.stopped.is_set():
                    return
                out.write(part)
                out.flush()


@contextmanager
def served(answer: Answer) -> Iterator[Server]:
    """A server for as long as the block lasts."""
    server = Server(answer)

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
            server.stopped.set()
            listener.shutdown()
