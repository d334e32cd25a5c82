"""Files that are written: whole, where they were meant, and nothing left over."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_irquality.edges.open import Allowed
from pytest_irquality.edges.write import append, write, write_new, write_text
from tests.repository import git


def test_lines_end_as_they_stand_and_half_a_pair_is_its_escape(tmp_path: Path) -> None:
    write_text(tmp_path / "new" / "a", "é\n\ud800\n")
    assert (tmp_path / "new" / "a").read_bytes() == "é\n\\ud800\n".encode()
    append(tmp_path / "new" / "a", "\udfff\n")
    assert (tmp_path / "new" / "a").read_bytes().endswith(b"\n\\udfff\n")


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    def chunks() -> object:
        yield b"new"
        raise KeyboardInterrupt

    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(0o640)
    with pytest.raises(KeyboardInterrupt):
        write(path, chunks())  # type: ignore[arg-type]
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]
    write_text(path, "new")
    assert path.stat().st_mode & 0o777 == 0o640
    with pytest.raises(FileExistsError):
        write_new(path, "other")
    assert path.read_text() == "new"


def test_what_a_killed_process_left_goes_with_the_next_write(tmp_path: Path) -> None:
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom pytest_irquality.edges.write import write\n"
        "def chunks():\n    yield b'x'\n    print('here', flush=True)\n    sys.stdin.read()\n    yield b'y'\n"
        "write(Path('a'), chunks())\n"
    )
    command = [sys.executable, "-c", code]
    killed, alive = (
        subprocess.Popen(
            command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    )
    for process in (killed, alive):
        assert process.stdout
        process.stdout.readline()
    killed.kill()
    killed.communicate()
    assert len(list(tmp_path.iterdir())) == 2
    (tmp_path / ".a.unlike.tmp").touch()
    write_text(tmp_path / "a", "whole")
    assert len(list(tmp_path.iterdir())) == 3  # that of the process that still writes is its own
    alive.communicate("")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".a.unlike.tmp", "a"]
    assert (tmp_path / "a").read_text() == "xy"


def test_a_device_and_a_pipe_are_written_in_place(tmp_path: Path) -> None:
    write_text(Path(os.devnull), "x")
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE, text=True)
    write_text(tmp_path / "pipe", "through\n")
    assert reader.communicate()[0] == "through\n"


def test_a_link_leads_as_far_as_is_allowed(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    allowed = Allowed.project(project)
    for name, target in [("in", "real"), ("out", "../made"), ("gone", "../no/such")]:
        (project / name).symlink_to(target)
    write_text(project / "in", "x", allowed)
    assert (project / "in").is_symlink()
    assert (project / "real").read_text() == "x"
    for name in ("out", "gone"):
        with pytest.raises(OSError, match=f"{name} leads out of the project"):
            write_text(project / name, "x", allowed)
    write_text(project / "out", "x")  # named on the command line
    assert (tmp_path / "made").read_text() == "x"
    assert not (tmp_path / "no").exists()


def test_nothing_is_written_through_a_link_that_a_commit_brought(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "inside").mkdir(parents=True)
    git(project, "init", "-q")
    for name, target in [("a.html", "../outside"), ("b.html", "c.html"), ("folder", "inside")]:
        (project / name).symlink_to(target)
    (project / "mine").symlink_to("../outside")
    git(project, "add", "a.html", "b.html", "folder")
    for name in ("a.html", "b.html", "folder/report.html"):
        with pytest.raises(OSError, match="is a link in git, and nothing is written through one"):
            write_text(project / name, "x", Allowed.project(tmp_path))
    write_text(project / "mine", "x")
    assert (tmp_path / "outside").read_text() == "x"
    assert not (project / "c.html").exists()


def test_two_writers_at_once_leave_one_whole_file(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom pytest_irquality.edges.write import write_text\n"
        "for n in range(40): write_text(Path('a'), sys.argv[1] * 100_000)\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", code, letter], cwd=tmp_path) for letter in "xy"
    ]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        if (tmp_path / "a").exists():
            text = (tmp_path / "a").read_text()
            assert re.fullmatch("x{100000}|y{100000}", text)
            seen.add(text[0])
        time.sleep(0.001)
    assert [writer.returncode for writer in writers] == [0, 0]
    assert os.listdir(tmp_path) == ["a"]
