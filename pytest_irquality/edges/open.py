"""Files that others wrote: which may be read, and how much of them.

A name that stands in a suite may lead to anything: out of the project, to a device that never ends,
to a pipe that nobody fills, to a gzip that grows a thousandfold. Whatever is read is opened here.
``Unreadable`` says in a few words what is wrong, and on which line.
"""

from __future__ import annotations

import glob
import io
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from itertools import count
from pathlib import Path, PurePath
from typing import Any, BinaryIO, TextIO

from pytest_irquality.edges import bounds
from pytest_irquality.edges.git import checkout_above
from pytest_irquality.edges.reach import MADE, OwnFiles

BLOCK = 2**16
GZIP = b"\x1f\x8b"
POINTER = b"version https://git-lfs.github.com/spec/v1\n"
TOO_LONG = f"a line longer than {bounds.LINE // bounds.MB} MB"
KERNEL = tuple(Path(os.sep, name) for name in ("proc", "sys"))
"""Where what looks like a file is none."""


class Unreadable(Exception):
    """A file that cannot or must not be read. ``line`` and ``column`` count from 1."""

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.line: int = line
        self.column: int = column


@dataclass(frozen=True)
class Allowed:
    """The folders that files may be read from and written to. Links count for where they lead.

    ``own``: those of them that a suite may name. ``what`` is what they are, in words.
    """

    folders: tuple[Path, ...]
    own: OwnFiles | None = None
    what: str = f"the project; the ini key {MADE} may name its folder"

    @classmethod
    def project(cls, root: Path, *others: Path) -> Allowed:
        """The checkout that holds ``root``, or else ``root`` itself, and the ``others``."""
        return cls(tuple(_real(folder) for folder in (checkout_above(root) or root, *others)))

    def within(self, folder: Path) -> Allowed:
        """Leave a folder alone that lies in one of them; one that is a link leads nowhere."""
        place = Path(_real(folder.parent), folder.name)
        what = f"{folder.name}/; --ir-baseline may name where it leads"
        return Allowed((place,), what=what) if self.holds(folder) else self

    def holds(self, path: Path) -> bool:
        """Tell whether a path leads into one of the folders, wherever its links go."""
        real = _real(path)
        return any(real.is_relative_to(folder) for folder in self.folders)

    def check(self, path: Path) -> None:
        """Refuse a path that leads out. Raises ``Unreadable``."""
        if not self.holds(path):
            raise Unreadable(f"leads outside {self.what}")

    def check_named(self, paths: Sequence[Path]) -> None:
        """Refuse paths that a suite must not name; of folders the files in it are asked about.

        Raises ``Unreadable``.
        """
        for path in paths:
            self.check(path)
        files = [path for path in paths if not path.is_dir()]
        if self.own and (why := self.own.refusal(files)):
            raise Unreadable(why)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))  # unlike Path.resolve it bears loops of links


# -- one file --------------------------------------------------------------------------------------


