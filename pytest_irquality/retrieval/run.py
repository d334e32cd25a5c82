"""Runs: the rankings that a retriever returned, by request, in plain texts and numbers.

A ranking keeps its columns (ids, scores) apart instead of an object per hit, because saved runs
have millions of hits. ``Ranking.hits`` gives objects to code that prefers them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from itertools import chain, repeat
from typing import Any, NamedTuple, TypeVar

from pytest_irquality.io import dataclass, field, replace

T = TypeVar("T")

# The default of all rankings, of which there are often thousands.
_EMPTY: Mapping[Any, Any] = {}


class Hit(NamedTuple):
    """One result. Its rank is its position in the ranking, from 1."""

    doc_id: str
    score: float | None = None


class PackedIds(Sequence[str]):
    """Document ids in one text, which takes a fifth of the memory of a tuple.

    It equals a tuple of the same ids. Reading the first ids (``ids[:10]``) is as fast as with a
    tuple. Anything else splits the text.

    Args:
        text: The ids with a line end after each, so no id may contain one.
    """

    __slots__ = ("_count", "_text")

    def __init__(self, text: str) -> None:
        self._text = f"\n{text}"
        self._count = text.count("\n")

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice) and index == slice(index.stop):
            stop = index.indices(self._count)[1]
            return tuple(self._text.split("\n", stop + 1)[1 : stop + 1])
        return _split_ids(self._text)[index]

    def __iter__(self) -> Iterator[str]:
        return iter(_split_ids(self._text))

    def __contains__(self, doc_id: object) -> bool:
        # Searching for a few ids is faster than splitting the text.
        may_be_id = isinstance(doc_id, str) and "\n" not in doc_id
        return may_be_id and f"\n{doc_id}\n" in self._text

    def index(self, doc_id: str) -> int:  # type: ignore[override]
        """Return the index of an id. The inherited method is much slower."""
        return self._text.count("\n", 0, self._text.index(f"\n{doc_id}\n"))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PackedIds):
            return self._text == other._text
        return _split_ids(self._text) == other

    def __hash__(self) -> int:
        return hash(_split_ids(self._text))


# A ranking that is read id by id is split once. A string caches its hash, so the look-up is fast.
@lru_cache(maxsize=16)
def _split_ids(text: str) -> tuple[str, ...]:
    return tuple(text.split("\n")[1:-1])


@dataclass(frozen=True, slots=True)
class Ranking:
    """One answer of a retriever: document ids, best first, duplicates included.

    Attributes:
        doc_ids: The ids as the retriever returned them. With ``match: text`` these are the ids of
            chunks, and ``passages.locate_passages`` finds the passages in them.
        scores: One number for each document, or ``None`` if the engine gives none.
        seconds: How long the call took, or ``None`` if unknown.
        texts: The text of each hit, kept only for suites with ``match: text``.
        passages: The passages that each hit contains, by its index. Stored runs have them, because
            they have no texts.
        fields: The values of ``show`` and of rules over fields for each hit, if a suite needs them.
        sizes: The number of words and tokens of each hit, by unit, if a metric needs them.
    """

    doc_ids: Sequence[str] = ()
    scores: Sequence[float] | None = None
    seconds: float | None = None
    texts: tuple[str, ...] = field(default=(), repr=False)
    passages: Mapping[int, tuple[str, ...]] = field(default_factory=lambda: _EMPTY, repr=False)
    fields: tuple[Mapping[str, object], ...] = field(default=(), repr=False)
    sizes: Mapping[str, tuple[float, ...]] = field(default_factory=lambda: _EMPTY, repr=False)

    @property
    def hits(self) -> Iterator[Hit]:
        """Yield the hits, best first."""
        scores = self.scores or repeat(None)
        return map(Hit, self.doc_ids, scores)

    def cut(self, depth: int) -> Ranking:
        """Return the first ``depth`` hits, or this ranking if it has no more."""
        if len(self.doc_ids) <= depth:
            return self
        return Ranking(
            doc_ids=self.doc_ids[:depth],
            scores=None if self.scores is None else self.scores[:depth],
            seconds=self.seconds,
            texts=self.texts[:depth],
            passages={index: names for index, names in self.passages.items() if index < depth},
            fields=self.fields[:depth],
            sizes={unit: values[:depth] for unit, values in self.sizes.items()},
        )


@dataclass(frozen=True)
class QueryError:
    """Why a query has no answer.

    Attributes:
        message: One line, secrets masked.
        cause: The message without its varying parts (ids, times, the query itself), so that queries
            that failed in the same way can be counted together.
        exception: The exception. It does not leave the process.
        is_skipped: Whether the call left the query out (``pytest.skip``), which is not a failure.
    """

    message: str
    cause: str = ""
    exception: BaseException | None = field(default=None, compare=False, repr=False)
    is_skipped: bool = False


@dataclass(frozen=True)
class Provenance:
    """Where the answers of a run come from.

    Attributes:
        source: The name in reports, such as ``git:main`` or ``runs/nightly``. Empty if the current
            code answered just now.
        commit: The commit whose code answered, if known.
        depth: How many results were requested, if known.
        retry_count: How many calls were made again after a failure.
        is_interrupted: Whether Ctrl-C ended the run.
    """

    source: str = ""
    commit: str = ""
    depth: int | None = None
    retry_count: int = 0
    is_interrupted: bool = False


@dataclass(frozen=True)
class Run:
    """All answers of a retriever, by request (see ``Query.request``).

    Attributes:
        answers: The rankings of each request: one for each repeat, and at least one.
        errors: Why other requests have no answer.
        titles: Titles of documents, by id.
        stages: Runs of the same requests by the name of a stage before the final ranking.
        missing_doc_ids: Documents that are not in the index, as the retriever's ``exists`` says.
            The session adds them after comparing.
        notes: Remarks about reading the results, such as texts that were cut.
    """

    answers: Mapping[str, tuple[Ranking, ...]] = field(default_factory=dict, repr=False)
    errors: Mapping[str, QueryError] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict, repr=False)
    stages: Mapping[str, Run] = field(default_factory=dict, repr=False)
    missing_doc_ids: frozenset[str] = frozenset()
    provenance: Provenance = Provenance()
    notes: tuple[str, ...] = ()


def merge_runs(runs: Iterable[Run]) -> Run:
    """Merge runs of one retriever, such as those of shards, into one.

    The first answer to a request counts, and a request has an error only if no run answers it.
    """
    all_runs = list(runs)
    return reduce(_merge_two, all_runs) if all_runs else Run()


def _merge_two(first: Run, second: Run) -> Run:
    answers = _join(first.answers, second.answers)
    errors = _join(first.errors, second.errors)
    stages = _join(first.stages, second.stages)
    for name in first.stages.keys() & second.stages.keys():
        stages[name] = _merge_two(first.stages[name], second.stages[name])
    return Run(
        answers,
        {request: error for request, error in errors.items() if request not in answers},
        _join(first.titles, second.titles),
        stages,
        first.missing_doc_ids | second.missing_doc_ids,
        _merge_provenance(first, second),
        tuple(dict.fromkeys((*first.notes, *second.notes))),
    )


def _join(first: Mapping[str, T], second: Mapping[str, T]) -> dict[str, T]:
    """Join two mappings. The first one decides on order and values."""
    # A loop would take three times as long, and a session joins the answers of all suites so far.
    return {**first, **second, **first}


def _merge_provenance(first: Run, second: Run) -> Provenance:
    one, other = first.provenance, second.provenance
    known = first.answers.keys() | first.errors.keys()
    has_more = any(request not in known for request in chain(second.answers, second.errors))
    depths = [each.depth for each in (one, other) if each.depth is not None]
    return replace(
        one,
        commit=one.commit if one.commit == other.commit or not has_more else "",
        depth=min(depths, default=None),
        # The calls of a run that the first one contains are counted there.
        retry_count=one.retry_count + (other.retry_count if has_more else 0),
        is_interrupted=one.is_interrupted or other.is_interrupted,
    )
