"""A team with a suite on main."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.clones import FILES, Team, commit, copied, made, write
from tests.repository import git


@pytest.fixture(scope="module")
def guarded_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a suite and its baseline."""
    folder = tmp_path_factory.mktemp("guarded")
    team = made(folder)
    clone = folder / "first"
    for name, text in FILES.items():
        write(clone, name, text)
    team.types(clone, "pytest -q --ir-suite --ir-update-baseline")
    commit(clone, "Guard search")
    git(clone, "push", "-q", "origin", "main")
    return folder


@pytest.fixture
def guarded(guarded_once: Path, tmp_path: Path) -> Team:
    """A copy of it."""
    return copied(guarded_once, tmp_path)
