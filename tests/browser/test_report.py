"""The HTML report as a person uses it, in Chromium."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_irquality.report.html import html_report
from pytest_irquality.verdict.facts import Remark
from pytest_irquality.verdict.findings import Change, Fate, Fated, Finding, RankedDocument
from pytest_irquality.verdict.result import (
    Mean,
    QueryResult,
    ShownDocument,
    SuiteResult,
    Verdict,
)
from tests.browser.conftest import Open
from tests.report.made import HOSTILE, check, compared, floor, moved, query, suite

if TYPE_CHECKING:
    from playwright.sync_api import Page

LONG = "ten thousand characters " * 417


def report() -> SuiteResult:
    """300 queries: 20 failed, 30 worse (10 of them failed), 20 better, 5 new, 2 known, 1 empty, 1 error."""
    queries: list[QueryResult] = []
    verdicts: list[Verdict] = []
    for n in range(300):
        tags = ("head" if n % 2 else "tail", f"group {n % 3}")
        id, text = f"q{n}", f"query number {n}"
        if n < 10:
            made = moved(
                id,
                0.9,
                0.3 + n / 100,
                text=text,
                tags=tags,
                remarks={"why": "it sells"},
                check=f"query-number-{n}",
            )
        elif n < 30:
            made = moved(id, 0.9, 0.8, text=text, tags=tags)
        elif n < 50:
            made = moved(id, 0.5, 0.7, text=text, tags=tags)
        elif n == 60:
            made = query(id, None, text=text, fault="TimeoutError: 5 s", ranking=(), returned=0)
        elif n == 61:
            made = query(id, 0.0, text=text, ranking=(), returned=0, before=(0.0,), compared=(0.0,))
        else:
            new = 70 <= n < 75
            same = None if new else (0.5 + n / 1000,)
            made = query(
                id,
                0.5 + n / 1000,
                text=text,
                tags=tags,
                new=new,
                before=same,
                compared=same,
                seconds=n / 1e3,
            )
        queries.append(made)
        if n < 10 or 100 <= n < 110:
            verdicts.append(check(id, "failed", query=id))
        if n in (120, 121):
            verdicts.append(check(id, "known", query=id, known_issue="S-1"))
    return compared(*queries, verdicts=(*verdicts, floor(0.5, 0.8, "failed")))


PAGE = html_report([report()])
QUERIES = "#tab=Queries"


def texts(page: Page) -> list[str]:
    """The drawn rows' queries, top to bottom."""
    return page.locator("table.rows button.text").all_inner_texts()


def found(page: Page) -> str:
    return page.locator(".found").inner_text()


def to(page: Page, tab: str) -> None:
    page.locator(f"[data-go='{tab}']").click()


def focused(page: Page) -> str:
    text: str = page.evaluate("document.activeElement.textContent")
    return text


def test_filters_have_counts_and_let_through_what_they_count(show: Open) -> None:
    page = show(PAGE, QUERIES)
    chips = dict(chip.rsplit(" ", 1) for chip in page.locator(".chips button").all_inner_texts())
    assert chips == {
        "Failed": "20", "Worse": "30", "Better": "20", "New": "5", "Known issue": "2", "Zero results": "1", "Errors": "1",
        "All": "300",
    }  # fmt: skip
    for label, count in chips.items():
        page.get_by_role("button", name=f"{label} {count}").click()
        assert found(page).startswith(
            "300 queries" if label == "All" else f"{count} of 300 queries"
        ), label
        assert page.locator(".chips [aria-pressed=true]").inner_text() == f"{label} {count}"
    page.get_by_role("button", name="Known issue 2").click()
    assert texts(page) == ["query number 120", "query number 121"]
    page.get_by_role("button", name="show all").click()
    assert found(page) == "300 queries"


def test_places_where_something_was_lost_are_filters(show: Open) -> None:
    fates: dict[str, Fate] = {"a": "cut", "b": "found", "c": "cut"}
    made = suite(*(query(id, fates=(Fated("p", fate),)) for id, fate in fates.items()))
    page = show(html_report([made]), QUERIES)
    assert page.get_by_role("button", name="Found").count() == 0
    page.get_by_role("button", name="Cut 2").click()
    assert page.locator("table.rows button.text").all_inner_texts() == ["a", "c"]
    assert page.url.endswith("#show=cut")


