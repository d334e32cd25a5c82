"""Real git, as a user has it, with fixed times and no one's configuration."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

WHO = {
    **{f"GIT_{who}_NAME": "a" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "a@example.org" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_DATE": "2024-05-01T10:00:00Z" for who in ("AUTHOR", "COMMITTER")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TEMPLATE_DIR": "",
}
# Nothing here must outlast a power cut, and a repository of ten commits needs no tidying up.
SETTINGS = ("-c", "protocol.file.allow=always", "-c", "core.fsync=none", "-c", "gc.auto=0")


def git(folder: Path, *arguments: str, check: bool = True) -> str:
    """What git prints. Raises ``CalledProcessError`` where it fails, unless ``check`` is False."""
    command = ["git", "-C", str(folder), *SETTINGS, *arguments]
    environment = {**os.environ, **WHO}
    done = subprocess.run(
        command, check=check, capture_output=True, timeout=300, env=environment, text=True
    )
    return done.stdout
