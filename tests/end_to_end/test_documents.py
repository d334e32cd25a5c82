"""Scenarios: documents, ids, ties and passages, and what a report says of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.end_to_end.shop import (
    QUERIES,
    STRICT,
    Build,
    Shop,
    find,
    list_docs,
    lose,
    make_suite,
    mark_rest_slow,
    sink,
)


def list_documents(build: Build, query: str) -> list[dict[str, Any]]:
    """Return the documents of a query, as the JSON report lists them."""
    rows = build.data["suites"][0]["rows"]
    return list(next(row["documents"] for row in rows if row["query"] == query))


@pytest.mark.parametrize("writes_check", [True, False])
def test_unjudged_documents_that_decide_are_named(shop: Shop, writes_check: bool) -> None:
    """S5: a document that nobody judged takes rank 1 everywhere."""
    head = "metrics: [mrr@10]\n"
    head += f"thresholds: {{mrr@10: {{max_drop: {0.1 if writes_check else 0.6}}}}}\n"
    shop.write_suite(make_suite(head=head))
    shop.record()
    shop.break_search(QUERIES, lambda docs: ["new", *docs])

    build = shop.build()

    assert build.outcome == ("FAILED" if writes_check else "PASSED")
    assert "20 of 200 results are unjudged" in build.text
    assert "Grade these first: new" in build.text
    assert ("without them these checks would hold" in build.text) is writes_check


def test_document_that_is_returned_twice_counts_once(shop: Shop) -> None:
    """S8: the retriever returns a document twice (chunks)."""
    head = "metrics: [ndcg, recall, precision@2, map]\n"
    shop.write_suite(f"{head}queries: [{{query: a, relevant: [d, e], must_find: {{e: 2}}}}]\n")
    shop.write_rankings({"a": ["d", "d", "d", "e"]})

    build = shop.build()

    assert build.verdict == ("PASSED", 0)
    values = build.data["suites"][0]["rows"][0]["values"]
    assert [value["now"] for value in values] == [1, 1, 1, 1]
    assert "a document twice" in build.text


@pytest.mark.parametrize(
    "doc_id", mark_rest_slow(3, ["0123", "NO", "2024-01-01", "22:22", "1e3", "~", "007"])
)
def test_ids_are_the_text_as_written(shop: Shop, doc_id: str) -> None:
    """S9: ids that YAML 1.1 would turn into something else."""
    query = f"{{query: a, id: {doc_id}, relevant: {{{doc_id}: 1}}, must_find: [{doc_id}]}}"
    shop.write_suite(f"thresholds: {{recall: 1}}\nqueries:\n  - {query}\n")
    shop.write_rankings({"a": [doc_id]})

    build = shop.build()

    assert build.verdict == ("PASSED", 0)
    assert build.data["suites"][0]["rows"][0]["query_id"] == doc_id


def test_integers_from_the_engine_meet_strings_in_the_file(shop: Shop) -> None:
    """S9: integers from the engine, strings in the file."""
    shop.write_suite("queries: [{query: a, must_find: {51: 1, 7: 2}}]\n")
    shop.write_rankings({"a": [51, 7]})

    assert shop.build().verdict == ("PASSED", 0)


# -- Ties ------------------------------------------------------------------------------------------


def with_scores(docs: list[str], *tied: int) -> list[list[object]]:
    """Give falling scores to documents, equal ones at some positions."""
    hits: list[list[object]] = []
    for number, doc in enumerate(docs):
        score = 100.0 - (min(tied) if number in tied else number)
        hits.append([doc, score])
    return hits


def test_order_of_equal_scores_is_not_a_change(shop: Shop) -> None:
    """S10: the engine returns documents with equal scores in another order."""
    shop.write_suite(make_suite())
    shop.write_rankings({query: with_scores(list_docs(query), 0, 1) for query in QUERIES})
    shop.record()
    rankings = {}
    for query in QUERIES:
        docs = list_docs(query)
        rankings[query] = with_scores([docs[1], docs[0], *docs[2:]], 0, 1)
    shop.write_rankings(rankings)

    build = shop.build(*STRICT)

    assert build.verdict == ("PASSED", 0)
    assert "20 rankings differ only in the order of equal scores" in build.text
    assert build.data["suites"][0]["line"] == "20 queries unchanged"


def test_rules_see_tied_documents_as_returned(shop: Shop) -> None:
    """S10: rules, minimums, maximums and check 1 use the order as returned."""
    query = QUERIES[0]
    first = list_docs(query)[0]
    shop.write_suite(make_suite([query], extra={query: f"must_find: {{{first}: 1}}"}))
    shop.write_rankings({query: with_scores(list_docs(query), 0, 1)})
    shop.record()
    docs = list_docs(query)
    shop.write_rankings({query: with_scores([docs[1], docs[0], *docs[2:]], 0, 1)})

    assert shop.build().verdict == ("FAILED", 1)


@pytest.mark.parametrize("constant", [True, False])
def test_scores_that_tie_now_excuse_nothing(shop: Shop, constant: bool) -> None:
    """S17: scores are rounded or made constant, and good documents sink within the ties."""
    shop.write_suite(make_suite())
    shop.write_rankings({query: with_scores(list_docs(query)) for query in QUERIES})
    shop.record()
    rankings = {}
    for query in QUERIES[:10]:
        docs = sink(list_docs(query), 1)
        rankings[query] = with_scores(docs, *range(12 if constant else 4))
    others = {query: with_scores(list_docs(query)) for query in QUERIES[10:]}
    shop.write_rankings({**rankings, **others})

    build = shop.build()

    assert build.verdict == ("FAILED", 1)
    assert build.data["suites"][0]["line"] == "10 of 20 queries worse, 0 better"


@pytest.mark.parametrize(
    ("queries", "depth", "verdict"),
    [
        (1, 12, ("PASSED", 0)),
        (1, 0, ("PASSED", 0)),
        (4, 0, ("INCOMPLETE", 0)),
        (4, 12, ("PASSED", 0)),
    ],
)
def test_document_that_leaves_from_within_a_tie_is_undecided(
    shop: Shop, queries: int, depth: int, verdict: tuple[str, int]
) -> None:
    """S42: a document leaves the top 10 from within a tie at the cutoff."""
    head = f"depth: {depth}\n" if depth else ""
    lines = []
    before, now = {}, {}
    for query in QUERIES:
        docs = list_docs(query)
        lines.append(f"  - {{query: {query}, relevant: {{{docs[0]}: 3, {docs[9]}: 3}}}}")
        before[query] = with_scores(docs, 8, 9, 10, 11)
        now[query] = before[query]
    for query in QUERIES[:queries]:
        docs = list_docs(query)
        now[query] = with_scores([*docs[:9], docs[10], docs[11], docs[9]], 8, 9, 10, 11)
    shop.write_suite(f"{head}queries:\n" + "\n".join(lines) + "\n")
    shop.write_rankings(before)
    shop.record()
    shop.write_rankings(now)

    build = shop.build()

    assert build.verdict == verdict
    if depth:
        assert "end in a tie" not in build.text
    else:
        assert "in a tie at rank 10" in build.text
        assert "depth" in build.text
        assert QUERIES[0] in build.text


def test_last_relevant_document_lost_from_a_tie_fails(shop: Shop) -> None:
    """S42: FAILED by check 1 if it was the last relevant document in the top 10."""
    docs = list_docs(QUERIES[0])
    shop.write_suite(f"queries: [{{query: {QUERIES[0]}, relevant: [{docs[9]}]}}]\n")
    shop.write_rankings({QUERIES[0]: with_scores(docs, 8, 9, 10, 11)})
    shop.record()
    others = [*docs[:9], docs[10], docs[11], docs[9]]
    shop.write_rankings({QUERIES[0]: with_scores(others, 8, 9, 10, 11)})

    assert shop.build().verdict == ("FAILED", 1)


def test_tie_longer_than_half_the_results_excuses_nothing(shop: Shop) -> None:
    """S42: a tie longer than half of 'top_k' excuses nothing."""
    shop.write_suite(make_suite())
    tied = {query: with_scores(list_docs(query), *range(12)) for query in QUERIES}
    shop.write_rankings(tied)
    shop.record()
    worse = {q: with_scores(sink(list_docs(q)), *range(12)) for q in QUERIES[:8]}
    shop.write_rankings({**tied, **worse})

    assert shop.build().verdict == ("FAILED", 1)


# -- Ids and the index -----------------------------------------------------------------------------

INDEX = """
import json
from pathlib import Path