def test_search_over_text_id_tag_and_document(show: Open) -> None:
    page = show(PAGE, QUERIES)
    search = page.get_by_role("searchbox")
    for wanted, count in [
        ("query number 29", 13), ("NUMBER 299", 1), ("q299", 1), ("tag:head", 149), ("tag:hea", 149),
        ('tag:"group 1" tag:tail', 50), ("doc:lost", 50), ("doc:q299-doc", 1), ("doc:q29", 10), ("nothing like it", 0),
    ]:  # fmt: skip
        search.fill(wanted)
        assert found(page).startswith(f"{count} of 300 queries"), wanted
    search.fill("")
    page.locator("table.rows button.tag", has_text="tail").first.click()
    assert search.input_value() == "tag:tail"
    assert found(page).startswith("149 of 300")
    to(page, "Slices")
    page.get_by_role("button", name="head", exact=True).click()
    assert search.input_value() == 'tag:"head"'
    assert search.is_visible()


def test_every_column_sorts_both_ways_and_worst_comes_first(show: Open) -> None:
    page = show(PAGE, QUERIES)
    assert texts(page)[:3] == ["query number 0", "query number 1", "query number 2"]
    heads = page.locator("table.rows thead button")
    for n, name in enumerate(heads.all_inner_texts()):
        heads.nth(n).click()
        assert page.locator("table.rows [aria-sort=ascending]").inner_text().startswith(name)
        up = texts(page)[0]
        heads.nth(n).click()
        assert page.locator("table.rows [aria-sort=descending]").inner_text().startswith(name)
        assert texts(page)[0] != up
        heads.nth(n).click()
        assert page.locator("table.rows [aria-sort=none]").count() == heads.count()


def test_the_address_holds_the_view(show: Open) -> None:
    page = show(PAGE, QUERIES)
    page.get_by_role("button", name="Worse 30").click()
    page.get_by_role("searchbox").fill("tag:head")
    page.locator("table.rows thead button", has_text="change").click()
    page.get_by_role("button", name="query number 15", exact=True).click()
    assert page.url.endswith("#show=worse&find=tag%3Ahead&sort=ndcg%4010+change&open=q15")
    rows = texts(page)
    page.reload()
    page.wait_for_selector("html[data-ready]", state="attached")
    assert texts(page) == rows
    assert page.get_by_role("searchbox").input_value() == "tag:head"
    assert page.locator("table.rows tr.more .detail").is_visible()
    page.go_back()
    assert page.locator("table.rows tr.more").count() == 0
    page.go_back()
    assert page.locator("table.rows [aria-sort=ascending]").count() == 0


def test_a_link_to_one_query_shows_it_even_where_its_filter_would_not(show: Open) -> None:
    page = show(PAGE, "#show=failed&open=q250")
    assert (
        page.locator("tr.row:has([aria-expanded=true])").inner_text().startswith("query number 250")
    )
    assert page.locator("table.rows tr.more .detail").is_visible()
    assert focused(page) == "query number 250"
    box = page.locator("table.rows tr.more").bounding_box()
    assert box is not None
    assert 0 < box["y"] < 800


def many(number: int) -> str:
    """A page of so many queries, of which the last is the best."""
    return html_report(
        [compared(*(query(f"q{n}", n / number, text=f"query number {n}") for n in range(number)))]
    )


