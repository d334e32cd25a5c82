"""Evaluation sets that other tools write, as queries with judgments.

Each is told by the names it uses. What its rows say of retrieval is kept: the question, and the
passages or documents that it rests on. What they say of answers is no judgment of a ranking, and is
named once as ignored.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple

from pytest_irquality.suite.files.formats import (
    DECODER,
    Bad,
    Record,
    cells_of,
    meaningful,
    named,
    refuse_ragged,
    rows,
)
from pytest_irquality.suite.yaml import clipped

LONGEST_JSON = 256 * 2**20  # characters of a file that is one JSON value, and so is read as a whole
Cells = Mapping[str, Any]


class Expected(NamedTuple):
    """The content of one row: its question, and the texts and the documents that answer it.

    ``ignored`` names what else it says, where that differs from row to row.
    """

    query: str
    passages: Sequence[str] = ()
    documents: Sequence[str] = ()
    id: str = ""
    ignored: Sequence[str] | None = None

    def judgments(self, by_text: bool) -> dict[str, Any]:
        """The answers under the keys of a query: as passages, or else as ids where it has any."""
        key, answers = "passages", self.passages
        if by_text:
            key = "relevant"
        elif self.documents:
            key, answers = "relevant", self.documents
        return {key: [*dict.fromkeys(answers)]} if answers else {}


@dataclass(frozen=True)
class Dataset:
    """One kind of row.

    ``needs`` are names that only such rows have together; ``used`` are those that are read.
    """

    what: str
    needs: tuple[str, ...]
    read: Callable[[Cells], Expected]
    used: tuple[str, ...] = ()


class Mistyped(Bad):
    """A value where texts or ids are wanted, which is neither."""

    def __init__(self, value: Any) -> None:
        super().__init__(1, 1, f"{clipped(repr(value))} stands where texts are wanted")


# -- values ----------------------------------------------------------------------------------------


def _text_of(thing: Cells) -> str:
    """The text of a thing that has one, under one of the usual names."""
    inside = [thing[name] for name in ("text", "content", "page_content") if name in thing]
    texts = [one for one in inside if isinstance(one, str)]
    if not texts:
        raise Mistyped(thing)
    return next(filter(None, texts), "")


def texts_in(value: Any) -> list[str]:
    """A text, a list of texts, or things with a text in them; also as one cell of a table."""
    if isinstance(value, str | None):
        return [text for text in _list_in(value or "") if text.strip()]
    if isinstance(value, Mapping):
        return texts_in(_text_of(value))
    if not isinstance(value, Sequence):
        raise Mistyped(value)
    texts: list[str] = []
    for one in filter(None, value):
        texts += [one] if isinstance(one, str) else texts_in(one)
    return texts


def _parsed(cell: str) -> Any:
    """The list or the object that a cell holds as JSON or Python writes it; None for a text."""
    written = cell.strip()
    if written[:1] not in ("[", "{"):
        return None
    for parse in (json.loads, ast.literal_eval):
        try:
            return parse(written)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return None


def _list_in(cell: str) -> list[str]:
    """The texts of a cell: those of a list, or one text."""
    parsed = _parsed(cell)
    return texts_in(parsed) if isinstance(parsed, list) else [cell]


def _flat(value: Any) -> Iterator[str]:
    """The texts of lists within lists, also as one cell of a table."""
    if isinstance(value, str):
        parsed = _parsed(value)
        value = parsed if isinstance(parsed, list) else [value]
    for one in value or ():
        if isinstance(one, str):
            yield one
        elif isinstance(one, list):
            yield from _flat(one)
        else:
            raise Mistyped(one)


def _ids(value: Any) -> list[str]:
    """An id, or a list of ids; also as one cell of a table."""
    listed = _list_in(value) if isinstance(value, str) else value or ()
    if not isinstance(listed, Sequence) or not all(isinstance(id, str) for id in listed):
        raise Mistyped(value)
    return [id.strip() for id in listed if id.strip()]


def _mapping(value: Any) -> Cells:
    """An object, also as one cell of a table."""
    value = _parsed(value) if isinstance(value, str) else value
    return value if isinstance(value, Mapping) else {}


def _first(row: Cells, names: Iterable[str]) -> Any:
    return next((row[name] for name in names if row.get(name)), "")


def _query(row: Cells, *names: str) -> str:
    value = _first(row, names)
    return value if isinstance(value, str) else ""


# -- kinds of rows ---------------------------------------------------------------------------------


def _ragas(row: Cells) -> Expected:
    contexts = texts_in(row.get("reference_contexts", ""))
    ids = _ids(row.get("reference_context_ids", ""))
    return Expected(_query(row, "user_input", "query", "question"), contexts, ids)


def _golden(row: Cells) -> Expected:
    context = row.get("context", "")
    is_cell = isinstance(context, str) and not context.lstrip().startswith("[")
    return Expected(_query(row, "input"), texts_in(context.split("|") if is_cell else context))


def _langsmith(row: Cells) -> Expected:
    """Inputs and outputs, as objects or as columns of their own.

    Such columns are ``inputs.question`` or ``input_question``.
    """
    asked, wanted = _side(row, "input"), _side(row, "output")
    query = _query(asked, "question", "query", "input", "user_input", "text") or _only_text(asked)
    names = (
        "reference_contexts",
        "contexts",
        "context",
        "documents",
        "reference_documents",
        "passages",
    )
    ids = _ids(_first(wanted, ("reference_context_ids", "document_ids", "doc_ids", "relevant_ids")))
    return Expected(query, texts_in(_first(wanted, names)), ids, str(row.get("id", "")))


def _side(row: Cells, side: str) -> Cells:
    flat = {
        name.partition(sign)[2]: value
        for name, value in row.items()
        for sign in (f"{side}s.", f"{side}_", f"{side}s_")
        if name.startswith(sign)
    }
    return {**flat, **_mapping(_first(row, (f"{side}s", side)))}


def _only_text(asked: Cells) -> str:
    texts = [value for value in asked.values() if isinstance(value, str) and value.strip()]
    return texts[0] if len(texts) == 1 else ""


def _promptfoo(row: Cells) -> Expected:
    """Asserts on the answer, of which those of a text that it contains are passages."""
    passages, ignored, asked = [], [], {}
    for name, cell in row.items():
        said = cell.strip()
        if not name.startswith("__"):
            asked[name] = said
        elif said and name.startswith(EXPECTED):
            if contained := CONTAINS.fullmatch(said):
                passages.append(contained[1])
            else:
                ignored.append(f"{name} ({said.partition(':')[0]})")
    column = named([*asked]).get("query", 0 if len(asked) == 1 else None)
    query = asked.pop([*asked][column]) if column is not None else ""
    return Expected(query, passages, ignored=[*ignored, *asked])


def _autorag(row: Cells) -> Expected:
    ids = [*_flat(row["retrieval_gt"])]
    return Expected(_query(row, "query"), row.get(OF_CORPUS, ()), ids, str(row["qid"] or ""))


CONTAINS = re.compile(r"i?contains:\s*(.*\S)", re.DOTALL)
EXPECTED = "__expected"
OF_CORPUS = "texts of the corpus"
CONTEXT = ("reference_contexts", "reference_context_ids")
LLAMA_INDEX = "a set of ragas or LlamaIndex"
PROMPTFOO = Dataset("a CSV of promptfoo", (), _promptfoo)
AUTORAG = Dataset(
    "a set of AutoRAG", ("qid", "query", "retrieval_gt"), _autorag,
    ("qid", "query", "retrieval_gt", OF_CORPUS),
)  # fmt: skip
DATASETS = (
    AUTORAG,
    Dataset("a set of ragas", ("user_input",), _ragas, ("user_input", *CONTEXT)),
    Dataset(LLAMA_INDEX, ("reference_contexts",), _ragas, ("query", "question", *CONTEXT)),
    Dataset("goldens of DeepEval", ("input", "expected_output"), _golden, ("input", "context")),
    Dataset("goldens of DeepEval", ("input", "context"), _golden, ("input", "context")),
    Dataset("a set of LangSmith", ("inputs", "outputs"), _langsmith, ("id", "inputs", "outputs")),
)  # fmt: skip
LANGSMITH_COLUMNS = re.compile(r"inputs?[._]")


def dataset_of(names: Iterable[str]) -> Dataset | None:
    """The kind of row that has such names."""
    there = {*names}
    for dataset in DATASETS:
        if there.issuperset(dataset.needs):
            return dataset
    if any(name.startswith(EXPECTED) for name in there):
        return PROMPTFOO
    if any(LANGSMITH_COLUMNS.match(name) for name in there) and any(
        re.match(r"outputs?[._]", name) for name in there
    ):
        return Dataset("a set of LangSmith", (), _langsmith, ("id", *there))
    return None


# -- files -----------------------------------------------------------------------------------------


class Rows(NamedTuple):
    """The rows of a file, each with its line and that line's text, and what they are."""

    dataset: Dataset
    rows: Iterator[tuple[int, str, Cells]]

    def with_texts(self, corpus: Callable[[], AbstractContextManager[Iterable[str]]]) -> Rows:
        """The rows of AutoRAG with the texts that its corpus has for their ids."""
        rows = [*self.rows]
        wanted = {id for _, _, row in rows for id in _flat(row["retrieval_gt"])}
        texts = {}
        with corpus() as lines:
            for number, line in meaningful(lines):
                try:
                    chunk = _object(DECODER.decode(line))
                except (ValueError, RecursionError) as error:
                    raise Bad(number, 1, f"not JSON: {error}") from None
                if (id := chunk.get("doc_id")) in wanted:
                    texts[id] = _text_of({"text": chunk.get("contents")})
        return Rows(self.dataset, (_completed(row, texts) for row in rows))


