"""A file as lines of text, whatever it really is: read as it goes, within bounded memory."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from pytest_irquality.suite.yaml import SuiteError

MAX_BYTES = 2**30
MAX_LINE = 16 * 2**20
BLOCK = 2**16
GZIP = b"\x1f\x8b"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")


class Lines:
    """The lines of an open file."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self.text = text

    def __iter__(self) -> Iterator[str]:
        """Each line with its end."""
        return iter(self.text)

    def blocks(self) -> Iterator[list[str]]:
        """All of them without their ends, many at a time. Raises ``ValueError`` for lines that are none of text."""
        rest, total = "", 0
        while block := self.text.read(BLOCK):
            total += len(block)
            lines = (rest + block).split("\n")
            rest = lines.pop()
            if "\0" in block or len(rest) > BLOCK or total > MAX_BYTES:
                raise ValueError
            yield lines
        if rest:
            yield [rest]


@contextmanager
def open_lines(path: Path, shown: str, head: bool = False) -> Iterator[Lines]:
    """Open a text file (UTF-8, or UTF-16 with its mark; gzip or not). Whatever goes wrong is a ``SuiteError``.

    ``head``: only its first lines matter, so that the rest is not looked through.
    """
    try:
        if not path.is_file():
            raise SuiteError(
                shown, 1, 1, "is not a regular file" if path.exists() else "no such file"
            )
        with _bytes(path) as data:
            encoding = _look_through(data, shown, head)
        with io.TextIOWrapper(_bytes(path), encoding) as text:
            try:
                if encoding == "utf-8" and text.read(1) != "\ufeff":
                    text.seek(0)
                yield Lines(text)
            except UnicodeDecodeError as error:
                with _bytes(path) as data:
                    line, column = _undecodable(data) if encoding == "utf-8" else (1, 1)
                raise SuiteError(
                    shown, line, column, f"not {encoding.upper()} text: {error.reason}"
                ) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise SuiteError(shown, 1, 1, f"damaged gzip: {error}") from None
    except OSError as error:
        raise SuiteError(shown, 1, 1, f"cannot be read: {error.strerror or error}") from None


def _bytes(path: Path) -> BinaryIO:
    """The file's bytes, unpacked. A plain file stays the one Python reads fastest."""
    with path.open("rb") as plain:
        packed = plain.read(2) == GZIP
    return cast(BinaryIO, gzip.open(path)) if packed else path.open("rb")


def _look_through(data: BinaryIO, shown: str, head: bool) -> str:
    """The encoding. The file is seen in blocks, so that no bomb and no endless line fills the memory."""
    total = newlines = line_start = 0
    wide = False
    while block := data.read(BLOCK):
        wide = wide or (not total and block[:2] in UTF_16)
        if not wide and b"\0" in block:
            line = newlines + block[: block.index(b"\0")].count(b"\n") + 1
            raise SuiteError(shown, line, 1, "a NUL byte: this is no text file")
        newline = block.rfind(b"\n")
        if newline >= 0:
            line_start = total + newline
        total += len(block)
        newlines += block.count(b"\n")
        if total - line_start > MAX_LINE:
            raise SuiteError(shown, newlines + 1, 1, f"a line longer than {MAX_LINE // 2**20} MB")
        if head and newline >= 0:
            break
        if total > MAX_BYTES:
            raise SuiteError(shown, newlines + 1, 1, f"larger than {MAX_BYTES // 2**30} GB")
    return "utf-16" if wide else "utf-8"


def _undecodable(data: BinaryIO) -> tuple[int, int]:
    """Line and column of the first byte that is no UTF-8."""
    for number, line in enumerate(data, 1):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            return number, len(line[: error.start].decode()) + 1
    return 1, 1
