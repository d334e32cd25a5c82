"""What became of each document of a query."""

from __future__ import annotations

from pytest_irquality.evaluation.comparison import Comparison, compare_runs
from pytest_irquality.evaluation.documents import DocChange, list_documents
from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.model import Settings
from pytest_irquality.suite.rules import MustFind
from tests.builders import EMPTY, GOOD, answer, make_query, make_suite, rank


def compare(before: object, now: object, **fields: object) -> Comparison:
    """Compare the answers to one query."""
    suite = make_suite(queries=[make_query("shoes", rules=(MustFind({"wanted": None}),))])
    baseline_run = answer({"shoes": before}) if before else None  # type: ignore[dict-item]
    return compare_runs(suite, answer({"shoes": now}, **fields), baseline_run)  # type: ignore[dict-item]


def list_ranks(documents: tuple[DocChange, ...]) -> dict[str, tuple[int | None, int | None]]:
    return {document.doc_id: (document.rank_before, document.rank_now) for document in documents}


def find_finding(documents: tuple[DocChange, ...], doc_id: str) -> str:
    [finding] = [str(doc.finding) for doc in documents if doc.doc_id == doc_id]
    return finding


def test_documents_of_both_rankings_and_expected_ones_are_listed() -> None:
    comparison = compare(
        GOOD, rank("junk", "good", scores=(2, 1)), titles={"good": "Good shoe", "best": "Best"}
    )

    documents = list_documents(comparison, "shoes")

    assert list_ranks(documents) == {
        "junk": (None, 1),
        "good": (2, 2),
        "best": (1, None),
        "fair": (3, None),
        "wanted": (None, None),
    }
    assert documents[1] == DocChange(
        "good", "Good shoe", grade=2.0, is_relevant=True, rank_before=2, rank_now=2, score=1
    )
    assert (documents[0].grade, documents[0].is_relevant) == (None, False)
    assert list_documents(comparison, "shoes") == documents


def test_new_query_has_documents_as_well() -> None:
    comparison = compare(None, GOOD)

    assert list_ranks(list_documents(comparison, "shoes"))["best"] == (None, 1)


def test_ranks_are_medians_over_repeats() -> None:
    comparison = compare([GOOD, GOOD, EMPTY], [rank("best"), rank("good", "x", "best"), EMPTY])

    ranks = list_ranks(list_documents(comparison, "shoes"))

    assert ranks["best"] == (1, 3)
    assert ranks["good"] == (2, None)
    assert "x" not in ranks


def test_findings_say_why_an_expected_document_is_missing() -> None:
    """S11."""
    stage = answer({"shoes": rank("x", "y", "fair")})
    deep = rank(*(f"x{number}" for number in range(10)), "good")
    comparison = compare(
        GOOD,
        deep,
        missing_doc_ids=frozenset({"best", "wanted"}),
        stages={"candidates": stage, "rerank": Run()},
    )

    documents = list_documents(comparison, "shoes")

    assert find_finding(documents, "best") == "no longer in the index"
    assert find_finding(documents, "wanted") == "not in the index"
    assert find_finding(documents, "fair") == "not retrieved, but at rank 3 of candidates"
    assert find_finding(documents, "x0") == "None"


def test_document_below_top_k_is_ranked_lower() -> None:
    suite = make_suite(queries=1, settings=Settings(top_k=2, depth=5))
    run = answer({"shop 0": rank("good", "fair", "best")})

    documents = list_documents(compare_runs(suite, run, answer({"shop 0": GOOD})), "shop 0")

    assert find_finding(documents, "best") == "ranked lower"


def test_passages_say_how_they_were_divided() -> None:
    """S25, S47."""
    passages = ("red shoes are in stock today", "blue boots", "green socks", "white hats")
    query = make_query("q", dict.fromkeys(passages, 1.0), passages=passages)
    suite = make_suite(queries=[query], settings=Settings(match="text", top_k=2, depth=5))
    ranking = Ranking(
        ("c1", "c2", "c3"),
        texts=("Our red shoes are", "in stock today. Prices are low.", "Blue boots are here."),
    )
    stage = Ranking(("c4",), texts=("Green socks!",))
    run = answer({"q": ranking}, stages={"candidates": answer({"q": stage})})
    texts = {"c4": "Green socks!", "c5": "Other things."}

    comparison = compare_runs(suite, run, corpus_texts=texts)
    documents = list_documents(comparison, "q")

    assert find_finding(documents, "red shoes are in stock today") == (
        "split across chunks (c1 at rank 1, c2 at rank 2)"
    )
    assert find_finding(documents, "blue boots") == "ranked lower at rank 3"
    assert find_finding(documents, "green socks") == "not retrieved, at rank 1 of candidates"
    assert find_finding(documents, "white hats") == "not in the corpus"
