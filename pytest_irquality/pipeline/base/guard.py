"""The guard of the base's processes: nothing of the head's checkout answers for the base.

Copied as ``sitecustomize.py`` into a folder that comes first on PYTHONPATH, so that it runs before
any code of the project, in the base's pytest and in every Python that it starts (servers, pools,
workers). It takes over the imports: what any finder finds in the head's checkout is taken from the
worktree, or not found. What slips by, and every file of the head that is read, it notes in a file,
which the head reads when the base has ended.

It knows the standard library alone: the environment of ``ir_base_command`` may hold anything.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import json
import os
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

VARIABLE = "PYTEST_IRQUALITY_BASE"
NAME = "pytest_irquality_base_guard"  # in sys.modules, where the plugin finds it
TOOL = "pytest_irquality"  # is today's on both sides, also where the checkout is its own
INSTALLED = ("purelib", "platlib", "stdlib", "platstdlib", "scripts")
SPOKEN = "spoken"  # the file, beside the other notes
STARTING = ("subprocess.Popen", "os.system", "os.posix_spawn", "os.exec")
ASIDE = ("git", "ldconfig", "gcc", "ld", "uname")  # what Python, and we ourselves, ask the machine
WRITES = os.O_WRONLY | os.O_RDWR


def under(path: str, folder: str) -> bool:
    """Tell whether a path is a folder or lies in it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


class Guard:
    """The two checkouts, ``head`` and ``tree``, and the ``roots`` of the tree's packages."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.head: str = settings["head"]
        self.tree: str = settings["tree"]
        self.notes: str = settings["notes"]
        self.spoken = os.path.join(os.path.dirname(self.notes), SPOKEN)
        self.roots: Sequence[str] = settings["roots"]
        self.folder: str = settings["guard"]
        self.around = os.path.dirname(self.tree)  # ours, wherever temporary files are
        self.installed = [os.path.realpath(sysconfig.get_path(name)) for name in INSTALLED]
        if not under(self.head, os.path.realpath(sys.prefix)):
            self.installed.append(os.path.realpath(sys.prefix))
        self.noted: set[tuple[str, ...]] = set()

    def is_heads(self, path: str) -> bool:
        """Tell whether a path is the head's own, and of no environment in its checkout."""
        real = os.path.realpath(path)
        aside = (*self.installed, self.around)
        return under(real, self.head) and not any(under(real, folder) for folder in aside)

    def mapped(self, path: str) -> str:
        """Give the worktree's place for a path of the head's, and any other path as it is."""
        if not os.path.isabs(path) or under(path, self.tree) or not self.is_heads(path):
            return path
        return self.tree + os.path.realpath(path)[len(self.head) :]

    def is_foreign(self, name: str, file: str) -> bool:
        """Tell whether a module is the head's, or another copy of what the worktree has.

        Such a copy is installed, or another checkout's.
        """
        top, *_ = parts = name.split(".")
        if under(os.path.abspath(file), self.tree) or top in sys.stdlib_module_names or top == TOOL:
            return False
        ends = (f"{parts[-1]}.py", os.path.join(parts[-1], "__init__.py"))
        return self.is_heads(file) or any(
            os.path.exists(os.path.join(root, *parts[:-1], end))
            for root in self.roots
            for end in ends
        )

    def foreign_modules(self) -> Iterator[tuple[str, str]]:
        """Those that were imported all the same, with their files."""
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if isinstance(file, str) and name != NAME and self.is_foreign(name, file):
                yield name, file

    def note(self, *words: str, into: str = "") -> None:
        """Add a line to what the head will read, once a process."""
        if words not in self.noted:
            self.noted.add(words)
            with open(into or self.notes, "a", encoding="utf-8", errors="surrogateescape") as file:
                file.write("\t".join(words) + "\n")

    def on_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note the files of the head that are read, as far as Python opens them.

        This is an audit hook, which hears of them whoever reads them.
        """
        if event not in ("open", "sqlite3.connect") or not arguments:
            return
        path, *rest = arguments
        flags = rest[1] if len(rest) > 1 else 0
        if not isinstance(path, (str, bytes)) or (isinstance(flags, int) and flags & WRITES):
            return
        named = os.fsdecode(path).removeprefix("file:").partition("?")[0]
        at = os.path.abspath(named)
        if (
            under(at, self.head)
            and not under(at, self.tree)
            and self.is_heads(at)
            and os.path.isfile(at)
        ):
            self.note("file", at)

    def on_speech(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note the sockets that are spoken to, by port or path, and that a program is started."""
        if event == "socket.connect":
            address = arguments[1]
            if isinstance(address, tuple):
                self.note("socket", str(address[1]), into=self.spoken)
            elif isinstance(address, (str, bytes)):
                self.note("socket", os.fsdecode(address), into=self.spoken)
        elif event in STARTING and isinstance(arguments[0], (str, bytes, os.PathLike)):
            program = os.path.basename(os.fsdecode(arguments[0]))
            if program not in ASIDE:
                self.note("program", program, into=self.spoken)

    # -- a finder, first on sys.meta_path ----------------------------------------------------------

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> Any:
        """Find a module by the other finders, and take it from the worktree if it is the head's."""
        if name.partition(".")[0] == TOOL:
            return importlib.machinery.PathFinder.find_spec(name, path)
        spec = self._found(name, path, target)
        if spec is not None and spec.has_location and self.is_foreign(name, spec.origin):
            self.note("module", name, spec.origin)
        return spec

    def _found(self, name: str, path: Any, target: ModuleType | None) -> Any:
        for finder in list(sys.meta_path):
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = find and find(name, path, target)
            if spec and (ours := self._in_tree(name, spec)):
                return ours
        # An editable install may know the head's packages only, or a folder of links into the head.
        spec = None if path else importlib.machinery.PathFinder.find_spec(name, list(self.roots))
        return spec if spec and spec.has_location else None

    def _in_tree(self, name: str, spec: Any) -> Any:
        """Give a spec as it is, if it is not of the head, or else its like in the worktree.

        None where the worktree has no such module.
        """
        folders = spec.submodule_search_locations
        inside = folders and list(dict.fromkeys(map(self.mapped, folders)))
        if spec.has_location:
            place = self.mapped(spec.origin)
            if place == spec.origin:
                return spec
            if not os.path.exists(place):
                return None
            return importlib.util.spec_from_file_location(
                name, place, submodule_search_locations=inside
            )
        if not inside or inside == list(folders):
            return spec
        existing = [folder for folder in inside if os.path.isdir(folder)]  # of a namespace package
        if not existing:
            return None
        spec.submodule_search_locations = existing
        return spec


def take_over() -> None:
    """Run as ``sitecustomize``: before any code of the project."""
    guard = Guard(json.loads(os.environ[VARIABLE]))
    sys.path[:] = [path for path in sys.path if path != guard.folder]
    this = sys.modules.pop("sitecustomize")
    with contextlib.suppress(ImportError):
        importlib.import_module("sitecustomize")  # the environment's own
    sys.modules.setdefault("sitecustomize", this)  # the import of this file looks it up
    sys.modules[NAME] = this
    this.__dict__["guard"] = guard
    sys.path.insert(0, guard.folder)
    sys.path[:] = map(guard.mapped, sys.path)
    sys.path_importer_cache.clear()
    sys.meta_path.insert(0, guard)
    sys.addaudithook(guard.on_event)
    sys.addaudithook(guard.on_speech)


if __name__ == "sitecustomize" and VARIABLE in os.environ:
    take_over()
