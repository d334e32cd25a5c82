"""A document that leaves from within a tie at the cut: still there, gone, or nobody knows."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_irquality import check
from tests.conftest import Project

SUITE = (
    "queries: [{query: a, relevant: [r]}, {query: b, relevant: [s]}]\n"
    "depth: 3\ntop_k: 3\nthresholds: {recall@3: {max_drop: 0.1}}\n"
)
THEN = {"a": ["top", "r", "x", "y", *(f"t{n}" for n in range(20))], "b": ["s"]}
TIED = {**THEN, "a": ["top", "y", "x", "t0", "t1", "r", "t2", "t3", "low"]}
GONE = {**THEN, "a": ["top", "y", "x", "t0", "t1", "low"]}
LONG = {**THEN, "a": ["top", "y", "x", *(f"t{n}" for n in range(20))]}

ENGINE = """
import json, pathlib
HERE = pathlib.Path(__file__).parent
def scored(id):
    return {{"top": 9.5, "s": 4.5, "low": 1.5}}.get(id, 3.5)
def search(query, k):
    with open(HERE / "asked", "a") as file:
        print(query, k, file=file)
    found = json.loads((HERE / "index.json").read_text())[query]
    {more}
    return [(id, scored(id)) for id in found[:k]]
@pytest.fixture
def retriever():
    return {fixture}
