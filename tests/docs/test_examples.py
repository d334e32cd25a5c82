"""The examples pass, and fail after the change that their README shows, with the output it shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

pytest.importorskip("sybil", reason="needs `pip install -e . --group test`")

from tests.docs.shown_pages import ROOT, find_blocks, run_command

IGNORED = shutil.ignore_patterns("ir-report.html", "node_modules", "runs", "__pycache__")
SERVER_TIMEOUT_S = 20


@pytest.fixture
def copy(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A copy of the example that the test names, which is its own root."""
    folder = tmp_path / "example"
    shutil.copytree(ROOT / request.param, folder, ignore=IGNORED)
    if not (folder / "pytest.ini").exists():
        (folder / "pytest.ini").write_text("[pytest]\n")
    return folder


def apply_change(folder: Path) -> None:
    """Apply the diff of the README."""
    (diff,) = find_blocks(folder / "README.md", "diff")
    lines = diff.splitlines(keepends=True)
    name = next(line[6:].strip() for line in lines if line.startswith("--- a/"))
    body = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
    before = "".join(line[1:] for line in body if line[0] in " -")
    after = "".join(line[1:] for line in body if line[0] in " +")
    path = folder / name
    text = path.read_text("utf-8")
    assert text.count(before) == 1
    path.write_text(text.replace(before, after), "utf-8")


def assert_lines(block: str, output: str) -> None:
    """Check that the output has every line of a block."""
    printed = {line.strip() for line in output.splitlines()}
    assert [line for line in block.splitlines() if line.strip() not in printed] == []


@pytest.mark.parametrize("copy", ["example_project"], indirect=True)
def test_shop(copy: Path) -> None:
    first = run_command("pytest --ir-suite", copy)
    apply_change(copy)
    second = run_command("pytest --ir-suite", copy)

    assert first.returncode == 0, first.stdout
    assert "2 xfailed" in first.stdout
    assert second.returncode == 1  # docs/tools/pages.py writes its output into the README


@pytest.mark.slow
@pytest.mark.parametrize("copy", ["examples/rag"], indirect=True)
def test_help_desk(copy: Path) -> None:
    shown_first, shown_second = find_blocks(copy / "README.md", "text")

    first = run_command("pytest --ir-suite", copy)
    apply_change(copy)
    second = run_command("pytest --ir-suite", copy)

    assert first.returncode == 0, first.stdout
    assert_lines(shown_first, first.stdout)
    assert second.returncode == 1
    assert_lines(shown_second, second.stdout)


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Start the service, and yield its origin."""
    with subprocess.Popen(
        ["node", "server.mjs"],
        cwd=folder,
        env={**os.environ, "PORT": "0"},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        origin = process.stdout.readline().strip()
        deadline = time.monotonic() + SERVER_TIMEOUT_S
        while time.monotonic() < deadline:
            try:
                urlopen(f"{origin}/search?q=hose").close()
                break
            except OSError:
                time.sleep(0.1)
        yield origin
        process.terminate()


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("npm"), reason="needs Node.js")
@pytest.mark.parametrize("copy", ["examples/node"], indirect=True)
def test_garden_shop(copy: Path) -> None:
    installed = run_command("npm ci", copy)
    if installed.returncode:
        pytest.skip("npm cannot fetch minisearch here")
    ini = (copy / "pytest.ini").read_text("utf-8")
    (shown,) = find_blocks(copy / "README.md", "text")

    outputs = []
    for changes_search in (False, True):
        if changes_search:
            apply_change(copy)
        with serve(copy) as origin:
            (copy / "pytest.ini").write_text(re.sub(r"http://127.0.0.1:\d+", origin, ini))
            outputs.append(run_command("pytest --ir-suite", copy))

    assert outputs[0].returncode == 0, outputs[0].stdout
    assert outputs[1].returncode == 1
    assert_lines(shown, outputs[1].stdout)
