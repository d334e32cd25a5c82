"""Decide which files a suite may read: files of the project, as git has them.

Configuration (``conftest.py``, ini files, the command line) is code and may name any file. A suite
is data, which anybody can change in a pull request. It must not read a credential that a job left
in the working folder, so it may name only files that git tracks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence, Set
from fnmatch import fnmatchcase
from pathlib import Path

from pytest_irquality.io import dataclass
from pytest_irquality.io.escaping import escape_log_line, escape_workflow_commands
from pytest_irquality.io.files import FileError
from pytest_irquality.io.git import GitError, Repository, find_checkout

_HINT = "'ir_files' in the ini file can allow"

# Every CI system sets one of these: Jenkins the second, Azure the third, the others the first.
_CI_VARIABLES = ("CI", "BUILD_NUMBER", "TF_BUILD")
# Systems limit the length of a command, so a call of git gets only so many names.
_MAX_NAMES_PER_COMMAND = 100
# Filters that leave a file as git has it. Another filter may decrypt it.
_HARMLESS_FILTERS = (b"unspecified", b"unset", b"lfs")


@dataclass(frozen=True)
class FileAccess:
    """The files that suites of a project may name.

    Attributes:
        root: pytest's rootdir. The project is the git checkout around it, or the folder itself.
        allowed_files: The ini key ``ir_files``: folders outside the project, and patterns of files
            that jobs generate and git does not track. They are relative to the top of the project.
        named_folders: Folders that the command line names. Suites in them may read their files.
    """

    root: Path
    allowed_files: tuple[str, ...] = ()
    named_folders: tuple[Path, ...] = ()

    def check_location(self, path: Path, suite: Path | None = None) -> None:
        """Refuse a path that leads out of the project, even through a link.

        Args:
            path: The file or folder. It need not exist.
            suite: The suite that names the file, if a suite does.

        Raises:
            FileError: The path leads out of the project.
        """
        real = _resolve(path)
        if not any(real.is_relative_to(folder) for folder in self._list_folders(suite)):
            message = f"The path leads out of the project. {_HINT} its folder."
            raise FileError(path.name, message)

    def check_data_files(self, paths: Sequence[Path], suite: Path | None = None) -> None:
        """Refuse files that a suite must not name.

        In the project, it may name files that git tracks. In CI, they must be as git has them.
        Elsewhere, they may be edited, or new and not ignored. Without git, only names are checked.

        Args:
            paths: The files, and folders whose files are checked on their own.
            suite: The suite that names them. It may be one of the files.

        Raises:
            FileError: A file leads out of the project, is hidden, belongs to git, or is not as git
                has it.
        """
        for path in paths:
            self.check_location(path, suite)
        checkout = find_checkout(self.root)
        start = checkout or self.root
        top = _resolve(start)
        places: set[Path] = set()
        for path in paths:
            if not path.is_dir():
                places.update(_find_places(path))
        if suite and suite.is_relative_to(start):
            # The suite itself is allowed, and a link to it is not.
            places.discard(top / suite.relative_to(start))
        names = {place.relative_to(top) for place in places if place.is_relative_to(top)}
        outside = {place for place in places if not place.is_relative_to(top)}
        for name in sorted(names | outside):
            if ".git" in (part.casefold() for part in name.parts):
                raise FileError(name.as_posix(), "'.git' is never read")
        names = {name for name in names if not self._is_allowed(name)}
        for name in sorted(names):
            if any(part.startswith(".") for part in name.parts):
                message = "Files and folders that start with a dot are not read"
                raise FileError(name.as_posix(), message)
        if checkout and names:
            _check_tracked(Repository(top), names)

    def check_baseline_file(self, path: Path, folder: Path) -> None:
        """Refuse a file that leads out of its baseline folder, or a folder that is a link.

        Raises:
            FileError: A link leads to another place.
        """
        self.check_location(folder.parent)
        place = _resolve(folder.parent) / folder.name
        if not _resolve(path).is_relative_to(place):
            message = f"A link leads out of '{folder.name}'. `--ir-baseline` can name its target."
            raise FileError(path.name, message)

    def _list_folders(self, suite: Path | None) -> Iterator[Path]:
        top = find_checkout(self.root) or self.root
        yield _resolve(top)
        for name in self.allowed_files:
            if name.startswith("..") or os.path.isabs(name):
                yield _resolve(top / name)
        for folder in self.named_folders:
            if suite and suite.is_relative_to(folder):
                yield _resolve(folder)

    def _is_allowed(self, name: Path) -> bool:
        patterns = [*self.allowed_files]
        patterns += [f"{pattern.rstrip('/')}/*" for pattern in self.allowed_files]
        return any(fnmatchcase(name.as_posix(), pattern) for pattern in patterns)


def check_suite_path(path: str) -> None:
    """Refuse the path of a suite that a terminal, a CI system or a shell could interpret.

    Raises:
        FileError: A name contains control characters, line breaks or a workflow command, or starts
            with ``-``. The message shows the name escaped.
    """
    shown = escape_log_line(path)
    for name in path.replace("\\", "/").split("/"):
        problem = ""
        if not name.isprintable():
            problem = "contains control characters or line breaks"
        elif escape_workflow_commands(name) != name:
            problem = "contains a command of a CI system"
        elif name.startswith("-"):
            problem = "starts with '-', so it could be taken for an option"
        if problem:
            raise FileError(shown, f"The name '{escape_log_line(name)}' {problem}. Rename it.")


def is_in_ci() -> bool:
    """Return whether a CI system runs this process."""
    values = [os.environ.get(name, "").lower() for name in _CI_VARIABLES]
    return any(value not in ("", "0", "false") for value in values)


def _resolve(path: Path) -> Path:
    return Path(os.path.realpath(path))  # `Path.resolve` fails if links form a circle.


def _find_places(path: Path) -> Iterator[Path]:
    """Yield the file that a path leads to, and each link on the way."""
    yield _resolve(path)
    absolute = Path(os.path.abspath(path))
    for part in (absolute, *absolute.parents):
        if part.is_symlink():
            yield _resolve(part.parent) / part.name


def _check_tracked(repository: Repository, names: Set[Path]) -> None:
    ordered = sorted(names)
    untracked = set(names)
    try:
        for start in range(0, len(ordered), _MAX_NAMES_PER_COMMAND):
            part = ordered[start : start + _MAX_NAMES_PER_COMMAND]
            untracked -= _find_tracked(repository, part)
    except GitError as error:
        if not repository.is_available:
            return
        message = f"Git cannot tell whether it tracks the file: {error}"
        raise FileError(min(names).as_posix(), message) from None
    if untracked:
        rule = "as committed" if is_in_ci() else "or that are new and not ignored"
        message = f"Suites read only files that git tracks, {rule}. {_HINT} it."
        raise FileError(min(untracked).as_posix(), message)


def _find_tracked(repository: Repository, names: Sequence[Path]) -> set[Path]:
    paths = ("--", *(name.as_posix() for name in names))
    if not is_in_ci():
        options = ("--cached", "--others", "--exclude-standard")
        return {Path(name) for name in repository.list_names("ls-files", *options, *paths)}
    tracked = set(repository.list_names("ls-files", "--cached", *paths))
    edited = set(repository.list_names("diff", "--name-only", "HEAD", *paths))
    attributes = repository.read_output("check-attr", "-z", "filter", *paths).split(b"\0")
    filtered = set()
    for name, filter_name in zip(attributes[::3], attributes[2::3], strict=False):
        if filter_name not in _HARMLESS_FILTERS:
            filtered.add(os.fsdecode(name))
    return {Path(name) for name in tracked - edited - filtered}
