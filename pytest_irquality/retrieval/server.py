"""The server of ``ir_serve`` and the commands of ``ir_prepare``, run before any query."""

from __future__ import annotations

import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from pytest_irquality.io.processes import SupervisedProcess, find_free_port, split_command
from pytest_irquality.io.secrets import Secrets
from pytest_irquality.retrieval.errors import RetrieverError
from pytest_irquality.retrieval.service_base import PORT, Service

# The time until a server has to answer. It may load or build an index.
START_TIMEOUT_S = 300.0
END_TIMEOUT_S = 2.0
POLL_S = 0.25
MAX_OUTPUT_BYTES = 2**16


def run_commands(commands: Sequence[str], folder: Path, secrets: Secrets) -> None:
    """Run the commands of ``ir_prepare`` in a folder, one after the other.

    Raises:
        RetrieverError: A command cannot be started, or fails.
    """
    for command in commands:
        shown = f"Ini key ir_prepare: {secrets.mask(command)}"
        try:
            completed = subprocess.run(
                split_command(command),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                check=False,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        except (OSError, ValueError, IndexError) as error:
            reason = secrets.mask(str(error))
            raise RetrieverError(f"{shown} cannot be started. {reason}") from None
        if completed.returncode:
            output = _describe_output(completed.stdout, secrets)
            raise RetrieverError(f"{shown} ended with status {completed.returncode}. {output}")


class Server:
    """A command that listens at a port of its own, and ends with this process.

    Args:
        line: The command. ``{port}`` becomes a port at which nothing listens.
        folder: The folder in which it runs.
        secrets: What must not appear in errors.

    Raises:
        RetrieverError: The command cannot be started.
    """

    def __init__(self, line: str, folder: Path, secrets: Secrets) -> None:
        self.port = find_free_port()
        self._secrets = secrets
        command = line.replace(PORT, str(self.port))
        self._shown = f"Ini key ir_serve: {secrets.mask(command)}"
        self._output = tempfile.TemporaryFile("a+b")  # noqa: SIM115 - open as long as the server
        try:
            self._process = SupervisedProcess(
                split_command(command),
                folder,
                self._output,
                end_signal=signal.SIGTERM,
                patience=END_TIMEOUT_S,
            )
        except (OSError, ValueError) as error:
            self._output.close()
            reason = secrets.mask(str(error))
            raise RetrieverError(f"{self._shown} cannot be started. {reason}") from None

    def wait_until_ready(self, is_ready: Callable[[], bool]) -> None:
        """Wait until the server answers.

        Raises:
            RetrieverError: The server ended, or did not answer in time.
        """
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            has_answered = is_ready()
            end = self.describe_end()
            if end:
                raise RetrieverError(end)
            if has_answered:
                return
            if time.monotonic() > deadline:
                reason = f"did not answer within {START_TIMEOUT_S:g} s"
                raise RetrieverError(f"{self._shown} {reason}. {self._read_end()}")

    def describe_end(self) -> str:
        """Return how the server ended and what it wrote last, or an empty string if it runs."""
        try:
            status = self._process.wait(POLL_S)
        except subprocess.TimeoutExpired:
            return ""
        return f"{self._shown} ended with status {status}. {self._read_end()}"

    def close(self) -> None:
        """End the server and what it started."""
        self._process.end()
        self._output.close()

    def _read_end(self) -> str:
        """Quote the end of what the server wrote. It is cut at a line end, so no secret is cut."""
        size = self._output.seek(0, 2)
        self._output.seek(max(0, size - MAX_OUTPUT_BYTES))
        data = self._output.read()
        if size > MAX_OUTPUT_BYTES:
            data = data.partition(b"\n")[2]
        return _describe_output(data, self._secrets)


def _describe_output(data: bytes, secrets: Secrets) -> str:
    return f"It wrote {Service(secrets).quote(data)}" if data.strip() else "It wrote nothing"
