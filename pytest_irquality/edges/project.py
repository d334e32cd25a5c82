"""The project that a session is in: its folders, what of them may be read, and its commit."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from pytest_irquality.edges import git
from pytest_irquality.edges.open import Allowed
from pytest_irquality.edges.reach import OwnFiles

PATTERNS = ("*.ir.yaml", "*.ir.yml", "ir_*.yaml", "ir_*.yml")
"""Globs of the names of suite files, where nobody says otherwise."""


@dataclass(frozen=True)
class Project:
    """A project. Paths are relative to ``start`` and printed from there; git is asked in ``root``.

    ``patterns`` name its suite files. ``named`` are the folders that the caller named, or whose
    files: what lies there may read what lies there. ``files`` are those that the ini file allows:
    folders outside, and patterns of files that git does not track, from the top of the checkout.
    """

    start: Path
    root: Path
    patterns: Sequence[str] = PATTERNS
    named: Sequence[Path] = ()
    files: Sequence[str] = ()

    def shown(self, path: Path) -> str:
        """Name a file as messages do: from ``start``."""
        try:
            return Path(os.path.relpath(path, self.start)).as_posix()
        except ValueError:  # another drive
            return path.as_posix()

    def allowed(self, suite: Path | None = None) -> Allowed:
        """Give the folders that files of the project may lie in, or what a suite's file names."""
        named = [folder for folder in self.named if suite and suite.is_relative_to(folder)]
        top = git.checkout_above(self.root) or self.root
        outside = [top / name for name in self.files if name.startswith(("..", "/"))]
        allowed = Allowed.project(self.root, *outside, *named)
        return replace(allowed, own=OwnFiles(self.root, self.files, suite))

    @property
    def repository(self) -> git.Repository:
        """The git checkout of the project. Raises ``OSError`` where it is in none."""
        return git.Repository.holding(self.root)

    @cached_property
    def has_git(self) -> bool:
        """Tell whether git knows the files of the project."""
        try:
            return self.repository.is_there
        except OSError:
            return False

    @cached_property
    def commit(self) -> str | None:
        """The commit of its code, asked for once; None where nobody knows."""
        return git.commit(self.root)

    @cached_property
    def code(self) -> str | None:
        """A name for its code as it stands, edits included; None where nobody can tell."""
        return git.code(self.root, self.patterns)
