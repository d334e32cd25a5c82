"""A retriever that is a program, kept running: ``ir_command = node search.mjs``.

It answers each line of JSON by another.
"""

from __future__ import annotations

import itertools
import json
import queue
import subprocess
import threading
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pytest_irquality.edges.shell import split
from pytest_irquality.edges.supervisor import kill_tree
from pytest_irquality.retrieval.call import RetrieverError
from pytest_irquality.retrieval.jobs import TimedOut
from pytest_irquality.retrieval.secrets import Secrets
from pytest_irquality.retrieval.service import LARGEST, Service, ServiceError, ended_after

START_UP = 60.0  # seconds more for the first answer of a process: it loads what it needs
GRACE = 2.0  # seconds to end by itself when its input ends
TICK = 0.25  # seconds between looks whether it still runs
LOGGED = 100  # lines of its log that are kept
LOG_LINE = 1000  # bytes of each


class Ended(ServiceError):
    """A process ended when it was asked."""


class Program(Service):
    """A command, run as often as calls are in flight: a process has one query at a time."""

    key = "ir_command"

    def __init__(self, written: str, folder: Path, secrets: Secrets) -> None:
        """Read a line of ``ir_command``. Raises ``RetrieverError``."""
        super().__init__(secrets)
        try:
            self.command = split(written)
        except ValueError as error:
            raise RetrieverError(f"ini key ir_command: {error} in {written!r}") from None
        self.shown = secrets.mask(written)
        self.folder = folder
        self.numbers = itertools.count(1)
        self.running: set[_Process] = set()
        self.answered = False
        self.given_up = ""

    def ask(self, query: str, k: int, params: Mapping[str, Any], seconds: float) -> Any:
        """The answer. Where the process ends instead, another is asked, once."""
        if self.given_up:
            raise ServiceError(f"{self.shown} was given up", self.given_up)
        id = f"irq-{next(self.numbers)}"
        request = {"id": id, "query": query, "k": k, "params": {**params}}
        try:
            with suppress(Ended):
                return self._answer(request, seconds)
            return self._answer(request, seconds)
        except (Ended, TimedOut) as error:
            if not self.answered:  # nor will it ever
                self.given_up = str(error)
            raise

    def close(self) -> None:
        """End all processes, by the end of their input if they take it."""
        running = [*self.running]
        for process in running:
            process.no_more()
        for process in running:
            process.end(GRACE)

    def _answer(self, request: Mapping[str, Any], seconds: float) -> Any:
        """The answer of one process. Raises ``TimedOut`` and ``Ended``, and then it is no more."""
        process = self._process()
        limit = seconds + (0 if process.answered else START_UP)
        with ended_after(limit, process.kill) as late:
            answer = process.answer(request)
        if answer is not None and not late.is_set():
            process.answered = self.answered = True
            self.kept.append(process)
            return self.checked(answer)
        how = process.end(TICK)
        hint = "" if process.answered else ": does it end each line, and flush it?"
        said = f"it wrote no whole line{hint}"
        if process.log:
            said = f"it wrote {self.secrets.quoted(b''.join([*process.log]))!r}"
        if late.is_set():
            raise TimedOut(limit, f"{self.shown} was ended; {said}")
        raise Ended(f"{self.shown} {how}", said)

    def _process(self) -> _Process:
        """One that waits for a query, or a new one."""
        process: _Process
        for process in self.taken():
            if process.popen.poll() is None:
                return process
            process.end()
        try:
            return _Process(self.command, self.folder, self.running)
        except (OSError, IndexError) as error:
            raise ServiceError(f"{self.shown} cannot be started", str(error)) from None


class _Process:
    """The program as it runs: what is written to it, and what it writes.

    ``running`` holds it until it has ended.
    """

    def __init__(self, command: list[str], folder: Path, running: set[_Process]) -> None:
        pipe = subprocess.PIPE
        self.popen = subprocess.Popen(
            command, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        )
        self.stdin: Any = self.popen.stdin
        self.answered = False
        self.wanted: Mapping[str, Any] = {}
        self.answers: queue.SimpleQueue[Mapping[str, Any] | None] = queue.SimpleQueue()
        self.log: deque[bytes] = deque(maxlen=LOGGED)
        reads = (self._read_answers, self._read_log)
        self.readers = [threading.Thread(target=read, daemon=True) for read in reads]
        for reader in self.readers:
            reader.start()
        self.running = running
        running.add(self)

    def answer(self, request: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The object with the request's id, without it; None where there will be none."""
        if self.answered:
            self.log.clear()
        self.wanted = request
        with suppress(OSError):  # that it ended is seen below
            self.stdin.write(json.dumps(request).encode() + b"\n")
            self.stdin.flush()
        while True:
            ended = self.popen.poll() is not None
            with suppress(queue.Empty):
                return self.answers.get(timeout=TICK)
            if ended:  # what it started may still hold its output open
                return None

    def _read_answers(self) -> None:
        """Keep the answer that is wanted; all else that it writes is its log."""
        pipe: Any = self.popen.stdout
        with pipe:
            while line := pipe.readline(LARGEST):
                if not self._take(line):
                    self.log.append(line[:LOG_LINE])
        self.answers.put(None)

    def _take(self, line: bytes) -> bool:
        """Tell whether a line is the answer that is wanted, and keep it.

        It is none where it is the question itself, which programs may log.
        """
        answer = None
        with suppress(ValueError, RecursionError):
            answer = json.loads(line)
        if not isinstance(answer, dict) or answer == self.wanted:
            return False
        if answer.pop("id", None) != self.wanted.get("id", self):
            return False
        self.wanted = {}
        self.answers.put(answer)
        return True

    def _read_log(self) -> None:
        pipe: Any = self.popen.stderr
        with pipe:
            while line := pipe.readline(LOG_LINE):
                self.log.append(line)

    def no_more(self) -> None:
        """End its input."""
        with suppress(OSError):
            self.stdin.close()

    def end(self, grace: float = 0) -> str:
        """End it and what it started, after some seconds in which it may do so itself.

        Says how it ended.
        """
        with suppress(subprocess.TimeoutExpired):
            self.popen.wait(grace)
        code = self.popen.poll()
        self.kill()
        self.popen.wait()
        self.no_more()
        for reader in self.readers:
            reader.join(TICK)
        self.running.discard(self)
        return "stopped answering" if code is None else f"ended with status {code}"

    def kill(self) -> None:
        """End it and what it started, at once."""
        kill_tree(self.popen.pid)
