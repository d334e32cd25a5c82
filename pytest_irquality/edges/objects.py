"""Files of a commit, read from git's objects: nothing is checked out, and no filter runs."""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pytest_irquality.edges.git import Repository

LINK, SUBMODULE, FOLDER = "120000", "160000", "040000"
LARGE = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n(?:.*\n)*?oid sha256:(\w{64})\n"
)
MOST_LINKS = 20


class NowhereError(OSError):
    """A path that leads to nothing in a commit, whatever is fetched."""


class Entry(NamedTuple):
    """An entry of a tree: in a submodule its own."""

    tree: Tree
    path: str
    mode: str
    hash: str

    @property
    def is_folder(self) -> bool:
        """True where others are below it."""
        return self.mode == FOLDER


@dataclass(frozen=True)
class Tree:
    """The files of a commit. Paths are from the checkout's top.

    Links are followed inside of it, and into submodules as the commit has them. Every method raises
    ``OSError``.
    """

    repository: Repository
    commit: str
    known: dict[str, Mapping[str, Entry]] = field(default_factory=dict, compare=False, repr=False)
    """The folders that were listed: git is asked once for all that is looked for in one."""

    def find(self, path: str, links: int = MOST_LINKS) -> Entry | None:
        """The entry that a path means; None where there is none."""
        path = posixpath.normpath(path)
        if path.startswith(("../", "/")) or path == "..":
            raise NowhereError(f"{path} leaves the repository")
        if path == ".":
            return Entry(self, "", FOLDER, self.commit)
        found = self._listed(path)
        if found and found.mode not in (LINK, SUBMODULE):
            return found
        parts = path.split("/")
        for n in range(1, len(parts) + 1):
            entry = self._listed("/".join(parts[:n]))
            if entry is None:
                return None
            if entry.mode in (LINK, SUBMODULE):
                return self._beyond(entry, parts[n:], links)
        return None

    def _beyond(self, entry: Entry, rest: Sequence[str], links: int) -> Entry | None:
        """The entry behind a link, or in a submodule."""
        if entry.mode == SUBMODULE:
            return self._inside(entry.path, entry.hash).find("/".join(rest) or ".", links)
        target = os.fsdecode(self._blob(entry))
        if target.startswith("/") or not links:
            raise NowhereError(f"{entry.path}: is a link that leads nowhere in the repository")
        return self.find(posixpath.join(posixpath.dirname(entry.path), target, *rest), links - 1)

    def _inside(self, submodule: str, commit: str) -> Tree:
        """The files of a submodule at a commit."""
        inside = Repository(self.repository.top / submodule)
        if not os.path.lexists(inside.top / ".git"):
            raise OSError(f"{submodule}: the submodule is not checked out")
        if inside.ask("cat-file", "-e", commit).returncode:
            raise OSError(
                f"{submodule}: this clone of the submodule lacks its commit {commit[:12]}; fetch it"
                " (actions/checkout: `with: {fetch-depth: 0, submodules: true}`)"
            )
        return Tree(inside, commit)

    def read(self, path: str) -> bytes | None:
        """The bytes of a file; None where it is not there."""
        entry = self.find(path)
        if entry is None or entry.is_folder:
            return None
        data = entry.tree._blob(entry)
        pointer = LARGE.match(data)
        return entry.tree._large(entry.path, pointer[1].decode()) if pointer else data

    def files(self, folder: Path) -> Mapping[Path, str]:
        """The files below a folder of the checkout, with their paths in the commit."""
        inside = self.repository.path(folder / "_").rpartition("/")[0]
        return {folder / name: posixpath.join(inside, name) for name in self.names(inside or ".")}

    def names(self, folder: str) -> Iterator[str]:
        """The paths below a folder of all files in it, and in those below it.

        Of a submodule that is not here there is its own path, with a slash behind it.
        """
        entry = self.find(folder)
        if entry is None or not entry.is_folder:
            return
        at = f"{entry.tree.commit}:{entry.path}" if entry.path else entry.tree.commit
        listed = entry.tree.repository.output("ls-tree", "-r", "-z", at)
        for line in listed.split(b"\0")[:-1]:
            about, _, name = line.partition(b"\t")
            mode, _, hash = about.decode().split()
            path = os.fsdecode(name)
            if mode != SUBMODULE:
                yield path
                continue
            try:
                inside = entry.tree._inside(posixpath.join(entry.path, path), hash)
            except OSError:
                yield f"{path}/"
            else:
                yield from (f"{path}/{name}" for name in inside.names("."))

    def _listed(self, path: str) -> Entry | None:
        folder = posixpath.dirname(path)
        if folder not in self.known:
            within = ("--", f"{folder}/") if folder else ()
            listed = self.repository.output("ls-tree", "-z", "--full-tree", self.commit, *within)
            entries = {}
            for line in listed.split(b"\0")[:-1]:
                about, _, name = line.partition(b"\t")
                mode, _, hash = about.decode().split()
                entries[os.fsdecode(name)] = Entry(self, os.fsdecode(name), mode, hash)
            self.known[folder] = entries
        return self.known[folder].get(path)

    def _blob(self, entry: Entry) -> bytes:
        return self.repository.output("cat-file", "blob", entry.hash)

    def _large(self, path: str, oid: str) -> bytes:
        """A file that Git LFS keeps: today's, where that is the same, or one of its own store."""
        common = self.repository.output("rev-parse", "--git-common-dir").decode().strip()
        store = self.repository.top / common / "lfs" / "objects" / oid[:2] / oid[2:4] / oid
        for file in (self.repository.top / path, store):
            try:
                data = file.read_bytes()
            except OSError:
                continue
            if hashlib.sha256(data).hexdigest() == oid:
                return data
        raise OSError(
            f"{path} is kept by Git LFS, and not here: `git lfs fetch origin {self.commit[:12]}`"
        )


def placed(tree: Tree, path: str, below: Path) -> bool:
    """Write a file of a commit at its path below a folder. False where it is not there."""
    data = tree.read(path)
    if data is None:
        return False
    file = below / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return True
