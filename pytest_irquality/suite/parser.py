"""The suite file: from YAML to a suite, or to one line for each mistake."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

from pytest_irquality.metrics import Metric
from pytest_irquality.suite.model import Suite


class SuiteFiles(Protocol):
    """Files from another place than the working tree, such as a commit.

    Paths are relative to the root of the project, with ``/``.
    """

    def read_bytes(self, path: str) -> bytes:
        """Return the content of a file.

        Raises:
            OSError: There is no such file. The message is shown to the user.
        """

    def list_files(self) -> Iterable[str]:
        """Return the paths of all files, for patterns and BEIR folders."""


def load_suite(
    path: str | Path,
    *,
    root: Path,
    text: str | None = None,
    open_file: Callable[[str], bytes] | SuiteFiles | None = None,
    own_metrics: Sequence[Metric] = (),
    id_field_default: str = "",
) -> Suite:
    """Load a suite, or a list of queries, which is a suite without any other key.

    Args:
        path: The file, absolute or relative to the root.
        root: The root of the project. The suite may name files below it only.
        text: The text of the suite, if it is not to be read from disk.
        open_file: Reads the files that the suite names, if not from disk: a function from a path
            (relative to the root, with ``/``) to the content, or an object that can also list
            files, which patterns need.
        own_metrics: Metrics that the project defines.
        id_field_default: The value of the ini key ``ir_id_field``.

    Raises:
        SuiteError: The suite has mistakes. The message has a line ``path:line: message`` for each,
            at most ten.
    """
    raise NotImplementedError


def get_needed_depth(suite: Suite, *, has_baseline: bool = False) -> int:
    """Return how many results to request for each query.

    That is the deepest cutoff that a metric, rule or default check reads, and no more, because the
    number of requested results changes what some engines return. ``depth`` asks for more.

    Args:
        suite: The suite.
        has_baseline: Whether there is a baseline. Default checks read ten results then.
    """
    raise NotImplementedError


def get_needed_fields(suite: Suite) -> tuple[str, ...]:
    """Return the dotted paths of the fields to read from each result, each once.

    These are the fields of ``show`` and those that rules read.
    """
    raise NotImplementedError
