"""Runs in files: ``--ir-save-runs`` writes them, ``--ir-runs`` and ``--ir-baseline`` read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pytest_irquality.baselines.sources import Baseline
from pytest_irquality.io.text import Text
from pytest_irquality.retrieval.run import Run
from pytest_irquality.suite.model import Query, RunKey, Suite


class Shard(NamedTuple):
    """A part of the queries, for one of several jobs: shard ``index`` (from 1) of ``count``."""

    index: int
    count: int

    def has_query(self, query: Query) -> bool:
        """Return whether a query belongs to this shard. This depends on its request alone."""
        raise NotImplementedError


@dataclass(frozen=True)
class SaveTarget:
    """Where ``--ir-save-runs=PATH[,shard=I/N][,resume]`` saves runs.

    Attributes:
        path: A folder, or a file that ends in ``.run``, ``.trec`` or the same with ``.gz``.
        shard: The part of the queries that this job runs, or ``None`` for all.
        is_resumed: Whether queries that the folder has answers for are not run again.
    """

    path: Path
    shard: Shard | None = None
    is_resumed: bool = False


def parse_save_target(text: str, folder: Path) -> SaveTarget:
    """Parse the value of ``--ir-save-runs``, relative to a folder.

    Raises:
        BaselineError: It cannot be parsed.
    """
    raise NotImplementedError


def save_runs(
    target: SaveTarget,
    runs: Mapping[RunKey, Run],
    suites: Sequence[Suite],
    *,
    commit: str = "",
    date: str = "",
) -> tuple[str, ...]:
    """Save all answers, errors included, and return the paths of the files.

    Raises:
        BaselineError: A TREC file cannot hold the runs.
        OSError: A file cannot be written.
    """
    raise NotImplementedError


def read_resumed_runs(target: SaveTarget, keys: Sequence[RunKey]) -> dict[RunKey, Run]:
    """Read what an interrupted job saved, so that only the other queries run.

    Raises:
        BaselineError: A file is damaged, or its answers are those of another commit.
    """
    raise NotImplementedError


@dataclass(frozen=True)
class SavedRuns:
    """The answers in saved runs, which stand for current answers.

    Attributes:
        runs: The answers by run key. ``provenance.commit`` and ``provenance.date`` say whose.
        errors: Why runs of a key cannot be used (a shard is missing, doubled or foreign).
        notices: Queries of a suite that the runs lack, queries of a run that no suite has.
    """

    runs: Mapping[RunKey, Run] = field(default_factory=dict, repr=False)
    errors: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[Text, ...] = ()


def read_saved_runs(
    paths: Sequence[Path], suites: Sequence[Suite], *, root: Path, option: str = "--ir-runs"
) -> SavedRuns:
    """Read the runs in files and folders, our JSONL or TREC.

    Args:
        paths: Files or folders. Several are builds of one index: each adds a repeat.
        suites: The suites, one for each retriever. A TREC run files answers under query ids.
        root: The root of the project, for the names in messages.
        option: The option that named the paths, for messages.

    Raises:
        BaselineError: A path cannot be read at all.
    """
    raise NotImplementedError


class SavedBaselines:
    """Saved runs to compare with, ``--ir-baseline=PATH`` (a ``BaselineSource``)."""

    commit = ""

    def __init__(self, paths: Sequence[Path], *, root: Path) -> None:
        self.paths = tuple(paths)
        self.root = root
        self.errors: dict[str, str] = {}
        self.notices: list[Text] = []

    @property
    def label(self) -> str:
        """Return the paths as messages name them."""
        raise NotImplementedError

    def read_baselines(self, suites: Sequence[Suite]) -> tuple[Baseline, ...]:
        """Read the runs as one baseline for each run key."""
        raise NotImplementedError
