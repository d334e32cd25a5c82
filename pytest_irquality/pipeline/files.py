"""What the options ask to be read and written: baselines, kept runs, shares. Knows nothing of
pytest.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from pytest_irquality.edges import git as provenance
from pytest_irquality.edges.git import Repository
from pytest_irquality.edges.open import Allowed
from pytest_irquality.pipeline.base.told import RUNS, BaseAnswer, BaseAnswers, RunOf
from pytest_irquality.pipeline.resuming import (
    kept_so_far,
    refuse_other_code,
    still_valid,
    with_others,
)
from pytest_irquality.retrieval.run import JUDGMENTS, Fault, Run
from pytest_irquality.storage import baseline
from pytest_irquality.storage.history import Entry, HistoryError, read_history
from pytest_irquality.storage.jsonl import parse_run, read_run, write_run
from pytest_irquality.storage.kept import Kept
from pytest_irquality.storage.provenance import Baseline, run_name
from pytest_irquality.storage.renamed import Shelved, Trees
from pytest_irquality.storage.shards import Shard
from pytest_irquality.storage.stored import (
    DamagedRunError,
    StoredRun,
    StoredRunError,
    stored_run,
)
from pytest_irquality.storage.trec import is_trec, write_trec
from pytest_irquality.storage.update import header_of, update
from pytest_irquality.suite.model import Suite
from pytest_irquality.verdict.accepted import Accepting
from pytest_irquality.verdict.facts import Loud, Moved, Remark, TiesMoved
from pytest_irquality.verdict.result import BAD, QueryResult, SuiteResult
from pytest_irquality.verdict.trend import Past
from pytest_irquality.wording.numbers import counted, few
from pytest_irquality.wording.reasons import reason
from pytest_irquality.wording.words import age, revision


class Target(NamedTuple):
    """A suite, its file and one retriever: what there is one run of."""

    suite: Suite
    file: Path
    retriever: str

    @property
    def name(self) -> str:
        """What messages call it."""
        return run_name(self.suite.path, self.retriever)


class Against(NamedTuple):
    """What is compared with, what is known of it, and what accepts drops from it; None where there
    is nothing.
    """

    run: Run | None
    baseline: Baseline | None
    accepting: Accepting | None = None


class _Known(NamedTuple):
    """What is compared with, and the ``old`` file that an update replaces, with what is wrong with
    it (``damage``).
    """

    before: baseline.FoundBaseline
    old: baseline.FoundBaseline
    damage: str = ""


@dataclass
class Files:
    """The options, and what was read for them so far. Paths are relative to ``start``; git is asked
    in ``root``.

    ``named`` are the folders that the command line names, or whose files it does; ``outside`` those
    that the ini file allows besides the project. ``base`` is the folder in which the base's answers
    are, under ``run:REF``. ``accepts_nothing``: a change's own baseline accepts no drop.
    ``builds`` are several stored runs, which are compared with together in place of ``compared``.
    """

    start: Path
    root: Path
    compared: str | None = None
    updating: bool = False
    kept: Sequence[str] = ()
    saved: str | None = None
    shard: Shard | None = None
    targets: Sequence[Target] = ()
    patterns: Sequence[str] = ()
    variants: dict[Path, Sequence[str]] = field(default_factory=dict)
    named: Sequence[Path] = ()
    outside: Sequence[Path] = ()
    base: Path | None = None
    history: Path | None = None
    accepts_nothing: bool = False
    builds: Sequence[str] = ()
    resume: bool = False
    _read: dict[tuple[Path, str], _Known] = field(default_factory=dict)

    def part(self, suite: Suite) -> Suite:
        """The suite as far as this job asks it."""
        return self.shard.of(suite) if self.shard else suite

    def kept_run(self, target: Target, needed: Collection[str]) -> tuple[Run, tuple[str, ...]]:
        """The kept run, and notes on it. Raises ``StoredRunError``."""
        return self._kept.run(target.suite, target.file, target.retriever, needed)

    @cached_property
    def _kept(self) -> Kept:
        return Kept(self.kept, self.start)

    def every_run(self, suite: Suite) -> Iterator[Run]:
        """What all kept runs and baselines that were named returned. Raises ``StoredRunError``."""
        given = [*self.kept, *self.builds, self.compared or ""]
        return Kept([*filter(self._exists, filter(None, given))], self.start).every(suite)

    def unknown_revision(self) -> str | None:
        """What is wrong with ``git:REF``, where that is compared with."""
        if self.compared is None or not self.compared.startswith(baseline.GIT):
            return None
        return baseline.unknown_revision(self.root, self.compared)

    def read_baseline(self, target: Target) -> _Known:
        """What a target is compared with, and what an update replaces, as it first was. Raises
        ``StoredRunError``.
        """
        if not self.updating:  # it may be large, and is asked for once
            found = self._found(target)
            return _Known(found, found)
        key = target.file, target.retriever
        if key not in self._read:
            self._read[key] = self._to_be_replaced(target)
        return self._read[key]

    def _found(self, target: Target) -> baseline.FoundBaseline:
        """What is compared with: the base's answer, or the baseline. Raises ``StoredRunError``."""
        if self._answers is None:
            return self._kept_baseline(target) or self._place(target).find()
        answer = self._answer(target)
        source, commit = f"run:{self._answers.ref}", self._answers.commit[:7]
        if answer.run is None:
            return baseline.FoundBaseline(source, None, "suite", commit, self._answers.time)
        assert self.base is not None
        stored = read_run(self.base / RUNS / answer.run, source)
        return baseline.FoundBaseline(source, stored, "", commit, self._answers.time)

    def _kept_baseline(self, target: Target) -> baseline.FoundBaseline | None:
        """Kept runs that are compared with, found as those of ``--ir-runs`` are: several builds, a
        TREC run, or one deeper in the folder. None where another baseline is asked for.
        """
        place, option = self._place(target), self.compared or ""
        given = self.builds or ([option] if option and not place.in_git else [])
        is_ours = place.path.is_file() and not is_trec(place.path)
        if not given or (is_ours and not self.builds) or not all(map(self._exists, given)):
            return None
        kept = Kept(given, self.start, "--ir-baseline")
        stored = kept.stored(target.suite, target.file, target.retriever)
        source = option
        if self.builds:
            source = f"{len(given)} builds ({few(list(given[:2]), len(given))})"
        if stored is None:
            return baseline.FoundBaseline(source) if self.builds else None
        return baseline.FoundBaseline(source, stored, "", stored.header.commit, stored.header.time)

    def _exists(self, given: str) -> bool:
        return (self.start / given).exists()

    @cached_property
    def _answers(self) -> BaseAnswers | None:
        return BaseAnswers.read(self.base) if self.base else None

    def _answer(self, target: Target) -> BaseAnswer:
        assert self._answers is not None
        suite = Repository.holding(self.root).path(Path(os.path.realpath(target.file)))
        answer = self._answers.of(RunOf(suite, target.retriever))
        if answer is None:
            raise StoredRunError(f"run:{self._answers.ref} was not asked the queries of {suite}")
        return answer

    def _to_be_replaced(self, target: Target) -> _Known:
        place = self._place(target)
        old, damage = baseline.FoundBaseline(place.shown), ""
        try:
            old = place.here()
        except DamagedRunError as error:  # which writing it anew mends
            damage = str(error)
        return _Known(self._found(target) if place.in_git else old, old, damage)

    def expects_baseline(self, suite: Suite, file: Path) -> bool:
        """Whether there is a baseline for any of a suite's retrievers, before these are known."""
        return bool(self.builds) or self._place(Target(suite, file, "")).expected

    def before(self, target: Target, needed: Collection[str]) -> Against:
        """What ``judge`` compares with, where these queries are asked.

        Raises ``StoredRunError``, also where what is to be kept could not be written.
        """
        accepting = None if self.updating else self._accepting(target)
        try:
            before, known = self._before(target, needed)
            return Against(before, known, accepting)
        except StoredRunError as error:
            if accepting is None:
                raise
            return Against(None, None, replace(accepting, lacks=str(error)))

    def _accepting(self, target: Target) -> Accepting | None:
        """The baseline that HEAD commits, where a commit is compared with that has another."""
        place, option = self._place(target), self.compared
        if option is None or not place.in_git:
            return None
        try:
            repository = Repository.holding(self.root)
            base = repository.merge_base(option.partition(":")[2])
            committed = repository.content("HEAD", place.path)
            if committed is None or committed == repository.content(base, place.path):
                return None
            stored = parse_run(committed.splitlines(keepends=True), f"HEAD:{place.shown}")
        except (OSError, StoredRunError):
            return None  # then nothing is accepted
        if stored.lacks_texts(target.suite):
            return None
        return Accepting(stored.run(target.suite), refused=self.accepts_nothing)

    def _before(
        self, target: Target, needed: Collection[str]
    ) -> tuple[Run, Baseline] | tuple[None, None]:
        if self.saved and is_trec(Path(self.saved)) and len(self.targets) > 1:
            raise StoredRunError(
                f"--ir-save-runs {self.saved} is one file and here are {len(self.targets)} runs:"
                " name a folder, or one suite"
            )
        if (self.updating or self.saved) and (other := self._shares_a_file(target)):
            raise StoredRunError(
                f"{target.name} and {other.name} would be kept in one file: give one of them"
                " another name"
            )
        known = self.read_baseline(target)
        if known.damage and len(needed) < len(target.suite.queries):
            raise StoredRunError(f"{known.damage}; only an update of all queries can do that")
        found = known.before
        if self.updating and found.stored and found.stored.lacks_texts(target.suite):
            return None, None  # about to be replaced by one that has them
        return baseline.compare_with(found, target.suite, target.retriever)

    def past(self, target: Target, needed: Collection[str]) -> Past | None:
        """What the history holds of a suite and retriever. Raises ``StoredRunError``.

        None where there is no history, or where only some of the queries are asked, which is no
        line of it.
        """
        if self.history is None or self.shard or len(needed) < len(target.suite.queries):
            return None
        try:
            entries = read_history(self.history, self.history.name)
        except HistoryError as error:
            raise StoredRunError(str(error)) from None
        of_target = (target.suite.path, target.retriever)
        mine = [entry for entry in entries if (entry.suite, entry.retriever) == of_target]
        return Past(mine, self.commit or provenance.now(), self.commit_time)

    @cached_property
    def commit_time(self) -> str:
        """When the commit of the code was made, or now."""
        try:
            repository = Repository.holding(self.root)
            return provenance.time_of(int(repository.output("log", "-1", "--format=%ct")))
        except (OSError, ValueError):
            return provenance.now()

    def _shares_a_file(self, target: Target) -> Target | None:
        """Another one whose file has the same name, on file systems that know no case, too."""
        path = str(self._place(target).path).casefold()
        others = (other for other in self.targets if other != target)
        return next((o for o in others if str(self._place(o).path).casefold() == path), None)

    def completed(
        self, target: Target, run: Run, result: SuiteResult, notes: Sequence[str] = ()
    ) -> SuiteResult:
        """The result with what these files add to it, after everything that is asked for was
        written.
        """
        notes = [*notes, *self._notes(target)]
        return replace(
            result,
            facts=(
                *map(Remark, notes),
                *self._kept_facts(target),
                *self._one_service(result),
                *result.facts,
            ),
            commit=self.commit if result.baseline else None,
            written=tuple(self._write(target, run, result)),
            entry=None if result.interrupted else _concluded(result),
        )

    def _kept_facts(self, target: Target) -> Iterator[Remark]:
        """Of which commit a kept run is, how old, and whether that is the code that is here."""
        if not self.kept:
            return
        headers = self._kept.headers(target.suite, target.retriever)
        if not headers:
            yield Remark("a run in TREC's format is judged: it says neither its commit nor its age")
        oldest: dict[str | None, str | None] = {}  # of several shares or builds
        for header in sorted(headers, key=lambda header: header.time or ""):
            oldest.setdefault(header.commit, header.time)
        for commit, time in oldest.items():
            of = f"commit {revision(commit)}" if commit else "an unknown commit"
            judged = f"a kept run is judged, of {of}"
            if time and (old := age(time, datetime.now(timezone.utc))):
                judged += f", {old}"
            if commit and self.commit and not _same_commit(commit, self.commit):
                here = f"here is {revision(self.commit)}"
                yield Loud(f"{judged}; {here}", f"the kept run is of {of}, and {here}")
            else:
                yield Remark(judged)

    def _notes(self, target: Target) -> Iterator[str]:
        if self.shard:
            here, total = len(self.part(target.suite).queries), len(target.suite.queries)
            yield (
                f"share {self.shard}: {here} of {total} queries; limits over many wait for"
                " --ir-runs"
            )
        yield from self._orphans(target)

        if self._answers is not None:
            answer = self._answer(target)
            if answer.new:
                yield answer.new
            yield from answer.notes
            yield from self._answers.notes

    def _one_service(self, result: SuiteResult) -> Iterator[Loud]:
        """Where the base's code answered everything as today's, whether it was its code at all."""
        changed = self._answers.changed if self._answers else 0
        moved = [fact for fact in result.facts if isinstance(fact, (Moved, TiesMoved))]
        if changed and moved and not any(fact.rankings for fact in moved):
            files = counted(changed, "file")
            asks = "did both sides speak to one service?"
            yield Loud(
                f"no ranking differs, although {files} other than tests and suites changed: {asks}"
                " (a server with an address of its own, or an index that both sides open, answers"
                " for both)",
                f"no ranking differs although {files} changed: {asks}",
            )

    def _orphans(self, target: Target) -> Iterator[str]:
        """The baselines beside a suite that nothing is compared with any more, as the first suite
        there reports them.
        """
        folder, retrievers = target.file.parent, self.variants.get(target.file, ("",))
        if target.file != self._trees.first_suite(folder) or target.retriever != retrievers[0]:
            return
        for shelved in self._trees.gone_beside(folder):
            if self._trees.here.needed(shelved) is None:
                yield (
                    f"{shelved.name} is the baseline of {shelved.of}, which is not there any more:"
                    " delete it"
                )

    def _write(self, target: Target, run: Run, result: SuiteResult) -> Iterator[str]:
        for file, write in ((self.saved, self._save), (self._place(target).shown, self._update)):
            try:
                yield from write(target, run, result)
            except OSError as error:
                yield f"NOT WRITTEN: {file}: {error.strerror or error}"

    def resumed(
        self, target: Target, needed: Collection[str], version: str | None, *, staged: bool
    ) -> Run | None:
        """What an earlier job kept of these queries, where this one goes on with it. Raises
        ``StoredRunError``, also where other code gave those answers.
        """
        stored = self._so_far(target)
        if stored is None:
            return None
        refuse_other_code(stored, self._kept.shown(self.kept_path(target)), self.commit, version)
        return still_valid(stored, self.part(target.suite), needed, staged=staged)

    def _so_far(self, target: Target) -> StoredRun | None:
        if self.saved is None or not self.resume:
            return None
        path = self.kept_path(target)
        allowed = Allowed.project(self.start / self.saved)
        return kept_so_far(path, self._kept.shown(path), allowed)

    def _save(self, target: Target, run: Run, result: SuiteResult) -> Iterator[str]:
        if self.saved is None:
            return
        folder = self.start / self.saved
        if is_trec(folder):
            write_trec(folder, target.suite, run)
            several = len(run.answers)
            only = f" (the first of {several} answers: such a file has one)" if several > 1 else ""
            yield f"run kept: {self.saved}{only}"
            return
        path = self.kept_path(target)
        shard = str(self.shard) if self.shard else None
        header = header_of(target.suite, run, self.commit, shard)
        stored = with_others(stored_run(target.suite, run, header), self._so_far(target))
        write_run(path, stored, Allowed.project(folder))
        yield f"run kept: {self._kept.shown(path)}"

    def kept_path(self, target: Target) -> Path:
        """The file in which the folder of ``--ir-save-runs`` keeps a run."""
        suffix = f".{self.shard.index}-of-{self.shard.count}.jsonl" if self.shard else ".jsonl"
        name = baseline.file_name(target.file, target.retriever, suffix)
        return baseline.below(self.start / (self.saved or ""), target.suite, name)

    def _update(self, target: Target, run: Run, result: SuiteResult) -> Iterator[str]:
        if not self.updating:
            return
        if run.interrupted:
            yield f"baseline not written: {self._place(target).shown}: interrupted"
            return
        if other := target.suite.baseline_retriever:
            yield (
                f"baseline not written: {target.suite.path} compares with the retriever {other!r},"
                " not with a file"
            )
            return
        # Also those that came without the texts in which their passages would stand.
        faulty = {query.id for query in result.queries if query.fault}
        answered = run.only(run.answered - faulty)
        answered = replace(answered, faults=dict.fromkeys(faulty, Fault("")))
        scored = {query.id: _values(target.suite, query) for query in result.queries}
        known, place = self.read_baseline(target), self._place(target)
        yield from update(place, known.old, replace(answered, scored=scored), known.damage)
        if known.old.taken and place.path.is_file():
            yield from self._put_away(known.old.taken, target)

    def _put_away(self, taken: Shelved, target: Target) -> Iterator[str]:
        """Remove the file that a baseline was taken over from, unless another suite or retriever
        has none but this.
        """
        others = self.variants.get(target.file, ()) if not taken.header.retriever else ()
        waiting = [
            name
            for name in others
            if not self._place(target._replace(retriever=name)).path.is_file()
        ]
        also = self._trees.here.needed(taken, but=target.file)
        if also or waiting:
            needed = also.name if also else f"{target.suite.path} [{waiting[0]}]"
            yield f"{taken.name} stays: {needed} is compared with it, too"
            return
        taken.file.unlink(missing_ok=True)
        yield f"removed: {taken.name}"

    def _place(self, target: Target) -> baseline.BaselineLocation:
        return baseline.BaselineLocation(
            target.suite, target.file, target.retriever, self.compared, self.start, self.root,
            self.allowed(target.file), self._trees,
        )  # fmt: skip

    def allowed(self, suite: Path) -> Allowed:
        """The folders that what a suite names may lie in, and what is kept beside it be written
        to.
        """
        named = [folder for folder in self.named if suite.is_relative_to(folder)]
        return Allowed.project(self.root, *self.outside, *named)

    @cached_property
    def _trees(self) -> Trees:
        return Trees(
            self.root, self.start, self.patterns, Allowed.project(self.root, *self.outside)
        )

    @cached_property
    def commit(self) -> str | None:
        """The commit of the code, asked for once."""
        return provenance.commit(self.root)


def _same_commit(one: str, other: str) -> bool:
    """Whether two short hashes are of one commit; whose files were changed is not looked at."""
    one, other = one.partition("-")[0], other.partition("-")[0]
    return one.startswith(other) or other.startswith(one)


def _concluded(result: SuiteResult) -> Entry | None:
    """The line of the history, with what the run came to."""
    if result.entry is None:
        return None
    bad = [verdict for verdict in result.verdicts if verdict.outcome in BAD]
    return replace(
        result.entry,
        outcome="failed" if bad else "passed",
        reason=reason(result, bad[0]) if bad else "",
        accepted=any(verdict.outcome == "accepted" for verdict in result.verdicts),
    )


def _values(suite: Suite, query: QueryResult) -> dict[str, float]:
    """What a query scored by the measures that rest on judgments, and how many judgments it had."""
    values = zip(suite.measures, query.values, strict=True)
    scored = {
        str(measure): value
        for measure, value in values
        if value is not None and measure.definition.needs and not measure.definition.compares
    }
    judged = len(suite.by_id[query.id].judgments.grades)
    return {**scored, JUDGMENTS: judged} if scored else {}
