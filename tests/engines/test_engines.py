"""What real engines return is read without any glue code."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest

from tests.engines.conftest import CHAIRS, DOCUMENTS, import_library, run_search

pytestmark = pytest.mark.filterwarnings("ignore")  # warnings of other libraries

SQL = "select {} from docs where docs match ? order by rank limit ?"
CHAIR_TITLES = {doc_id: DOCUMENTS[doc_id] for doc_id in CHAIRS}
RESPONSE = {
    "took": 1,
    "timed_out": False,
    "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
    "hits": {
        "total": {"value": 2, "relation": "eq"},
        "max_score": 1.2,
        "hits": [
            {"_index": "d", "_id": "51", "_score": 1.2,
             "_source": {"title": "Aero Mesh", "sku": "sku-51"}},
            {"_index": "d", "_id": "7", "_score": 0.9,
             "_source": {"title": "Birch", "sku": "sku-7"}},
        ],
    },
}  # fmt: skip
TITLES = {"51": "Aero Mesh", "7": "Birch"}


# SQLite.


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("create virtual table docs using fts5(id unindexed, text)")
    except sqlite3.OperationalError:
        pytest.skip("this Python's SQLite has no FTS5")
    connection.executemany("insert into docs values (?, ?)", DOCUMENTS.items())
    yield connection
    connection.close()


@pytest.mark.parametrize(
    "columns", ["id", "id, rank", "rank, id", "id, text, rank", "text, id", "rank, text, id"]
)
@pytest.mark.parametrize("factory", [None, sqlite3.Row])
@pytest.mark.parametrize("is_fetched", [True, False], ids=["rows", "cursor"])
def test_sqlite(database: sqlite3.Connection, columns: str, factory: Any, is_fetched: bool) -> None:
    database.row_factory = factory

    def search(query: str, k: int) -> Any:
        cursor = database.execute(SQL.format(columns), (query, k))
        return cursor.fetchall() if is_fetched else cursor

    ranking, run = run_search(search)

    assert set(ranking.doc_ids) == CHAIRS
    assert all(score < 0 for score in ranking.scores or ())
    if "rank" in columns and factory is None and is_fetched:
        assert ranking.scores
    if "text" in columns:
        assert run.titles == CHAIR_TITLES


def test_sqlite_with_an_id_field(database: sqlite3.Connection) -> None:
    def search(query: str, k: int) -> Any:
        return database.execute(SQL.format("text, rank, 'sku-' || id as sku"), (query, k))

    ranking, _ = run_search(search, id_field="sku")

    assert set(ranking.doc_ids) == {f"sku-{doc_id}" for doc_id in CHAIRS}


# Full-text libraries.


def test_tantivy() -> None:
    tantivy = import_library("tantivy")
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("doc_id", stored=True)
    builder.add_text_field("text", stored=True)
    index = tantivy.Index(builder.build())
    writer = index.writer(num_threads=1)
    for doc_id, text in DOCUMENTS.items():
        writer.add_document(tantivy.Document(doc_id=[doc_id], text=[text]))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def search(query: str, k: int) -> Any:
        return searcher.search(index.parse_query(query, ["text"]), k)

    def search_scored(query: str, k: int) -> Any:
        return [(score, searcher.doc(address)) for score, address in search(query, k).hits]

    def search_documents(query: str, k: int) -> Any:
        return [document for _, document in search_scored(query, k)]

    def search_dicts(query: str, k: int) -> Any:
        return [document.to_dict() for document in search_documents(query, k)]

    for retriever in (search_scored, search_documents, search_dicts):
        ranking, run = run_search(retriever)
        assert set(ranking.doc_ids) == CHAIRS
        assert (ranking.scores is not None) == (retriever is search_scored)
        assert run.titles == CHAIR_TITLES
    with pytest.raises(AssertionError, match="A hit is a DocAddress without fields"):
        run_search(search)


@pytest.mark.parametrize("kind", ["ids", "dicts", "numbers"])
def test_bm25s(kind: str) -> None:
    bm25s = import_library("bm25s")
    quiet = {"show_progress": False}
    index = bm25s.BM25()
    index.index(bm25s.tokenize(list(DOCUMENTS.values()), **quiet), **quiet)
    corpus: Any = None
    if kind == "ids":
        corpus = list(DOCUMENTS)
    elif kind == "dicts":
        corpus = [{"id": doc_id, "text": text} for doc_id, text in DOCUMENTS.items()]

    def search(query: str, k: int) -> Any:
        return index.retrieve(bm25s.tokenize([query], **quiet), corpus=corpus, k=3, **quiet)

    class BatchEngine:
        def batch(self, queries: list[str], k: int) -> Any:
            return index.retrieve(bm25s.tokenize(queries, **quiet), corpus=corpus, k=3, **quiet)

    ranking, run = run_search(search)

    assert set(ranking.doc_ids) == (CHAIRS if corpus else {"0", "1", "4"})
    assert ranking.scores
    assert ranking.scores[0] > 0
    assert bool(run.titles) == (kind == "dicts")
    assert run_search(BatchEngine())[0].doc_ids == ranking.doc_ids


def test_rank_bm25() -> None:
    rank_bm25 = import_library("rank_bm25")
    index = rank_bm25.BM25Okapi([text.split() for text in DOCUMENTS.values()])
    doc_ids = list(DOCUMENTS)

    ranking, _ = run_search(lambda query, k: index.get_top_n([query], doc_ids, n=3))

    assert ranking.doc_ids[0] == "51"
    with pytest.raises(AssertionError, match="in the order of the corpus is not a ranking"):
        run_search(lambda query: index.get_scores([query]))


def test_lunr() -> None:
    lunr = import_library("lunr")
    documents = [{"id": doc_id, "text": text} for doc_id, text in DOCUMENTS.items()]

    ranking, _ = run_search(lunr.lunr(ref="id", fields=["text"], documents=documents))

    assert set(ranking.doc_ids) == CHAIRS
    assert ranking.scores


# Frameworks.


def test_haystack() -> None:
    haystack = import_library("haystack")
    retrievers = import_library("haystack.components.retrievers.in_memory")
    stores = import_library("haystack.document_stores.in_memory")
    store = stores.InMemoryDocumentStore()
    documents = []
    for doc_id, text in DOCUMENTS.items():
        documents.append(haystack.Document(content=text, meta={"doc_id": doc_id}))
    store.write_documents(documents)
    retriever = retrievers.InMemoryBM25Retriever(store)
    pipeline = haystack.Pipeline()
    pipeline.add_component("bm25", retrievers.InMemoryBM25Retriever(store))

    def search(query: str, k: int) -> Any:
        return pipeline.run({"bm25": {"query": query, "top_k": k}})

    ranking, run = run_search(retriever, id_field="meta.doc_id")

    assert set(ranking.doc_ids[:3]) == CHAIRS
    assert run.titles["51"] == DOCUMENTS["51"]
    assert ranking.scores
    assert run_search(search, id_field="meta.doc_id")[0].doc_ids == ranking.doc_ids
    assert all(len(doc_id) == 64 for doc_id in run_search(retriever)[0].doc_ids)


def test_a_haystack_pipeline_with_two_ends_is_an_error() -> None:
    haystack = import_library("haystack")
    retrievers = import_library("haystack.components.retrievers.in_memory")
    stores = import_library("haystack.document_stores.in_memory")
    store = stores.InMemoryDocumentStore()
    store.write_documents([haystack.Document(content="chair", id="51")])
    pipeline = haystack.Pipeline()
    for name in ("bm25", "again"):
        pipeline.add_component(name, retrievers.InMemoryBM25Retriever(store))

    with pytest.raises(AssertionError, match=r"Several components returned documents \(\w+, \w+\)"):
        run_search(
            lambda query: pipeline.run({"bm25": {"query": query}, "again": {"query": query}})
        )


def test_langchain() -> None:
    make_document = import_library("langchain_core.documents").Document
    embedding = import_library("langchain_core.embeddings").DeterministicFakeEmbedding(size=8)
    store = import_library("langchain_core.vectorstores").InMemoryVectorStore(embedding)
    documents = []
    for doc_id, text in DOCUMENTS.items():
        documents.append(
            make_document(page_content=text, metadata={"source": doc_id}, id=f"c-{doc_id}")
        )
    store.add_documents(documents)

    ranking, run = run_search(store.as_retriever(search_kwargs={"k": 3}))

    assert len(ranking.doc_ids) == 3
    assert ranking.scores is None
    first = ranking.doc_ids[0]
    assert run.titles[first] == DOCUMENTS[first.removeprefix("c-")]
    ranking, _ = run_search(store.similarity_search, id_field="metadata.source")
    assert set(ranking.doc_ids) <= set(DOCUMENTS)
    assert run_search(store.similarity_search_with_score)[0].scores
    assert len(run_search(store)[0].doc_ids) == 4
    assert len(run_search(store, {"search_type": "similarity"})[0].doc_ids) == 4
    texts = run_search(store, match="text")[0].texts
    assert set(texts) <= set(DOCUMENTS.values())
    with pytest.raises(AssertionError, match=r"'id_field'.* fields .*metadata\.source"):
        run_search(lambda query: [make_document(page_content="x", metadata={"source": "51"})])


def test_llama_index() -> None:
    base: Any = import_library("llama_index.core.retrievers").BaseRetriever
    schema = import_library("llama_index.core.schema")

    class Retriever(base):  # type: ignore[misc]
        def _retrieve(self, query_bundle: Any) -> list[Any]:
            nodes = []
            for doc_id, text in DOCUMENTS.items():
                if query_bundle.query_str in text:
                    source = schema.RelatedNodeInfo(node_id=f"file-{doc_id}")
                    relations = {schema.NodeRelationship.SOURCE: source}
                    node = schema.TextNode(id_=doc_id, text=text, relationships=relations)
                    nodes.append(schema.NodeWithScore(node=node, score=0.5))
            return nodes

    ranking, run = run_search(Retriever())

    assert ranking.doc_ids == ("51", "7", "12")
    assert ranking.scores == (0.5, 0.5, 0.5)
    assert run.titles["51"] == DOCUMENTS["51"]
    ranking, _ = run_search(Retriever(), id_field="node.ref_doc_id")
    assert ranking.doc_ids == ("file-51", "file-7", "file-12")


# Vector stores, databases and search servers.


def test_qdrant() -> None:
    qdrant = import_library("qdrant_client")
    models = qdrant.models
    client = qdrant.QdrantClient(":memory:")
    vectors = models.VectorParams(size=2, distance=models.Distance.COSINE)
    client.create_collection("d", vectors_config=vectors)
    points = []
    for number, (doc_id, text) in enumerate(DOCUMENTS.items(), 1):
        payload = {"doc_id": doc_id, "text": text}
        points.append(models.PointStruct(id=number, vector=[number, 1.0], payload=payload))
    client.upsert("d", points)

    def search(query: str, k: int) -> Any:
        return client.query_points("d", query=[1.0, 1.0], limit=k)

    ranking, run = run_search(search, id_field="payload.doc_id")

    assert ranking.doc_ids[0] == "51"
    assert run.titles["51"] == DOCUMENTS["51"]
    assert ranking.scores
    assert run_search(search)[0].doc_ids[0] == "1"
    assert run_search(lambda query, k: search(query, k).points)[0].doc_ids[0] == "1"
    client.close()


def test_faiss() -> None:
    faiss, numpy = import_library("faiss"), import_library("numpy")
    index = faiss.IndexFlatIP(2)
    index.add(numpy.array([[1.0, 0.0], [0.0, 1.0]], dtype="float32"))

    def search(query: str, k: int) -> Any:
        return index.search(numpy.array([[0.2, 0.9]], dtype="float32"), k)

    ranking, _ = run_search(search)

    assert ranking.doc_ids == ("1", "0")
    assert ranking.scores == pytest.approx((0.9, 0.2))


@pytest.mark.parametrize("fetch", ["execute", "fetchall", "fetchnumpy", "df", "pl", "arrow", "sql"])
def test_duckdb(fetch: str) -> None:
    duckdb = import_library("duckdb")
    needed = {"df": ["pandas"], "pl": ["polars", "pyarrow"], "arrow": ["pyarrow"]}
    for name in needed.get(fetch, []):
        import_library(name)
    connection = duckdb.connect()
    connection.execute("create table docs (id varchar, text varchar, score double)")
    rows = [(id_, text, 1 / rank) for rank, (id_, text) in enumerate(DOCUMENTS.items(), 1)]
    connection.executemany("insert into docs values (?, ?, ?)", rows)
    sql = "select text, score, id from docs where contains(text, 'chair') order by score desc"

    def search(query: str) -> Any:
        if fetch in ("execute", "sql"):
            return getattr(connection, fetch)(sql)
        return getattr(connection.sql(sql), fetch)()

    ranking, run = run_search(search)

    assert ranking.doc_ids == ("51", "7", "12")
    assert ranking.scores == (1.0, 0.5, 0.2)
    assert run.titles["7"] == DOCUMENTS["7"]
    connection.close()


def test_pandas_polars_and_arrow() -> None:
    columns = {"score": [0.5, 0.25], "title": ["Aero Mesh", "Birch"], "doc_id": [51, 7]}
    pandas, polars = import_library("pandas"), import_library("polars")
    arrow = import_library("pyarrow")
    frame = pandas.DataFrame(columns)
    tables = [frame, frame.set_index("doc_id"), polars.DataFrame(columns), arrow.table(columns)]

    for table in tables:
        ranking, run = run_search(lambda query, table=table: table)
        assert (ranking.doc_ids, ranking.scores) == (("51", "7"), (0.5, 0.25))
        assert run.titles == TITLES
    assert run_search(lambda query: arrow.table(columns).slice(0, 1))[0].doc_ids == ("51",)
    assert run_search(lambda query: frame["doc_id"])[0].doc_ids == ("51", "7")
    assert run_search(lambda query: frame, id_field="title")[0].doc_ids == ("Aero Mesh", "Birch")


def test_numpy() -> None:
    numpy = import_library("numpy")
    scores = numpy.array([[0.9, 0.5, -3.4e38]], dtype="float32")
    indices = numpy.array([[51, 7, -1]])

    ranking, _ = run_search(lambda query: (scores, indices))

    assert ranking.doc_ids == ("51", "7")
    assert ranking.scores == pytest.approx((0.9, 0.5))
    assert all(type(score) is float for score in ranking.scores or ())
    assert run_search(lambda query: indices[0])[0].doc_ids == ("51", "7", "-1")
    assert run_search(lambda query: indices)[0].doc_ids == ("51", "7", "-1")
    pairs = list(zip(indices[0], scores[0], strict=True))
    assert run_search(lambda query: pairs)[0].doc_ids[0] == "51"
    with pytest.raises(AssertionError, match="An array of scores in the order of the corpus"):
        run_search(lambda query: scores[0])


@pytest.mark.parametrize(
    ("columns", "settings"),
    [
        ("'51' as id, 'A chair' as title, 0.5 as score", {}),
        ("'51' as sku, 0.5 as score", {}),
        ("7 as id, '51' as sku, 0.5 as distance", {"id_field": "sku"}),
    ],
)
def test_sqlalchemy(columns: str, settings: dict[str, Any]) -> None:
    sqlalchemy = import_library("sqlalchemy")
    sql = sqlalchemy.text(f"select {columns}")
    with sqlalchemy.create_engine("sqlite://").connect() as connection:
        results = [connection.execute(sql), connection.execute(sql).all()]
        if "id" in columns.split():
            results.append(connection.execute(sql).mappings().all())
        for result in results:
            ranking, _ = run_search(lambda query, result=result: result, **settings)
            assert (ranking.doc_ids, ranking.scores) == (("51",), (0.5,))


def test_elasticsearch() -> None:
    transport = import_library("elastic_transport")
    response = transport.ObjectApiResponse(body=RESPONSE, meta=None)

    ranking, run = run_search(lambda query: response)

    assert (ranking.doc_ids, ranking.scores) == (("51", "7"), (1.2, 0.9))
    assert run.titles == TITLES
    ranking, _ = run_search(lambda query: response, id_field="_source.sku")
    assert ranking.doc_ids == ("sku-51", "sku-7")
    partial = transport.ObjectApiResponse(body={**RESPONSE, "timed_out": True}, meta=None)
    with pytest.raises(AssertionError, match="partial answer in 'timed_out'"):
        run_search(lambda query: partial)


@pytest.mark.parametrize(
    ("package", "module"),
    [
        ("elasticsearch.dsl", "elasticsearch.dsl.response"),
        ("opensearchpy", "opensearchpy.helpers.response"),
    ],
)
def test_responses_of_a_dsl(package: str, module: str) -> None:
    make_response = import_library(module).Response
    search = import_library(package).Search()
    response = make_response(search, RESPONSE)

    for result in (response, list(response), response.hits):
        ranking, run = run_search(lambda query, result=result: result)
        assert (ranking.doc_ids, ranking.scores) == (("51", "7"), (1.2, 0.9))
        assert run.titles == TITLES
    assert run_search(lambda query: response, id_field="sku")[0].doc_ids == ("sku-51", "sku-7")
    for part in ({"timed_out": True}, {"_shards": {"failed": 1}}):
        partial = make_response(search, {**RESPONSE, **part})
        with pytest.raises(AssertionError, match="The engine reports a partial answer"):
            run_search(lambda query, partial=partial: partial)
