"""The base branch in git (``--ir-baseline=git:REF``): its suites, files and baselines."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from pytest_irquality.baselines.sources import Baseline, BaselineError
from pytest_irquality.baselines.store import BASELINE_FOLDER, index_own_files, read_baseline_files
from pytest_irquality.io import files
from pytest_irquality.io.access import FileAccess
from pytest_irquality.io.decoding import split_lines
from pytest_irquality.io.git import CommitTree, GitError, Repository
from pytest_irquality.io.text import CodePart, DataPart, Text, write
from pytest_irquality.suite.model import Suite

# The hash by which CI services say that a branch did not exist before.
_NO_COMMIT = re.compile("0{40}|0{64}")
_DEFAULT_BRANCHES = ("origin/HEAD", "origin/main", "origin/master")


class GitSource:
    """The files of the merge base of a revision and HEAD (a ``BaselineSource``).

    The first push of a branch has no revision to compare with. Then the default branch takes its
    place or, if this is the default branch, HEAD.

    Args:
        root: The root of the project, in a git checkout.
        ref: The revision, such as ``origin/main``.
        label: The name in reports, by default ``git:REF``.
        commit: The merge base, if another process has found it already.
        access: Which files of the working tree data may name.

    Raises:
        BaselineError: Git does not know the revision, or there is no merge base.
    """

    def __init__(
        self,
        root: Path,
        ref: str,
        *,
        label: str = "",
        commit: str = "",
        access: FileAccess | None = None,
    ) -> None:
        self.root = root
        self.ref = ref
        self.label = label or f"git:{ref}"
        self.is_committed = True
        self.errors: dict[str, str] = {}
        self.notes: list[Text] = []
        self._access = access or FileAccess(root)
        try:
            self.repository = Repository.find(root)
            self.commit = commit or self._find_merge_base(ref)
            # The folder of the root in the repository, or empty at the top.
            self.prefix = posixpath.dirname(self.repository.get_path(root / "file"))
        except GitError as error:
            raise BaselineError(f"{self.label}: {error}") from None
        self.tree = CommitTree(self.repository, self.commit)

    def _find_merge_base(self, ref: str) -> str:
        if not _NO_COMMIT.fullmatch(ref):
            return self.repository.merge_base(ref)
        default_branch = os.environ.get("CI_DEFAULT_BRANCH")
        names = [f"origin/{default_branch}"] if default_branch else []
        for name in (*names, *_DEFAULT_BRANCHES):
            try:
                return self.repository.merge_base(name)
            except GitError:
                continue
        return self.repository.resolve("HEAD")

    def list_files(self) -> tuple[str, ...]:
        """Return the paths of all files of the commit, relative to the root."""
        return self._paths

    @cached_property
    def _paths(self) -> tuple[str, ...]:
        try:
            paths = tuple(self.tree.list_files())
        except GitError as error:
            raise BaselineError(f"{self.label}: {error}") from None
        if not self.prefix:
            return paths
        return tuple(posixpath.relpath(path, self.prefix) for path in paths)

    def read_file(self, path: str) -> bytes | None:
        """Return the bytes of a file of the commit, or ``None`` if it has none.

        Files of Git LFS come from its local store.

        Args:
            path: Relative to the root.

        Raises:
            BaselineError: Git cannot read it, such as a file of LFS that was not fetched.
        """
        try:
            return self.tree.read_file(posixpath.join(self.prefix, path))
        except GitError as error:
            raise BaselineError(f"{self.label} {path}: {error}") from None

    def read_bytes(self, path: str) -> bytes:
        """Read a file that a suite names.

        A data file that git never tracked is read from the working tree, with a notice.

        Raises:
            FileNotFoundError: Neither has it.
            FileError: The file of the working tree is not one that data may name.
            BaselineError: Git cannot read it.
        """
        content = self.read_file(path)
        if content is not None:
            return content
        file = self.root / path
        if not file.is_file() or self._was_ever_tracked(path):
            raise FileNotFoundError(path)
        self._access.check_data_files([file])
        reads = (DataPart(self.label), " reads the current file")
        notice = write(CodePart(path), " is not in git, so ", *reads)
        if notice not in self.notes:
            self.notes.append(notice)
        return files.read_bytes(file)

    def _was_ever_tracked(self, path: str) -> bool:
        """Return whether any commit up to HEAD, or the index, has a file.

        A file that the change adds does not belong to the base branch, committed or not.
        """
        in_repository = posixpath.join(self.prefix, path)
        try:
            if self.repository.is_tracked(self.root / path):
                return True
            log = ("log", "-1", "--format=%H", "HEAD", "--", in_repository)
            return bool(self.repository.read_output(*log).strip())
        except GitError:
            return True

    def read_baselines(self, suites: Sequence[Suite]) -> tuple[Baseline, ...]:
        """Read every baseline file below the root, and those of suites in other folders.

        Damaged files are in ``errors``.
        """
        self.errors.clear()
        own_files = index_own_files(suites)
        paths = []
        for path in self.list_files():
            folder, _, name = path.rpartition("/")
            is_baseline = posixpath.basename(folder) == BASELINE_FOLDER and name.endswith(".jsonl")
            if is_baseline and (path in own_files or not path.startswith("../")):
                paths.append(path)
        prefix = f"{self.label} "

        def read_lines(path: str) -> Iterable[tuple[int, str]]:
            return split_lines(self.read_file(path) or b"", prefix + path)

        baselines = []
        for baseline in read_baseline_files(paths, suites, read_lines, self.errors, prefix=prefix):
            provenance = replace(baseline.run.provenance, source=self.label, commit=self.commit)
            baselines.append(replace(baseline, run=replace(baseline.run, provenance=provenance)))
        return tuple(baselines)
