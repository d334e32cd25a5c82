"""What a retriever's first stage gave: asked once, kept, measured, and told where a document was lost."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from typing import Any

import pytest

from pytest_irquality import judge, load_suite, retrieve
from pytest_irquality.metrics import MeasureError, parse_measure
from pytest_irquality.suite import SuiteError
from pytest_irquality.verdict.facts import LostInStages
from pytest_irquality.verdict.findings import Candidate, Stages
from tests.conftest import Project

SUITE = """
top_k: 2
depth: 10
metrics: [ndcg@2]
thresholds:
  candidates recall@100: {min: 0.6, max_drop: 0.05}
queries:
  - {query: chair, relevant: {d1: 3, d2: 2}, must_find: {d2: 2}}
  - {query: desk, relevant: [d3, d99], must_find: {d3: 1, d99: 2}}
  - {query: lamp, relevant: [d4], must_find: [d4]}
"""
RETRIEVER = """
class TwoStages:
    found = {"chair": ["d7", "d2", "d1"], "desk": ["d9", "d8", "d3"], "lamp": ["d4"]}
    ranked = {"chair": ["d7", "d1", "d2"], "desk": ["d9", "d8"], "lamp": ["x1", "x2", "x3", "d4"]}

    def search(self, query, k):
        return self.ranked[query][:k]

    def candidates(self, query, k):
        return self.found[query][:k]

@pytest.fixture
def retriever():
    return TwoStages()
