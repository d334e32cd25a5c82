"""The baseline: which stored run a suite is compared with, and how it is brought up to date.

Knows files and git; of pytest nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from pytest_irquality.edges.dataclass import dataclass
from pytest_irquality.edges.git import Repository, now, package_version, time_of
from pytest_irquality.edges.open import Allowed
from pytest_irquality.edges.printable import file_name as safe
from pytest_irquality.retrieval.run import Run
from pytest_irquality.storage.jsonl import parse_run, read_run, write_run
from pytest_irquality.storage.provenance import UPDATE, Baseline, New
from pytest_irquality.storage.renamed import (
    FOLDER,
    Shelved,
    Tree,
    Trees,
    own_files,
    shares_half,
)
from pytest_irquality.storage.stored import (
    Header,
    StoredQuery,
    StoredRun,
    StoredRunError,
    answered,
    digest,
    stored_variants,
)
from pytest_irquality.suite.model import Suite

GIT, RUN = "git:", "run:"
COMMITS = (GIT, RUN)
SHOWN_QUERIES, SHOWN_MOVES = 5, 3
DIGITS = 6  # of the values kept


@dataclass(frozen=True)
class FoundBaseline:
    """A baseline and where it came from; ``stored`` is None where there is none.

    ``new``: the suite did not exist at the revision asked for, or had no baseline there and this
    change brings the first, so that nothing in it can have got worse. ``taken`` is the file of
    another name that was found for it, ``of`` the suite and retriever that made what was found,
    where they have other names now. ``commit`` and ``time`` are those of its last change.
    """

    source: str
    stored: StoredRun | None = None
    new: New = ""
    commit: str | None = None
    time: str | None = None
    taken: Shelved | None = None
    of: str = ""


def file_name(suite_file: Path, retriever: str, suffix: str = ".jsonl") -> str:
    """``shop.bm25.jsonl`` of ``shop.ir.yaml`` and the retriever ``bm25``, percent-encoded where
    need be.
    """
    variant = f".{safe(retriever)}" if retriever else ""
    return suite_file.stem.removesuffix(".ir") + variant + suffix


def below(folder: Path, suite: Suite, name: str) -> Path:
    """Where a folder of runs keeps the one of a suite: as deep in it as the suite stands in the
    project.
    """
    parts = [
        part
        for part in Path(suite.path).parent.parts
        if part not in ("..", Path(suite.path).anchor)
    ]
    return Path(folder, *parts, name)


@dataclass(frozen=True)
class BaselineLocation:
    """Where the baseline of one suite and retriever is, after the value of ``--ir-baseline``.

    ``file`` is the suite's own, ``start`` the folder that paths are relative to, ``root`` pytest's
    rootdir, whose checkout answers for git. ``project`` is where a file of no name of the user's
    may be, ``trees`` what lies elsewhere.
    """

    suite: Suite
    file: Path
    retriever: str
    option: str | None
    start: Path
    root: Path
    project: Allowed
    trees: Trees

    @property
    def allowed(self) -> Allowed | None:
        """Where the file may lead to; one that the user named, anywhere."""
        if self.option is None or self.in_git:
            return self.project
        given = self.start / self.option
        return None if self.path == given else Allowed.project(given)

    @property
    def in_git(self) -> bool:
        """Whether what is compared with is a commit's and not the file that an update writes."""
        return self.option is not None and self.option.startswith(COMMITS)

    @property
    def path(self) -> Path:
        """The file that is read, and written by an update. Under ``git:REF`` that is the default
        one.
        """
        name = file_name(self.file, self.retriever)
        if self.option is None or self.in_git:
            return self.file.parent / FOLDER / name
        given = self.start / self.option
        if given.is_file() or (given.suffix == ".jsonl" and not given.is_dir()):
            return given
        nested, flat = below(given, self.suite, name), given / name
        return flat if flat.is_file() and not nested.is_file() else nested

    @property
    def shown(self) -> str:
        """The path as messages name it."""
        try:
            return self.path.relative_to(self.start).as_posix()
        except ValueError:
            return str(self.path)

    @property
    def expected(self) -> bool:
        """Whether there is a baseline for any of the suite's retrievers, before these are known."""
        if self.option is not None or any(own_files(self.file)):
            return True
        return self.trees.here.of(self.suite, self.file) is not None

    def find(self) -> FoundBaseline:
        """What to compare with. Raises ``StoredRunError``: damaged, of another suite, or a revision
        that git lacks.
        """
        return self._at(self.option) if self.option and self.in_git else self.here()

    def _provenance(
        self, stored: StoredRun, file: Path, at: str | None = None
    ) -> tuple[str | None, str | None]:
        """The commit and the time that made it. A kept run says so itself; a baseline's header must
        merge.
        """
        if stored.header.time:
            return stored.header.commit, stored.header.time
        try:
            if known := Repository.holding(self.root).last_change(file, at):
                return known
        except OSError:  # no git, or a file outside the checkout
            pass
        return None, None if at else time_of(file.stat().st_mtime)

    def here(self) -> FoundBaseline:
        """What an update writes over. Raises ``StoredRunError``."""
        try:
            stored = read_run(self.path, self.shown, self.allowed)
        except (FileNotFoundError, NotADirectoryError):
            at_default = self.option is None or self.in_git
            return (
                self._elsewhere(self.trees.here, self.shown)
                if at_default
                else FoundBaseline(self.shown)
            )
        except OSError as error:
            raise StoredRunError(
                f"{self.shown}: cannot be read: {error.strerror or error}"
            ) from None
        return self._own(stored, self.shown)

    def _elsewhere(self, tree: Tree, source: str, at: str | None = None) -> FoundBaseline:
        """What lies under another name; nothing, as a rule."""
        taken = tree.of(self.suite, self.file, self.retriever)
        if taken is None:
            return FoundBaseline(source)
        stored = taken.read()
        commit, time = self._provenance(stored, taken.file, at)
        return FoundBaseline(taken.name, stored, "", commit, time, taken, taken.of)

    def _own(self, stored: StoredRun, source: str, at: str | None = None) -> FoundBaseline:
        """What has the right name: refuse the file of another suite or retriever, unless the user
        named this very file.

        A suite that was renamed together with its baseline has the old name in it still.
        """
        found = FoundBaseline(source, stored, "", *self._provenance(stored, self.path, at))
        header, made_by = stored.header, self.file.with_name(Path(stored.header.path).name)
        if self.option is not None and self.path == self.start / self.option:
            if stored.queries and not stored.matching(self.suite).same:
                raise StoredRunError(
                    f"{source}:1: holds no query of {self.suite.path}; it is a run of {header.path}"
                )
            return found
        if (made_by, header.retriever) == (self.file, self.retriever):
            return found
        theirs, ours = (
            _named(path.name, retriever)
            for path, retriever in ((made_by, header.retriever), (self.file, self.retriever))
        )
        theirs_too = made_by.is_file() and file_name(made_by, header.retriever) == self.path.name
        if theirs_too or not shares_half(stored, self.suite):
            raise StoredRunError(
                f"{source}:1: is the baseline of {theirs}, not of {ours}: rename one, or delete it"
            )
        return replace(found, of=theirs)

    def _at(self, option: str) -> FoundBaseline:
        source = f"{option} {self.shown}"
        try:
            repository = Repository.holding(self.root)
            at = repository.merge_base(option.removeprefix(GIT))
            content = repository.content(at, self.path)
            if content is not None:
                return self._own(parse_run(content.splitlines(keepends=True), source), source, at)
            found = self._elsewhere(self.trees.at(at, option), source, at)
            was_there = self.file.name in repository.names(at, self.file.parent)
        except OSError as error:
            raise StoredRunError(f"--ir-baseline {option}: {error}") from None
        if found.stored is not None:
            return found
        # Without a baseline in this change either nothing would ever be compared, which must not
        # look like a pass.
        if not was_there:
            return replace(found, new="suite")
        return replace(found, new="baseline" if self.path.is_file() else "")


