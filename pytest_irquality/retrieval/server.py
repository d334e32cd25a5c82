"""The commands of ``ir_prepare`` and the server of ``ir_serve``, run before anything is asked."""

from __future__ import annotations

import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from pytest_irquality.edges.shell import split
from pytest_irquality.edges.supervisor import Supervised, free_port
from pytest_irquality.retrieval.call import RetrieverError
from pytest_irquality.retrieval.program import GRACE, TICK
from pytest_irquality.retrieval.secrets import Secrets

PORT = "{port}"
START_UP = 300.0  # seconds until it must answer: it may load or build an index
TAIL = 2000  # bytes of its output, the last ones, that are looked at


def prepare(commands: Sequence[str], folder: Path, secrets: Secrets) -> None:
    """Run the commands in a folder, one after the other. Raises ``RetrieverError``."""
    for command in commands:
        shown = f"ir_prepare: {secrets.mask(command)}"
        try:
            done = subprocess.run(
                split(command), cwd=folder, stdin=subprocess.DEVNULL, check=False,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
        except (OSError, ValueError, IndexError) as error:
            raise RetrieverError(f"{shown} cannot be started: {error}") from None
        if done.returncode:
            raise RetrieverError(
                f"{shown} ended with status {done.returncode}; {_said(done.stdout, secrets)}"
            )


class Server:
    """A command with a port of its own, which nothing else listened at when it was started."""

    def __init__(self, written: str, folder: Path, secrets: Secrets) -> None:
        """Start it in a folder. Raises ``RetrieverError``."""
        self.secrets = secrets
        self.port = free_port()
        filled = written.replace(PORT, str(self.port))
        self.shown = f"ir_serve: {secrets.mask(filled)}"
        self.output = tempfile.TemporaryFile("a+b")  # noqa: SIM115 - appended to, wherever we read
        try:
            self.process = Supervised(
                split(filled), folder, self.output, by=signal.SIGTERM, patience=GRACE
            )
        except (OSError, ValueError) as error:
            self.output.close()
            raise RetrieverError(f"{self.shown} cannot be started: {error}") from None

    def wait_for(self, answers: Callable[[], bool]) -> None:
        """Return when it answers. Raises ``RetrieverError`` where it ends before, or never does."""
        due = time.monotonic() + START_UP
        while True:
            answered = answers()
            if ended := self.ended():
                raise RetrieverError(ended)
            if answered:
                return
            if time.monotonic() > due:
                raise RetrieverError(
                    f"{self.shown} did not answer within {START_UP:g} s; {self.said()}"
                )

    def ended(self) -> str:
        """Say how it ended, and what it wrote last; nothing as long as it runs."""
        try:
            status = self.process.wait(TICK)
        except subprocess.TimeoutExpired:
            return ""
        return f"{self.shown} ended with status {status}; {self.said()}"

    def said(self) -> str:
        """The end of what it wrote."""
        self.output.seek(max(0, self.output.seek(0, 2) - TAIL))
        return _said(self.output.read(), self.secrets)

    def close(self) -> None:
        """End it and what it started, first as it may end itself."""
        self.process.end()
        self.output.close()


def _said(written: bytes, secrets: Secrets) -> str:
    """Words for what a command wrote."""
    return f"it wrote {secrets.quoted(written)!r}" if written else "it wrote nothing"
