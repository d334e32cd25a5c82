"""Small projects with known faults, if their folder is next to the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).parents[3] / "shared/cases"
VERDICTS = CASES / "verdicts"
INPUTS = CASES / "inputs"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CASES.exists(), reason=f"there is no folder {CASES}"),
]


def list_cases(folder: Path) -> list[str]:
    return sorted(path.parent.name for path in folder.glob("*/expected.md"))


@pytest.mark.parametrize("name", list_cases(VERDICTS))
def test_verdict_holds(name: str) -> None:
    command = [sys.executable, str(VERDICTS / "run.py"), sys.executable, name]

    result = subprocess.run(command, capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("name", list_cases(INPUTS))
def test_input_is_read_in_time(name: str, tmp_path: Path) -> None:
    """What is right is described in words, so only time, tracebacks and exit statuses are held."""
    folder = tmp_path / "project"
    shutil.copytree(INPUTS / name, folder)
    for line in (folder / "command.txt").read_text().splitlines():
        command = line.replace("python", sys.executable)
        result = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=200,
            env={**os.environ, "PYTEST_ADDOPTS": "-p no:hypothesispytest"},
            check=False,
        )

        output = result.stdout + result.stderr
        assert "INTERNALERROR" not in output
        assert "Traceback (most recent call last)" not in output
        assert result.returncode in range(6), output
