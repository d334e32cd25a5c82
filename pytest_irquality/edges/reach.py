"""Capabilities of data: all that suites, judgments, stored runs and search results may reach.

Configuration (``conftest.py``, the ini file, workflows) is code and may reach anything; data
reaches what is granted here, and whoever acts on a word of data asks here first.
"""

from __future__ import annotations

import inspect
import os
import types
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
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
CI = ("CI", "BUILD_NUMBER", "TF_BUILD")
"""Variables of which each CI system sets one: the first most, the others Jenkins and Azure."""
ASKED = 100
"""Files that git is asked about at once: a system bounds how long a command may be."""
FILTERS = (b"unspecified", b"unset", b"lfs")
"""Filters that make of what git holds nothing else; one that decrypts does."""
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
    own file, which pytest was given: a list of queries names itself. Where that is a link it is
    held to the same rules.
    """

    root: Path
    made: Sequence[str] = ()
    suite: Path | None = None

    def refusal(self, paths: Iterable[Path]) -> str | None:
        """Say why one of some files must not be read; None where all may be.

        Of a file that lies elsewhere only that is asked. Without git nothing but names tells.
        """
        checkout = checkout_above(self.root)
        top = Path(os.path.realpath(checkout or self.root))
        places = {*chain.from_iterable(map(_on_the_way, paths))} - {self._itself(top)}
        below = {place for place in places if place.is_relative_to(top)}
        named = {place.relative_to(top) for place in below}
        if of_git := min(filter(_is_of_git, named | (places - below)), default=None):
            return f"{of_git}: nothing under .git is read"
        left = {*filterfalse(self._is_made, named)}
        if hidden := min(filter(_is_hidden, left), default=None):
            return f"{hidden}: files and folders that begin with a dot are not read"
        return _not_kept(Repository(top), left) if checkout else None

    def _itself(self, top: Path) -> Path | None:
        """Place of the suite's own file, where no link below ``top`` leads to it."""
        start = checkout_above(self.root) or self.root
        inside = self.suite is not None and self.suite.is_relative_to(start)
        return top / self.suite.relative_to(start) if self.suite and inside else None

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
    said = (os.environ.get(name, "").lower() for name in CI)
    return any(value not in ("", "0", "false") for value in said)


def _not_kept(repository: Repository, names: Set[Path]) -> str | None:
    """Say which of some files git does not hold; None, too, where there is no git to ask."""
    try:
        lacking = names - _kept(repository, names)
    except OSError as error:
        if not repository.is_there:
            return None
        return f"{min(names)}: git cannot tell whether it holds it: {error}"
    if not lacking:
        return None
    rule = "as git holds it" if _in_ci() else "or is new and not ignored"
    return f"{min(lacking)}: only a file is read that git tracks, {rule}; `{MADE}` may name it"


def _kept(repository: Repository, names: Set[Path]) -> set[Path]:
    """Those of some files of a checkout that git holds, or would take; of submodules, too."""
    every = sorted(names)
    parts = [every[start : start + ASKED] for start in range(0, len(every), ASKED)]
    listed = set().union(*(_listed(repository, part) for part in parts))
    lacking = names - listed
    tops = {checkout_above(repository.top / name.parent) for name in lacking}
    for inside in filter(None, tops - {repository.top}):
        link = inside.relative_to(repository.top)
        if _is_submodule(repository, link):
            theirs = {name.relative_to(link) for name in lacking if name.is_relative_to(link)}
            listed |= {link / name for name in _kept(Repository(inside), theirs)}
    return listed


def _listed(repository: Repository, names: Sequence[Path]) -> set[Path]:
    asked = ("--", *(name.as_posix() for name in names))
    if not _in_ci():
        others = ("--others", "--exclude-standard")
        return {*map(Path, repository.listed("ls-files", "--cached", *others, *asked))}
    held = {*map(Path, repository.listed("ls-files", "--cached", *asked))}
    edited = {*map(Path, repository.listed("diff", "--name-only", "HEAD", *asked))}
    words = iter(repository.output("check-attr", "-z", "filter", *asked).split(b"\0"))
    filtered = {name for name, _, by in zip(words, words, words, strict=False) if by not in FILTERS}
    return held - edited - set(map(Path, map(os.fsdecode, filtered)))


def _is_submodule(repository: Repository, link: Path) -> bool:
    """Tell whether git holds a folder as a submodule; in CI at the very commit that it is at."""
    asked = ("-z", "--", link.as_posix())
    if not repository.output("ls-files", "--stage", *asked).startswith(SUBMODULE):
        return False
    differs = ("diff", "--name-only", "--ignore-submodules=dirty", "HEAD", *asked)
    return not (_in_ci() and repository.output(*differs))
