"""Run a command, and end everything that it started, even if this process is killed.

This file is also the script of a supervising process, which starts the command. When the standard
input of the script closes, because this process closes it or ends, the script ends the command. On
Linux, it then ends all processes that the command left running, even if they are in other sessions
(PR_SET_CHILD_SUBREAPER). On macOS, it ends the process group. On Windows, it ends nothing else if
the command has ended by itself.

The script imports only the standard library, because it runs isolated and must start fast.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

CANNOT_START_STATUS = 127

_PR_SET_CHILD_SUBREAPER = 36
_GRACE_S = 1.0  # for processes that the command left running, to end by themselves
_KILL_TIMEOUT_S = 10.0


class SupervisedProcess:
    """A command that runs in a folder under supervision.

    Args:
        command: The program and its arguments. A program that cannot be started has the exit status
            127, and its output says why.
        folder: The working folder.
        output: An open file for standard output and standard error, or ``subprocess.PIPE``.
        environment: The environment, or ``None`` for the one of this process.
        end_signal: The signal that ends the command.
        end_timeout_s: The seconds after the signal until the command is killed.
    """

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        output: IO[bytes] | int,
        *,
        environment: Mapping[str, str] | None = None,
        end_signal: int = signal.SIGTERM,
        end_timeout_s: float = 10.0,
    ) -> None:
        script = [sys.executable, "-IS", __file__, str(int(end_signal)), str(end_timeout_s)]
        self.popen = subprocess.Popen(
            [*script, *command],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit status, as a shell gives it.

        Raises:
            subprocess.TimeoutExpired: The command still runs after ``timeout`` seconds.
        """
        status = self.popen.wait(timeout)
        self._close_input()
        return status

    def end(self) -> int:
        """End the command and what it started, and return the exit status.

        If Ctrl-C interrupts the wait, everything is killed at once.
        """
        assert self.popen.stdin is not None
        with suppress(OSError, ValueError, KeyboardInterrupt):
            self.popen.stdin.write(b"\n")
            self.popen.stdin.flush()
            self.popen.wait()
        self._close_input()
        return self.popen.wait()

    def _close_input(self) -> None:
        assert self.popen.stdin is not None
        with suppress(OSError):
            self.popen.stdin.close()


def kill_tree(pid: int) -> None:
    """Kill a process that leads a session, and its group (on Windows, its tree)."""
    if sys.platform == "win32":
        command = ["taskkill", "/F", "/T", "/PID", str(pid)]
        subprocess.run(command, capture_output=True, check=False)
    else:
        with suppress(OSError):
            os.killpg(pid, signal.SIGKILL)


def find_free_port() -> int:
    """Return a port at which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def split_command(line: str) -> list[str]:
    """Split a command line as the shell of this system does.

    On Windows a backslash is part of paths, and the program may be a script such as ``npx.cmd``.

    Raises:
        ValueError: A quote is not closed.
    """
    if sys.platform != "win32":
        return shlex.split(line)
    words = split_windows_command(line)
    return [shutil.which(words[0]) or words[0], *words[1:]] if words else []


def split_windows_command(line: str) -> list[str]:
    """Split a command line into words, in which a backslash is an ordinary character."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="")
    lexer.whitespace_split, lexer.commenters, lexer.escape = True, "", ""
    return list(lexer)


# -- The supervising process -----------------------------------------------------------------------


def main(end_signal: str, end_timeout_s: str, *command: str) -> int:
    """Run a command and return its exit status."""
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    except OSError as error:
        print(f"{command[0]}: {error.strerror or error}", file=sys.stderr)
        return CANNOT_START_STATUS
    arguments = (process, int(end_signal), float(end_timeout_s))
    threading.Thread(target=_end_on_request, args=arguments, daemon=True).start()
    status = process.wait()
    _end_remaining_processes()
    kill_tree(process.pid)
    return status if status >= 0 else 128 - status


def _end_on_request(
    process: subprocess.Popen[bytes], end_signal: int, end_timeout_s: float
) -> None:
    """End the command when standard input has a line or closes, and kill it the second time."""
    was_requested = os.read(0, 1)
    with suppress(OSError):
        if sys.platform == "win32":
            process.terminate()
        else:
            os.killpg(process.pid, end_signal)
    timer = threading.Timer(end_timeout_s, kill_tree, [process.pid])
    timer.daemon = True
    timer.start()
    if was_requested:
        os.read(0, 1)
        kill_tree(process.pid)


def _end_remaining_processes() -> None:
    if sys.platform != "linux":
        return
    start = time.monotonic()
    while _has_children():
        waited = time.monotonic() - start
        if waited > _GRACE_S + _KILL_TIMEOUT_S:
            break
        if waited > _GRACE_S:
            for pid in _find_descendants():
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def _has_children() -> bool:
    """Return whether any child is running, and reap the others."""
    if sys.platform != "win32":
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            return True
    return False


def _find_descendants() -> Iterator[int]:
    """Yield the ids of running processes that this one started, directly or indirectly."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with suppress(OSError):
            text = Path("/proc", name, "stat").read_text(errors="replace")
            state, parent, *_ = text.rpartition(")")[2].split()
            if state not in "XZ":
                parents[int(name)] = int(parent)
    # Children, then grandchildren, and so on.
    generation = {os.getpid()}
    while generation:
        generation = {pid for pid, parent in parents.items() if parent in generation}
        yield from generation


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
