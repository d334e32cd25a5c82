"""What a call may return, and what is read from it."""

from __future__ import annotations

import datetime
import itertools
import sqlite3
import uuid
from collections import namedtuple
from collections.abc import Iterator
from decimal import Decimal
from types import SimpleNamespace as Object
from typing import Any

import pytest

from pytest_irquality.io.secrets import MaskedText
from pytest_irquality.retrieval import hit_reader
from pytest_irquality.retrieval.errors import ResultError
from pytest_irquality.retrieval.hit_reader import (
    ReadResult,
    ResultReader,
    make_distinct_ids,
    split_batch,
)

UUID = uuid.UUID(int=5)
Hit = namedtuple("Hit", "doc_id score")
Sku = namedtuple("Sku", "sku rank")
Results = namedtuple("Results", "documents scores")
SolrResults = type("SolrResults", (list,), {"hits": 2})
AB, SCORES = ("a", "b"), (0.5, 0.25)
TITLES = {"a": "A chair", "b": "B"}
VESPA = {"id": "id:docs:doc::51", "relevance": 0.5, "fields": {"doc_id": "51", "title": "A chair"}}


class Row:
    """Acts like a mapping without being one, as responses of elasticsearch-py do."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def keys(self) -> Any:
        return self.fields.keys()

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]


class Slots:
    __slots__ = ("docid", "score")

    def __init__(self, docid: str, score: float) -> None:
        self.docid, self.score = docid, score


class Array:
    """An array as numpy's, with what reading uses of it."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values
        is_table = bool(values) and isinstance(values[0], list)
        self.shape = (len(values), len(values[0])) if is_table else (len(values),)

    def tolist(self) -> list[Any]:
        return self.values

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: Any) -> Any:
        return self.values[index]


class Frame:
    """A data frame, with what reading uses of it."""

    def __init__(self, **columns: list[Any]) -> None:
        self.data = {name: Array(column) for name, column in columns.items()}
        self.columns = list(columns)

    def __getitem__(self, name: str) -> Any:
        return self.data[name]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.columns)


