"""What search missed: added on the page, by judges who know the truth, who differ, or who choose."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_irquality import load_suite
from pytest_irquality.report.judging import judging_page
from pytest_irquality.verdict.pool import Pool, Pooled, PooledQuery, by_importance
from tests.browser.conftest import Open
from tests.browser.judge import Judge, active, grades, kept, saved, start, table
from tests.conftest import SHARED, Project

if TYPE_CHECKING:
    from playwright.sync_api import Page

WORDS = (("bad", 0.0), ("ok", 1.0), ("good", 2.0), ("perfect", 3.0))
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


def page_of(*queries: PooledQuery, **more: Any) -> str:
    return judging_page(by_importance([Pool("shop.ir.yaml", "Shop", WORDS, queries, **more)], ()))


def query(id: str, results: int = 0, **more: Any) -> PooledQuery:
    pooled = tuple(Pooled(f"{id}-{n}", n + 1, f"Chair {n}") for n in range(results))
    return PooledQuery(id, f"words of {id}", **{"documents": pooled, **more})


def asked(page: Page) -> str:
    return page.inner_text("#query")


# -- what is missing -------------------------------------------------------------------------------


def test_queries_that_returned_nothing_come_first_and_then_those_without_anything_good(
    show: Open,
) -> None:
    graded = (Pooled("d", 1, judges=("Ben",)),)
    page = show(
        page_of(
            query("usual", 2),
            replace(query("good"), documents=graded, found=True),
            replace(query("bad"), documents=graded),
            query("known", found=True),
            query("none"),
            replace(query("skipped"), skipped=("Ben",)),
        )
    )
    assert page.text_content("#which-new") == (
        "What nobody has graded yet: 2 documents, and 3 queries without anything good"
    )
    start(page)
    listed = page.locator("#queries button").all_inner_texts()
    assert [one.split("\n") for one in listed] == [
        ["words of none", "found nothing"],
        ["words of known", "✓ done"],
        ["words of bad", "nothing good"],
        ["words of usual", "0 of 2"],
    ]
    assert page.inner_text("#count") == "0 of 4 graded"
    assert "Search returned nothing here." in page.inner_text(".card.active")


def corpus(size: int) -> tuple[tuple[str, str, str], ...]:
    kinds = ("Chair", "Table", "Lamp", "Sofa", "Crème brûlée torch")
    return tuple(
        (f"sku-{n}", f"{kinds[n % 5]} number {n}", f"Text of {n}. " * 20) for n in range(size)
    )


def test_what_is_missing_is_found_by_title_or_id_among_20_000_documents(
    show: Open, tmp_path: Path
) -> None:
    page = start(show(page_of(query("q", 1), query("none"), corpus=corpus(20_000))))
    page.keyboard.press("a")
    page.wait_for_selector("#find:focus")
    assert "20\N{NARROW NO-BREAK SPACE}000 documents" in page.inner_text(".find")
    for words, matches in (
        ("chair", 8),
        ("e", 8),
        ("number 12345", 1),
        ("nothing of this kind", 0),
    ):
        page.fill("#find", words)
        assert page.locator(".matches button").count() == matches + 1, "and the words as an id"
    page.fill("#find", "sku-7")
    assert page.locator(".matches small").first.inner_text() == "sku-7", "the id itself first"
    page.fill("#find", "creme 19994")
    assert page.locator(".matches span").all_inner_texts()[0] == "Crème brûlée torch number 19994"
    page.keyboard.press("Enter")
    assert active(page) == "Crème brûlée torch number 19994"
    assert "Text of 19994." in page.inner_text(".card.active .text")
    page.keyboard.press("3")
    assert asked(page) == "words of q"
    text = saved(page)
    assert grades(text) == {("none", "sku-19994"): "3"}
    (tmp_path / "j.csv").write_text(text, encoding="utf-8")
    (tmp_path / "s.ir.yaml").write_text("judgments: j.csv\nqueries: [{query: x, id: none}]\n")
    suite = load_suite(tmp_path / "s.ir.yaml")
    assert suite.queries[0].judgments.grades == {"sku-19994": 3}


def test_without_a_corpus_documents_are_added_by_id_and_are_there_after_a_reload(
    show: Open,
) -> None:
    page = start(show(page_of(query("none"))))
    page.click("#find")
    page.keyboard.type("new <b>one</b>")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert active(page) == "new <b>one</b>"
    page.keyboard.press("u")
    assert page.locator(".card").count() == 1, "what was added is taken back"
    page.fill("#find", "x1")
    page.locator(".matches button").click()
    page.keyboard.press("1")
    page.wait_for_selector("#done:not([hidden])")
    kept(page)
    page.reload()
    start(page)
    assert page.locator(".card").count() == 2
    assert page.inner_text("#count") == "1 of 1 graded"
    assert grades(saved(page)) == {("none", "x1"): "1"}


def test_a_query_whose_results_are_all_bad_asks_what_is_missing(show: Open) -> None:
    page = start(show(page_of(query("q", 2), query("r", 1))))
    page.keyboard.press("0")
    assert page.inner_text("#count") == "1 of 3 graded"
    page.keyboard.press("x")
    assert page.inner_text("#count") == "2 of 4 graded"
    assert "Nothing good is known for this query." in page.inner_text(".card.active")
    page.keyboard.press("a")
    page.keyboard.type("q-0")
    page.keyboard.press("Enter")
    assert active(page) == "Chair 0", "one that is there already is opened, not added"
    page.keyboard.press("1")
    assert (asked(page), page.inner_text("#count")) == ("words of r", "2 of 3 graded")


def test_a_document_that_others_graded_can_be_graded_too(show: Open) -> None:
    two = (Pooled("a", 1, "A", judges=("Ben",)), Pooled("b", 2, "B"))
    page = start(show(page_of(PooledQuery("q", "q", documents=two))))
    assert page.locator(".card").count() == 2
    page.keyboard.press("a")
    page.keyboard.type("a")
    page.keyboard.press("Enter")
    assert active(page) == "A"
    page.keyboard.press("2")
    assert grades(saved(page)) == {("q", "a"): "2"}


# -- skipped queries -------------------------------------------------------------------------------


def test_a_query_is_skipped_with_a_reason_that_the_file_keeps(show: Open, tmp_path: Path) -> None:
    page = start(show(page_of(query("q", 3), query("r", 1), query("t", 1))))
    page.keyboard.press("2")
    page.keyboard.press("s")
    page.keyboard.press("Escape")
    assert asked(page) == "words of q", "no reason, not skipped"
    page.keyboard.press("s")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert asked(page) == "words of r"
    page.keyboard.press("s")
    page.locator("#reason").focus()
    page.keyboard.press("Enter")
    assert page.is_visible("#skip"), "a reason of one's own must be written"
    page.keyboard.type('in "Dutch", =sorry')
    page.keyboard.press("Enter")
    assert asked(page) == "words of t"
    page.keyboard.press("s")
    page.get_by_role("button", name="Back").click()
    page.keyboard.press("1")
    page.wait_for_selector("#done:not([hidden])")
    text = saved(page)
    skipped = [(row["query_id"], row["note"]) for row in table(text) if not row["doc_id"]]
    assert skipped == [("q", "two meanings"), ("r", 'in "Dutch", =sorry')]
    (tmp_path / "j.csv").write_text(text, encoding="utf-8")
    (tmp_path / "s.ir.yaml").write_text(
        "judgments: j.csv\nqueries: [{query: x, id: q}, {query: y, id: r}, {query: z, id: t}]\n"
    )
    first, second, third = load_suite(tmp_path / "s.ir.yaml").queries
    assert first.notes[""] == {"Anna": "two meanings"}
    assert second.notes[""] == {"Anna": 'in "Dutch", =sorry'}
    assert third.notes == {}
    page.reload()
    start(page)
    page.locator("#queries button").first.click()
    page.locator(".card .open").first.click()
    page.keyboard.press("3")
    assert "two meanings" not in saved(page), "whoever grades it has not skipped it"


def test_all_of_it_with_a_finger(show: Open) -> None:
    page = show(page_of(query("q", 2), query("none"), query("r", 1), corpus=corpus(50)), **PHONE)
    page.locator("#name").tap()
    page.keyboard.type("Ben")
    page.locator("#go").tap()
    page.locator("#find").tap()
    page.keyboard.type("lamp 12")
    page.locator(".matches button").first.tap()
    page.locator(".card.active .grade").nth(3).tap()
    page.locator(".card.active .grade").nth(2).tap()
    page.get_by_role("button", name="Skip query").tap()
    page.get_by_role("button", name="Unclear").tap()
    page.locator("#list-open").tap()
    page.locator("#queries button").nth(2).tap()
    assert page.is_hidden("#queries")
    page.locator(".card.active .grade").nth(0).tap()
    page.get_by_role("button", name="Skip query").tap()
    page.locator("#reason").tap()
    page.keyboard.type("a typo")
    page.get_by_role("button", name="Skip it").tap()
    page.wait_for_selector("#done:not([hidden])")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    rows = [
        (row["query_id"], row["doc_id"], row["rating"], row["note"]) for row in table(saved(page))
    ]
    assert len(rows) == 5
    assert {("none", "sku-12", "3", ""), ("q", "", "", "unclear"), ("r", "", "", "a typo")} <= {
        *rows
    }


# -- judges who differ -----------------------------------------------------------------------------


def judged(project: Project, name: str, rows: Mapping[tuple[str, str], float]) -> None:
    lines = "".join(
        f"{q},{q},{d},{grade:g},,{name},2026-03-01,by {name}\n" for (q, d), grade in rows.items()
    )
    header = "query_id,query,doc_id,rating,decision,judge,date,note\n"
    (project.path / f"shop.judgments-{name}.csv").write_text(header + lines, encoding="utf-8")


def test_two_judges_who_differ_in_one_grade_of_five_are_settled(
    project: Project, show: Open
) -> None:
    project.suite(
        "judgments: shop.judgments*.csv\ngrades: {bad: 0, ok: 1, good: 2, perfect: 3}\n"
        "thresholds: {ndcg@10: 0.01}\nqueries:\n"
        + "  - {query: q0, relevant: {q0-0: 1}}\n"
        + "".join(f"  - query: q{n}\n" for n in range(1, 10))
    )
    project.conftest(
        "@pytest.fixture\ndef retriever(): return lambda q: [f'{q}-{n}' for n in range(9)]\n"
    )
    pairs = {(f"q{q}", f"q{q}-{d}"): float((q + d) % 4) for q in range(10) for d in range(10)}
    judged(project, "anna", pairs)
    other = {
        pair: 3 - grade if n % 5 == 0 else grade for n, (pair, grade) in enumerate(pairs.items())
    }
    judged(project, "ben", other)
    differ = {pair for pair in pairs if other[pair] != pairs[pair]}
    project.run("--ir-judge=judge.html")
    page = start(show((project.path / "judge.html").read_text("utf-8")), "Cleo", "settle")
    assert page.inner_text("#count") == "0 of 20 decided"
    assert (
        "Of 100 documents that several people graded, 80 are agreed or decided"
        in page.inner_text("#task")
    )
    apart = []
    for _ in range(20):
        cards = page.locator(".card.active .opinions li")
        assert cards.locator("b").all_inner_texts()[:2] in (["anna", "ben"], ["the suite", "anna"])
        assert "by anna" in cards.all_inner_texts()[-2]
        query_, document = asked(page), page.inner_text(".card.active h2")
        apart.append(abs(pairs[query_, document] - other[query_, document]))
        page.keyboard.press(f"{min(pairs[query_, document], other[query_, document]):g}")
    assert max(apart[:3]) == 3 == apart[0]
    assert "with your decisions 100." in page.inner_text("#task")
    (project.path / "shop.judgments-cleo.csv").write_text(saved(page), encoding="utf-8")
    for one in load_suite(project.path / "shop.ir.yaml").queries:
        for document, grade in one.judgments.grades.items():
            pair = one.id, document
            if pair in differ:
                assert grade == min(pairs[pair], other[pair]), "whatever the suite itself says"
    again = show((project.path / "judge.html").read_text("utf-8"))
    project.run("--ir-judge=judge.html")
    again = show((project.path / "judge.html").read_text("utf-8"))
    assert again.is_hidden("#which-settle"), "what is decided is not asked again"


# -- a chosen set ----------------------------------------------------------------------------------


def test_an_address_opens_the_page_on_given_queries_shuffled_and_blind_as_ever(show: Open) -> None:
    ids = ["a b&c", "ünï", "#x", "other"]
    text = page_of(*(query(id, 9) for id in ids))
    page = start(show(text))
    page.locator("#queries button").nth(ids.index("ünï")).click()
    order = page.locator(".card").all_inner_texts()
    chosen = show(text, "#q=a+b%26c&q=%C3%BCn%C3%AF&q=%23x&q=gone")
    assert chosen.inner_text("#chosen").startswith("This address has 3 of 4 queries.")
    start(chosen)
    assert chosen.locator("#queries button span").all_inner_texts() == [
        f"words of {id}" for id in ids[:3]
    ]
    chosen.locator("#queries button").nth(1).click()
    assert chosen.locator(".card").all_inner_texts() == order
    chosen.reload()
    with chosen.expect_navigation():
        chosen.click("#chosen a")
    start(chosen)
    assert chosen.locator("#queries button").count() == 4


def test_a_red_build_names_the_address_of_the_queries_that_could_turn_it(
    project: Project, show: Open
) -> None:
    project.suite(
        "top_k: 3\nqueries:\n"
        "  - {query: near, relevant: {a: 1}, thresholds: {ndcg@3: 0.5001}}\n"
        "  - {query: fails, relevant: {a: 1}, thresholds: {ndcg@3: 0.9}}\n"
    )
    project.answers({"near": ["x", "y", "a"], "fails": ["a0", "b0", "a"]})
    result = project.run("--ir-judge=judge.html")
    result.stdout.fnmatch_lines(
        [
            "to grade: judge.html: 4 documents of 2 queries that nobody has graded;"
            " judge.html#decides has 2 queries that could turn the verdict*"
        ]
    )
    project.suite(
        "top_k: 3\nqueries:\n"
        "  - {query: near, relevant: {a: 1}, thresholds: {ndcg@3: 0.4999}}\n"
        "  - {query: fails, relevant: {a: 1}, thresholds: {ndcg@3: 0.9}}\n"
    )
    result = project.run("--ir-judge=to grade/judge.html", "--ir-report=reports/red.html")
    result.stdout.fnmatch_lines(
        ["*; to grade/judge.html#decides has 1 query that could turn the verdict*"]
    )
    report = show((project.path / "reports/red.html").read_text("utf-8"))
    link = report.get_by_role("link", name="Grade the 1 query that could turn the verdict")
    assert link.get_attribute("href") == "../to%20grade/judge.html#decides"
    page = start(show((project.path / "to grade/judge.html").read_text("utf-8"), "#decides"))
    assert page.locator("#queries button span").all_inner_texts() == ["fails"]
    assert page.inner_text("#count") == "0 of 2 graded"


@pytest.mark.parametrize("size", [{}, PHONE], ids=["desktop", "phone"])
def test_nothing_of_it_stands_in_the_way_of_assistive_technology(
    show: Open, audit: Callable[[Page], None], size: Mapping[str, Any]
) -> None:
    votes = (("Anna", 3.0, "yes"), ("", 0.0, ""))
    two = tuple(Pooled(f"d{n}", n, judges=("Anna", ""), disputed=votes) for n in (1, 2))
    text = page_of(query("none"), query("q", 1), query("two", documents=two), corpus=corpus(30))
    page = show(text, "#q=none&q=two&q=q", **size)
    audit(page)
    start(page)
    page.fill("#find", "lamp")
    audit(page)
    page.get_by_role("button", name="Skip query").click()
    audit(page)
    page.get_by_role("button", name="Two meanings").click()
    if size:
        page.click("#list-open")
        audit(page)
    start(show(text, **size), "Ben", "settle")
    audit(page)


# -- much ------------------------------------------------------------------------------------------


def test_two_thousand_documents_of_one_query(show: Open) -> None:
    page = start(show(page_of(query("q", 2000), query("none"), corpus=corpus(20_000))))
    page.locator("#queries button").nth(1).click()
    assert page.locator(".card").count() == 2001
    for _ in range(50):
        page.keyboard.press("2")
    assert page.inner_text("#count") == "50 of 2\N{NARROW NO-BREAK SPACE}001 graded"
    kept(page)
    page.reload()
    start(page)
    page.locator("#queries button").nth(1).click()
    assert page.inner_text(".card.active .where") == "Document 51 of 2000"


# -- the truth is known ----------------------------------------------------------------------------

SUITE = (
    "judgments: shop.judgments*.csv\ngrades: {bad: 0, good: 1}\nmetrics: [recall@10]\n"
    "corpus: {files: corpus.jsonl}\n"
    "thresholds: {recall@10: {max_drop: 0.05}}\nqueries:\n"
)
IDS = [f"q{n}" for n in range(8)]
TRUTH = {id: {f"{id}-r{n}": 1.0 for n in range(6)} for id in [*IDS, "none"]}


def collection(project: Project) -> None:
    """Of each query six documents are relevant: the good engine finds five, the bad one two.
    Of one query both find nothing.
    """
    project.suite(
        SUITE + "".join(f"  - {{id: {id}, query: words of {id}}}\n" for id in [*IDS, "none"])
    )
    (project.path / "corpus.jsonl").write_text(
        "".join(json.dumps({"id": f"{id}-{kind}{n}", "title": f"{kind} {n} of {id}", "text": "words"}) + "\n"
                for id in [*IDS, "none"] for kind in "rjk" for n in range(8)), encoding="utf-8"
    )  # fmt: skip
    for name, found in (("good", "r0 r1 r2 j0 r3 j1 r4"), ("bad", "r4 k0 k1 r5 k2")):
        engine(project, found)
        (project.path / "shop.judgments.csv").write_text("query_id,doc_id,rating\n")
        project.run(f"--ir-save-runs={name}", "-q")


def engine(project: Project, found: str) -> None:
    project.conftest(
        "@pytest.fixture\ndef retriever():\n    def search(query):\n        id = query.split()[-1]\n"
        f"        return [] if id == 'none' else [f'{{id}}-{{one}}' for one in {found!r}.split()]\n"
        "    return search\n"
    )


def recall(project: Project) -> tuple[float, list[str]]:
    (suite,) = project.data["suites"]
    (mean,) = [
        one for one in suite["means"] if one["measure"] == "recall@10" and one["tag"] is None
    ]
    return mean["value"], [
        note for note in suite["notes"] if "counts graded documents only" in note
    ]


def test_what_reports_say_of_recall_and_of_a_bad_change_with_one_engines_pool_with_two_and_the_truth(
    project: Project, show: Open
) -> None:
    collection(project)
    ids = {f"words of {id}": id for id in TRUTH}

    def graded(judge: str, adds: bool, *args: str) -> None:
        project.run(f"--ir-judge={judge}.html", *args)
        page = start(show((project.path / f"{judge}.html").read_text("utf-8")), judge)
        text = Judge(TRUTH, ids, adds).works_through(page)
        (project.path / f"shop.judgments-{judge}.csv").write_text(text, encoding="utf-8")

    # One engine's pool: what the change itself returns.
    graded("one", False)
    project.run()
    assert recall(project) == (
        1.0, ["recall@10 counts graded documents only: nothing is known to be relevant but what was returned"]
    )  # fmt: skip
    assert project.run("--ir-baseline=good").ret == 0, (
        "wrong: the better engine has 0.5 by these grades"
    )
    # Two engines' pool, from the beginning.
    (project.path / "shop.judgments-one.csv").unlink()
    graded("two", True, "--ir-baseline=good")
    result = project.run("--ir-baseline=good")
    assert result.ret == 1, "right: two of six instead of five"
    value, notes = recall(project)
    assert value == pytest.approx(8 * (2 / 6) / 9)
    assert notes == [
        "1 of 49 (2 %) relevant documents were not returned: none-r0;"
        " recall@10 counts graded documents only"
    ]
    # The truth.
    rows = "".join(
        f"{q},{q},{d},{g:g},,truth,2026-03-01,\n"
        for q, some in TRUTH.items()
        for d, g in some.items()
    )
    (project.path / "shop.judgments-two.csv").write_text(
        f"query_id,query,doc_id,rating,decision,judge,date,note\n{rows}", encoding="utf-8"
    )
    assert project.run("--ir-baseline=good").ret == 1
    assert recall(project)[0] == pytest.approx(8 * (2 / 6) / 9)


CRANFIELD = SHARED / "data" / "cranfield"


@pytest.mark.slow
@pytest.mark.skipif(not CRANFIELD.is_dir(), reason="the collection of ../shared is not here")
def test_cranfield_judged_by_one_who_knows_the_truth(project: Project, show: Open) -> None:
    truth: dict[str, dict[str, float]] = {}
    for line in (CRANFIELD / "qrels" / "test.tsv").read_text("utf-8").splitlines()[1:]:
        id, document, grade = line.split("\t")
        truth.setdefault(id, {})[document] = float(grade)
    lines = (CRANFIELD / "queries.jsonl").read_text("utf-8").splitlines()[:40]
    queries = {one["text"]: one["_id"] for one in map(json.loads, lines)}
    (project.path / "queries.jsonl").write_text("\n".join(lines), encoding="utf-8")
    for name in ("corpus.jsonl", "qrels/test.tsv"):
        (project.path / Path(name).name).write_bytes((CRANFIELD / name).read_bytes())
    (project.path / "shop.judgments.csv").write_text("query_id,doc_id,rating\n")
    suite = (
        "grades: {none: 0, poor: 1, fair: 2, good: 3, best: 4}\nmetrics: [recall@10, ndcg@10]\n"
        "thresholds: {ndcg@10: {max_drop: 0.02}}\nqueries: queries.jsonl\n"
    )
    project.suite(f"{suite}judgments: shop.judgments*.csv\ncorpus: {{files: corpus.jsonl}}\n")
    project.conftest("@pytest.fixture\ndef retriever(): return None\n")
    bad = f"--ir-runs={CRANFIELD / 'runs' / 'osmem-opensearch.run.gz'}"
    good = f"--ir-baseline={CRANFIELD / 'runs' / 'sqlite-fts5.run.gz'}"

    def graded(judge: str, *args: str) -> None:
        project.run(f"--ir-judge={judge}.html", *args, "-q")
        page = start(show((project.path / f"{judge}.html").read_text("utf-8")), judge)
        text = Judge(truth, queries, adds=False).works_through(page)
        (project.path / f"shop.judgments-{judge}.csv").write_text(text, encoding="utf-8")

    graded("one", bad)
    assert project.run(bad, good).ret == 0, "wrong"
    value, notes = recall(project)
    assert value == 1
    assert notes[0].endswith(
        "recall@10 counts graded documents only: nothing is known to be relevant but what was returned"
    )
    graded("two", bad, good)
    assert project.run(bad, good).ret == 1, "right"
    value, notes = recall(project)
    assert 0.4 < value < 1
    assert len(notes) == 1
    project.suite(f"{suite}judgments: test.tsv\n")
    assert project.run(bad, good).ret == 1, "the truth"
    assert recall(project)[0] < value
