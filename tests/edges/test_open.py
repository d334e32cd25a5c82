"""What is no file to read is refused in words, and nothing waits, grows or leads out."""

from __future__ import annotations

import gzip
import os
import tempfile
from pathlib import Path

import pytest

from pytest_irquality.edges import bounds
from pytest_irquality.edges.open import (
    Allowed,
    Unreadable,
    blocks,
    bounded_lines,
    files_below,
    matching,
    open_bytes,
    open_lines,
    open_unpacked,
    read_text,
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "outside").write_text("secret\n")
    return tmp_path / "project"


def test_only_what_lies_in_the_project(project: Path) -> None:
    allowed = Allowed.project(project)
    (project / "in").write_text("x\n")
    (project / "in-link").symlink_to(project / "in")
    (project / "out-link").symlink_to(project.parent / "outside")
    (project / "folder").symlink_to(project.parent)
    for name in ("in", "in-link"):
        with open_bytes(project / name, allowed) as file:
            assert file.read() == b"x\n"
    for name, said in [
        ("out-link", "leads outside the project"),
        ("folder/outside", "leads outside the project"),
        ("../outside", "leads outside the project"),
        ("/etc/passwd", "leads outside the project"),
    ]:
        with pytest.raises(Unreadable, match=said):
            open_bytes(project / name, allowed)
    with pytest.raises(Unreadable, match="ir_files"):
        read_text(project / "out-link", 100, allowed)
    assert read_text(project / "out-link", 9, Allowed.project(project, project.parent))


def test_the_project_is_its_checkout(project: Path) -> None:
    (project / "deep" / "root").mkdir(parents=True)
    (project / "shared.txt").write_text("x")
    deep = project / "deep" / "root"
    assert not Allowed.project(deep).holds(project / "shared.txt")
    (project / ".git").mkdir()
    assert Allowed.project(deep).holds(project / "shared.txt")
    assert not Allowed.project(deep).holds(project.parent / "outside")


def test_what_is_no_regular_file(project: Path) -> None:
    os.mkfifo(project / "pipe")
    (project / "zero").symlink_to("/dev/zero")
    (project / "log").symlink_to("/proc/self/environ")
    (project / "loop").symlink_to(project / "loop")
    for name in ("pipe", "zero", "log", "."):
        with pytest.raises(Unreadable, match="is not a regular file"):
            open_bytes(project / name)
    for name, said in [("loop", "cannot be read"), ("none", "no such file")]:
        with pytest.raises(Unreadable, match=said):
            read_text(project / name, 100)


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="no memory to keep files in")
def test_files_in_memory_are_files() -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        Path(name, "q.txt").write_text("a\n")
        assert read_text(Path(name, "q.txt"), 9) == "a\n"


def test_a_line_and_a_gzip_end_somewhere(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = project / "long"
    with long.open("wb") as file:
        file.write(b"short\n")
        file.truncate(bounds.LINE + 100)
    with (
        pytest.raises(Unreadable, match="line longer than 16 MB") as error,
        open_bytes(long) as file,
    ):
        list(bounded_lines(file))
    assert error.value.line == 2
    bomb = project / "bomb.gz"
    bomb.write_bytes(gzip.compress(b"\n" * (4 << 20)))
    monkeypatch.setattr(bounds, "GROWTH_FROM", 1 << 20)
    with (
        pytest.raises(Unreadable, match="grows more than 200 times"),
        open_unpacked(bomb) as content,
    ):
        sum(1 for _ in bounded_lines(content))
    with pytest.raises(Unreadable, match="grows more than 200 times"), open_lines(bomb):
        pass


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("packed", [False, True])
def test_text_is_read_with_its_mark_or_without(project: Path, mark: bytes, packed: bool) -> None:
    data = mark + "é\nb\n".encode()
    (project / "a").write_bytes(gzip.compress(data) if packed else data)
    with open_lines(project / "a") as lines:
        assert list(lines) == ["é\n", "b\n"]
    with open_lines(project / "a") as lines:
        assert list(blocks(lines)) == [["é", "b"]]


def test_globs_end_whatever_the_folders_are(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        (project / name).symlink_to(".")
    (project / "q.csv").write_text("x")
    (project / ".hidden.csv").write_text("x")
    assert matching("*.csv", project) == ["q.csv"]
    assert matching(".*.csv", project) == [".hidden.csv"]
    assert matching("*/*.csv", project) == ["a/q.csv", "b/q.csv"]
    assert matching(f"{project}/q*", Path()) == [f"{project}/q.csv"]
    assert matching("none/*", project) == []
    monkeypatch.setattr(bounds, "ENTRIES", 10_000)
    for pattern in ("*/" * 30 + "x", "*/" * 30 + "*.csv"):
        with pytest.raises(Unreadable, match="looks at more than 10,000 files"):
            matching(pattern, project)
    with pytest.raises(Unreadable, match="more than 1000 files match"):
        matching("*/" * 10 + "q.csv", project)
    with pytest.raises(Unreadable, match="longer than 4096"):
        matching("*" * 5000, project)
    assert [path.name for path in files_below(project, (".csv",))] == ["q.csv"]


def test_a_folder_may_hold_as_many_files_as_the_bound_says(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.csv", "b.csv", "c.csv"):
        (project / name).write_text("x")
    monkeypatch.setattr(bounds, "ENTRIES", 3)
    assert len(list(files_below(project, (".csv",)))) == 3
    assert len(matching("*.csv", project)) == 3
    monkeypatch.setattr(bounds, "ENTRIES", 2)
    with pytest.raises(Unreadable, match="looks at more than 2 files"):
        matching("*.csv", project)
    with pytest.raises(Unreadable, match="holds more than 2 files"):
        list(files_below(project, (".csv",)))


def test_the_line_of_a_nul_byte_is_counted_over_all_blocks(tmp_path: Path) -> None:
    path = tmp_path / "judgments.tsv"
    path.write_bytes(b"1 0 d1 1\n" * 20_000 + b"1 0 d\0 1\n")
    with pytest.raises(Unreadable) as raised, open_lines(path):
        pass
    assert raised.value.line == 20_001
