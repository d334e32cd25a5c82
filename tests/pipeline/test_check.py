"""``check``: what the command says, from Python."""

from __future__ import annotations

import gc
import html
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_irquality import (
    CheckResult,
    IRQualityWarning,
    NotJudged,
    SearchQualityError,
    SuiteError,
    check,
    own_measure,
)
from tests.conftest import Project

EXAMPLE = Path(__file__).parents[2] / "example_project"
SUITE = """
queries:
  - {query: chair, relevant: [d1], tags: [a]}
  - {query: desk, id: q2, relevant: [d2], must_find: {d2: 1}, known_issue: SHOP-1}
thresholds: {mrr@10: 0.5}
"""
GOOD = {"chair": ["d1"], "desk": ["d9", "d2"]}
BAD = {"chair": ["d8"], "desk": ["d9"]}


def search(query: str, k: int) -> list[str]:
    return GOOD[query][:k]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.ir.yaml").write_text(SUITE)
    return tmp_path


def test_reading_and_judging_make_no_cycles_for_they_pause_the_collector(folder: Path) -> None:
    def cycles(queries: int) -> int:
        """Values that only the collector frees, after a check against a baseline."""
        texts = [f"chair {n}" for n in range(queries)]
        suite = folder / f"many{queries}.ir.yaml"
        suite.write_text(
            "thresholds: {mrr@10: {max_drop: 0.1}}\nqueries:\n"
            + "".join(f"- {{query: {text}, relevant: [d1, d2]}}\n" for text in texts)
        )
        check(suite, lambda query, k: ["d1", "d3"], update_baseline=True)
        gc.collect()
        check(suite, lambda query, k: ["d3", "d2"])
        return gc.collect()

    was_running = gc.isenabled()
    gc.disable()
    try:
        assert cycles(60) - cycles(10) < 25
    finally:
        if was_running:
            gc.enable()


