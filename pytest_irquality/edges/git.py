"""What git knows: which code made a run, what a file was at a commit, and which commit changed it last."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

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
PATIENCE = 30.0


def git(folder: Path, arguments: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    """Run git in a folder. Raises ``OSError`` where there is no git, or it does not answer."""
    import subprocess  # noqa: PLC0415 - only where a file is written or a revision read

    # A hook's GIT_DIR would have git look at another repository than the folder's, and LANGUAGE translates messages.
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("GIT_DIR", "GIT_WORK_TREE")
    }
    command = ["git", "-C", str(folder), *arguments]
    try:
        return subprocess.run(
            command, capture_output=True, timeout=PATIENCE, env={**environment, "LC_ALL": "C"}, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise OSError(f"git {arguments[0]} took more than {PATIENCE:g} s") from None


def output(folder: Path, arguments: Sequence[str]) -> bytes:
    """What git prints. Raises ``OSError`` with its own words where it fails."""
    done = git(folder, arguments)
    if done.returncode:
        raise OSError(
            " ".join(done.stderr.decode(errors="replace").split()) or f"git {arguments[0]} failed"
        )
    return done.stdout


def commit(folder: Path) -> str | None:
    """The commit that a folder is at, short, with ``-dirty`` where tracked files differ; None where nobody knows."""
    try:
        described = git(folder, ["describe", "--always", "--dirty", "--exclude=*"])
    except OSError:
        described = None
    if described and described.returncode == 0 and (name := described.stdout.decode().strip()):
        return name
    return next((os.environ[name][:12] for name in CI_COMMITS if os.environ.get(name)), None)


def last_change(file: Path, at: str | None = None) -> tuple[str | None, str | None]:
    """The commit, short, that last changed a file, and when: as it stands at a commit, or in the working tree.

    None for a commit that git does not know; what is not committed is then as old as the file system says.
    """
    folder = next((folder for folder in file.parents if folder.is_dir()), file.parent)
    name = f"./{file.relative_to(folder).as_posix()}"
    try:
        if at or git(folder, ["diff", "--quiet", "HEAD", "--", name]).returncode == 0:
            log = ["log", "-1", "--format=%h %ct %p", at or "HEAD", "--", name]
            commit, time, *parents = output(folder, log).decode().split() or ("", "")
            shallow = ["rev-parse", "--is-shallow-repository"]
            # The oldest commit of a shallow clone looks as if it had made every file.
            if commit and (parents or output(folder, shallow).strip() != b"true"):
                return commit, time_of(int(time))
    except OSError:
        pass
    return None, None if at or not file.exists() else time_of(file.stat().st_mtime)


def time_of(seconds: float) -> str:
    """A time in UTC, to the second, ISO 8601."""
    from datetime import datetime, timezone  # noqa: PLC0415 - only where a file is read or written

    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def now() -> str:
    """The time now."""
    from time import time  # noqa: PLC0415

    return time_of(time())


def package_version() -> str | None:
    """The installed version of this package."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - slow to import

    try:
        return version("pytest-irquality")
    except PackageNotFoundError:  # from a folder that was never installed
        return None
