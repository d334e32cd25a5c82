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
            "*d3 must be in the top 1: it was not returned; in candidates at 3 of 3, not returned",
            "*d99 must be in the top 2: it was not returned; in no stage",
            "* d3  *← in candidates at 3 of 3, not returned",
            "*d4 must be in the top 2: it is at rank 4; further down",
            "*documents: found 1, further down 2, in a stage only 1, in no stage 1",
        ]
    )  # fmt: skip


def test_every_report_counts_what_each_stage_lost(shop: Project) -> None:
    shop.run("--ir-markdown=out.md", "--ir-report=out.html")
    counts = "ocuments: found 1, further down 2, in a stage only 1, in no stage 1"
    assert counts in (shop.path / "out.md").read_text(encoding="utf-8").replace("\\", "")
    page = (shop.path / "out.html").read_text(encoding="utf-8")
    assert counts in page
    assert page.count("<b>Relevant:</b>") == 3
    assert "in a stage only 1, in no stage 1" in page
    (suite,) = shop.data["suites"]
    told = {one["fate"]: one["now"] for one in suite["fates"]["counts"] if one["now"]}
    assert told == {"found": 1, "further down": 2, "in stage": 1, "in no stage": 1}
    assert [[fated[1] for fated in query["fates"]] for query in suite["queries"]] == [
        ["found", "further down"],
        ["in stage", "in no stage"],
        ["further down"],
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
    shop.conftest(RETRIEVER.replace('"desk": ["d9", "d8", "d3"]', '"desk": ["d9", "d8"]'))
    shop.run().stdout.fnmatch_lines(
        ["*documents: in no stage 1 → 2, further down 2, in a stage only 1 → 0, found 1"]
    )


def test_what_a_baseline_never_held_is_unknown(shop: Project) -> None:
    shop.suite(SUITE.replace("candidates recall@100: {min: 0.6, max_drop: 0.05}", "ndcg@2: 0.1"))
    shop.run("--ir-update-baseline")
    shop.run().stdout.fnmatch_lines(
        ["*documents: *in a stage only 1 (unknown then), in no stage 1 (unknown then)*"]
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
    next(line for line in kept if isinstance(line, dict) and "stages" in line and "id" in line).pop(
        "stages"
    )
    file.write_text("\n".join(map(json.dumps, kept)), encoding="utf-8")
    shop.run()
    (finding,) = _findings(shop, "each_query-candidates-recall-100")
    assert (finding["queries"], finding["of"]) == (2, 3)
    shop.run("-k", "candidates").stdout.fnmatch_lines(["*only 2 of 3 queries compared*"])


def test_a_retriever_without_candidates_fails_what_needs_them(shop: Project) -> None:
    shop.conftest(WITHOUT)
    shop.run().stdout.fnmatch_lines(
        ["*candidates recall@100 is undefined: the retriever tells nothing of that stage*"]
    )
    assert shop.outcomes()["candidates-recall-100"] == "failed"
    assert "documents: found" not in shop.run().stdout.str()


def test_candidates_that_cannot_be_had_are_no_fault_of_the_query(shop: Project) -> None:
    shop.conftest(FAILS)
    result = shop.run("-v")
    result.stdout.fnmatch_lines(
        [
            "*ERROR at setup of candidates-recall-100*",
            "*AssertionError: no candidates today*",
            "*the candidates of 1 of 3 (33 %) queries could not be had: candidates: AssertionError*",
        ]
    )
    outcomes = shop.outcomes()
    assert outcomes["candidates-recall-100"] == "error"
    assert outcomes["lamp"] == "failed"
    shop.suite(SUITE.replace("top_k", "errors: {max: 1}\ntop_k").replace(", max_drop: 0.05", ""))
    shop.run("-v")
    assert shop.outcomes()["candidates-recall-100"] == "passed"


def test_an_update_keeps_candidates_only_where_they_are_measured(shop: Project) -> None:
    shop.run("--ir-update-baseline")
    file = shop.path / ".ir-baseline" / "shop.jsonl"
    assert '"stages":{"candidates":{"docs":["d7","d2","d1"]}}' in file.read_text(encoding="utf-8")
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
    assert [q["fates"] for q in shop.data["suites"][0]["queries"]] == [
        q["fates"] for q in alone["suites"][0]["queries"]
    ]
    assert shop.data["suites"][0]["facts"] == alone["suites"][0]["facts"]


# -- several stages ----------------------------------------------------------------------------------

HYBRID = """
class Hybrid:
    dense = {"chair": ["d7", "d2"], "desk": ["d9", "d3"], "lamp": ["x1"]}
    sparse = {"chair": ["d1"], "desk": ["d8"], "lamp": ["d4", "x2"]}
    ranked = {"chair": ["d7", "d1", "d2"], "desk": ["d9", "d8"], "lamp": ["x1", "x2"]}

    def search(self, query, k):
        return self.ranked[query][:k]

    def stages(self, query, k):
        fused = [*self.dense[query], *self.sparse[query]]
        return {"dense": self.dense[query], "BM25": self.sparse[query], "fused": fused}

@pytest.fixture
def retriever():
    return Hybrid()
"""
OF_EACH = SUITE.replace(
    "candidates recall@100: {min: 0.6, max_drop: 0.05}",
    "dense candidates recall@100: {min: 0.3, max_drop: 0.05}\n  BM25 candidates recall@5: {min: 0.4}",
)


@pytest.fixture
def hybrid(project: Project) -> Project:
    project.suite(OF_EACH)
    project.conftest(HYBRID)
    return project


def test_each_stage_is_measured_and_the_last_that_holds_a_document_is_told(hybrid: Project) -> None:
    hybrid.run("--ir-update-baseline")
    result = hybrid.run()
    result.stdout.fnmatch_lines(
        [
            "*d3 must be in the top 1: it was not returned; in fused at 2 of 3, not returned",
            "*d4 must be in the top 2: it was not returned; in fused at 2 of 3, not returned",
        ]
    )  # fmt: skip
    means = {mean["measure"]: mean["value"] for mean in hybrid.data["suites"][0]["means"]}
    assert means["dense candidates recall@100"] == pytest.approx((0.5 + 0.5 + 0) / 3)
    assert means["BM25 candidates recall@5"] == pytest.approx((0.5 + 0 + 1) / 3)
    kept = (hybrid.path / ".ir-baseline" / "shop.jsonl").read_text(encoding="utf-8")
    assert '"stages":{"dense":{"docs":["d7","d2"]},"BM25":{"docs":["d1"]}}' in kept
    assert "fused" not in kept  # nothing measures it
    hybrid.conftest(HYBRID.replace('"chair": ["d7", "d2"]', '"chair": ["d7"]'))
    hybrid.run()
    outcomes = hybrid.outcomes()
    assert outcomes["dense-candidates-recall-100"] == "failed"
    assert outcomes["BM25-candidates-recall-5"] == "passed"


def test_what_was_kept_of_stages_is_judged_alike(hybrid: Project) -> None:
    hybrid.run("--ir-save-runs=kept")
    asked = hybrid.data
    hybrid.run("--ir-runs=kept")
    (now,), (kept,) = asked["suites"], hybrid.data["suites"]
    for told in ("means", "queries", "verdicts", "fates"):
        assert now[told] == kept[told]


def test_the_bare_form_names_the_stages(hybrid: Project) -> None:
    hybrid.suite(SUITE)
    hybrid.run().stdout.fnmatch_lines(
        ["*no stage 'candidates': the retriever's are dense, BM25, fused, and measures are*'dense candidates recall@100'*"]
    )  # fmt: skip
    assert hybrid.outcomes()["candidates-recall-100"] == "error"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["d1"], "stages(query, k) gives a mapping of stages"),
        ({"dense": None}, "None is no list of hits"),
        ({"a b": ["d1"], "dense": ["d1"]}, "a stage's name is one word"),
    ],
)
def test_stages_that_cannot_be_read_are_told(tmp_path: Any, given: Any, told: str) -> None:
    class Odd:
        search = staticmethod(lambda query, k: ["d1"])
        stages = staticmethod(lambda query, k: given)

    suite = asked_of(tmp_path)
    run = retrieve(suite, Odd())
    assert run.first.rankings["chair"].ids == ("d1",)
    assert any(told in str(stage.faults) for stage in run.stages.values())


