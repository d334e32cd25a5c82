"""Which files a report may replace: only reports."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from pytest_irquality.io.files import FileError, open_binary, resolve_target
from pytest_irquality.io.git import GitError, Repository, find_checkout

OUTPUT_MARKER = "pytest-irquality:report"
"""Every report has this text in its first bytes, so that a later run may replace it."""

MARKED_BYTES = 4_096

_SUITE_PATTERNS = ("*.ir.yaml", "*.ir.yml")
_CODE_PATTERNS = ("*.py", "*.sh", "*.ini", "*.cfg", "*.toml", ".*", "makefile", "dockerfile")


def check_output(path: Path, root: Path, suite_patterns: Sequence[str] = _SUITE_PATTERNS) -> None:
    """Refuse to write a report to a file that is not a report.

    Args:
        path: Where the report is to be written. It may be a device such as ``/dev/stdout``.
        root: pytest's rootdir. Messages name the file relative to it.
        suite_patterns: Globs of the names of suites.

    Raises:
        FileError: The path is a folder, is named like a suite, code or configuration, is tracked by
            git, or is a file that no report of ours wrote.
    """
    shown = _show(path, root)
    names = {path.name.casefold(), Path(os.path.realpath(path)).name.casefold()}
    for pattern in (*suite_patterns, *_CODE_PATTERNS):
        if any(fnmatchcase(name, pattern) for name in names):
            message = "A report cannot replace a suite, code or configuration. Choose another file."
            raise FileError(shown, message)
    if path.is_dir():
        raise FileError(shown, "This is a folder. Choose a file for the report.")
    try:
        target = resolve_target(path)
    except OSError as error:
        raise FileError(shown, str(error)) from None
    if _is_tracked(target):
        raise FileError(shown, "Git tracks this file, so no report replaces it. Choose another.")
    if target.is_file() and not _is_report(target):
        raise FileError(
            shown, "No report of pytest-irquality wrote this file, so none replaces it. Move it."
        )


def _show(path: Path, root: Path) -> str:
    try:
        return Path(os.path.relpath(path, root)).as_posix()
    except ValueError:  # another drive
        return path.as_posix()


def _is_tracked(target: Path) -> bool:
    top = find_checkout(target.parent)
    if top is None:
        return False
    repository = Repository(top)
    try:
        return repository.is_tracked(target)
    except GitError:
        # A repository that git cannot read may track anything. Without git, nobody can tell.
        return repository.is_available and target.exists()


def _is_report(target: Path) -> bool:
    """Return whether a file begins like one of our reports, or is empty."""
    with open_binary(target) as file:
        start = file.read(MARKED_BYTES)
    return not start or OUTPUT_MARKER.encode() in start