def suites_in_git(root: Path) -> Iterator[Path]:
    """The suite files that committed baselines are beside, in the checkout of pytest's rootdir."""
    try:
        repository = Repository.holding(root)
        listed = repository.output("ls-files", "-z").decode(errors="surrogateescape").split("\0")
    except OSError:
        return
    kept = [PurePosixPath(name) for name in listed if f"{FOLDER}/" in name]
    for file in kept:
        if file.parent.name == FOLDER and file.suffix == ".jsonl":
            folder = repository.top / file.parent.parent
            stem = file.stem
            for name in (stem, stem.rpartition(".")[0]):
                for suffix in (".ir.yaml", ".ir.yml", ".yaml", ".yml"):
                    if name and (path := folder / f"{name}{suffix}").is_file():
                        yield path


def unknown_revision(root: Path, option: str) -> str | None:
    """What is wrong with ``git:REF`` where the checkout of pytest's rootdir does not know it."""
    try:
        Repository.holding(root).merge_base(option.removeprefix(GIT))
    except OSError as error:
        return f"--ir-baseline {option}: {error}"
    return None


def _named(path: str, retriever: str) -> str:
    return f"{path} [{retriever}]" if retriever else path


# -- comparing -------------------------------------------------------------------------------------


def compare_with(
    found: FoundBaseline, suite: Suite, retriever: str
) -> tuple[Run, Baseline] | tuple[None, None]:
    """What ``judge`` is given: the baseline's rankings of today's queries, and where they come
    from.

    Raises ``StoredRunError`` where it has no texts to look for passages in.
    """
    if found.stored is None:
        new = Baseline(found.source, new=found.new)
        return (Run(retriever, {}), new) if found.new else (None, None)
    if found.stored.lacks_texts(suite):
        raise StoredRunError(
            f"{found.source}: kept without texts, which 'match: text' needs; renew it with"
            f" `{UPDATE}`"
        )
    stored = found.stored
    matching = stored.matching(suite)
    queries = sum(not line.of for line in stored.queries.values())  # variants stand beside theirs
    known = Baseline(
        found.source,
        queries,
        found.commit,
        found.time,
        stored.version,
        left=matching.gone,
        edited=tuple(matching.edited),
        renamed=len(matching.renamed),
        of=found.of,
    )
    return found.stored.run(suite), known


