"""The files that a suite names: where they are, whether they may be read, and their lines."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from glob import has_magic
from pathlib import Path
from typing import Protocol

from pytest_irquality.io.access import FileAccess
from pytest_irquality.io.decoding import open_line_blocks, split_lines
from pytest_irquality.io.files import FileError, find_matching_files
from pytest_irquality.suite.yaml_source import Mistake, quote


class SuiteFiles(Protocol):
    """Files from another place than the working tree, such as a commit.

    Paths are relative to the root of the project, with ``/``.
    """

    def read_bytes(self, path: str) -> bytes:
        """Return the content of a file.

        Raises:
            OSError: There is no such file. The message is shown to the user.
        """

    def list_files(self) -> Iterable[str]:
        """Return the paths of all files, for patterns and BEIR folders."""


@dataclass(frozen=True)
class DataFile:
    """One file of queries, judgments or documents.

    Attributes:
        name: What messages call it: its path relative to the root of the project.
        format: The format, if the suite names it.
        columns: The names of columns by their meaning, as far as the suite names them.
        read_content: Reads the content, if the file is not on disk.
    """

    name: str
    path: Path
    format: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    read_content: Callable[[], bytes] | None = None

    @property
    def suffix(self) -> str:
        """Return the ending of the name, without ``.gz``."""
        return Path(self.path.name.removesuffix(".gz")).suffix.lower()

    def read_blocks(self) -> Iterator[list[str]]:
        """Yield the lines in lists, for readers of millions of lines.

        Raises:
            Mistake: The file cannot be read.
        """
        try:
            if self.read_content is None:
                yield from open_line_blocks(self.path)
            else:
                yield [line for _, line in split_lines(self.read_content(), self.name)]
        except FileError as error:
            raise Mistake(error.line or 1, error.message, self.name) from None
        except OSError as error:
            raise Mistake(1, f"The file cannot be read: {error}", self.name) from None

    def read_lines(self) -> Iterator[tuple[int, str]]:
        """Yield the lines with their numbers, from 1.

        Raises:
            Mistake: The file cannot be read.
        """
        number = 0
        for block in self.read_blocks():
            for line in block:
                number += 1
                yield number, line


class FileFinder:
    """Finds the files that one suite names.

    Attributes:
        found: The names of all files that were found, in order.
    """

    def __init__(
        self,
        suite_name: str,
        suite_path: Path,
        access: FileAccess,
        source: SuiteFiles | None,
    ) -> None:
        self.found: dict[str, None] = {}
        self._suite_path = suite_path
        self._folder_name = posixpath.dirname(suite_name)
        self._access = access
        self._source = source

    def find(
        self, written: str, line: int, format: str = "", columns: Mapping[str, str] | None = None
    ) -> list[DataFile]:
        """Find the files that a path or pattern means, relative to the suite.

        Raises:
            Mistake: There is none, or the suite may not name it.
        """
        try:
            names = self._match(written)
        except FileError as error:
            raise Mistake(line, f"{quote(written)}: {error.message}") from None
        except OSError as error:
            message = f"{quote(written)} cannot be read: {error.strerror or error}"
            raise Mistake(line, message) from None
        if not names:
            what = "No file matches" if has_magic(written) else "There is no file"
            raise Mistake(line, f"{what} {quote(written)}")
        files = []
        for name in names:
            files.append(self._make_file(name, format, columns or {}))
        return files

    def find_part(self, folder: DataFile, name: str) -> DataFile:
        """Find a file in a BEIR folder, compressed or not."""
        for inner in (name, f"{name}.gz"):
            part = f"{folder.name}/{inner}"
            path = folder.path / inner
            if self._source is None:
                if not path.exists():
                    continue
                try:
                    self._access.check_data_files([path], self._suite_path)
                except FileError as error:
                    raise Mistake(1, error.message, part) from None
            elif part not in self._source.list_files():
                continue
            return self._make_file(part, folder.format, folder.columns, path)
        message = f"The folder is not a BEIR data set, because it has no {name}"
        raise Mistake(1, message, folder.name)

    def is_folder(self, file: DataFile) -> bool:
        """Return whether a file is a folder, as BEIR's data sets are."""
        if self._source is None:
            return file.path.is_dir()
        return any(name.startswith(f"{file.name}/") for name in self._source.list_files())

    def _make_file(
        self, name: str, format: str, columns: Mapping[str, str], path: Path | None = None
    ) -> DataFile:
        path = path or self._suite_path.parent / posixpath.relpath(name, self._folder_name or ".")
        source = self._source
        content = None if source is None else lambda: source.read_bytes(name)
        file = DataFile(name, path, format, columns, content)
        if not self.is_folder(file):
            self.found[name] = None
        return file

    def _match(self, written: str) -> list[str]:
        """Return the names of the files that a path or pattern means."""
        if self._source is None:
            folder = self._suite_path.parent
            matches = [written] if (folder / written).exists() else []
            if not matches and has_magic(written):
                matches = find_matching_files(written, folder)
            self._access.check_data_files([folder / match for match in matches], self._suite_path)
            return [self._normalize(match) for match in matches]
        name = self._normalize(written)
        if name.startswith(("../", "/")):
            raise FileError(name, "The path leads out of the project")
        names = set(self._source.list_files())
        if name in names or any(each.startswith(f"{name}/") for each in names):
            return [name]
        depth = name.count("/")
        return sorted(
            each for each in names if each.count("/") == depth and fnmatchcase(each, name)
        )

    def _normalize(self, written: str) -> str:
        return posixpath.normpath(posixpath.join(self._folder_name, written.replace("\\", "/")))