def open_bytes(path: Path, allowed: Allowed | None = None) -> BinaryIO:
    """Open a regular file for its bytes as they stand.

    Raises ``Unreadable`` for what is no regular file or lies outside of ``allowed``, ``OSError``.
    """
    if allowed:
        allowed.check(path)
    real = _real(path)
    kernels = any(real.is_relative_to(folder) for folder in KERNEL)
    if kernels or not stat.S_ISREG(os.stat(real).st_mode):  # some devices act when they are opened
        raise Unreadable("is not a regular file")
    # Opened without waiting for whoever would fill a pipe, and looked at as it was opened.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
    descriptor = os.open(real, flags | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Unreadable("is not a regular file")
    file = os.fdopen(descriptor, "rb")
    if file.peek(len(POINTER)).startswith(POINTER):
        file.close()
        raise Unreadable("is kept by Git LFS, and not here: `git lfs pull`")
    return file


def open_unpacked(path: Path, allowed: Allowed | None = None) -> BinaryIO:
    """Open a regular file for its bytes, unpacked where it is a gzip.

    Raises as ``open_bytes`` does; reading raises ``Unreadable`` where one grows too much.
    """
    file = open_bytes(path, allowed)
    start = file.read(2)
    file.seek(0)
    return io.BufferedReader(_Unpacked(file), BLOCK) if start == GZIP else file


class _Unpacked(io.RawIOBase):
    """The content of a gzip, as far as it grows no further than text does."""

    def __init__(self, packed: BinaryIO) -> None:
        import gzip  # noqa: PLC0415 - most files are none
        import zlib  # noqa: PLC0415 - it comes with gzip

        self._damage = (EOFError, zlib.error, gzip.BadGzipFile)
        self._packed = packed
        self._content = gzip.GzipFile(fileobj=packed)
        self._most = max(bounds.GROWTH_FROM, bounds.GROWTH * os.fstat(packed.fileno()).st_size)
        self._read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            block = self._content.read1(len(buffer))
        except self._damage as error:
            raise Unreadable(f"damaged gzip: {error}") from None
        self._read += len(block)
        if self._read > self._most:
            raise Unreadable(f"a gzip that grows more than {bounds.GROWTH} times")
        buffer[: len(block)] = block
        return len(block)

    def close(self) -> None:
        self._content.close()
        self._packed.close()
        super().close()


def bounded_lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of an open file, each with its end.

    Raises ``Unreadable`` for one that is too long.
    """
    lines = iter(partial(file.readline, bounds.LINE + 1), b"")
    for number, line in enumerate(lines, 1):
        if len(line) > bounds.LINE:
            raise Unreadable(TOO_LONG, number)
        yield line


def read_text(path: Path, most: int, allowed: Allowed | None = None) -> str:
    """The text of a file of at most ``most`` bytes, in UTF-8.

    Raises ``Unreadable``, also for what the system says of the file.
    """
    with _told(), open_bytes(path, allowed) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise Unreadable(
            f"is larger than {most // bounds.MB} MB; keep judgments of that size in files"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
        raise Unreadable(f"not UTF-8 text: {error.reason}", line, column) from None


@contextmanager
def _told() -> Iterator[None]:
    """Raise ``Unreadable`` for whatever the system says of a file."""
    try:
        yield
    except FileNotFoundError:
        raise Unreadable("no such file") from None
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror or error}") from None


# -- lines of text ---------------------------------------------------------------------------------


def blocks(text: TextIO) -> Iterator[list[str]]:
    """All lines of an open text without their ends, many at a time.

    Raises ``ValueError`` for lines that are none of text.
    """
    rest = ""
    while block := text.read(BLOCK):
        lines = (rest + block).split("\n")
        rest = lines.pop()
        if "\0" in block or len(rest) > BLOCK:
            raise ValueError
        yield lines
    if rest:
        yield [rest]


@contextmanager
def open_lines(path: Path, allowed: Allowed | None = None, head: bool = False) -> Iterator[TextIO]:
    """Open a text file (UTF-8, gzip or not).

    ``head``: only its first lines matter, so that the rest is not looked through. Raises
    ``Unreadable`` for whatever goes wrong, also while lines are read.
    """
    with _told():
        with open_unpacked(path, allowed) as data:
            _look_through(data, head)
        with io.TextIOWrapper(open_unpacked(path, allowed), "utf-8-sig") as text:
            try:
                yield text
            except UnicodeDecodeError as error:
                with open_unpacked(path, allowed) as data:
                    line, column = _undecodable(data)
                raise Unreadable(f"not UTF-8 text: {error.reason}", line, column) from None


def _look_through(data: BinaryIO, head: bool) -> None:
    """Refuse what is no text, in all of a file or in its ``head``.

    It is seen in blocks, so that no bomb and no endless line fills the memory.
    """
    total = newlines = line_start = 0
    while block := data.read(BLOCK):
        if b"\0" in block:
            line = newlines + block[: block.index(b"\0")].count(b"\n") + 1
            raise Unreadable("a NUL byte: this is no text file", line)
        newline = block.rfind(b"\n")
        if newline >= 0:
            line_start = total + newline
        total += len(block)
        newlines += block.count(b"\n")
        if total - line_start > bounds.LINE:
            raise Unreadable(TOO_LONG, newlines + 1)
        if head and newline >= 0:
            break


def _undecodable(data: BinaryIO) -> tuple[int, int]:
    """The line and column of the first byte that is no UTF-8."""
    for number, line in enumerate(bounded_lines(data), 1):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            return number, len(line[: error.start].decode()) + 1
    return 1, 1


# -- many files ------------------------------------------------------------------------------------


def matching(pattern: str, folder: Path) -> list[str]:
    """The paths below a folder that a glob matches, sorted.

    ``*`` stays within a name, and hidden files are not meant. Raises ``Unreadable`` where too much
    would have to be looked at, as over loops of links.
    """
    if len(pattern) > bounds.PATH:
        raise Unreadable(f"a path longer than {bounds.PATH} characters")
    first, *parts = PurePath(pattern).parts or ("",)
    found = [""] if first != PurePath(pattern).anchor else [first]
    looked_at = count(1)
    for part in parts if found[0] else (first, *parts):
        found = [
            os.path.join(base, name)
            for base in found
            for name in _names(folder / base, part, looked_at)
        ]
    if len(found) > bounds.FILES:
        raise Unreadable(f"more than {bounds.FILES} files match")
    return sorted(found)


def _names(folder: Path, part: str, looked_at: Iterator[int]) -> Iterator[str]:
    """The names in a folder that one part of a glob matches."""
    try:
        if not glob.has_magic(part):
            if os.path.lexists(folder / part):
                yield part
            return
        with os.scandir(folder) as entries:
            for entry in entries:
                if next(looked_at) > bounds.ENTRIES:
                    raise Unreadable(f"looks at more than {bounds.ENTRIES:,} files")
                if entry.name.startswith(".") <= part.startswith(".") and fnmatch(entry.name, part):
                    yield entry.name
    except OSError:  # no folder, or none to look into, or a link once too often
        return


def files_below(folder: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    """The files with one of the suffixes in a folder and those below it, but hidden ones.

    Raises ``Unreadable`` where there are too many.
    """
    looked_at = 0
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        looked_at += len(folders) + len(names)
        if looked_at > bounds.ENTRIES:
            raise Unreadable(f"holds more than {bounds.ENTRIES:,} files")
        for name in sorted(names):
            if name.endswith(suffixes) and not name.startswith("."):
                yield Path(place, name)