"""
WORSE = RETRIEVER.replace('["d7", "d2", "d1"], "desk"', '["d7", "d2"], "desk"')
FAILS = RETRIEVER.replace(
    "return self.found[query][:k]",
    "assert query != 'lamp', 'no candidates today'\n        return self.found[query][:k]",
)
WITHOUT = RETRIEVER.replace("def candidates", "def something_else")


@pytest.fixture
def shop(project: Project) -> Project:
    project.suite(SUITE)
    project.conftest(RETRIEVER)
    return project


def test_a_failure_says_where_each_document_was_lost(shop: Project) -> None:
    shop.run().stdout.fnmatch_lines(
        [
            "*d3 must be in the top 1: it was not returned; candidate 3, lost by the reranker",
            "*d99 must be in the top 2: it was not returned; never a candidate",
            "*d3  ← candidate 3, lost by the reranker",
            "*d4 must be in the top 2: it is at rank 4; the reranker sank it 1 → 4",
            "*relevant documents by stage, over 3 queries with up to 100 candidates each:"
            " 1 of 5 (20 %) in the top 2; 3 sunk by the reranker; 1 never among the candidates",
        ]
    )  # fmt: skip


def test_every_report_counts_what_each_stage_lost(shop: Project) -> None:
    shop.run("--ir-markdown=out.md", "--ir-report=out.html")
    counts = "1 of 5 (20 %) in the top 2; 3 sunk by the reranker; 1 never among the candidates"
    assert counts in (shop.path / "out.md").read_text(encoding="utf-8").replace("\\", "")
    page = (shop.path / "out.html").read_text(encoding="utf-8")
    assert counts in page
    assert page.count("<b>Relevant documents:</b>") == 3
    assert "0 of 2 (0 %) in the top 2; 1 sunk by the reranker; 1 never among the candidates" in page
    (suite,) = shop.data["suites"]
    fact = next(fact for fact in suite["facts"] if fact["kind"] == "lost_in_stages")
    assert fact["now"] == {"relevant": 5, "found": 1, "sunk": 3, "never": 1}
    assert [query["stages"] for query in suite["queries"]] == [
        {"relevant": 2, "found": 1, "sunk": 1, "never": 0},
        {"relevant": 2, "found": 0, "sunk": 1, "never": 1},
        {"relevant": 1, "found": 0, "sunk": 1, "never": 0},
    ]


def test_a_limit_on_candidates_is_one_like_any_other(shop: Project) -> None:
    shop.run("--ir-update-baseline")
    shop.run()
    assert shop.outcomes()["candidates-recall-100"] == "passed"
    shop.conftest(WORSE)
    shop.run().stdout.fnmatch_lines(
        ["*candidates recall@100 fell 0.833 → 0.667, by 0.167: more than max_drop 0.050*"]
    )
    assert [q["before"] == q["compared"] for q in shop.data["suites"][0]["queries"]] == [
        False, True, True,
    ]  # fmt: skip


def test_stages_are_compared_with_those_of_the_baseline(shop: Project) -> None:
    shop.run("--ir-update-baseline")
    shop.conftest(WORSE)
    shop.run().stdout.fnmatch_lines(
        ["*3 sunk by the reranker; 1 never among the candidates"]
    )  # d1 is in the top, wherever it came from
    shop.conftest(RETRIEVER.replace('"d2", "d1"], "desk"', '"d1"], "desk"'))
    shop.run().stdout.fnmatch_lines(
        ["*2 sunk by the reranker (3 before); 2 never among the candidates (1 before)"]
    )


def test_a_baseline_without_candidates_never_lets_a_drop_pass(shop: Project) -> None:
    shop.conftest(WITHOUT)
    shop.suite(SUITE.replace("min: 0.6, ", "warn_below: 0.1, "))
    shop.run("--ir-update-baseline")
    shop.conftest(RETRIEVER)
    shop.run().stdout.fnmatch_lines(["*the baseline holds no candidates of them; renew it with*"])
    assert shop.outcomes()["candidates-recall-100"] == "failed"
    shop.run("--ir-update-baseline")
    shop.run()
    assert shop.outcomes()["candidates-recall-100"] == "passed"


def test_a_query_whose_candidates_were_not_kept_is_not_new(shop: Project) -> None:
    shop.suite(SUITE.replace("candidates recall@100: {min", "ndcg@2: {max").replace(
        "max: 0.6, max_drop: 0.05", "max_drop: 0.05") + "each_query:\n  candidates recall@100: {max_drop: 0.1}\n")  # fmt: skip
    shop.run("--ir-update-baseline")
    file = shop.path / ".ir-baseline" / "shop.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines()
    kept = [json.loads(line) for line in lines if line]
    next(
        line for line in kept if isinstance(line, dict) and "candidates" in line and "id" in line
    ).pop("candidates")
    file.write_text("\n".join(map(json.dumps, kept)), encoding="utf-8")
    shop.run()
    (finding,) = _findings(shop, "each_query-candidates-recall-100")
    assert (finding["queries"], finding["of"]) == (2, 3)
    shop.run("-k", "candidates").stdout.fnmatch_lines(["*only 2 of 3 queries compared*"])


def test_a_retriever_without_candidates_fails_what_needs_them(shop: Project) -> None:
    shop.conftest(WITHOUT)
    shop.run().stdout.fnmatch_lines(
        ["*candidates recall@100 is undefined: the retriever has no candidates(query, k)*"]
    )
    assert shop.outcomes()["candidates-recall-100"] == "failed"
    assert "by stage" not in shop.run().stdout.str()


def test_candidates_that_cannot_be_had_are_no_fault_of_the_query(shop: Project) -> None:
    shop.conftest(FAILS)
    result = shop.run()
    result.stdout.fnmatch_lines(
        [
            "*ERROR at setup of candidates-recall-100*",
            "*AssertionError: no candidates today*",
            "*the candidates of 1 of 3 (33 %) queries could not be had: AssertionError*",
        ]
    )
    outcomes = shop.outcomes()
    assert outcomes["candidates-recall-100"] == "error"
    assert outcomes["lamp"] == "failed"
    shop.suite(SUITE.replace("top_k", "errors: {max: 1}\ntop_k").replace(", max_drop: 0.05", ""))
    shop.run()
    assert shop.outcomes()["candidates-recall-100"] == "passed"


def test_an_update_keeps_candidates_only_where_they_are_measured(shop: Project) -> None:
    shop.run("--ir-update-baseline")
    file = shop.path / ".ir-baseline" / "shop.jsonl"
    assert '"candidates":{"docs":["d7","d2","d1"]}' in file.read_text(encoding="utf-8")
    shop.run("--ir-update-baseline").stdout.fnmatch_lines(["*baseline unchanged*"])
    shop.conftest(WORSE)
    shop.run("--ir-update-baseline").stdout.fnmatch_lines(["*baseline written*1 ranking changed*"])
    file.unlink()
    shop.suite(SUITE.replace("candidates recall@100: {min: 0.6", "ndcg@2: {min: 0.01"))
    shop.run("--ir-update-baseline")
    assert "candidates" not in file.read_text(encoding="utf-8")


def test_a_kept_run_holds_them(shop: Project) -> None:
    shop.run("--ir-save-runs=kept")
    asked = shop.data
    shop.conftest(WITHOUT)
    shop.run("--ir-runs=kept")
    (now,), (kept,) = asked["suites"], shop.data["suites"]
    for told in ("means", "queries", "verdicts"):
        assert now[told] == kept[told]
    deeper = SUITE.replace("candidates recall@100", "candidates recall@500")
    shop.suite(deeper)
    shop.run("--ir-runs=kept").stdout.fnmatch_lines(
        ["*has 100 candidates a query, and the suite reads 500: retrieve it again"]
    )


@pytest.mark.slow
def test_workers_of_xdist_tell_the_same(shop: Project) -> None:
    shop.run()
    alone = shop.data
    shop.run("-n2")
    assert [q["stages"] for q in shop.data["suites"][0]["queries"]] == [
        q["stages"] for q in alone["suites"][0]["queries"]
    ]
    assert shop.data["suites"][0]["facts"] == alone["suites"][0]["facts"]


# -- asking ------------------------------------------------------------------------------------------


def asked_of(tmp_path: Any, **keys: Any) -> Any:
    more = "".join(f"{key}: {value}\n" for key, value in keys.items())
    (tmp_path / "shop.ir.yaml").write_text(more + SUITE, encoding="utf-8")
    return load_suite(tmp_path / "shop.ir.yaml")


class Counting:
    """Counts the calls of each stage."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, int]] = []

    def search(self, query: str, k: int) -> list[str]:
        self.calls.append(("search", query, k))
        return ["d1", "d2"]

    def candidates(self, query: str, k: int) -> list[tuple[str, float]]:
        self.calls.append(("candidates", query, k))
        return [("d2", 2.0), ("d1", 1.0)]


