"""Whatever a call may return."""

from __future__ import annotations

import sqlite3
import uuid
from collections import namedtuple
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace as Object
from typing import Any

import pytest

from pytest_irquality import judge, load_suite
from pytest_irquality.metrics import Judgments
from pytest_irquality.retrieval import Answer, Details, Ranking, Run, retrieve
from pytest_irquality.retrieval.results import read_result, split_batch
from pytest_irquality.retrieval.wrappers import UnreadableResult
from pytest_irquality.suite import Query, Suite
from pytest_irquality.wording.notes import notes
from tests.conftest import shown


class Row:
    """Acts like a mapping without being one, as elasticsearch-py's responses and sqlite's rows do."""

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


Hit = namedtuple("Hit", "doc_id score")
UUID = uuid.UUID(int=5)


@pytest.mark.parametrize(
    ("result", "ids", "scores"),
    [
        ([], (), None),
        (["a", "b"], ("a", "b"), None),
        ((51, 7), ("51", "7"), None),
        ([UUID], (str(UUID),), None),
        ((x for x in "ab"), ("a", "b"), None),
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
    ids=shown,
)
def test_shapes(result: object, ids: tuple[str, ...], scores: tuple[float, ...] | None) -> None:
    read = read_result(result, 10)
    assert (read.ids, read.scores) == (ids, scores)
    assert all(type(id) is str for id in read.ids)


def test_sqlite_rows() -> None:
    connection = sqlite3.connect(":memory:")
    plain = connection.execute("select '51', -2.5").fetchall()
    connection.row_factory = sqlite3.Row
    rows = connection.execute("select '51' as doc_id, -2.5 as score, 'A chair' as title").fetchall()
    connection.close()
    assert read_result(plain, 5)[:2] == read_result(rows, 5)[:2] == (("51",), (-2.5,))
    assert read_result(rows, 5).titles == {"51": "A chair"}


@pytest.mark.parametrize(
    "result",
    [
        None,
        "abc",
        3,
        {"a": 1.0},
        {"a", "b"},
        [0.5, 0.25],
        [object()],
        [{"x": 1}],
        [("a", "b")],
        [None],
    ],
    ids=shown,
)
def test_what_cannot_be_read_is_refused_with_what_came(result: object) -> None:
    with pytest.raises(
        UnreadableResult, match=r"cannot read the retriever's result: .*; it returned "
    ):
        read_result(result, 10)


def test_a_table_is_refused_rather_than_read_as_its_column_names() -> None:
    class Table:
        columns = ("id", "score")

        def __iter__(self) -> Any:
            return iter(self.columns)

    with pytest.raises(UnreadableResult, match="a table is no list of hits"):
        read_result(Table(), 10)


def test_an_endless_generator_is_cut_and_titles_come_from_text() -> None:
    def endless() -> Any:
        while True:
            yield {"id": "d", "page_content": "  word\n" * 40}

    read = read_result(endless(), 3)
    assert len(read.ids) == 3
    assert read.titles["d"].startswith("word word")
    assert len(read.titles["d"]) <= 80


class Array:
    """An array as numpy's, by what of it is used."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values
        self.shape = (
            (len(values), len(values[0]))
            if values and isinstance(values[0], list)
            else (len(values),)
        )

    def tolist(self) -> list[Any]:
        return self.values

    def __iter__(self) -> Any:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: Any) -> Any:
        return self.values[index]


class Frame:
    """A data frame, by what of it is used."""

    def __init__(self, **columns: list[Any]) -> None:
        self.data = {name: Array(column) for name, column in columns.items()}
        self.columns = list(columns)

    def __getitem__(self, name: str) -> Any:
        return self.data[name]

    def __iter__(self) -> Any:
        return iter(self.columns)


class Float32:
    """A scalar that is no Python float, as of numpy or torch."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __float__(self) -> float:
        return self.value


Sku = namedtuple("Sku", "sku rank")
Results = namedtuple("Results", "documents scores")
SolrResults = type("SolrResults", (list,), {"hits": 2})
AB, SCORES = ("a", "b"), (0.5, 0.25)
TITLES = {"a": "A chair", "b": "B"}
VESPA = {"id": "id:docs:doc::51", "relevance": 0.5, "fields": {"doc_id": "51", "title": "A chair"}}


@pytest.mark.parametrize(
    ("result", "ids", "scores", "titles"),
    [
        # rows and pairs
        ([("a",), ("b",)], AB, None, {}),
        ([("a", "A chair", 0.5), ("b", "B", 0.25)], AB, SCORES, TITLES),
        ([("A chair", "a"), ("B", "b")], AB, None, TITLES),
        ([(51, "A chair"), (7, "B")], ("51", "7"), None, {"51": "A chair", "7": "B"}),
        ([(9, "a"), (3, "b")], AB, (9.0, 3.0), {}),
        ([("a", Decimal("0.5")), ("b", Decimal("0.25"))], AB, SCORES, {}),
        ([("a", Float32(0.5)), ("b", Float32(0.25))], AB, SCORES, {}),
        ([("a", 0.5), ("b", float("nan"))], AB, None, {}),
        ([("a", 0.5), ("b", None)], AB, None, {}),
        ([(Object(id="a"), 0.5), (Object(id="b"), 0.25)], AB, SCORES, {}),
        (
            [(0.5, {"id": "a", "title": "A chair"}), (0.25, {"id": "b", "name": "B"})],
            AB,
            SCORES,
            {"a": "A chair"},
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
            ("a",),
            (2.5,),
            {"a": "A chair"},
        ),
        (Frame(score=[0.5, 0.25], title=["A chair", "B"], doc_id=["a", "b"]), AB, SCORES, TITLES),
        ({"id": Array([51, 7]), "score": Array([0.5, 0.25])}, ("51", "7"), SCORES, {}),
        ({"sku": Array(["a", "b"])}, AB, None, {}),
        ({"products": [{"id": "a"}, {"id": "b"}], "sku": ["z1", "z2"]}, AB, None, {}),
        ({"sku": ["s1"], "hits": {"hits": [{"_id": "a"}, {"_id": "b"}]}}, AB, None, {}),
        # engines and frameworks
        (
            {"documents": [Object(id="a", content="A chair", score=0.5)]},
            ("a",),
            (0.5,),
            {"a": "A chair"},
        ),
        ({"bm25": {"documents": [Object(id="a", score=None)]}}, ("a",), None, {}),
        (
            {"embedder": {"embedding": [0.1]}, "bm25": {"documents": [Object(id="a")]}},
            ("a",),
            None,
            {},
        ),
        (
            [Object(id="a", metadata={"title": "A chair"}, page_content="…")],
            ("a",),
            None,
            {"a": "A chair"},
        ),
        (
            [Object(node=Object(node_id="a", text="A chair"), score=0.5)],
            ("a",),
            (0.5,),
            {"a": "A chair"},
        ),
        (Object(source_nodes=[Object(node_id="a", score=0.5)]), ("a",), (0.5,), {}),
        (
            Object(points=[Object(id=5, score=0.5, payload={"title": "A"})]),
            ("5",),
            (0.5,),
            {"5": "A"},
        ),
        (
            {
                "ids": [["a", "b"]],
                "distances": [[0.5, 0.25]],
                "documents": [["A chair", "B"]],
                "metadatas": None,
            },
            AB,
            SCORES,
            TITLES,
        ),
        (
            {
                "ids": [["a", "b"]],
                "documents": [["It has four legs", "It has none"]],
                "metadatas": [[{"title": "A chair"}, {"title": "B"}]],
            },
            AB,
            None,
            TITLES,
        ),
        ([{"id": "a", "_distance": 0.5}, {"id": "b", "_distance": 0.25}], AB, SCORES, {}),
        (
            [[{"id": 51, "distance": 0.5, "entity": {"title": "A chair"}}]],
            ("51",),
            (0.5,),
            {"51": "A chair"},
        ),
        ({"hits": {"total": 0, "hits": []}}, (), None, {}),
        (
            Row(took=1, hits=Row(total=1, hits=[Row(_id="a", _score=0.5, _source=Row(title="A"))])),
            ("a",),
            (0.5,),
            {"a": "A"},
        ),
        (
            [Object(meta=Object(id="a", score=0.5), title="A chair")],
            ("a",),
            (0.5,),
            {"a": "A chair"},
        ),
        (
            [[{"corpus_id": 485, "score": 0.5}, {"corpus_id": 7, "score": 0.25}]],
            ("485", "7"),
            SCORES,
            {},
        ),
        (
            {"hits": [{"id": 51, "title": "A"}], "query": "q", "limit": 20},
            ("51",),
            None,
            {"51": "A"},
        ),
        (
            {"found": 1, "hits": [{"document": {"id": "a", "title": "A"}, "text_match": 5}]},
            ("a",),
            (5.0,),
            {"a": "A"},
        ),
        (Object(hits=[VESPA]), ("id:docs:doc::51",), (0.5,), {"id:docs:doc::51": "A chair"}),
        (
            Object(matches=[Object(id="a", score=0.5, metadata={"title": "A"})]),
            ("a",),
            (0.5,),
            {"a": "A"},
        ),
        (
            Object(
                objects=[
                    Object(
                        uuid=UUID,
                        properties={"title": "A"},
                        metadata=Object(distance=0.5, score=None),
                    )
                ]
            ),
            (str(UUID),),
            (0.5,),
            {str(UUID): "A"},
        ),
        (Object(hits=[Object(object_id="a", name="A")], nb_hits=1), ("a",), None, {"a": "A"}),
        ({"hits": [{"objectID": "a"}]}, ("a",), None, {}),
        (SolrResults([{"id": "a", "score": 0.5}]), ("a",), (0.5,), {}),
        (
            {"response": {"numFound": 1, "docs": [{"id": "a", "title": ["A chair"]}]}},
            ("a",),
            None,
            {"a": "A chair"},
        ),
        ([{"ref": "a", "score": 0.5, "match_data": object()}], ("a",), (0.5,), {}),
        ([{"doc_id": ["a"], "text": ["A chair"]}], ("a",), None, {"a": "A chair"}),
    ],
    ids=shown,
)
def test_engines(result: object, ids: Any, scores: Any, titles: Any) -> None:
    read = read_result(result, 10)
    assert (read.ids, read.scores, read.titles) == (ids, scores, titles)
    assert all(type(id) is str for id in read.ids)
    assert all(type(score) is float for score in read.scores or ())


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
        (["a"], "metadata.source"),
    ],
    ids=shown,
)
def test_an_id_in_any_other_place(result: object, id_field: str) -> None:
    assert read_result(result, 10, id_field=id_field).ids == ("a",)


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (None, "does the function lack its return"),
        ([True, False], "no document id"),
        ([{"id": True}], "no document id under"),
        (
            [{"id": "a"}] * 4 + [{"id": None}],
            "not every hit has a document id; that of the hit at rank 5 is None;",
        ),
        ([{"id": "a"}] * 4 + [{"title": "x"}], "the hit at rank 5 is None;"),
        ([{"id": "a"}] * 4 + [{"id": float("nan")}], "the hit at rank 5 is nan;"),
        ([""], "no document id"),
        (
            [{"id": "", "number": "s"}],
            r"no document id under _id, id, doc_id, docid and \d+ other names; write into the suite where"
            r" it is, as in 'id_field: id' .*; a hit has id, number;",
        ),
        (
            [{"metadata": {"source": "x"}, "page_content": "y"}],
            r"a hit has metadata\.source, page_content;",
        ),
        (["a", {"id": "b"}], "no document id"),
        ([0.25, 9.5], "an array of scores in the order of the corpus is no ranking"),
        (Array([0.25, 9.5]), "an array of scores in the order of the corpus is no ranking"),
        ({"a": 0.5, "b": 0.25}, "a mapping has no order.*'id_field'"),
        (
            {"bm25": {"documents": []}, "dense": {"documents": []}},
            "several of its components gave documents",
        ),
        ([["a", "b"], ["c", "d"]], "neither side of its pairs is a score"),
        ([[{"id": "a"}], [{"id": "b"}]], "results of several queries"),
        ([[{"id": "a"}, {"id": "b"}], [{"id": "c"}, {"id": "d"}]], "results of several queries"),
        ([("a", 0.5), ("b",)], "rows are of different lengths"),
        ((x for x in [None]), "no document id"),
    ],
    ids=shown,
)
def test_what_is_wrong_is_said(result: object, why: str) -> None:
    with pytest.raises(UnreadableResult, match=why):
        read_result(result, 10)


