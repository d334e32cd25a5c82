"""The guard of the base branch's processes: no code of the current checkout answers for it.

A copy of this file is ``sitecustomize.py`` in a folder that comes first on PYTHONPATH, so it runs
before any code of the project, in the base's pytest and in every Python that it starts. It takes
over imports: a module that would come from the current checkout is taken from the worktree, or not
found. It notes modules that come from elsewhere all the same, and files of the current checkout
that are read, for the process that evaluates.

It imports the standard library only, because ``ir_base_command`` may use any environment.
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
MODULE_NAME = "pytest_irquality_base_guard"  # in sys.modules, where the plugin finds the guard
_TOOL = "pytest_irquality"  # the current one on both sides, also if the checkout is its own
_INSTALLATION_PATHS = ("purelib", "platlib", "stdlib", "platstdlib", "scripts")
_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR


def is_inside(path: str, folder: str) -> bool:
    """Return whether a path is a folder or lies in it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


class Guard:
    """Maps the current checkout to the worktree, and notes what cannot be mapped.

    Args:
        settings: ``head`` and ``tree`` are the real paths of both checkouts, ``notes`` the file for
            notes, ``roots`` the folders that packages of the worktree may be in, and ``guard`` the
            folder of the copy of this file.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        self.head: str = settings["head"]
        self.tree: str = settings["tree"]
        self.notes: str = settings["notes"]
        self.roots: Sequence[str] = settings["roots"]
        self.folder: str = settings["guard"]
        self.temporary_folder = os.path.dirname(self.tree)
        paths = map(sysconfig.get_path, _INSTALLATION_PATHS)
        self.installations = list(map(os.path.realpath, paths))
        if not is_inside(self.head, os.path.realpath(sys.prefix)):
            self.installations.append(os.path.realpath(sys.prefix))
        self.noted: set[tuple[str, ...]] = set()

    def is_of_head(self, path: str) -> bool:
        """Return whether a path is in the current checkout, but not in an environment there."""
        real = os.path.realpath(path)
        others = (*self.installations, self.temporary_folder)
        return is_inside(real, self.head) and not any(is_inside(real, other) for other in others)

    def map_path(self, path: str) -> str:
        """Return the place in the worktree for a path of the current checkout."""
        if not os.path.isabs(path) or is_inside(path, self.tree) or not self.is_of_head(path):
            return path
        return self.tree + os.path.realpath(path)[len(self.head) :]

    def is_foreign(self, name: str, file: str) -> bool:
        """Return whether a module is not the worktree's own.

        It is of the current checkout, or a copy of a module that the worktree has, which is
        installed or belongs to another checkout.
        """
        parts = name.split(".")
        if parts[0] in sys.stdlib_module_names or parts[0] == _TOOL:
            return False
        if is_inside(os.path.abspath(file), self.tree):
            return False
        if self.is_of_head(file):
            return True
        endings = (f"{parts[-1]}.py", os.path.join(parts[-1], "__init__.py"))
        for root in self.roots:
            for ending in endings:
                if os.path.exists(os.path.join(root, *parts[:-1], ending)):
                    return True
        return False

    def list_foreign_modules(self) -> Iterator[tuple[str, str]]:
        """Yield the imported modules that are foreign, with their files."""
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if isinstance(file, str) and name != MODULE_NAME and self.is_foreign(name, file):
                yield name, file

    def note(self, *words: str) -> None:
        """Add a line to the notes, once a process."""
        if words not in self.noted:
            self.noted.add(words)
            with open(self.notes, "a", encoding="utf-8", errors="surrogateescape") as file:
                file.write("\t".join(words) + "\n")

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note files of the current checkout that Python opens for reading."""
        if event not in ("open", "sqlite3.connect") or not arguments:
            return
        path, *rest = arguments
        flags = rest[1] if len(rest) > 1 else 0
        if not isinstance(path, (str, bytes)) or (isinstance(flags, int) and flags & _WRITE_FLAGS):
            return
        file = os.path.abspath(os.fsdecode(path).removeprefix("file:").partition("?")[0])
        is_candidate = is_inside(file, self.head) and not is_inside(file, self.tree)
        if is_candidate and self.is_of_head(file) and os.path.isfile(file):
            self.note("file", file)

    # The guard is the first finder in sys.meta_path.

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> Any:
        """Find a module with the other finders, and take it from the worktree if need be."""
        if name.partition(".")[0] == _TOOL:
            return importlib.machinery.PathFinder.find_spec(name, path)
        spec = self._find(name, path, target)
        if spec is not None and spec.has_location and self.is_foreign(name, spec.origin):
            self.note("module", name, spec.origin)
        return spec

    def _find(self, name: str, path: Any, target: ModuleType | None) -> Any:
        for finder in list(sys.meta_path):
            find_spec = None if finder is self else getattr(finder, "find_spec", None)
            spec = find_spec(name, path, target) if find_spec else None
            mapped = self._map_spec(name, spec) if spec else None
            if mapped:
                return mapped
        # An editable install may know only the packages of the current checkout.
        spec = None if path else importlib.machinery.PathFinder.find_spec(name, list(self.roots))
        return spec if spec and spec.has_location else None

    def _map_spec(self, name: str, spec: Any) -> Any:
        """Return the spec in the worktree for one of the current checkout, or ``None``."""
        folders = spec.submodule_search_locations
        mapped_folders = folders and list(dict.fromkeys(map(self.map_path, folders)))
        if spec.has_location:
            origin = self.map_path(spec.origin)
            if origin == spec.origin:
                return spec
            if not os.path.exists(origin):
                return None
            return importlib.util.spec_from_file_location(
                name, origin, submodule_search_locations=mapped_folders
            )
        if not mapped_folders or mapped_folders == list(folders):
            return spec
        existing = [folder for folder in mapped_folders if os.path.isdir(folder)]
        if not existing:
            return None
        spec.submodule_search_locations = existing  # of a namespace package
        return spec


def install() -> None:
    """Install the guard, as ``sitecustomize``."""
    guard = Guard(json.loads(os.environ[VARIABLE]))
    sys.path[:] = [path for path in sys.path if path != guard.folder]
    this = sys.modules.pop("sitecustomize")
    with contextlib.suppress(ImportError):
        importlib.import_module("sitecustomize")  # that of the environment
    sys.modules.setdefault("sitecustomize", this)  # Python looks it up after the import.
    sys.modules[MODULE_NAME] = this
    this.__dict__["guard"] = guard
    sys.path.insert(0, guard.folder)
    sys.path[:] = map(guard.map_path, sys.path)
    sys.path_importer_cache.clear()
    sys.meta_path.insert(0, guard)
    sys.addaudithook(guard.audit)


if __name__ == "sitecustomize" and VARIABLE in os.environ:
    install()