def test_they_are_asked_once_and_as_deep_as_they_are_read(tmp_path: Any) -> None:
    retriever = Counting()
    suite = asked_of(tmp_path, repeat=3)
    run = retrieve(suite, retriever)
    texts = ["chair", "desk", "lamp"]
    assert retriever.calls == [("search", text, 10) for _ in range(3) for text in texts] + [
        ("candidates", text, 100) for text in texts
    ]
    assert run.stages["candidates"].depth == 100
    assert run.stages["candidates"].first.rankings["chair"].ids == ("d2", "d1")
    assert len(run.answers) == 3


def test_threads_and_time_outs_are_theirs_too(tmp_path: Any) -> None:
    hang = threading.Event()
    threads = set()

    class Slow(Counting):
        def candidates(self, query: str, k: int) -> list[tuple[str, float]]:
            threads.add(threading.current_thread())
            if query == "desk":
                hang.wait(20)
            return super().candidates(query, k)

    run = retrieve(asked_of(tmp_path, timeout="200ms", concurrency=3), Slow())
    hang.set()
    assert set(run.first.rankings) == {"chair", "desk", "lamp"}
    assert run.stages["candidates"].faults["desk"].message.startswith("no answer within 0.2 s")
    assert threading.main_thread() not in threads


def test_coroutines_are_awaited(tmp_path: Any) -> None:
    class Awaited:
        async def search(self, query: str, k: int) -> list[str]:
            await asyncio.sleep(0)
            return ["d1"]

        async def candidates(self, query: str, k: int) -> list[str]:
            await asyncio.sleep(0)
            return ["d1", "d3"]

    run = retrieve(asked_of(tmp_path), Awaited())
    assert run.stages["candidates"].first.rankings["desk"].ids == ("d1", "d3")


def test_a_function_may_have_them_and_so_may_what_takes_batches(tmp_path: Any) -> None:
    def search(query: str, k: int) -> list[str]:
        return ["d1"]

    search.candidates = lambda query, k: ["d1", "d2"]  # type: ignore[attr-defined]

    class Batched:
        def batch(self, queries: list[str], k: int) -> list[list[str]]:
            return [["d1"] for _ in queries]

        candidates = staticmethod(search.candidates)  # type: ignore[attr-defined]

    for retriever in (search, Batched()):
        run = retrieve(asked_of(tmp_path), retriever)
        assert run.stages["candidates"].first.rankings["lamp"].ids == ("d1", "d2")


