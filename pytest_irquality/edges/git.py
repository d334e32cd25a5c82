"""Git: the repository that holds the project, asked in a way that runs nothing of a stranger's.

A pull request can bring a whole bare repository among its files, with a config that runs commands.
So git is asked in one folder only, the nearest at or above pytest's rootdir that has a ``.git``
entry, which no commit can bring; and whatever configuration could start a program is laid over.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

from pytest_irquality.edges import bounds

if TYPE_CHECKING:
    import subprocess

CI_COMMITS = (
    "GITHUB_SHA",
    "CI_COMMIT_SHA",
    "BUILDKITE_COMMIT",
    "CIRCLE_SHA1",
    "BITBUCKET_COMMIT",
    "GIT_COMMIT",
)
HARMLESS: Mapping[str, str] = {
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
"""Configuration over everybody's: nothing starts another program.

Only a partial clone goes out to the network: it asks its remote, as its owner set it up, for what
it lacks.
"""
FLAGS = ("--no-pager", "--no-optional-locks", "--no-replace-objects", "--literal-pathspecs")


def checkout_above(folder: Path) -> Path | None:
    """The nearest folder at or above this one that has a ``.git`` entry."""
    start = Path(os.path.abspath(folder))
    return next((at for at in (start, *start.parents) if os.path.lexists(at / ".git")), None)


@dataclass(frozen=True)
class Repository:
    """The git checkout whose root is ``top``.

    Every method raises ``OSError``, with git's words or because there is no git.
    """

    top: Path

    @classmethod
    def holding(cls, folder: Path) -> Repository:
        """The repository that a folder, pytest's rootdir, lies in."""
        if (top := checkout_above(folder)) is None:
            raise OSError("the project is in no git checkout")
        return cls(top)

    @property
    def is_there(self) -> bool:
        """Tell whether there is a git to ask, and a repository behind the entry ``.git``.

        One of which git refuses to speak is there.
        """
        with suppress(OSError):  # no git, or none that answers in time
            said = self.ask("rev-parse", "--git-dir").stderr
            return not said.startswith(b"fatal: not a git repository")
        return which("git") is not None

    def ask(
        self,
        *arguments: str,
        patience: float | None = bounds.PATIENCE,
        flags: Sequence[str] = FLAGS,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run git and give whatever it answered, errors too."""
        import subprocess  # noqa: PLC0415 - only where a file is written or a revision read

        settings = [part for pair in HARMLESS.items() for part in ("-c", "=".join(pair))]
        try:
            return subprocess.run(
                ["git", *flags, *settings, *arguments], cwd=self.top, env=self._environment(),
                capture_output=True, timeout=patience, check=False, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise OSError(f"git {arguments[0]} took more than {patience:g} s") from None

    def output(self, *arguments: str) -> bytes:
        """The bytes that git prints. Raises ``OSError`` where git fails."""
        done = self.ask(*arguments)
        if done.returncode:
            said = " ".join(done.stderr.decode(errors="replace").split())
            raise OSError(said or f"git {arguments[0]} failed")
        return done.stdout

    def listed(self, command: str, *arguments: str) -> list[str]:
        """The names of files that git lists, from ``top``. Raises ``OSError`` where git fails."""
        names = self.output(command, "-z", *arguments).split(b"\0")
        return [*map(os.fsdecode, filter(None, names))]

    def differing(self, commit: str) -> list[str]:
        """Name the files that git knows and that differ from a commit."""
        return self.listed("diff", "--name-only", "--no-renames", commit)

    def edited(self) -> list[str]:
        """Name the files that differ from HEAD, and the Python files that git does not know."""
        new = self.listed("ls-files", "--others", "--exclude-standard")
        return [*self.differing("HEAD"), *(name for name in new if name.endswith((".py", ".pyi")))]

    def _environment(self) -> Mapping[str, str]:
        # A hook's GIT_DIR, or any of its like, would have git look elsewhere or start something.
        ours = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        asks_nobody = {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "SSH_ASKPASS": ""}
        # LANGUAGE translates messages. Above ``top`` nothing is looked for.
        return {
            **ours, **asks_nobody, "LC_ALL": "C", "GIT_CEILING_DIRECTORIES": str(self.top.parent),
        }  # fmt: skip

    def commit_of(self, ref: str) -> str:
        """The commit that a name stands for.

        Raises ``OSError``, which says what to do about one that is not here.
        """
        known = self.ask(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}"
        )
        if known.returncode == 0:
            return known.stdout.decode().strip()
        if self.is_shallow:
            raise OSError(
                f"this clone is shallow and lacks {ref!r}; fetch it, or clone all of it"
                " (actions/checkout: `with: {fetch-depth: 0}`)"
            )
        raise OSError(
            f"git knows no revision {ref!r} here: `git fetch` brings what the remote has, and"
            " `git branch --all` lists the names"
        )

    def path(self, file: Path) -> str:
        """A file's path in the repository. Raises ``OSError`` for one that lies outside."""
        real, top = os.path.realpath(file.parent), os.path.realpath(self.top)
        try:
            inside = Path(real).relative_to(top)
        except ValueError:
            raise OSError(f"{file.name} lies outside the git checkout {self.top.name}") from None
        return (inside / file.name).as_posix()

    def around(self, file: Path) -> Repository:
        """The repository that a file lies in: this one, or a submodule of it."""
        top = checkout_above(Path(os.path.realpath(file.parent)))
        inner = top is not None and top.is_relative_to(os.path.realpath(self.top))
        return Repository(top) if top and inner else self

    def merge_base(self, ref: str) -> str:
        """The commit that HEAD has grown from, as seen from ``ref``.

        A commit that ``ref`` got since is no part of the change.
        """
        done = self.ask("merge-base", self.commit_of(ref), "HEAD")
        if done.returncode == 0:
            return done.stdout.decode().strip()
        if self.is_shallow:
            raise OSError(
                f"this clone is shallow and lacks the commit that {ref!r} and HEAD have in common;"
                " clone all of it (actions/checkout: `with: {fetch-depth: 0}`)"
            )
        raise OSError(f"{ref!r} and HEAD have no commit in common")

    @property
    def is_shallow(self) -> bool:
        """True where older commits are missing here."""
        return self.output("rev-parse", "--is-shallow-repository").strip() == b"true"

    def tracks(self, file: Path) -> bool:
        """Tell whether a file, or a link of that name, is in the commit that is checked out."""
        return bool(self.output("ls-files", "-z", "--", self.path(file)))

    def leaves_out(self, file: Path) -> bool:
        """Tell whether a sparse checkout leaves out a file that git tracks."""
        at = self.around(file)
        return at.output("ls-files", "-t", "-z", "--", at.path(file)).startswith(b"S ")

    def ignoring(self, file: Path) -> str:
        """Name the line of the ignore file for which git does not take a file; "" if it would."""
        # The command knows no literal names, nor does it look for what they match.
        at = self.around(file)
        asked = ("check-ignore", "-v", "--", f"./{at.path(file)}")
        said = os.fsdecode(at.ask(*asked, flags=FLAGS[:-1]).stdout)
        line = said.partition("\t")[0]
        return "" if re.search(r":\d+:!", line) else line


def commit(folder: Path) -> str | None:
    """The commit that a folder is at, short, with ``-dirty`` where tracked files differ.

    None where neither git nor the CI system's environment knows.
    """
    try:
        repository = Repository.holding(folder)
        return repository.output("describe", "--always", "--dirty", "--exclude=*").decode().strip()
    except OSError:  # no checkout, no git, no commit yet
        return _commit_of_ci()


def code(folder: Path, suites: Sequence[str]) -> str | None:
    """A name for the code in a checkout as it stands, with its edits and new modules.

    Edits of suites are none, nor are those of baselines. None where neither git nor the CI system's
    environment knows a commit.
    """
    try:
        repository = Repository.holding(folder)
        commit = repository.output("rev-parse", "--verify", "HEAD").decode().strip()[:12]
        edited = [name for name in repository.edited() if not _is_of_suite(Path(name), suites)]
    except OSError:
        return _commit_of_ci()
    return f"{commit}+{_digest(repository.top, edited)}" if edited else commit


def _commit_of_ci() -> str | None:
    return next((os.environ[name][:12] for name in CI_COMMITS if os.environ.get(name)), None)


def _is_of_suite(path: Path, suites: Sequence[str]) -> bool:
    return any(map(path.match, suites)) or path.parent.name == ".ir-baseline"


def _digest(top: Path, names: Sequence[str]) -> str:
    """A short hash of files by name and content, some of which may be gone."""
    from hashlib import sha256  # noqa: PLC0415 - only where answers are kept

    digest = sha256()
    for name in sorted(names):
        file = top / name
        content = file.read_bytes() if file.is_file() else b""
        digest.update(b"%s\0%d\0%s" % (os.fsencode(name), len(content), content))
    return digest.hexdigest()[:12]


def now() -> str:
    """The time now in UTC, to the second, ISO 8601."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def package_version() -> str | None:
    """The installed version of this package."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - slow to import

    try:
        return version("pytest-irquality")
    except PackageNotFoundError:  # from a folder that was never installed
        return None
