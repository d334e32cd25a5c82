"""Build the complete site: ``python -m docs.tools.site FOLDER``.

``FOLDER/dev`` is the working tree. ``FOLDER/stable`` is the newest release, if there is a tag. The
pages of each version link to the other one with relative links, so the site needs no service.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from docs.tools import ROOT

VERSIONS_FILE = "versions.json"
REDIRECT = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={}">\n'


def find_newest_release(repository: Path) -> str:
    """Return the newest tag ``vX.Y.Z``, or an empty string."""
    output = _run_git(repository, "tag", "--list", "v*", "--sort=-version:refname")
    releases = [tag for tag in output.split() if re.fullmatch(r"v\d+\.\d+\.\d+", tag)]
    return releases[0] if releases else ""


def build_site(repository: Path, site: Path) -> None:
    """Build all versions of a repository's documentation.

    Raises:
        subprocess.CalledProcessError: A page has a warning, or git failed.
    """
    site.mkdir(parents=True, exist_ok=True)
    release = find_newest_release(repository)
    versions = [{"folder": "dev", "title": "development"}]
    if release:
        versions.insert(0, {"folder": "stable", "title": f"{release[1:]} (stable)"})
    versions_file = site / VERSIONS_FILE
    versions_file.write_text(json.dumps(versions) + "\n", encoding="utf-8")
    _build_pages(repository, site / "dev", versions_file)
    if release:
        with tempfile.TemporaryDirectory() as name:
            worktree = Path(name, "stable")
            _run_git(repository, "worktree", "add", "--detach", str(worktree), release)
            try:
                _build_pages(worktree, site / "stable", versions_file)
            finally:
                _run_git(repository, "worktree", "remove", "--force", str(worktree))
    (site / "index.html").write_text(
        REDIRECT.format(f"{versions[0]['folder']}/index.html"), encoding="utf-8"
    )
    # Otherwise GitHub Pages would leave out folders that begin with an underscore.
    (site / ".nojekyll").touch()


def _build_pages(source: Path, folder: Path, versions_file: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-nW", "--keep-going", "-q", "docs", str(folder)]
    environment = {**os.environ, "DOCS_VERSIONS": str(versions_file)}
    subprocess.run(command, cwd=source, env=environment, check=True)


def _run_git(repository: Path, *arguments: str) -> str:
    command = ["git", "-C", str(repository), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    build_site(ROOT, Path(sys.argv[1]).resolve())