# -- updating --------------------------------------------------------------------------------------


def header_of(suite: Suite, run: Run, commit: str | None, shard: str | None = None) -> Header:
    """What is known of a run that was just made and is to be kept."""
    return Header(
        suite.name, suite.path, suite.depth, run.retriever, digest(suite), shard, run.version,
        commit, now(), package_version(), run.candidates.depth if run.candidates else None,
    )  # fmt: skip


def update(
    place: BaselineLocation, found: FoundBaseline, run: Run, damage: str = ""
) -> tuple[str, ...]:
    """Write what was retrieved over the baseline that was found, and say in a few lines what that
    changes.

    ``damage`` is what is wrong with a file that is to be written anew, which takes an answer to
    every query.

    Queries that were not asked or not answered keep their line; those that left the suite lose it.
    Where no ranking changed the file is not touched. Raises ``OSError``.
    """
    suite, old = place.suite, found.stored
    was = _under_todays_ids(old, suite) if old else {}
    queries: dict[str, StoredQuery] = {}
    changed: list[StoredQuery] = []
    new = 0
    for query in suite.queries:
        before = was.get(query.id)
        fresh = (
            _to_keep(suite, answered(suite, query, run), run) if query.id in run.rankings else None
        )
        # Scores wobble from machine to machine: a line stands as long as its ranking does.
        stands = (
            before
            if fresh is None or (before is not None and before.same_ranking(fresh))
            else fresh
        )
        if stands is not None:
            queries[query.id] = stands
        if fresh is not None and stands is fresh:
            if before is not None and before.same_question(fresh):
                changed.append(fresh)
            else:
                new += 1
    if damage and len(queries) < len(suite.queries):
        lack = len(suite.queries) - len(queries)
        return (f"NOT WRITTEN: {damage} (which takes an answer to every query: {lack} had none)",)
    if not queries and not was:
        return (f"baseline not written: {place.shown}: no query was answered",)
    removed = len(was.keys() - queries.keys())
    renamed = len(old.matching(suite).renamed) if old else 0
    partial = old is not None and not queries.keys() <= run.rankings.keys()
    depth = min(suite.depth, old.header.depth) if old and partial else suite.depth
    counts = [
        (len(changed), f"ranking{'s' * (len(changed) != 1)} changed"),
        (new, "new"),
        (removed, "removed"),
        (renamed, "under a new id"),
    ]
    said = [f"{count} {words}" for count, words in counts if count]
    if found.of:
        said.append(f"taken over from {found.of}")
    if old and old.header.depth != depth:
        said.append(f"depth {old.header.depth} → {depth}")
    stay = f"; {len(run.faults)} could not be answered, and stay as they were" if run.faults else ""
    if damage:
        said = [f"{len(queries)} rankings, all anew, since the file could not be read"]
    variants = _variants_to_keep(suite, old, run)
    if not said and variants != _variants_of(old):
        said = ["other wordings changed"]
    if not said:
        return (
            (
                f"baseline unchanged: {place.shown}: {len(queries)}"
                f" ranking{'s' * (len(queries) != 1)}{stay}"
            ),
        )
    # Nothing in it changes from update to update, nor with the folder that pytest was called in:
    # branches must merge.
    header = Header(
        suite.name,
        place.file.name,
        depth,
        run.retriever,
        candidates=_depth_of_candidates(suite, old, queries),
    )
    write_run(place.path, StoredRun(header, {**queries, **variants}), place.allowed)
    return (f"baseline written: {place.shown}: {', '.join(said)}{stay}", *_moves(was, changed))


