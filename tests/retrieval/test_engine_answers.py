"""What engines answer over HTTP, as their documentation has it: complete, partial and empty."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace as Object
from typing import Any

import pytest

from pytest_irquality.retrieval.errors import ResultError
from pytest_irquality.retrieval.hit_reader import ResultReader
from pytest_irquality.retrieval.wrappers import PARTIAL_SIGNS, find_partial_sign

TITLES = {"51": "A chair", "7": "A stool"}
COMPLETE_COVERAGE = {
    "coverage": 100, "documents": 48, "full": True, "nodes": 1, "results": 1, "resultsFull": 1,
}  # fmt: skip


def make_elasticsearch(titles: Mapping[str, str], **fields: Any) -> dict[str, Any]:
    hits = []
    for doc_id, title in titles.items():
        hit = {"_index": "shop", "_id": doc_id, "_score": 1.5, "_source": {"title": title}}
        hits.append({**hit, "highlight": {"title": ["<em>"]}})
    return {
        "took": 3,
        "timed_out": False,
        "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
        "hits": {"total": {"value": len(hits), "relation": "eq"}, "max_score": 1.5, "hits": hits},
        "aggregations": {"brands": {"buckets": [{"key": "oak", "doc_count": 3}]}},
        "suggest": {"s": [{"text": "chiar", "options": [{"text": "chair"}]}]},
        **fields,
    }


def make_solr(titles: Mapping[str, str], **header: Any) -> dict[str, Any]:
    docs = [{"id": doc_id, "title": [title], "_version_": 17} for doc_id, title in titles.items()]
    return {
        "responseHeader": {"status": 0, "QTime": 1, "params": {"q": "chair", "fl": "*"}, **header},
        "response": {"numFound": len(docs), "start": 0, "numFoundExact": True, "docs": docs},
        "facet_counts": {"facet_queries": {}, "facet_fields": {"brand": ["oak", 1]}},
        "highlighting": {doc_id: {"title": ["<em>"]} for doc_id in titles},
    }


def make_typesense(titles: Mapping[str, str], **fields: Any) -> dict[str, Any]:
    hits = []
    for doc_id, title in titles.items():
        document = {"id": doc_id, "title": title}
        info = {"score": "578730", "fields_matched": 1}
        hits.append({"document": document, "text_match": 578730, "text_match_info": info})
    return {
        "facet_counts": [], "found": len(hits), "hits": hits, "out_of": 48, "page": 1,
        "request_params": {"collection_name": "shop", "per_page": 10, "q": "chair"},
        "search_cutoff": False, "search_time_ms": 1, **fields,
    }  # fmt: skip


def make_meilisearch(titles: Mapping[str, str], **fields: Any) -> dict[str, Any]:
    hits = []
    for doc_id, title in titles.items():
        hits.append({"id": int(doc_id), "title": title, "_rankingScore": 0.9})
    return {"hits": hits, "query": "chair", "processingTimeMs": 1, "limit": 20, **fields}


def make_vespa(
    titles: Mapping[str, str],
    coverage: Mapping[str, Any] = COMPLETE_COVERAGE,
    before: tuple[Any, ...] = (),
    after: tuple[Any, ...] = (),
) -> dict[str, Any]:
    hits = []
    for doc_id, title in titles.items():
        fields = {"sddocname": "product", "title": title}
        hits.append({"id": doc_id, "relevance": 0.5, "source": "shop", "fields": fields})
    root = {"id": "toplevel", "relevance": 1.0, "fields": {"totalCount": len(hits)}}
    children = [*before, *hits, *after]
    if children:
        root["children"] = children
    return {"root": {**root, "coverage": coverage}}


def make_algolia(titles: Mapping[str, str], **fields: Any) -> dict[str, Any]:
    hits = []
    for doc_id, title in titles.items():
        highlight = {"name": {"value": title, "matchedWords": []}}
        hits.append({"objectID": doc_id, "name": title, "_highlightResult": highlight})
    return {
        "hits": hits, "page": 0, "nbHits": len(hits), "nbPages": 1, "hitsPerPage": 20,
        "exhaustive": {"nbHits": False, "typo": True, "facetsCount": False, "rulesMatch": True},
        "query": "chair", "params": "query=chair", **fields,
    }  # fmt: skip


def make_weaviate(titles: Mapping[str, str]) -> dict[str, Any]:
    objects = [{"sku": doc_id, "title": title} for doc_id, title in titles.items()]
    return {"data": {"Get": {"Product": objects}}}


def make_points(titles: Mapping[str, str]) -> list[dict[str, Any]]:
    points = []
    for doc_id, title in titles.items():
        points.append({"id": int(doc_id), "score": 0.5, "payload": {"title": title}})
    return points


def make_group(root: int) -> dict[str, Any]:
    """Make what Vespa returns for a grouping, as the documentation of grouping has it."""
    group = {"id": "group:string:oak", "relevance": 1.0, "value": "oak", "fields": {"count()": 2}}
    group_list = {"id": "grouplist:brand", "label": "brand", "relevance": 1.0, "children": [group]}
    return {
        "id": f"group:root:{root}", "relevance": 1.0, "continuation": {"this": ""},
        "children": [group_list],
    }  # fmt: skip


ENGINES: Mapping[str, Callable[[Mapping[str, str]], Any]] = {
    "Elasticsearch and OpenSearch": make_elasticsearch,
    "Elasticsearch, msearch": lambda titles: {"took": 3, "responses": [make_elasticsearch(titles)]},
    "Elasticsearch, async search": lambda titles: {
        "id": "x", "is_partial": False, "is_running": False,
        "response": make_elasticsearch(titles),
    },
    "Solr": make_solr,
    "Typesense": make_typesense,
    "Typesense, multi_search": lambda titles: {"results": [make_typesense(titles)]},
    "Meilisearch": make_meilisearch,
    "Vespa": make_vespa,
    "Vespa, groups before": lambda titles: make_vespa(titles, before=(make_group(0), make_group(1))),
    "Vespa, groups after": lambda titles: make_vespa(titles, after=(make_group(0),)),
    "pyvespa": lambda titles: Object(
        hits=make_vespa(titles, before=(make_group(0),))["root"]["children"],
        json=make_vespa(titles),
    ),
    "Algolia": make_algolia,
    "Algolia, several queries": lambda titles: {"results": [make_algolia(titles)]},
    "Azure AI Search": lambda titles: {
        "@odata.context": "https://shop.search.example/$metadata",
        "@search.coverage": 100,
        "value": [
            {"@search.score": 1.5, "id": doc_id, "title": title} for doc_id, title in titles.items()
        ],
    },
    "Qdrant": lambda titles: {"result": {"points": make_points(titles)}, "status": "ok", "time": 1},
    "Qdrant, search": lambda titles: {"result": make_points(titles), "status": "ok", "time": 0.001},
    "Weaviate": make_weaviate,
    "products": lambda titles: {
        "products": [{"id": doc_id, "name": title} for doc_id, title in titles.items()],
        "total": len(titles),
    },
    "articles": lambda titles: {
        "articles": [{"id": doc_id, "name": title} for doc_id, title in titles.items()],
    },
}  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("titles", [TITLES, {"51": "A chair"}, {}], ids=["two", "one", "none"])
def test_hits_of_an_engine_are_read(engine: str, titles: Mapping[str, str]) -> None:
    reader = ResultReader(id_field="sku" if engine == "Weaviate" else "")

    answer = reader.read(ENGINES[engine](titles), 2)

    assert answer.ranking.doc_ids == tuple(titles)
    assert list(answer.titles) == list(titles.values())


@pytest.mark.parametrize("kind", [list, iter], ids=["list", "iterator"])
def test_groups_do_not_take_the_place_of_hits(kind: Any) -> None:
    hits = [{"id": f"id:shop:tea::t{n}", "relevance": 1 / n} for n in range(1, 6)]

    ranking = ResultReader().read(kind([make_group(0), *hits, make_group(1)]), 4).ranking

    assert ranking.doc_ids == tuple(f"id:shop:tea::t{n}" for n in range(1, 5))


PARTIAL: Mapping[str, Any] = {
    "Elasticsearch timed out": make_elasticsearch(TITLES, timed_out=True),
    "Elasticsearch timed out, nothing found": make_elasticsearch({}, timed_out=True),
    "Elasticsearch, a shard failed": make_elasticsearch(
        TITLES, _shards={"total": 2, "successful": 1, "skipped": 0, "failed": 1}
    ),
    "Elasticsearch, terminate_after": make_elasticsearch(TITLES, terminated_early=True),
    "Elasticsearch, msearch": {"responses": [make_elasticsearch(TITLES, timed_out=True)]},
    "Elasticsearch still runs": {
        "id": "x", "is_partial": True, "is_running": True, "response": make_elasticsearch(TITLES),
    },
    "Elasticsearch, async shards": {
        "id": "x", "is_partial": False,
        "response": make_elasticsearch(TITLES, _shards={"failed": 2}),
    },
    "OpenSearch still runs": {"id": "x", "state": "RUNNING", "response": make_elasticsearch(TITLES)},
    "OpenSearch, floats": make_elasticsearch(TITLES, _shards={"total": 2.0, "failed": 1.0}),
    "OpenSearch behind a proxy": {"body": make_elasticsearch(TITLES, timed_out="true")},
    **{
        f"Elasticsearch, {state} cluster": make_elasticsearch(
            TITLES, _clusters={"total": 2, "successful": 1, state: 1}
        )
        for state in ("partial", "skipped", "failed", "running")
    },
    "opensearch-py": Object(
        timed_out=True, hits=Object(hits=[{"_id": "51"}]), _shards=Object(failed=0)
    ),
    "elasticsearch.dsl": Object(
        timed_out=False, hits=[Object(meta=Object(id="51"))], _shards=Object(failed=1)
    ),
    "Solr timed out": make_solr(TITLES, partialResults=True),
    "Solr timed out, text": make_solr(TITLES, partialResults="true"),
    "Solr left results out": make_solr({}, partialResults="omitted"),
    "Solr, maxHitsAllowed": make_solr(TITLES, maxHitsTerminatedEarly=True),
    "pysolr": Object(docs=[{"id": "51"}], raw_response=make_solr(TITLES, partialResults=True)),
    "Vespa degraded": make_vespa(
        TITLES, {"coverage": 40, "full": False, "degraded": {"timeout": True}}
    ),
    "Vespa degraded, nothing found": make_vespa(
        {}, {"coverage": 0, "full": False, "degraded": {"timeout": True}}
    ),
    "Vespa, one reason of several": make_vespa(
        TITLES, {"degraded": {"match-phase": False, "timeout": True, "non-ideal-state": False}}
    ),
    "pyvespa, errors": Object(
        hits=[], json={"root": {"id": "toplevel", "errors": [{"code": 12, "summary": "Timed out"}]}}
    ),
    "Vespa not full": make_vespa(TITLES, {"coverage": 99, "full": False}),
    "Vespa error": {"root": {"id": "toplevel", "errors": [{"code": 12, "summary": "Timed out"}]}},
    "pyvespa": Object(
        hits=[{"id": "51", "relevance": 1.0}],
        json=make_vespa(TITLES, {"full": False, "degraded": {"match-phase": True}}),
    ),
    "pyvespa, not full": Object(
        hits=[{"id": "51", "relevance": 1.0}], json=make_vespa(TITLES, {"full": False})
    ),
    "Typesense": make_typesense(TITLES, search_cutoff=True),
    "Typesense, multi_search": {"results": [make_typesense(TITLES, search_cutoff=True)]},
    "Algolia timed out": make_algolia(TITLES, timeoutHits=True),
    "Algolia, typos": make_algolia(TITLES, exhaustive={"nbHits": True, "typo": False}),
    "Algolia, typos (old)": make_algolia(TITLES, exhaustiveTypo=False),
    "Algolia, rules": make_algolia(TITLES, exhaustive={"typo": True, "rulesMatch": False}),
    "Algolia client, rules": Object(
        hits=[Object(object_id="51")], exhaustive=Object(typo=True, rules_match=False)
    ),
    "Algolia client, typos": Object(hits=[Object(object_id="51")], exhaustive_typo=False),
    "Meilisearch, a remote failed": make_meilisearch(
        TITLES, remoteErrors={"ms-1": {"code": "proxy_timeout"}}
    ),
    "Weaviate": {**make_weaviate(TITLES), "errors": [{"message": "context deadline exceeded"}]},
    "Qdrant": {"result": [], "status": {"error": "Timeout"}, "time": 5},
    "Azure, coverage": {"@search.coverage": 80.0, "value": [{"id": "51"}]},
    "Azure, semantic": {
        "@search.semanticPartialResponseReason": "maxWaitExceeded", "value": [{"id": "51"}],
    },
    "Redis": {"total_results": 1, "results": [{"id": "51"}], "warning": ["Timeout limit was reached"]},
    "Couchbase": {"status": {"total": 6, "failed": 2, "successful": 4}, "hits": [{"id": "51"}]},
}  # fmt: skip


@pytest.mark.parametrize("engine", PARTIAL)
def test_a_partial_answer_is_an_error(engine: str) -> None:
    with pytest.raises(ResultError, match="The engine reports a partial answer in '"):
        ResultReader().read(PARTIAL[engine], 10)


GROUPED: Mapping[str, Any] = {
    "Elasticsearch, only aggregations": {"aggregations": {"brands": {"buckets": [{"key": "oak"}]}}},
    "Solr": {"responseHeader": {"status": 0}, "grouped": {"sku": {"groups": [{"doclist": {}}]}}},
    "Typesense": {"found": 1, "grouped_hits": [{"group_key": ["a"], "hits": [{"document": {"id": 1}}]}]},
    "Qdrant": {"result": {"groups": [{"id": "a", "hits": make_points(TITLES)}]}, "status": "ok"},
    "facets only": {"facets": [{"id": "brand", "count": 2}], "total": 2},
}  # fmt: skip


@pytest.mark.parametrize("engine", GROUPED)
def test_groups_without_hits_are_an_error(engine: str) -> None:
    with pytest.raises(ResultError, match="no single list of hits"):
        ResultReader().read(GROUPED[engine], 10)


def test_every_sign_has_a_test() -> None:
    found: set[str] = set()
    for answer in PARTIAL.values():
        parts = [answer]
        if isinstance(answer, dict):
            parts += [answer.get("response"), *answer.get("responses", ())]
            parts += answer.get("results", ())
        found.update(map(find_partial_sign, parts))

    assert found >= {path for signs in PARTIAL_SIGNS.values() for path in signs}


@pytest.mark.parametrize(
    "answer",
    [
        make_elasticsearch(TITLES, terminated_early=False, _clusters={"total": 2, "skipped": 0}),
        make_solr(TITLES, partialResults=False, segmentTerminatedEarly=True),
        make_vespa(TITLES, {"full": True, "degraded": {}}),
        make_vespa(TITLES, {"full": True, "degraded": {"timeout": False, "match-phase": False}}),
        {"id": "x", "state": "SUCCEEDED", "response": make_elasticsearch(TITLES)},
        make_algolia(TITLES, exhaustiveNbHits=False),
        {"hits": [{"_id": "51"}, {"_id": "7"}], "errors": [], "warning": "deprecated", "status": "ok"},
        {"hits": [{"id": "51", "timed_out": True}, {"id": "7"}], "timed_out": None},
    ],
)  # fmt: skip
def test_a_complete_answer_is_no_partial_one(answer: Any) -> None:
    assert ResultReader().read(answer, 10).ranking.doc_ids == ("51", "7")
