"""Run git in the project's repository, without running anything that a repository configures.

A pull request may contain a bare repository whose configuration runs commands. Therefore git runs
only in the nearest folder at or above pytest's rootdir that has a ``.git`` entry, which no commit
can contain, and every setting that could start a program is overridden.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from pytest_irquality.io import dataclass, field

GIT_TIMEOUT_S = 30.0
MAX_LINKS = 20
# Links in folders behind links: each level can multiply the number of paths.
MAX_NESTED_LINKS = 3

# Nothing may start another program. Only a partial clone uses the network, because it has to fetch
# missing objects from the remote that its owner configured.
SAFE_CONFIG: Mapping[str, str] = {
    "safe.bareRepository": "explicit",
    "safe.directory": "*",
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.editor": "true",
    "core.askPass": "",
    "core.sshCommand": "ssh",
    "core.alternateRefsCommand": "",
    "credential.helper": "",
    "diff.external": "",
    "log.showSignature": "false",
    "protocol.allow": "user",
    "submodule.recurse": "false",
}
_SAFE_OPTIONS = ("--no-pager", "--no-optional-locks", "--no-replace-objects")
_COMMIT_VARIABLES = (
    "GITHUB_SHA", "CI_COMMIT_SHA", "BUILDKITE_COMMIT", "CIRCLE_SHA1", "BITBUCKET_COMMIT",
    "GIT_COMMIT",
)  # fmt: skip
_LINK_MODE, _SUBMODULE_MODE, _FOLDER_MODE = "120000", "160000", "040000"
_LFS_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n(?:.*\n)*?oid sha256:([0-9a-f]{64})\n"
)
_FETCH_ALL = "(actions/checkout: `with: {fetch-depth: 0}`)"


class GitError(OSError):
    """Git failed, is not installed, or does not have the requested object."""


class OutsideRepositoryError(GitError):
    """A path in a commit leads out of the repository. Fetching more does not help."""


def find_git() -> str:
    """Return the absolute path of git.

    Only absolute folders of ``PATH`` count. Windows would look into the current folder first, where
    a pull request can put a ``git.exe``.

    Raises:
        GitError: Git is not installed.
    """
    return _find_program("git", os.environ.get("PATH", os.defpath))


@lru_cache(maxsize=4)
def _find_program(name: str, search_path: str) -> str:
    file_name = f"{name}.exe" if sys.platform == "win32" else name
    for folder in search_path.split(os.pathsep):
        file = os.path.join(folder, file_name)
        if os.path.isabs(folder) and os.path.isfile(file) and os.access(file, os.X_OK):
            return file
    raise GitError(f"There is no {name} in PATH")


def find_checkout(folder: Path) -> Path | None:
    """Return the nearest folder at or above this one that has a ``.git`` entry."""
    start = Path(os.path.abspath(folder))
    for candidate in (start, *start.parents):
        if os.path.lexists(candidate / ".git"):
            return candidate
    return None


@dataclass(frozen=True)
class Repository:
    """A git checkout. Every method raises ``GitError``.

    Attributes:
        top: The folder that has the ``.git`` entry.
    """

    top: Path

    @classmethod
    def find(cls, folder: Path) -> Repository:
        """Return the repository that a folder belongs to."""
        top = find_checkout(folder)
        if top is None:
            raise GitError("The project is not in a git repository")
        return cls(top)

    @property
    def is_available(self) -> bool:
        """Return whether git is installed and finds a repository here.

        If git refuses to read the repository, it is available, because it is not missing.
        """
        try:
            find_git()
        except GitError:
            return False
        try:
            result = self.run("rev-parse", "--git-dir")
        except GitError:
            return True
        return not result.stderr.startswith(b"fatal: not a git repository")

    # -- Running git -------------------------------------------------------------------------------

    def run(
        self, *arguments: str, timeout: float | None = GIT_TIMEOUT_S, literal_paths: bool = True
    ) -> subprocess.CompletedProcess[bytes]:
        """Run git in this checkout, and return its result even if it fails.

        Args:
            arguments: The command and its arguments.
            timeout: The time limit in seconds, or ``None``.
            literal_paths: Whether ``*`` in a path is an ordinary character.
        """
        options = list(_SAFE_OPTIONS)
        if literal_paths:
            options.append("--literal-pathspecs")
        for key, value in SAFE_CONFIG.items():
            options += ["-c", f"{key}={value}"]
        command = [find_git(), *options, *arguments]
        try:
            return subprocess.run(
                command,
                cwd=self.top,
                env=self._make_environment(),
                capture_output=True,
                timeout=timeout,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired:
            message = f"`git {arguments[0]}` took more than {timeout:g} seconds"
            raise GitError(message) from None
        except OSError as error:
            raise GitError(f"Git cannot be run: {error.strerror or error}") from error

    def read_output(self, *arguments: str) -> bytes:
        """Run git and return what it prints."""
        result = self.run(*arguments)
        if result.returncode:
            raise GitError(_get_error_line(result) or f"`git {arguments[0]}` failed")
        return result.stdout

    def list_names(self, command: str, *arguments: str) -> list[str]:
        """Run a git command that lists files, and return their paths from the top."""
        names = self.read_output(command, "-z", *arguments).split(b"\0")
        return [os.fsdecode(name) for name in names if name]

    def _make_environment(self) -> dict[str, str]:
        # Variables such as GIT_DIR, which hooks set, would name another repository or a program.
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        no_questions = {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "SSH_ASKPASS": ""}
        ceiling = str(self.top.parent)
        # Messages quote errors of git, which LC_ALL keeps in English.
        return {**inherited, **no_questions, "GIT_CEILING_DIRECTORIES": ceiling, "LC_ALL": "C"}

    # -- Commits -----------------------------------------------------------------------------------

    def resolve(self, ref: str) -> str:
        """Return the commit that a branch, tag or other revision names."""
        revision = f"{ref}^{{commit}}"
        return self._read_commit(
            ("rev-parse", "--verify", "--quiet", "--end-of-options", revision),
            f"'{ref}'",
            f"Git finds no revision '{ref}' here. Run `git fetch` to get it from the"
            " remote, or `git branch --all` to list the names.",
        )

    def merge_base(self, ref: str) -> str:
        """Return the last commit that HEAD and a revision have in common."""
        return self._read_commit(
            ("merge-base", self.resolve(ref), "HEAD"),
            f"the commit that '{ref}' and HEAD have in common",
            f"'{ref}' and HEAD have no commit in common",
        )

    def _read_commit(self, arguments: Sequence[str], name: str, problem: str) -> str:
        """Run a git command that prints a commit. If it fails, raise the problem."""
        result = self.run(*arguments)
        if result.returncode == 0:
            return result.stdout.decode().strip()
        is_shallow = self.read_output("rev-parse", "--is-shallow-repository").strip()
        if is_shallow == b"true":
            hint = f"Clone the full history {_FETCH_ALL}."
            problem = f"This clone is shallow and lacks {name}. {hint}"
        raise GitError(problem)

    # -- Files of the working tree -----------------------------------------------------------------

    def get_path(self, file: Path) -> str:
        """Return the path of a file from the top, with ``/``."""
        folder, top = os.path.realpath(file.parent), os.path.realpath(self.top)
        try:
            relative = Path(folder).relative_to(top)
        except ValueError:
            message = f"'{file.name}' is not in the git repository '{self.top.name}'"
            raise GitError(message) from None
        return (relative / file.name).as_posix()

    def is_tracked(self, file: Path) -> bool:
        """Return whether git tracks a file or link of this name."""
        return bool(self.read_output("ls-files", "-z", "--", self.get_path(file)))

    def find_ignore_rule(self, file: Path) -> str:
        """Return the place (``file:line:pattern``) that makes git ignore a file, or ``""``."""
        # `check-ignore` does not support --literal-pathspecs and does not expand patterns either.
        arguments = ("check-ignore", "-v", "--", f"./{self.get_path(file)}")
        output = os.fsdecode(self.run(*arguments, literal_paths=False).stdout)
        rule = output.partition("\t")[0]
        is_exception = re.search(r":\d+:!", rule)
        return "" if is_exception else rule

    # -- Worktrees ---------------------------------------------------------------------------------

    def add_worktree(self, folder: Path, commit: str) -> None:
        """Check out a commit into a new folder, without its submodules."""
        arguments = ("worktree", "add", "--quiet", "--detach", str(folder), commit)
        result = self.run("-c", "core.sparseCheckout=false", *arguments, timeout=None)
        if result.returncode:
            raise GitError(f"Git cannot check out {commit[:7]}: {_get_error_line(result)}")

    def remove_worktree(self, folder: Path) -> None:
        """Remove the folder of a worktree, and its entry in git."""
        shutil.rmtree(folder, ignore_errors=True)
        self.run("worktree", "remove", "--force", str(folder))


class TreeEntry(NamedTuple):
    """An entry of a commit's tree."""

    path: str
    mode: str
    object_id: str

    @property
    def is_folder(self) -> bool:
        """Return whether the entry is a folder."""
        return self.mode == _FOLDER_MODE


