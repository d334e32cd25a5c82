"""Measures of what the reader of the results gets: budgets of words and tokens."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_irquality import judge, load_suite, retrieve
from pytest_irquality.metrics import MeasureError, parse_measure
from pytest_irquality.retrieval import RetrieverError
from pytest_irquality.suite import SuiteError
from tests.conftest import Project

TEXTS = {
    "d1": "one two three",
    "d2": "one two three four five six",
    "d3": "one",
    "d4": "one two",
}
SUITE = """
depth: 10
metrics: [recall@10, "recall(words=4)", "ndcg(words=4)"]
queries:
  - {query: chair, relevant: [d1, d3]}
  - {query: desk, relevant: [d2]}
  - {query: lamp, relevant: [d4]}
"""
RETRIEVER = """
TEXTS = {texts!r}
FOUND = {{"chair": ["d1", "d3", "d2"], "desk": ["d2", "d1"], "lamp": ["d4"]}}

class Engine:
    def search(self, query, k):
        return [{{"id": id, "text": TEXTS[id], "score": 1 / n}} for n, id in enumerate(FOUND[query], 1)]

    def tokens(self, text):
        return list(text)

@pytest.fixture
def retriever():
    return Engine()
"""


def retriever(**longer: str) -> str:
    return RETRIEVER.format(texts={**TEXTS, **longer})


@pytest.fixture
def shop(project: Project) -> Project:
    project.suite(SUITE)
    project.conftest(retriever())
    return project


def values(project: Project, query: str) -> dict[str, Any]:
    (suite,) = project.data["suites"]
    found = next(one for one in suite["queries"] if one["id"] == query)
    return dict(zip(suite["measures"], found["values"], strict=True))


def test_whole_results_count_while_they_fit(shop: Project) -> None:
    shop.run()
    chair, desk, lamp = (values(shop, query) for query in ("chair", "desk", "lamp"))
    assert (chair["recall(words=4)"], chair["ndcg(words=4)"]) == (1, 1)
    assert (desk["recall(words=4)"], desk["ndcg(words=4)"], desk["recall@10"]) == (0, 0, 1)
    assert lamp["recall(words=4)"] == 1


def test_longer_texts_are_a_drop_though_no_ranking_changed(shop: Project) -> None:
    limits = 'thresholds: {"recall(words=4)": {max_drop: 0.1}}\n'
    shop.suite(limits + SUITE)
    shop.run("--ir-update-baseline")
    assert '"counts":{"words":[3,1,6]}' in (shop.path / ".ir-baseline" / "shop.jsonl").read_text(
        encoding="utf-8"
    )
    shop.run("--ir-update-baseline", "--ir-save-runs=kept").stdout.fnmatch_lines(
        ["*baseline unchanged*"]
    )
    assert set(shop.outcomes().values()) == {"passed"}
    shop.conftest(retriever(d1="one two three four five six"))
    shop.run()
    failed = {name for name, outcome in shop.outcomes().items() if outcome == "failed"}
    assert failed == {"recall-words=4"}
    asked = shop.data["suites"][0]
    shop.run("--ir-save-runs=later")
    shop.conftest("")
    shop.run("--ir-runs=later")
    assert shop.data["suites"][0]["means"] == asked["means"]
    assert shop.data["suites"][0]["verdicts"] == asked["verdicts"]


def test_a_baseline_without_counts_never_lets_a_drop_pass(shop: Project) -> None:
    shop.suite(SUITE.replace('"recall(words=4)", "ndcg(words=4)"', "mrr"))
    shop.run("--ir-update-baseline")
    shop.suite('thresholds: {"recall(words=4)": {max_drop: 0.1}}\n' + SUITE)
    shop.run().stdout.fnmatch_lines(["*no query here has a value on both sides; renew it with*"])
    assert shop.outcomes()["recall-words=4"] == "failed"
    shop.run("--ir-update-baseline")
    shop.run()
    assert shop.outcomes()["recall-words=4"] == "passed"


def suite_of(tmp_path: Any, text: str, **options: Any) -> Any:
    (tmp_path / "s.ir.yaml").write_text(text, encoding="utf-8")
    return load_suite(tmp_path / "s.ir.yaml", **options)


class Engine:
    def __init__(self, **found: Any) -> None:
        self.found = found

    def search(self, query: str, k: int) -> Any:
        return self.found[query]


CHUNKS = (
    {"id": "c1", "text": "It is paid within 14 days."},
    {
        "id": "c2",
        "text": "Keep the receipt.",
    },
)
PASSAGES = """
match: text
depth: 10
metrics: ["recall(tokens=6)", "recall(tokens=26)", "recall(tokens=60)"]
queries:
  - {query: q, relevant: [paid within 14 days, keep the receipt]}
