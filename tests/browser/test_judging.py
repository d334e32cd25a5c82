"""The page to grade in, in a real Chromium: with a keyboard, with a finger, killed, resumed."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_irquality import SuiteError, load_suite
from pytest_irquality.report.judging import judging_page
from pytest_irquality.verdict.pool import Pool, Pooled, PooledQuery, by_importance
from tests.browser.conftest import FLAGS, NAMES, Open
from tests.browser.judge import active, grades, kept, saved, start, table

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WORDS = (("bad", 0.0), ("ok", 1.0), ("good", 2.0), ("perfect", 3.0))
HEADER = "query_id,query,doc_id,rating,decision,judge,date,note\n"
BAD_ROWS = [
    *((f"{grade},,Anna,,", f"{grade} is no grade from 0 to 3")
      for grade in ("many", " ", "\N{NO-BREAK SPACE}", "\t", "0x10", "Infinity", "1e1", "4", "-1", "+1", "NaN")),
    (",7,Anna,,", "7 is no grade from 0 to 3"),
    ("1,,Anna,9999-12-31T00:00:00Z,", "the date 9999-12-31T00:00:00Z is more than a day ahead"),
]  # fmt: skip
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
HOSTILE = "</script><img src=x onerror=alert(1)>"


def pool(queries: int = 3, documents: int = 4, **more: Any) -> Pool:
    return Pool(
        "shop.ir.yaml",
        "Shop search",
        WORDS,
        tuple(
            PooledQuery(
                f"q{q}",
                f"office chair {q}",
                "it sells" if q == 0 else "",
                ("head",),
                tuple(
                    Pooled(
                        f"d{q}-{d}",
                        d + 1,
                        f"Chair {q} {d}",
                        "A chair for the office. " * 40,
                        **more,
                    )
                    for d in range(documents)
                ),
            )
            for q in range(queries)
        ),
    )


def test_a_hundred_documents_by_keyboard_and_the_file_loads_as_it_is(
    show: Open, tmp_path: Path
) -> None:
    page = show(judging_page([pool(10, 10)]))
    page.keyboard.type("Anna")
    page.keyboard.press("Enter")
    page.wait_for_selector(".card.active")
    for number in range(100):
        page.keyboard.press(str(number % 4))
    page.wait_for_selector("#done:not([hidden])")
    assert page.inner_text("#count") == "100 of 100 graded"
    text = saved(page)
    rows = table(text)
    assert list(rows[0]) == [
        "query_id",
        "query",
        "doc_id",
        "rating",
        "decision",
        "judge",
        "date",
        "note",
    ]
    assert {row["judge"] for row in rows} == {"Anna"}
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", row["date"]) for row in rows)
    (tmp_path / "anna.csv").write_text(text, encoding="utf-8")
    queries = "".join(f"  - {{id: q{q}, query: office chair {q}}}\n" for q in range(10))
    (tmp_path / "s.ir.yaml").write_text(f"judgments: anna.csv\nqueries:\n{queries}")
    suite = load_suite(tmp_path / "s.ir.yaml")
    found = [grade for query in suite.queries for grade in query.judgments.grades.values()]
    assert sorted(found) == sorted([0.0, 1.0, 2.0, 3.0] * 25)
    assert suite.unasked == ()


def test_a_hundred_documents_with_a_finger(show: Open) -> None:
    page = show(judging_page([pool(10, 10)]), **PHONE)
    page.locator("#name").tap()
    page.keyboard.type("Ben")
    page.locator("#go").tap()
    for number in range(100):
        page.locator(".card.active .grade").nth(number % 4).tap()
    page.wait_for_selector("#done:not([hidden])")
    assert len(grades(saved(page))) == 100
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390
    small = page.evaluate(
        "[...document.querySelectorAll('button')].filter(b => b.offsetParent && b.offsetHeight < 40)"
        ".map(b => b.outerHTML)"
    )
    assert small == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [{}, PHONE], ids=["desktop", "phone"])
def test_nothing_stands_in_the_way_of_assistive_technology(
    show: Open, audit: Callable[[Page], None], scheme: str, size: Mapping[str, Any]
) -> None:
    page = show(judging_page([pool(2, 3)]), color_scheme=scheme, **size)
    audit(page)
    start(page)
    audit(page)
    page.locator(".grade").nth(3).click()
    page.get_by_role("button", name="Cannot tell").click()
    page.get_by_role("button", name="Note").click()
    audit(page)
    page.click("#help-open")
    audit(page)
    page.click("#help button.primary")
    for _ in range(4):
        page.locator(".grade").nth(1).click()
    page.wait_for_selector("#done:not([hidden])")
    audit(page)


def test_focus_goes_to_the_next_document_and_a_screen_reader_is_told(show: Open) -> None:
    page = start(show(judging_page([pool(2, 2)])))
    focused = "document.activeElement.className + ' ' + document.activeElement.getAttribute('aria-labelledby')"
    assert page.evaluate(focused) == "card active where title"
    first = active(page)
    page.keyboard.press("3")
    assert active(page) != first
    assert page.evaluate(focused) == "card active where title"
    assert page.inner_text("#said") == "perfect. 1 of 4 graded."
    page.keyboard.press("Tab")
    while not page.evaluate("document.activeElement.matches('.grade')"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.inner_text("#said").startswith("Next query: office chair 1.")


def test_undo_pass_over_cannot_tell_and_a_note(show: Open) -> None:
    page = start(show(judging_page([pool(1, 3)])))
    first = active(page)
    page.keyboard.press("2")
    page.keyboard.press("u")
    assert active(page) == first
    assert page.inner_text("#count") == "0 of 3 graded"
    assert page.is_disabled("#undo")
    page.keyboard.press("j")
    page.keyboard.press("n")
    page.keyboard.type('3 legs, "odd"\n=x')
    page.keyboard.press("Escape")
    page.keyboard.press("x")
    page.keyboard.press("1")
    assert active(page) == first, "what was passed over comes back in the end"
    page.keyboard.press("0")
    rows = table(saved(page))
    assert sorted(row["rating"] for row in rows) == ["", "0", "1"]
    # A spreadsheet that reads the lines of a cell apart is told that this one is no formula.
    assert [row["note"] for row in rows if row["note"]] == ['3 legs, "odd"\n\'=x']


def test_grades_are_there_after_a_reload_and_can_be_changed(show: Open) -> None:
    page = start(show(judging_page([pool(2, 3)])))
    order = [page.locator(".card").nth(n).inner_text().split("\n")[0] for n in range(1, 3)]
    for key in "3210":
        page.keyboard.press(key)
    kept(page)
    page.reload()
    page.wait_for_selector("html[data-ready]", state="attached")
    assert page.input_value("#name") == "Anna"
    page.get_by_text("Welcome back. 4 grades are still here.", exact=True).wait_for()
    page.keyboard.press("Enter")
    page.wait_for_selector(".card.active")
    assert page.inner_text("#count") == "4 of 6 graded"
    assert page.inner_text("#query") == "office chair 1"
    page.keyboard.press("[")
    assert [page.locator(".card").nth(n).inner_text().split("\n")[0] for n in range(1, 3)] == order
    page.keyboard.press("0")
    assert page.inner_text("#count") == "4 of 6 graded"
    assert sorted(grades(saved(page)).values()) == ["0", "0", "1", "2"]


def test_each_judge_has_an_order_and_grades_of_their_own(show: Open) -> None:
    page = start(show(judging_page([pool(1, 12)])), "Anna")

    def titles() -> list[str]:
        return [
            text.split("\n")[0].replace("Document 1 of 12", "")
            for text in page.locator(".card").all_inner_texts()
        ]

    anna = titles()
    page.keyboard.press("3")
    kept(page)
    page.reload()
    start(page, "Ben")
    ben = titles()
    assert page.inner_text("#count") == "0 of 12 graded"
    assert anna[1:] != ben[1:]
    assert anna[1:] != sorted(anna[1:])


def test_the_page_tells_no_rank_engine_or_score() -> None:
    text = judging_page([pool(1, 3)])
    data = text[text.index('id="data">') :].split("</script>")[0]
    assert "rank" not in data
    one, other = (
        Pool("s", "s", WORDS, (PooledQuery("q", "q", documents=(Pooled(a, 1), Pooled(b, 2))),))
        for a, b in (("x", "y"), ("y", "x"))
    )
    assert judging_page(by_importance([one], ())) == judging_page(by_importance([other], ()))


def test_an_earlier_file_is_continued_and_other_peoples_rows_are_left_out(
    show: Open, tmp_path: Path
) -> None:
    html = judging_page([pool(1, 3)])
    page = start(show(html))
    page.keyboard.press("3")
    page.keyboard.press("x")
    earlier = tmp_path / "earlier.csv"
    earlier.write_text(
        saved(page) + 'q0,office chair 0,d0-9,2,,Anna,2026-01-01T00:00:00Z,"gone, by now"\n'
        "q0,office chair 0,d0-0,1,,Ben,2026-01-01,\n",
        encoding="utf-8",
    )
    before = grades(saved(page))
    page = show(html)  # another browser, as far as storage goes
    page.set_input_files("#file", earlier)
    page.wait_for_selector("#file-said:not(:empty)")
    assert page.inner_text("#file-said").startswith(
        "earlier.csv cannot be used: it holds grades of Anna and Ben"
    )
    page.fill("#name", "Anna")
    page.set_input_files("#file", earlier)
    page.locator("#file-said", has_text="3 rows").wait_for()
    assert page.inner_text("#file-said") == "3 rows of Anna brought in; 1 row of others left out."
    page.click("#go")
    page.wait_for_selector(".card.active")
    assert page.inner_text("#count") == "3 of 4 graded", "one that is not on the page, too"
    page.keyboard.press("1")
    rows = table(saved(page))
    after = grades(saved(page))
    assert {pair: after[pair] for pair in before} == before
    assert len(after) == 4
    assert [row["note"] for row in rows if row["doc_id"] == "d0-9"] == ["gone, by now"]


def test_a_file_that_is_none_of_ours_is_told_in_one_line(show: Open, tmp_path: Path) -> None:
    page = show(judging_page([pool(1, 1)]))
    page.fill("#name", "Anna")
    for text, said in (
        ("query,docid,rating\na,b,1\n", "its first line does not name the columns"),
        ('query_id,query,doc_id,rating,judge,date,note\n"a', "it is no CSV"),
        *(
            (f"{HEADER}q0,a,b,2,,Anna,,\nq0,a,c,{row}\n", f"line 3: {said}")
            for row, said in BAD_ROWS
        ),
        (f'{HEADER}q0,a,b,2,,Anna,,"two\nlines"\nq0,a,c,9,,Anna,,\n', "line 4: 9 is no grade"),
        (f"{HEADER}q0,a,,2,,Anna,,\n", "line 2: no document, and no reason"),
    ):
        path = tmp_path / f"{abs(hash(text))}.csv"
        path.write_text(text)
        page.set_input_files("#file", path)
        page.locator("#file-said", has_text=said).wait_for()


def test_texts_of_strangers_are_text(show: Open, tmp_path: Path) -> None:
    ids = ["=1+1", '"quoted, id"', "-2", "@x", HOSTILE, "tab\tin", "'=1", "ünï 日本"]
    documents = tuple(
        Pooled(id, 1, HOSTILE, f"{HOSTILE} (a+ chair", (("x", HOSTILE),)) for id in ids
    )
    query = PooledQuery("=q", f"(a+ [chair {HOSTILE}", HOSTILE, (HOSTILE,), documents)
    page = show(judging_page([Pool("s.ir.yaml", HOSTILE, ((HOSTILE, 0.0), ("b", 1.0)), (query,))]))
    start(page, HOSTILE)
    for _ in ids:
        page.locator(".grade").nth(1).click()
    text = saved(page)
    (tmp_path / "j.csv").write_text(text, encoding="utf-8")
    (tmp_path / "s.ir.yaml").write_text("judgments: j.csv\nqueries: [{id: '=q', query: x}]\n")
    assert set(load_suite(tmp_path / "s.ir.yaml").queries[0].judgments.grades) == set(ids)
    assert not re.search(r'(^|,)"?[=+@\t-]', text, re.MULTILINE), "no cell begins a formula"


def test_pictures_are_data_or_files_beside_the_page_and_all_else_is_text(
    show: Open, tmp_path: Path
) -> None:
    pixel = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
    not_shown = [
        "https://example.org/a.png", "../a.png", "/etc/a.png", "javascript:alert(1).png", "12 EUR",
        " //host/share/a.png", "\t//host/a.png", "\n//host/a.png", "/\t/host/a.png", "\\\\host\\a.png",
        "/\\host/a.png", "file:a.png", "FILE:///etc/a.png", "\tfile:///a.png", "fi\nle:///a.png",
        "http:a.png", "https:a.png", "%2e%2e/a.png", "..\\a.png", "img/../../a.png", "img/.%2E/../a.png",
        "//a.png", "data:text/html,a.png", "blob:a.png", "http://[a.png",
    ]  # fmt: skip
    fields = (("image", pixel), *((f"field {n}", value) for n, value in enumerate(not_shown)))
    page = start(show(judging_page([pool(1, 1, fields=fields)])))
    assert page.locator(".pictures img").evaluate_all("all => all.map(one => one.alt)") == [
        "image of this document"
    ]
    assert (
        page.locator(".pictures img").evaluate(
            "async one => { await one.decode(); return one.naturalWidth }"
        )
        == 1
    )
    assert page.locator(".fields dd").all_text_contents() == not_shown
    assert judging_page([pool(1, 1, fields=(("image", "img/a.png"),))]).count("img/a.png") == 1


def test_a_picture_beside_the_page_is_shown(browser: Browser, tmp_path: Path) -> None:
    from base64 import b64decode

    (tmp_path / "img").mkdir()
    (tmp_path / "img" / "a.gif").write_bytes(
        b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
    )
    (tmp_path / "judge.html").write_text(
        judging_page([pool(1, 1, fields=(("image", "img/a.gif"),))])
    )
    page = browser.new_page()
    page.goto((tmp_path / "judge.html").as_uri())
    start(page)
    assert (
        page.locator("img").evaluate("async one => { await one.decode(); return one.naturalWidth }")
        == 1
    )
    page.close()


def test_long_texts_are_folded(show: Open) -> None:
    page = start(show(judging_page([pool(1, 1)]), viewport={"width": 500, "height": 800}))
    tall = page.evaluate("document.querySelector('.text').clientHeight")
    page.keyboard.press("t")
    assert page.evaluate("document.querySelector('.text').clientHeight") > tall
    assert page.inner_text(".more") == "Show less"


def test_keys_can_be_turned_off_and_do_nothing_in_a_dialog(show: Open) -> None:
    page = start(show(judging_page([pool(1, 3)])))
    page.keyboard.press("?")
    page.keyboard.press("3")
    page.uncheck("#shortcuts")
    page.click("#help button.primary")
    page.keyboard.press("3")
    assert page.inner_text("#count") == "0 of 3 graded"
    page.locator(".grade").first.click()
    assert page.inner_text("#count") == "1 of 3 graded"


def test_a_second_opinion_is_asked_only_of_what_the_judge_has_not_graded(show: Open) -> None:
    one = pool(1, 3)
    documents = [
        Pooled(d.id, d.rank, d.title, judges=judges)
        for d, judges in zip(one.queries[0].documents, (("Anna",), ("Ben", ""), ()), strict=True)
    ]
    page = show(
        judging_page([Pool("s", "s", WORDS, (PooledQuery("q", "q", documents=tuple(documents)),))])
    )
    page.fill("#name", "Anna")
    assert page.inner_text("#which-new") == "What nobody has graded yet: 1 document"
    page.locator("#which-all", has_text=": 2 documents").wait_for()
    page.check("[name=which][value=all]")
    page.click("#go")
    page.wait_for_selector(".card.active")
    assert page.inner_text("#count") == "0 of 2 graded"


def test_seven_thousand_documents(show: Open) -> None:
    page = start(show(judging_page([pool(700, 10)])))
    assert page.inner_text("#count") == "0 of 7\N{NARROW NO-BREAK SPACE}000 graded"
    for _ in range(12):
        page.keyboard.press("2")
    assert page.inner_text("#query") == "office chair 1"
    assert page.locator("#queries button").first.inner_text().split("\n")[-1] == "✓ done"
    page.locator("#queries button").nth(650).click()
    assert page.inner_text("#place") == "Query 651 of 700"
    assert len(grades(saved(page))) == 12


@pytest.fixture
def chromium(browser: Browser, tmp_path: Path) -> Iterator[Callable[[], tuple[Page, Any]]]:
    """Opens a browser of its own, with a profile that outlives it."""
    import shutil

    path = os.environ.get("IRQUALITY_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)))
    contexts: list[Any] = []

    def launch() -> tuple[Page, Any]:
        context = browser.browser_type.launch_persistent_context(
            tmp_path / "profile", executable_path=path, args=list(FLAGS)
        )
        contexts.append(context)
        return context.new_page(), context

    yield launch
    contexts[-1].close()


def test_killed_in_the_middle_nothing_is_lost(
    chromium: Callable[[], tuple[Page, Any]], tmp_path: Path
) -> None:
    file = tmp_path / "judge.html"
    file.write_text(judging_page([pool(5, 10)]), encoding="utf-8")
    page, _ = chromium()
    page.goto(file.as_uri())
    start(page)
    for number in range(23):
        page.keyboard.press(str(number % 4))
    page.keyboard.press("a")
    page.keyboard.type("added")
    page.keyboard.press("Enter")
    page.keyboard.press("2")
    page.keyboard.press("s")
    page.keyboard.press("Enter")
    before = saved(page)
    kept(page)
    for pid in _processes(tmp_path / "profile"):
        os.kill(pid, signal.SIGKILL)
    page, _ = chromium()
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    start(page)
    assert page.inner_text("#count") == "31 of 51 graded", "and a query skipped with its open ones"
    assert saved(page) == before
    assert [row["doc_id"] for row in table(before) if not row["rating"]] == [""]


def _processes(profile: Path) -> Iterator[int]:
    """The browser that has this profile, and nobody else's."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if f"--user-data-dir={profile}".encode() in command:
                yield int(entry.name)


