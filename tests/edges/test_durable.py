"""Whatever ends an update, its files are the old ones or the new ones, and what failed is said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Project

resource = pytest.importorskip("resource")

LIMIT = 50_000
QUERIES = 60
SUITE = "depth: 100\nqueries:\n" + "".join(
    f"  - {{query: q{n}, relevant: [d{n}], must_find: [d{n}]}}\n" for n in range(QUERIES)
)
CONFTEST = """\
import os
@pytest.fixture
def retriever():
    turn = os.environ.get("TURN", "old")
    return lambda query, k: ["d" + query[1:], *(f"{turn}-{n}" for n in range(k - 1))]
"""
BASELINE = Path(".ir-baseline", "shop.jsonl")


@pytest.fixture
def shop(project: Project) -> Project:
    """A project whose baseline is that of the turn "old", and larger than the limit."""
    project.suite(SUITE)
    project.conftest(CONFTEST)
    assert project.run("--ir-update-baseline").ret == 0
    assert (project.path / BASELINE).stat().st_size > LIMIT
    return project


def start(
    shop: Project, turn: str, *args: str, before: Callable[[], object] | None = None
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "--ir-suite", "--ir-update-baseline", "-p", "no:cacheprovider", *args],
        cwd=shop.path, env={**os.environ, "TURN": turn}, text=True, preexec_fn=before,  # noqa: PLW1509
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def turns(path: Path) -> set[str]:
    """Who wrote the rankings of a baseline, each line of which must be whole."""
    found = set()
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]
    queries = [line for line in lines if "query" in line]
    assert len(queries) == QUERIES
    for line in queries:
        ids = [doc[0] if isinstance(doc, list) else doc for doc in line["docs"]]
        found |= {id.partition("-")[0] for id in ids if "-" in id}
    return found


def temporary(folder: Path) -> list[Path]:
    return list(folder.rglob("*.tmp"))


@pytest.mark.slow
def test_a_full_disk_leaves_the_old_files_and_fails(shop: Project) -> None:
    """A limit on the size of files is a disk that is full in the middle of each of them."""
    (shop.path / "report.html").write_text("the old page")
    old = (shop.path / BASELINE).read_bytes()
    process = start(
        shop, "new", "--ir-json=out.json", "--ir-report=report.html", "--ir-save-runs=kept",
        before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT)),
    )  # fmt: skip
    said, _ = process.communicate()
    assert process.returncode == 1, said
    assert f"{QUERIES + 2} passed" in said  # the guard and the default limit, too
    for name in (str(BASELINE), "out.json", "report.html", "kept"):
        assert f"NOT WRITTEN: {name}: File too large" in said, said
    assert "Traceback" not in said
    assert (shop.path / BASELINE).read_bytes() == old
    assert (shop.path / "report.html").read_text() == "the old page"
    assert not temporary(shop.path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_device_that_is_full_is_said(shop: Project) -> None:
    result = shop.run("--ir-markdown=/dev/full", "-k", "q1")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["NOT WRITTEN: /dev/full: No space left on device"])


@pytest.fixture
def closed() -> Iterator[Path]:
    """A folder with a file, into which only its owner may write; others may look in."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "a").write_text("old")
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o755)


def test_no_permission_leaves_the_old_file(closed: Path) -> None:
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom pytest_irquality.edges.write import write_text\n"
        "if os.geteuid() == 0: os.setuid(65534)\n"  # whom no permission stops
        "for name in ('a', 'b', 'c/d'):\n"
        "    try: write_text(Path(sys.argv[1], name), 'new')\n"
        "    except OSError as error: print(error.strerror)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, closed], capture_output=True, text=True, check=False)  # fmt: skip
    assert done.stdout.splitlines() == ["Permission denied"] * 3, done.stderr
    assert [(path.name, path.read_text()) for path in closed.iterdir()] == [("a", "old")]


@pytest.mark.parametrize(("at", "concurrency"), [("q0", 1), ("q59", 1), ("q30", 3)])
def test_ctrl_c_during_an_update_leaves_the_old_baseline(
    shop: Project, at: str, concurrency: int
) -> None:
    old = (shop.path / BASELINE).read_bytes()
    shop.conftest(
        f"@pytest.fixture\ndef retriever():\n    def ask(query, k):\n"
        f"        if query == {at!r}: raise KeyboardInterrupt\n"
        "        return ['d' + query[1:], *(f'new-{n}' for n in range(k - 1))]\n    return ask\n"
    )
    result = shop.run("--ir-update-baseline", f"--ir-concurrency={concurrency}")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert (shop.path / BASELINE).read_bytes() == old
    assert not temporary(shop.path)


@pytest.mark.slow
def test_two_updaters_at_once_leave_the_baseline_of_one(shop: Project) -> None:
    both = [start(shop, turn, "--ir-report=none") for turn in ("one", "two")]
    said = [process.communicate()[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert turns(shop.path / BASELINE) in ({"one"}, {"two"})
    assert not temporary(shop.path)
