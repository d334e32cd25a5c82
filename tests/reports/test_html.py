from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from pytest_irquality.baselines.history import HistoryEntry
from pytest_irquality.reports.html import MAX_PAGE_ROWS, render_html
from pytest_irquality.reports.query_rows import QUERY_COLUMNS
from pytest_irquality.reports.view_model import MARKED_BYTES, OUTPUT_MARKER
from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.model import RetrieverId, Settings
from pytest_irquality.suite.rules import MustFind
from tests.reports.builders import (
    LOST,
    SETTINGS,
    SWAPPED,
    make_query,
    make_run,
    make_suite,
    make_threshold,
    make_view,
)

VOID = {"meta", "input", "br", "img", "link"}


class Page(HTMLParser):
    """The texts and attributes of a page, which fails if tags are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.data = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["script"] and not self.data:
            self.data = data
        elif self.open[-1:] not in (["script"], ["style"]):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def unpack(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(self.data)))
        return data


def render_failed(**fields: Any) -> str:
    queries = [make_query(f"q{n}", tags=("head",)) for n in range(20)]
    suite = make_suite(queries=queries, thresholds=[make_threshold("ndcg@10", min=0.9)], **fields)
    return render_html(make_view(suite, make_run(suite, worse=10), make_run(suite)))


def test_headline_begins_with_the_outcome() -> None:
    page = Page(render_failed())

    assert "✗ FAILED Search got worse for 10 of 20 queries" in page.text
    assert "faster-index 0123456789 compared with .ir-baseline" in page.text


def test_page_is_recognized_as_ours() -> None:
    assert OUTPUT_MARKER.encode() in render_failed().encode()[:MARKED_BYTES]


def test_page_loads_nothing_from_elsewhere() -> None:
    text = render_failed()
    page = Page(text)

    policy = next(attrs["content"] for tag, attrs in page.tags if "http-equiv" in attrs)
    assert policy is not None
    assert "default-src 'none'" in policy
    assert not re.findall(r"(?:src|href)=\"(?!#|data:)[^\"]+\"", text)
    assert not any("style" in attrs for _, attrs in page.tags)


def test_overview_is_complete_without_scripts() -> None:
    page = Page(render_failed())

    assert "Oak Table 1 → 4" in page.text
    assert "now first: Garden Hose" in page.text
    assert "below 0.9" in page.text
    assert "Rerun what failed" in page.text
    for column in QUERY_COLUMNS:
        assert column.heading in page.text


def test_data_cannot_become_markup() -> None:
    query = make_query("</script><img src=x onerror=alert(1)>", tags=("<b>",))
    suite = make_suite("<i>shop", [query, make_query("ok")], path="a.ir.yaml")

    text = render_html(make_view(suite, make_run(suite, worse=1), make_run(suite)))

    assert "<img" not in text
    assert "<i>shop" not in text
    assert Page(text).unpack()["suites"][0]["texts"][0].startswith("</script>")


def test_data_keeps_its_writing_direction_to_itself() -> None:
    """Findings, section 5: a cell that begins with Arabic showed 7 → 1 for 1 → 7."""
    suite = make_suite(queries=[make_query("حذاء"), make_query("ok")])

    page = Page(render_html(make_view(suite, make_run(suite, worse=1), make_run(suite))))

    assert ("b", {"dir": "auto"}) in page.tags
    (cells,) = [suite["cells"]["moved"][0] for suite in page.unpack()["suites"]]
    assert cells[:2] == [["Oak Table"], " 1 → 4, "]


def test_script_gets_every_query_with_its_documents() -> None:
    data = Page(render_failed()).unpack()

    (suite,) = data["suites"]
    assert len(suite["texts"]) == len(suite["documents"]) == len(suite["details"]) == 20
    number, before, now, grade, finding = suite["documents"][0][:5]
    assert (data["titles"][number], before, now) == ("Garden Hose", 0, 1)
    assert data["grades"][grade] == ["unjudged", "unjudged"]
    assert data["texts"][finding] == []
    worse = 1 << data["kinds"].index("worse")
    assert sum(bool(kinds & worse) for kinds in suite["kinds"]) == 10
    assert data["texts"][suite["details"][0]["rerun"]] == [
        {"code": "pytest --ir-suite shop.ir.yaml::q0"}
    ]


@pytest.mark.slow
def test_page_of_very_many_queries_has_those_that_changed() -> None:
    queries = [make_query(f"q{n}", is_sampled=True) for n in range(MAX_PAGE_ROWS + 10)]
    suites = [make_suite("first", queries[:20]), make_suite("second", queries[20:])]
    last = queries[-1].text
    view = make_view(suites, make_run(suites, {last: LOST}), make_run(suites))

    page = Page(render_html(view))

    changed, other = page.unpack()["suites"]
    assert len(changed["texts"]) + len(other["texts"]) == MAX_PAGE_ROWS
    assert changed["texts"][-1] == last
    (row,) = [attributes for tag, attributes in page.tags if attributes.get("data-row")]
    assert changed["texts"][int(row["data-row"] or 0)] == last
    sentence = "These are the 20,000 queries that failed, changed most or have the lowest values."
    assert sentence in page.text
    assert "has all 20,010." in page.text


@pytest.mark.slow
def test_page_of_very_many_queries_has_the_lowest_values_if_none_changed() -> None:
    tags = {MAX_PAGE_ROWS + 5: ("t1",)}
    texts = [f"q{n}" for n in range(MAX_PAGE_ROWS + 10)]
    queries = []
    for number, text in enumerate(texts):
        queries.append(make_query(text, is_sampled=True, tags=tags.get(number, ("t10",))))
    suite = make_suite("first", queries)
    run = make_run(suite, {texts[-1]: LOST})

    data = Page(render_html(make_view(suite, run, run))).unpack()

    (shown,) = data["suites"]
    assert shown["texts"][-1] == texts[-1]
    # Its queries are left out, but a link to the tag finds none of those tagged "t10".
    assert [data["tags"][number] for tags in shown["tags"] for number in tags].count("t1") == 0
    assert "t1" in data["tags"]


def test_notices_are_grouped_by_severity() -> None:
    suite = make_suite()

    page = Page(
        render_html(make_view(suite, make_run(suite, worse=1, ranking=LOST), make_run(suite)))
    )

    assert re.search(r"\d+ notices", page.text)


def test_review_shows_base_checks_and_edits() -> None:
    base_suite = make_suite(thresholds=[make_threshold("ndcg@10", min=0.9)])
    suite = make_suite(queries=15, thresholds=[make_threshold("ndcg@10", min=0.2, max_drop=0.9)])
    run = make_run([suite, base_suite], worse=10)

    page = Page(render_html(make_view(suite, run, make_run(base_suite), base_suite)))

    assert "Checks of the base branch" in page.text
    assert "What this change edits in shop" in page.text
    assert "5 queries removed, 1 threshold lowered" in page.text


def test_suites_without_changes_are_folded_if_there_are_many() -> None:
    suites = [make_suite(f"suite {number:02}", 8) for number in range(30)]
    run = make_run(suites, {query.text: LOST for query in suites[0].queries[:6]})

    page = Page(render_html(make_view(suites, run, make_run(suites))))

    assert "29 more suites passed, with no query better or worse" in page.text
    assert page.text.count("8 queries unchanged") == 29


def test_history_has_an_axis_and_dates() -> None:
    suite = make_suite()
    entries = []
    for day, value in ((1, 0.9), (2, 0.95)):
        date = f"2026-11-0{day}T08:00:00Z"
        entries.append(HistoryEntry("shop.ir.yaml", "retriever", "", date, {"ndcg@10": value}))
    settings = replace(SETTINGS, history=tuple(entries))

    page = Page(render_html(make_view(suite, make_run(suite), settings=settings)))

    assert "shop · ndcg@10 over 3 builds" in page.text
    assert "2026-11-01" in page.text
    assert "0.950" in page.text


def test_empty_build_has_a_page() -> None:
    page = Page(render_html(make_view([], make_run([]))))

    assert "INCOMPLETE" in page.text


def test_failure_that_no_tile_shows_is_named_on_the_overview() -> None:
    suite = make_suite(queries=60, thresholds=[make_threshold("ndcg@10", min=0.8)])
    view = make_view(suite, make_run(suite, worse=1, ranking=LOST), make_run(suite))

    overview = Page(render_html(view)).text.partition("What got worse")[0]

    assert "lost all its relevant documents" in overview


def test_first_run_shows_the_weakest_queries() -> None:
    suite = make_suite(queries=5)

    page = Page(render_html(make_view(suite, make_run(suite, worse=1))))

    assert "Lowest ndcg@10 shop 0" in page.text


def test_history_shows_the_threshold() -> None:
    suite = make_suite(thresholds=[make_threshold("ndcg@10", min=0.8)])
    entry = HistoryEntry(suite.path, str(suite.retriever), date="2026-11-01", values={"ndcg@10": 1})
    settings = replace(SETTINGS, history=[entry])

    page = Page(render_html(make_view(suite, make_run(suite), settings=settings)))

    assert "minimum 0.8" in page.text.partition("over 2 builds")[2]


def test_weak_query_says_where_its_best_document_is_once_for_all_retrievers() -> None:
    suites = []
    for name in ("fast", "slow"):
        suites.append(make_suite(queries=5, retriever=RetrieverId(parameter=name)))
    decision_run = make_run(suites[0], worse=1)

    page = Page(render_html(make_view(suites, decision_run)))

    overview = page.text.partition("All 1 queries")[0].partition("Lowest ndcg@10")[2]
    assert "shop 0 fast 0.509 Oak Table is at 4 · first: Garden Hose" in overview
    assert "shop 0 slow" not in overview.partition("Every query's ndcg@10")[0]


def test_queries_without_an_answer_and_broken_rules_have_cards_of_their_own() -> None:
    queries = [make_query("lamp", rules=(MustFind({"best:lamp": 1}),)), make_query("sofa")]
    suite = make_suite(queries=queries)
    answers: dict[str, Ranking | str] = {"lamp": SWAPPED, "sofa": "ConnectError: refused"}

    page = Page(render_html(make_view(suite, make_run(suite, answers))))

    assert "What else fails lamp 0.922 Oak Table is at rank 2" in page.text
    assert "Without an answer sofa" in page.text


def test_opened_query_has_both_values_of_the_other_metrics() -> None:
    suite = make_suite(queries=2, metrics=["ndcg@10", "mrr@10"])

    page = Page(render_html(make_view(suite, make_run(suite, worse=1), make_run(suite))))

    changed, unchanged = page.unpack()["suites"][0]["details"]
    assert changed["values"] == [["1.000", "0.250", "−0.750"]]
    assert unchanged["values"] == [["1.000"]]


def test_documents_have_the_fields_of_the_suite_and_chunks_their_text() -> None:
    picture = f"data:image/png;base64,{'A' * 10_000}"
    fields = ({"picture": picture, "price": 7}, {"price": None})
    shop = make_suite("shop", [make_query("lamp")], settings=Settings(show=("price", "picture")))
    answer = Ranking(("d1", "d2"), fields=fields)
    chunk = Ranking(("help#1",), texts=("  Returns are free. " + "x" * 300,))
    guide = make_suite("guide", [make_query("refund")], settings=Settings(match="text"))
    run = Run({"lamp": (answer,), "refund": (chunk,)})

    data = Page(render_html(make_view([shop, guide], run))).unpack()

    shown = dict(zip(data["ids"], data["fields"], strict=True))
    assert shown["d1"] == [["price", "7"], ["picture", picture]]
    assert shown["d2"] == []
    ((name, text),) = shown["help#1"]
    assert (name, text[:17], len(text)) == ("", "Returns are free.", 200)


def test_chart_of_changes_has_a_fixed_scale() -> None:
    """A scale that ends at the largest change draws small changes as high as large ones."""
    suite = make_suite()

    small = Page(
        render_html(make_view(suite, make_run(suite, worse=2, ranking=SWAPPED), make_run(suite)))
    )
    large = Page(
        render_html(make_view(suite, make_run(suite, worse=2, ranking=LOST), make_run(suite)))
    )

    assert "Every query's change in ndcg@10 0 −0.5" in small.text
    assert "Every query's change in ndcg@10 0 −1 " in large.text
    (height,) = {attrs["height"] for tag, attrs in small.tags if attrs.get("class") == "worse"}
    assert float(height or 0) == pytest.approx(1 - 0.922, abs=0.001)


def test_checks_of_queries_begin_with_the_query_and_count_only_what_could_fail() -> None:
    queries = [make_query("lamp", rules=(MustFind({"best:lamp": 1}),)), make_query("sofa")]
    suite = make_suite(queries=queries, thresholds=[make_threshold("ndcg@10", min=0.99)])

    page = Page(render_html(make_view(suite, make_run(suite, {"lamp": SWAPPED}))))

    checks = page.text.partition("2 checks failed")[2]
    assert "check now bound finding ✗ ndcg@10 shop.ir.yaml:3 0.961 0.99" in checks
    assert "✗ lamp must_find Oak Table is at rank 2" in checks


def test_first_run_lists_queries_of_the_broken_tag() -> None:
    queries = [make_query("lamp", tags=("tail",)), make_query("sofa", tags=("head",))]
    checks = [("tail", make_threshold("ndcg@10", min=0.95))]
    suite = make_suite(queries=queries, thresholds=checks)

    page = Page(render_html(make_view(suite, make_run(suite, worse=2))))

    card = page.text.partition("Lowest ndcg@10 of queries tagged tail")[2].partition("Next")[0]
    assert "lamp" in card
    assert "sofa" not in card


def test_history_has_round_values_and_marks_builds_below_the_minimum() -> None:
    suite = make_suite(thresholds=[make_threshold("ndcg@10", min=0.9)])
    entries = []
    for day, value in ((1, 0.913), (2, 0.887)):
        date = f"2026-11-0{day}"
        retriever = str(suite.retriever)
        entries.append(HistoryEntry(suite.path, retriever, date=date, values={"ndcg@10": value}))

    page = Page(
        render_html(
            make_view(
                suite, make_run(suite, worse=4), settings=replace(SETTINGS, history=tuple(entries))
            )
        )
    )

    dots = [attrs for tag, attrs in page.tags if tag == "circle" and attrs.get("tabindex")]
    assert [dot["class"] for dot in dots] == ["", "worse", ""]
    assert "0.88 0.89 0.90 0.91 0.92" in page.text
