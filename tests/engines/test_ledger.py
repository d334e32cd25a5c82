"""The ledger of loss over real RAG objects: two first stages, a reranker that cuts, and one ledger in every medium."""

from __future__ import annotations

import json
import re
from html import unescape
from importlib.util import find_spec

import pytest

from tests.conftest import QUIET, Project
from tests.engines.conftest import library

pytestmark = pytest.mark.filterwarnings("ignore")  # those of other people's libraries

HELP = {
    "refunds": "Refunds are paid within 14 days of the receipt of the goods.",
    "returns": "Write to the shop before you send anything back to us.",
    "half": "Parcels of more than twenty kilograms are",
    "other half": "fetched by a carrier from your own door.",
    "terms": "Vouchers are valid for 30 days after they were bought.",
    "chairs": "Chairs of oak last for a century if they are oiled.",
    "desks": "Desks of oak are heavy and last as long as chairs.",
    "lamps": "Lamps of brass stand on desks of oak.",
}
PARCELS = "Parcels of more than twenty kilograms are fetched by a carrier"
SUITE = {
    "match": "text", "top_k": 2, "depth": 2, "metrics": ["recall@2", "sparse candidates recall@100"],
    "queries": [
        {"query": "refunds paid", "relevant": [HELP["refunds"]]},
        {"query": "oak desks last chairs", "relevant": [HELP["lamps"], HELP["desks"]]},
        {"query": "parcels carrier", "relevant": [PARCELS], "must_find": [PARCELS]},
        {"query": "vouchers valid", "relevant": ["Vouchers are valid for 90 days after they were bought."]},
        {"query": "write shop", "relevant": ["Letters are answered by nobody at all here"]},
    ],
}  # fmt: skip
EMBED = """
def embed(text):
    vector = [0.0] * 64
    for word in text.lower().replace(".", "").split():
        vector[sum(map(ord, word)) % 64] += 1.0
    return vector
"""
LANGCHAIN = """
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore

class Mine(Embeddings):
    def embed_documents(self, texts): return [embed(text) for text in texts]
    def embed_query(self, text): return embed(text)

class ByWords(BaseRetriever):
    k: int
    def _get_relevant_documents(self, query, *, run_manager):
        words = set(query.split())
        known = [(len(words & set(text.lower().split())), id) for id, text in HELP.items()]
        return [Document(HELP[id], id=id) for many, id in sorted(known, reverse=True) if many][:self.k]

STORE = InMemoryVectorStore(Mine())
STORE.add_documents([Document(text, id=id) for id, text in HELP.items()])

def dense(query, k): return STORE.as_retriever(search_kwargs={"k": k}).invoke(query)
def sparse(query, k): return ByWords(k=k).invoke(query)
def text_of(hit): return hit.page_content
"""
LLAMA = """
from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode

class Mine(BaseEmbedding):
    def _get_text_embedding(self, text): return embed(text)
    def _get_query_embedding(self, query): return embed(query)
    async def _aget_query_embedding(self, query): return embed(query)

NODES = [TextNode(id_=id, text=text) for id, text in HELP.items()]
INDEX = VectorStoreIndex(NODES, embed_model=Mine())

class ByWords(BaseRetriever):
    def _retrieve(self, bundle):
        words = set(bundle.query_str.split())
        known = [(len(words & set(node.text.lower().split())), node) for node in NODES]
        known.sort(key=lambda pair: -pair[0])
        return [NodeWithScore(node=node, score=many) for many, node in known if many]

def dense(query, k): return INDEX.as_retriever(similarity_top_k=k).retrieve(query)
def sparse(query, k): return ByWords().retrieve(query)[:k]
def text_of(hit): return hit.node.text
"""
HAYSTACK = """
from haystack import Document, Pipeline
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

STORE = InMemoryDocumentStore()
STORE.write_documents([Document(id=id, content=text, embedding=embed(text)) for id, text in HELP.items()])
PIPELINE = Pipeline()
PIPELINE.add_component("bm25", InMemoryBM25Retriever(STORE))
PIPELINE.add_component("vectors", InMemoryEmbeddingRetriever(STORE))

def asked(query, k):
    given = {"bm25": {"query": query, "top_k": k}, "vectors": {"query_embedding": embed(query), "top_k": k}}
    return PIPELINE.run(given)
def dense(query, k): return {"vectors": asked(query, k)["vectors"]}
def sparse(query, k): return asked(query, k)["bm25"]["documents"]
def text_of(hit): return hit.content
"""
ENGINE = """
class Hybrid:
    \"\"\"Two first stages, of which a reranker orders the first two of the one by the length of their texts.\"\"\"
    def stages(self, query, k):
        return {{"dense": dense(query, k), "sparse": sparse(query, k)}}
    def search(self, query, k):
        first = sparse(query, 3)
        return sorted(first, key=lambda hit: len(text_of(hit)), reverse={longest})[:k]
    {texts}

@pytest.fixture(scope="session")
def retriever(): return Hybrid()
"""
TEXTS = "def texts(self): return [{'id': id, 'text': text} for id, text in HELP.items()]"


@pytest.mark.parametrize(
    ("needed", "code"),
    [("langchain_core", LANGCHAIN), ("llama_index.core", LLAMA), ("haystack", HAYSTACK)],
    ids=["LangChain", "LlamaIndex", "Haystack"],
)
def test_one_ledger_in_every_medium(
    needed: str, code: str, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    if find_spec(needed.partition(".")[0]) is None:  # imported by other processes alone
        library(needed)
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")

    def run(*arguments: str) -> str:
        # A process of its own: what an inner run imports is forgotten after it, which NumPy does not bear.
        given = ("--ir-suite", "--ir-json=out.json", *QUIET, *arguments)
        return project.pytester.runpytest_subprocess(*given).stdout.str()

    def read(name: str) -> str:
        return (project.path / name).read_text("utf-8")

    project.suite(json.dumps(SUITE))
    begin = f"HELP = {HELP!r}\n{EMBED}{code}"
    project.conftest(begin + ENGINE.format(longest=False, texts=TEXTS))
    run("--ir-update-baseline", "-q")
    project.conftest(begin + ENGINE.format(longest=True, texts=TEXTS))
    terminal = run("--ir-markdown=out.md", "--ir-report=out.html")
    (result,) = project.data["suites"]
    now = {(query["id"], id): fate for query in result["queries"] for id, fate, _ in query["fates"]}
    # BM25 of Haystack has every document in its ranking, also those without any of the words.
    assert {query: fate for (query, _), fate in now.items() if not query.startswith("oak")} == {
        "refunds paid": "found",
        "parcels carrier": "cut",
        "vouchers valid": "changed",
        "write shop": "not in the corpus",
    }
    lost = [
        loss for query in result["queries"] for one in query["missing"] if (loss := one["loss"])
    ]
    (sunk,) = (loss for loss in lost if loss["fate"] == "in stage")
    assert sunk["stage"] == "sparse"
    assert sum(fate == "found" for fate in now.values()) == 2
    ledger = (
        "assages: in a stage only 1 (unknown then), not in the corpus 1 (unknown then), cut 1, changed 1,"
        " not returned, cause unknown 1 → 0, found 3 → 2"
    )
    page = unescape(
        re.sub(r"<[^>]+>", "", re.sub(r"(?s)<(script|style).*?</\1>", "", read("out.html")))
    )
    for medium in (terminal, run("-q"), read("out.md"), page):
        assert ledger in medium
        assert re.search(r"cut: parts of it are in half( \(rank \d\))? and other half", medium)
        assert not re.search(r"\bdocuments?\b", medium)
