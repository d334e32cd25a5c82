"""The base's run, from the revision to its answers, or to the one reason against it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from pytest_irquality.edges.git import Repository
from pytest_irquality.edges.reach import DECLARING
from pytest_irquality.pipeline.base import guard
from pytest_irquality.pipeline.base.guard import under
from pytest_irquality.pipeline.base.left import Left, spoken_to
from pytest_irquality.pipeline.base.messages import (
    COLLECTED,
    FROM_BASE,
    NOTES,
    RUNS,
    BaseAnswer,
    BaseAnswers,
    Collected,
    FromBase,
    RunOf,
)
from pytest_irquality.pipeline.base.process import (
    OUTPUT,
    SUPERVISED,
    Checkouts,
    environment,
    last_lines,
    run,
)
from pytest_irquality.pipeline.base.worktree import BaseError, checked_out, remove_leftovers
from pytest_irquality.storage.jsonl import read_run
from pytest_irquality.storage.stored import StoredRun, StoredRunError

PROJECTS = ("pyproject.toml", "setup.py", "setup.cfg")
ASIDE = {"tests", ".ir-baseline", "docs", "doc", "LICENSE"}
DOCUMENTATION = (".md", ".rst", ".adoc")
NOT_PREPARED = "ir_prepare is that commit's own: compare with git:REF, or with a commit it works on"
REMEDY = "set ir_base_command to what runs pytest on its own code (such as `uv run pytest`)"
UNTRACKED = "name files that git does not track in ir_base_link"


@dataclass(frozen=True)
class Base:
    """The merge base of ``ref`` and HEAD, a ``commit``, to be run in a temporary ``folder``.

    ``called_in`` and ``arguments`` are how the head's pytest was called, ``command`` starts the
    base's, ``links`` are paths that the base does not track and takes from the head. ``handed_on``
    are options of ours that it shares, ``services`` the retrievers of today's ini file.
    """

    repository: Repository
    ref: str
    commit: str
    folder: Path
    called_in: Path
    arguments: Sequence[str]
    command: Sequence[str]
    links: Sequence[str] = ()
    handed_on: dict[str, Any] = field(default_factory=dict)
    services: Mapping[str, Any] = field(default_factory=dict)

    @property
    def head(self) -> str:
        """The real path of today's checkout."""
        return os.path.realpath(self.repository.top)

    def answers(self, collected: Collected, say: Callable[[str], None]) -> BaseAnswers:
        """Run the base on today's suites. Raises ``BaseError`` where nothing can be compared."""
        commit = self.commit
        say(
            f"irquality: asking the merge base with {self.ref}, {commit[:7]}, the same queries"
            " first"
        )
        remove_leftovers(self.repository)
        with checked_out(self.repository, commit, self.folder) as tree:
            linked = list(link(self.links, self.head, tree))
            collected.write(self.folder / COLLECTED)
            status = self._run(tree)
            from_base = FromBase.read(self.folder / FROM_BASE)
            _check_guard(self, commit)
            left, (spoken, spoke) = Left.read(self.folder / SUPERVISED), spoken_to(self.folder)
            left.check(f"the base {commit[:7]}", spoken)
            ended = _Ended(commit, status, from_base, last_lines(self.folder / OUTPUT))
            answers = [self._answer(key, collected.of(key.suite), ended) for key in collected.keys]
        notes = []
        if commit == self.repository.commit_of("HEAD"):
            notes.append("the merge base is HEAD: only uncommitted changes are compared")
        if linked:
            notes.append(f"of today's on both sides (ir_base_link): {', '.join(linked)}")
        differing = sum(1 for _ in self._differing(commit, collected.files))
        time = self.repository.output("log", "-1", "--format=%cI", commit).decode().strip()
        return BaseAnswers(self.ref, commit, time, answers, notes, differing, spoke)

    def _run(self, tree: Path) -> int:
        checkouts = Checkouts(self.head, str(tree))
        place = Path(checkouts.mapped(str(self.called_in)))
        place.mkdir(parents=True, exist_ok=True)
        guards, temporary = self.folder / "guard", self.folder / "tmp"
        guards.mkdir()
        temporary.mkdir()
        shutil.copyfile(guard.__file__, guards / "sitecustomize.py")
        tool = Path(guard.__file__).parents[2]
        if under(os.path.realpath(tool), self.head) and (tree / tool.name).exists():
            (guards / tool.name).symlink_to(tool)  # the checkout is this plugin's own
        settings = {
            "head": self.head, "tree": str(tree), "guard": str(guards), "folder": str(self.folder),
            "notes": str(self.folder / NOTES), "roots": list(_roots(tree)),
            "options": self.handed_on, "services": self.services,
        }  # fmt: skip
        arguments = [checkouts.mapped_argument(text, self.called_in) for text in self.arguments]
        return run(
            [*self.command, *arguments],
            place,
            environment(checkouts, guards, temporary, json.dumps(settings), guard.VARIABLE),
            self.folder,
        )

    def _answer(self, key: RunOf, today: Sequence[str], ended: _Ended) -> BaseAnswer:
        base, runs = f"the base {ended.commit[:7]}", ended.runs_of(key.suite)
        found = _own_run(runs, key.retriever, today)
        if found and (stored := _stored(self.folder / RUNS / found)):
            return _compared(key, found, stored, base)
        if ended.believed and (why := self._why_new(key, ended, () if found else [*runs])):
            return BaseAnswer(key, new=f"{base} {why}")
        remedy = NOT_PREPARED if "ir_prepare:" in ended.lines else f"{REMEDY}; {UNTRACKED}"
        raise BaseError(
            f"{base} gave no answers for {key} (exit status {ended.status}):\n{ended.lines}\n"
            f"  {remedy}"
        )

    def _why_new(self, key: RunOf, ended: _Ended, others: Sequence[str]) -> str:
        """Say what the base lacks for a suite and retriever; it has the ``others`` instead."""
        if name := ended.from_base.undeclared.get(key.suite):
            return f"declares no retriever {name!r} ({DECLARING})"
        if others:
            return f"has no such retriever, but {', '.join(map(repr, others))}"
        if key.suite in ended.from_base.without and not self._tracked(key.suite, ended.commit):
            return "has neither the suite nor its fixture"
        return ""

    def _tracked(self, path: str, commit: str) -> bool:
        return self.repository.ask("cat-file", "-e", f"{commit}:{path}").returncode == 0

    def _differing(self, commit: str, files: Iterable[str]) -> Iterator[str]:
        """Give the files that differ between both sides.

        Not documentation, nor tests, nor what suites are made of.
        """
        tests = {os.path.relpath(os.path.realpath(file), self.head) for file in files}
        for name in self.repository.differing(commit):
            path = Path(name)
            test = path.name.startswith("test_") or path.stem.endswith("_test")
            aside = test or name in tests or path.suffix in DOCUMENTATION
            if not aside and ASIDE.isdisjoint(path.parts):
                yield name


