"""A retriever that is a URL: ``ir_url = POST http://127.0.0.1:9200/shop/_search @search.json``."""

from __future__ import annotations

import json
import re
import selectors
import socket
import string
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pytest_irquality.retrieval.call import RetrieverError
from pytest_irquality.retrieval.jobs import TimedOut
from pytest_irquality.retrieval.secrets import Secrets, header
from pytest_irquality.retrieval.server import PORT, Server
from pytest_irquality.retrieval.service import LARGEST, Service, ServiceError, ended_after

WRITTEN = re.compile(
    r"(?:(?P<method>[A-Z]+)\s+)?(?P<origin>https?://)"
    r"(?P<host>[^/?#\s@{}]+(?P<port>:\{port\})?)(?P<target>/[^#\s]*)(?:\s+@(?P<file>.+))?"
)
PLACE = re.compile(r"\{([^{}]*)\}")
KNOWN = re.compile(r"query|k|params\.(?!(?:query|k)$)[A-Za-z_]\w*")
LOOK = 5.0  # seconds in which a server that is started must answer, or is asked again
REFUSED = (502, 503, 504)  # by a gateway, or by a server that is loading


def has_port(line: str) -> bool:
    """Tell whether a line of ``ir_url`` asks the server of ``ir_serve``, at its ``{port}``."""
    found = WRITTEN.fullmatch(line)
    return bool(found and found["port"])


class Endpoint(Service):
    """A URL that answers queries with JSON. Connections are kept, one for each call in flight.

    ``server`` is the one that was started for it.
    """

    key = "ir_url"

    def __init__(
        self,
        line: str,
        headers: Sequence[str],
        folder: Path,
        secrets: Secrets,
        server: Server | None = None,
    ) -> None:
        """Read a line of ``ir_url``, and those of ``ir_headers``. Raises ``RetrieverError``."""
        super().__init__(secrets)
        self.server = server
        if server:
            line = line.replace(PORT, str(server.port), 1)
        found = WRITTEN.fullmatch(line)
        if not found:
            raise RetrieverError(
                "ini key ir_url must have lines of '[NAME: ][METHOD ]http://HOST/PATH[ @FILE]',"
                " with placeholders behind the host only, and no user: that is a line of ir_headers"
            )
        self.host, self.origin = found["host"], found["origin"] + found["host"]
        self.target = quote(found["target"], safe=string.punctuation)
        self.body = _template(folder, found["file"]) if found["file"] else None
        self.method = found["method"] or ("POST" if self.body else "GET")
        self.places = self._places()
        self.headers = {"Accept": "application/json", "User-Agent": "pytest-irquality"}
        if self.body:
            self.headers["Content-Type"] = "application/json"
        self.headers.update(map(header, headers))

    def _places(self) -> list[str]:
        """The placeholders of the path, of what is behind it, and of the body."""
        places = PLACE.findall(self.target)
        for place in places:
            if not KNOWN.fullmatch(place):
                raise RetrieverError(
                    f"ir_url: {{{place}}} is no {{query}}, {{k}} or {{params.NAME}}"
                )
        _put_in(self.body, places.append)
        if "query" not in places:
            raise RetrieverError("ir_url: {query} stands nowhere, or in its file within a string")
        return places

    def within(self, seconds: float) -> Callable[..., Any]:
        """The function that asks it, and needs all params that have a place, and no others."""
        search = super().within(seconds)
        asked = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in ("query", "k")]
        names = sorted({place.partition(".")[2] for place in self.places} - {""})
        params = [Parameter(name, Parameter.KEYWORD_ONLY) for name in names]
        vars(search)["__signature__"] = Signature([*asked, *params])
        return search

    def ask(self, query: str, k: int, params: Mapping[str, Any], seconds: float) -> Any:
        """The answer; a redirect is none."""
        asked = {"query": query, "k": k, **{f"params.{name}": params[name] for name in params}}
        target, body = self._request(asked)
        shown = self.secrets.mask(f"{self.method} {self.origin}{target}")
        try:
            return self._answer(target, body, time.monotonic() + seconds)
        except TimeoutError:
            raise TimedOut(seconds, shown) from None
        except ServiceError as error:
            said = f"{shown} said {error.detail!r}" if error.detail else shown
            raise ServiceError(error.cause, said, error.response) from None
        except (OSError, HTTPException, ValueError) as error:
            if self.server and (ended := self.server.ended()):
                raise ServiceError(ended, shown) from None
            said = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
            raise ServiceError(f"no answer: {self.secrets.quoted(said.encode())}", shown) from None

    def is_ready(self) -> bool:
        """Tell whether anything comes back but the refusal of a server that is loading."""
        asked: dict[str, Any] = dict.fromkeys(self.places, "ready") | {"k": 1}
        try:
            said, _ = self._reply(*self._request(asked), time.monotonic() + LOOK)
        except ServiceError:
            return True
        except (OSError, HTTPException):
            return False
        return said.status not in REFUSED

    def _request(self, asked: Mapping[str, Any]) -> tuple[str, bytes | None]:
        """The target and the body that ask this."""
        body = json.dumps(_put_in(self.body, asked.__getitem__)).encode() if self.body else None
        return self._filled(asked), body

    def _filled(self, asked: Mapping[str, Any]) -> str:
        """The path and what is behind it, every placeholder percent-encoded."""

        def encoded(place: re.Match[str]) -> str:
            value = asked[place[1]]
            return quote(value if isinstance(value, str) else json.dumps(value), safe="")

        target = PLACE.sub(encoded, self.target)
        if not {".", ".."}.isdisjoint(target.partition("?")[0].split("/")):
            raise ServiceError("no part of a path may be . or ..", target)
        return target

    def _answer(self, target: str, body: bytes | None, due: float) -> Any:
        """The content of the last response's body, where it is one of success."""
        response, said = self._reply(target, body, due)
        if not 200 <= response.status < 300:
            reason = f"HTTP {response.status} {response.reason}"
            if where := response.headers.get("Location"):
                reason += f", to {where}"
            reason = self.secrets.quoted(reason.encode())
            raise ServiceError(reason, self.secrets.quoted(said), response)
        try:
            return self.checked(json.loads(said))
        except (ValueError, RecursionError):
            raise ServiceError("its answer is no JSON", self.secrets.quoted(said)) from None

    def _reply(self, target: str, body: bytes | None, due: float) -> tuple[HTTPResponse, bytes]:
        """One request, and its response with its body."""
        connection, used = self._connection(due)
        said, sock = None, connection.sock
        with ended_after(due - time.monotonic(), lambda: _cut(sock)) as late:
            try:
                connection.request(self.method, target, body, self.headers)
                with connection.getresponse() as response:
                    said = _read(response)
            except Exception as error:
                connection.close()
                # One that was kept may have been closed when we had just asked.
                if not (late.is_set() or (used and isinstance(error, ConnectionError))):
                    raise
        if late.is_set():
            connection.close()
            raise TimeoutError
        if said is None:
            return self._reply(target, body, due)
        if connection.sock:
            self.kept.append(connection)
        return response, said

    def _connection(self, due: float) -> tuple[HTTPConnection, bool]:
        """A connection, and True if it was used before.

        One with anything to read is of no more use: it was closed, or holds what nobody asked for.
        """
        seconds = max(due - time.monotonic(), 0.001)
        for connection in self.taken():
            if _is_quiet(connection.sock):
                connection.sock.settimeout(seconds)
                return connection, True
            connection.close()
        kind = HTTPSConnection if self.origin.startswith("https") else HTTPConnection
        connection = kind(self.host, timeout=seconds)
        connection.connect()
        return connection, False


