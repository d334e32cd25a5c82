"""The rest of the base when it has ended: what it left behind, and whom it had spoken to."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_irquality.edges.supervisor import listening
from pytest_irquality.pipeline.base.guard import SPOKEN
from pytest_irquality.pipeline.base.messages import Message
from pytest_irquality.pipeline.base.worktree import BaseError

PATIENCE = 20.0  # seconds: containers are often removed by a helper that waits ten


@dataclass(frozen=True)
class Left(Message):
    """The supervisor's report: what was ``listening`` before the base."""

    listening: Sequence[str]

    def check(self, base: str, spoken: set[str]) -> None:
        """Refuse a server that could answer for today: none listened there, and the base asked it.

        It has some time to end by itself. Raises ``BaseError``.
        """
        due = time.monotonic() + PATIENCE
        while left := self._servers(spoken):
            if time.monotonic() > due:
                raise BaseError(
                    f"{base} left a server that still listens at {min(left)}, where"
                    " today's side would ask it: let its fixture end it, and start it at the port"
                    " in $IRQUALITY_PORT, of which each side has its own"
                )
            time.sleep(0.1)

    def _servers(self, spoken: set[str]) -> set[str]:
        new = listening() - {*self.listening}
        return {at for at in new if not spoken.isdisjoint((at, at.rpartition(":")[2]))}


def spoken_to(folder: Path) -> tuple[set[str], bool]:
    """The ports and paths of sockets that the base asked, and whether it asked any process."""
    try:
        text = (folder / SPOKEN).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return set(), False
    lines = [line.split("\t", 1) for line in text.splitlines()]
    return {name for kind, name in lines if kind == "socket"}, bool(lines)