"""


def test_tokens_are_counted_by_the_retriever(tmp_path: Any) -> None:
    suite = suite_of(tmp_path, PASSAGES)
    engine = Engine(q=CHUNKS)
    with pytest.raises(RetrieverError, match=r"no method tokens\(text\)"):
        retrieve(suite, engine)
    for tokens in (len, list):
        engine.tokens = tokens  # type: ignore[attr-defined]
        (query,) = judge(suite, retrieve(suite, engine)).queries
        assert query.values == (0, 0.5, 1)
    engine.tokens = lambda text: None  # type: ignore[attr-defined]
    with pytest.raises(RetrieverError, match="gives a number or a list of tokens"):
        retrieve(suite, engine)


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (["d1", "d2"], "a measure over texts needs the text of each hit"),
        ([{"id": "d1"}], "a measure over texts needs the text of each hit"),
    ],
)
def test_what_cannot_be_counted_is_an_error_of_its_query(
    tmp_path: Any, result: Any, told: str
) -> None:
    run = retrieve(suite_of(tmp_path, SUITE), Engine(chair=result, desk=[], lamp=result))
    assert told in run.faults["chair"].message
    assert run.first.rankings["desk"].counts == {"words": ()}


def test_ids_stay_those_of_documents(tmp_path: Any) -> None:
    hits = [{"id": "d1", "text": "one two"}, {"id": "d1", "text": "three"}, {"id": "d2", "text": "a b c"}]  # fmt: skip
    suite = suite_of(tmp_path, "depth: 10\nmetrics: ['recall(words=3)', 'recall(words=6)']\nqueries: [{query: q, relevant: [d2]}]\n")  # fmt: skip
    run = retrieve(suite, Engine(q=hits))
    assert run.first.rankings["q"].ids == ("d1", "d1", "d2")
    assert run.first.texts == {}
    assert judge(suite, run).queries[0].values == (0, 1)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("recall(words=4)@3", "write a cutoff or one budget"),
        ("recall(words=4,tokens=4)", "write a cutoff or one budget"),
        ("recall(words=4.5)", "words is a whole number"),
        ("rank_of_first(words=4)", "rank_of_first has no parameter 'words'"),
        ("candidates recall(words=4)", "a budget is of what is returned"),
    ],
)
def test_what_no_budget_is(text: str, told: str) -> None:
    with pytest.raises(MeasureError, match=told):
        parse_measure(text)


def test_names_of_budgets() -> None:
    assert str(parse_measure("Recall( Tokens = 4000 )")) == "recall(tokens=4000)"
    assert str(parse_measure("weighted map(words=30,rel=2)")) == "weighted map(rel=2,words=30)"
    assert parse_measure("recall(tokens=40)") == parse_measure("recall(tokens=40.0)")


def test_a_budget_needs_a_depth(tmp_path: Any) -> None:
    with pytest.raises(SuiteError, match=r"recall\(words=4\) needs 'depth'"):
        suite_of(tmp_path, SUITE.replace("depth: 10\n", ""))