def _completed(row: tuple[int, str, Cells], texts: Mapping[str, str]) -> tuple[int, str, Cells]:
    number, raw, cells = row
    ids = [*_flat(cells["retrieval_gt"])]
    if lacking := next((id for id in ids if id not in texts), None):
        raise Bad(number, 1, f"the corpus beside this set of AutoRAG has no {clipped(lacking)}")
    return number, raw, {**cells, OF_CORPUS: [texts[id] for id in ids]}


def rows_in(lines: Iterable[str]) -> Rows | None:
    """The rows of an evaluation set; None where the file is none, whatever else it is."""
    lines = iter(lines)
    number, head = next(meaningful(lines), (1, ""))
    start = head.lstrip()[:1]
    if start in ("{", "["):
        return _of_json(lines, number, head)
    for delimiter in ("\t", ",", ";"):
        names = [name.strip() for name in cells_of(head, delimiter)]
        if len(names) > 1 and (dataset := dataset_of(names)):
            return Rows(dataset, _of_table(lines, delimiter, number, names))
    return None


def _of_table(
    lines: Iterator[str], delimiter: str, number: int, names: Sequence[str]
) -> Iterator[tuple[int, str, Cells]]:
    for at, raw, cells in rows(lines, delimiter, number):
        if any(cells):
            refuse_ragged(at, cells, names)
            yield at, raw, dict(zip(names, cells, strict=False))


