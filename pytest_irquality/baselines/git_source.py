"""The base branch in git (``--ir-baseline=git:REF``): its suites, files and baselines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_irquality.baselines.sources import Baseline
from pytest_irquality.io.text import Text
from pytest_irquality.suite.model import Suite


class GitSource:
    """The files of the merge base of a revision and HEAD (a ``BaselineSource``).

    Args:
        root: The root of the project, in a git checkout.
        ref: The revision, such as ``origin/main``.
        label: What reports call it; ``git:REF`` by default.
        commit: The merge base, if another process has found it already.

    Raises:
        BaselineError: Git does not know the revision, or there is no merge base.
    """

    def __init__(self, root: Path, ref: str, *, label: str = "", commit: str = "") -> None:
        self.root = root
        self.ref = ref
        self.label = label or f"git:{ref}"
        self.commit = commit
        self.errors: dict[str, str] = {}
        self.notices: list[Text] = []

    @property
    def is_head(self) -> bool:
        """Return whether the merge base is HEAD, so only uncommitted changes are compared."""
        raise NotImplementedError

    def list_files(self) -> tuple[str, ...]:
        """Return the paths of all files of the commit below the root, relative to the root."""
        raise NotImplementedError

    def read_file(self, path: str) -> bytes | None:
        """Return the bytes of a file of the commit, or ``None`` if it has none.

        Files of Git LFS come from its local store.

        Args:
            path: Relative to the root.

        Raises:
            BaselineError: Git cannot read it, such as a file of LFS that was not fetched.
        """
        raise NotImplementedError

    def open_file(self, path: str) -> bytes:
        """Read a file for ``load_suite(open_file=...)``.

        A data file that git never tracked is read from the working tree, with a notice.

        Raises:
            FileNotFoundError: Neither has it.
        """
        raise NotImplementedError

    def read_baselines(self, suites: Sequence[Suite]) -> tuple[Baseline, ...]:
        """Read every baseline file of the commit."""
        raise NotImplementedError