@pytest.mark.parametrize(
    ("number", "width"), [(70, 1440), (1_200, 1440), (1_200, 390), (7_000, 1440)]
)
def test_nothing_is_drawn_while_somebody_scrolls_to_the_end_and_back(
    show: Open, number: int, width: int
) -> None:
    page = show(many(number), QUERIES, viewport={"width": width, "height": 800})
    # The rows beyond the first follow a moment after the page is ready.
    page.wait_for_function(f"document.querySelectorAll('tr.row').length == {min(number, 500)}")
    page.evaluate(
        """() => {
          window.drawn = 0;
          new MutationObserver((all) => { window.drawn += all.length; }).observe(document.body, { subtree: true, childList: true });
        }"""
    )
    height = page.evaluate("document.documentElement.scrollHeight")
    for step in (3_000, -3_000):
        for _ in range(height // 3_000 + 1):
            page.mouse.wheel(0, step)
            page.evaluate(
                "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
            )
            assert page.evaluate("document.documentElement.scrollHeight") == height
    page.keyboard.press("End")
    assert page.evaluate("document.documentElement.scrollHeight") == height
    assert page.evaluate("window.drawn") == 0
    assert page.locator("tr.row").count() == min(number, 500)
    assert page.locator("table.rows").get_attribute("aria-rowcount") == str(number + 1)


def test_five_hundred_rows_at_a_time_and_all_can_be_reached(show: Open) -> None:
    page = show(many(1_200), QUERIES)
    assert page.locator(".pages").inner_text() == "1 to 500 of 1200 next 500"
    page.get_by_role("button", name="next 500").click()
    assert texts(page)[0] == "query number 500"
    page.get_by_role("button", name="next 200").click()
    assert page.locator(".pages").inner_text() == "previous 500 1001 to 1200 of 1200"
    assert texts(page)[-1] == "query number 1199"
    assert page.locator("tr.row").last.get_attribute("aria-rowindex") == "1201"
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert focused(page) == "query number 999"
    assert page.locator(".pages").inner_text().startswith("previous 500 501 to 1000")
    page.get_by_role("searchbox").fill("number 119")
    assert texts(page) == [
        "query number 119",
        "query number 1119",
        *(f"query number {n}" for n in range(1190, 1200)),
    ]
    assert page.locator(".pages").inner_text() == ""
    page.get_by_role("searchbox").fill("")
    page.get_by_label("Sort").select_option(label="ndcg@10 ↓")
    assert texts(page)[:2] == ["query number 1199", "query number 1198"]
    page = show(many(1_200), "#open=q1100")
    assert focused(page) == "query number 1100"
    assert page.locator("table.rows tr.more .detail").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("table.rows tr.more").count() == 0


def test_what_is_filtered_is_saved_as_a_table_that_no_spreadsheet_runs(show: Open) -> None:
    odd = (
        query("=1+1", 0.25, text="@SUM(1)", tags=("a, b", "+c")),
        query('q"2', 0.5, text="two\nlines"),
    )
    page = show(html_report([compared(*odd, *(query(f"q{n}", 0.75) for n in range(600)))]), QUERIES)

    def saved() -> list[list[str]]:
        with page.expect_download() as download:
            page.get_by_role("button", name="Save as CSV").click()
        assert download.value.suggested_filename == "shop.queries.csv"
        text = Path(download.value.path()).read_text("utf-8")
        rows = list(csv.reader(io.StringIO(text)))
        assert not [cell for row in rows for cell in row if re.match(r"[=+@-](?![\d.]+$)", cell)]
        return rows

    head, *rows = saved()
    assert head[:3] == ["id", "query", "tags"]
    assert len(rows) == 602
    cells = dict(zip(head, rows[0], strict=True))
    assert (cells["id"], cells["query"], cells["ndcg@10"]) == ("'=1+1", "'@SUM(1)", "0.25")
    assert cells["outcome"] == "no rules"
    assert cells["tags"] == "a, b, +c"
    assert rows[1][:2] == ['q"2', "two\nlines"]
    page.get_by_role("searchbox").fill("q59")
    assert [row[0] for row in saved()[1:]] == ["q59", *(f"q{n}" for n in range(590, 600))]


def test_the_keyboard_alone_is_enough(show: Open) -> None:
    page = show(PAGE, QUERIES)
    keys = page.keyboard
    keys.press("j")
    assert focused(page) == "query number 0"
    keys.press("j")
    keys.press("ArrowDown")
    assert focused(page) == "query number 2"
    keys.press("k")
    keys.press("ArrowUp")
    assert focused(page) == "query number 0"
    for _ in range(70):
        keys.press("j")
    assert focused(page) == page.locator("tr.row [tabindex='0']").inner_text()
    assert page.locator("tr.row:has(:focus)").get_attribute("aria-rowindex") == "72"
    keys.press("Enter")
    assert page.locator("table.rows tr.more .detail").is_visible()
    assert page.locator(":focus").get_attribute("aria-expanded") == "true"
    keys.press("Escape")
    assert page.locator("table.rows tr.more").count() == 0
    assert page.locator("tr.row:has(:focus)").get_attribute("aria-rowindex") == "72"
    keys.press("/")
    keys.type("number 142")
    assert texts(page) == ["query number 142"]
    keys.press("ArrowDown")
    assert focused(page) == "query number 142"
    keys.press("/")
    keys.press("Escape")
    assert found(page) == "300 queries"


def test_a_query_opens_to_everything_about_it(show: Open) -> None:
    page = show(PAGE, QUERIES)
    page.get_by_role("button", name="query number 3", exact=True).click()
    detail = page.locator("table.rows tr.more .detail")
    before, now, missing = (detail.locator("ol").nth(n) for n in range(3))
    assert before.locator("li.cutoff").count() == 0
    assert before.locator("li").all_inner_texts() == [
        "1\nThe best one best\n→ 2\n3 ✓", "2\nLost one lost\n→ left the index\n2 ✓", "3\nNot this one banned\n=\n0 ✗",
    ]  # fmt: skip
    assert now.locator("li").first.inner_text() == "1\nA newcomer came\nnew here\n2.5\nunjudged"
    assert missing.inner_text() == "✗\nLost one lost\nwas 2\n2 ✓\nleft the index"
    for words in (
        "Why: it sells", "✗ failed q3-doc must be in the top 1: it is at rank 4",
        "shop.ir.yaml:10", "pytest --ir-suite shop.ir.yaml::query-number-3",
    ):  # fmt: skip
        assert words in detail.inner_text()
    assert detail.locator("table.values tbody tr").all_inner_texts() == [
        "ndcg@10\t0.900\t0.330\t−0.570"
    ]
    style = "element => getComputedStyle(element).borderTopStyle"
    assert now.locator("li.unjudged").evaluate(style) == "dashed"
    assert (
        now.locator("li.grade3").evaluate("e => getComputedStyle(e).backgroundColor")
        != "rgba(0, 0, 0, 0)"
    )
    page.get_by_role("button", name="query number 3", exact=True).click()
    assert detail.count() == 0
    page.get_by_role("button", name="Errors 1").click()
    page.locator("tr.row").click()
    assert detail.locator("pre.fault").inner_text() == "TimeoutError: 5 s"


def test_a_line_ends_what_is_counted(show: Open) -> None:
    documents = tuple(ShownDocument(n, f"d{n}", None, 1.0, True) for n in range(1, 11))
    made = suite(query("a", ranking=documents, returned=10), top_k=3)
    page = show(html_report([made]), "#open=a")
    css = [one.get_attribute("class") for one in page.locator(".rows .documents li").all()]
    assert [n for n, one in enumerate(css, 1) if "cutoff" in str(one)] == [3]


def test_the_worst_lead_to_their_queries(show: Open) -> None:
    page = show(PAGE)
    page.locator(".story .worst a", has_text="query number 1").first.click()
    assert page.locator("[aria-expanded=true]").inner_text() == "query number 1"


def test_every_tab_has_an_address_and_the_browsers_own_search_opens_it(show: Open) -> None:
    page = show(PAGE)
    tabs = page.locator(".tabs button")
    assert tabs.all_inner_texts() == [
        "Overview",
        "Queries 20 failed",
        "Limits 2 broken",
        "Slices 2",
    ]
    for name in ("Limits", "Slices", "Queries", "Overview"):
        to(page, name)
        assert page.locator("[data-tab]:not([hidden])").evaluate_all(
            "all => [...new Set(all.map(it => it.dataset.tab))]"
        ) == [name]
        assert page.locator(".tabs [aria-current]").inner_text().startswith(name)
        assert focused(page).startswith(name)
    page.go_back()
    assert page.url.endswith("#tab=Queries")
    page.reload()
    page.wait_for_selector("html[data-ready]", state="attached")
    assert page.get_by_role("searchbox").is_visible()
    page.locator("[data-tab=Limits]").dispatch_event("beforematch")
    assert page.locator(".limits").is_visible()
    assert page.url.endswith("#tab=Limits")
    page.keyboard.press("j")
    assert focused(page) == "query number 0"
    assert show(PAGE, "#tab=nonsense").locator("h1").is_visible()


@pytest.mark.parametrize("tab", ["Overview", "Queries", "Limits", "Slices"])
@pytest.mark.parametrize("width", [390, 1440])
def test_each_tab_is_scrolled_to_its_end_and_stays_as_wide_as_the_screen(
    show: Open, tab: str, width: int
) -> None:
    page = show(PAGE, f"#tab={tab}", viewport={"width": width, "height": 800})
    page.mouse.wheel(0, 100_000)
    assert page.locator(".tabs").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    end = page.locator("footer")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert end.evaluate("it => it.getBoundingClientRect().bottom") <= 801


def test_several_retrievers_are_shown_one_at_a_time(show: Open) -> None:
    other = suite(query("q3", 0.99, text="query number 3"), query("else"), retriever="hybrid")
    page = show(html_report([replace(report(), retriever="bm25"), other]))
    assert page.locator("section.suite:visible").count() == 1
    page.get_by_role("link", name="Shop search [hybrid]").click()
    assert (
        page.locator("section.suite:visible h2").first.inner_text() == "✓ pass Shop search hybrid"
    )
    assert page.url.endswith("#s=2")
    page.go_back()
    to(page, "Queries")
    page.get_by_role("button", name="query number 3", exact=True).click()
    assert "hybrid · no rules ndcg@10 0.990" in page.locator("table.rows tr.more").inner_text()
    page.get_by_role("button", name="hybrid").click()
    assert page.url.endswith("#s=2&open=q3")


def hostile() -> SuiteResult:
    words = (
        HOSTILE, "</script><img src=x onerror=alert(2)>", "javascript:alert(3)", "\u200fמימין\u200e \u202egnp.exe",
        "👩‍👩‍👧‍👦🏳️‍🌈", LONG, "<!--<script>", "]]>", "__proto__", "constructor", " ",
    )  # fmt: skip
    documents = tuple(
        ShownDocument(n, f"{word} {n}", f"{word} title", 1.0, True)
        for n, word in enumerate(words, 1)
    )
    queries = tuple(
        query(f"{word}{n}", 0.5, text=word, tags=(word,), remarks={"why": word}, ranking=documents, missing=documents, fault=word if not n else None,
              check=word, returned=99)
        for n, word in enumerate(words)
    )  # fmt: skip
    return suite(
        *queries, verdicts=tuple(check(q.id, "failed", query=q.id) for q in queries), suite=HOSTILE,
        facts=tuple(map(Remark, words)), retriever=HOSTILE, path=HOSTILE,
    )  # fmt: skip


def test_hostile_titles_and_queries_stay_text(show: Open) -> None:
    page = show(html_report([hostile()], not_evaluated=[HOSTILE]))
    for row in range(11):
        page.evaluate(
            "row => document.querySelector(`tr.row[data-row='${row}'] button`).click()", row
        )
        assert page.locator("table.rows tr.more .documents li").count() == (22 if row else 0)
    page.get_by_role("searchbox").fill("</script><img")
    assert texts(page) == ["</script><img src=x onerror=alert(2)>"]
    page.locator("tr.row").click()
    assert (
        "</script><img src=x onerror=alert(2)> title"
        in page.locator("table.rows tr.more").inner_text()
    )
    assert (
        page.evaluate(
            "document.querySelectorAll('img, script:not([type]), iframe, [onload], [onerror]').length"
        )
        == 1
    )
    assert page.locator("a:not([href^='#'])").count() == 0
    assert "⟨U+202E⟩gnp.exe" in page.content()
    page.get_by_role("searchbox").fill("ten thousand")
    assert LONG.strip() in page.locator("section.suite").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1200


def test_a_script_that_is_not_ours_does_not_run(show: Open, told: list[str]) -> None:
    page = show(PAGE, QUERIES)
    ran = page.evaluate(
        """() => {
          const script = document.createElement("script");
          try { script.textContent = "window.ran = 1"; document.body.append(script); } catch { /* trusted types */ }
          return window.ran ?? 0;
        }"""
    )
    assert ran == 0
    assert "requires 'TrustedScript'" in told.pop()


@pytest.mark.parametrize(
    ("scheme", "width", "media"),
    [("light", 1200, "screen"), ("dark", 320, "screen"), ("light", 1200, "print")],
)
def test_axe_finds_nothing_whatever_its_severity(
    show: Open, axe: str, scheme: str, width: int, media: Any
) -> None:
    made = [
        replace(report(), retriever="bm25"),
        suite(query("q3", 0.99, text="query number 3"), retriever="hybrid"),
    ]
    page = show(
        html_report(made), "#open=q3", viewport={"width": width, "height": 800}, color_scheme=scheme
    )
    page.emulate_media(media=media)  # print shows what is there without scripts
    page.evaluate(f"{axe};0")
    for tab in ("Overview", "Queries", "Limits", "Slices") if media == "screen" else [""]:
        if tab:
            to(page, tab)
        told = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
        bad: list[Any] = [
            (
                violation["id"],
                violation["impact"],
                violation["nodes"][0]["html"][:200],
                violation["nodes"][0]["failureSummary"],
            )
            for violation in told["violations"]
        ]
        assert not bad, tab
    assert told["passes"]


@pytest.mark.parametrize("width", [320, 768, 2200])
def test_no_width_makes_the_page_scroll_sideways(show: Open, width: int) -> None:
    page = show(PAGE, "#open=q3", viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    heights = page.evaluate(
        "[...document.querySelectorAll('tr.row')].map(row => row.getBoundingClientRect().height)"
    )
    assert max(heights) - min(heights) < 0.5


@pytest.mark.parametrize("width", [1280, 768, 360])
def test_four_measures_and_long_outcomes_stay_inside_their_cards(show: Open, width: int) -> None:
    names = ("ndcg@10", "recall@10", "precision@10", "mrr@10")
    means = [Mean(name, None, 0.6, 4, 0, change=Change(0.733, 0.65, 3, 1, 1, 1)) for name in names]
    queries = [replace(it, values=(it.values[0],) * 4, before=it.before and it.before * 4,
                       compared=it.compared and it.compared * 4) for it in compared().queries]  # fmt: skip
    drop = Finding("", "max_significant_drop", False, True, "ndcg@10", 0.083, 0.02, 3)
    lines = (
        Verdict("mrr-10", "mrr@10", 9, "fixed", (drop,), "suite", known_issue="SHOP-12345"),
        Verdict(
            "drop",
            "precision@10",
            8,
            "known",
            (drop, drop),
            "suite",
            known_issue="SHOP-12345",
        ),
    )
    made = compared(*queries, verdicts=lines, measures=names, shown=names, means=(*means, *compared().means[1:]),
                    formulas=("",) * 4, facts=(Remark("a note"),))  # fmt: skip
    page = show(html_report([made]), viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    limits = page.locator(".limits .scroll")
    assert limits.evaluate("it => it.scrollWidth <= it.clientWidth")
    if width > 360:  # where the tags scroll
        tags = page.locator(".slices .scroll")
        assert tags.evaluate("it => it.scrollWidth <= it.clientWidth")
    assert (
        page.locator(".notes").evaluate("it => parseFloat(getComputedStyle(it).paddingInlineStart)")
        > 24
    )


def test_without_scripts_it_is_still_a_report(show: Open) -> None:
    page = show(PAGE, java_script_enabled=False)
    assert page.locator("h1").inner_text().startswith("✗ Search got worse 20 of 22 queries")
    assert page.locator(".limits tbody").first.is_visible()
    assert page.locator(".tools").first.is_hidden()
    failed = page.locator("table.queries tbody.bad")
    assert failed.count() == 21
    assert failed.first.locator("table.block").is_visible()
    failed.nth(5).locator("summary").click()
    assert failed.nth(5).locator("table.block").is_visible()
    assert "and 100 more" in page.locator("div.static").inner_text()


def test_print_shows_the_failures_and_no_controls(show: Open) -> None:
    page = show(html_report([replace(report(), retriever="a"), replace(report(), retriever="b")]))
    page.emulate_media(media="print")
    assert page.locator("section.suite:visible").count() == 2
    assert page.locator("table.queries").first.is_visible()
    assert page.locator(".tools:visible, table.rows:visible").count() == 0
    assert re.search(r"Lost one\s+lost", page.locator("table.queries").first.inner_text())


def test_names_written_from_right_to_left_do_not_turn_the_sentences_around(show: Open) -> None:
    broken = check("كرسي", "failed", query="q1", findings=(
        Finding("q1", "must_find", False, ranked=(RankedDocument("كرسي مكتب", 4, limit=1),)),
    ))  # fmt: skip
    same = query("q1", 1.0, text="كرسي", before=(1.0,), compared=(1.0,))
    page = show(html_report([compared(same, verdicts=(broken,), means=())]))
    to(page, "Queries")
    said = page.locator("table.rows .said").first
    assert said.locator("bdi").inner_text() == "كرسي مكتب"
    assert said.get_attribute("dir") == "ltr"
