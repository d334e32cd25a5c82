"""Ties in the baseline's order.

So an engine that breaks them otherwise never counts as drift, and what is gone is not excused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice, takewhile
from operator import eq
from typing import NamedTuple

from pytest_irquality.retrieval.run import Ranking, deeper_than

Same = Callable[[str], bool]
"""Tells whether a document came with the same text on both sides."""


class Cut(NamedTuple):
    """The tie that the rankings of both sides end in, at the same place, with other documents.

    ``before`` has its documents in the baseline, ``now`` those of today. Today's engine returns
    those that were ``found`` further down, with the same score. ``ended``: it returns all of the
    tie.
    """

    start: int
    before: tuple[str, ...]
    now: tuple[str, ...]
    found: frozenset[str]
    ended: bool

    @property
    def unknown(self) -> Collection[str]:
        """The documents of which nobody knows whether they are still in the tie."""
        gone = frozenset(self.before).difference(self.now, self.found)
        return () if self.ended else gone

    @property
    def came(self) -> Collection[str]:
        """The documents that were not in it."""
        return frozenset(self.now).difference(self.before)

    def moved(self, ids: Sequence[str]) -> Sequence[str]:
        """The documents of the baseline's tie that stand elsewhere in a ranking, or are gone."""
        end = ids[self.start : self.start + len(self.before)]
        return [document for document, now in zip(self.before, end, strict=True) if document != now]

    def settled(self, ids: tuple[str, ...], old: Collection[str]) -> tuple[str, ...]:
        """A ranking with what was found further down, at its place in the ``old`` one.

        What came in its stead makes room; all that is returned on both sides stays.
        """
        came = [document for document in self.now if document not in old]
        back = [document for document in self.before if document in self.found][: len(came)]
        if not back:
            return ids
        stay = {*back, *self.now}.intersection(self.before)
        others = iter(sorted({*self.now} - stay, key=self._order(came)))
        end = [document if document in stay else next(others) for document in self.before]
        beyond = ids[self.start + len(end) :]
        return tuple(dict.fromkeys([*ids[: self.start], *end, *others, *beyond]))[: len(ids)]

    def _order(self, came: Collection[str]) -> Callable[[str], tuple[bool, int]]:
        """The order of today, but what came after the rest."""
        return lambda document: (document in came, self.now.index(document))


def in_baseline_order(
    ids: tuple[str, ...], now: Ranking, old: tuple[str, ...], before: Ranking, same: Same
) -> tuple[str, ...]:
    """Today's documents, those that are tied on both sides in the order they had in the baseline.

    ``ids`` and ``old`` are both rankings as they are judged, without duplicates. Documents that
    were tied before, and are now, exchange only the places they hold between them. A tie that the
    change itself made, as rounded scores do, is left as it was returned: those who search see that
    order.
    """
    if ids == old or now.scores is None or before.scores is None:
        return ids
    if not (_has_ties(now.scores) and _has_ties(before.scores)):
        return ids
    return _exchanged(ids, _ties(now), _ties(before), same)


def cut_of(
    ids: tuple[str, ...],
    now: Ranking,
    old: tuple[str, ...],
    before: Ranking,
    *,
    depth: int,
    asked: int,
    scaled: bool,
) -> Cut | None:
    """The tie in which both rankings are cut off, where others of its documents are returned.

    ``depth`` is how far both are looked at, ``asked`` how many results today's was asked for. The
    last alone is in no tie where all last ones are ``scaled`` to 0, or what is above has changed.
    """
    are_cut_off = all(side.scores and len(side.ids) >= depth for side in (now, before))
    if ids == old or not are_cut_off:
        return None
    ids, old = ids[:depth], old[:depth]
    today, then = _scores(now), _scores(before)
    score = today[ids[-1]]
    end, end_before = _ending_in(score, ids, today), _ending_in(score, old, then)
    start = len(ids) - len(end)
    if start != len(old) - len(end_before) or {*ids} >= {*end_before}:
        return None
    if len(end) == 1 and (scaled or not _same(ids[:start], old[:start], today, then)):
        return None
    found, ended = _below(ids, score, now, asked)
    return Cut(start, end_before, end, found.intersection(end_before), ended)


def _same(
    ids: Sequence[str], old: Sequence[str], today: Mapping[str, float], then: Mapping[str, float]
) -> bool:
    """Tell whether these are the same documents with the same scores."""
    return ids == old and all(today[document] == then[document] for document in ids)


def _ending_in(score: float, ids: Sequence[str], scores: Mapping[str, float]) -> tuple[str, ...]:
    """The last documents of a ranking, as far as they have this score."""
    last = [*takewhile(lambda document: scores[document] == score, reversed(ids))]
    return tuple(reversed(last))


def _below(
    ids: Collection[str], score: float, now: Ranking, asked: int
) -> tuple[frozenset[str], bool]:
    """The documents with a score below some, and True where these are all there are.

    A ranking that is no longer than before, although more was asked for, tells nothing.
    """
    known, most = (now.deeper, deeper_than(asked)) if now.goes_on else (now, asked)
    assert known
    below = {document: of for document, of in _scores(known).items() if document not in ids}
    tied = frozenset(document for document, of in below.items() if of == score)
    return tied, len(tied) < len(below) or (bool(below) and len(known.ids) < most)


def made_up(rankings: Iterable[Ranking]) -> bool:
    """Tell whether scores tell no ties, being alike at each rank of all rankings.

    They are ones throughout, or 1 / rank.
    """
    given = [ranking.scores for ranking in rankings if ranking.scores]
    longest = max(given, key=len, default=())
    return len(given) > 1 and all(scores == longest[: len(scores)] for scores in given)


def end_in_one_score(rankings: Iterable[Ranking]) -> bool:
    """Tell whether all end in one score.

    Where scores are scaled to between 1 and 0, the last is 0 whatever it is.
    """
    given = [ranking.scores[-1] for ranking in rankings if ranking.scores]
    return len(given) > 1 and len({*given}) == 1


def _exchanged(
    ids: tuple[str, ...], today: Mapping[str, int], then: Mapping[str, int], same: Same
) -> tuple[str, ...]:
    """The ranking with documents that share a tie on both sides in the baseline's order."""
    order = {document: place for place, document in enumerate(then)}
    groups: dict[tuple[int, int], list[int]] = {}
    for place, document in enumerate(ids):
        if document in then and same(document):
            groups.setdefault((today[document], then[document]), []).append(place)
    aligned = list(ids)
    for places in groups.values():
        in_order = sorted((ids[place] for place in places), key=order.__getitem__)
        for place, document in zip(places, in_order, strict=True):
            aligned[place] = document
    return tuple(aligned)


def _has_ties(scores: Sequence[float]) -> bool:
    return any(map(eq, scores, islice(scores, 1, None)))


def _ties(ranking: Ranking) -> dict[str, int]:
    """The number of the tie that each document stands in, where it first stands."""
    assert ranking.scores is not None
    ties: dict[str, int] = {}
    number, last = 0, None
    for document, score in zip(ranking.ids, ranking.scores, strict=True):
        if score != last:  # as one that is no number always is
            number, last = number + 1, score
        ties.setdefault(document, number)
    return ties


def _scores(ranking: Ranking) -> dict[str, float]:
    """The score of each document where it first stands."""
    assert ranking.scores is not None
    return dict(zip(reversed(ranking.ids), reversed(ranking.scores), strict=True))