class Float32:
    """A scalar that is not Python's float, as of numpy or torch."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __float__(self) -> float:
        return self.value


def read(result: object, depth: int = 10, **fields: Any) -> ReadResult:
    return ResultReader(**fields).read(result, depth)


def get_titles(answer: ReadResult) -> dict[str, str]:
    titles: dict[str, str] = {}
    for doc_id, title in zip(answer.ranking.doc_ids, answer.titles, strict=False):
        if title:
            titles.setdefault(doc_id, title)
    return titles


@pytest.mark.parametrize(
    ("result", "ids", "scores"),
    [
        ([], (), None),
        (["a", "b"], AB, None),
        ((51, 7), ("51", "7"), None),
        ([UUID], (str(UUID),), None),
        ((x for x in "ab"), AB, None),
        ([("51", -21.7), ("7", -20.0)], ("51", "7"), (-21.7, -20.0)),
        ([(34.2, "x"), (1.0, "y")], ("x", "y"), (34.2, 1.0)),
        ([(0.5, 51), (0.25, 7)], ("51", "7"), (0.5, 0.25)),
        ([(51, 0.5), (7, 1)], ("51", "7"), (0.5, 1.0)),
        ([["a", 2]], ("a",), (2.0,)),
        ([{"_id": "x", "_score": 2}], ("x",), (2.0,)),
        ([{"id": 51, "_distance": 0.5}], ("51",), (0.5,)),
        ([Row(doc_id="x", score=1.5)], ("x",), (1.5,)),
        ([Slots("x", 1.0)], ("x",), (1.0,)),
        ([Object(node_id="n")], ("n",), None),
        ([Hit("x", 1.5)], ("x",), (1.5,)),
        ([({"id": "x"}, 0.9)], ("x",), (0.9,)),
    ],
)
def test_ids_and_scores_are_read_from_each_shape(
    result: object, ids: tuple[str, ...], scores: tuple[float, ...] | None
) -> None:
    ranking = read(result, 10).ranking

    assert (ranking.doc_ids, ranking.scores) == (ids, scores)
    assert all(type(doc_id) is str for doc_id in ranking.doc_ids)


def test_rows_of_sqlite_are_read_with_and_without_names() -> None:
    connection = sqlite3.connect(":memory:")
    plain = connection.execute("select '51', -2.5").fetchall()
    connection.row_factory = sqlite3.Row
    rows = connection.execute("select '51' as doc_id, -2.5 as score, 'A chair' as title").fetchall()
    connection.close()

    assert read(plain, 5).ranking == read(rows, 5).ranking
    assert read(rows, 5).ranking.scores == (-2.5,)
    assert get_titles(read(rows)) == {"51": "A chair"}


@pytest.mark.parametrize(
    ("result", "ids", "scores", "titles"),
    [
        # rows and pairs
        ([("a",), ("b",)], AB, None, {}),
        ([("a", "A chair", 0.5), ("b", "B", 0.25)], AB, SCORES, TITLES),
        ([("A chair", "a"), ("B", "b")], AB, None, TITLES),
        ([(51, "A chair"), (7, "B")], ("51", "7"), None, {"51": "A chair", "7": "B"}),
        ([("a", "a red chair"), ("b", None)], AB, None, {"a": "a red chair"}),
        ([(9, "a"), (3, "b")], AB, (9.0, 3.0), {}),
        ([("a", Decimal("0.5")), ("b", Decimal("0.25"))], AB, SCORES, {}),
        ([("a", Float32(0.5)), ("b", Float32(0.25))], AB, SCORES, {}),
        ([("a", 0.5), ("b", float("nan"))], AB, None, {}),
        ([("a", 0.5), ("b", None)], AB, None, {}),
        ([(Object(id="a"), 0.5), (Object(id="b"), 0.25)], AB, SCORES, {}),
        (
            [(0.5, {"id": "a", "title": "A chair"}), (0.25, {"id": "b", "name": "B"})],
            AB, SCORES, {"a": "A chair"},
        ),
        ([Sku("a", 0.5)], ("a",), (0.5,), {}),
        # arrays, batches of one, columns
        (Array(["a", "b"]), AB, None, {}),
        (Array([["a", "b"]]), AB, None, {}),
        (Array([[51, 7]]), ("51", "7"), None, {}),
        ([["a", "b"]], AB, None, {}),
        ([[("a", 0.5), ("b", 0.25)]], AB, SCORES, {}),
        ([[51, 7, 9]], ("51", "7", "9"), None, {}),
        ([Array(["a", "b"])], AB, None, {}),
        ((Array([[0.5, 0.25, -3.4e38]]), Array([[51, 7, -1]])), ("51", "7"), SCORES, {}),
        ((["a", "b"], [0.5, 0.25]), AB, SCORES, {}),
        (([0.5, 0.25], ["a", "b"]), AB, SCORES, {}),
        ((("a", 0.5), ("b", 0.25)), AB, SCORES, {}),
        (([], []), (), None, {}),
        (Results(Array([["a", "b"]]), Array([[0.5, 0.25]])), AB, SCORES, {}),
        (
            Results(Array([[{"id": "a", "text": "A chair"}]]), Array([[2.5]])),
            ("a",), (2.5,), {"a": "A chair"},
        ),
        (Frame(score=[0.5, 0.25], title=["A chair", "B"], doc_id=["a", "b"]), AB, SCORES, TITLES),
        ({"id": Array([51, 7]), "score": Array([0.5, 0.25])}, ("51", "7"), SCORES, {}),
        ({"products": [{"id": "a"}, {"id": "b"}], "sku": ["z1", "z2"]}, AB, None, {}),
        ({"sku": ["s1"], "hits": {"hits": [{"_id": "a"}, {"_id": "b"}]}}, AB, None, {}),
        # frameworks
        (
            {"documents": [Object(id="a", content="A chair", score=0.5)]},
            ("a",), (0.5,), {"a": "A chair"},
        ),
        ({"bm25": {"documents": [Object(id="a", score=None)]}}, ("a",), None, {}),
        (
            {"embedder": {"embedding": [0.1]}, "bm25": {"documents": [Object(id="a")]}},
            ("a",), None, {},
        ),
        (
            [Object(id="a", metadata={"title": "A chair"}, page_content="…")],
            ("a",), None, {"a": "A chair"},
        ),
        (
            [Object(node=Object(node_id="a", text="A chair"), score=0.5)],
            ("a",), (0.5,), {"a": "A chair"},
        ),
        (Object(source_nodes=[Object(node_id="a", score=0.5)]), ("a",), (0.5,), {}),
        # vector stores
        (
            Object(points=[Object(id=5, score=0.5, payload={"title": "A"})]),
            ("5",), (0.5,), {"5": "A"},
        ),
        (
            {
                "ids": [["a", "b"]], "distances": [[0.5, 0.25]],
                "documents": [["A chair", "B"]], "metadatas": None,
            },
            AB, SCORES, TITLES,
        ),
        (
            {
                "ids": [["a", "b"]], "documents": [["It has four legs", "It has none"]],
                "metadatas": [[{"title": "A chair"}, {"title": "B"}]],
            },
            AB, None, TITLES,
        ),
        ([{"id": "a", "_distance": 0.5}, {"id": "b", "_distance": 0.25}], AB, SCORES, {}),
        (
            [[{"id": 51, "distance": 0.5, "entity": {"title": "A chair"}}]],
            ("51",), (0.5,), {"51": "A chair"},
        ),
        ([[{"corpus_id": 485, "score": 0.5}, {"corpus_id": 7, "score": 0.25}]],
         ("485", "7"), SCORES, {}),
        (Object(matches=[Object(id="a", score=0.5, metadata={"title": "A"})]),
         ("a",), (0.5,), {"a": "A"}),
        (
            Object(objects=[Object(uuid=UUID, properties={"title": "A"},
                                   metadata=Object(distance=0.5, score=None))]),
            (str(UUID),), (0.5,), {str(UUID): "A"},
        ),
        # search engines
        ({"hits": {"total": 0, "hits": []}}, (), None, {}),
        (
            Row(took=1, hits=Row(total=1, hits=[Row(_id="a", _score=0.5, _source=Row(title="A"))])),
            ("a",), (0.5,), {"a": "A"},
        ),
        ([Object(meta=Object(id="a", score=0.5), title="A chair")],
         ("a",), (0.5,), {"a": "A chair"}),
        ({"found": 1, "hits": [{"document": {"id": "a", "title": "A"}, "text_match": 5}]},
         ("a",), (5.0,), {"a": "A"}),
        (Object(hits=[VESPA]), ("id:docs:doc::51",), (0.5,), {"id:docs:doc::51": "A chair"}),
        (Object(hits=[Object(object_id="a", name="A")], nb_hits=1), ("a",), None, {"a": "A"}),
        (SolrResults([{"id": "a", "score": 0.5}]), ("a",), (0.5,), {}),
        ({"response": {"numFound": 1, "docs": [{"id": "a", "title": ["A chair"]}]}},
         ("a",), None, {"a": "A chair"}),
        ([{"ref": "a", "score": 0.5, "match_data": object()}], ("a",), (0.5,), {}),
        ([{"doc_id": ["a"], "text": ["A chair"]}], ("a",), None, {"a": "A chair"}),
        ([{"id": "a", "hits": [{"id": "b"}]}], ("a",), None, {}),
    ],
)  # fmt: skip
def test_titles_are_read_from_each_engine(
    result: object, ids: Any, scores: Any, titles: dict[str, str]
) -> None:
    answer = read(result)

    assert (answer.ranking.doc_ids, answer.ranking.scores) == (ids, scores)
    assert get_titles(answer) == titles
    assert all(type(doc_id) is str for doc_id in answer.ranking.doc_ids)
    assert all(type(score) is float for score in answer.ranking.scores or ())


@pytest.mark.parametrize(
    ("result", "id_field"),
    [
        ([Object(id=None, metadata={"source": "a"})], "metadata.source"),
        ([Object(id="hash", meta={"source": {"id": "a"}})], "meta.source.id"),
        ([({"id": 1, "sku": "a"}, 0.5)], "sku"),
        ([{"metadata.source": "a"}], "metadata.source"),
        ([Object(node=Object(ref_doc_id="a", node_id="b"))], "node.ref_doc_id"),
        (Object(hits=[{**VESPA, "fields": {"doc_id": "a"}}]), "fields.doc_id"),
        ({"ids": [["x"]], "metadatas": [[{"sku": "a"}]]}, "metadatas.sku"),
        (Frame(id=["x"], sku=["a"]), "sku"),
        ({"sku": ["a"], "price": [2.5]}, "sku"),
        ([{"tags": ["x", "a"]}], "tags.1"),
        ([{"_id": "x", "_source": {"sku": "a"}}], "sku"),
        (["a"], "metadata.source"),
    ],
)
def test_id_field_names_another_place(result: object, id_field: str) -> None:
    assert read(result, id_field=id_field).ranking.doc_ids == ("a",)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, "Does the function lack a 'return'\\? The retriever returned None"),
        ("abc", "It is not a list of hits"),
        (3, "It is not a list of hits"),
        ({"a", "b"}, "A set has no order"),
        ([True, False], "No document id"),
        ([object()], "A hit is a object without fields"),
        ([("a", "b")], "Neither side of its pairs is a score"),
        ([{"id": True}], "No document id under"),
        ([{"id": "a"}] * 4 + [{"id": None}], "The id of the hit at rank 5 is None"),
        ([{"id": "a"}] * 4 + [{"title": "x"}], "The id of the hit at rank 5 is None"),
        ([{"id": "a"}] * 4 + [{"id": float("nan")}], "The id of the hit at rank 5 is nan"),
        ([{"id": "a"}, "b"], "The id of the hit at rank 2 is None|No document id"),
        ([""], "No document id"),
        (["a", {"id": "b"}], "No document id"),
        ([0.25, 9.5], "An array of scores in the order of the corpus is not a ranking"),
        (Array([0.25, 9.5]), "An array of scores in the order of the corpus is not a ranking"),
        ({"a": 0.5, "b": 0.25}, "A mapping has no order.*'id_field'"),
        (
            {"bm25": {"documents": []}, "dense": {"documents": []}},
            r"Several components returned documents \(bm25, dense\)",
        ),
        ([["a", "b"], ["c", "d"]], "Neither side of its pairs is a score"),
        ([[{"id": "a"}], [{"id": "b"}]], "results of several queries"),
        ([("a", 0.5), ("b",)], "Its rows differ in length"),
        ([{"id": MaskedText("***")}], "A document id contains a secret"),
        ([MaskedText("a***")], "A document id contains a secret"),
        ([(MaskedText("***"), 0.5)], "A document id contains a secret"),
    ],
)
def test_what_cannot_be_read_is_an_error(result: object, message: str) -> None:
    with pytest.raises(ResultError, match=f"(?s)^Cannot read the result: .*{message}"):
        read(result, 10)


@pytest.mark.parametrize(
    "result",
    [
        {"foo": [1]},
        {"foo": ["a", "b"]},
        {"foo": {"bar": [1]}},
        {"foo": "a"},
        {"foo": {}},
        {"results": {"foo": [1]}},
        {"aggregations": {"brands": {"buckets": [{"key": "oak", "id": "x"}]}}, "took": 3},
        {"facets": [{"id": "color"}]},
        {"facet_counts": [{"id": "color"}], "found": 0},
        {"grouped": {"brand": {"groups": [{"doclist": {"docs": [{"id": "a"}]}}]}}},
        {},
    ],
)
def test_a_mapping_without_hits_is_an_error(result: object) -> None:
    with pytest.raises(ResultError, match="A mapping has no order"):
        read(result, 10)


@pytest.mark.parametrize("place", ["tags.²", "tags.①", "tags.9", "tags.99999999999", "meta.sku"])
def test_an_id_field_that_leads_nowhere_is_an_error(place: str) -> None:
    with pytest.raises(ResultError, match=f"'id_field: {place}' leads to no document id"):
        read([{"id": "a", "tags": ["a", "b"]}], id_field=place)


@pytest.mark.parametrize("place", ["lookup.__globals__", "module.path", "_private"])
def test_a_field_path_does_not_lead_through_code(place: str) -> None:
    import os

    hit = Object(id="a", lookup=read, module=os, _private="x")

    with pytest.raises(ResultError, match="leads to no document id"):
        read([hit], id_field=place)


def test_an_error_lists_the_fields_of_a_hit() -> None:
    hit = {"index": 1, "content": {"text": "x", "url": "/a"}}

    with pytest.raises(ResultError, match=r"'id_field'.* index, content\.text, content\.url"):
        read([hit])


def test_a_table_that_cannot_be_indexed_is_refused() -> None:
    class Table:
        columns = ("id", "score")

        def __iter__(self) -> Iterator[str]:
            return iter(self.columns)

    with pytest.raises(ResultError, match="A table is not a list of hits"):
        read(Table(), 10)


def test_a_cursor_is_read_by_the_names_of_its_columns() -> None:
    class Cursor:
        description = (("title", None), ("id", None))

        def fetchmany(self, number: int) -> list[tuple[str, str]]:
            return [("Office chair", "d1"), ("Desk", "d2")][:number]

        def fetchall(self) -> Any:
            raise AssertionError("only as many as are wanted")

    answer = read(Cursor(), 1)

    assert get_titles(answer) == {"d1": "Office chair"}


@pytest.mark.parametrize("fields", [{"id_field": "1"}, {"text_field": "1", "matches_text": True}])
def test_a_column_of_rows_has_no_number_as_a_name(fields: dict[str, Any]) -> None:
    with pytest.raises(ResultError, match="Rows have no field '1'"):
        read([(7, 1001, 0.5), (7, 1002, 0.4)], **fields)


def test_errors_have_one_cause_whatever_the_result_looks_like() -> None:
    causes = set()
    for thing in (object(), object()):
        with pytest.raises(ResultError, match=r"returned \[<object object at 0x") as raised:
            read([thing], 10)
        causes.add(raised.value.cause)

    assert len(causes) == 1


def test_the_result_in_a_message_is_shortened_and_its_repr_may_raise() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise ValueError

    with pytest.raises(ResultError, match="<Odd, whose repr raises ValueError>"):
        read(Odd(), 10)
    with pytest.raises(ResultError) as raised:
        read("x" * 10_000, 10)

    assert len(str(raised.value)) < 400


@pytest.mark.parametrize("kind", [list, iter], ids=["list", "iterator"])
def test_no_more_hits_are_taken_than_requested(kind: Any) -> None:
    ranking = read(kind([(f"d{n}", 1.0 / (n + 1)) for n in range(50)]), 3).ranking

    assert ranking.doc_ids == ("d0", "d1", "d2")
    assert ranking.scores == (1.0, 1 / 2, 1 / 3)


def test_an_endless_generator_is_cut() -> None:
    hits = ({"id": f"d{n}"} for n in itertools.count())

    assert read(hits, 3).ranking.doc_ids == ("d0", "d1", "d2")


def test_a_score_beyond_every_float_is_no_score() -> None:
    ranking = read([{"id": "a", "score": 10**400}, {"id": "b", "score": 1}], 10).ranking

    assert (ranking.doc_ids, ranking.scores) == (("a", "b"), None)


@pytest.mark.parametrize(
    ("titles", "read_titles"),
    [
        (["A", "B", None, "D", 5], ["A", "B", "", "D", ""]),
        ([["A"], ["B"], ["C"], ["D"], ["E"]], ["A", "B", "C", "D", "E"]),
        ([["A"], ["B"], ["C"], ["D", "E"], []], ["A", "B", "C", "", ""]),
        ([["A"], "B", None, ("D",), MaskedText("E")], ["A", "B", "", "", "E"]),
    ],
    ids=["missing", "lists", "lists of several", "mixed"],
)
def test_the_first_hits_do_not_decide_what_other_hits_have(
    titles: list[Any], read_titles: list[str]
) -> None:
    hits: list[dict[str, Any]] = [
        {"id": doc_id, "fields": {"title": title}}
        for doc_id, title in zip("abcde", titles, strict=True)
    ]

    answer = read(hits)
    del hits[4]["fields"]
    del hits[3]["fields"]["title"]
    answer_without_fields = read(hits)

    assert answer.ranking.doc_ids == tuple("abcde")
    assert list(answer.titles) == read_titles
    assert list(answer_without_fields.titles) == [*read_titles[:3], "", ""]


@pytest.mark.parametrize("doc_id", ["a***", "a*"])
def test_only_a_masked_id_is_an_error(doc_id: str) -> None:
    hits = [{"id": f"d{number}"} for number in range(9)]

    assert read([*hits, {"id": doc_id}]).ranking.doc_ids[-1] == doc_id
    with pytest.raises(ResultError, match="contains a secret"):
        read([*hits, {"id": MaskedText("***")}])


def test_prose_after_many_ids_is_no_id() -> None:
    words = ["chair", "desk", "stool", "couch", "a red chair"]
    rows = [(word, f"d{number}") for number, word in enumerate(words)]

    answer = read(rows)

    assert answer.ranking.doc_ids == ("d0", "d1", "d2", "d3", "d4")
    assert list(answer.titles) == words


# Texts.


@pytest.mark.parametrize(
    "result",
    [
        [{"id": "a", "payload": {"text": "word " * 100, "title": "T"}}],
        [Object(id="a", page_content="word " * 100)],
        [(Object(id="a", page_content="word " * 100), 0.5)],
        {"ids": [["a"]], "documents": [["word " * 100]]},
        [("a", "word " * 100, 0.5)],
        [("a", "word " * 100)],
    ],
    ids=["payload", "object", "pair", "columns", "row", "two texts"],
)
def test_texts_are_kept_only_if_needed(result: object) -> None:
    assert read(result, matches_text=True).ranking.texts == ("word " * 100,)
    assert read(result, keeps_texts=True).ranking.texts == ("word " * 100,)
    assert read(result).ranking.texts == ()


@pytest.mark.parametrize(
    "result",
    [
        ["one two", "three"],
        [("one two", 0.5), ("three", 0.25)],
        [{"text": "one two"}, {"text": "three"}],
        {"input": "q", "context": [Object(page_content="one two"), Object(page_content="three")]},
        {"contexts": ["one two", "three"], "answer": "14"},
        {"retrieved_contexts": ["one two", "three"], "response": "14"},
        Object(passages=["one two", "three"], answer="14"),
    ],
    ids=["texts", "pairs", "dicts", "context", "contexts", "retrieved", "passages"],
)
def test_hits_without_ids_get_ids_made_of_their_texts(result: object) -> None:
    ranking = read(result, matches_text=True).ranking

    assert ranking.texts == ("one two", "three")
    assert len(set(ranking.doc_ids)) == 2
    assert ranking.doc_ids == read(["one two", "three"], matches_text=True).ranking.doc_ids


@pytest.mark.parametrize(
    "result",
    [["a", "b"], [1, 2], ["3f2a", "99"], [("a", 0.5)], [{"id": "a"}], [{"id": "a", "text": ""}]],
)
def test_results_without_texts_are_an_error_if_texts_are_matched(result: object) -> None:
    with pytest.raises(ResultError, match="'match: text' needs the text of each hit"):
        read(result, matches_text=True)
    assert read(result, keeps_texts=True).ranking.texts in ((), ("",))


@pytest.mark.parametrize("texts", [["返金は14日以内", "領収書"], ["返金", "c1"]])
def test_texts_without_spaces_are_texts(texts: list[str]) -> None:
    assert read(texts, matches_text=True).ranking.texts == tuple(texts)
    assert read([(text, 0.5) for text in texts], matches_text=True).ranking.texts == tuple(texts)
    assert read(texts).ranking.doc_ids == tuple(texts)


def test_text_field_names_the_place_of_texts() -> None:
    hits = [{"id": "1", "payload": {"body_text": "Paid"}}, {"id": "2", "payload": {}}]

    ranking = read(hits, matches_text=True, text_field="payload.body_text").ranking

    assert ranking.texts == ("Paid", "")
    with pytest.raises(ResultError, match="Name its field with 'text_field'"):
        read(hits, matches_text=True)
    with pytest.raises(ResultError, match=r"'text_field: payload\.body' leads to no text"):
        read(hits, matches_text=True, text_field="payload.body")


def test_the_first_chunks_may_be_empty() -> None:
    hits = [{"id": str(n), "text": ""} for n in range(5)] + [{"id": "6", "text": "Paid"}]

    assert read(hits, matches_text=True).ranking.texts[-1] == "Paid"


def test_long_texts_are_cut_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hit_reader, "MAX_TEXT_CHARS", 9)
    hits = [{"id": "a", "text": "one two three"}, {"id": "b", "text": "one two"}]

    answer = read(hits, matches_text=True, size_counters={"chars": len})

    assert answer.ranking.texts == ("one two t", "one two")
    assert answer.cut_text_count == 1
    assert answer.ranking.sizes == {"chars": (13, 7)}


def test_sizes_need_texts_and_do_not_keep_them() -> None:
    counters = {"words": lambda text: len(text.split())}

    ranking = read([{"id": "a", "text": "one two"}], size_counters=counters).ranking

    assert (ranking.sizes, ranking.texts) == ({"words": (2,)}, ())
    with pytest.raises(ResultError, match="A metric of words or tokens needs the text"):
        read(["a"], size_counters=counters)


def test_chunks_that_share_an_id_get_distinct_ids() -> None:
    known: dict[str, str] = {}

    first = make_distinct_ids(["d", "d", "e"], ["one", "two", "one"], known)
    second = make_distinct_ids(["d", "d"], ["two", "one"], known)

    assert first[0] == second[1] == "d"
    assert first[1] == second[0] != "d"
    assert first[1].startswith("d#")
    assert first[2] == "e"


# Fields.


def test_only_requested_fields_are_read() -> None:
    hits = [
        {"_id": "a", "_source": {"price": 30, "tags": ["x", "y"], "since": datetime.date(2026, 1, 2)}},
        {"_id": "b", "_source": {"price": Decimal("2.5"), "in_stock": True}},
    ]  # fmt: skip

    assert read(hits).ranking.fields == ()
    ranking = read(hits, fields=("price", "tags", "_source.since", "in_stock")).ranking

    assert ranking.fields == (
        {"price": 30, "tags": ["x", "y"], "_source.since": "2026-01-02"},
        {"price": 2.5, "in_stock": True},
    )


def test_fields_are_plain_data() -> None:
    hit = Object(
        id="a", metadata={"uuid": UUID, "odd": object(), "nan": float("nan"), "none": None}
    )

    ranking = read([hit], fields=("uuid", "odd", "nan", "none", "read.__globals__")).ranking

    assert ranking.fields == ({"uuid": str(UUID)},)


def test_a_field_whose_property_fails_has_no_value() -> None:
    class Product:
        id = "a"
        name = "A chair"

        @property
        def price(self) -> float:
            raise RuntimeError("no price today")

    ranking = read([Product()], fields=("price", "name", "color")).ranking

    assert ranking.fields == ({"name": "A chair"},)
    assert read([("a", 0.5)], fields=("1",)).ranking.fields == ({"1": 0.5},)


def test_rows_of_a_relation_are_fetched() -> None:
    class Relation:
        """What DuckDB returns for ``sql``: it has ``fetchall``, and nothing that fetches some."""

        description = (("text", "VARCHAR"), ("id", "VARCHAR"))

        def fetchall(self) -> list[tuple[str, str]]:
            return [("A chair", "a"), ("A stool", "b"), ("A desk", "c")]

    assert read(Relation(), depth=2).ranking.doc_ids == ("a", "b")


def test_fields_of_tables_are_read() -> None:
    table = {"ids": [["a", "b", "c"]], "price": [[1, 2, 3]], "title": [["A", "B", "C"]]}

    answer = ResultReader(fields=("price",)).read(table, 2)

    assert answer.ranking.fields == ({"price": 1}, {"price": 2})
    assert list(answer.titles) == ["A", "B"]
    assert read(EmptyFrame(), fields=("price",)).ranking.fields == ()


class EmptyFrame:
    """A data frame without columns."""

    columns: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> list[object]:
        raise KeyError(name)


def test_fields_that_are_nested_endlessly_have_no_values() -> None:
    nested: list[object] = ["x"]
    for _ in range(100_000):
        nested = [nested]

    ranking = read([{"id": "a", "deep": [nested, "y"]}], fields=("deep",)).ranking

    assert ranking.fields == ({"deep": ["y"]},)


# Batches.


@pytest.mark.parametrize(
    "result",
    [
        [["a"], ["b"]],
        (hits for hits in (["a"], ["b"])),
        Array([["a"], ["b"]]),
        Results(Array([["a"], ["b"]]), Array([[0.5], [0.25]])),
        (Array([[0.5], [0.25]]), Array([["a"], ["b"]])),
        [Object(points=[Object(id="a")]), Object(points=[Object(id="b")])],
    ],
    ids=["lists", "generator", "array", "named", "arrays", "objects"],
)
def test_a_batch_is_split(result: object) -> None:
    parts = split_batch(result, 2)

    assert [read(part, 10).ranking.doc_ids for part in parts] == [("a",), ("b",)]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ([["a"]], "A batch of 2 queries must not return 1 results"),
        ({"a": ["x"]}, "one list of hits for each query"),
        (None, "one list of hits for each query. None is not a list"),
    ],
)
def test_a_batch_that_does_not_fit_is_an_error(result: object, message: str) -> None:
    with pytest.raises(ResultError, match=message):
        split_batch(result, 2)
