"""Decode files that others wrote: text in UTF-8 or UTF-16, gzip, and JSON with bounded nesting.

A byte order mark is dropped. UTF-16 is recognized by its byte order mark, and gzip by its first
bytes. Lines end with LF, CRLF or CR.
"""

from __future__ import annotations

import codecs
import gc
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

from pytest_irquality.io.files import MAX_FILE_BYTES, MIB, FileError, open_binary

MAX_LINE_LENGTH = 16 * MIB  # characters
# Gzip shrinks text 5 to 30 times, and a "zip bomb" a thousand times. Small files have no bound.
MAX_GZIP_GROWTH = 200
MIN_BOUNDED_GZIP_BYTES = 64 * MIB

_BLOCK_BYTES = 2**16
_GZIP_MAGIC = b"\x1f\x8b"
_UTF16_MESSAGE = "The file seems to be UTF-16 without a byte order mark. Save it as UTF-8."
_NEWLINES = str.maketrans({"\r": "\n"})


class DecodeError(FileError):
    """The content of a file is not text, or is damaged or too large."""


def decode_text(data: bytes, name: object) -> str:
    """Decode the content of a file.

    Args:
        data: The bytes, possibly compressed with gzip.
        name: The name of the file in messages.

    Returns:
        The text, with LF as line ends.

    Raises:
        DecodeError: The bytes are not text.
    """
    return "".join(_decode_blocks(io.BytesIO(data), name))


def read_text(path: Path, limit: int = MAX_FILE_BYTES) -> str:
    """Read and decode a file of at most ``limit`` bytes, which also limits its unpacked size.

    Raises:
        FileError: The file cannot be opened. ``DecodeError`` if it is too large or not text.
    """
    with open_binary(path) as file, _unpack(file, path) as unpacked:
        data = _read(unpacked, limit + 1, path)
    if len(data) > limit:
        raise DecodeError(path, f"The file is larger than {limit // MIB} MiB")
    return decode_text(data, path)


def open_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line of a file, without its end.

    The file is read in blocks while the lines are consumed.

    Raises:
        FileError: The file cannot be opened. ``DecodeError`` if it is not text, which may be raised
            after some lines were yielded.
    """
    return number_lines(open_text_blocks(path))


def open_text_blocks(path: Path) -> Iterator[str]:
    """Yield the text of a file in blocks of complete lines, for readers of millions of lines.

    Raises:
        FileError: As ``open_lines`` does.
    """
    with open_binary(path) as file:
        yield from _decode_blocks(file, path)


def split_lines(data: bytes, name: object) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line of some bytes, as ``open_lines`` does."""
    return number_lines(_decode_blocks(io.BytesIO(data), name))


