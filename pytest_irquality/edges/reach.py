"""Capabilities of data: all that suites, judgments, stored runs and search results may reach.

Configuration (``conftest.py``, the ini file, workflows) is code and may reach anything; data
reaches what is granted here, and whoever acts on a word of data asks here first.
"""

from __future__ import annotations

import inspect
import os
import types
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain, filterfalse
from pathlib import Path

from pytest_irquality.edges.git import Repository, checkout_above

USUAL = "retriever"
SUFFIX = "_retriever"
DECLARING = "ir_retrievers"
MADE = "ir_files"
SUBMODULE = b"160000 "
MACHINERY = (
    type, types.ModuleType, types.FrameType, types.CodeType, types.TracebackType,
    types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType,
)  # fmt: skip
"""The kinds of objects from which a way leads to all of a program."""


# -- fixtures --------------------------------------------------------------------------------------


def is_declared(fixture: str, listed: Collection[str]) -> bool:
    """Tell whether a suite may name a fixture: by its name, or because the ini file lists it."""
    return fixture == USUAL or fixture.endswith(SUFFIX) or fixture in listed


# -- attributes of search results ------------------------------------------------------------------


def is_public(attribute: str) -> bool:
    """Tell whether a path of fields may go through an attribute of that name."""
    return not attribute.startswith("_")


def is_data(value: object) -> bool:
    """Tell whether a path of fields may go through a value: no code, nor what leads there."""
    return not (isinstance(value, MACHINERY) or inspect.isroutine(value))


# -- files that a suite names ----------------------------------------------------------------------


@dataclass(frozen=True)
class OwnFiles:
    """The files of the checkout above ``root`` that a suite may name.

    They are those that git tracks, in CI as it holds them, and elsewhere also those that are edited
    or new. ``made``: patterns of the ini file for what jobs make on the way. ``suite``: the suite's
    own file, which pytest was given: a list of queries names itself.
    """

    root: Path
    made: Sequence[str] = ()
    suite: Path | None = None

    def refusal(self, paths: Iterable[Path]) -> str | None:
        """Say why one of some files must not be read; None where all may be.

        A file that lies elsewhere is not asked about. Without git nothing but names tells.
        """
        checkout = checkout_above(self.root)
        top = Path(os.path.realpath(checkout or self.root))
        asked = (path for path in paths if path != self.suite)
        places = chain.from_iterable(map(_on_the_way, asked))
        named = {place.relative_to(top) for place in places if place.is_relative_to(top)}
        left = {*filterfalse(self._is_made, named)}
        if of_git := min(filter(_is_of_git, named), default=None):
            return f"{of_git}: nothing under .git is read"
        if hidden := min(filter(_is_hidden, left), default=None):
            return f"{hidden}: files and folders that begin with a dot are not read"
        return _not_kept(Repository(top), left) if checkout else None

    def _is_made(self, name: Path) -> bool:
        text = name.as_posix()
        return any(fnmatchcase(text, one) or fnmatchcase(text, f"{one}/*") for one in self.made)


def _is_of_git(name: Path) -> bool:
    return ".git" in map(str.casefold, name.parts)


def _is_hidden(name: Path) -> bool:
    return any(part.startswith(".") for part in name.parts)


def _on_the_way(path: Path) -> Iterator[Path]:
    """The file that a path leads to, and each link on its way there."""
    yield Path(os.path.realpath(path))
    absolute = Path(os.path.abspath(path))
    for part in (absolute, *absolute.parents):
        if part.is_symlink():
            yield Path(os.path.realpath(part.parent), part.name)


def _in_ci() -> bool:
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def _not_kept(repository: Repository, names: Set[Path]) -> str | None:
    with suppress(OSError):  # no git, or none that answers
        if lacking := names - _kept(repository, names):
            rule = "as git holds it" if _in_ci() else "or is new and not ignored"
            name = min(lacking)
            return f"{name}: only a file is read that git tracks, {rule}; `{MADE}` may name it"
    return None


def _kept(repository: Repository, names: Set[Path]) -> set[Path]:
    """Those of some files of a checkout that git holds, or would take; of submodules, too."""
    if not names:
        return set()
    asked = ("--", *(name.as_posix() for name in names))
    new = () if _in_ci() else ("--others", "--exclude-standard")
    listed = _names(repository.output("ls-files", "-z", "--cached", *new, *asked))
    if _in_ci():
        listed -= _names(repository.output("diff", "--name-only", "-z", "HEAD", *asked))
    for name in names - listed:
        inside = checkout_above(repository.top / name.parent)
        if inside is None or inside == repository.top:
            continue
        link = inside.relative_to(repository.top)
        stage = repository.output("ls-files", "--stage", "-z", "--", link.as_posix())
        if stage.startswith(SUBMODULE) and _kept(Repository(inside), {name.relative_to(link)}):
            listed.add(name)
    return listed


def _names(output: bytes) -> set[Path]:
    return {Path(os.fsdecode(name)) for name in output.split(b"\0") if name}