class Cursor:
    """That of a database whose connection is the answer, and cannot be looped over."""

    description = (("title", None), ("id", None))

    def fetchmany(self, number: int) -> list[tuple[str, str]]:
        return [("Office chair", "d1"), ("Desk", "d2")][:number]

    def fetchall(self) -> Any:
        raise AssertionError("only as many as are wanted")


def test_a_cursor_is_read_by_the_names_of_its_columns() -> None:
    read = read_result(Cursor(), 1)
    assert (read.ids, read.titles) == (("d1",), {"d1": "Office chair"})


class DocAddress:
    """What tantivy's searcher gives beside a score."""


def test_addresses_of_tantivy_are_refused_with_what_to_return() -> None:
    with pytest.raises(UnreadableResult, match=r"return \[\(score, searcher\.doc\(address\)\)"):
        read_result([(0.5, DocAddress()), (0.4, DocAddress())], 10)


@pytest.mark.parametrize("given", [{"id_field": "1"}, {"text_field": "1", "texts": True}])
def test_a_column_of_rows_has_no_number_as_a_name(given: dict[str, Any]) -> None:
    with pytest.raises(UnreadableResult, match="columns of rows have no number as a name"):
        read_result([(7, 1001, 0.5), (7, 1002, 0.4)], 10, **given)


