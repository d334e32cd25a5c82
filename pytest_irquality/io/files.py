"""Open files that others may have written, and write files completely or not at all.

The name of a file in a suite may lead to a device, a pipe or a file of several gigabytes, and a
link in a pull request may lead out of the project. Reading opens regular files only and is bounded.
Writing replaces a file at once, and never through a link that git tracks.
"""

from __future__ import annotations

import glob
import os
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path, PurePath
from typing import BinaryIO

from pytest_irquality.io.git import GitError, Repository, find_checkout

if sys.platform != "win32":
    import fcntl

MIB = 2**20
MAX_FILE_BYTES = 64 * MIB
MIN_LEFTOVER_AGE_S = 3_600
MAX_PATH_LENGTH = 4_096
MAX_MATCHING_FILES = 1_000
MAX_LISTED_ENTRIES = 1_000_000

_LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
_KERNEL_FOLDERS = (Path(os.sep, "proc"), Path(os.sep, "sys"))


class FileError(Exception):
    """A file cannot or must not be read or written.

    Attributes:
        path: The name of the file in messages.
        message: What is wrong and what to do, without the file.
        line: The line in the file, from 1, or 0 if the message is about the file.
        column: The column in the line, from 1, or 0.
    """

    def __init__(self, path: object, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(path, message, line, column)
        self.path = str(path)
        self.message = message
        self.line = line
        self.column = column

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.message}"


# -- Reading ---------------------------------------------------------------------------------------


def open_binary(path: Path) -> BinaryIO:
    """Open a regular file for reading.

    Raises:
        FileError: The file is missing, unreadable, a device, a pipe, or a pointer of Git LFS.
    """
    with _report_os_errors(path):
        file = _open_regular_file(path)
        start = file.peek(len(_LFS_POINTER))  # type: ignore[attr-defined]
    if start.startswith(_LFS_POINTER):
        file.close()
        raise FileError(path, "The file is in Git LFS and was not fetched. Run `git lfs pull`.")
    return file


def read_bytes(path: Path, limit: int = MAX_FILE_BYTES) -> bytes:
    """Read a regular file of at most ``limit`` bytes.

    Raises:
        FileError: The file cannot be opened, or is larger.
    """
    with open_binary(path) as file, _report_os_errors(path):
        data = file.read(limit + 1)
    if len(data) > limit:
        raise FileError(path, f"The file is larger than {limit // MIB} MiB")
    return data


@contextmanager
def _report_os_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise FileError(path, "No such file") from None
    except OSError as error:
        raise FileError(path, f"The file cannot be read: {error.strerror or error}") from None


def _open_regular_file(path: Path) -> BinaryIO:
    real = Path(os.path.realpath(path))
    is_in_kernel = any(real.is_relative_to(folder) for folder in _KERNEL_FOLDERS)
    # Check before opening, because some devices act when they are opened.
    if is_in_kernel or not stat.S_ISREG(os.stat(real).st_mode):
        raise FileError(path, "This is not a regular file")
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
    flags |= getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
    descriptor = os.open(real, flags)
    # Check again, because the file may have been replaced in between.
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileError(path, "This is not a regular file")
    return os.fdopen(descriptor, "rb")


# -- Finding ---------------------------------------------------------------------------------------


def find_matching_files(pattern: str, folder: Path) -> list[str]:
    """Return the paths in a folder that a glob pattern matches, sorted.

    ``*`` does not match ``/`` or hidden files.

    Raises:
        FileError: Too many files match, or the folders contain too many.
    """
    if len(pattern) > MAX_PATH_LENGTH:
        raise FileError(pattern[:80], f"A path has more than {MAX_PATH_LENGTH:,} characters")
    anchor = PurePath(pattern).anchor
    matches = [anchor]
    listed_count = 0
    for part in PurePath(pattern).relative_to(anchor).parts:
        next_matches: list[str] = []
        for parent in matches:
            names, entry_count = _match_names(folder / parent, part)
            listed_count += entry_count
            if listed_count > MAX_LISTED_ENTRIES:
                raise FileError(pattern, f"There are more than {MAX_LISTED_ENTRIES:,} files")
            next_matches += [os.path.join(parent, name) for name in names]
        matches = next_matches
    if len(matches) > MAX_MATCHING_FILES:
        raise FileError(pattern, f"More than {MAX_MATCHING_FILES:,} files match")
    return sorted(match for match in matches if match)


