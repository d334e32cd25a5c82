"""Keep code of the current checkout from answering for the base branch (``run:``).

A copy of this file is ``sitecustomize.py`` in a folder that comes first on PYTHONPATH. So it runs
before any code of the project, in the worktree's pytest and in every Python that pytest starts. The
guard takes over imports: a module that would come from the current checkout is taken from the
worktree, or not found. In the access log, it tells the process that evaluates which modules came
from elsewhere all the same, and which files of the current checkout were read.

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
_TOOL = "pytest_irquality"  # The current version runs on both branches, even in its own checkout.
_INSTALLATION_PATHS = ("purelib", "platlib", "stdlib", "platstdlib", "scripts")
_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR


def is_inside(path: str, folder: str) -> bool:
    """Return whether a path is a folder or lies in it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


class Guard:
    """Maps the current checkout to the worktree, and logs what cannot be mapped.

    Args:
        settings: ``checkout`` and ``tree`` are the real paths of the current checkout and of the
            worktree, ``access_log`` is the log, ``roots`` the folders that packages of the worktree
            may be in, and ``guard`` the folder of the copy of this file.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        self.checkout: str = settings["checkout"]
        self.tree: str = settings["tree"]
        self.access_log: str = settings["access_log"]
        self.roots: Sequence[str] = settings["roots"]
        self.folder: str = settings["guard"]
        self.temporary_folder = os.path.dirname(self.tree)
        paths = map(sysconfig.get_path, _INSTALLATION_PATHS)
        self.installations = list(map(os.path.realpath, paths))
        if not is_inside(self.checkout, os.path.realpath(sys.prefix)):
            self.installations.append(os.path.realpath(sys.prefix))
        self._logged_lines: set[tuple[str, ...]] = set()

    def is_in_checkout(self, path: str) -> bool:
        """Return whether a path is in the current checkout, but not in an environment there."""
        real = os.path.realpath(path)
        others = (*self.installations, self.temporary_folder)
        is_elsewhere = any(is_inside(real, other) for other in others)
        return is_inside(real, self.checkout) and not is_elsewhere

    def map_path(self, path: str) -> str:
        """Return a path of the current checkout in the worktree. Other paths stay."""
        if not os.path.isabs(path) or is_inside(path, self.tree) or not self.is_in_checkout(path):
            return path
        return self.tree + os.path.realpath(path)[len(self.checkout) :]

    def is_foreign(self, name: str, file: str) -> bool:
        """Return whether a module should have come from the worktree, but did not.

        It is in the current checkout, or it is installed or in another checkout although the
        worktree has a module of its name.
        """
        parts = name.split(".")
        if parts[0] in sys.stdlib_module_names or parts[0] == _TOOL:
            return False
        if is_inside(os.path.abspath(file), self.tree):
            return False
        if self.is_in_checkout(file):
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

    def log_access(self, *fields: str) -> None:
        """Add a line to the access log, once in a process."""
        if fields not in self._logged_lines:
            self._logged_lines.add(fields)
            with open(self.access_log, "a", encoding="utf-8", errors="surrogateescape") as file:
                file.write("\t".join(fields) + "\n")

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Log files of the current checkout that Python opens for reading."""
        if event not in ("open", "sqlite3.connect") or not arguments:
            return
        path, *rest = arguments
        flags = rest[1] if len(rest) > 1 else 0
        if not isinstance(path, (str, bytes)) or (isinstance(flags, int) and flags & _WRITE_FLAGS):
            return
        file = os.path.abspath(os.fsdecode(path).removeprefix("file:").partition("?")[0])
        is_candidate = is_inside(file, self.checkout) and not is_inside(file, self.tree)
        if is_candidate and self.is_in_checkout(file) and os.path.isfile(file):
            self.log_access("file", file)

    # The guard is the first finder in sys.meta_path.

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> Any:
        """Find a module with the other finders, but in the worktree instead of the checkout."""
        if name.partition(".")[0] == _TOOL:
            return importlib.machinery.PathFinder.find_spec(name, path)
        spec = self._find(name, path, target)
        if spec is not None and spec.has_location and self.is_foreign(name, spec.origin):
            self.log_access("module", name, spec.origin)
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
        """Map the spec of a module to the worktree. ``None`` if the worktree lacks the module."""
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
    """Install the guard, and import the environment's own ``sitecustomize``."""
    guard = Guard(json.loads(os.environ[VARIABLE]))
    sys.path[:] = [path for path in sys.path if path != guard.folder]
    this = sys.modules.pop("sitecustomize")
    with contextlib.suppress(ImportError):
        importlib.import_module("sitecustomize")
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