def test_a_row_without_a_title_is_read_beside_those_with_one() -> None:
    read = read_result([("a", "a red chair"), ("b", None)], 10)
    assert (read.ids, read.titles) == (("a", "b"), {"a": "a red chair"})


def test_an_id_field_that_no_hit_has() -> None:
    with pytest.raises(
        UnreadableResult,
        match=r"'id_field: meta\.sku' names no document id of its hits; a hit has id, ",
    ):
        read_result([{"id": "a", "meta": {"source": "b"}}], 10, id_field="meta.sku")


def test_the_cause_is_alike_though_what_came_is_not() -> None:
    causes = set()
    for thing in (object(), object()):
        with pytest.raises(UnreadableResult, match=r"it returned \[<object object at 0x") as raised:
            read_result([thing], 10)
        causes.add(raised.value.cause)
    assert len(causes) == 1


def test_a_repr_is_shortened_and_may_raise() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise ValueError

    with pytest.raises(UnreadableResult, match="<Odd, whose repr raises ValueError>"):
        read_result(Odd(), 10)
    with pytest.raises(UnreadableResult) as raised:
        read_result("x" * 10_000, 10)
    assert len(str(raised.value)) < 400


@pytest.mark.parametrize("rows", [list, iter], ids=["list", "iterator"])
def test_no_more_is_taken_than_was_asked_for(rows: Any) -> None:
    read = read_result(rows([(f"d{i}", 1.0 / (i + 1)) for i in range(50)]), 3)
    assert read.ids == ("d0", "d1", "d2")
    assert read.scores is not None
    assert len(read.scores) == 3


