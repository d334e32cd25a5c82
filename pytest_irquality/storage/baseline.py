"""Baselines in files: beside the suites, where an update writes them, or where the user says."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from pytest_irquality.edges.open import Allowed
from pytest_irquality.edges.project import Project
from pytest_irquality.storage.elsewhere import (
    FOLDER,
    Shelf,
    in_tree,
    joined,
    own_files,
    shares_half,
)
from pytest_irquality.storage.found import Found, Source
from pytest_irquality.storage.kept import KeptRuns
from pytest_irquality.storage.run_file import RunFile
from pytest_irquality.storage.stored import DamagedRunError, StoredRunError
from pytest_irquality.storage.target import Target, run_file, run_name


@dataclass(frozen=True)
class BaselineFiles(Source):
    """The baselines of a project, in files.

    They lie in ``.ir-baseline/`` beside the suites, or in the file or folder that ``--ir-baseline``
    names (``given``, relative to where pytest was called). While ``updating`` them only what is
    written over is looked at, and no other kept run.
    """

    project: Project
    given: str | None = None
    updating: bool = False

    def file(self, target: Target) -> RunFile:
        """Give the file that is read, and written by an update."""
        name = run_file(target.file, target.retriever)
        if self.given is None:
            path = target.file.parent / FOLDER / name
            return RunFile.of(
                self.project, path, self.project.allowed(target.file).within(path.parent)
            )
        given = self.project.start / self.given
        if given.is_file() or (given.suffix == ".jsonl" and not given.is_dir()):
            return RunFile.of(self.project, given)
        nested, flat = target.below(given), given / name
        path = flat if flat.is_file() and not nested.is_file() else nested
        return RunFile.of(self.project, path, Allowed.project(given))

    def expects(self, target: Target) -> bool:
        """Tell whether any retriever of a suite has a baseline, before the retrievers are known."""
        return self.given is not None or any(own_files(target.file)) or self.shelf.any_of(target)

    @cached_property
    def shelf(self) -> Shelf:
        """All baselines of the project, looked for once."""
        return in_tree(self.project)

    def find(self, target: Target) -> Found:
        """Give the baseline of a target.

        Raises ``StoredRunError`` for that of another suite, and for what cannot be read, but for
        damage that writing it anew mends.
        """
        file = self.file(target)
        found = Found(target, file.shown)
        if file.is_trec and not self.updating:
            return self._elsewhere(found)
        try:
            stored = file.read()
        except DamagedRunError as error:
            return replace(found, damage=str(error))
        if stored is None:
            self._refuse_left_out(file)
            return self._elsewhere(found)
        found = replace(found, stored=stored)
        return replace(found, of=whose(found, file.path, named=file.allowed is None))

    def _refuse_left_out(self, file: RunFile) -> None:
        """Raise ``StoredRunError`` for a file that git has and a sparse checkout leaves out."""
        with suppress(OSError):  # no git, or a file outside the checkout
            if self.project.repository.leaves_out(file.path):
                raise StoredRunError(
                    f"{file.shown}: git has it, and this sparse checkout leaves it out: `git"
                    " sparse-checkout add` its folder"
                )

    def refuse_ignored(self, target: Target) -> None:
        """Raise ``StoredRunError`` where git would not take what an update writes."""
        if self.given is not None:
            return
        file = self.file(target)
        with suppress(OSError):  # no git
            if by := self.project.repository.ignoring(file.path):
                raise StoredRunError(f"{file.shown} is not written: git ignores it ({by})")

    def _elsewhere(self, found: Found) -> Found:
        """Look among kept runs in the folder that the user named, or for a file of another name."""
        if self.given is None:
            return taken_over(found, self.shelf)
        if self.updating or not (self.project.start / self.given).exists():
            return found
        kept = KeptRuns([self.given], self.project, "--ir-baseline").find(found.target)
        return kept if kept.stored else found


def whose(found: Found, file: Path, *, named: bool = False) -> str:
    """Name the suite and retriever that a run was made for, where they have another name now.

    ``named``: the user named this very file. Raises ``StoredRunError`` for the run of another suite
    or retriever.
    """
    assert found.stored is not None
    target, header = found.target, found.stored.header
    if named:
        if found.stored.queries and not found.matching.same:
            raise StoredRunError(
                f"{found.source}:1: holds no query of {target.suite.path}; it is a run of"
                f" {header.path}"
            )
        return ""
    made_by = target.file.with_name(Path(header.path).name)
    if (made_by, header.retriever) == (target.file, target.retriever):
        return ""
    # A suite that was renamed together with its baseline has the old name in it still.
    theirs = run_name(made_by.name, header.retriever)
    theirs_too = made_by.is_file() and run_file(made_by, header.retriever) == file.name
    if theirs_too or not shares_half(found.stored, target.suite):
        ours = run_name(target.file.name, target.retriever)
        raise StoredRunError(
            f"{found.source}:1: is the baseline of {theirs}, not of {ours}: rename one, or delete"
            " it"
        )
    return theirs


def taken_over(found: Found, shelf: Shelf) -> Found:
    """Add what lies under another name; nothing, as a rule.

    Raises ``StoredRunError``.
    """
    several = shelf.claimed(found.target)
    if not several:
        return found
    taken, stored = several[0], joined(several)
    source = " and ".join(one.file.shown for one in several)
    return replace(found, source=source, stored=stored, of=taken.of, taken=taken)
