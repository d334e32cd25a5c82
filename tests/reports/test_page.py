"""The HTML report and the grading page in a browser. These tests need Chromium and playwright."""

from __future__ import annotations

import csv
import io
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from pytest_irquality.metrics import Judgments
from pytest_irquality.reports.grading import render_grading
from pytest_irquality.reports.html import render_html
from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.model import Query, Settings
from tests.reports.builders import (
    SWAPPED,
    WORSE,
    make_decision,
    make_query,
    make_run,
    make_suite,
    make_threshold,
    make_view,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# The last four keep Chromium's own requests out of the tests.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
AXE = Path(os.environ.get("IRQUALITY_AXE", "node_modules/axe-core/axe.min.js"))

Open = Callable[..., "Page"]


def skip(reason: str) -> NoReturn:
    """Skip a test that lacks its browser, or fail it if nothing may be missing."""
    if os.environ.get("IRQUALITY_BROWSER") == "required":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    try:
        from playwright import sync_api
    except ImportError:
        skip("playwright is not installed")
    path = os.environ.get("IRQUALITY_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), "")
    if not path:
        skip("Chromium is not installed, and IRQUALITY_CHROMIUM names no other browser")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Open a text as a file. In the end, no request was made and nothing was logged."""
    complaints: list[str] = []
    contexts = []

    def open_text(text: str, fragment: str = "", **options: Any) -> Page:
        file = tmp_path / "page.html"
        file.write_text(text, encoding="utf-8")
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 800}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: _check_request(request.url, file, complaints))
        page.goto(file.as_uri() + fragment)
        if options.get("java_script_enabled", True):
            page.wait_for_selector("html[data-ready]", state="attached")
        return page

    yield open_text
    for context in contexts:
        context.close()
    assert complaints == []


def _check_request(url: str, file: Path, complaints: list[str]) -> None:
    if url.partition("#")[0] != file.as_uri() and not url.startswith(("data:", "blob:")):
        complaints.append(f"request: {url}")


def render_report() -> str:
    queries = []
    for number in range(20):
        tags = ("head",) if number < 8 else ("long tail",)
        queries.append(make_query(f"q{number}", tags=tags))
    suite = make_suite(
        queries=queries,
        metrics=["ndcg@10", "recall@10"],
        thresholds=[make_threshold("ndcg@10", min=0.9)],
    )
    before = make_run(suite, {"q19": SWAPPED})
    return render_html(make_view(suite, make_run(suite, worse=7), before))


# -- The HTML report -----------------------------------------------------------------------------


def test_tabs_show_one_part_and_are_in_the_address(open_page: Open) -> None:
    page = open_page(render_report())

    page.get_by_role("tab", name="Checks").click()

    assert page.url.endswith("#tab=checks")
    assert page.locator("#checks").is_visible()
    assert not page.locator("#overview").is_visible()
    page.go_back()
    assert page.locator("#overview").is_visible()


def test_row_of_the_overview_opens_both_rankings(open_page: Open) -> None:
    page = open_page(render_report())

    page.locator("details.row summary").first.click()

    opened = page.locator("details.row").first
    opened.locator(".lines path").first.wait_for(state="attached")
    assert opened.locator(".lines path").count() == 3
    assert opened.locator(".side-now li").all_inner_texts()[0].startswith("1")
    moved = opened.locator(".side-now li").nth(3).inner_text().split()
    assert (moved[0], moved[-5:]) == ("4", ["▼", "1", "grade", "3", "✓"])
    assert opened.locator(".side-now .names").inner_text().split() == [
        "rank",
        "document",
        "before",
        "grade",
    ]
    assert opened.locator("h3").all_inner_texts() == ["Before ndcg@10 1.000", "Now ndcg@10 0.509"]
    assert "ndcg@10\t1.000\t0.509\t−0.491" in opened.locator(".values").inner_text()


PICTURE = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def test_documents_on_both_sides_have_a_picture_and_a_line_of_fields(open_page: Open) -> None:
    fields = []
    for number in range(6):
        fields.append({"picture": PICTURE, "stock": number, "url": "https://shop.example/1"})
    suite = make_suite(settings=Settings(show=("picture", "stock", "url")))
    run = make_run(suite, worse=7, ranking=replace(WORSE, fields=tuple(fields)))
    page = open_page(render_html(make_view(suite, run, make_run(suite))))

    page.locator("details.row summary").first.click()

    opened = page.locator("details.row").first
    opened.locator("img").first.wait_for()
    assert opened.locator("img").count() == 9
    text = opened.locator(".side-before .fields").first.inner_text()
    assert text == "stock: 3url"
    box = opened.locator(".side-now li").first.bounding_box()
    assert box is not None
    assert box["height"] <= 72


def test_chunks_with_a_part_of_a_passage_are_marked(open_page: Open) -> None:
    texts = ("Refunds are paid to the original payment method.", "within five working days. More.")
    passage = "Refunds are paid to the original payment method within five working days."
    query = Query("q", "refund", Judgments({passage: 1.0}))
    suite = make_suite(queries=[query], settings=Settings(match="text"))
    answer = Ranking(("help#1", "help#2"), texts=(texts[0][:-1], texts[1]))
    before = Ranking(("help#1",), texts=(passage,), passages={0: (passage,)})
    page = open_page(
        render_html(make_view(suite, Run({"refund": (answer,)}), Run({"refund": (before,)})))
    )

    page.locator("details.row summary").first.click()

    opened = page.locator("details.row").first
    opened.get_by_text("has a part of the passage").first.wait_for()
    assert opened.get_by_text("has a part of the passage").count() == 2
    assert opened.get_by_text("Refunds are paid to").first.is_visible()
    assert opened.get_by_text("lost", exact=True).count() == 1


def test_filters_and_search_are_in_the_address(open_page: Open) -> None:
    page = open_page(render_report(), "#tab=queries")

    page.get_by_role("button", name="worse 7").click()
    assert page.locator("tr.line").count() == 7
    page.get_by_role("searchbox").fill('tag:"long tail"')
    assert page.locator("tr.line").count() == 0
    assert page.get_by_text("No query matches").is_visible()
    page.get_by_role("button", name="Show all queries").click()
    assert page.locator("tr.line").count() == 20


def test_link_opens_a_query(open_page: Open) -> None:
    page = open_page(render_report(), "#tab=queries&find=doc:best:q3&open=q3")

    assert page.locator("tr.line").count() == 1
    assert page.locator("tr.detail .side-now li").count() == 6
    assert page.get_by_text("pytest --ir-suite shop.ir.yaml::q3").is_visible()


def test_columns_sort(open_page: Open) -> None:
    page = open_page(render_report(), "#tab=queries")

    heading = page.locator(".queries th.now button")
    heading.click()
    first = page.locator("tr.line .now").first.inner_text()
    heading.click()
    last = page.locator("tr.line .now").first.inner_text()

    assert (first, last) == ("0.509", "1.000")
    assert page.locator(".queries th.now").get_attribute("aria-sort") == "descending"


def test_keyboard_moves_opens_and_closes(open_page: Open) -> None:
    page = open_page(render_report())

    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    assert page.locator("details.row[open]").count() == 1
    page.get_by_role("tab", name="Queries").click()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    assert page.locator("tr.detail").count() == 1
    page.keyboard.press("Escape")
    assert page.locator("tr.detail").count() == 0
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"


def test_table_is_saved_as_csv(open_page: Open) -> None:
    page = open_page(render_report(), "#tab=queries&show=worse")

    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV").click()

    rows = list(csv.reader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8"))))
    assert len(rows) == 8
    assert rows[1][:3] == ["q0", "q0", "head"]


def test_overview_works_without_scripts(open_page: Open) -> None:
    page = open_page(render_report(), java_script_enabled=False)

    assert page.locator("#queries table").is_visible()
    assert page.locator("#checks").is_visible()
    page.locator("details.row summary").first.click()
    page.locator("details.row table").first.wait_for()


def test_phone_shows_the_current_ranking_first(open_page: Open) -> None:
    page = open_page(
        render_report(), "#tab=queries&open=q0", viewport={"width": 390, "height": 844}
    )

    now = page.locator("tr.detail .side-now").bounding_box()
    before = page.locator("tr.detail .side-before").bounding_box()
    assert now is not None
    assert before is not None
    assert now["y"] < before["y"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_page_prints_every_part(open_page: Open) -> None:
    page = open_page(render_report())

    page.emulate_media(media="print")

    assert page.locator("#checks").is_visible()
    assert not page.locator(".tabs").is_visible()
    assert not page.get_by_text("1 check passed").is_visible()
    assert page.locator(".static tbody tr").count() == 20
    assert page.locator(".static tbody tr:visible").count() == 8
    assert page.get_by_text("Queries that did not change are not printed.").is_visible()


@pytest.mark.parametrize(("width", "columns"), [(1200, 7), (720, 5), (390, 3)])
def test_table_of_queries_fits(open_page: Open, width: int, columns: int) -> None:
    page = open_page(render_report(), "#tab=queries", viewport={"width": width, "height": 800})

    assert page.locator(".queries thead th:visible").count() == columns
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    box = page.locator(".queries .moved").nth(1).bounding_box()
    assert box is None or box["width"] >= 150


def test_columns_without_any_cell_are_left_out(open_page: Open) -> None:
    suite = make_suite()

    page = open_page(render_html(make_view(suite, make_run(suite))), "#tab=queries")

    assert page.locator(".queries th[scope=col]").all_inner_texts() == ["query", "now"]


def test_every_value_of_a_tag_is_visible_on_a_phone(open_page: Open) -> None:
    page = open_page(render_report(), "#tab=tags", viewport={"width": 390, "height": 800})

    box = page.locator(".heat tr").nth(1).locator("td").last.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= 390


@pytest.mark.parametrize("key", ["Overview", "Queries", "Checks", "Tags"])
def test_tabs_fit_on_a_phone(open_page: Open, key: str) -> None:
    page = open_page(render_report(), viewport={"width": 390, "height": 800})

    box = page.get_by_role("tab", name=key).bounding_box()

    assert box is not None
    assert box["x"] + box["width"] <= 390


@pytest.mark.parametrize("fragment", ["", "#tab=queries&open=q0", "#tab=checks", "#tab=tags"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_report_has_no_accessibility_violations(
    open_page: Open, fragment: str, scheme: str
) -> None:
    page = open_page(render_report(), fragment, color_scheme=scheme, bypass_csp=True)

    assert find_violations(page) == []


def find_violations(page: Page) -> list[Any]:
    if not AXE.exists():
        skip(f"axe-core is not at {AXE}; `npm install --no-save axe-core` puts it there")
    page.evaluate(f"{AXE.read_text(encoding='utf-8')}; undefined")
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        (entry["id"], [node["html"] for node in entry["nodes"]]) for entry in found["violations"]
    ]


def test_seven_thousand_queries_fit_three_megabytes(open_page: Open) -> None:
    queries = []
    for number in range(7_000):
        queries.append(make_query(f"a query of a few words {number}", is_sampled=True))
    suite = make_suite(queries=queries)
    text = render_html(make_view(suite, make_run(suite, worse=2_000), make_run(suite)))

    page = open_page(text, "#tab=queries")

    assert len(text.encode()) < 3_000_000
    assert page.locator("tr.line").count() < 1_000
    assert page.get_by_role("status").first.inner_text() == "7,000 queries"


# -- The grading page ----------------------------------------------------------------------------


def render_page() -> str:
    suite = make_suite(queries=3, thresholds=[make_threshold("ndcg@10", min=0.9)])
    return render_grading(make_decision(suite, make_run(suite, worse=2)), "grade.html")


def start(page: Page, name: str = "Anna") -> None:
    page.get_by_label("Your name").fill(name)
    page.get_by_role("button", name="Start").click()
    page.get_by_text("graded by").wait_for()


def save(page: Page, button: str) -> list[dict[str, str]]:
    with page.expect_download() as download:
        page.locator(button).click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text)))


def test_page_says_what_it_waits_for(open_page: Open) -> None:
    page = open_page(render_page())

    assert page.get_by_text("Type your name to start.").is_visible()
    assert page.get_by_role("button", name="Start").is_disabled()
    assert page.get_by_label("What nobody has graded yet").is_visible()
    assert page.get_by_label("Everything, as a second opinion").is_visible()
    start(page)
    assert page.locator("#waiting").inner_text() == "Waiting for your grade of this document"


def test_grades_are_given_by_keyboard_and_saved(open_page: Open) -> None:
    page = open_page(render_page())
    start(page)

    for key in "3210x2":
        page.keyboard.press(key)

    assert page.get_by_text("Everything is graded. Thank you!").is_visible()
    assert page.locator("#grades button:enabled").count() == 0
    assert "shop.judgments-anna.csv next to shop.ir.yaml" in page.locator("#done").inner_text()
    rows = save(page, "#save-done")
    assert sorted(row["rating"] for row in rows) == ["", "0", "1", "2", "2", "3"]
    assert {row["assessor"] for row in rows} == {"Anna"}


def test_nothing_moves_under_the_pointer(open_page: Open) -> None:
    page = open_page(render_page())
    start(page)
    boxes = []

    for _ in range(5):
        button = page.locator("#grades button").nth(1)
        boxes.append(button.bounding_box())
        button.click()

    assert all(box == boxes[0] for box in boxes)


def test_picture_is_next_to_the_fields(open_page: Open) -> None:
    fields = ({"picture": PICTURE, "price": "7 €"},)
    suite = make_suite(queries=[Query("q", "lamp")])
    run = Run({"lamp": (Ranking(("d1",), fields=fields),)})
    page = open_page(render_grading(make_decision(suite, run), "grade.html"))
    assert not page.get_by_label("Everything, as a second opinion").is_visible()
    start(page)

    picture = page.locator(".pictures img").bounding_box()
    price = page.get_by_text("7 €").bounding_box()

    assert picture is not None
    assert price is not None
    assert picture["x"] + picture["width"] <= price["x"]


def test_undo_takes_back_the_last_grade(open_page: Open) -> None:
    page = open_page(render_page())
    start(page)

    page.keyboard.press("3")
    page.keyboard.press("u")

    assert page.locator("#count").inner_text() == "0 of 6 documents done"


def test_id_that_no_document_has_needs_a_second_press(open_page: Open) -> None:
    page = open_page(render_page())
    start(page)

    page.keyboard.press("a")
    page.locator("#missing").fill("sku-999")
    page.get_by_role("button", name="Use “sku-999” as an id").click()
    assert page.locator("#documents li").count() == 4
    page.get_by_role("button", name="Add it anyway").click()

    assert page.locator("#documents li").count() == 5
    page.keyboard.press("2")
    assert "sku-999" in {row["doc_id"] for row in save(page, "#save")}


def test_skipped_query_has_its_reason(open_page: Open) -> None:
    page = open_page(render_page())
    start(page)

    page.keyboard.press("s")
    page.get_by_role("button", name="It is unclear").click()

    page.get_by_role("heading", name="shop 1").wait_for()
    (row,) = save(page, "#save")
    assert (row["doc_id"], row["note"]) == ("", "unclear")


def test_grades_survive_a_reload_and_a_saved_file_continues_elsewhere(
    open_page: Open, tmp_path: Path
) -> None:
    page = open_page(render_page())
    start(page)
    page.keyboard.press("3")

    page.reload()
    assert page.get_by_text("Welcome back. This browser has kept your 1 grade.").is_visible()

    saved = tmp_path / "saved.csv"
    header = "query_id,query,doc_id,rating,decision,assessor,date,note"
    saved.write_text(f"{header}\nshop-0,shop 0,junk-1:shop-0,2,,Ben,2026-11-01T00:00:00Z,\n")
    page.get_by_label("Your name").fill("")
    page.locator("#file").set_input_files(saved)
    page.get_by_text("Read 1 row by Ben.").wait_for()
    page.get_by_role("button", name="Continue", exact=True).click()
    page.get_by_text("graded by").wait_for()
    assert page.locator("#count").inner_text() == "1 of 6 documents done"


def test_people_who_disagree_are_settled_by_a_decision(open_page: Open) -> None:
    query = Query(
        "q", "table", Judgments({"d1": 1.5}), assessor_grades={"d1": {"Anna": 3.0, "Ben": 0.0}}
    )
    decision = make_decision(make_suite(queries=[query]), Run({"table": (Ranking(("d1", "d2")),)}))
    page = open_page(render_grading(decision, "grade.html"))

    page.get_by_label("Your name").fill("Cleo")
    page.get_by_label("Where people disagree, to decide").check()
    page.get_by_role("button", name="Start").click()
    page.locator(".opinions").wait_for()
    assert "Anna" in page.locator(".opinions").inner_text()
    page.keyboard.press("1")

    (row,) = save(page, "#save-done")
    assert (row["doc_id"], row["rating"], row["decision"]) == ("d1", "", "1")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_grading_page_has_no_accessibility_violations(open_page: Open, scheme: str) -> None:
    page = open_page(render_page(), color_scheme=scheme, bypass_csp=True)
    start(page)

    assert find_violations(page) == []