HERE = Path(__file__).parent

class Search:
    def search(self, query, k):
        return json.loads((HERE / "rankings.json").read_text())[query][:k]

    def exists(self, doc_id):
        return doc_id not in json.loads((HERE / "gone.json").read_text())

@pytest.fixture
def retriever():
    return Search()
"""


def test_document_that_left_the_index_is_distinguished(shop: Shop) -> None:
    """S11: a judged document has left the index."""
    shop.write_conftest(INDEX)
    shop.write("gone.json", "[]")
    shop.write_suite(make_suite())
    shop.record()
    gone = list_docs(QUERIES[0], 3)
    shop.write("gone.json", json.dumps(gone))
    shop.break_search(QUERIES[:1], lose)

    build = shop.build()

    assert build.verdict == ("FAILED", 1)
    assert "no longer in the index" in build.text
    findings = {doc["doc_id"]: doc["finding"] for doc in list_documents(build, QUERIES[0])}
    assert findings[gone[0]] == "no longer in the index"


def test_deleted_documents_are_a_notice(shop: Shop) -> None:
    """S27: five judged documents are deleted from the index, and no check fails."""
    shop.write_conftest(INDEX)
    shop.write("gone.json", "[]")
    shop.write_suite(make_suite())
    shop.record()
    gone = [list_docs(query)[2] for query in QUERIES[:2]]
    shop.write("gone.json", json.dumps(gone))
    shop.break_search(QUERIES[:2], lambda docs: [*docs[:2], *docs[3:]])

    build = shop.build()

    assert build.verdict == ("PASSED", 0)
    assert "2 relevant documents are no longer in the index" in build.text
    assert gone[0] in build.text
    assert QUERIES[0] in build.text


def test_prefix_of_all_ids_is_the_headline(shop: Shop) -> None:
    """S43: all ids of documents get a prefix; titles and order stay."""
    shop.write_suite(make_suite())

    def title(prefix: str) -> dict[str, list[dict[str, str]]]:
        rankings = {}
        for query in QUERIES:
            hits = [{"id": f"{prefix}{doc}", "title": doc.upper()} for doc in list_docs(query)]
            rankings[query] = hits
        return rankings

    shop.write_rankings(title(""))
    shop.record()
    shop.write_rankings(title("p-"))

    build = shop.build()

    assert build.verdict == ("FAILED", 1)
    assert "document IDs changed" in build.data["headline"]
    assert "p-" in build.data["headline"]


@pytest.mark.parametrize(
    ("head", "verdict"), [("thresholds: {ndcg@10: 0.5}\n", ("FAILED", 1)), ("", ("INCOMPLETE", 0))]
)
def test_ids_that_do_not_match_are_the_headline(
    shop: Shop, head: str, verdict: tuple[str, int]
) -> None:
    """S70: every id in the suite differs from the ids of the retriever."""
    shop.write_suite(make_suite(head=head))
    shop.break_search(QUERIES, lambda docs: [f"sku:{doc}" for doc in docs])

    build = shop.build()

    assert build.verdict == verdict
    assert "id_field" in build.text
    assert "sku:" in build.top
    assert "red-kettle-1" in build.top


@pytest.mark.parametrize(
    ("grades", "verdict"), [((0, 1, 2), ("PASSED", 0)), ((0, 0, 1), ("FAILED", 1))]
)
def test_assessors_that_disagree_are_named(
    shop: Shop, grades: tuple[int, ...], verdict: tuple[str, int]
) -> None:
    """S29: assessors disagree on one document that decides the outcome."""
    rows = ["query,doc,grade,assessor"]
    for name, grade in zip(("ann", "bob", "eve"), grades, strict=True):
        rows += [f"a,d,{grade},{name}", f"a,e,3,{name}"]
    shop.write("grades.csv", "\n".join(rows) + "\n")
    threshold = "thresholds: {recall@1: {min: 0.4}}\n"
    shop.write_suite(f"judgments: grades.csv\n{threshold}queries: [{{query: a}}]\n")
    shop.write_rankings({"a": ["d", "e"]})

    build = shop.build()

    assert build.verdict == verdict
    if verdict[0] == "FAILED":
        assert "Assessors disagree on d" in build.text
        assert "(0, 0, 1)" in build.text


def test_judgments_of_the_suite_win_over_files(shop: Shop) -> None:
    """S69: the suite corrects a grade that a file has; two files disagree on a document."""
    shop.write("grades.csv", "query,doc,grade\na,bad,3\na,good,3\n")
    queries = "queries: [{query: a, relevant: {bad: 0}}]\n"
    shop.write_suite(f"judgments: grades.csv\nthresholds: {{mrr@10: 0.6}}\n{queries}")
    shop.write_rankings({"a": ["bad", "good"]})

    build = shop.build()
    shop.write("other.csv", "query,doc,grade\na,good,1\n")
    shop.write_suite(f"judgments: [grades.csv, other.csv]\n{queries}")
    disagreeing = shop.build()

    assert build.verdict == ("FAILED", 1)
    assert "mrr@10 is 0.500" in build.text
    assert "1 judgment" in build.text
    assert disagreeing.verdict == ("ERROR", 2)
    assert "grades.csv:3" in disagreeing.text
    assert "other.csv:2" in disagreeing.text


def test_suite_in_which_nothing_can_fail_is_incomplete(shop: Shop) -> None:
    """S28: nothing in the suite can fail, or a rule met no result at all."""
    shop.write_suite(make_suite())

    build = shop.build()
    shop.write_suite("each_query: {every_result: {tenant: a}}\n" + make_suite())
    shop.break_search(QUERIES, lambda docs: [])
    without_results = shop.build()

    assert build.verdict == ("INCOMPLETE", 0)
    assert "shop.ir.yaml" in build.top
    assert "Add a rule, a threshold or a baseline" in build.text
    assert without_results.verdict == ("INCOMPLETE", 0)
    assert "every_result" in without_results.text


# -- Passages --------------------------------------------------------------------------------------

CHUNKS = """
import json
from pathlib import Path

