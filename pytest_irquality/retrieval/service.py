"""Retrievers outside this process: their configuration, their server and their base class.

``http`` has the retriever of ``ir_url`` and ``program`` that of ``ir_command``.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from html import unescape
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from pytest_irquality.io import dataclass
from pytest_irquality.io.processes import SupervisedProcess, find_free_port, split_command
from pytest_irquality.io.secrets import Secrets, find_variables
from pytest_irquality.retrieval.errors import CallTimeout, RetrieverError, ServiceError

# The placeholder for the port of ``ir_serve``.
PORT = "{port}"
MAX_ANSWER_BYTES = 16 * 2**20
# How much is quoted of the start and of the end of an answer or a log.
MAX_QUOTED_CHARS = 120
# The time until a server has to answer. It may load or build an index before it listens.
START_TIMEOUT_S = 300.0
# The time that a server may take for the query that shows whether it is ready.
READY_TIMEOUT_S = 5.0
# The time in which a server that listens has to answer any of these queries.
SILENCE_TIMEOUT_S = 60.0
SERVER_END_TIMEOUT_S = 2.0
SERVER_POLL_S = 0.25
MAX_OUTPUT_BYTES = 2**16
_NAMED_LINE = re.compile(r"([A-Za-z_]\w*):\s+(.*)")


class DeclaredRetriever(NamedTuple):
    """A line of ``ir_url`` or ``ir_command`` without its name."""

    key: str
    line: str

    @property
    def has_port(self) -> bool:
        """Return whether the URL has the ``{port}`` of ``ir_serve``."""
        host = self.line.partition("://")[2].partition("/")[0]
        return self.key == "ir_url" and host.endswith(f":{PORT}")


@dataclass(frozen=True)
class RetrieverConfig:
    """The retrievers in the ini file, and what they need.

    Attributes:
        folder: The folder of the ini file, in which commands run.
    """

    urls: Sequence[str] = ()
    commands: Sequence[str] = ()
    headers: Sequence[str] = ()
    serve: str = ""
    prepare: Sequence[str] = ()
    folder: Path = Path()

    @cached_property
    def secrets(self) -> Secrets:
        """Return the values of the environment that the headers contain."""
        return Secrets.from_environment(self.headers)

    def list_retrievers(self) -> Mapping[str, DeclaredRetriever]:
        """Return the declared retrievers by the name of their fixture.

        Raises:
            RetrieverError: A ``{port}`` has no server, or the server's port is in no URL.
        """
        retrievers: dict[str, DeclaredRetriever] = {}
        for key, lines in (("ir_url", self.urls), ("ir_command", self.commands)):
            for line in lines:
                named = _NAMED_LINE.fullmatch(line)
                name, rest = named.groups() if named else ("retriever", line)
                retrievers[name] = DeclaredRetriever(key, rest)
        needs_port = any(retriever.has_port for retriever in retrievers.values())
        if needs_port and PORT not in self.serve:
            raise RetrieverError(f"Ini key ir_url: {PORT} needs an 'ir_serve' that has it, too")
        if self.serve and not needs_port:
            raise RetrieverError(f"Ini key ir_serve: no 'ir_url' has its {PORT}")
        return retrievers

    def refuse_shared_server(self) -> None:
        """Refuse a URL at which both branches of ``run:`` would use one server.

        Raises:
            RetrieverError: A URL has no ``{port}``.
        """
        for retriever in self.list_retrievers().values():
            if retriever.key == "ir_url" and not retriever.has_port:
                raise RetrieverError(
                    "Ini key ir_url: both branches would use one server. Compare with git:REF,"
                    f" or write {PORT} as its port and start it under 'ir_serve'"
                )

    def run_prepare(self) -> None:
        """Run the commands of ``ir_prepare``, one after the other.

        Raises:
            RetrieverError: A command cannot be started, or fails.
        """
        for command in self.prepare:
            shown = f"Ini key ir_prepare: {self.secrets.mask(command)}"
            with _report_failed_start(shown, self.secrets):
                completed = subprocess.run(
                    split_command(command),
                    cwd=self.folder,
                    stdin=subprocess.DEVNULL,
                    check=False,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                )
            if completed.returncode:
                output = _describe_output(completed.stdout, self.secrets)
                raise RetrieverError(f"{shown} exited with status {completed.returncode}. {output}")

    def start_server(self) -> Server:
        """Start the server of ``ir_serve``.

        Raises:
            RetrieverError: The command cannot be started.
        """
        return Server(self.serve, self.folder, self.secrets)


class Server:
    """A command that listens at a port of its own, and ends with this process.

    Args:
        line: The command. ``{port}`` becomes a port at which nothing listens.
        folder: The folder in which it runs.
        secrets: Texts that must not appear in errors.

    Raises:
        RetrieverError: The command cannot be started.
    """

    def __init__(self, line: str, folder: Path, secrets: Secrets) -> None:
        self._secrets = secrets
        self._shown = f"Ini key ir_serve: {secrets.mask(line)}"
        with _report_failed_start(self._shown, secrets), ExitStack() as stack:
            self.port = find_free_port()
            self._output = stack.enter_context(tempfile.TemporaryFile("a+b"))
            self._process = SupervisedProcess(
                split_command(line.replace(PORT, str(self.port))),
                folder,
                self._output,
                end_timeout_s=SERVER_END_TIMEOUT_S,
            )
            stack.pop_all()  # the file stays open as long as the server runs

    def wait_until_ready(self, check_ready: Callable[[float], str]) -> None:
        """Wait until the server answers.

        Args:
            check_ready: Sends a query, waits so many seconds for the answer, and returns why the
                server is not ready, or an empty string. Raises ``CallTimeout`` if nothing came.

        Raises:
            RetrieverError: The server ended, or did not answer in time.
        """
        start = time.monotonic()
        silent_since = None
        while True:
            try:
                reason = check_ready(READY_TIMEOUT_S)
                silent_since = None
            except CallTimeout:
                silent_since = silent_since or time.monotonic() - READY_TIMEOUT_S
                limit = f"{READY_TIMEOUT_S:g} s"
                reason = f"It accepts connections, but answers no query within {limit}"
            exit_message = self.describe_end()
            if exit_message:
                raise RetrieverError(exit_message)
            if not reason:
                return
            now = time.monotonic()
            is_silent = silent_since is not None and now - silent_since > SILENCE_TIMEOUT_S
            if is_silent or now - start > START_TIMEOUT_S:
                message = f"{self._shown} is not ready after {now - start:.0f} s. {reason}"
                raise RetrieverError(f"{message}. {self._read_end()}")

    def describe_end(self) -> str:
        """Return how the server ended, with its last output, or an empty string if it runs."""
        try:
            status = self._process.wait(SERVER_POLL_S)
        except subprocess.TimeoutExpired:
            return ""
        return f"{self._shown} exited with status {status}. {self._read_end()}"

    def close(self) -> None:
        """End the server and what it started."""
        self._process.end()
        self._output.close()

    def _read_end(self) -> str:
        """Quote the end of the server's output, from a line end on, so that no secret is cut."""
        size = self._output.seek(0, 2)
        self._output.seek(max(0, size - MAX_OUTPUT_BYTES))
        data = self._output.read()
        if size > MAX_OUTPUT_BYTES:
            data = data.partition(b"\n")[2]
        return _describe_output(data, self._secrets)


