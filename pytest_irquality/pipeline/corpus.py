"""The corpus as it was indexed, and the passages that stand in none of its chunks.

It comes from the files that ``corpus`` names, or from the retriever's own ``texts()``, and is
looked through before anything is asked. Who grades can look for documents in it, too.
"""

from __future__ import annotations

import json
import re
import warnings
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from heapq import nlargest
from itertools import accumulate, islice
from math import log
from pathlib import Path
from typing import Any, NamedTuple

from pytest_irquality.edges.open import Allowed
from pytest_irquality.edges.printable import as_read, clipped, terminal
from pytest_irquality.passages import Normal, find_in, letters, nearest, normal, sought
from pytest_irquality.retrieval.details import Details
from pytest_irquality.retrieval.results import read_result
from pytest_irquality.retrieval.wrappers import UnreadableResult
from pytest_irquality.storage.target import Target
from pytest_irquality.suite.files.source import Source, sources
from pytest_irquality.suite.lint import IRQualityWarning
from pytest_irquality.suite.model import Place, Suite
from pytest_irquality.suite.yaml import SuiteError, short
from pytest_irquality.verdict.findings import Fate, Holder, Loss
from pytest_irquality.verdict.not_found import altered
from pytest_irquality.wording.losses import loss

MOST_CHUNKS = 10_000_000
GLANCED = re.compile(r"[\u2e80-\ua4cf\uf900-\ufaff]|\w+")
MOST_NEAR = 200  # chunks that are compared word by word with a passage that stands in none
FIRST = 3  # of these, whose neighbours are looked at
LEAST_NEAR = 0.4
MOST_ON_A_PAGE = 100_000  # documents
LONGEST_ON_A_PAGE = 300  # characters of a text


class Chunk(NamedTuple):
    """A document or a part of one, as it was indexed."""

    id: str
    title: str
    text: str


class PassagesLost(Exception):
    """Passages that stand in no chunk of the corpus, where the suite wants none: one line."""


def chunks_of(target: Target, retriever: object, allowed: Allowed) -> Iterator[Chunk] | None:
    """Give the corpus, None where none is known.

    Raises ``SuiteError`` for a file that cannot be read, ``UnreadableResult`` for ``texts()`` that
    give no texts.
    """
    suite = target.suite
    if suite.corpus.files:
        return _of_files(suite, target.file.parent, allowed)
    if callable(texts := getattr(retriever, "texts", None)):
        return _of_retriever(suite, texts())
    return None


def on_a_page(chunks: Iterator[Chunk] | None) -> tuple[Chunk, ...]:
    """Give the documents in which graders can look for more, texts cut short."""
    some = islice(chunks or (), MOST_ON_A_PAGE)
    return tuple(chunk._replace(text=clipped(chunk.text, LONGEST_ON_A_PAGE)) for chunk in some)


def lost_passages(target: Target, retriever: object, allowed: Allowed) -> Mapping[str, Loss] | None:
    """Give the passages that stand whole in no chunk, each with what became of it.

    None where no corpus is known. They are warned of, or an error where the suite says
    so. Raises ``PassagesLost``, and what ``chunks_of`` raises.
    """
    suite = target.suite
    wanted = {passage: sought(passage) for passage in _passages(suite)}
    chunks = chunks_of(target, retriever, allowed) if wanted else None
    if chunks is None:
        return None
    corpus = corpus_of(tuple(chunks))
    lost = {passage: why for passage, form in wanted.items() if (why := corpus.loss(form))}
    if lost:
        place = suite.places.get("corpus") or Place(1)
        said = f"{suite.path}:{place.line}: {_said_of(lost)}"
        if suite.corpus.missing == "fail":
            raise PassagesLost(said)
        warning = IRQualityWarning(terminal(said))
        warnings.warn_explicit(warning, None, str(target.file), place.line)
    return lost


def _passages(suite: Suite) -> Iterator[str]:
    """Every passage that a query wants to be found."""
    for query in suite.queries if suite.by_text else ():
        yield from query.judgments.relevant
        for rule in query.rules:
            yield from rule.wanted


def _of_files(suite: Suite, folder: Path, allowed: Allowed | None) -> Iterator[Chunk]:
    """Every chunk of the files by its id, or by its file and line."""
    named_in = Path(suite.path).parent
    for pattern in suite.corpus.files:
        try:
            found = sources(pattern, folder, named_in, None, allowed)
        except ValueError as error:
            place = suite.places["corpus"]
            raise SuiteError(suite.path, place.line, place.column, f"'corpus': {error}") from None
        for source in found:
            yield from _of_file(suite, source)


def _of_file(suite: Suite, source: Source) -> Iterator[Chunk]:
    with source.open() as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                chunk = json.loads(line)
                yield from _read(suite, [chunk], f"{source.name}:{number}")
            except (ValueError, RecursionError):
                raise SuiteError(
                    source.name, number, 1, "a corpus has a chunk a line, as JSON"
                ) from None
            except UnreadableResult as error:
                raise SuiteError(
                    source.name, number, 1, f"no text in this chunk: {error.cause}"
                ) from None