def _variants_of(old: StoredRun | None) -> Mapping[str, StoredQuery]:
    return {id: line for id, line in old.queries.items() if line.of} if old else {}


def _variants_to_keep(suite: Suite, old: StoredRun | None, run: Run) -> Mapping[str, StoredQuery]:
    """The lines of today's other wordings: as they stand where nothing changed or nothing was
    asked.
    """
    was = _variants_of(old)
    fresh = stored_variants(suite, run)
    kept: dict[str, StoredQuery] = {}
    for variant in suite.reworded:
        before, now = was.get(variant.id), fresh.get(variant.id)
        if now is None or now.ranking is None:
            stands = before
        else:
            now = _without_time(now)
            stands = before if before is not None and before.same_ranking(now) else now
        if stands is not None:
            kept[variant.id] = stands
    return kept


def _depth_of_candidates(
    suite: Suite, old: StoredRun | None, queries: Mapping[str, StoredQuery]
) -> int | None:
    """How many candidates were asked for of those that are kept: the fewest, where some are old."""
    held = [query.candidates for query in queries.values() if query.candidates]
    then = old.header.candidates if old else None
    before = [query.candidates for query in old.queries.values()] if old else []
    if not held or then is None or not any(one in before for one in held):
        return suite.candidates_depth if held else None
    return min(then, suite.candidates_depth)


def _to_keep(suite: Suite, query: StoredQuery, run: Run) -> StoredQuery:
    """A line of a baseline: no times, which never are the same, but what the ranking scores
    today, and candidates only where the suite measures them, without their titles.
    """
    candidates = query.candidates
    if candidates and (candidates.ranking is None or not suite.measures_candidates):
        candidates = None
    query = replace(query, candidates=candidates and replace(candidates, titles=()))
    scored = run.scored.get(query.id, {})
    values = {measure: round(value, DIGITS) for measure, value in scored.items()}
    return replace(_without_time(query), version=run.version, values=values)


def _without_time(query: StoredQuery) -> StoredQuery:
    ranking = replace(query.ranking, seconds=None) if query.ranking else None
    return replace(
        query,
        ranking=ranking,
        answers=tuple(map(_without_time, query.answers)),
        candidates=query.candidates and _without_time(query.candidates),
    )


def _under_todays_ids(old: StoredRun, suite: Suite) -> Mapping[str, StoredQuery]:
    """The stored queries by the ids that they have today. Those that left have theirs, where no
    other has it.
    """
    same = old.matching(suite).same
    was = {id: replace(old.queries[stored], id=id) for id, stored in same.items()}
    matched = {*same.values()}
    rest = {id: query for id, query in old.queries.items() if id not in matched and not query.of}
    return {**rest, **was}


def _moves(was: Mapping[str, StoredQuery], changed: list[StoredQuery]) -> Iterator[str]:
    for query in changed[:SHOWN_QUERIES]:
        before = was[query.id]
        sides = [
            dict.fromkeys(stored.ranking.ids if stored.ranking else ())
            for stored in (before, query)
        ]
        old, now = ({document: rank for rank, document in enumerate(side, 1)} for side in sides)
        titles = before.by_document(before.titles) | query.by_document(query.titles)
        moved = sorted(
            (min(rank for rank in (old.get(id), now.get(id)) if rank), id)
            for id in dict.fromkeys([*old, *now])
            if old.get(id) != now.get(id)
        )
        said = [
            f"{id}{f' ({titles[id]})' if titles.get(id, id) != id else ''} {old.get(id, '–')} →"
            f" {now.get(id, '–')}"
            for _, id in moved[:SHOWN_MOVES]
        ]
        if not said:
            alike = (*before.texts,) == (*query.texts,)
            said = ["other candidates" if alike else "other texts under the same ids"]
        more = f" and {len(moved) - SHOWN_MOVES} more" if len(moved) > SHOWN_MOVES else ""
        yield f"  {query.text!r}: {', '.join(said)}{more}"
    if len(changed) > SHOWN_QUERIES:
        yield f"  and {len(changed) - SHOWN_QUERIES} more queries"
