"""A URL as the retriever: ``ir_url = POST http://127.0.0.1:9200/shop/_search @search.json``."""

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

from pytest_irquality.io.decoding import JsonError, parse_json
from pytest_irquality.io.files import FileError, read_bytes
from pytest_irquality.io.secrets import Secrets
from pytest_irquality.retrieval import service
from pytest_irquality.retrieval.errors import RetrieverError, ServiceError, make_timeout

# [METHOD ]http://HOST[:{port}]/PATH[ @FILE]. The host has no other placeholder and no credentials.
_LINE = re.compile(
    r"(?:(?P<method>[A-Z]+)\s+)?(?P<origin>https?://)"
    r"(?P<host>[^/?#\s@{}]+(?::\{port\})?)(?P<target>/[^#\s]*)(?:\s+@(?P<file>.+))?"
)
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_KNOWN_PLACEHOLDER = re.compile(r"query|k|params\.(?!(?:query|k)$)[A-Za-z_]\w*")
# The statuses of a gateway without its server, and of a server that is loading.
_NOT_READY_STATUSES = (502, 503, 504)


class UrlRetriever(service.Service):
    """A URL that answers queries with JSON. A connection is kept for each call in flight.

    Args:
        line: A line of ``ir_url`` without its name.
        headers: The lines of ``ir_headers``.
        folder: The folder of the ini file, to which the file in the line is relative.
        secrets: Texts that must not appear in answers and errors.
        server: The server of ``ir_serve``, whose port replaces ``{port}``.

    Raises:
        RetrieverError: A line or the file cannot be read.
    """

    key = "ir_url"

    def __init__(
        self,
        line: str,
        headers: Sequence[str],
        folder: Path,
        secrets: Secrets,
        server: service.Server | None = None,
    ) -> None:
        super().__init__(secrets)
        self._server = server
        if server:
            line = line.replace(service.PORT, str(server.port), 1)
        match = _LINE.fullmatch(line)
        if not match:
            raise RetrieverError(
                "Ini key ir_url: a line must be '[NAME: ][METHOD ]http://HOST/PATH[ @FILE]'."
                " Placeholders may only follow the host, and credentials belong under 'ir_headers'"
            )
        self._host = match["host"]
        self._origin = match["origin"] + match["host"]
        self._target = quote(match["target"], safe=string.punctuation)
        self._template = _read_template(folder, match["file"]) if match["file"] else None
        self._method = match["method"] or ("GET" if self._template is None else "POST")
        self._placeholders = self._find_placeholders()
        self._headers = {"Accept": "application/json", "User-Agent": "pytest-irquality"}
        if self._template is not None:
            self._headers["Content-Type"] = "application/json"
        for header in headers:
            name, value = service.parse_header(header)
            self._headers[name] = value

    def bind(self, timeout: float) -> Callable[..., Any]:
        """Return a function that needs the parameters with a placeholder, and no others."""
        search = super().bind(timeout)
        parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in ("query", "k")]
        parameters += [Parameter(name, Parameter.KEYWORD_ONLY) for name in self._list_params()]
        vars(search)["__signature__"] = Signature(parameters)
        return search

    def call(self, query: str, k: int, params: Mapping[str, Any], timeout: float) -> Any:
        """Return the answer to a query. Redirects are not followed."""
        values = {"query": query, "k": k}
        values.update({f"params.{name}": value for name, value in params.items()})
        target, body = self._make_request(values)
        shown = self.secrets.mask(f"{self._method} {self._origin}{target}")
        try:
            return self._get_answer(target, body, time.monotonic() + timeout)
        except TimeoutError:
            raise make_timeout(timeout, shown) from None
        except ServiceError as error:
            detail = f"{shown} answered {error.detail}" if error.detail else shown
            raise ServiceError(error.cause, detail, error.response) from None
        except (OSError, HTTPException, ValueError) as error:
            reason = self._server.describe_end() if self._server else ""
            if not reason:
                said = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
                reason = f"No answer: {self.secrets.mask(' '.join(said.split()))}"
            raise ServiceError(reason, shown) from None

    def check_ready(self, timeout: float) -> str:
        """Send a query, and return why the server is not ready, or an empty string.

        Raises:
            CallTimeout: There was no response in time.
        """
        try:
            self.call("ready", 1, dict.fromkeys(self._list_params(), "ready"), timeout)
        except ServiceError as error:
            status = getattr(error.response, "status", None)
            if status in _NOT_READY_STATUSES or error.cause.startswith("No answer"):
                return error.cause
        return ""

    def _list_params(self) -> list[str]:
        """Return the names of the parameters that have a placeholder."""
        return sorted({place.partition(".")[2] for place in self._placeholders} - {""})

    def _find_placeholders(self) -> list[str]:
        placeholders = _PLACEHOLDER.findall(self._target)
        for name in placeholders:
            if not _KNOWN_PLACEHOLDER.fullmatch(name):
                known = "{query}, {k} or {params.NAME}"
                raise RetrieverError(f"Ini key ir_url: {{{name}}} is unknown. Use {known}")
        _fill_template(self._template, placeholders.append)
        if "query" not in placeholders:
            hint = "write {query} in the URL, or alone in a string of the body"
            raise RetrieverError(f"Ini key ir_url: {hint}")
        return placeholders

    def _make_request(self, values: Mapping[str, Any]) -> tuple[str, bytes | None]:
        """Return the target and the body, with values in place of the placeholders."""

        def encode(match: re.Match[str]) -> str:
            value = values[match[1]]
            return quote(value if isinstance(value, str) else json.dumps(value), safe="")

        target = _PLACEHOLDER.sub(encode, self._target)
        if not {".", ".."}.isdisjoint(target.partition("?")[0].split("/")):
            raise ServiceError("No part of a path may be . or ..", target)
        if self._template is None:
            return target, None
        return target, json.dumps(_fill_template(self._template, values.__getitem__)).encode()

    def _get_answer(self, target: str, body: bytes | None, deadline: float) -> Any:
        response, data = self._send(target, body, deadline)
        if not 200 <= response.status < 300:
            cause = f"HTTP {response.status} {response.reason}"
            location = response.headers.get("Location")
            if location:
                cause += f", to {location}"
            cause = " ".join(self.secrets.mask(cause).split())
            raise ServiceError(cause, self.quote(data), response)
        try:
            answer = parse_json(data)
        except JsonError:
            raise ServiceError("The answer is not JSON", self.quote(data)) from None
        return self._check_answer(answer)

    def _send(self, target: str, body: bytes | None, deadline: float) -> tuple[HTTPResponse, bytes]:
        """Send a request, and return its response with its body."""
        connection, was_used = self._get_connection(deadline)
        data, sock = None, connection.sock
        seconds_left = deadline - time.monotonic()
        with service.limit_time(seconds_left, lambda: _cut_connection(sock)) as is_over:
            try:
                connection.request(self._method, target, body, self._headers)
                with connection.getresponse() as response:
                    data = _read_body(response)
            except Exception as error:
                connection.close()
                # The server may close an idle connection just when it is used again.
                was_closed = was_used and isinstance(error, ConnectionError)
                if not (is_over.is_set() or was_closed):
                    raise
        if is_over.is_set():
            connection.close()
            raise TimeoutError
        if data is None:  # Only an idle connection failed, so use another one.
            return self._send(target, body, deadline)
        if connection.sock:
            self._idle.append(connection)
        return response, data

    def _get_connection(self, deadline: float) -> tuple[HTTPConnection, bool]:
        """Return a connection, and whether it was used before."""
        timeout = max(deadline - time.monotonic(), 0.001)
        for connection in self._take_idle():
            # If there is something to read, the server closed it, or sent what was not requested.
            if _has_nothing_to_read(connection.sock):
                connection.sock.settimeout(timeout)
                return connection, True
            connection.close()
        connect = HTTPSConnection if self._origin.startswith("https") else HTTPConnection
        connection = connect(self._host, timeout=timeout)
        connection.connect()
        return connection, False


