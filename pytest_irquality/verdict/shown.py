"""Documents and their texts, as reports show them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from pytest_irquality.verdict.findings import Loss


@dataclass(frozen=True, slots=True)
class Mark:
    """A passage in a text, by its first character and the one behind its last.

    ``whole`` is False where it is a part of one.
    """

    start: int
    end: int
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Chunk:
    """The text of a result.

    It has the result's own ``id``, the number of the text among those of the ``SuiteResult``, and
    the passages in it.
    """

    id: str
    text: int
    marks: tuple[Mark, ...] = ()


# A tuple, which takes a quarter of the time of a frozen dataclass to make: a large suite shows a
# hundred thousand of them.
class ShownDocument(NamedTuple):
    """A document as shown. ``rank`` None: not returned. ``grade`` None: nobody judged it.

    ``before`` is its rank in the baseline, None where it was not there or the query has no
    baseline. ``gone`` is True where the retriever says that the document left the index.
    ``loss`` is why a passage was not found. Of several answers ranks are medians, and
    ``in_answers`` is how many hold the document. ``chunk`` is its text, where reports show it.
    """

    rank: int | None
    id: str
    title: str | None = None
    grade: float | None = None
    relevant: bool = False
    score: float | None = None
    before: int | None = None
    gone: bool = False
    loss: Loss | None = None
    in_answers: int | None = None
    chunk: Chunk | None = None