def list_files_below(folder: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    """Yield the files with one of the suffixes in a folder, at any depth, except hidden ones.

    Raises:
        FileError: There are too many files.
    """
    listed_count = 0
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        listed_count += len(folders) + len(names)
        if listed_count > MAX_LISTED_ENTRIES:
            raise FileError(folder, f"There are more than {MAX_LISTED_ENTRIES:,} files")
        for name in sorted(names):
            if name.endswith(suffixes) and not name.startswith("."):
                yield Path(parent, name)


def _match_names(folder: Path, part: str) -> tuple[list[str], int]:
    """Return the names in a folder that match a part of a pattern, and the number of names read."""
    names: list[str] = []
    count = 0
    # A folder that is missing, unreadable or a loop of links has no files.
    with suppress(OSError):
        if not glob.has_magic(part):
            return ([part], 1) if os.path.lexists(folder / part) else ([], 1)
        with os.scandir(folder) as entries:
            for entry in entries:
                count += 1
                if count > MAX_LISTED_ENTRIES:
                    break
                is_hidden = entry.name.startswith(".") and not part.startswith(".")
                if not is_hidden and fnmatch(entry.name, part):
                    names.append(entry.name)
    return names, count


# -- Writing ---------------------------------------------------------------------------------------


def write_atomically(path: Path, data: str | bytes | Iterable[bytes]) -> None:
    """Replace a file. If the process dies at any moment, the old or the new file is there.

    It waits for the disk, so the file also survives a power cut.

    A device or a pipe is written to directly. Missing folders are created.

    Args:
        path: The file. Links are followed, except those that git tracks.
        data: The content. A text is written as UTF-8 with its own line ends.

    Raises:
        OSError: The file cannot be written. The message fits in one line.
    """
    if isinstance(data, str):
        data = encode_text(data)
    chunks = (data,) if isinstance(data, bytes) else data
    target = resolve_target(path)
    if target.exists() and not target.is_file():
        with target.open("wb") as file:
            file.writelines(chunks)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name[:80]}.{os.urandom(8).hex()}.tmp")
    try:
        # The module tempfile makes private files, but others should be able to read this one.
        with temporary.open("xb") as file:
            file.writelines(chunks)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    # Remove the temporary files of processes that were killed some time ago.
    for leftover in target.parent.glob(f".{glob.escape(target.name[:80])}.{'[0-9a-f]' * 16}.tmp"):
        with suppress(OSError):  # another process may be faster
            if time.time() - leftover.stat().st_mtime > MIN_LEFTOVER_AGE_S:
                leftover.unlink()


def write_new_file(path: Path, text: str) -> None:
    """Write a file that must not exist.

    Raises:
        FileExistsError: The file exists, or a link of this name.
        OSError: The file cannot be written.
    """
    # Not atomic, which does not matter for a file that a person asks for.
    if os.path.lexists(path):
        raise FileExistsError(f"'{path.name}' exists and is not overwritten")
    write_atomically(path, text)


def append_text(path: Path, text: str) -> None:
    """Append to a file that the environment names, such as ``$GITHUB_STEP_SUMMARY``."""
    with path.open("ab") as file:
        file.write(encode_text(text))


def encode_text(text: str) -> bytes:
    """Encode a text as UTF-8. A lone surrogate becomes its escape sequence."""
    return text.encode("utf-8", "backslashreplace")


def resolve_target(path: Path) -> Path:
    """Return the file that a path leads to, for writing.

    Raises:
        OSError: A link on the way is tracked by git. It could lead to a file that runs later.
    """
    link = _find_tracked_link(path)
    if link:
        raise OSError(f"'{link}' is a link that git tracks, so nothing is written through it")
    return Path(os.path.realpath(path))


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Wait until no other process holds the lock of a folder, which is created if missing.

    Processes that read a file and write it again need this. Windows and some network drives cannot
    lock a folder, so processes do not wait there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if sys.platform != "win32":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)
    else:
        yield


def _find_tracked_link(path: Path) -> str | None:
    """Return the name of a link in the path that git tracks. If git fails, any link counts."""
    absolute = Path(os.path.abspath(path))
    top = find_checkout(absolute.parent)
    if top is None:
        return None
    for part in (absolute, *absolute.parents):
        if part == top:
            break
        try:
            if part.is_symlink() and Repository(top).is_tracked(part):
                return part.name
        except GitError:
            return part.name
    return None