@dataclass(frozen=True)
class _Ended:
    """The end of the base's process."""

    commit: str
    status: int
    from_base: FromBase
    lines: str

    @property
    def believed(self) -> bool:
        """True where it came to its end, with no code of the head in it."""
        nothing = bool(self.from_base.undeclared) and self.status == 5
        return (self.status in (0, 1) or nothing) and self.from_base.guarded

    def runs_of(self, suite: str) -> Mapping[str, str]:
        """The files of its runs by retriever; none of a base that is not believed."""
        runs = {key.retriever: run for key, run in self.from_base.runs if key.suite == suite}
        return runs if self.believed else {}


def _check_guard(base: Base, commit: str) -> None:
    """Refuse what the base took from elsewhere than its own checkout. Raises ``BaseError``."""
    notes = base.folder / NOTES
    lines = (
        notes.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        if notes.exists()
        else []
    )
    name = f"the base {commit[:7]}"
    for kind, *words in (line.split("\t") for line in lines):
        if kind == "module":
            module, file = words
            raise BaseError(
                f"{name} imported {module} from {file}, not from its own checkout; {REMEDY}"
            )
        inside = os.path.relpath(os.path.realpath(words[0]), base.head)
        if (
            any(under(inside, os.path.normpath(path)) for path in base.links)
            or ".git" in Path(inside).parts
        ):
            continue
        if base.repository.ask("cat-file", "-e", f"{commit}:{inside}").returncode:
            raise BaseError(f"{name} read {words[0]}, which is not in that commit; {UNTRACKED}")
        if base.repository.ask("diff", "--quiet", commit, "--", inside).returncode:
            raise BaseError(
                f"{name} read {words[0]}, which this change alters: name it relative to the code"
            )


def _own_run(runs: Mapping[str, str], retriever: str, today: Sequence[str]) -> str | None:
    """Give the file of a retriever's run. Where one stands for one, its name does not matter."""
    if retriever in runs:
        return runs[retriever]
    only = len(runs) == 1 and (len(today) == 1 or "" in runs)
    return next(iter(runs.values())) if only else None


def _compared(key: RunOf, run: str, stored: StoredRun, base: str) -> BaseAnswer:
    faults = [query.fault for query in stored.queries.values() if query.ranking is None]
    if len(faults) == len(stored.queries):
        first = faults[0] if faults else "it has none"
        raise BaseError(f"{base} answered no query of {key}: {first}; {UNTRACKED}")
    answered = f"{len(stored.queries) - len(faults)} of {len(stored.queries)} queries"
    notes = (
        [f"{base} answered {answered}; the first that it did not: {faults[0]}"] if faults else []
    )
    return BaseAnswer(key, run, notes=notes)


def _stored(path: Path) -> StoredRun | None:
    try:
        return read_run(path)
    except (OSError, StoredRunError):
        return None


# -- the files of the base's checkout --------------------------------------------------------------


def link(links: Sequence[str], head: str, tree: Path) -> Iterator[str]:
    """Put links into the base to what it does not track.

    Gives the paths that are today's by that. Raises ``BaseError``.
    """
    for path in links:
        source, target = Path(head, path), tree / path
        if not source.exists() or not under(os.path.normpath(source), head):
            raise BaseError(
                f"ir_base_link: {path}: there is no such file or folder in the checkout"
            )
        if back := _way_back(source, head, links):
            raise BaseError(
                f"ir_base_link: {path}: {back} leads back into the checkout, so that today's code"
                " would answer for the base"
            )
        if not os.path.lexists(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(source)
            yield path


def _way_back(source: Path, head: str, links: Iterable[str]) -> str | None:
    """Give the link in a folder, or that it is, which leads to files of today's beside those named.

    Workspaces of packages have such links.
    """
    named = [os.path.normpath(os.path.join(head, path)) for path in links]
    below = (os.path.join(at, name) for at, *names in os.walk(source) for name in chain(*names))
    for path in filter(os.path.islink, chain([str(source)], below)):
        real = os.path.realpath(path)
        if under(real, head) and not any(under(real, folder) for folder in named):
            return os.path.relpath(path, head)
    return None


def _roots(tree: Path) -> Iterator[str]:
    """Give the folders that the base's own packages may be in.

    They are those beside each project file, and ``src`` there.
    """
    listed = Repository(tree).listed("ls-files")
    folders = {tree: None} | {
        (tree / name).parent: None for name in listed if name.rpartition("/")[2] in PROJECTS
    }
    for folder in folders:
        yield str(folder / "src")
        yield str(folder)
