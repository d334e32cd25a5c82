"""The documents as indexed, and the BM25 retriever over them."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_irquality.retrieval.collect import collect_run
from pytest_irquality.retrieval.corpus import (
    BM25Retriever,
    CorpusDocument,
    CorpusError,
    has_corpus,
    load_corpus,
)
from pytest_irquality.retrieval.errors import RetrieverError
from pytest_irquality.suite.model import Query, Settings


def write_lines(path: Path, *records: object) -> str:
    path.write_text("\n".join(map(json.dumps, records)) + "\n", encoding="utf-8")
    return str(path)


def load(*paths: str, **settings: Any) -> list[CorpusDocument]:
    return list(load_corpus(Settings(corpus_files=paths, **settings)))


def load_texts(texts: object, **settings: Any) -> list[CorpusDocument]:
    return list(load_corpus(Settings(**settings), SimpleNamespace(texts=lambda: texts)))


def test_documents_are_read_from_files(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "corpus.jsonl",
        {"_id": "1", "title": "Returns", "text": "Write to the shop."},
        {"id": 2, "content": "Paid within 14 days"},
        {"doc_id": "3", "title": "Chair", "metadata": {"text": "Of oak"}},
    )
    packed = tmp_path / "more.jsonl.gz"
    packed.write_bytes(gzip.compress(b'\n{"sku": "4", "text": "A desk"}\n'))

    assert load(path, str(packed)) == [
        ("1", "Returns", "Write to the shop."),
        ("2", "Paid within 14 days", "Paid within 14 days"),
        ("3", "Chair", "Of oak"),
        ("4", "A desk", "A desk"),
    ]


def test_id_field_and_text_field_name_other_places(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "c.jsonl", {"id": "x", "meta": {"slug": "a"}, "say": "Hello you"})

    documents = load(path, id_field="meta.slug", text_field="say", match="text")

    assert [(document.doc_id, document.text) for document in documents] == [("a", "Hello you")]


def test_chunks_get_distinct_ids_if_texts_are_matched(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "c.jsonl",
        {"id": "handbook", "text": "one two"},
        {"id": "handbook", "text": "three four"},
        {"text": "five six"},
        "seven eight",
    )

    documents = load(path, match="text")

    assert len({document.doc_id for document in documents}) == 4
    assert [document.text for document in documents] == [
        "one two", "three four", "five six", "seven eight",
    ]  # fmt: skip
    assert documents[0].doc_id == "handbook"
    assert documents[3].doc_id == f"{path}:4"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "a"', r"c\.jsonl:2: Each line must be a document"),
        (
            '{"id": "b", "text": ""}',
            r"c\.jsonl:2: This document cannot be read. 'match: text' needs",
        ),
        ("7", r"c\.jsonl:2: This document cannot be read"),
        ("[" * 60 + "]" * 60, r"c\.jsonl:2: Each line must be a document. .* nested more than 40"),
    ],
)
def test_a_line_that_cannot_be_read_is_an_error_at_its_place(
    tmp_path: Path, line: str, message: str
) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text('{"id": "a", "text": "one two"}\n' + line)

    with pytest.raises(CorpusError, match=message) as raised:
        load(str(path), match="text")
    assert "\n" not in str(raised.value)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"none\.jsonl: No such file"):
        load(str(tmp_path / "none.jsonl"))


async def load_later() -> dict[str, str]:
    return {"a": "one two", "b": "three"}


@pytest.mark.parametrize(
    "make_texts",
    [
        lambda: {"a": "one two", "b": "three"},
        lambda: [{"id": "a", "text": "one two"}, {"id": "b", "text": "three"}],
        lambda: iter([("a", "one two"), ("b", "three")]),
        lambda: [SimpleNamespace(id="a", page_content="one two"), SimpleNamespace(id="b", page_content="three")],
        load_later,
    ],
    ids=["mapping", "dicts", "pairs", "objects", "coroutine"],
)  # fmt: skip
def test_the_retriever_may_return_its_own_texts(make_texts: Any) -> None:
    found = {document.doc_id: document.text for document in load_texts(make_texts(), match="text")}

    assert found == {"a": "one two", "b": "three"}


def test_texts_that_cannot_be_read_are_an_error() -> None:
    with pytest.raises(CorpusError, match=r"texts\(\) of the retriever: None is not a list"):
        load_texts(None)


def test_without_files_and_texts_there_is_no_corpus(tmp_path: Path) -> None:
    assert not has_corpus(Settings(), object())
    assert list(load_corpus(Settings(), object())) == []
    assert has_corpus(Settings(), SimpleNamespace(texts=dict))
    assert has_corpus(Settings(corpus_files=("c.jsonl",)))


# BM25.

DOCUMENTS = [
    CorpusDocument("51", "Mesh office chair", ""),
    CorpusDocument("7", "Stool", "A kneeling chair of birch"),
    CorpusDocument("486", "", "Desk lamp"),
    CorpusDocument("9", "", "返金は14日以内"),
]


def test_bm25_returns_the_documents_that_share_a_word() -> None:
    pytest.importorskip("bm25s")
    retriever = BM25Retriever(DOCUMENTS)

    hits = retriever.search("office CHAIR", 10)

    assert [hit["id"] for hit in hits] == ["51", "7"]
    assert retriever.search("office chair", 1) == hits[:1]
    assert retriever.search("sofa", 10) == []
    assert retriever.search("", 10) == []
    assert [hit["id"] for hit in retriever.search("返金", 10)] == ["9"]
    assert retriever.exists("7")
    assert not retriever.exists("8")


def test_bm25_is_a_retriever() -> None:
    pytest.importorskip("bm25s")

    run = collect_run(BM25Retriever(DOCUMENTS), [Query("q", "chair")], Settings(match="text"))

    ((ranking,),) = run.answers.values()
    assert set(ranking.doc_ids) == {"51", "7"}
    assert ranking.scores
    assert run.titles["7"] == "Stool"


def test_without_the_library_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bm25s", None)

    with pytest.raises(
        RetrieverError, match=r"pip install 'pytest-irquality\[yardstick\]'"
    ) as raised:
        BM25Retriever(DOCUMENTS)
    assert "\n" not in str(raised.value)


def test_without_documents_bm25_says_where_they_come_from() -> None:
    pytest.importorskip("bm25s")

    with pytest.raises(RetrieverError, match=r"Name their file under 'corpus'"):
        BM25Retriever([])