"""


def engine(
    project: Project, index: dict[str, list[str]], more: str = "", fixture: str = "search"
) -> None:
    project.conftest(ENGINE.format(more=more or "pass", fixture=fixture))
    (project.path / "index.json").write_text(json.dumps(index))


def asked(project: Project) -> list[str]:
    """What was asked since one last looked."""
    file = project.path / "asked"
    lines = file.read_text().splitlines() if file.exists() else []
    file.unlink(missing_ok=True)
    return sorted(lines)


def changed(
    project: Project, now: dict[str, list[str]], *args: str, text: str = SUITE, **how: str
) -> pytest.RunResult:
    """A run after a baseline was made of what was returned before."""
    project.suite(text)
    engine(project, THEN, **how)
    assert project.run("--ir-update-baseline", *args).ret == 0
    asked(project)
    (project.path / "index.json").write_text(json.dumps(now))
    return project.run(*args)


def told(project: Project) -> tuple[dict[str, Any], str]:
    suite = project.data["suites"][0]
    return suite, "\n".join(suite["notes"])


def test_s42_found_further_down_at_the_same_score_it_is_tied(project: Project) -> None:
    result = changed(project, TIED)
    assert result.ret == 0
    assert asked(project) == ["a 12", "a 3", "b 3"]
    suite, notes = told(project)
    assert suite["ledger"]["queries"] == {"compared": 2}
    assert suite["verdicts"][0]["outcome"] == "passed"
    assert "none of" not in notes
    assert "1 of 2 (50 %) rankings differ in equal scores only, which is no drift" in notes
    assert "changed" not in notes
    mean = suite["means"][0]
    assert (mean["value"], mean["change"]["now"]) == (0.5, 1.0)
    result.stdout.fnmatch_lines(["*held in the order of equal scores only: recall@3*"])
    result.stdout.no_fnmatch_line("*no ranking now*")


def test_s42_where_the_tie_ends_without_it_it_is_lost(project: Project) -> None:
    result = changed(project, GONE)
    assert result.ret == 1
    assert asked(project) == ["a 12", "a 3", "b 3"]
    assert "failed" in project.outcomes()["recall-3"]
    assert project.outcomes()["each_query-lost_all_relevant"] == "failed"
    suite, notes = told(project)
    assert suite["ledger"]["queries"] == {"compared": 2}
    assert "1 of 2 (50 %) rankings changed" in notes
    assert "unsettled" not in notes


OTHERWISE = "found = found[::-1] if k > 3 else found"
FAILS = "assert k < 4, 'no more than 3'"
NO_MORE = "found = found[:3]"


@pytest.mark.parametrize(
    ("now", "more"),
    [(LONG, ""), (TIED, OTHERWISE), (TIED, FAILS), (TIED, NO_MORE)],
    ids=["a longer tie", "another answer", "no answer", "never more"],
)
def test_s42_what_nobody_knows_has_no_tick_and_is_called_no_loss(
    project: Project, now: dict[str, list[str]], more: str
) -> None:
    result = changed(project, now, text=SUITE.replace("0.1", "0.9"), more=more)
    assert result.ret == 0
    suite, notes = told(project)
    assert suite["ledger"]["queries"] == {"tie unsettled": 1, "compared": 1}
    assert suite["outcome"] == "partial"
    assert "1 query is unsettled" in notes
    assert "'a' r 2 → not returned; ask the engine" in notes
    assert "with a larger 'depth' in the suite" in notes
    assert project.outcomes()["each_query-lost_all_relevant"] == "passed"
    assert "no ranking now" not in notes
    assert "none of" not in notes
    mean = suite["means"][0]
    assert (mean["value"], mean["change"]["now"]) == (0.5, 0.5)
    result.stdout.fnmatch_lines(
        ["! PARTIAL*equal scores at the cut leave open what was lost: 'a'*"]
    )


def test_unsettled_queries_are_judged_as_returned_and_refused_where_strict(
    project: Project,
) -> None:
    assert changed(project, LONG).ret == 1
    assert project.outcomes()["recall-3"] == "failed"
    (project.path / "pytest.ini").write_text("[pytest]\nir_strict = true\n")
    project.suite(SUITE.replace("0.1", "0.9"))
    assert project.run().ret == 1


def test_what_did_not_matter_is_not_asked_for(project: Project) -> None:
    result = changed(project, {**THEN, "a": ["top", "r", "y", "x"]})
    assert result.ret == 0
    assert asked(project) == ["a 3", "b 3"]
    assert "1 of 2 (50 %) rankings changed" in told(project)[1]


def test_one_that_came_from_within_the_tie_is_no_gain_either(project: Project) -> None:
    now = {**THEN, "a": ["top", "y", "x", "r"]}
    text = SUITE.replace("relevant: [r]", "relevant: [y]")
    changed(project, now, text=text)
    mean = told(project)[0]["means"][0]
    assert (mean["value"], mean["change"]["before"], mean["change"]["now"]) == (1.0, 0.5, 0.5)


def test_without_judgments_every_document_matters(project: Project) -> None:
    text = "queries: [{query: a}, {query: b}]\ndepth: 3\ntop_k: 3\n"
    result = changed(project, {**THEN, "a": ["top", "y", "t0", "r", "x", "low"]}, text=text)
    assert result.ret == 0
    assert asked(project) == ["a 12", "a 3", "b 3"]
    assert told(project)[0]["ledger"]["queries"] == {"compared": 2}


BATCH = "type('Engine', (), {'batch': staticmethod(lambda queries, k: [search(one, k) for one in queries])})()"
ASYNC = "lambda query, k: __import__('asyncio').sleep(0, search(query, k))"


@pytest.mark.parametrize(
    ("more", "fixture"),
    [
        ("", ASYNC),
        ("", BATCH),
        ("concurrency: 2\n", "search"),
        ("timeout: 60s\n", "search"),
    ],
    ids=["async", "batch", "threads", "timeout"],
)
def test_however_it_is_asked(project: Project, more: str, fixture: str) -> None:
    assert changed(project, TIED, text=SUITE + more, fixture=fixture).ret == 0
    assert [line for line in asked(project) if line.endswith(" 12")] == ["a 12"]
    assert told(project)[0]["ledger"]["queries"] == {"compared": 2}


def test_first_stage_and_other_wordings_are_not_asked_again(project: Project) -> None:
    text = SUITE.replace("relevant: [r]", "relevant: [r], variants: [aa]")
    then = {**THEN, "aa": ["top"]}
    project.suite(text)
    staged = "type('E', (), {'search': staticmethod(search), 'candidates': staticmethod(lambda query, k: search(query, 1000))})()"
    engine(project, then, fixture=staged)
    assert project.run("--ir-update-baseline").ret == 0
    asked(project)
    (project.path / "index.json").write_text(json.dumps({**then, **TIED}))
    assert project.run().ret == 0
    lines = asked(project)
    assert (lines.count("aa 3"), lines.count("a 1000"), lines.count("a 12"), len(lines)) == (
        1,
        1,
        1,
        6,
    )


def test_every_answer_of_several_is_settled(project: Project) -> None:
    assert changed(project, TIED, "--ir-repeat=3").ret == 0
    assert asked(project) == ["a 12", "a 3", "a 3", "a 3", "b 3", "b 3", "b 3"]
    suite, _ = told(project)
    assert suite["ledger"]["queries"] == {"compared": 2}
    assert suite["means"][0]["change"]["now"] == 1.0
    assert changed(project, GONE, "--ir-repeat=3").ret == 1


@pytest.mark.parametrize("now", [TIED, GONE, LONG], ids=["tied", "gone", "unsettled"])
def test_a_kept_run_is_judged_as_it_was(project: Project, now: dict[str, list[str]]) -> None:
    first = changed(project, now, "--ir-save-runs=runs")
    suite = told(project)[0]
    asked(project)
    again = project.run("--ir-runs=runs")
    assert asked(project) == []
    assert again.ret == first.ret
    replayed = told(project)[0]
    for name in ("ledger", "means"):
        assert replayed[name] == suite[name]
    assert "deeper" in (project.path / "runs/shop.jsonl").read_text()
    assert "deeper" not in (project.path / ".ir-baseline/shop.jsonl").read_text()


def test_a_kept_run_that_was_never_asked_deeper_says_so(project: Project) -> None:
    changed(project, TIED, "--ir-save-runs=runs")
    kept = project.path / "runs/shop.jsonl"
    kept.write_text(re.sub(r',"deeper":\{.*?\}(?=\})', "", kept.read_text()))
    asked(project)
    project.run("--ir-runs=runs")
    assert asked(project) == []
    suite, notes = told(project)
    assert suite["ledger"]["queries"] == {"tie unsettled": 1, "compared": 1}
    assert "a kept run may have no deeper answer" in notes


def test_an_update_takes_nothing_of_it_into_the_baseline(project: Project) -> None:
    changed(project, TIED)
    assert project.run("--ir-update-baseline").ret == 0
    assert "deeper" not in (project.path / ".ir-baseline/shop.jsonl").read_text()


@pytest.mark.slow
def test_the_deeper_calls_are_in_no_latency(project: Project) -> None:
    slow = "__import__('time').sleep(3 if k > 3 else 0)"
    text = SUITE + "metrics: [latency_p95]\n"
    changed(project, TIED, text=text, more=slow)
    assert asked(project).count("a 12") == 1
    (latency,) = [
        one["value"] for one in told(project)[0]["means"] if one["measure"] == "latency_p95"
    ]
    assert latency < 1


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["-n1", "-n2"])
def test_under_xdist(project: Project, workers: str) -> None:
    changed(project, LONG, workers, text=SUITE.replace("0.1", "0.9"))
    assert told(project)[0]["ledger"]["queries"] == {"tie unsettled": 1, "compared": 1}
    assert set(asked(project)) == {"a 12", "a 3", "b 3"}


def test_each_of_several_retrievers_is_asked(project: Project) -> None:
    project.suite(SUITE)
    engine(project, THEN)
    conftest = project.path / "conftest.py"
    text = conftest.read_text().replace(
        "@pytest.fixture\n", "@pytest.fixture(params=['one', 'two'])\n"
    )
    conftest.write_text(text.replace("def retriever()", "def retriever(request)"))
    assert project.run("--ir-update-baseline").ret == 0
    asked(project)
    (project.path / "index.json").write_text(json.dumps(TIED))
    assert project.run().ret == 0
    assert asked(project).count("a 12") == 2


def test_the_same_from_python(tmp_path: Path) -> None:
    (tmp_path / "s.ir.yaml").write_text(SUITE)
    index = THEN

    def search(query: str, k: int) -> list[tuple[str, float]]:
        scores = {"top": 9.5, "s": 4.5, "low": 1.5}
        return [(id, scores.get(id, 3.5)) for id in index[query][:k]]

    check("s.ir.yaml", search, update_baseline=True, start=tmp_path)
    for index, passed, unsettled in ((TIED, True, 0), (GONE, False, 0), (LONG, False, 1)):  # noqa: B007
        found = check("s.ir.yaml", search, start=tmp_path)
        assert (not found.failed) == passed
        queries = found.results[0].ledger.queries
        assert queries.get("tie unsettled", 0) == unsettled


PASSAGES = (
    "match: text\nqueries: [{query: a, relevant: ['the red fox runs far away'], must_find: []}]\n"
    "depth: 2\ntop_k: 2\nthresholds: {recall@2: {max_drop: 0.1}}\n"
)


def chunks(*texts: str) -> str:
    hits = [{"id": f"c{text[:3]}", "score": 3.5, "text": text} for text in texts]
    return f"HITS = {hits!r}\n@pytest.fixture\ndef retriever():\n    return lambda query, k: HITS[:k]\n"


FOX, CUT = "and the red fox runs far away from it", "and the red fox"
ONE, TWO, THREE = "one plain text", "two plain texts", "few plain texts"


@pytest.mark.parametrize(
    ("now", "red"),
    [
        ((ONE, FOX), False),
        ((ONE, TWO, FOX), False),
        ((ONE, CUT, TWO), True),
        ((ONE, TWO, THREE), True),
    ],
    ids=["other order", "further down", "text cut", "gone"],
)
def test_a_passage_is_there_only_with_its_text(
    project: Project, now: tuple[str, ...], red: bool
) -> None:
    project.suite(PASSAGES.replace(", must_find: []", ""))
    project.conftest(chunks(FOX, ONE, TWO))
    assert project.run("--ir-update-baseline").ret == 0
    project.conftest(chunks(*now))
    assert project.run().ret == red
    assert told(project)[0]["ledger"]["queries"] == {"compared": 1}


def test_the_calls_count_in_the_budget(project: Project) -> None:
    changed(project, TIED)
    (project.path / "pytest.ini").write_text("[pytest]\nir_max_calls = 3\n")
    result = project.run()
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*ask for 4 calls for 30 results*allows 3 calls*"])
    (project.path / "pytest.ini").write_text("[pytest]\nir_max_calls = 4\n")
    assert project.run().ret == 0
