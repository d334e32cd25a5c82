"""The base's own process: its environment and command line, its end, and its last lines."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_irquality.edges.supervisor import Supervised
from pytest_irquality.pipeline.base.guard import under
from pytest_irquality.pipeline.base.worktree import BaseError

OUTPUT, SUPERVISED = "output", "supervised"
LAST_LINES = 15
PATIENCE = 10.0
# As the script `pytest` starts it: `python -m pytest` has the working directory on sys.path, too.
SAFELY = "import sys; sys.path = [path for path in sys.path if path]; import pytest"
PYTEST = (sys.executable, "-c", f"{SAFELY}; sys.exit(pytest.main())")
PYTHON_M_PYTEST = (sys.executable, "-m", "pytest")
# Reports of a job; what tells a worker; and what has tools install the worktree over the head's
# environment.
NOT_THEIRS = (
    "GITHUB_STEP_SUMMARY",
    "PYTEST_CURRENT_TEST",
    "PYTEST_XDIST_WORKER",
    "PYTEST_XDIST_WORKER_COUNT",
    "UV_PROJECT_ENVIRONMENT",
    "VIRTUAL_ENV",
)


@dataclass(frozen=True)
class Checkouts:
    """The head's checkout and the base's: real paths."""

    head: str
    tree: str

    def mapped(self, path: str) -> str:
        """Give the base's place for an absolute path of the head's, and any other path as it is."""
        real = os.path.realpath(path)
        if not os.path.isabs(path) or under(path, self.tree) or not under(real, self.head):
            return path
        return self.tree + real[len(self.head) :]

    def mapped_argument(self, argument: str, folder: Path) -> str:
        """Map an argument of the command line, which may name a path in a folder.

        It is ``PATH``, ``PATH::ITEM`` or ``--option=PATH``.
        """
        name, equals, value = argument.rpartition("=")
        file, colons, item = value.partition("::")
        if not under(str(folder), self.head) and file and (folder / file).exists():
            file = str(folder / file)  # the base is started in the same folder, which is neither's
        return f"{name}{equals}{self.mapped(file)}{colons}{item}"


def default_command() -> Sequence[str]:
    """Give the command that starts the base as the head was, where no ``ir_base_command`` does."""
    started = Path(sys.argv[0]) if sys.argv else Path()
    return PYTHON_M_PYTEST if started.parts[-2:] == ("pytest", "__main__.py") else PYTEST


def environment(
    checkouts: Checkouts, guard: Path, temporary: Path, settings: str, variable: str
) -> Mapping[str, str]:
    """The head's, but for what would speak to its CI, its git hook or its environment."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in NOT_THEIRS and not name.startswith("GIT_")
    }
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = [str(guard), *map(checkouts.mapped, filter(None, inherited))]
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": str(temporary),
        variable: settings,
    }


def run(command: Sequence[str], folder: Path, environment: Mapping[str, str], into: Path) -> int:
    """Run to the end and give the exit status. Raises ``BaseError`` where it cannot be started.

    Its output and the supervisor's report go ``into`` a folder. Where we are interrupted the base
    is asked to end what it began; then nothing of it stays.
    """
    output = into / OUTPUT
    with output.open("wb") as file:
        process = Supervised(
            command, folder, file, into / SUPERVISED, {**environment, "PWD": str(folder)},
            by=signal.SIGINT, patience=PATIENCE,
        )  # fmt: skip
        try:
            status = process.wait()
        finally:
            process.end()
    if not (into / SUPERVISED).exists():
        raise BaseError(
            f"ir_base_command: {command[0]} {output.read_text('utf-8', 'replace').strip()}"
        )
    return status


def last_lines(output: Path) -> str:
    """The end of what it said, without what a CI system would take for commands."""
    text = output.read_text(encoding="utf-8", errors="replace") if output.exists() else ""
    lines = [
        line for line in text.splitlines() if line.strip() and not line.startswith(("::", "##["))
    ]
    return "\n".join(f"  | {line}" for line in lines[-LAST_LINES:])