@dataclass(frozen=True)
class CommitTree:
    """The files of a commit, read from git's objects. Nothing is checked out, and no filter runs.

    Paths are from the top of the repository, with ``/``. Links are followed if they stay in the
    repository. Submodules have no files here.
    """

    repository: Repository
    commit: str
    _folders: dict[str, Mapping[str, TreeEntry]] = field(
        default_factory=dict, compare=False, repr=False
    )

    def read_file(self, path: str) -> bytes | None:
        """Return the content of a file, or ``None`` if there is no such file.

        Raises:
            GitError: A link leads out of the repository, or a file of Git LFS was not fetched.
        """
        entry = self.find_entry(path)
        if entry is None or entry.mode in (_FOLDER_MODE, _SUBMODULE_MODE):
            return None
        content = self._read_object(entry)
        pointer = _LFS_POINTER.match(content)
        if pointer:
            return self._read_lfs_file(entry.path, pointer[1].decode())
        return content

    def list_files(self, folder: str = ".", followed: Collection[str] = ()) -> Iterator[str]:
        """Yield the paths of all files in a folder, at any depth, even through links to folders.

        Args:
            folder: The folder.
            followed: The targets of the links that were followed to reach this folder.
        """
        entry = self.find_entry(folder)
        if entry is None or not entry.is_folder:
            return
        prefix = "" if posixpath.normpath(folder) == "." else f"{posixpath.normpath(folder)}/"
        tree_name = f"{self.commit}:{entry.path}" if entry.path else self.commit
        listed = self.repository.read_output("ls-tree", "-r", "-z", tree_name)
        for mode, _, name in _parse_tree(listed):
            # Git must read each link. Links with an ending in their name hardly lead to folders.
            if mode == _LINK_MODE and "." not in posixpath.basename(name):
                target = self._find_linked_folder(prefix + name)
                place = posixpath.join(entry.path, name)
                is_loop = target in followed or place.startswith(f"{target}/")
                if target and not is_loop and len(followed) < MAX_NESTED_LINKS:
                    yield from self.list_files(prefix + name, (*followed, target))
                    continue
            if mode != _SUBMODULE_MODE:
                yield prefix + name

    def _find_linked_folder(self, path: str) -> str:
        """Return the folder to which a link leads, or an empty string."""
        try:
            entry = self.find_entry(path)
        except OutsideRepositoryError:
            return ""
        return entry.path if entry is not None and entry.is_folder else ""

    def find_entry(self, path: str, max_links: int = MAX_LINKS) -> TreeEntry | None:
        """Return the entry that a path leads to, or ``None`` if there is none."""
        path = posixpath.normpath(path)
        if path.startswith(("../", "/")) or path == "..":
            raise OutsideRepositoryError(f"'{path}' is outside the repository")
        if path == ".":
            return TreeEntry("", _FOLDER_MODE, self.commit)
        parts = path.split("/")
        entry = None
        for count in range(1, len(parts) + 1):
            entry = self._find_listed("/".join(parts[:count]))
            if entry is None:
                break
            if entry.mode == _LINK_MODE:
                return self._follow(entry, parts[count:], max_links)
        return entry

    def _follow(
        self, entry: TreeEntry, remaining: Sequence[str], max_links: int
    ) -> TreeEntry | None:
        """Return the entry to which a link leads."""
        target = os.fsdecode(self._read_object(entry))
        if target.startswith("/") or not max_links:
            message = f"'{entry.path}' is a link that leads out of the repository"
            raise OutsideRepositoryError(message)
        folder = posixpath.dirname(entry.path)
        return self.find_entry(posixpath.join(folder, target, *remaining), max_links - 1)

    def _find_listed(self, path: str) -> TreeEntry | None:
        folder = posixpath.dirname(path)
        if folder not in self._folders:
            paths = ("--", f"{folder}/") if folder else ()
            arguments = ("ls-tree", "-z", "--full-tree", self.commit, *paths)
            entries = {}
            for mode, object_id, name in _parse_tree(self.repository.read_output(*arguments)):
                entries[name] = TreeEntry(name, mode, object_id)
            self._folders[folder] = entries
        return self._folders[folder].get(path)

    def _read_object(self, entry: TreeEntry) -> bytes:
        return self.repository.read_output("cat-file", "blob", entry.object_id)

    def _read_lfs_file(self, path: str, object_id: str) -> bytes:
        """Read a file of Git LFS from the working tree, if unchanged, or from the local store."""
        common = self.repository.read_output("rev-parse", "--git-common-dir").decode().strip()
        store = self.repository.top / common / "lfs" / "objects"
        stored = store / object_id[:2] / object_id[2:4] / object_id
        for file in (self.repository.top / path, stored):
            try:
                content = file.read_bytes()
            except OSError:
                continue
            if hashlib.sha256(content).hexdigest() == object_id:
                return content
        raise GitError(
            f"'{path}' is in Git LFS and was not fetched. Run"
            f" `git lfs fetch origin {self.commit[:12]}`."
        )


def describe_commit(folder: Path) -> str:
    """Return the short commit of a folder, with ``-dirty`` if tracked files differ.

    Without git, use the variables of CI systems. The result is empty if the commit is unknown.
    """
    try:
        repository = Repository.find(folder)
        # Without a number, the length depends on how many commits were fetched.
        names = ("describe", "--always", "--dirty", "--exclude=*", "--abbrev=12")
        return repository.read_output(*names).decode().strip()
    except GitError:
        commits = [os.environ.get(name, "")[:12] for name in _COMMIT_VARIABLES]
        return next(filter(None, commits), "")


def _get_error_line(result: subprocess.CompletedProcess[bytes]) -> str:
    return " ".join(result.stderr.decode(errors="replace").split())


def _parse_tree(listed: bytes) -> Iterator[tuple[str, str, str]]:
    """Yield the mode, the object id and the path of each entry that ``git ls-tree -z`` lists."""
    for line in listed.split(b"\0")[:-1]:
        about, _, name = line.partition(b"\t")
        mode, _, object_id = about.decode().split()
        yield mode, object_id, os.fsdecode(name)
