"""Committed baselines: ``.ir-baseline/NAME.jsonl`` next to the suite, one line for each request."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_irquality.baselines.sources import Baseline
from pytest_irquality.io.text import Text
from pytest_irquality.retrieval.run import Run
from pytest_irquality.suite.model import Suite

BASELINE_FOLDER = ".ir-baseline"
MAX_REPEAT_DROP = 0.15


def get_baseline_path(suite_path: str, parameter: str = "") -> str:
    """Return the path of a suite's baseline file, relative to the root with ``/``."""
    raise NotImplementedError


def read_baseline(path: Path, *, name: str = "", suite_path: str = "") -> Baseline:
    """Read a baseline file.

    Args:
        path: The file.
        name: What messages call the file, relative to the root.
        suite_path: The suite of the file, if its header does not count.

    Raises:
        BaselineError: The file is damaged. The message starts with ``name:line:``, names the query,
            and ends with the command that repairs the file.
    """
    raise NotImplementedError


class CommittedBaselines:
    """The baseline files of the working tree (a ``BaselineSource``).

    Args:
        root: The root of the project, to which the paths of suites are relative.
    """

    label = ""
    commit = ""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.errors: dict[str, str] = {}
        self.notices: list[Text] = []

    def read_baselines(self, suites: Sequence[Suite]) -> tuple[Baseline, ...]:
        """Read every baseline file below the root."""
        raise NotImplementedError


@dataclass(frozen=True)
class BaselineUpdate:
    """What an update of one file changes.

    Attributes:
        path: The file, relative to the root.
        changed: Ids of queries whose ranking changed.
        added: Ids of queries that had no line.
        unanswered: Ids of queries that got no answer and keep their line.
        removed: Texts of queries whose line is removed.
        refusal: Why nothing was written, or empty.
        is_written: Whether the file changed.
    """

    path: str
    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    unanswered: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    refusal: str = ""
    is_written: bool = False


def update_baseline(
    root: Path,
    suite: Suite,
    run: Run,
    *,
    query_ids: Collection[str] = (),
    compute_repeat_means: Callable[[], Sequence[float]] | None = None,
) -> BaselineUpdate:
    """Write the answers of a run into the baseline file of a suite.

    Args:
        root: The root of the project.
        suite: The suite, with its retriever.
        run: The current answers.
        query_ids: The queries to update (only their lines change), or none for all queries. Then
            lines of queries that the suite no longer has are removed.
        compute_repeat_means: Returns the suite's mean of the primary metric for each repeat. The
            update is refused if one is more than 0.15 below the mean of the others.

    Raises:
        OSError: The file cannot be written.
    """
    raise NotImplementedError


def remove_unused_baselines(root: Path, suites: Sequence[Suite]) -> tuple[str, ...]:
    """Remove baseline files that no suite and retriever uses, next to the suites' files.

    Only files of suites that no longer exist are removed, after a full update.

    Args:
        root: The root of the project.
        suites: All current suites, one for each retriever.

    Returns:
        The paths of the removed files, relative to the root.
    """
    raise NotImplementedError