def _read_template(folder: Path, name: str) -> Any:
    try:
        return parse_json(read_bytes(folder / name.strip()))
    except (FileError, JsonError) as error:
        raise RetrieverError(f"Ini key ir_url: {name} cannot be read. {error}") from None


def _fill_template(template: Any, get_value: Callable[[str], Any]) -> Any:
    """Return a template in which each string that is a placeholder is replaced by its value."""
    if isinstance(template, dict):
        return {name: _fill_template(value, get_value) for name, value in template.items()}
    if isinstance(template, list):
        return [_fill_template(value, get_value) for value in template]
    match = _PLACEHOLDER.fullmatch(template) if isinstance(template, str) else None
    if match and _KNOWN_PLACEHOLDER.fullmatch(match[1]):
        return get_value(match[1])
    return template


def _read_body(response: HTTPResponse) -> bytes:
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise ServiceError("The answer is compressed, but compression was not requested")
    body = None
    with suppress(IncompleteRead):
        body = response.read(service.MAX_ANSWER_BYTES + 1)
    if body is not None and len(body) > service.MAX_ANSWER_BYTES:
        raise ServiceError(f"The answer is larger than {service.MAX_ANSWER_BYTES >> 20} MB")
    if body is None or response.length:  # the number of bytes that were not read
        raise ServiceError("The answer was cut off")
    return body


def _has_nothing_to_read(sock: socket.socket) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_READ)
        return not selector.select(0)


def _cut_connection(sock: socket.socket) -> None:
    """End a connection from another thread, so that it stops waiting."""
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