def test_whole_texts_where_they_are_wanted() -> None:
    text = "word " * 100
    for result in (
        [{"id": "a", "payload": {"text": text, "title": "T"}}],
        [Object(id="a", page_content=text)],
        [(Object(id="a", page_content=text), 0.5)],
        {"ids": [["a"]], "documents": [[text]]},
        [("a", text, 0.5)],
        [("a", text)],
    ):
        assert read_result(result, 10, texts=True).texts == {"a": text}
        assert not read_result(result, 10).texts


def test_texts_without_ids_get_ids_of_their_own() -> None:
    for result in (
        ["one two", "three"],
        [("one two", 0.5), ("three", 0.25)],
        [{"text": "one two"}, {"text": "three"}],
    ):
        read = read_result(result, 10, texts=True)
        assert list(read.texts.values()) == ["one two", "three"]
        assert tuple(read.texts) == read.ids
        assert len(set(read.ids)) == 2


@pytest.mark.parametrize(
    "result", [["a", "b"], [("a", 0.5)], [{"id": "a"}], [{"id": "a", "text": ""}]], ids=shown
)
def test_results_without_texts_where_texts_are_wanted(result: object) -> None:
    with pytest.raises(UnreadableResult, match="'match: text' needs the text of each hit"):
        read_result(result, 10, texts=True)


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
    ids=shown,
)
def test_a_batch_is_split(result: object) -> None:
    assert [read_result(part, 10).ids for part in split_batch(result, 2)] == [("a",), ("b",)]


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (["0", "17"], "they are 0, 17, and the suite names sku-1;"),
        (["c-1"], "they are c-1, and the suite names sku-1;"),
    ],
)
def test_ids_that_no_judgment_has_are_said(returned: list[str], said: str) -> None:
    suite = Suite("s", "s", (Query("a", "a", Judgments({"sku-1": 1})), Query("b", "b")))
    rankings = {"a": Ranking(tuple(returned)), "b": Ranking(())}
    lines = notes(judge(suite, Run("", (Answer(rankings),))))
    assert [
        said in note and "'id_field'" in note
        for note in lines
        if "any document that this suite names" in note
    ] == [True]
    found = {"a": Ranking(tuple(returned)), "b": Ranking(("sku-1",))}
    lines = notes(judge(suite, Run("", (Answer(found),))))
    assert not any("this suite names" in note for note in lines)


