"""A process that runs a command and ends whatever came of it, and the script that it runs.

Who starts it holds its standard input. When that ends, however it comes about, so does the command.
On Linux the script becomes the parent of all that the command leaves behind, in sessions of their
own, too (PR_SET_CHILD_SUBREAPER); elsewhere the command's process group is ended.

It knows the standard library alone, and starts as fast as Python does.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
GRACE = 1.0  # seconds in which what is left may end by itself
PATIENCE = 10.0  # seconds in which what was killed is gone
CONNECTED, LISTENING = "01", "0A"
ACCEPTING = 0x10000  # the flag of a Unix socket that listens


class Supervised:
    """A command that runs in a folder, supervised; its output goes to a file.

    It ends by a signal, and after some seconds of patience by force. In the file of ``report`` the
    supervisor leaves the addresses that were ``listening`` before; where the command cannot be
    started, it leaves none, but a line of output.
    """

    def __init__(
        self, command: Sequence[str], folder: Path, output: Any, report: str | Path = os.devnull,
        environment: Mapping[str, str] | None = None, *, by: int, patience: float,
    ) -> None:  # fmt: skip
        script = [sys.executable, "-IS", __file__, str(report), str(int(by)), str(patience)]
        self.popen = subprocess.Popen(
            [*script, *command], cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        self.wait = self.popen.wait

    def end(self) -> None:
        """Have it ended, and at once where we are interrupted meanwhile."""
        assert self.popen.stdin is not None
        with suppress(OSError, KeyboardInterrupt):
            self.popen.stdin.write(b"\n")
            self.popen.stdin.flush()
            self.popen.wait()
        with suppress(OSError):
            self.popen.stdin.close()
        self.popen.wait()


def kill_tree(pid: int) -> None:
    """End a process that leads a session, and what it started, at once."""
    if sys.platform == "win32":
        tree = ["taskkill", "/F", "/T", "/PID", str(pid)]
        subprocess.run(tree, capture_output=True, check=False)
    else:
        with suppress(OSError):
            os.killpg(pid, signal.SIGKILL)


# -- sockets, as far as /proc tells ----------------------------------------------------------------


def free_port() -> int:
    """A port that nothing listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def listening() -> set[str]:
    """The addresses that are listened at."""
    found = {at for _, at, state in _of_network() if state == LISTENING}
    for _, _, _, flags, _, _, _, *path in _table("unix"):
        if int(flags, 16) & ACCEPTING and path:
            found.add(" ".join(path))
    return found


def is_connected() -> bool:
    """Tell whether this process speaks to another over the network."""
    ours = set()
    with suppress(OSError):  # another system
        for entry in os.scandir("/proc/self/fd"):
            with suppress(OSError):
                ours.add(os.readlink(entry))
    return any(
        f"socket:[{inode}]" in ours for inode, _, state in _of_network() if state == CONNECTED
    )


def _of_network() -> Iterator[tuple[str, str, str]]:
    """The number, the local address and the state of each socket."""
    for table in ("tcp", "tcp6"):
        for _, local, _, state, _, _, _, _, _, inode, *_ in _table(table):
            host, port = local.split(":")
            words = [int(host[at : at + 8], 16) for at in range(0, len(host), 8)]
            family = socket.AF_INET if table == "tcp" else socket.AF_INET6
            shown = socket.inet_ntop(family, struct.pack(f"={len(words)}I", *words))
            yield inode, f"{shown}:{int(port, 16)}", state


def _table(name: str) -> Iterator[list[str]]:
    with suppress(OSError):  # another system
        lines = Path("/proc/net", name).read_text(errors="replace").splitlines()
        yield from map(str.split, lines[1:])


# -- the script ------------------------------------------------------------------------------------


def main(report: str, by: str, patience: str, *command: str) -> int:
    """Run the command, and give its exit status, as a shell does."""
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - for this only

        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    before = [*listening()]
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    except OSError as error:
        print(f"cannot be started: {error.strerror or error}", file=sys.stderr)
        return 127
    threading.Thread(
        target=_end_when_told, args=(process, int(by), float(patience)), daemon=True
    ).start()
    status = process.wait()
    _end_rest()
    kill_tree(process.pid)
    with suppress(OSError):  # whoever would read it is gone
        Path(report).write_text(json.dumps({"listening": before}))
    return status if status >= 0 else 128 - status


def _end_when_told(process: subprocess.Popen[bytes], by: int, patience: float) -> None:
    """End it, as it may end itself; at once when told a second time."""
    told = os.read(0, 1)
    with suppress(OSError):
        if sys.platform == "win32":
            process.terminate()
        else:
            os.killpg(process.pid, by)
    late = threading.Timer(patience, kill_tree, [process.pid])
    late.daemon = True
    late.start()
    if told:
        os.read(0, 1)
        kill_tree(process.pid)


def _end_rest() -> None:
    """End what the command has left, on Linux."""
    if sys.platform != "linux":
        return
    began = time.monotonic()
    while _has_children():
        waited = time.monotonic() - began
        if waited > GRACE + PATIENCE:
            break
        for pid in _descendants() if waited > GRACE else ():
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def _has_children() -> bool:
    """Tell whether there are any, once those that ended are buried."""
    if sys.platform != "linux":
        return False
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _descendants() -> Iterator[int]:
    """The processes that came of this one and run."""
    parents = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            text = Path("/proc", pid, "stat").read_text(errors="replace")
            state, parent, *_ = text.rpartition(")")[2].split()
            if state not in "XZ":
                parents[int(pid)] = int(parent)
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
        yield from more


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
