"""``check()``: a suite and a search, evaluated without pytest."""

from __future__ import annotations

from pathlib import Path

import pytest

import pytest_irquality
from pytest_irquality import (
    BaselineError,
    Outcome,
    SearchQualityError,
    SuiteError,
    check,
    make_own_metric,
)
from tests.project import Project

SUITE = """\
thresholds:
  recall@10: {min: 0.5}
queries:
  - {query: red shoes, relevant: [a]}
  - {query: blue shoes, relevant: [b], must_find: [b]}
"""


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "shop.ir.yaml"
    path.write_text(SUITE)
    return path


def search(query: str) -> list[str]:
    return {"red shoes": ["a"], "blue shoes": ["b", "c"]}[query]


def search_badly(query: str) -> list[str]:
    return ["x"]


def test_sound_search_passes(suite: Path) -> None:
    report = check("shop.ir.yaml", search, baseline=None, root=".")

    assert report.outcome is Outcome.PASSED
    assert not report.failed
    assert "PASSED" in str(report)
    report.raise_for_failures()


def test_failures_are_raised_with_their_texts(suite: Path) -> None:
    report = check(suite, search_badly)

    assert report.failed
    assert len(report.failures) == 2
    with pytest.raises(SearchQualityError, match="blue shoes"):
        report.raise_for_failures()


def test_call_that_fails_is_an_error_of_its_query(suite: Path) -> None:
    def search_or_fail(query: str) -> list[str]:
        if query == "red shoes":
            raise OSError("down")
        return ["b"]

    report = check(suite, search_or_fail)

    assert report.outcome is Outcome.FAILED
    assert any("no answer" in text for text in report.failures)


def test_baseline_is_recorded_and_compared_with(suite: Path) -> None:
    suite.write_text(
        "queries:\n" + "".join(f"  - {{query: q{n}, relevant: [a]}}\n" for n in range(8))
    )

    check(suite, lambda query: ["a", "x"], update_baseline=True)
    worse = check(suite, lambda query: ["x", "a"])
    not_compared = check(suite, lambda query: ["x", "a"], baseline=False)

    assert worse.failed
    assert not not_compared.failed


def test_baseline_is_the_one_that_pytest_records(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = [f"q{number}" for number in range(8)]
    rows = "".join(f"  - {{query: {query}, relevant: [a]}}\n" for query in queries)
    project.write_suite(f"queries:\n{rows}")
    project.write_rankings({query: ["a"] for query in queries})
    project.run("--ir-update-baseline")
    monkeypatch.chdir(project.path)

    assert check("shop.ir.yaml", lambda query: ["x", "a"]).failed


def test_another_branch_is_compared_with(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = [f"q{number}" for number in range(8)]
    rows = "".join(f"  - {{query: {query}, relevant: [a]}}\n" for query in queries)
    project.write_suite(f"queries:\n{rows}")
    project.write_rankings({query: ["a"] for query in queries})
    project.run("--ir-update-baseline")
    project.commit()
    project.start_branch()
    project.write_suite("thresholds: {ndcg@10: {max_drop: 0.9}}\nqueries:\n" + rows)
    monkeypatch.chdir(project.path)

    report = check("shop.ir.yaml", lambda query: ["x", "a"], baseline="git:main")

    assert report.outcome is Outcome.REVIEW


def test_several_retrievers_are_evaluated_by_name(suite: Path) -> None:
    report = check(suite, retrievers={"good": search, "bad": search_badly})

    outcomes = {str(e.suite.retriever): e.outcome for e in report.decision.current.evaluations}
    assert outcomes == {"retriever[good]": Outcome.PASSED, "retriever[bad]": Outcome.FAILED}
    assert all(text.startswith("bad: ") for text in report.failures)


def test_retriever_under_baseline_is_compared_with(suite: Path) -> None:
    text = "baseline: {retriever: old_retriever}\n"
    suite.write_text(text + SUITE.replace("{min: 0.5}", "{max_drop: 0.1}"))

    report = check(suite, retrievers={"new": search_badly, "old_retriever": search})

    assert report.failed
    assert len(report.decision.current.evaluations) == 1
    with pytest.raises(ValueError, match="compares with 'old_retriever'"):
        check(suite, search)
    with pytest.raises(ValueError, match="Pass it and another one"):
        check(suite, retrievers={"old_retriever": search})


def test_own_metrics_are_known(suite: Path) -> None:
    def count(ids: list[str], grades: object, k: int) -> float:
        return float(len(ids))

    metric = make_own_metric("result_count", count, range=(0, 100), cutoff=False)
    suite.write_text(SUITE.replace("recall@10: {min: 0.5}", "result_count: {min: 1}"))

    assert check(suite, search, metrics=[metric]).outcome is Outcome.PASSED


def test_report_is_a_page_in_a_notebook(suite: Path) -> None:
    report = check(suite, search)

    assert "<html" in report.to_html()
    assert report._repr_html_().startswith("<iframe")
    assert "PASSED" in repr(report)


def test_mistakes_are_raised(suite: Path) -> None:
    suite.write_text("queries:\n  - querry: a\n")

    with pytest.raises(SuiteError, match=r"shop\.ir\.yaml:2"):
        check(suite, search)
    with pytest.raises(TypeError, match="either 'retriever' or 'retrievers'"):
        check(suite, retrievers={})
    with pytest.raises(ValueError, match="must be at least 1"):
        check(suite, search, concurrency=0)


def test_every_public_name_can_be_imported() -> None:
    for name in dir(pytest_irquality):
        assert getattr(pytest_irquality, name) is not None
    with pytest.raises(AttributeError):
        _ = pytest_irquality.nothing


@pytest.mark.parametrize(
    ("baseline", "error", "message"),
    [
        ("run:main", ValueError, "cannot run the code of another branch"),
        ("nothing.run", BaselineError, "There is no file or folder 'nothing.run'"),
        ("git:nothing", BaselineError, "nothing"),
    ],
)
def test_baseline_that_cannot_be_used_is_an_error(
    suite: Path, baseline: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        check(suite, lambda query: ["a"], baseline=baseline)
