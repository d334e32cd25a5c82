"""What engines answer over HTTP, as their documentation has it, with hits and without: each is read as it comes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from pytest_irquality.retrieval.results import read_result
from pytest_irquality.retrieval.wrappers import UnreadableResult

Made = Mapping[str, Any]
TITLES = {"51": "A chair", "7": "A stool"}


def elasticsearch(titles: Mapping[str, str]) -> Made:
    hits = [
        {"_index": "shop", "_id": id, "_score": 1.5, "_source": {"title": title}, "highlight": {"title": ["<em>"]}}
        for id, title in titles.items()
    ]  # fmt: skip
    return {
        "took": 3,
        "timed_out": False,
        "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
        "hits": {"total": {"value": len(hits), "relation": "eq"}, "max_score": 1.5, "hits": hits},
        "aggregations": {"brands": {"buckets": [{"key": "oak", "doc_count": 3}]}},
        "suggest": {"s": [{"text": "chiar", "options": [{"text": "chair"}]}]},
    }


def solr(titles: Mapping[str, str]) -> Made:
    docs = [{"id": id, "title": [title], "_version_": 17} for id, title in titles.items()]
    return {
        "responseHeader": {"status": 0, "QTime": 1, "params": {"q": "chair", "fl": "*"}},
        "response": {"numFound": len(docs), "start": 0, "numFoundExact": True, "docs": docs},
        "facet_counts": {"facet_queries": {}, "facet_fields": {"brand": ["oak", 1]}},
        "highlighting": {id: {"title": ["<em>"]} for id in titles},
    }


def typesense(titles: Mapping[str, str]) -> Made:
    hits = [
        {
            "document": {"id": id, "title": title},
            "highlights": [{"field": "title", "snippet": "<mark>"}],
            "text_match": 578730,
            "text_match_info": {"score": "578730", "fields_matched": 1},
        }
        for id, title in titles.items()
    ]
    return {
        "facet_counts": [],
        "found": len(hits),
        "hits": hits,
        "out_of": 48,
        "page": 1,
        "request_params": {"collection_name": "shop", "per_page": 10, "q": "chair"},
        "search_cutoff": False,
        "search_time_ms": 1,
    }


def meilisearch(titles: Mapping[str, str]) -> Made:
    hits = [{"id": int(id), "title": title, "_rankingScore": 0.9} for id, title in titles.items()]
    rest = {
        "query": "chair",
        "processingTimeMs": 1,
        "limit": 20,
        "offset": 0,
        "estimatedTotalHits": 2,
    }
    return {"hits": hits, **rest}


def vespa(titles: Mapping[str, str]) -> Made:
    hits = [
        {"id": id, "relevance": 0.5, "source": "shop", "fields": {"sddocname": "product", "title": title}}
        for id, title in titles.items()
    ]  # fmt: skip
    coverage = {
        "coverage": 100,
        "documents": 48,
        "full": True,
        "nodes": 1,
        "results": 1,
        "resultsFull": 1,
    }
    root = {
        "id": "toplevel",
        "relevance": 1.0,
        "fields": {"totalCount": len(hits)},
        "coverage": coverage,
    }
    return {"root": {**root, "children": hits} if hits else root}


def algolia(titles: Mapping[str, str]) -> Made:
    hits = [
        {"objectID": id, "name": title, "_highlightResult": {"name": {"value": title, "matchedWords": []}}}
        for id, title in titles.items()
    ]  # fmt: skip
    rest = {
        "page": 0,
        "nbHits": len(hits),
        "nbPages": 1,
        "hitsPerPage": 20,
        "query": "chair",
        "params": "query=chair",
    }
    return {"hits": hits, **rest}


ENGINES: Mapping[str, Callable[[Mapping[str, str]], Made]] = {
    "Elasticsearch and OpenSearch": elasticsearch,
    "Solr": solr,
    "Typesense": typesense,
    "Typesense, multi_search": lambda titles: {"results": [typesense(titles)]},
    "Meilisearch": meilisearch,
    "Vespa": vespa,
    "Algolia": algolia,
    "Algolia, several queries": lambda titles: {"results": [algolia(titles)]},
    "Azure AI Search": lambda titles: {
        "@odata.context": "https://shop.search.example/$metadata",
        "value": [{"@search.score": 1.5, "id": id, "title": title} for id, title in titles.items()],
    },
    "Qdrant": lambda titles: {
        "result": {"points": [{"id": int(id), "score": 0.5, "payload": {"title": title}} for id, title in titles.items()]},
        "status": "ok",
        "time": 0.001,
    },
    "Qdrant, search": lambda titles: {
        "result": [{"id": int(id), "score": 0.5, "payload": {"title": title}} for id, title in titles.items()],
        "status": "ok",
        "time": 0.001,
    },
    "products": lambda titles: {
        "products": [{"id": id, "name": title} for id, title in titles.items()],
        "total": len(titles),
    },
}  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("titles", [TITLES, {"51": "A chair"}, {}], ids=["two", "one", "none"])
def test_what_an_engine_answers(engine: str, titles: Mapping[str, str]) -> None:
    read = read_result(ENGINES[engine](titles), 10)
    assert read.ids == tuple(titles)
    assert read.titles == titles


@pytest.mark.parametrize(
    "answer",
    [
        {**elasticsearch(TITLES), "timed_out": True},
        {**elasticsearch(TITLES), "_shards": {"total": 2, "successful": 1, "skipped": 0, "failed": 1}},
        {**elasticsearch({}), "timed_out": True},
        {**typesense(TITLES), "search_cutoff": True},
        {"results": [{**typesense(TITLES), "search_cutoff": True}]},
    ],
)  # fmt: skip
def test_a_part_of_the_index_is_no_answer(answer: Made) -> None:
    with pytest.raises(UnreadableResult, match="only a part of the index has answered"):
        read_result(answer, 10)


def test_an_error_of_vespa_is_no_empty_answer() -> None:
    error = {"code": 12, "summary": "Timed out", "message": "search timed out"}
    with pytest.raises(UnreadableResult, match="Timed out"):
        read_result({"root": {"id": "toplevel", "relevance": 1.0, "errors": [error]}}, 10)


def test_a_lone_hit_that_counts_its_hits_is_a_hit() -> None:
    assert read_result([{"id": "a", "hits": [{"id": "b"}]}], 10).ids == ("a",)