def test_a_score_beyond_every_number_is_none() -> None:
    """Found by ``python -m tests.fuzz 60000 --seed 7``."""
    hits = read_result([{"id": "a", "score": 10**400}, {"id": "b", "score": 1}], 10)
    assert (hits.ids, hits.scores) == (("a", "b"), None)


def test_a_document_that_comes_twice_keeps_its_first_title() -> None:
    hits = [{"id": "a", "title": "First"}, {"id": "b", "title": "B"}, {"id": "a", "title": "Late"}]
    assert read_result(hits, 5).titles == {"a": "First", "b": "B"}


def test_a_title_is_that_of_the_first_query_that_brought_it() -> None:
    suite = Suite("s", "s", (Query("a", "a"), Query("b", "b")))
    run = retrieve(suite, lambda query: [{"id": "d", "title": f"of {query}"}])
    assert run.first.titles == {"d": "of a"}


def test_what_people_must_see_to_grade_is_kept_where_they_will(tmp_path: Path) -> None:
    path = tmp_path / "s.ir.yaml"
    path.write_text("show: [price]\nqueries: [{query: a, relevant: [d1]}]\n", encoding="utf-8")
    asked = load_suite(path)
    hit = {"id": "d1", "title": "Lamp", "metadata": {"text": "A lamp of brass.", "price": 30}}
    run = retrieve(asked, lambda query: [hit], details=True)
    assert run.first.details == {"d1": Details("A lamp of brass.", (("price", "30"),))}
    assert retrieve(asked, lambda query: [hit]).first.details == {
        "d1": Details("", (("price", "30"),))
    }
    path.write_text("queries: [{query: a, relevant: [d1]}]\n", encoding="utf-8")
    assert retrieve(load_suite(path), lambda query: [hit]).first.details == {}
