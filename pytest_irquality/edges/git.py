"""Which code made a run: what git says, or else the machine that builds."""

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


def now() -> str:
    """The time in UTC, to the second, ISO 8601."""
    from datetime import datetime, timezone  # noqa: PLC0415 - only where a file is written

    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def package_version() -> str | None:
    """The installed version of this package."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - slow to import

    try:
        return version("pytest-irquality")
    except PackageNotFoundError:  # from a folder that was never installed
        return None
