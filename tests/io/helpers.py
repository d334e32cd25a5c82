"""A real git with fixed times and without anybody's configuration."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_ENVIRONMENT = {
    **{f"GIT_{role}_NAME": "a" for role in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{role}_EMAIL": "a@example.org" for role in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{role}_DATE": "2024-05-01T10:00:00Z" for role in ("AUTHOR", "COMMITTER")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TEMPLATE_DIR": "",
}
_SETTINGS = ("-c", "protocol.file.allow=always", "-c", "core.fsync=none", "-c", "gc.auto=0")


def run_git(folder: Path, *arguments: str) -> str:
    """Run git and return what it prints."""
    result = subprocess.run(
        ["git", "-C", str(folder), *_SETTINGS, *arguments],
        check=True,
        capture_output=True,
        timeout=60,
        env={**os.environ, **_ENVIRONMENT},
        text=True,
    )
    return result.stdout.strip()


def make_repository(folder: Path) -> Path:
    """Create an empty repository."""
    folder.mkdir(parents=True, exist_ok=True)
    run_git(folder, "init", "-q", "-b", "main")
    return folder


def commit_all(folder: Path, message: str = "change") -> str:
    """Commit everything and return the commit."""
    run_git(folder, "add", "-A")
    run_git(folder, "commit", "-qm", message)
    return run_git(folder, "rev-parse", "HEAD")


def write_file(path: Path, content: str | bytes = "") -> Path:
    """Write a file and its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