def _of_json(lines: Iterator[str], number: int, head: str) -> Rows | None:
    try:
        first = DECODER.decode(head)
    except (ValueError, RecursionError):
        first = None
    if isinstance(first, dict) and not any(_rows_of(first)):
        dataset = dataset_of(first)
        return Rows(dataset, _of_jsonl(lines, number, head)) if dataset else None
    value = _whole(lines, head)
    found = [*_rows_of(value)]
    dataset = dataset_of(name for row in found[:20] for name in row)
    if dataset is None:
        return None
    return Rows(dataset, ((number, "", row) for row in found))


def _object(row: Any) -> Cells:
    if not isinstance(row, dict):
        raise Bad(1, 1, f"a row is an object, {{...}}, not {clipped(repr(row))}")
    return row


def _of_jsonl(lines: Iterator[str], number: int, head: str) -> Iterator[tuple[int, str, Cells]]:
    yield number, head, DECODER.decode(head)
    for at, line in enumerate(lines, number + 1):
        if not line.strip():
            continue
        try:
            row = DECODER.decode(line)
        except (ValueError, RecursionError) as error:
            raise Bad(at, 1, f"not JSON: {error}") from None
        if not isinstance(row, dict):
            raise Bad(at, 1, "a line of JSONL is an object, {...}")
        yield at, line, row


def _whole(lines: Iterator[str], head: str) -> Any:
    parts, length = [head], len(head)
    for line in lines:
        parts.append(line)
        length += len(line)
        if length > LONGEST_JSON:
            raise Bad(1, 1, f"one JSON value of more than {LONGEST_JSON // 2**20} MB")
    try:
        return DECODER.decode("".join(parts))
    except json.JSONDecodeError as error:
        raise Bad(error.lineno, error.colno, f"not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise Bad(1, 1, f"not JSON: {error or 'nested too deep'}") from None


def _rows_of(value: Any) -> Iterator[Cells]:
    """The rows of one JSON value: a list, or an object of LlamaIndex."""
    if isinstance(value, dict) and all(
        isinstance(value.get(name), dict) for name in ("relevant_docs", "queries")
    ):
        return _rows_of_llama_index(value)
    if not isinstance(value, list) or not any(isinstance(row, dict) for row in value):
        return iter(())
    return map(_object, value)


def _rows_of_llama_index(value: Cells) -> Iterator[Cells]:
    corpus = _mapping(value.get("corpus"))
    for id, query in value["queries"].items():
        documents = _ids(value["relevant_docs"].get(id, []))
        texts = [corpus[document] for document in documents if document in corpus]
        yield {"query": query, **dict(zip(CONTEXT, (texts, documents), strict=True))}


def records_of(found: Rows, by_text: bool, ignored: set[str]) -> Iterator[Record]:
    """The rows as queries of a suite; ``ignored`` learns what else they hold.

    They are judged by passages where the suite matches texts, else by ids where the set has any.
    """
    for number, raw, row in found.rows:
        try:
            expected = found.dataset.read(row)
        except (Mistyped, RecursionError) as error:
            raise Bad(number, 1, f"in a row of {found.dataset.what}: {error}") from None
        said = {name for name, value in row.items() if value not in (None, "", [])}
        if expected.ignored is None:
            ignored |= said.difference(found.dataset.used)
        else:
            ignored.update(expected.ignored)
        if not expected.query.strip():
            what = found.dataset.what
            raise Bad(number, 1, f"no question in this row of {what}: nothing like 'question'")
        cells = {"query": expected.query.strip()}
        if expected.id:
            cells["id"] = expected.id
        yield Record(number, raw, cells, expected.judgments(by_text))