@pytest.mark.parametrize("broken", [False, True], ids=["green", "red"])
def test_it_says_what_the_command_says(
    project: Project, broken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    shutil.copytree(EXAMPLE, project.path, dirs_exist_ok=True)
    source = project.path / "shop_search.py"
    if broken:
        source.write_text(
            source.read_text("utf-8").replace('"title": 8.0', '"title": 1.0'), "utf-8"
        )
    command = project.run("-v")
    sys.modules.pop("shop_search", None)
    sys.path.insert(0, str(project.path))
    try:
        from shop_search import ShopSearch  # type: ignore[import-not-found,unused-ignore]
    finally:
        sys.path.remove(str(project.path))
        sys.modules.pop("shop_search", None)
    shop = ShopSearch()
    result = check("shop.ir.yaml", shop.search)
    shop.close()
    assert result.failed == (command.ret == 1) == broken
    seen = [line.rstrip() for line in command.outlines]
    for line in str(result).splitlines():
        assert line.rstrip() in seen
    assert len(result.failures) == sum(line.startswith("FAILED ") for line in seen)


def test_a_known_issue_is_no_failure(folder: Path) -> None:
    result = check("shop.ir.yaml", search)
    assert not result.failed
    assert result.failures == ()
    result.raise_for_failures()
    assert "known issue SHOP-1" in str(result)
    assert (
        repr(result)
        == "<CheckResult shop: Search is as good as demanded: 2 queries, 1 limit holds, 1 known issue, but nothing was compared>"
    )


def test_what_failed_is_raised_in_full(folder: Path) -> None:
    result = check("shop.ir.yaml", lambda query: BAD[query])
    with pytest.raises(SearchQualityError, match=r"mrr@10 is 0.000, below its floor 0.500"):
        result.raise_for_failures()
    with pytest.raises(AssertionError, match=r"at shop\.ir\.yaml:5"):
        result.raise_for_failures()


def test_the_committed_baseline_is_compared_with_and_can_be_written(folder: Path) -> None:
    (folder / "shop.ir.yaml").write_text(SUITE.replace("0.5", "0.2"))
    written = check("shop.ir.yaml", search, update_baseline=True)
    assert "baseline written: .ir-baseline/shop.jsonl" in str(written)
    lost = check("shop.ir.yaml", lambda query: ["d8"] if query == "chair" else GOOD[query])
    assert "each_query: lost_all_relevant" in str(lost)
    assert lost.failed
    assert not check(
        "shop.ir.yaml", lambda query: ["d8"] if query == "chair" else GOOD[query], baseline=False
    ).failed
    shutil.move(folder / ".ir-baseline", folder / "kept")
    assert check(
        "shop.ir.yaml",
        lambda query: ["d8"] if query == "chair" else GOOD[query],
        baseline="kept/shop.jsonl",
    ).failed


def test_several_retrievers_stand_side_by_side(folder: Path) -> None:
    (folder / "shop.ir.yaml").write_text(SUITE + "baseline: {retriever: bm25}\n")
    worse = {"hybrid": lambda query: BAD[query], "bm25": search}
    result = check("shop.ir.yaml", retrievers=worse)
    assert [one.retriever for one in result.results] == ["bm25", "hybrid"]
    assert result.failed
    assert "retrievers side by side" in str(result)
    with pytest.raises(ValueError, match="compares with the retriever 'bm25'; here: 'hybrid'"):
        check("shop.ir.yaml", retrievers={"hybrid": search})


def test_a_call_that_fails_is_an_error_of_its_query(folder: Path) -> None:
    def fails(query: str) -> list[str]:
        raise ConnectionError("refused")

    result = check("shop.ir.yaml", fails)
    assert result.failed
    assert "ConnectionError: refused" in str(result)


def test_a_notebook_shows_the_report_in_a_frame_of_its_own(folder: Path) -> None:
    shown = check("shop.ir.yaml", search)._repr_html_()
    (page,) = re.findall(r'^<iframe srcdoc="([^"]*)"', shown)
    assert html.unescape(page).startswith("<!doctype html>")
    assert html.unescape(page).rstrip().endswith("</html>")


def test_mistakes_are_told_in_one_line(folder: Path) -> None:
    with pytest.raises(SuiteError, match=r"^nope\.ir\.yaml:1:1: no such file$"):
        check("nope.ir.yaml", search)
    for given in ({}, {"retriever": search, "retrievers": {"a": search}}):
        with pytest.raises(TypeError, match="takes a retriever, or retrievers by name"):
            check("shop.ir.yaml", **given)  # type: ignore[arg-type]


PASSAGES = """
match: text
queries:
  - {query: chair, relevant: [paid within thirty days of the receipt of the goods]}
  - {query: desk, relevant: [keep the receipt for a year after the purchase]}
"""
ELSEWHERE = "corpus: {files: chunks.jsonl}"


class Unreadable:
    """A search whose ``texts()`` are none."""

    def search(self, query: str) -> list[dict[str, str]]:
        return [{"id": "k1", "text": query}]

    def texts(self) -> list[int]:
        return [1]


def nothing(ranking: object, grades: object, k: int) -> float:
    """A measure that fails."""
    raise KeyError(k)


@pytest.mark.parametrize(
    ("suite", "given", "said"),
    [
        (
            SUITE,
            {"baseline": "nope"},
            "^--ir-baseline nope: there is no such file or folder; a revision is git:nope$",
        ),
        (
            SUITE,
            {"baseline": "shop.ir.yaml"},
            r"^shop\.ir\.yaml:1: empty$",
        ),
        (SUITE, {"retriever": 5}, r"\(shop\.ir\.yaml\)$"),
        (f"params: {{nope: 1}}{SUITE}", {}, r"'nope' of 'params' \(shop\.ir\.yaml:1\)$"),
        (PASSAGES, {"retriever": Unreadable()}, r"it returned \[1\]"),
        (SUITE, {"measures": [own_measure("mine", nothing)] * 2}, "mine"),
        (f"metrics: [mine@3]{SUITE}", {"measures": [own_measure("mine", nothing)]}, "mine"),
        (
            ELSEWHERE.replace("}", ", missing: fail}") + PASSAGES,
            {},
            r"^shop\.ir\.yaml:1: 2 passages stand whole in no chunk of the corpus",
        ),
    ],
)
def test_what_cannot_be_judged_is_one_kind_of_error(
    folder: Path, suite: str, given: dict[str, Any], said: str
) -> None:
    (folder / "shop.ir.yaml").write_text(suite)
    (folder / "chunks.jsonl").write_text('{"id": "k1", "text": "nothing of this"}\n')
    with pytest.raises(NotJudged, match=said) as raised:
        check("shop.ir.yaml", **{"retriever": search, **given})
    assert "\n" not in str(raised.value)


def test_a_suite_reads_the_files_of_its_project_and_what_it_is_allowed(tmp_path: Path) -> None:
    shop, data = tmp_path / "shop", tmp_path / "data"
    shop.mkdir()
    data.mkdir()
    (shop / "shop.ir.yaml").write_text(f"judgments: ../data/qrels.trec{SUITE}")
    (data / "qrels.trec").write_text("q2 0 d2 1\n")
    with pytest.raises(SuiteError, match="leads outside the project"):
        check("shop.ir.yaml", search, start=shop)
    assert not check("shop.ir.yaml", search, start=shop, files=[str(data)]).failed


def test_passages_in_no_chunk_are_a_warning(folder: Path) -> None:
    (folder / "shop.ir.yaml").write_text(ELSEWHERE + PASSAGES)
    (folder / "chunks.jsonl").write_text('{"id": "k1", "text": "nothing of this"}\n')
    with pytest.warns(IRQualityWarning, match="2 passages stand whole in no chunk of the corpus"):
        check("shop.ir.yaml", lambda query: [{"id": "k1", "text": "nothing of this"}])


def test_baselines_that_nothing_needs_are_named_and_those_in_need_stay(folder: Path) -> None:
    check("shop.ir.yaml", search, update_baseline=True)
    (folder / "shop.ir.yaml").rename(folder / "store.ir.yaml")
    shutil.copy(folder / "store.ir.yaml", folder / "third.ir.yaml")
    taken = check("store.ir.yaml", search, update_baseline=True)
    assert "shop.jsonl stays: third.ir.yaml is compared with it, too" in str(taken)
    check("third.ir.yaml", search, update_baseline=True)
    assert not (folder / ".ir-baseline/shop.jsonl").exists()


def test_two_runs_are_not_kept_in_one_file(folder: Path) -> None:
    suite = folder / "shop.ir.yaml"
    suite.write_text(suite.read_text() + "baseline: {retriever: A}\n")
    with pytest.raises(NotJudged, match=r"\[A\] and shop\.ir\.yaml \[a\] would be kept in one"):
        check(suite, retrievers={"A": search, "a": search}, update_baseline=True)


def test_doubts_are_warnings_at_their_line(folder: Path) -> None:
    (folder / "shop.ir.yaml").write_text(SUITE.replace("relevant: [d1], ", ""))
    with pytest.warns(IRQualityWarning) as caught:
        check("shop.ir.yaml", search)
    assert [(Path(one.filename).name, one.lineno) for one in caught] == [("shop.ir.yaml", 3)]


def test_measures_of_the_projects_own(folder: Path) -> None:
    def firsts(ranking: Any, grades: Any, k: int) -> float:
        """How many of the first results are called d1."""
        return float(list(ranking[:k]).count("d1"))

    (folder / "shop.ir.yaml").write_text(SUITE + "metrics: [firsts@3]\n")
    own = own_measure("firsts", firsts, range=(0, 3), needs_relevant=False)
    result: CheckResult = check("shop.ir.yaml", search, measures=[own])
    mean = result.results[0].mean("firsts@3")
    assert mean is not None
    assert mean.value == 0.5
