"""Read what a retriever returned: ids, scores, titles, texts and fields of each hit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_irquality.retrieval.run import Ranking

MAX_TEXT_CHARS = 1_000_000
MAX_TITLE_CHARS = 80
MAX_FIELD_CHARS = 4_000


@dataclass(frozen=True)
class ResultReader:
    """What to read from the hits of a result, and where.

    Attributes:
        id_field: The path of the document id, with dots, if it is not in a usual place.
        text_field: The path of the text, if it is not in a usual place.
        requires_texts: Whether a result without texts is an error (``match: text``). A hit without
            an id then gets one made from its text.
        keeps_texts: Whether to keep texts if there are any.
        fields: The paths of fields to read.
        needs_sizes: Whether the lengths of texts are measured.
    """

    id_field: str = ""
    text_field: str = ""
    requires_texts: bool = False
    keeps_texts: bool = False
    fields: tuple[str, ...] = ()
    needs_sizes: bool = False

    def read(self, result: object, depth: int) -> Answer:
        """Read the first ``depth`` hits of a result.

        Raises:
            ResultError: No document ids can be read, or the engine says that its answer is partial.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Answer:
    """One result as read.

    Attributes:
        ranking: The hits.
        titles: What documents are called, by id.
        texts: The text of each hit, if texts were read, also if the ranking does not keep them.
        notes: Remarks, such as texts that were cut.
    """

    ranking: Ranking
    titles: Mapping[str, str] = field(default_factory=dict)
    texts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def read_results(result: object, depth: int, reader: ResultReader = ResultReader()) -> Ranking:  # noqa: B008
    """Read the first ``depth`` hits of whatever a retriever returned."""
    return reader.read(result, depth).ranking


def split_batch(result: object, count: int) -> Sequence[object]:
    """Split the result of ``batch`` into the result of each query.

    Raises:
        ResultError: The result does not have one list of hits for each query.
    """
    raise NotImplementedError