def test_queries_of_one_id_and_other_words_are_not_taken_for_each_other(
    show: Open, tmp_path: Path
) -> None:
    def suite(text: str) -> Pool:
        documents = (Pooled("d", 1, "D"),)
        return Pool("shop.ir.yaml", "Shop", WORDS, (PooledQuery("1", text, documents=documents),))

    both = [suite("chair"), suite("table")]
    page = start(show(judging_page(both)))
    page.keyboard.press("3")
    assert page.inner_text("#count") == "1 of 2 graded"
    page.keyboard.press("0")
    page.keyboard.press("u")
    assert page.inner_text("#query") == "table"
    page.keyboard.press("1")
    text = saved(page)
    assert [(row["query"], row["rating"]) for row in table(text)] == [
        ("chair", "3"),
        ("table", "1"),
    ]
    (tmp_path / "j.csv").write_text(text, encoding="utf-8")
    (tmp_path / "s.ir.yaml").write_text("judgments: j.csv\nqueries: [{query: table, id: 1}]\n")
    with pytest.raises(SuiteError, match=r"j\.csv:3:\d+: '1' is 'table' here, but 'chair' above"):
        load_suite(tmp_path / "s.ir.yaml")
    page = show(judging_page(both))
    page.fill("#name", "Anna")
    page.set_input_files("#file", tmp_path / "j.csv")
    page.locator("#file-said", has_text="2 rows").wait_for()
    start(page)
    assert grades(saved(page)) == {("1", "d"): "1"}, "the last row: both are there"
    assert len(table(saved(page))) == 2
    kept(page)
    (tmp_path / "report.html").write_text(judging_page([suite("lamp")]), encoding="utf-8")
    page.reload()
    start(page)
    assert page.inner_text("#count") == "0 of 1 graded", "another suite at the same place"
    assert table(saved(page)) == []


