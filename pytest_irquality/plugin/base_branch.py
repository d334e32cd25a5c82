"""The base branch in git: its configuration and its suites, found as its own pytest would.

A change can edit what pytest collects, so the configuration of the base branch decides which suites
the base branch has. No code of the base branch runs for this.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

import pytest

from pytest_irquality.baselines.git_source import GitSource
from pytest_irquality.baselines.sources import BaselineError
from pytest_irquality.io.access import FileAccess
from pytest_irquality.io.decoding import decode_text
from pytest_irquality.io.files import FileError
from pytest_irquality.io.git import CommitTree, Repository
from pytest_irquality.metrics import Definition
from pytest_irquality.plugin import compat
from pytest_irquality.plugin.command_line import CommandLine, parse_arguments
from pytest_irquality.plugin.options import SUITE_PATTERNS
from pytest_irquality.plugin.session import SessionBranch
from pytest_irquality.suite.model import Suite
from pytest_irquality.suite.parser import load_suite
from pytest_irquality.suite.yaml_source import SuiteError

DEFAULT_SKIPPED_FOLDERS = (
    *("*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}"),
)


@dataclass(frozen=True)
class BaseConfig:
    """What the base branch's own ini file says.

    Attributes:
        paths: Where its pytest looks for tests, relative to the top of the repository.
        ignored_paths: Paths that its ``addopts`` ignore.
    """

    values: Mapping[str, str | list[str]]
    paths: tuple[str, ...]
    ignored_paths: tuple[str, ...] = ()

    def get_words(self, key: str) -> list[str]:
        """Return the words of a key, or none."""
        return _split_words(self.values.get(key))

    @property
    def suite_patterns(self) -> tuple[str, ...]:
        """Return the patterns for the names of suites."""
        return tuple(self.get_words("ir_suite_files")) or SUITE_PATTERNS

    @property
    def is_strict(self) -> bool:
        """Return whether the gate is strict. An unknown value must not loosen it."""
        return str(self.values.get("ir_gate", "normal")).strip() != "normal"

    @property
    def declared_retrievers(self) -> tuple[str, ...]:
        """Return the fixtures that suites may use, besides those that are named like one."""
        names = self.get_words("ir_retrievers")
        for key in ("ir_url", "ir_command"):
            value = self.values.get(key) or []
            for line in value.splitlines() if isinstance(value, str) else value:
                name, colon, _ = line.strip().partition(": ")
                if colon and name.isidentifier():
                    names.append(name)
        return tuple(names)


def read_base_config(
    config: pytest.Config, typed: CommandLine, repository: Repository, commit: str
) -> BaseConfig:
    """Read the ini file that pytest would use on the base branch.

    Args:
        config: The configuration of the current session.
        typed: The typed command line, which applies to both branches.
        repository: The repository.
        commit: The commit of the base branch.

    Raises:
        pytest.UsageError: The ini file cannot be read.
        GitError: Git cannot read it.
    """
    tree = repository.read_tree(commit)
    top = Path(os.path.realpath(repository.top))
    folder = Path(os.path.realpath(config.invocation_params.dir))
    typed_paths = [path.partition("::")[0] for path in typed.paths]
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(os.path.realpath(temporary)) / "checkout"
        copied_folder = _copy_folder(tree, folder, top, copy)
        arguments = []
        for name in typed_paths:
            path = Path(os.path.realpath(folder / name))
            if path.is_relative_to(top):
                arguments.append(str(_copy_folder(tree, path, top, copy)))
        ini_name = config.option.inifilename
        if ini_name:
            ini_path = Path(os.path.realpath(folder / ini_name))
            if ini_path.is_relative_to(top):
                _copy_file(tree, ini_path.relative_to(top).as_posix(), copy)
                ini_name = str(copy / ini_path.relative_to(top))
        ini = compat.read_ini_file(copied_folder, arguments, ini_name)
        values = dict(ini.values) if ini.rootdir.is_relative_to(copy) else {}
        rootdir = ini.rootdir if ini.rootdir.is_relative_to(copy) else copied_folder
        root_name = rootdir.relative_to(copy).as_posix()
        folder_name = copied_folder.relative_to(copy).as_posix()
    addopts = parse_arguments(config, _split_words(values.get("addopts")))
    values.update(addopts.overridden_ini_keys)
    values.update(typed.overridden_ini_keys)
    paths = [_join(folder_name, name) for name in typed_paths or addopts.paths]
    if not paths and root_name == folder_name:
        paths = list(_expand(tree, root_name, _split_words(values.get("testpaths"))))
    ignored = [_join(folder_name, name) for name in addopts.namespace.ignore or ()]
    return BaseConfig(values, tuple(paths) or (folder_name,), tuple(ignored))


def find_base_suites(
    base_config: BaseConfig, source: GitSource, repository: Repository
) -> list[str]:
    """Find the suites of the base branch, as paths relative to the root of the project.

    Args:
        base_config: The configuration of the base branch.
        source: The files of the base branch below the root of the project.
        repository: The repository.
    """
    root = Path(os.path.realpath(source.root)).relative_to(os.path.realpath(repository.top))
    prefix = root.as_posix()
    patterns = base_config.suite_patterns
    skipped = base_config.get_words("norecursedirs") or DEFAULT_SKIPPED_FOLDERS
    found = []
    for name in source.list_files():
        path = PurePosixPath(_join(prefix, name))
        if not any(path.match(pattern) for pattern in patterns):
            continue
        if any(_is_within(path, ignored) for ignored in base_config.ignored_paths):
            continue
        for start in base_config.paths:
            if _is_within(path, start) and not _is_skipped(path, start, skipped):
                found.append(name)
                break
    return found


def is_left_out_on_both_sides(
    source: GitSource, path: str, base_config: BaseConfig, repository: Repository
) -> bool:
    """Return whether a suite that is not collected was not collected on the base branch either.

    That is so if the suite, the ini files and the conftest files above it are unchanged, and a
    conftest has code that could leave it out.

    Args:
        source: The files of the base branch.
        path: The suite, relative to the root of the project.
        base_config: The configuration of the base branch.
        repository: The repository.
    """
    top = Path(os.path.realpath(repository.top))
    prefix = Path(os.path.realpath(source.root)).relative_to(top).as_posix()
    in_repository = PurePosixPath(_join(prefix, path))
    tree = repository.read_tree(source.commit)
    has_ignoring_code = False
    names = [in_repository.as_posix()]
    for folder in in_repository.parents:
        names += [(folder / name).as_posix() for name in ("conftest.py", *compat.INI_NAMES)]
    for name in names:
        content = tree.read_file(name)
        file = top / name
        current = file.read_bytes() if file.is_file() else None
        if content != current:
            return False
        if name.endswith("conftest.py") and content is not None:
            has_ignoring_code = has_ignoring_code or b"ignore" in content or b"collect" in content
    return has_ignoring_code


def load_base_suite(
    branch: SessionBranch,
    source: GitSource,
    path: str,
    *,
    own_metrics: Sequence[Definition] = (),
    id_field: str = "",
    access: FileAccess | None = None,
) -> Suite | None:
    """Load a suite of the base branch, or record why it cannot be read.

    Args:
        branch: The base branch, which gets the text or the error.
        source: Its files.
        path: The suite, relative to the root of the project.
        own_metrics: Metrics that the project defines.
        id_field: The value of the ini key ``ir_id_field`` on the base branch.
        access: Which files the suite may name.
    """
    try:
        text = decode_text(source.read_file(path) or b"", path)
        suite = load_suite(
            path,
            root=source.root,
            text=text,
            files=source,
            own_metrics=own_metrics,
            id_field_default=id_field,
            access=access,
        )
    except (SuiteError, BaselineError, FileError) as error:
        branch.add_error(path, str(error))
        return None
    branch.texts[path] = text
    return suite


def _copy_folder(tree: CommitTree, path: Path, top: Path, copy: Path) -> Path:
    """Create a path in the copy, with the ini files in all folders above it."""
    relative = path.relative_to(top)
    entry = tree.find_entry(relative.as_posix())
    is_folder = path.is_dir() if entry is None else entry.is_folder
    folders = [relative, *relative.parents] if is_folder else list(relative.parents)
    (copy / folders[0]).mkdir(parents=True, exist_ok=True)
    for folder in folders:
        for name in (*compat.INI_NAMES, "setup.py"):
            _copy_file(tree, (folder / name).as_posix(), copy)
    if not is_folder:
        (copy / relative).touch()
    return copy / relative


def _copy_file(tree: CommitTree, name: str, copy: Path) -> None:
    target = copy / name
    if target.exists():
        return
    content = tree.read_file(name)
    if content is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def _expand(tree: CommitTree, root: str, patterns: Sequence[str]) -> Iterator[str]:
    """Expand the patterns of ``testpaths`` over the folders and files of a commit."""
    names: set[str] = set()
    if any(character in pattern for pattern in patterns for character in "*?["):
        for name in tree.list_files():
            names.update([name, *(parent.as_posix() for parent in PurePosixPath(name).parents)])
    for pattern in patterns:
        joined = _join(root, pattern)
        matching = [name for name in sorted(names) if fnmatch(name, joined)]
        yield from matching or [joined]


def _join(folder: str, name: str) -> str:
    """Join and normalize paths with ``/``."""
    return os.path.normpath(os.path.join(folder, name)).replace(os.sep, "/")


def _is_within(path: PurePosixPath, folder: str) -> bool:
    return folder == "." or path.as_posix() == folder or folder in map(str, path.parents)


def _is_skipped(path: PurePosixPath, start: str, patterns: Iterable[str]) -> bool:
    """Return whether a folder between a start and a file is one that pytest does not enter."""
    start_parts = () if start == "." else PurePosixPath(start).parts
    folders = path.parent.parts[len(start_parts) :]
    return any(fnmatch(folder, pattern) for folder in folders for pattern in patterns)


def _split_words(value: str | list[str] | None) -> list[str]:
    if value is None:
        return []
    try:
        return shlex.split(value) if isinstance(value, str) else list(value)
    except ValueError as error:
        raise pytest.UsageError(f"{value!r} in the base branch's ini file: {error}") from None
