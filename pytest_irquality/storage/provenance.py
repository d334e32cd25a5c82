"""The description of a run that another is compared with, and how either is made again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

New = Literal["", "suite", "baseline"]
UPDATE = "--ir-update-baseline"


@dataclass(frozen=True)
class Again:
    """The way in which pytest was called, for whoever calls it again.

    ``options`` are those that matter to a verdict, ``files`` what was named to be collected.
    ``accepts``: a new baseline could accept a drop. ``commits``: only one that is committed does.
    """

    program: tuple[str, ...] = ("pytest",)
    options: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    accepts: bool = True
    commits: bool = False


@dataclass(frozen=True)
class Baseline:
    """The description of a run that another was compared with.

    ``source`` is its path, ``git:REF path`` or a retriever's name. ``commit``, ``time`` (ISO 8601)
    and ``version`` are what is known of the run that made it, ``queries`` is how many it has, and
    ``left`` names those that today's suite has not, by text. ``edited`` are the ids of today's
    queries that it seems to hold in other words or with other params. ``of`` is the suite and
    retriever that it was made for, where they have another name now. ``new``: the revision asked
    for has no such "suite", or has it without a "baseline", of which this change brings the first.
    ``judged`` of its ``returned`` top results have a grade today.
    """

    source: str
    queries: int = 0
    commit: str | None = None
    time: str | None = None
    version: str | None = None
    left: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    of: str = ""
    new: New = ""
    judged: int = 0
    returned: int = 0
