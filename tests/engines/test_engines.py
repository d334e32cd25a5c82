"""What real engines return is read as it comes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from pytest_irquality.retrieval import Ranking, Run
from tests.engines.conftest import DOCUMENTS, library

pytestmark = pytest.mark.filterwarnings("ignore")  # those of other people's libraries

Ask = Callable[..., tuple[Ranking, Run]]
CHAIRS = {"51", "7", "12"}
FIRST = {"title": "Aero Mesh", "text": DOCUMENTS["51"]}
RESPONSE = {
    "took": 1,
    "timed_out": False,
    "hits": {
        "total": {"value": 2, "relation": "eq"},
        "max_score": 1.2,
        "hits": [
            {
                "_index": "d",
                "_id": "51",
                "_score": 1.2,
                "_source": {"title": "Aero Mesh", "sku": "sku-51"},
            },
            {
                "_index": "d",
                "_id": "7",
                "_score": 0.9,
                "_source": {"title": "Birch", "sku": "sku-7"},
            },
        ],
    },
}


# -- sqlite3 ----------------------------------------


@pytest.fixture
def fts() -> Any:
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("create virtual table docs using fts5(id unindexed, text)")
    except sqlite3.OperationalError:
        pytest.skip("this Python's SQLite has no FTS5")
    connection.executemany("insert into docs values (?, ?)", DOCUMENTS.items())
    yield connection
    connection.close()


SQL = "select {} from docs where docs match ? order by rank limit ?"


@pytest.mark.parametrize(
    "columns", ["id", "id, rank", "rank, id", "id, text, rank", "text, id", "rank, text, id"]
)
@pytest.mark.parametrize("factory", [None, sqlite3.Row])
@pytest.mark.parametrize("fetch", [True, False], ids=["rows", "cursor"])
def test_sqlite(ask: Ask, fts: sqlite3.Connection, columns: str, factory: Any, fetch: bool) -> None:
    fts.row_factory = factory

    def search(query: str, k: int) -> Any:
        cursor = fts.execute(SQL.format(columns), (query, k))
        return cursor.fetchall() if fetch else cursor

    ranking, run = ask(search)
    assert set(ranking.ids) == CHAIRS
    if "rank" in columns and (factory is None or "score" in columns):
        assert ranking.scores is None or all(score < 0 for score in ranking.scores)
    if "text" in columns:
        assert run.first.titles == {id: DOCUMENTS[id] for id in CHAIRS}


def test_sqlite_by_a_column_of_the_users_own(ask: Ask, fts: sqlite3.Connection) -> None:
    def search(query: str, k: int) -> Any:
        return fts.execute(SQL.format("text, rank, 'sku-' || id as sku"), (query, k))

    ranking, _ = ask(search, id_field="sku")
    assert set(ranking.ids) == {f"sku-{id}" for id in CHAIRS}


# -- full-text libraries ----------------------------------------


def test_tantivy(ask: Ask) -> None:
    tantivy = library("tantivy")
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("doc_id", stored=True)
    builder.add_text_field("text", stored=True)
    index = tantivy.Index(builder.build())
    writer = index.writer(num_threads=1)
    for id, text in DOCUMENTS.items():
        writer.add_document(tantivy.Document(doc_id=[id], text=[text]))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def hits(query: str, k: int) -> Any:
        return searcher.search(index.parse_query(query, ["text"]), k)

    for scored in (True, False):

        def documents(query: str, k: int) -> Any:
            found = [(score, searcher.doc(address)) for score, address in hits(query, k).hits]
            return found if scored else [document for _, document in found]  # noqa: B023

        ranking, run = ask(documents)
        assert set(ranking.ids) == CHAIRS
        assert (ranking.scores is not None) == scored
        assert run.first.titles == {id: DOCUMENTS[id] for id in CHAIRS}
    assert (
        set(ask(lambda q, k: [searcher.doc(a).to_dict() for _, a in hits(q, k).hits])[0].ids)
        == CHAIRS
    )
    with pytest.raises(AssertionError, match=r"tantivy's addresses .* searcher\.doc\(address\)"):
        ask(hits)


@pytest.mark.parametrize("corpus", ["ids", "dicts", "numbers"])
def test_bm25s(ask: Ask, corpus: str) -> None:
    bm25s = library("bm25s")
    quiet = {"show_progress": False}
    index = bm25s.BM25()
    index.index(bm25s.tokenize(list(DOCUMENTS.values()), **quiet), **quiet)
    documents = {
        "ids": list(DOCUMENTS),
        "dicts": [{"id": id, "text": text} for id, text in DOCUMENTS.items()],
        "numbers": None,
    }[corpus]

    def search(query: str, k: int) -> Any:
        return index.retrieve(bm25s.tokenize([query], **quiet), corpus=documents, k=3, **quiet)

    ranking, run = ask(search)
    assert set(ranking.ids) == (CHAIRS if documents else {"0", "1", "4"})
    assert ranking.scores is not None
    assert ranking.scores[0] > 0
    assert bool(run.first.titles) == (corpus == "dicts")

    class Batch:
        def batch(self, queries: list[str], k: int) -> Any:
            return index.retrieve(bm25s.tokenize(queries, **quiet), corpus=documents, k=3, **quiet)

    assert ask(Batch())[0].ids == ranking.ids


def test_rank_bm25(ask: Ask) -> None:
    rank_bm25 = library("rank_bm25")
    index = rank_bm25.BM25Okapi([text.split() for text in DOCUMENTS.values()])
    ids = list(DOCUMENTS)
    assert ask(lambda query, k: index.get_top_n([query], ids, n=3))[0].ids[0] == "51"
    with pytest.raises(
        AssertionError, match="an array of scores in the order of the corpus is no ranking"
    ):
        ask(lambda query: index.get_scores([query]))


def test_lunr(ask: Ask) -> None:
    lunr = library("lunr")
    index = lunr.lunr(
        ref="id", fields=["text"], documents=[{"id": i, "text": t} for i, t in DOCUMENTS.items()]
    )
    ranking, _ = ask(index)
    assert set(ranking.ids) == CHAIRS
    assert ranking.scores is not None


# -- RAG frameworks ----------------------------------------


def test_haystack(ask: Ask) -> None:
    haystack, retrievers = library("haystack"), library("haystack.components.retrievers.in_memory")
    store = library("haystack.document_stores.in_memory").InMemoryDocumentStore()
    store.write_documents(
        [haystack.Document(content=text, meta={"doc_id": id}) for id, text in DOCUMENTS.items()]
    )
    retriever = retrievers.InMemoryBM25Retriever(store)
    pipeline = haystack.Pipeline()
    pipeline.add_component("bm25", retrievers.InMemoryBM25Retriever(store))

    ranking, run = ask(retriever, id_field="meta.doc_id")
    assert set(ranking.ids[:3]) == CHAIRS
    assert run.first.titles["51"] == DOCUMENTS["51"]
    assert ranking.scores is not None
    assert ask(
        lambda query, k: pipeline.run({"bm25": {"query": query, "top_k": k}}),
        id_field="meta.doc_id",
    )[0].ids == (ranking.ids)
    assert all(len(id) == 64 for id in ask(retriever)[0].ids)


def test_a_haystack_pipeline_of_two_ends(ask: Ask) -> None:
    haystack, retrievers = library("haystack"), library("haystack.components.retrievers.in_memory")
    store = library("haystack.document_stores.in_memory").InMemoryDocumentStore()
    store.write_documents(
        [haystack.Document(content=text, id=id) for id, text in DOCUMENTS.items()]
    )
    several = haystack.Pipeline()
    several.add_component("bm25", retrievers.InMemoryBM25Retriever(store))
    several.add_component("again", retrievers.InMemoryBM25Retriever(store))
    with pytest.raises(
        AssertionError, match=r"several of its components gave documents \(\w+, \w+\)"
    ):
        ask(lambda query: several.run({"bm25": {"query": query}, "again": {"query": query}}))


def test_a_vector_store_of_langchain_as_it_is(ask: Ask) -> None:
    document = library("langchain_core.documents").Document
    embedding = library("langchain_core.embeddings").DeterministicFakeEmbedding(size=8)
    store = library("langchain_core.vectorstores").InMemoryVectorStore(embedding)
    store.add_documents([document(page_content=t, id=id) for id, t in DOCUMENTS.items()])
    ranking, run = ask(store)
    assert len(ranking.ids) == 4
    assert run.first.titles[ranking.ids[0]] == DOCUMENTS[ranking.ids[0]]
    texts = ask(store, match="text")[1].first.texts
    assert set(texts.values()) <= set(DOCUMENTS.values())


def test_langchain(ask: Ask) -> None:
    document = library("langchain_core.documents").Document
    embedding = library("langchain_core.embeddings").DeterministicFakeEmbedding(size=8)
    store = library("langchain_core.vectorstores").InMemoryVectorStore(embedding)
    store.add_documents(
        [
            document(page_content=t, metadata={"source": i}, id=f"c-{i}")
            for i, t in DOCUMENTS.items()
        ]
    )
    chunks = {f"c-{id}" for id in DOCUMENTS}

    ranking, run = ask(store.as_retriever(search_kwargs={"k": 3}))
    assert len(ranking.ids) == 3
    assert set(ranking.ids) <= chunks
    assert ranking.scores is None
    assert run.first.titles[ranking.ids[0]] == DOCUMENTS[ranking.ids[0].removeprefix("c-")]
    assert set(ask(store.similarity_search, id_field="metadata.source")[0].ids) <= set(DOCUMENTS)
    assert ask(store.similarity_search_with_score)[0].scores is not None
    assert len(ask(store, params={"search_type": "similarity"})[0].ids) == 4
    with pytest.raises(
        AssertionError,
        match=r"as in 'id_field: metadata\.source' .*; a hit has metadata\.source, page_content",
    ):
        ask(lambda query: [document(page_content="x", metadata={"source": "51"})])


def test_llama_index(ask: Ask) -> None:
    base: Any = library("llama_index.core.retrievers").BaseRetriever
    schema = library("llama_index.core.schema")

    class Retriever(base):  # type: ignore[misc]
        def _retrieve(self, query_bundle: Any) -> list[Any]:
            found = [id for id in DOCUMENTS if query_bundle.query_str in DOCUMENTS[id]]
            of = {
                id: {schema.NodeRelationship.SOURCE: schema.RelatedNodeInfo(node_id=f"file-{id}")}
                for id in found
            }
            nodes = [
                schema.TextNode(id_=id, text=DOCUMENTS[id], relationships=of[id]) for id in found
            ]
            return [schema.NodeWithScore(node=node, score=0.5) for node in nodes]

    ranking, run = ask(Retriever())
    assert ranking.ids == ("51", "7", "12")
    assert ranking.scores == (0.5, 0.5, 0.5)
    assert run.first.titles["51"] == DOCUMENTS["51"]
    assert ask(Retriever(), id_field="node.ref_doc_id")[0].ids == ("file-51", "file-7", "file-12")


# -- vector stores, databases, search servers ----------------------------------------


def test_qdrant(ask: Ask) -> None:
    qdrant = library("qdrant_client")
    models = qdrant.models
    client = qdrant.QdrantClient(":memory:")
    client.create_collection(
        "d", vectors_config=models.VectorParams(size=2, distance=models.Distance.COSINE)
    )
    points = [
        models.PointStruct(id=number, vector=[number, 1.0], payload={"doc_id": id, "text": text})
        for number, (id, text) in enumerate(DOCUMENTS.items(), 1)
    ]
    client.upsert("d", points)

    def search(query: str, k: int) -> Any:
        return client.query_points("d", query=[1.0, 1.0], limit=k)

    ranking, run = ask(search, id_field="payload.doc_id")
    assert ranking.ids[0] == "51"
    assert run.first.titles["51"] == DOCUMENTS["51"]
    assert ranking.scores is not None
    assert ask(search)[0].ids[0] == "1"
    assert ask(lambda query, k: search(query, k).points)[0].ids[0] == "1"
    client.close()


@pytest.mark.parametrize(
    "fetch",
    ["execute", "fetchall", "fetchnumpy", "df", "pl", "arrow", "sql"],
    ids=lambda fetch: fetch,
)
def test_duckdb(ask: Ask, fetch: str) -> None:
    duckdb = library("duckdb")
    for needed in {"df": ["pandas"], "pl": ["polars", "pyarrow"], "arrow": ["pyarrow"]}.get(
        fetch, []
    ):
        library(needed)
    connection = duckdb.connect()
    connection.execute("create table docs (id varchar, text varchar, score double)")
    rows = [(id, text, 1 / number) for number, (id, text) in enumerate(DOCUMENTS.items(), 1)]
    connection.executemany("insert into docs values (?, ?, ?)", rows)
    sql = "select text, score, id from docs where contains(text, 'chair') order by score desc"

    def search(query: str) -> Any:
        if fetch in ("execute", "sql"):
            return getattr(connection, fetch)(sql)
        return getattr(connection.sql(sql), fetch)()

    ranking, run = ask(search)
    assert ranking.ids == ("51", "7", "12")
    assert ranking.scores == (1.0, 0.5, 0.2)
    assert run.first.titles["7"] == DOCUMENTS["7"]
    connection.close()


def test_pandas_polars_and_arrow(ask: Ask) -> None:
    columns = {"score": [0.5, 0.25], "title": ["Aero Mesh", "Birch"], "doc_id": [51, 7]}
    pandas, polars, arrow = library("pandas"), library("polars"), library("pyarrow")
    frame = pandas.DataFrame(columns)
    for result in (
        frame,
        frame.set_index("doc_id"),
        polars.DataFrame(columns),
        arrow.table(columns),
    ):
        ranking, run = ask(lambda query: result)  # noqa: B023
        assert (ranking.ids, ranking.scores) == (("51", "7"), (0.5, 0.25))
        assert run.first.titles["51"] == "Aero Mesh"
    assert ask(lambda query: arrow.table(columns).slice(0, 1))[0].ids == ("51",)
    assert ask(lambda query: frame["doc_id"])[0].ids == ("51", "7")
    assert ask(lambda query: frame, id_field="title")[0].ids == ("Aero Mesh", "Birch")


def test_numpy(ask: Ask) -> None:
    np = library("numpy")
    scores, indices = np.array([[0.9, 0.5, -3.4e38]], dtype="float32"), np.array([[51, 7, -1]])
    ranking, _ = ask(lambda query: (scores, indices))
    assert ranking.ids == ("51", "7")
    assert ranking.scores == pytest.approx((0.9, 0.5))
    assert all(type(score) is float for score in ranking.scores or ())
    assert ask(lambda query: indices[0])[0].ids == ("51", "7", "-1")
    assert ask(lambda query: indices)[0].ids == ("51", "7", "-1")
    assert ask(lambda query: list(zip(indices[0], scores[0])))[0].ids[0] == "51"  # noqa: B905
    with pytest.raises(AssertionError, match="an array of scores in the order of the corpus"):
        ask(lambda query: scores[0])


def test_sqlalchemy(ask: Ask) -> None:
    sqlalchemy = library("sqlalchemy")
    with sqlalchemy.create_engine("sqlite://").connect() as connection:
        for columns, suite in (
            ("'51' as id, 'A chair' as title, 0.5 as score", {}),
            ("'51' as sku, 0.5 as score", {}),
            ("7 as id, '51' as sku, 0.5 as distance", {"id_field": "sku"}),
        ):
            sql = sqlalchemy.text(f"select {columns}")
            found = [connection.execute(sql), connection.execute(sql).all()]
            if "id" in columns.split():
                found.append(connection.execute(sql).mappings().all())
            for result in found:
                ranking, _ = ask(lambda query: result, **suite)  # noqa: B023
                assert (ranking.ids, ranking.scores) == (("51",), (0.5,))


def test_elasticsearch(ask: Ask) -> None:
    transport = library("elastic_transport")
    response = transport.ObjectApiResponse(body=RESPONSE, meta=None)
    ranking, run = ask(lambda query: response)
    assert (ranking.ids, ranking.scores) == (("51", "7"), (1.2, 0.9))
    assert run.first.titles == {"51": "Aero Mesh", "7": "Birch"}
    assert ask(lambda query: response, id_field="_source.sku")[0].ids == ("sku-51", "sku-7")


def test_elasticsearch_dsl(ask: Ask) -> None:
    response = library("elasticsearch.dsl.response").Response(
        library("elasticsearch.dsl").Search(), RESPONSE
    )
    ranking, run = ask(lambda query: response)
    assert (ranking.ids, ranking.scores) == (("51", "7"), (1.2, 0.9))
    assert run.first.titles == {"51": "Aero Mesh", "7": "Birch"}


def test_opensearch(ask: Ask) -> None:
    response = library("opensearchpy.helpers.response").Response(
        library("opensearchpy").Search(), RESPONSE
    )
    for result in (RESPONSE, response, list(response), response.hits):
        ranking, run = ask(lambda query: result)  # noqa: B023
        assert (ranking.ids, ranking.scores) == (("51", "7"), (1.2, 0.9))
        assert run.first.titles == {"51": "Aero Mesh", "7": "Birch"}
    assert ask(lambda query: response, id_field="sku")[0].ids == ("sku-51", "sku-7")
