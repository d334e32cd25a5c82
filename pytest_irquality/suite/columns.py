"""The columns of a table: each has one meaning, given by its name or by the suite.

A table with two columns that could be the grade is not guessed at, because the wrong one gives
plausible values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_irquality.suite.values import list_words
from pytest_irquality.suite.yaml_source import quote

# By the spelling without case, hyphens and underscores. An engine's `score` is no grade.
SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "id": ("queryid", "qid", "topic"),
    "query": ("query", "question", "searchterm", "keywords"),
    "document": (
        "docid", "documentid", "doc", "document", "docno", "corpusid", "productid", "sku",
    ),
    "grade": (
        "rating", "grade", "relevance", "label", "judgment", "judgement", "gain", "escilabel",
    ),
    "tags": ("tags", "tag"),
    "variants": ("variants", "variant"),
    "weight": ("weight",),
    "why": ("why",),
    "assessor": ("assessor", "annotator", "judge"),
    "date": ("date",),
    "decision": ("decision",),
    "note": ("note",),
    "passage": ("expectedpassage", "passage", "goldpassage"),
}  # fmt: skip
# What counts only if no column has a better name for the same meaning.
GENERIC_SPELLINGS = {"id": ("id",), "query": ("text",)}
NAMES = {"id": "the id of the query", "why": "the reason", "tags": "the tags"}

TO_GRADE_COLUMNS = ("query", "docid", "rating", "title")
GRADED_COLUMNS = ("query_id", "query", "doc_id", "rating", "decision", "assessor", "date", "note")
BEIR_COLUMNS = ("query-id", "corpus-id", "score")

# A column's name that promises more than a query.
_EXPECTATION = re.compile(
    "expect|gold|relevan|reference|context|passage|truth|answers?$|^docs?$|docid|document|positive"
    "|judge?ment|evidence|chunk|rating|grade|gt$"
)


class ColumnError(ValueError):
    """The columns of a table have no clear meaning. The message says what to write."""


@dataclass(frozen=True)
class Columns:
    """What the columns of a table mean.

    Attributes:
        indexes: The position of each meaning.
        names: The name of the column of each meaning.
        ignored: The names of the columns without a meaning.
    """

    indexes: Mapping[str, int]
    names: Mapping[str, str]
    ignored: tuple[str, ...] = ()

    @property
    def has_judgments(self) -> bool:
        """Return whether each row has a judgment."""
        return {"document", "grade"} <= self.names.keys()

    @property
    def uses_esci_letters(self) -> bool:
        """Return whether grades are the letters of Amazon's ESCI data set."""
        return simplify(self.names.get("grade", "")) == "escilabel"

    def list_promising(self) -> list[str]:
        """Return the columns that are not read, and look as if they said what is to be found.

        A document without a grade judges nothing, and a grade alone does not either.
        """
        unread = list(self.ignored)
        if not self.has_judgments:
            unread += [self.names[name] for name in ("document", "grade") if name in self.names]
        return [name for name in unread if _EXPECTATION.search(simplify(name))]

    def describe(self) -> str:
        """Say which column is what, for a note in the report."""
        parts = [f"'{name}' is {_name_meaning(meaning)}" for meaning, name in self.names.items()]
        ignored = f"; ignored: {list_words(self.ignored, 'and')}" if self.ignored else ""
        return ", ".join(parts) + ignored


def simplify(name: str) -> str:
    """Return a column's name without case, hyphens and underscores."""
    return re.sub(r"[\W_]+", "", name.lower())


def assign_columns(names: Sequence[str], chosen: Mapping[str, str]) -> Columns:
    """Find out which column has which meaning.

    Args:
        names: The header.
        chosen: The names that the suite gives, by meaning. They decide.

    Raises:
        ColumnError: Two columns could have one meaning, or a chosen one does not exist.
    """
    if tuple(names) == BEIR_COLUMNS:
        chosen = {"grade": BEIR_COLUMNS[-1], **chosen}
    indexes: dict[str, int] = {}
    for meaning, name in chosen.items():
        matches = [index for index, each in enumerate(names) if each == name]
        if not matches:
            known = list_words(names, "and")
            raise ColumnError(f"There is no column {quote(name)}. The columns are {known}.")
        if len(matches) > 1:
            raise ColumnError(f"There are {len(matches)} columns named {quote(name)}. Rename one.")
        indexes[meaning] = matches[0]
    simple_names = list(map(simplify, names))
    for meaning, spellings in SPELLINGS.items():
        if meaning in indexes:
            continue
        taken = set(indexes.values())
        for accepted in (spellings, GENERIC_SPELLINGS.get(meaning, ())):
            matches = [
                index
                for index, name in enumerate(simple_names)
                if name in accepted and index not in taken
            ]
            if len(matches) > 1:
                raise ColumnError(_explain_ambiguity(meaning, [names[index] for index in matches]))
            if matches:
                indexes[meaning] = matches[0]
                break
    if "document" in indexes and "id" not in chosen and simple_names[indexes.get("id", -1)] == "id":
        # The number of the row, of the query or of the document: nobody can tell.
        del indexes["id"]
    used = {meaning: names[index] for meaning, index in indexes.items()}
    taken = set(indexes.values())
    ignored = [name for index, name in enumerate(names) if index not in taken]
    return Columns(indexes, used, tuple(ignored))


def check_query_columns(columns: Columns, names: Sequence[str]) -> None:
    """Check that a table can hold queries.

    Raises:
        ColumnError: It has no query.
    """
    if "query" not in columns.names:
        raise ColumnError(explain_missing("query", names))


def check_judgment_columns(columns: Columns, names: Sequence[str]) -> None:
    """Check that a table can hold judgments.

    Raises:
        ColumnError: A column is missing.
    """
    if "query" not in columns.names and "id" not in columns.names:
        raise ColumnError(explain_missing("query", names))
    for meaning in ("document", "grade"):
        if meaning not in columns.names:
            raise ColumnError(explain_missing(meaning, names))


def _name_meaning(meaning: str) -> str:
    return NAMES.get(meaning, f"the {meaning}")


def _explain_ambiguity(meaning: str, names: Sequence[str]) -> str:
    if len(set(names)) == 1:
        return f"There are {len(names)} columns named {quote(names[0])}. Rename one."
    could = f"{list_words(names, 'and')} could both be {_name_meaning(meaning)}"
    return f"{could}. Choose one with columns: {{{meaning}: {names[0]}}}."


def explain_missing(meaning: str, names: Sequence[str]) -> str:
    """Say that no column has a meaning, and how to name or choose one."""
    known = list_words(names, "and")
    spellings = {"query": "query", "document": "doc_id", "grade": "rating or grade"}[meaning]
    example = names[-1] if names else "NAME"
    return (
        f"No column is {_name_meaning(meaning)}. The columns are {known}. Name one {spellings},"
        f" or write which it is, as in columns: {{{meaning}: {example}}}."
    )
