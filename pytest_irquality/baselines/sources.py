"""Baselines, and the interface of their sources: files, saved runs, or another commit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pytest_irquality.io import dataclass, field
from pytest_irquality.io.escaping import escape_log_lines
from pytest_irquality.io.text import Text
from pytest_irquality.retrieval.run import Run
from pytest_irquality.suite.model import Query, RetrieverId, RunKey, Settings, Suite


class BaselineError(Exception):
    """A baseline or run cannot be used. The message starts with ``path:line:`` or an option.

    Files are data, so nothing in the message can act on a terminal or a CI system.
    """

    def __init__(self, message: str) -> None:
        super().__init__(escape_log_lines(message))


@dataclass(frozen=True)
class Baseline:
    """The answers of a retriever that current answers are compared with.

    Attributes:
        retriever: The retriever, with the folder of its conftest and its parameter.
        suite_path: The suite that the answers were recorded for, relative to the project's root.
            Answers are looked up by request; the suite only decides between two answers.
        path: The name of the file in messages, or empty if there is none.
    """

    run: Run = field(repr=False)
    retriever: RetrieverId = RetrieverId()
    suite_path: str = ""
    path: str = ""


@dataclass(frozen=True)
class QueryBatch:
    """Queries to run with one retriever, by current code or by the code of the base branch.

    Attributes:
        key: The retriever, and how its results are read.
        folder: The folder of the suites, relative to the root: its conftest files apply.
        queries: The queries.
        settings: Settings of the suites, such as ``concurrency`` and ``repeat``.
        depth: The number of results that are requested.
        fields: Fields that rules and ``show`` read.
        size_units: The units of sizes that metrics need.
        stages: The stages that metrics need, or ``None`` if they need none.
    """

    key: RunKey
    folder: str
    queries: tuple[Query, ...]
    settings: Settings = field(default_factory=Settings)
    depth: int = 10
    fields: tuple[str, ...] = ()
    size_units: tuple[str, ...] = ()
    stages: tuple[str, ...] | None = None


class BaselineSource(Protocol):
    """Where baselines come from: committed files, saved runs, or another commit."""

    @property
    def label(self) -> str:
        """Return the name in reports, such as ``git:main``. Empty for committed files."""

    @property
    def is_committed(self) -> bool:
        """Return whether its baselines are files of the project, which can be out of date."""

    @property
    def commit(self) -> str:
        """Return the commit of the answers, or an empty string for the working tree."""

    @property
    def errors(self) -> dict[str, str]:
        """Return the errors of the last reading, by the path of the file."""

    @property
    def notes(self) -> list[Text]:
        """Return the remarks of the last reading, for the report."""

    def read_baselines(self, suites: Sequence[Suite]) -> tuple[Baseline, ...]:
        """Return all baselines of the source.

        Args:
            suites: The suites of the branch, one for each retriever. A baseline file that belongs
                to one of them by name has its path as ``suite_path``.

        Raises:
            BaselineError: The source itself cannot be used. Errors of single files are in
                ``errors``.
        """