def test_a_stage_that_one_query_lacks_is_no_empty_list(tmp_path: Any) -> None:
    class Routed:
        search = staticmethod(lambda query, k: ["d1"])

        def stages(self, query: str, k: int) -> Any:
            return {"dense": ["d1"], **({"sparse": ["d3"]} if query == "desk" else {})}

    text = SUITE.replace("candidates recall", "dense candidates recall")
    (tmp_path / "s.ir.yaml").write_text(text, encoding="utf-8")
    suite = load_suite(tmp_path / "s.ir.yaml")
    run = retrieve(suite, Routed())
    assert set(run.stages["sparse"].answered) == {"desk"}
    assert "no stage 'sparse' came for this query" in run.stages["sparse"].faults["lamp"].message
    fates = {query.id: query.fates for query in judge(suite, run).queries}
    assert {fated.now for fated in fates["lamp"]} == {"not returned"}
    assert [fated.now for fated in fates["desk"]] == ["in stage", "in no stage"]


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
    assert [fated.now for fated in result.queries[0].fates] == ["in stage", "found"]
    found = next(v for v in result.verdicts if v.query == "q").findings[0].ranked[0]
    assert found.loss is not None
    assert (found.loss.fate, found.loss.rank, found.loss.of) == ("in stage", 2, 3)
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
    assert result.fates is not None
    assert all(one.before in (one.now, None) for one in result.fates.counts)


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
    text = SUITE.replace("relevant:", "variants: [other words], relevant:", 1)
    text += "robustness: {candidates recall@5: {max_drop: 0.1}}\n"
    (tmp_path / "s.ir.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(SuiteError, match="candidates of variants are not asked for"):
        load_suite(tmp_path / "s.ir.yaml")


def _findings(project: Project, check: str) -> list[dict[str, Any]]:
    (suite,) = project.data["suites"]
    (verdict,) = (verdict for verdict in suite["verdicts"] if verdict["check"] == check)
    findings: list[dict[str, Any]] = verdict["findings"]
    return findings
