"""The base branch's own code (``--ir-baseline=run:REF``), run in a git worktree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_irquality.baselines.git_source import GitSource
from pytest_irquality.baselines.sources import Baseline
from pytest_irquality.io.text import Text
from pytest_irquality.suite.model import Query, RunKey, Settings, Suite


@dataclass(frozen=True)
class RunRequest:
    """Queries that the base's code has to answer with one retriever.

    Attributes:
        key: The retriever and how its results are read. The parameter does not matter: the base's
            fixture is run with all of its own.
        folder: The folder of the suites, relative to the root: its conftest files apply.
        queries: The queries of both branches.
        depth: How many results are requested.
        settings: Settings of the suites, such as ``concurrency`` and ``repeat``.
        fields: Fields that rules and ``show`` read.
        stages: The stages that metrics need.
    """

    key: RunKey
    folder: str
    queries: tuple[Query, ...]
    depth: int = 10
    settings: Settings = Settings()
    fields: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()


@dataclass(frozen=True)
class BaseCommand:
    """How the base's pytest is started.

    Attributes:
        command: What runs pytest, from ``ir_base_command``; empty for this interpreter.
        arguments: The arguments of the current pytest. Paths in them are moved to the worktree.
        folder: The folder that pytest was called in.
        links: Untracked paths that both sides share (``ir_base_link``).
        options: Options of ours that the base takes over, such as ``{"ir_concurrency": 4}``.
        rootdir: The rootdir of the current pytest.
    """

    command: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    folder: Path = Path()
    links: tuple[str, ...] = ()
    options: Mapping[str, object] | None = None
    rootdir: Path = Path()


class WorktreeSource:
    """The answers of the base's code (a ``BaselineSource``).

    ``run`` starts the base's pytest and waits for it; ``read_baselines`` then returns its answers.

    Args:
        git: The base branch in git, with its commit.
        command: How the base's pytest is started.
    """

    def __init__(self, git: GitSource, command: BaseCommand) -> None:
        self.git = git
        self.command = command
        self.label = f"run:{git.ref}"
        self.commit = git.commit
        self.errors: dict[str, str] = {}
        self.notices: list[Text] = []

    def run(self, requests: Sequence[RunRequest], say: Callable[[str], None] = print) -> None:
        """Let the base's code answer, in a worktree that is removed again.

        Raises:
            BaselineError: The base's code could not be run, or not without code of this checkout.
        """
        raise NotImplementedError

    def read_baselines(self, suites: Sequence[Suite]) -> tuple[Baseline, ...]:
        """Return the answers of the last ``run``, one baseline for each retriever."""
        raise NotImplementedError
