"""Rankings in terms of passages instead of chunks, and how their metrics are computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, replace
from typing import Any, ClassVar, Protocol, TypeVar

from pytest_irquality.metrics import Judgments, Metric, score_rankings
from pytest_irquality.passages.matching import find_passage, get_words

# Under this key, ``Ranking.passages`` of a stored ranking lists every passage that was looked for,
# so that a passage that the suite got later is unknown rather than missing.
ALL_PASSAGES = -1
_ID_MARK = " (id)"


class ChunkRanking(Protocol):
    """The part of a ``retrieval.run.Ranking`` that is read here."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def doc_ids(self) -> Sequence[str]:
        """Return the ids of the hits, best first."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the text of each hit, or nothing if the texts are unknown."""

    @property
    def passages(self) -> Mapping[int, tuple[str, ...]]:
        """Return the passages in each hit by its index, if they are known without texts."""


RankingT = TypeVar("RankingT", bound=ChunkRanking)


def locate_passages(ranking: RankingT, passages: Mapping[str, float] | Iterable[str]) -> RankingT:
    """Return a ranking in which hits that contain passages are named after them.

    A passage is found at the rank of the first hit that contains it. That hit is named after the
    passage. If it is the first hit with several passages, it is named after the one with the
    highest grade, and ``passages`` of the returned ranking lists all of them, that one first, by
    the index of the hit. Further hits with the same passage keep their chunk ids, so a passage
    counts once. Ranks never change. ``score_passages`` and ``find_ranks`` read this form.

    Args:
        ranking: The ranking of chunks, with ``texts``, or with stored ``passages``.
        passages: The passages to look for, with their grades if they have some.
    """
    grades = passages if isinstance(passages, Mapping) else dict.fromkeys(passages, 0.0)
    contained = find_contained_passages(ranking, grades)
    names = _separate_ids(ranking.doc_ids, grades)
    first_found: dict[int, tuple[str, ...]] = {}
    found: set[str] = set()
    for index in sorted(contained):
        new = [passage for passage in contained[index] if passage not in found]
        if index < 0 or not new:
            continue
        new.sort(key=lambda passage: -grades[passage])
        found.update(new)
        first_found[index] = tuple(new)
        names[index] = new[0]
    return replace(ranking, doc_ids=tuple(names), passages=first_found)


def find_contained_passages(
    ranking: ChunkRanking, passages: Iterable[str]
) -> dict[int, tuple[str, ...]]:
    """Return the passages that each hit contains, by its index, in the order of ``passages``.

    A stored ranking gets ``ALL_PASSAGES``, too, so the result can be stored.
    """
    wanted = tuple(passages)
    contained: dict[int, tuple[str, ...]] = {ALL_PASSAGES: wanted}
    if ranking.texts:
        for index, text in enumerate(ranking.texts):
            inside = [passage for passage in wanted if find_passage(passage, text)]
            if inside:
                contained[index] = tuple(inside)
        return contained
    # Stored passages may be written in another form by now.
    by_words = {get_words(passage): passage for passage in wanted}
    for index, stored in ranking.passages.items():
        now = [by_words[words] for words in map(get_words, stored) if words in by_words]
        if now:
            contained[index] = tuple(now)
    return contained


def _separate_ids(doc_ids: Sequence[str], passages: Iterable[str]) -> list[str]:
    """Return the ids with a mark on each that reads like a passage.

    A chunk that is called like a passage is not the passage.
    """
    taken = set(passages)
    names = []
    for doc_id in doc_ids:
        name = doc_id
        while name in taken:
            name += _ID_MARK
        names.append(name)
    return names


def list_unknown_passages(ranking: ChunkRanking, passages: Iterable[str]) -> tuple[str, ...]:
    """Return the passages of which a ranking cannot say whether its hits contain them.

    A stored ranking without texts knows only the passages that the suite had when it was stored.
    A query whose relevant passages are unknown has no usable baseline answer.
    """
    if ranking.texts or not ranking.doc_ids:
        return ()
    known = set(map(get_words, ranking.passages.get(ALL_PASSAGES, ())))
    return tuple(passage for passage in passages if get_words(passage) not in known)


def has_shared_hits(ranking: ChunkRanking) -> bool:
    """Return whether a hit of a located ranking contains several passages."""
    return any(len(inside) > 1 for inside in ranking.passages.values())


def find_ranks(ranking: ChunkRanking) -> dict[str, int]:
    """Return the rank of every id and passage of a located ranking, for rules and reports.

    The passages of one hit share its rank.
    """
    doc_ids = ranking.doc_ids
    ranks = dict(zip(doc_ids, range(1, len(doc_ids) + 1), strict=True))
    if not ranking.passages and len(ranks) == len(doc_ids):
        return ranks  # Without passages and duplicates, the loop would take ten times as long.
    ranks = {}
    for index, doc_id in enumerate(doc_ids):
        for name in ranking.passages.get(index, (doc_id,)):
            ranks.setdefault(name, index + 1)
    return ranks


def score_passages(
    metrics: Sequence[Metric],
    judgments: Judgments,
    ranking: ChunkRanking,
    *,
    undefined: str = "skip",
    seconds: float | None = None,
    baseline_ranking: Sequence[str] | None = None,
    sizes: Mapping[str, Sequence[float]] | None = None,
) -> list[float | None]:
    """Score one located ranking, in which hits may contain several passages.

    A hit has one gain, that of its best passage, and the ideal ranking leaves the other passages of
    the hit out, so joining two chunks never costs. Recall counts every passage that is found within
    the cutoff. If no hit is shared, the values are those of ``score_rankings``.

    Returns:
        One value for each metric.
    """
    scored_judgments = judgments
    if has_shared_hits(ranking):
        secondary = {name for inside in ranking.passages.values() for name in inside[1:]}
        grades = {name: grade for name, grade in judgments.grades.items() if name not in secondary}
        votes = {name: votes for name, votes in judgments.votes.items() if name not in secondary}
        scored_judgments = Judgments(grades, judgments.relevant_from, votes)
    columns = score_rankings(
        metrics,
        [scored_judgments],
        [ranking.doc_ids],
        undefined=undefined,
        seconds=[seconds],
        baseline_rankings=[baseline_ranking],
        sizes=[sizes or {}],
    )
    values = [column[0] for column in columns]
    if scored_judgments is judgments:
        return values
    for position, metric in enumerate(metrics):
        if metric.name == "recall" and metric.cutoff is not None:
            values[position] = _score_recall(metric, judgments, ranking, undefined)
    return values


def _score_recall(
    metric: Metric, judgments: Judgments, ranking: ChunkRanking, undefined: str
) -> float | None:
    """Score recall over all passages that are found within the cutoff."""
    cutoff = metric.cutoff or 0
    found = [name for name, rank in find_ranks(ranking).items() if rank <= cutoff]
    deep_metric = metric.with_cutoff(max(cutoff, len(found)))
    ((value,),) = score_rankings([deep_metric], [judgments], [found], undefined=undefined)
    return value