def _of_retriever(suite: Suite, texts: Any) -> Iterator[Chunk]:
    if isinstance(texts, Mapping):
        yield from (Chunk(str(id), "", str(text)) for id, text in texts.items())
        return
    yield from _read(suite, texts, "")


def _read(suite: Suite, chunks: Any, instead: str) -> Iterator[Chunk]:
    """Chunks as results are read; one without an id goes by ``instead``.

    Their texts are needed where passages are looked for, and otherwise shown where there are any.
    """
    if isinstance(chunks, list) and len(chunks) == 1 and isinstance(chunks[0], str):
        yield Chunk(instead, "", chunks[0])
        return
    needed = suite.by_text
    hits = read_result(
        chunks,
        MOST_CHUNKS,
        id_field=suite.id_field,
        text_field=suite.text_field,
        texts=needed,
        show=None if needed else (),
    )
    for id in hits.ids:
        text = hits.texts[id] if needed else hits.details.get(id, Details()).text
        yield Chunk(id, hits.titles.get(id, ""), text)


@dataclass(frozen=True)
class Corpus:
    """Chunks, and what makes it cheap to look for passages in them.

    ``losses`` are of the passages that were looked for.
    """

    chunks: tuple[Chunk, ...]
    losses: dict[Normal, Loss | None] = field(default_factory=dict)

    @cached_property
    def line(self) -> str:
        """The letters of each chunk in a row, between line ends."""
        return "\n".join(letters(chunk.text) for chunk in self.chunks)

    @cached_property
    def ends(self) -> list[int]:
        """The places in ``line`` where the letters of each chunk end."""
        return [*accumulate(len(letters) + 1 for letters in self.line.split("\n"))]

    @cached_property
    def having(self) -> Mapping[str, list[int]]:
        """The places of the chunks that have a word, as far as a glance at each tells."""
        having: defaultdict[str, list[int]] = defaultdict(list)
        for place, chunk in enumerate(self.chunks):
            for word in {*GLANCED.findall(chunk.text.lower())}:
                having[word].append(place)
        return having

    def loss(self, passage: Normal) -> Loss | None:
        """The fate of a passage that stands whole in no chunk; None of any other."""
        if passage not in self.losses:
            is_whole = passage.words and self._holds(passage)
            self.losses[passage] = None if is_whole else _loss(passage, self)
        return self.losses[passage]

    def _holds(self, passage: Normal) -> bool:
        longest = max((part.letters for part in passage.parts or (passage,)), key=len)
        at = self.line.find(longest)
        while 0 <= at < len(self.line):
            place = bisect_right(self.ends, at)
            if find_in(passage, self.chunks[place].text):
                return True
            at = self.line.find(longest, self.ends[place])
        return False


@lru_cache(maxsize=4)
def corpus_of(chunks: tuple[Chunk, ...]) -> Corpus:
    """Chunks as a corpus, which is looked through once for all suites over the same texts."""
    return Corpus(chunks)


def _near(passage: Normal, corpus: Corpus) -> list[Chunk]:
    """The chunks that hold most of a passage's words, in whatever order; rare words weigh more.

    The neighbours of the first follow each: where a passage was cut, one of them has the rest.
    """
    weight: defaultdict[int, float] = defaultdict(float)
    for word in {*passage.words}:
        having = corpus.having.get(word, ())
        for place in having:
            weight[place] += log(1 + len(corpus.chunks) / len(having))
    best = nlargest(MOST_NEAR, weight, key=weight.__getitem__)
    beside = (place + step for place in best[:FIRST] for step in (0, 1, -1))
    places = dict.fromkeys([*beside, *best])
    return [corpus.chunks[place] for place in places if 0 <= place < len(corpus.chunks)]


def _loss(passage: Normal, corpus: Corpus) -> Loss:
    near = _near(passage, corpus)
    holders, held = [Holder(chunk.id) for chunk in near], [normal(chunk.text) for chunk in near]
    found = altered(passage, holders, held)
    if found and found.whole:
        return found
    if nearby := nearest(passage, held, LEAST_NEAR):
        fate: Fate = "changed" if nearby.is_same else "not in the corpus"
        holder = holders[nearby.text]
        return Loss(fate, (holder,), True, nearby.share, nearby.missing, nearby.added)
    return Loss("not in the corpus")


def _said_of(lost: Mapping[str, Loss]) -> str:
    named = "; ".join(
        f"{short(as_read(passage))} is {loss(why)}" for passage, why in [*lost.items()][:3]
    )
    more = f"; and {len(lost) - 3} more" if len(lost) > 3 else ""
    some, them = f"{len(lost)} passages stand whole", "them"
    if len(lost) == 1:
        some, them = "1 passage stands whole", "it"
    return f"{some} in no chunk of the corpus, so no ranking can find {them}: {named}{more}"
