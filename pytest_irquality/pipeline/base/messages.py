"""Messages between the processes, as files of JSON: today's suites, and the base's answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeVar

from pytest_irquality.edges.codec import decode, encode
from pytest_irquality.metrics import parse_measure
from pytest_irquality.metrics.measure import of_stage
from pytest_irquality.storage.target import run_name
from pytest_irquality.suite.demands import Answered
from pytest_irquality.suite.grades import Match
from pytest_irquality.suite.keys import Retry
from pytest_irquality.suite.model import Check, Place, Query, Suite

COLLECTED, FROM_BASE, ANSWERS, NOTES, RUNS = "collected", "from-base", "answers", "notes", "runs"
M = TypeVar("M", bound="Message")


class Message:
    """Something that one process leaves in a file for another."""

    def write(self, path: Path) -> None:
        """Leave it. Raises ``OSError``."""
        path.write_text(encode(self), encoding="utf-8")

    @classmethod
    def read(cls: type[M], path: Path) -> M:
        """Take it up again. Raises ``OSError`` where nothing was left, ``ValueError``."""
        return decode(path.read_text(encoding="utf-8"), cls)


class RunOf(NamedTuple):
    """A suite, by its path from git's top folder, and one retriever."""

    suite: str
    retriever: str

    def __str__(self) -> str:
        return run_name(self.suite, self.retriever)


class AskedQuery(NamedTuple):
    """A query as it is asked.

    ``params`` are JSON.
    """

    id: str
    text: str
    params: str

    @classmethod
    def by(cls, query: Query) -> AskedQuery:
        """Leave of a query what is asked."""
        return cls(query.id, query.text, json.dumps(query.params))

    def of_the_base(self) -> AskedQuery:
        """Give it an id that no query of today has."""
        return self._replace(id=f"base {self.id}")

    @property
    def query(self) -> Query:
        """A query that expects nothing."""
        return Query(id=self.id, text=self.text, params=json.loads(self.params), bulk=True)


AS_WRITTEN = (
    "name", "path", "retriever", "depth", "id_field", "text_field", "retry",
    "concurrency", "timeout", "repeat", "match",
)  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """All that is asked of a suite, without anything that is demanded.

    ``file`` is the suite's, from git's top folder; ``measures`` are those of stages, and of what
    is counted; ``params`` are JSON. The other fields are the suite's.
    """

    file: str
    queries: Sequence[AskedQuery]
    params: str
    measures: Sequence[str]
    name: str
    path: str
    retriever: str
    depth: int
    id_field: str | None = None
    text_field: str | None = None
    retry: Retry = field(default=Retry(times=0))
    concurrency: int | None = None
    timeout: float | None = None
    repeat: int = 1
    match: Match = "id"

    @classmethod
    def of(cls, file: str, suite: Suite, *left: Suite) -> Asked:
        """Leave of a suite what is asked, and of what ``left`` the base's."""
        asked = [AskedQuery.by(query) for query in suite.queries]
        for then in left:
            asked += [AskedQuery.by(query).of_the_base() for query in then.queries]
        written = {name: getattr(suite, name) for name in AS_WRITTEN}
        if any(one.by_text for one in left):
            written["match"] = "text"
        return cls(
            file=file,
            queries=asked,
            params=json.dumps(suite.params),
            measures=[*_measured((suite, *left))],
            **{**written, "depth": max(one.depth for one in (suite, *left))},
        )

    @property
    def suite(self) -> Suite:
        """A suite that asks all this, and demands answers alone."""
        return Suite(
            queries=tuple(asked.query for asked in self.queries),
            params=json.loads(self.params),
            metrics=tuple(map(parse_measure, self.measures)),
            checks=(Check("asked", "asked", Place(1), Answered(), "bulk"),),
            **{name: getattr(self, name) for name in AS_WRITTEN},
        )


def _measured(suites: Iterable[Suite]) -> Iterator[str]:
    """Names of measures for which a base must answer with more than rankings."""
    for suite in suites:
        yield from (f"{of_stage(stage)} recall@{suite.stage_depth}" for stage in suite.stages)
        yield from (str(measure) for measure in suite.measures if measure.counts)


@dataclass(frozen=True)
class Collected(Message):
    """Today's suites and retrievers, what they ask, and the files that the suites are made of.

    ``retrievers`` are all there are of these suites, ``keys`` those of them that were selected.
    ``files`` are absolute paths.
    """

    keys: Sequence[RunOf]
    retrievers: Sequence[RunOf]
    asked: Sequence[Asked]
    files: Sequence[str]

    def of(self, suite: str) -> Sequence[str]:
        """The retrievers of a suite."""
        return [key.retriever for key in self.retrievers if key.suite == suite]


@dataclass(frozen=True)
class FromBase(Message):
    """The last words of the base's process.

    ``runs`` are the files it kept, with the suite and retriever of each; ``without`` the suites
    whose fixture it lacks; ``undeclared`` the names of fixtures, by suite, that are no retrievers
    there; ``guarded``: no code of the head could answer in it.
    """

    runs: Sequence[tuple[RunOf, str]] = ()
    without: Sequence[str] = ()
    undeclared: Mapping[str, str] = field(default_factory=dict)
    guarded: bool = False

    @classmethod
    def read(cls, path: Path) -> FromBase:
        """Take it up; nothing was said where the process ended before it could."""
        try:
            return super().read(path)
        except (OSError, ValueError):
            return cls()


@dataclass(frozen=True)
class BaseAnswer:
    """The file of the base's ``run`` for a suite and retriever, or the reason why it is ``new``."""

    key: RunOf
    run: str | None = None
    new: str = ""
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class BaseAnswers(Message):
    """All that the base answered.

    ``commit`` and ``time`` are the merge base's, ``notes`` hold for every suite. ``differing``
    counts the files, other than documentation, tests and suites, that differ between both sides;
    ``spoke``: it spoke to another process.
    """

    ref: str
    commit: str
    time: str | None
    answers: Sequence[BaseAnswer]
    notes: Sequence[str] = ()
    differing: int = 0
    spoke: bool = False

    def of(self, key: RunOf) -> BaseAnswer | None:
        """The answer for a suite and retriever."""
        return next((answer for answer in self.answers if answer.key == key), None)