def _template(folder: Path, name: str) -> Any:
    """The template that a body is made of."""
    try:
        return json.loads((folder / name.strip()).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise RetrieverError(f"ir_url: {name} cannot be read as JSON: {error}") from None


def _put_in(body: Any, value_of: Callable[[str], Any]) -> Any:
    """A body with values in place of the strings that are nothing but a placeholder."""
    if isinstance(body, dict):
        return {name: _put_in(one, value_of) for name, one in body.items()}
    if isinstance(body, list):
        return [_put_in(one, value_of) for one in body]
    found = PLACE.fullmatch(body) if isinstance(body, str) else None
    return value_of(found[1]) if found and KNOWN.fullmatch(found[1]) else body


def _read(response: HTTPResponse) -> bytes:
    """The body of a response, as far as it may be long."""
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise ServiceError("its answer is compressed, which was not asked for")
    body = None
    with suppress(IncompleteRead):
        body = response.read(LARGEST + 1)
    if body is not None and len(body) > LARGEST:
        raise ServiceError(f"its answer is larger than {LARGEST >> 20} MB")
    if body is None or response.length:  # that is left
        raise ServiceError("its answer was cut off")
    return body


def _is_quiet(sock: socket.socket) -> bool:
    """Tell whether nothing is there to be read, not even an end."""
    with selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_READ)
        return not selector.select(0)


def _cut(sock: socket.socket) -> None:
    """End whatever is under way on a connection, from another thread."""
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
