"""A program as the retriever, which keeps running: ``ir_command = node search.mjs``.

It reads a query as a line of JSON, and answers with a line of JSON that has the same ``id``. All
other lines that it writes are its log.
"""

from __future__ import annotations

import itertools
import json
import queue
import subprocess
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, cast

from pytest_irquality.io.decoding import JsonError, parse_json
from pytest_irquality.io.processes import kill_tree, split_command
from pytest_irquality.io.secrets import Secrets
from pytest_irquality.retrieval import errors
from pytest_irquality.retrieval.service import MAX_ANSWER_BYTES, Service, limit_time

# Added to the time limit of the first answer of a process, which loads what it needs.
START_TIMEOUT_S = 60.0
# The time that a process has to end when its input ends.
END_TIMEOUT_S = 2.0
POLL_S = 0.25
MAX_LOG_LINES = 100
MAX_LOG_LINE_BYTES = 2**16


class _ProcessEnded(errors.ServiceError):
    """A process ended instead of answering."""


class CommandRetriever(Service):
    """A command that answers queries. It runs once for each call in flight.

    Args:
        line: A line of ``ir_command`` without its name.
        folder: The folder in which the command runs.
        secrets: Texts that must not appear in answers and errors.

    Raises:
        RetrieverError: The line cannot be split into words.
    """

    key = "ir_command"

    def __init__(self, line: str, folder: Path, secrets: Secrets) -> None:
        super().__init__(secrets)
        try:
            self._command = split_command(line)
        except ValueError as error:
            raise errors.RetrieverError(f"Ini key ir_command: {error} in {line!r}") from None
        self.shown_name = secrets.mask(line)
        self._folder = folder
        self._numbers = itertools.count(1)
        self._running: set[_Process] = set()
        self._has_answered = False
        self._gave_up = ""

    def call(self, query: str, k: int, params: Mapping[str, Any], timeout: float) -> Any:
        """Return the answer to a query. If the process ends instead, try another one, once."""
        if self._gave_up:
            raise errors.ServiceError(f"{self.shown_name} was stopped", self._gave_up)
        request_id = f"irq-{next(self._numbers)}"
        request = {"id": request_id, "query": query, "k": k, "params": dict(params)}
        try:
            with suppress(_ProcessEnded):
                return self._get_answer(request, timeout)
            return self._get_answer(request, timeout)
        except (_ProcessEnded, errors.CallTimeout) as error:
            if not self._has_answered:  # Further calls would fail in the same way.
                self._gave_up = str(error)
            raise

    def close(self) -> None:
        """End all processes. Close their input first, so that they can end by themselves."""
        processes = list(self._running)
        for process in processes:
            process.close_input()
        for process in processes:
            process.end(END_TIMEOUT_S)

    def _get_answer(self, request: Mapping[str, Any], timeout: float) -> Any:
        process = self._get_process()
        limit = timeout + (0 if process.has_answered else START_TIMEOUT_S)
        with limit_time(limit, process.kill) as is_over:
            answer = process.send(request)
        if answer is not None and not is_over.is_set():
            process.has_answered = self._has_answered = True
            self._idle.append(process)
            return self._check_answer(answer)
        how = process.end(POLL_S)
        detail = "It wrote no complete line"
        if not process.has_answered:
            detail += ". Does it end each line, and flush its output?"
        log = self.quote(b"".join(process.log))
        if log:
            detail = f"It wrote {log}"
        if is_over.is_set():
            raise errors.make_timeout(limit, f"{self.shown_name} was stopped. {detail}")
        raise _ProcessEnded(f"{self.shown_name} {how}", detail)

    def _get_process(self) -> _Process:
        """Return a process that waits for a query, or a new one."""
        process: _Process
        for process in self._take_idle():
            if process.popen.poll() is None:
                return process
            process.end()
        try:
            return _Process(self._command, self._folder, self._running)
        except (OSError, IndexError) as error:
            detail = self.secrets.mask(str(error))
            raise errors.ServiceError(f"{self.shown_name} cannot be started", detail) from None


class _Process:
    """A running program, with its input, its answers and its log.

    Args:
        command: The words of the command.
        folder: The folder in which it runs.
        running: The set that contains the process until it has ended.
    """

    def __init__(self, command: list[str], folder: Path, running: set[_Process]) -> None:
        pipe = subprocess.PIPE
        self.popen = subprocess.Popen(
            command, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        )
        self.has_answered = False
        self._stdin: Any = self.popen.stdin
        self._request: Mapping[str, Any] = {}
        self._answers: queue.SimpleQueue[Mapping[str, Any] | None] = queue.SimpleQueue()
        self.log: deque[bytes] = deque(maxlen=MAX_LOG_LINES)
        self._readers: list[threading.Thread] = []
        for read in (self._read_output, self._read_errors):
            reader = threading.Thread(target=read, daemon=True)
            reader.start()
            self._readers.append(reader)
        self._running = running
        running.add(self)

    def send(self, request: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Send a request. Return its answer without the id, or ``None`` if the process ended."""
        if self.has_answered:
            self.log.clear()
        self._request = request
        with suppress(OSError):  # The process has ended, which is noticed below.
            self._stdin.write(json.dumps(request).encode() + b"\n")
            self._stdin.flush()
        while True:
            has_ended = self.popen.poll() is not None
            with suppress(queue.Empty):
                return self._answers.get(timeout=POLL_S)
            if has_ended:  # Its children may still keep its output open.
                return None

    def close_input(self) -> None:
        with suppress(OSError):
            self._stdin.close()

    def end(self, timeout: float = 0) -> str:
        """End the process and what it started, and return how it ended.

        Args:
            timeout: The number of seconds in which it may end by itself.
        """
        with suppress(subprocess.TimeoutExpired):
            self.popen.wait(timeout)
        status = self.popen.poll()
        self.kill()
        self.popen.wait()
        self.close_input()
        for reader in self._readers:
            reader.join(POLL_S)
        self._running.discard(self)
        return "stopped answering" if status is None else f"exited with status {status}"

    def kill(self) -> None:
        kill_tree(self.popen.pid)

    def _read_output(self) -> None:
        for line in _read_lines(cast(IO[bytes], self.popen.stdout), MAX_ANSWER_BYTES):
            if not self._add_answer(line) and len(line) < MAX_LOG_LINE_BYTES:
                self.log.append(line)
        self._answers.put(None)

    def _add_answer(self, line: bytes) -> bool:
        """Add a line if it is the answer. A program may also log the request itself."""
        answer = None
        with suppress(JsonError):
            answer = parse_json(line)
        if not isinstance(answer, dict) or answer == self._request:
            return False
        if answer.pop("id", None) != self._request.get("id", self):
            return False
        self._request = {}
        self._answers.put(answer)
        return True

    def _read_errors(self) -> None:
        pipe = cast(IO[bytes], self.popen.stderr)
        self.log.extend(_read_lines(pipe, MAX_LOG_LINE_BYTES))


def _read_lines(pipe: IO[bytes], limit: int) -> Iterator[bytes]:
    """Yield lines, except lines that are longer than a limit.

    Long lines are not cut, because half a secret would not be masked.
    """
    with pipe:
        is_inside_line = False
        while part := pipe.readline(limit):
            is_complete = not is_inside_line and (part.endswith(b"\n") or len(part) < limit)
            is_inside_line = not part.endswith(b"\n")
            if is_complete:
                yield part