class Help:
    def __init__(self):
        self.chunks = json.loads(Path(__file__).with_name("chunks.json").read_text())

    def search(self, query, k):
        words = query.split()
        order = self.chunks[query]
        return [{"id": f"{query}#{n}", "text": text} for n, text in enumerate(order)][:k]

    def texts(self):
        for query, chunks in self.chunks.items():
            for number, text in enumerate(chunks):
                yield {"id": f"{query}#{number}", "text": text}

@pytest.fixture
def retriever():
    return Help()
"""
PASSAGES = {
    "returns": "You can return an order within thirty days of delivery at no cost.",
    "refunds": "We refund the price within five working days after the parcel came back.",
    "parcels": "A parcel can be tracked with the number in the message that we sent.",
    "address": "The address of an order can be changed until we have packed the parcel.",
}


def write_passages(shop: Shop) -> None:
    lines = []
    for query, passage in PASSAGES.items():
        lines.append(f'  - {{query: {query}, relevant: ["{passage}"]}}')
    shop.write_suite("match: text\ndepth: 20\nqueries:\n" + "\n".join(lines) + "\n")
    shop.write_conftest(CHUNKS)


def chunk(query: str) -> list[str]:
    return [PASSAGES[query], *(f"Other text number {n} about {query}." for n in range(14))]


def test_passages_split_by_a_chunker_are_diagnosed(shop: Shop) -> None:
    """S25, S47: three passages are split, and one is moved down."""
    write_passages(shop)
    shop.write("chunks.json", json.dumps({query: chunk(query) for query in PASSAGES}))
    shop.record()
    chunks = {}
    for query, passage in PASSAGES.items():
        words = passage.split()
        others = chunk(query)[1:]
        chunks[query] = [" ".join(words[:6]), " ".join(words[6:]), *others]
    address = chunk("address")
    chunks["address"] = [*address[1:13], address[0], address[13]]
    shop.write("chunks.json", json.dumps(chunks))

    build = shop.build()

    assert build.verdict == ("FAILED", 1)
    notices = " ".join(notice["text"] for notice in build.data["notices"])
    assert "1 ranked lower" in notices
    assert "3 split across chunks" in notices
    findings = {}
    for query in PASSAGES:
        graded = [doc for doc in list_documents(build, query) if doc["is_relevant"]]
        findings[query] = str(graded[0])
    assert "split across chunks" in findings["returns"]
    assert "returns#0" in findings["returns"]
    assert "returns#1" in findings["returns"]
    assert "13" in findings["address"]


def test_passage_that_is_not_in_the_corpus_is_diagnosed(shop: Shop) -> None:
    """S47: a passage that is not in the corpus."""
    write_passages(shop)
    shop.write("chunks.json", json.dumps({query: chunk(query) for query in PASSAGES}))
    shop.record()
    chunks = {query: chunk(query) for query in PASSAGES}
    chunks["returns"] = chunks["returns"][1:]
    shop.write("chunks.json", json.dumps(chunks))

    build = shop.build("--ir-markdown=out.md")

    assert build.verdict == ("FAILED", 1)
    assert "not in the corpus" in build.text
    assert "not in the corpus" in str(list_documents(build, "returns"))
    assert "not in the corpus" in shop.read("out.md")


def test_markup_and_case_do_not_move_passages(shop: Shop) -> None:
    """S26: a loader drops Markdown markup; the rankings are the same."""
    write_passages(shop)
    marked = {}
    for query in PASSAGES:
        first, *others = chunk(query)
        words = first.split()
        marked[query] = [f"## {words[0]} **{words[1]}**  _{' '.join(words[2:])}_", *others]
    shop.write("chunks.json", json.dumps(marked))
    shop.record()
    shop.write("chunks.json", json.dumps({query: chunk(query) for query in PASSAGES}))

    build = shop.build(*STRICT)

    assert build.verdict == ("PASSED", 0)
    assert build.data["suites"][0]["line"] == "4 queries unchanged"


STAGED = """
import json
from pathlib import Path

