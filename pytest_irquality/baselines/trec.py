"""Run files of TREC: ``query Q0 document rank score tag``, plain or gzip."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.model import Suite


def is_trec_path(path: Path) -> bool:
    """Return whether a file is named like a TREC run (``.run``, ``.trec``, the same with ``.gz``)."""
    raise NotImplementedError


def read_trec_run(path: Path, *, name: str = "") -> Mapping[str, Ranking]:
    """Read the rankings of a TREC run by query id.

    Documents are ordered by score, equal scores by their order in the file.

    Args:
        path: The file.
        name: What messages call it.

    Raises:
        BaselineError: A line is not one of a run.
    """
    raise NotImplementedError


def write_trec_run(path: Path, suite: Suite, run: Run) -> None:
    """Write the first answer to each query of a suite, each document once.

    Raises:
        OSError: The file cannot be written.
    """
    raise NotImplementedError