def test_they_are_in_no_latency(tmp_path: Any) -> None:
    class Slow(Counting):
        def candidates(self, query: str, k: int) -> list[tuple[str, float]]:
            time.sleep(0.02)
            return super().candidates(query, k)

    run = retrieve(asked_of(tmp_path), Slow())
    assert max(r.seconds or 0 for r in run.first.rankings.values()) < 0.02
    assert min(r.seconds or 0 for r in run.stages["candidates"].first.rankings.values()) >= 0.02


# -- facts -------------------------------------------------------------------------------------------


def test_stages_of_passages(tmp_path: Any) -> None:
    (tmp_path / "s.ir.yaml").write_text(
        'match: text\ntop_k: 1\nthresholds: {candidates recall@5: 0.5}\nqueries:\n'
        '  - {query: q, relevant: ["paid within 14 days", "keep the receipt"], must_find: ["keep the receipt"]}\n',
        encoding="utf-8",
    )  # fmt: skip
    suite = load_suite(tmp_path / "s.ir.yaml")

    class Chunks:
        def search(self, query: str, k: int) -> list[dict[str, str]]:
            return [{"text": "They are paid within 14 days of it."}]

        def candidates(self, query: str, k: int) -> list[dict[str, str]]:
            return [{"text": "a"}, {"text": "Please *keep* the receipt."}, *self.search(query, k)]

    result = judge(suite, retrieve(suite, Chunks()))
    assert result.queries[0].stages == Stages(2, 1, 1, 0)
    found = next(v for v in result.verdicts if v.query == "q").findings[0].ranked[0]
    assert found.candidate == Candidate(2, 3)
    assert next(m.value for m in result.means if m.measure == "candidates recall@5") == 1.0


def test_ties_among_candidates_are_no_drift(tmp_path: Any) -> None:
    suite = asked_of(tmp_path)

    class Tied(Counting):
        def __init__(self, order: list[str]) -> None:
            super().__init__()
            self.order = order

        def candidates(self, query: str, k: int) -> list[tuple[str, float]]:
            return [(id, 1.0) for id in self.order]

    one, other = retrieve(suite, Tied(["d1", "d2"])), retrieve(suite, Tied(["d2", "d1"]))
    result = judge(suite, one, before=other)
    assert next(q for q in result.queries if q.id == "chair").compared is not None
    fact = next(fact for fact in result.facts if isinstance(fact, LostInStages))
    assert fact.before == fact.now


def test_names_of_measures_of_candidates() -> None:
    assert str(parse_measure("candidates recall@100")) == "candidates recall@100"
    assert str(parse_measure("Candidates Weighted nDCG@5")) == "weighted candidates ndcg@5"
    assert parse_measure("weighted candidates ndcg@5") == parse_measure(
        "candidates weighted ndcg@5"
    )
    assert parse_measure("candidates recall@5") != parse_measure("recall@5")
    with pytest.raises(MeasureError, match="candidates is written twice"):
        parse_measure("candidates candidates recall@5")


def test_the_depth_of_rankings_is_not_that_of_candidates(tmp_path: Any) -> None:
    suite = asked_of(tmp_path)
    assert (suite.depth, suite.depth_of("candidates")) == (10, 100)
    (tmp_path / "t.ir.yaml").write_text(
        SUITE.replace("depth: 10\n", "").replace("@100", "@250"), encoding="utf-8"
    )
    suite = load_suite(tmp_path / "t.ir.yaml")
    assert (suite.depth, suite.depth_of("candidates")) == (2, 250)


def test_variants_have_no_candidates(tmp_path: Any) -> None:
    text = SUITE + "perturb: [typo]\nrobustness:\n  typo: {candidates recall@5: {max_drop: 0.1}}\n"
    (tmp_path / "s.ir.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(SuiteError, match="candidates of variants are not asked for"):
        load_suite(tmp_path / "s.ir.yaml")


def _findings(project: Project, check: str) -> list[dict[str, Any]]:
    (suite,) = project.data["suites"]
    (verdict,) = (verdict for verdict in suite["verdicts"] if verdict["check"] == check)
    findings: list[dict[str, Any]] = verdict["findings"]
    return findings