def number_lines(blocks: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the number, from 1, and the text of each line of blocks of complete lines."""
    # Not `splitlines`, for which there are more line ends than LF.
    lines = (block.removesuffix("\n").split("\n") for block in blocks)
    return enumerate(chain.from_iterable(lines), start=1)


def _decode_blocks(file: BinaryIO, name: object) -> Iterator[str]:
    """Yield text in blocks of complete lines. Only the last line may lack its line end."""
    block_count = 0
    rest = ""
    with _unpack(file, name) as unpacked:
        decoder = None
        while True:
            block = _read(unpacked, _BLOCK_BYTES, name)
            if decoder is None:
                decoder = _make_decoder(block)
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                _raise_undecodable(error, name, _count_lines(file, name, block_count), rest)
            if "\ufeff" in text:  # from files with byte order marks that were joined
                text = re.sub("\n\ufeff+", "\n", text)
                text = text if rest else text.lstrip("\ufeff")
            if "\0" in text:
                line_count = _count_lines(file, name, block_count)
                _raise_nul(name, (rest + text).split("\n"), line_count, block)
            end = text.rfind("\n") + 1
            complete = rest + text[:end] if end else ""
            rest = text[end:] if end else rest + text
            if len(rest) > MAX_LINE_LENGTH:
                message = f"A line has more than {MAX_LINE_LENGTH:,} characters"
                line = _count_lines(file, name, block_count) + complete.count("\n") + 1
                raise DecodeError(name, message, line)
            if complete:
                block_count += 1
                yield complete
            if not block:
                break
    if rest:
        yield rest


def _count_lines(file: BinaryIO, name: object, block_count: int) -> int:
    """Count the lines of the first blocks. Only errors need this, so nobody counts before."""
    file.seek(0)
    return sum(block.count("\n") for block in islice(_decode_blocks(file, name), block_count))


def _make_decoder(start: bytes) -> io.IncrementalNewlineDecoder:
    """Return the decoder for a file that starts with these bytes. It translates line ends."""
    encoding = "utf-8-sig"
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    decoder = codecs.getincrementaldecoder(encoding)()
    return io.IncrementalNewlineDecoder(decoder, translate=True)


def _raise_undecodable(error: UnicodeDecodeError, name: object, line_count: int, rest: str) -> None:
    before = bytes(error.object[: error.start]).decode(error.encoding, "replace")
    text = rest + before.replace("\r\n", "\n").translate(_NEWLINES)
    line = line_count + text.count("\n") + 1
    column = len(text) - text.rfind("\n")
    shown = f"0x{error.object[error.start]:02x}" if error.start < len(error.object) else "its end"
    message = f"The byte {shown} is not valid {error.encoding.upper()}. Save the file as UTF-8."
    raise DecodeError(name, _explain_utf16(error.object) or message, line, column) from None


def _raise_nul(name: object, lines: list[str], line_count: int, data: bytes) -> None:
    index = next(index for index, line in enumerate(lines) if "\0" in line)
    column = lines[index].index("\0") + 1
    message = _explain_utf16(data) or "A NUL character, so this is not a text file"
    raise DecodeError(name, message, line_count + index + 1, column)


def _explain_utf16(data: bytes) -> str:
    # In UTF-16, every other byte of ASCII text is NUL.
    return _UTF16_MESSAGE if data.count(b"\0") * 3 > len(data) else ""


def _read(file: BinaryIO, size: int, name: object) -> bytes:
    try:
        return file.read(size)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DecodeError(name, f"The gzip file is damaged: {error}") from None
    except OSError as error:
        raise FileError(name, f"The file cannot be read: {error.strerror or error}") from None


def _unpack(file: BinaryIO, name: object) -> BinaryIO:
    """Return a file that reads the content, unpacked if it is compressed."""
    start = file.read(len(_GZIP_MAGIC))
    file.seek(0)
    if start != _GZIP_MAGIC:
        return file
    return io.BufferedReader(_BoundedGzip(file, name), _BLOCK_BYTES)  # type: ignore[type-var]


class _BoundedGzip(io.RawIOBase):
    """The content of a gzip file. Reading fails if it grows more than text does."""

    def __init__(self, file: BinaryIO, name: object) -> None:
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        self._name = name
        self._gzip = gzip.GzipFile(fileobj=file)
        self._limit = max(MIN_BOUNDED_GZIP_BYTES, MAX_GZIP_GROWTH * size)
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        block = self._gzip.read1(len(buffer))
        self._count += len(block)
        if self._count > self._limit:
            message = f"The gzip file grows more than {MAX_GZIP_GROWTH} times when unpacked"
            raise DecodeError(self._name, message)
        buffer[: len(block)] = block
        return len(block)


@contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Pause the search for reference cycles while many objects without cycles are created."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


# -- JSON ------------------------------------------------------------------------------------------

MAX_NESTING = 40


class JsonError(ValueError):
    """A text is not JSON, or is nested too deeply."""


def parse_json(data: str | bytes, max_nesting: int = MAX_NESTING) -> Any:
    """Parse JSON.

    Args:
        data: The text, or bytes in UTF-8, UTF-16 or UTF-32.
        max_nesting: The allowed depth of lists and objects.

    Raises:
        JsonError: The data is not JSON, or is nested more deeply. The message fits in one line.
    """
    too_deep = f"The JSON is nested more than {max_nesting} levels deep"
    try:
        value = json.loads(data)
    except RecursionError:
        raise JsonError(too_deep) from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise JsonError(f"This is not JSON: {error.msg} ({place})") from None
    except ValueError as error:  # bytes that cannot be decoded, or a number of too many digits
        raise JsonError(f"This is not JSON: {error}") from None
    if exceeds_nesting(value, max_nesting):
        raise JsonError(too_deep)
    return value


def exceeds_nesting(value: object, max_nesting: int = MAX_NESTING) -> bool:
    """Return whether lists and dicts are nested more deeply."""
    level: list[Any] = [[value]]
    for _ in range(max_nesting + 1):
        next_level: list[Any] = []
        for container in level:
            children = container.values() if isinstance(container, dict) else container
            next_level += [child for child in children if type(child) in (list, dict)]
        if not next_level:
            return False
        level = next_level
    return True


def encode_json_line(value: object) -> bytes:
    """Encode a value as one compact line of JSON in UTF-8, with its line end.

    Raises:
        ValueError: A number is not finite.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Only a lone surrogate cannot be encoded. It becomes its escape sequence in JSON.
    return text.encode("utf-8", "backslashreplace") + b"\n"
