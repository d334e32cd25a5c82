"""The rest of the base when it has ended: what it left behind, and whom it had spoken to."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_irquality.edges.printable import clipped
from pytest_irquality.edges.supervisor import listener, listening
from pytest_irquality.pipeline.base.guard import SPOKEN
from pytest_irquality.pipeline.base.messages import Message
from pytest_irquality.pipeline.base.worktree import BaseError

PATIENCE = 20.0  # seconds: containers are often removed by a helper that waits ten
LONGEST = 300


@dataclass(frozen=True)
class Left(Message):
    """The supervisor's report: what was ``listening`` before the base, and what it ``ended``."""

    listening: Sequence[str]
    ended: Sequence[str]

    def notes(self, base: str) -> Iterator[str]:
        """Say what was ended."""
        if self.ended:
            named = ", ".join(
                name if times == 1 else f"{times} × {name}"
                for name, times in sorted(Counter(self.ended).items())
            )
            yield f"{base} left running, and we ended: {clipped(named, LONGEST)}"

    def check(self, base: str, spoken: set[str]) -> None:
        """Refuse a server that could answer for today: none listened there, and the base asked it.

        It has some time to end by itself. Raises ``BaseError``.
        """
        due = time.monotonic() + PATIENCE
        while left := self._servers(spoken):
            if time.monotonic() > due:
                address, socket = min(left.items())
                raise BaseError(
                    f"{base} left a server that still listens at {address}{listener(socket)}, where"
                    " today's side would ask it: let its fixture end it, and start it at the port"
                    " in $IRQUALITY_PORT, of which each side has its own"
                )
            time.sleep(0.1)

    def _servers(self, spoken: set[str]) -> dict[str, str]:
        new = {at: socket for socket, at in listening().items() if at not in self.listening}
        return {at: socket for at, socket in new.items() if not spoken.isdisjoint((at, _port(at)))}


def _port(address: str) -> str:
    return address.rpartition(":")[2]


def spoken_to(folder: Path) -> tuple[set[str], bool]:
    """The ports and paths of sockets that the base asked, and whether it asked any process."""
    try:
        text = (folder / SPOKEN).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return set(), False
    lines = [line.split("\t", 1) for line in text.splitlines()]
    return {name for kind, name in lines if kind == "socket"}, bool(lines)