@contextmanager
def _report_failed_start(shown: str, secrets: Secrets) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, IndexError) as error:
        raise RetrieverError(f"{shown} cannot be started. {secrets.mask(str(error))}") from None


def _describe_output(data: bytes, secrets: Secrets) -> str:
    return f"It wrote {Service(secrets).quote(data) or 'nothing'}"


# -- The base class --------------------------------------------------------------------------------


class Service:
    """A retriever outside this process. Any number of threads may call it at once.

    It ends its own calls in time, and its errors are single lines without secrets.
    """

    key = ""

    def __init__(self, secrets: Secrets) -> None:
        self.secrets = secrets
        self._idle: deque[Any] = deque()

    def call(self, query: str, k: int, params: Mapping[str, Any], timeout: float) -> Any:
        """Return the answer to a query within so many seconds, masked.

        Raises:
            ServiceError: There is no answer, or the answer is an error.
            CallTimeout: The time is over.
        """
        raise NotImplementedError

    def bind(self, timeout: float) -> Callable[..., Any]:
        """Return a function ``(query, k, **params)`` whose calls end within so many seconds."""

        def search(query: str, k: int, **params: Any) -> Any:
            return self.call(query, k, params, timeout)

        search.__name__ = self.key
        return search

    def close(self) -> None:
        """Close all connections or processes."""
        for idle in self._take_idle():
            idle.close()

    def _take_idle(self) -> Iterator[Any]:
        """Yield connections or processes that wait for a call. Each goes to one thread only."""
        with suppress(IndexError):
            while True:
                yield self._idle.pop()

    def _check_answer(self, answer: Any) -> Any:
        """Return an answer without secrets. Raise ``ServiceError`` if it is an error."""
        answer = self.secrets.mask_json(answer)
        if isinstance(answer, dict) and answer.get("error"):
            raise ServiceError("The answer is an error", self.quote(json.dumps(answer["error"])))
        return answer

    def quote(self, data: bytes | str) -> str:
        """Quote output of a service: both ends on one line, without secrets and HTML tags.

        The quote of white space is empty.
        """
        text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
        text = self.secrets.mask(text)
        if text.lstrip().startswith("<"):
            text = self.secrets.mask(unescape(re.sub("<[^<>]*>", " ", text)))
        line = " ".join(text.split())
        if len(line) > 2 * MAX_QUOTED_CHARS:
            line = f"{line[:MAX_QUOTED_CHARS]} … {line[-MAX_QUOTED_CHARS:]}"
        return repr(str(line)) if line else ""


def parse_header(line: str) -> tuple[str, str]:
    """Return the name and the value of a line of ``ir_headers``.

    Raises:
        RetrieverError: The line is malformed, or a variable of the environment is not set.
    """
    for name in find_variables(line):
        if not os.environ.get(name, "").strip():
            raise RetrieverError(f"Ini key ir_headers: the environment variable {name} is not set")
    try:
        name, value = line.split(":", 1)
        return name.strip().title(), Template(value).substitute(os.environ).strip()
    except ValueError:
        reason = "a line must be 'Name: value', with $$ for a dollar sign"
        raise RetrieverError(f"Ini key ir_headers: {reason}") from None


@contextmanager
def limit_time(seconds: float, end: Callable[[], object]) -> Iterator[threading.Event]:
    """Call ``end`` from another thread if the block takes more than so many seconds.

    Yields:
        An event that is set if the function was called.
    """
    is_over = threading.Event()

    def fire() -> None:
        is_over.set()
        end()

    timer = threading.Timer(seconds, fire)
    timer.daemon = True
    timer.start()
    try:
        yield is_over
    finally:
        timer.cancel()
