"""The example with Ray: two local workers, of which one is killed and its shard runs again."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="needs `pip install ray`")

from tests.docs.shown_pages import ROOT, make_environment
from tests.io.helpers import commit_all, make_repository

pytestmark = pytest.mark.slow

KILL_ONCE = """

_search = ShopSearch.search


def _search_or_die(self, query, k):
    import os, pathlib, signal

    marker = pathlib.Path({marker!r})
    if query == "garden hose" and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return _search(self, query, k)


ShopSearch.search = _search_or_die
"""


@pytest.fixture
def example(tmp_path: Path) -> Path:
    folder = tmp_path / "ray"
    shutil.copytree(ROOT / "examples/ray", folder, ignore=shutil.ignore_patterns("runs", "__*"))
    return folder


def run(example: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=example,
        env={**make_environment(), "RAY_AUTH_MODE": "disabled"},
        text=True,
        encoding="utf-8",
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def test_shards_are_joined(example: Path) -> None:
    commit = commit_all(make_repository(example))

    retrieved = run(example, "retrieve.py", "--shards=2")
    joined = run(example, "-m", "pytest", "--ir-suite", "--ir-runs=runs")

    assert retrieved.returncode == 0, retrieved.stdout
    assert joined.returncode == 0, joined.stdout
    assert "13 passed" in joined.stdout
    assert "not from the current code" not in joined.stdout
    for index in (1, 2):
        text = (example / f"runs/retriever.{index}-of-2.jsonl").read_text()
        assert f'"commit":"{commit[:12]}"' in text


def test_shard_of_a_killed_worker_runs_again(example: Path, tmp_path: Path) -> None:
    marker = tmp_path / "killed"
    with (example / "shop_search.py").open("a", encoding="utf-8") as file:
        file.write(KILL_ONCE.format(marker=str(marker)))

    retrieved = run(example, "retrieve.py", "--shards=2")
    joined = run(example, "-m", "pytest", "--ir-suite", "--ir-runs=runs")

    assert marker.exists()
    assert retrieved.returncode == 0, retrieved.stdout
    assert joined.returncode == 0, joined.stdout


def test_missing_shard_is_an_error(example: Path) -> None:
    run(example, "retrieve.py", "--shards=2")
    (example / "runs/retriever.2-of-2.jsonl").unlink()

    joined = run(example, "-m", "pytest", "--ir-suite", "--ir-runs=runs")

    assert joined.returncode != 0
    assert "1 shard missing: 2/2" in joined.stdout