DATA = Path(__file__).with_name("stages.json")

class Search:
    def search(self, query, k):
        return json.loads(DATA.read_text())["search"][query][:k]

    def stages(self, query, k):
        stages = json.loads(DATA.read_text())
        return {name: stages[name][query][:k] for name in ("candidates", "reranked")}

@pytest.fixture
def retriever():
    return Search()
"""


def test_document_sunk_by_a_stage_names_the_stage(shop: Shop) -> None:
    """S47: one document is sunk by the reranker, and the last stage that had it is named."""
    shop.write_conftest(STAGED)
    shop.write_suite(make_suite(QUERIES[:5]))
    good = find(QUERIES[:5])
    stages = {"search": good, "candidates": good, "reranked": good}
    shop.write("stages.json", json.dumps(stages))
    shop.record()
    worse = find(QUERIES[:5], QUERIES[:5], lose)
    stages = {"search": worse, "candidates": good, "reranked": worse}
    shop.write("stages.json", json.dumps(stages))

    build = shop.build()

    assert build.verdict == ("FAILED", 1)
    assert "candidates" in str(list_documents(build, QUERIES[0]))


def test_grade_above_the_scale_of_a_metric_with_a_budget_is_an_error(shop: Shop) -> None:
    shop.write_suite(
        "depth: 20\nmetrics: ['ndcg(gains=exp,words=10)']\nqueries: [{query: a, relevant: {d: 5000}}]\n"
    )
    hits = "[{'id': 'd', 'text': 'tea'}, {'id': 'e', 'text': 'tea pot'}]"
    fixture = f"@pytest.fixture\ndef retriever(): return lambda query, k: {hits}\n"
    shop.write("conftest.py", f"import pytest\n\n{fixture}")

    build = shop.build()

    assert build.verdict == ("ERROR", 2)
    assert "The grade 5000 is too high for 'gains=exp'" in build.text
