"""Whole texts that reports show, for the queries that were damaged most.

Each text stands once, with the places of the passages in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher

from pytest_irquality.passages import Normal, find, normal, placed, sought
from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.verdict.damage import Damage
from pytest_irquality.verdict.passages import wanted_by
from pytest_irquality.verdict.result import (
    BAD,
    Chunk,
    Mark,
    QueryResult,
    ShownDocument,
    SuiteResult,
)
from pytest_irquality.verdict.sides import Sides

MOST_QUERIES = 200
MOST_CHARACTERS = 6_000_000  # of all texts together
LONGEST = 50_000  # characters of one text
FEWEST_WORDS = 2  # of a part of a passage that is worth a mark in the middle of a text


def with_texts(result: SuiteResult, sides: Sides) -> SuiteResult:
    """The result with the texts of its most damaged queries, as far as queries look for passages.

    Those that failed come first, and of them those that lost most.
    """
    suite = sides.suite
    readers = [q for q in result.queries if suite.by_text and q.ranking]
    if not readers:
        return result
    texts = _Texts(sides)
    shown: dict[str, QueryResult] = {}
    for query in most_damaged(result, readers)[:MOST_QUERIES]:
        if texts.characters > MOST_CHARACTERS:
            break
        shown[query.id] = texts.shown(query)
    queries = tuple(shown.get(query.id, query) for query in result.queries)
    return replace(result, queries=queries, texts=tuple(texts.numbers))


def most_damaged(result: SuiteResult, queries: Iterable[QueryResult]) -> Sequence[QueryResult]:
    """These queries, first those that failed, and of each kind those that lost most."""
    damage = Damage(result)
    bad = [verdict for verdict in result.verdicts if verdict.outcome in BAD]
    failed = {verdict.query for verdict in bad}
    failed.update(f.subject for v in bad if v.over.each_query for f in v.broken)
    return sorted(queries, key=lambda query: (query.id not in failed, -damage.loss(query)))


@dataclass
class _Texts:
    """Texts by their numbers, each once."""

    sides: Sides
    numbers: dict[str, int] = field(default_factory=dict)
    characters: int = 0

    def shown(self, query: QueryResult) -> QueryResult:
        """A query with the texts of both rankings."""
        asked = self.sides.suite.by_id[query.id]
        passages = [*wanted_by(self.sides.suite, asked)]
        parts = _parts(query.missing)
        before = self.sides.baseline_run

        def side(documents: Iterable[ShownDocument], run: Run | None) -> tuple[ShownDocument, ...]:
            ranking = run.first.rankings.get(query.id) if run else None
            if run is None or ranking is None:
                return tuple(documents)
            known = holders(ranking)
            return tuple(
                document._replace(chunk=self._chunk(run, own, passages, parts))
                if (own := known.get(document.id)) in run.first.texts
                else document
                for document in documents
            )

        return replace(
            query,
            ranking=side(query.ranking, self.sides.run),
            ranking_before=side(query.ranking_before, before),
        )

    def _chunk(
        self,
        run: Run,
        own: str | None,
        passages: Sequence[str],
        parts: Mapping[str, Sequence[str]],
    ) -> Chunk:
        assert own is not None
        text = run.first.texts[own]
        marks = marked(text, passages, parts.get(own, ()))
        if len(text) > LONGEST:
            text = f"{text[: LONGEST - 1]}…"
            marks = tuple(mark for mark in marks if mark.end < LONGEST)
        if text not in self.numbers:
            self.numbers[text] = len(self.numbers)
            self.characters += len(text)
        return Chunk(own, self.numbers[text], marks)


def holders(ranking: Ranking) -> Mapping[str, str]:
    """The result, by its own id, that stands for each name of a ranking."""
    first: dict[str, str] = {}
    for name, own in zip(ranking.ids, ranking.raw, strict=True):
        first.setdefault(name, own)
    return {**first, **ranking.holders}


def _parts(missing: Iterable[ShownDocument]) -> Mapping[str, Sequence[str]]:
    """The passages that were not found, by the results that hold a part of them."""
    found: dict[str, list[str]] = {}
    for document in missing:
        for holder in document.loss.holders if document.loss else ():
            found.setdefault(holder.id, []).append(document.id)
    return found


def marked(text: str, passages: Iterable[str], in_part: Collection[str]) -> tuple[Mark, ...]:
    """The places of passages in a text.

    And of the longest part there of each that it holds in part. Marks do not overlap.
    """
    form = normal(text)
    found = (_mark(text, form, passage, passage in in_part) for passage in passages)
    marks: list[Mark] = []
    for mark in sorted(filter(None, found), key=lambda mark: (mark.start, mark.end)):
        if not marks or mark.start > marks[-1].end:
            marks.append(mark)
            continue
        last = marks.pop()
        marks.append(Mark(last.start, max(last.end, mark.end), last.whole or mark.whole))
    return tuple(marks)


def _mark(text: str, form: Normal, passage: str, may_be_part: bool) -> Mark | None:
    """The place of a passage in a text, or of the longest part of it there."""
    words = sought(passage)
    if held := find(words, form):
        place = placed(form.words, held.start, held.end, text)
        return Mark(*place) if place else None
    if not may_be_part:
        return None
    match = SequenceMatcher(None, words.words, form.words, False).find_longest_match()
    first, behind = match.b, match.b + match.size
    at_end = behind == len(form.words)
    if match.size < FEWEST_WORDS and first > 0 and not at_end:
        return None
    place = placed(form.words, first, behind, text)
    return Mark(*place, whole=False) if place else None