def test_who_has_graded_elsewhere_is_told_to_bring_the_file_in(show: Open, tmp_path: Path) -> None:
    votes = (("Anna", 3.0, ""), ("Ben", 1.0, ""))
    documents = (
        Pooled("a", 1, judges=("Anna", "Ben"), disputed=votes),
        Pooled("b", 2, judges=("Ben", "")),
        Pooled("c", 3),
    )
    html = judging_page([Pool("s", "s", WORDS, (PooledQuery("q", "q", documents=documents),))])
    page = show(html)
    assert page.is_hidden("#resume")
    page.fill("#name", "Anna")
    page.locator("#resume", has_text="The suite has").wait_for()  # what is kept is read meanwhile
    assert page.inner_text("#resume") == (
        "The suite has 1 grade of Anna that this browser does not have:"
        " continue from the saved file, or the next one is without them."
    )
    start(page, "Anna", "settle")
    page.keyboard.press("a")
    assert active(page) == "a", "where judges differ nothing is added"
    page.keyboard.press("2")
    kept(page)
    page.reload()
    page.locator(
        "#resume", has_text="Welcome back. 1 grade is still here. The suite has 1"
    ).wait_for()
    earlier = tmp_path / "earlier.csv"
    earlier.write_text(f"{HEADER}q,q,a,3,1,Anna,2026-01-01,\n")
    page.set_input_files("#file", earlier)
    page.locator("#resume", has_text="Welcome back. 1 grade is still here.").wait_for()
    page.wait_for_function("!document.querySelector('#resume').textContent.includes('does not')")
    start(page, which="new")
    page.keyboard.press("1")
    rows = {(row["doc_id"], row["rating"], row["decision"]) for row in table(saved(page))}
    assert rows == {("a", "3", "2"), ("c", "1", "")}, "the later decision, and the grade beside it"
