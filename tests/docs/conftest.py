"""A team with a suite and its baseline on main."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("sybil", reason="needs `pip install -e . --group test`")

from tests.docs.team import TESTS, Team, commit, copy_team, create_team, git, write


@pytest.fixture(scope="session")
def tested_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("team")
    team = create_team(folder)
    clone = folder / "first"
    for name, text in TESTS.items():
        write(clone, name, text)
    team.run(clone, "pytest -q --ir-suite --ir-update-baseline")
    commit(clone, "Test search")
    git(clone, "push", "-q", "origin", "main")
    return folder


@pytest.fixture
def team(tested_folder: Path, tmp_path: Path) -> Team:
    return copy_team(tested_folder, tmp_path)
