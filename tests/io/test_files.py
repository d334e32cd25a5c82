"""Files are opened only if they are files, found within bounds, and written completely."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_irquality.io import files
from pytest_irquality.io.files import (
    FileError,
    append_text,
    find_matching_files,
    list_files_below,
    lock_folder,
    open_binary,
    read_bytes,
    write_atomically,
    write_new_file,
)

from .helpers import make_repository, run_git, write_file


class TestReading:
    def test_only_regular_files_are_opened(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "zero").symlink_to("/dev/zero")
        (tmp_path / "kernel").symlink_to("/proc/self/environ")

        for name in ("pipe", "zero", "kernel", "."):
            with pytest.raises(FileError, match="This is not a regular file"):
                open_binary(tmp_path / name)

    def test_links_in_a_circle_and_missing_files_are_errors(self, tmp_path: Path) -> None:
        (tmp_path / "loop").symlink_to(tmp_path / "loop")

        with pytest.raises(FileError, match="loop: The file cannot be read: Too many levels"):
            open_binary(tmp_path / "loop")
        with pytest.raises(FileError, match="none: No such file"):
            open_binary(tmp_path / "none")

    @pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="no files in memory")
    def test_files_in_memory_are_files(self) -> None:
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            path = write_file(Path(folder, "q.txt"), "a\n")

            assert read_bytes(path) == b"a\n"

    def test_a_size_is_bounded(self, tmp_path: Path) -> None:
        path = write_file(tmp_path / "a", b"x" * 11)

        assert read_bytes(path, limit=11) == b"x" * 11
        with pytest.raises(FileError, match="larger than"):
            read_bytes(path, limit=10)

    def test_a_pointer_of_git_lfs_names_the_command(self, tmp_path: Path) -> None:
        pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
        path = write_file(tmp_path / "a", pointer)

        with pytest.raises(FileError, match="Run `git lfs pull`"):
            read_bytes(path)

    def test_used_up_file_descriptors_are_a_one_line_error(self, tmp_path: Path) -> None:
        path = write_file(tmp_path / "a", "x")
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            with pytest.raises(FileError) as read_error:
                read_bytes(path)
            with pytest.raises(OSError, match="Too many open files") as write_error:
                write_atomically(path, "y")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

        assert read_error.value.message == "The file cannot be read: Too many open files"
        assert "\n" not in str(write_error.value)
        assert path.read_text() == "x"


class TestFinding:
    def test_patterns_match_visible_files(self, tmp_path: Path) -> None:
        for name in ("q.csv", ".hidden.csv", "sub/r.csv"):
            write_file(tmp_path / name)

        assert find_matching_files("*.csv", tmp_path) == ["q.csv"]
        assert find_matching_files(".*.csv", tmp_path) == [".hidden.csv"]
        assert find_matching_files("*/r.csv", tmp_path) == ["sub/r.csv"]
        assert find_matching_files("sub/../q.csv", tmp_path) == ["sub/../q.csv"]
        assert find_matching_files(f"{tmp_path}/q*", Path()) == [f"{tmp_path}/q.csv"]
        assert find_matching_files("none/*", tmp_path) == []
        assert [path.name for path in list_files_below(tmp_path, (".csv",))] == ["q.csv", "r.csv"]

    def test_loops_of_links_end(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(files, "MAX_LISTED_ENTRIES", 10_000)
        for name in ("a", "b"):
            (tmp_path / name).symlink_to(".")
        write_file(tmp_path / "q.csv")

        for pattern in ("*/" * 30 + "x", "*/" * 30 + "*.csv"):
            with pytest.raises(FileError, match="more than 10,000 files"):
                find_matching_files(pattern, tmp_path)
        with pytest.raises(FileError, match="More than 1,000 files match"):
            find_matching_files("*/" * 10 + "q.csv", tmp_path)
        with pytest.raises(FileError, match="more than 4,096 characters"):
            find_matching_files("*" * 5000, tmp_path)

    def test_the_bound_itself_is_allowed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("a.csv", "b.csv", "c.csv"):
            write_file(tmp_path / name)
        monkeypatch.setattr(files, "MAX_LISTED_ENTRIES", 3)

        assert len(find_matching_files("*.csv", tmp_path)) == 3
        assert len(list(list_files_below(tmp_path, (".csv",)))) == 3

        monkeypatch.setattr(files, "MAX_LISTED_ENTRIES", 2)
        with pytest.raises(FileError, match="more than 2 files"):
            find_matching_files("*.csv", tmp_path)
        with pytest.raises(FileError, match="more than 2 files"):
            list(list_files_below(tmp_path, (".csv",)))


class TestWriting:
    def test_a_text_keeps_its_line_ends(self, tmp_path: Path) -> None:
        path = tmp_path / "new" / "a"

        write_atomically(path, "é\r\n\ud800\n")
        append_text(path, "\udfff\n")

        assert path.read_bytes() == "é\r\n\\ud800\n\\udfff\n".encode()

    def test_a_failure_keeps_the_old_file_and_leaves_nothing(self, tmp_path: Path) -> None:
        def yield_chunks() -> Iterator[bytes]:
            yield b"new"
            raise KeyboardInterrupt

        path = write_file(tmp_path / "a", "old")

        with pytest.raises(KeyboardInterrupt):
            write_atomically(path, yield_chunks())

        assert path.read_text() == "old"
        assert os.listdir(tmp_path) == ["a"]

    def test_the_mode_of_a_file_stays(self, tmp_path: Path) -> None:
        path = write_file(tmp_path / "a", "old")
        path.chmod(0o640)

        write_atomically(path, b"new")

        assert path.read_text() == "new"
        assert path.stat().st_mode & 0o777 == 0o640

    def test_a_new_file_replaces_nothing(self, tmp_path: Path) -> None:
        path = write_file(tmp_path / "a", "old")

        with pytest.raises(FileExistsError, match="'a' exists"):
            write_new_file(path, "new")

        assert path.read_text() == "old"
        write_new_file(tmp_path / "b", "new")
        assert (tmp_path / "b").read_text() == "new"

    def test_two_writers_leave_one_complete_file(self, tmp_path: Path) -> None:
        code = (
            "import sys\nfrom pathlib import Path\n"
            "from pytest_irquality.io.files import write_atomically\n"
            "for _ in range(20): write_atomically(Path('a'), sys.argv[1] * 100_000)\n"
        )
        writers = [
            subprocess.Popen([sys.executable, "-c", code, letter], cwd=tmp_path) for letter in "xy"
        ]

        assert [writer.wait() for writer in writers] == [0, 0]

        assert re.fullmatch("x{100000}|y{100000}", (tmp_path / "a").read_text())
        assert os.listdir(tmp_path) == ["a"]

    def test_devices_and_pipes_are_written_in_place(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        reader = subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE, text=True)

        write_atomically(Path(os.devnull), "x")
        write_atomically(tmp_path / "pipe", "through\n")

        assert reader.communicate()[0] == "through\n"

    def test_a_link_stays_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to("target")

        write_atomically(tmp_path / "link", "x")

        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "target").read_text() == "x"

    def test_nothing_is_written_through_a_link_that_git_tracks(self, tmp_path: Path) -> None:
        """Such a link may lead to a script that a later step of the job runs."""
        project = make_repository(tmp_path / "project")
        (project / "inside").mkdir()
        for name, target in [("a.html", "../outside"), ("b.html", "new"), ("folder", "inside")]:
            (project / name).symlink_to(target)
        run_git(project, "add", "a.html", "b.html", "folder")
        (project / "mine").symlink_to("../outside")

        for name in ("a.html", "b.html", "folder/report.html"):
            with pytest.raises(OSError, match="is a link that git tracks"):
                write_atomically(project / name, "x")
        write_atomically(project / "mine", "x")

        assert (tmp_path / "outside").read_text() == "x"
        assert not (project / "new").exists()
        assert os.listdir(project / "inside") == []

    def test_processes_wait_for_the_lock_of_a_folder(self, tmp_path: Path) -> None:
        code = (
            "import sys\nfrom pathlib import Path\n"
            "from pytest_irquality.io.files import lock_folder\n"
            "with lock_folder(Path('.')): print('locked', flush=True)\n"
        )

        with lock_folder(tmp_path):
            waiting = subprocess.Popen(
                [sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, text=True
            )
            with pytest.raises(subprocess.TimeoutExpired):
                waiting.wait(0.5)

        assert waiting.communicate()[0] == "locked\n"


def test_temporary_files_of_killed_processes_are_removed(tmp_path: Path) -> None:
    names = {"leftover": ".report.html.0123456789abcdef.tmp"}
    names["in use"] = ".report.html.fedcba9876543210.tmp"
    names["other target"] = ".other.html.0123456789abcdef.tmp"
    for name in names.values():
        write_file(tmp_path / name, "half a re")
    for name in (names["leftover"], names["other target"]):
        os.utime(tmp_path / name, (0, 0))

    write_atomically(tmp_path / "report.html", "a report")

    assert set(os.listdir(tmp_path)) == {"report.html", names["in use"], names["other target"]}
