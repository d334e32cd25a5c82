"""The HTML report, from results made by hand: what a person can read in it, and what cannot get into it."""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from html.parser import HTMLParser

import pytest

from pytest_irquality.report.html import html_report
from pytest_irquality.verdict.facts import Fact, Moved, Remark, RestsOnUnjudged
from pytest_irquality.verdict.findings import Finding, RankedDocument
from pytest_irquality.verdict.result import (
    Mean,
    Outcome,
    QueryResult,
    ShownDocument,
    Verdict,
)
from pytest_irquality.wording.block import STATES
from pytest_irquality.wording.words import age
from tests.report.made import HOSTILE, check, compared, data_of, floor, moved, query, suite

VOID = {"meta", "link", "br", "hr", "img", "input", "base", "wbr"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    children: list[Element | str] = field(default_factory=list)

    @property
    def raw(self) -> str:
        return "".join(child if isinstance(child, str) else child.raw for child in self.children)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", self.raw).strip()

    def all(self, tag: str = "", css: str = "") -> list[Element]:
        found: list[Element] = []
        for child in self.children:
            if isinstance(child, Element):
                if tag in ("", child.tag) and css in (
                    "",
                    *child.attributes.get("class", "").split(),
                ):
                    found.append(child)
                found += child.all(tag, css)
        return found

    def one(self, tag: str = "", css: str = "") -> Element:
        return self.all(tag, css)[0]


class Parser(HTMLParser):
    """Refuses what browsers would silently mend."""

    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("root", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), attrs
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parse(page: str) -> Element:
    parser = Parser()
    parser.feed(page)
    parser.close()
    assert len(parser.open) == 1, f"left open: {[element.tag for element in parser.open]}"
    return parser.open[0]


def row(page: Element, text: str) -> Element:
    bodies = page.one("table", "queries").all("tbody")
    return next(body for body in bodies if [one.text for one in body.all("span", "text")] == [text])


def ranked(body: Element) -> list[list[str]]:
    """The rows of an opened query's documents."""
    return [
        [cell.text for cell in line.children if isinstance(cell, Element)]
        for line in body.one("div", "detail").one("tbody").all("tr")
    ]


def test_verdict_in_words_when_red() -> None:
    results = suite(
        query("chair", 0.0),
        query("sofa"),
        query("desk", None, fault="ConnectionError: refused", ranking=(), returned=0),
        query("lamp"),
        verdicts=(
            check("chair", "failed"),
            check("sofa"),
            check("desk", "error", unanswered=("desk",), findings=()),
            check("lamp", "fixed", known_issue="S-1", issue_line=4),
            check("rug", "known", known_issue="S-2"),
            floor(0.5, 0.8, "failed"),
        ),
        interrupted=True,
    )
    page = parse(html_report([results]))
    assert page.one("h1").text == (
        "✗ Search is not good enough 1 of 5 queries broke a rule, 1 of 1 limit broken, 1 query had no answer,"
        " 1 known issue is fixed, 1 known issue, ndcg@10 over the 3 of 4 that were answered,"
        " stopped after 4 queries; nothing was compared"
    )
    limits, worst = (
        page.one("header").one("table", "brief"),
        page.one("header").one("table", "worst"),
    )
    assert limits.one("tbody").one("tr").text == "✗ ndcg@100.900≥ 0.8"
    assert [row.text.split()[0] for row in worst.one("tbody").all("th")] == ["chair"]
    assert page.one("title").text == "FAIL: Shop search"


def test_verdict_in_words_when_green() -> None:
    page = parse(
        html_report([suite(query("sofa"), verdicts=(check("sofa"), floor(0.9, 0.8, "passed")))])
    )
    assert (
        page.one("h1").text
        == "✓ Search is as good as demanded 1 query, 1 limit holds, but nothing was compared"
    )


def test_nothing_gated_and_nothing_judged_are_said() -> None:
    gated = html_report([suite(query("sofa"), verdicts=(check("sofa", findings=()),), gated=False)])
    assert (
        parse(gated).one("h1").text
        == "⚠ Nothing can fail 1 query, no rule and no limit that could fail, but nothing was compared"
    )
    assert "Nothing was judged" in parse(html_report([])).one("h1").text


def test_what_was_not_evaluated_is_no_pass() -> None:
    page = parse(
        html_report(
            [suite(query("sofa"), verdicts=(check("sofa"),))],
            not_evaluated=["b.ir.yaml::chair: -x"],
        )
    )
    assert (
        page.one("h1").text
        == "✗ Not everything was evaluated 1 query, 1 suite not evaluated; nothing was compared"
    )
    assert "b.ir.yaml::chair: -x" in page.one("header").text


def test_worst_first() -> None:
    outcomes: list[tuple[str, float | None, Outcome]] = [
        ("passed", 0.9, "passed"), ("passed, lower", 0.2, "passed"),
        ("undefined", None, "passed"), ("known", 0.1, "known"),
        ("fixed", 1.0, "fixed"), ("error", None, "error"), ("failed", 0.6, "failed"), ("failed, lower", 0.5, "failed"),
    ]  # fmt: skip
    made = suite(
        *(query(id, value) for id, value, _ in outcomes),
        verdicts=tuple(check(id, outcome) for id, _, outcome in outcomes),
    )
    page = parse(html_report([made]))
    assert [text.text for text in page.one("table", "queries").all("span", "text")] == [
        "failed, lower", "failed", "error", "fixed", "known", "passed, lower", "passed", "undefined",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "outcome", ["passed", "failed", "error", "known", "accepted", "fixed", "not evaluated"]
)
def test_every_outcome_has_a_word_and_a_symbol(outcome: Outcome) -> None:
    page = parse(
        html_report([suite(query("sofa"), verdicts=(check("sofa", outcome, known_issue="S-9"),))])
    )
    told = row(page, "sofa").one("td", "outcome").text
    assert told.startswith(STATES[outcome].symbol + " ")
    assert told == "⚠ known issue S-9" if outcome == "known" else STATES[outcome].word in told
    assert (
        len({state.symbol for name, state in STATES.items() if name != "warned"}) == len(STATES) - 1
    )


def test_grades_have_a_word_and_not_only_a_colour() -> None:
    ranking = (
        ShownDocument(1, "a", "Chair", 3.0, True, 12.5),
        ShownDocument(2, "b", None, 0.0, False),
        ShownDocument(3, "c"),
        ShownDocument(4, "d", None, 1.0, True),
    )
    missing = (
        ShownDocument(None, "e", "Gone", 2.0, True),
        ShownDocument(14, "f", None, 0.5, True),
        ShownDocument(None, "g"),
    )
    page = parse(
        html_report([suite(query("chair", ranking=ranking, missing=missing, returned=40))])
    )
    assert ranked(row(page, "chair")) == [
        ["1", "3 ✓", "Chair", "a"],
        ["2", "0 ✗", "b", ""],
        ["3", "unjudged", "c", ""],
        ["4", "1 ✓", "d", ""],
        ["expected, but not above:"],
        ["–", "2 ✓", "Gone", "e"],
        ["14", "0.5 ✓", "f", ""],
        ["–", "unjudged", "g", ""],
    ]


def test_a_failed_query_opens_to_everything_about_it() -> None:
    failing = query(
        "q14",
        0.0,
        text="office chair",
        line=31,
        check="it's",
        remarks={"why": "3 % of revenue"},
        tags=("head",),
        seconds=0.04,
    )
    verdict = check("office chair", "failed", check="it's", query="q14")
    page = parse(html_report([suite(failing, verdicts=(verdict,), retriever="bm25")]))
    body = row(page, "office chair")
    assert "open" in body.one("details").attributes
    assert body.one("span", "id").text == "q14"
    assert body.one("summary").one("span", "").attributes["class"] == "unseen"
    assert (
        body.one("summary").text
        == "office chair: office chair-doc must be in the top 1: it is at rank 4"
    )
    assert (
        body.one("ul", "rules").text
        == "✗ failed office chair-doc must be in the top 1: it is at rank 4"
    )
    for said in ("3 % of revenue", "head", "shop.ir.yaml:31"):
        assert said in body.text
    assert shlex.split(body.one("code", "command").text) == [
        "pytest",
        "--ir-suite",
        "shop.ir.yaml::it's[bm25]",
    ]


def test_a_fault_is_told_in_full_and_is_no_ranking() -> None:
    fault = "Traceback:\n  boom <b>\nValueError: no index"
    page = parse(html_report([suite(query("desk", None, fault=fault, ranking=(), returned=0))]))
    assert row(page, "desk").one("pre", "fault").children == [fault]
    assert row(page, "desk").one("td", "outcome").text == "⊘ error"
    assert "no results" not in row(page, "desk").text


def limits(page: Element, *columns: str) -> list[list[str]]:
    """The cells below these heads in the rows of the limits, and whatever is said below one."""
    section = page.one("section", "limits")
    told = []
    for line in (line for part in section.all("tbody") for line in part.all("tr")):
        cells = {cell.attributes.get("data-label", ""): cell.text for cell in line.all("td")}
        said = [part.text for part in line.all("p") if "muted" not in str(part.attributes)]
        told.append([cells[name] for name in columns if name in cells] or said)
    return told


def test_limits_show_numbers_that_never_read_alike() -> None:
    means = (Mean("ndcg@10", None, 0.84999, 20, 0),)
    made = suite(query("a"), verdicts=(floor(0.84999, 0.85, "failed"),), means=means)
    page = parse(html_report([made]))
    assert limits(page, "now", "limit", "queries", "outcome") == [
        ["0.84999", "≥ 0.85", "20", "✗ failed"],
        ["ndcg@10 is 0.84999, below its floor 0.85000"],
    ]


@pytest.mark.parametrize(
    ("measure", "unit", "value", "limit", "cells"),
    [
        ("zero_results", "count", 3.0, 1.0, ["3", "≤ 1"]),
        ("zero_results", "share", 0.075, 0.02, ["8 %", "≤ 2 %"]),
        ("zero_results", "share", 0.0201, 0.02, ["2.01 %", "≤ 2 %"]),
        ("latency_p95", "seconds", 0.25, 0.2, ["250 ms", "≤ 200 ms"]),
        ("mrr@10", "", None, 0.2, ["≤ 0.2"]),
    ],
)
def test_units_of_limits(
    measure: str, unit: str, value: float | None, limit: float, cells: list[str]
) -> None:
    finding = Finding("", "max", False, True, measure, value, limit, 40, unit)
    verdict = Verdict("it", measure, 1, "failed", (finding,), "suite")
    page = parse(html_report([suite(query("a"), verdicts=(verdict,), means=())]))
    assert limits(page, "now", "limit")[0] == cells


def test_of_many_demands_only_the_broken_are_spread_out() -> None:
    findings = tuple(
        Finding(t, "min", v >= 0.7, True, "ndcg@10", v, 0.7, 5)
        for t, v in [("a", 0.9), ("b", 0.6), ("c", 1)]
    )
    verdict = Verdict("each", "each_tag ndcg@10", 7, "failed", findings, "each_tag")
    means = tuple(Mean("ndcg@10", t, v, 5, 0) for t, v in [("a", 0.9), ("b", 0.6), ("c", 1.0)])
    page = parse(html_report([suite(query("q", tags=("b",)), verdicts=(verdict,), means=means)]))
    assert limits(page, "of", "outcome") == [
        ["b", "✗ failed"],
        ["ndcg@10 is 0.600, below its floor 0.700"],
        ["a", "✓ passed"],
        ["c", "✓ passed"],
    ]
    assert page.one("section", "limits").one("summary").text == "2 more, which hold"
    tags = page.one("section", "slices").all("tr")[2:]
    assert [line.one("th").text for line in tags] == ["b", "a", "c"]
    assert "✗ failed: 0.600" in re.sub(r"✗\s*", "✗ ", tags[0].text)


def test_a_guard_on_every_query_marks_the_query_it_breaks() -> None:
    forbidden = (RankedDocument("sku-9", 2, limit=10),)
    finding = Finding("sofa", "must_not_find", False, ranked=forbidden)
    verdict = Verdict("guard", "each_query must_not_find", 8, "failed", (finding,), "each_query")
    page = parse(
        html_report([suite(query("chair"), query("sofa"), verdicts=(check("sofa"), verdict))])
    )
    assert row(page, "sofa").one("td", "outcome").text == "✗ failed"
    assert (
        "each_query must_not_find: sku-9 must not be" in row(page, "sofa").one("ul", "rules").text
    )
    assert row(page, "chair").one("td", "outcome").text == "· no rules"


def test_only_what_breaks_a_rule_is_marked_as_forbidden_also_by_a_guard() -> None:
    ranking = (ShownDocument(1, "sku-9", "Banned"), ShownDocument(2, "sku-8", "Allowed here"))

    def rule(document: str, rank: int, limit: int) -> Finding:
        ranked = (RankedDocument(document, rank, limit=limit),)
        return Finding("sofa", "must_not_find", rank > limit, ranked=ranked)

    own = check("sofa", findings=(rule("sku-8", 2, 1),))
    guard = Verdict("g", "each_query", 8, "failed", (rule("sku-9", 1, 10),), "each_query")
    page = parse(html_report([suite(query("sofa", ranking=ranking), verdicts=(own, guard))]))
    assert ["⊘ forbidden" in told for told in ranked(row(page, "sofa"))] == [True, False]


def test_warnings_notes_and_coverage() -> None:
    warned = Finding("", "warn_below", False, False, "judged@10", 0.4, 0.8, 20)
    made = suite(
        query("a"),
        verdicts=(Verdict("j", "judged@10", 7, "passed", (warned,), "suite"),),
        facts=(Moved(7, 9),),
    )
    page = parse(html_report([made]))
    assert "⚠ Warning judged@10 is 0.4" in page.one("ul", "notes").text
    assert "7 of 9 (78 %) rankings changed" in page.one("ul", "notes").text
    assert "5 of 8 (62 %) results in the top 10 are not judged" in page.text
    assert page.one("footer").text.startswith("Made by pytest-irquality ")


def test_several_retrievers_side_by_side_without_clashing_anchors() -> None:
    results = [
        suite(query("a"), verdicts=(floor(0.5, 0.8, "failed"),), retriever=name)
        for name in ("bm25", "dense")
    ]
    page = parse(html_report(results))
    names = [link.text for link in page.one("nav", "card").one("tbody").all("a")]
    assert names == ["Shop search [bm25]", "Shop search [dense]"]


def everything(hostile: str) -> str:
    document = ShownDocument(1, hostile, hostile + "title", 1.0, True)
    asked = QueryResult(
        hostile,
        hostile,
        3,
        (0.5,),
        (document,),
        (document,),
        1,
        fault=hostile,
        tags=(hostile,),
        remarks={"why": hostile},
    )
    ruled = replace(asked, id=hostile + "2", fault=None)
    finding = Finding(hostile, "min", False, True, "ndcg@10", 0.5, 0.8, 1)
    verdicts = (
        Verdict(hostile, hostile, 3, "error", (), "query", hostile),
        Verdict(
            hostile,
            hostile,
            3,
            "known",
            (finding,),
            "query",
            hostile + "2",
            known_issue=hostile,
        ),
        Verdict(hostile, hostile, 5, "failed", (finding, finding), "each_tag"),
        Verdict(hostile, hostile, 5, "failed", (finding,), "each_query"),
        Verdict(
            hostile,
            hostile,
            5,
            "known",
            (finding,),
            "tag",
            tag=hostile,
            known_issue=hostile,
        ),
    )
    made = suite(
        asked, ruled, verdicts=verdicts, facts=(Remark(hostile),), retriever=hostile, path=hostile,
        suite=hostile, means=(Mean("ndcg@10", None, 0.1, 1, 1), Mean("ndcg@10", hostile, 0.1, 1, 1)),
    )  # fmt: skip
    return html_report([replace(made, formulas=(hostile,))] * 2, not_evaluated=[hostile])


def test_hostile_text_stays_text() -> None:
    plain, hostile = parse(everything("plain")), parse(everything(HOSTILE))

    def outline(page: Element) -> list[tuple[str, list[str]]]:
        return [(element.tag, sorted(element.attributes)) for element in page.all()]

    assert outline(hostile) == outline(plain)
    assert [script.attributes.get("type") for script in hostile.all("script")] == [
        "application/zlib;base64",
        None,
    ]
    shown = re.sub(r"\s+", " ", HOSTILE).replace("\u202e", "⟨U+202E⟩").replace("\x1b", "⟨U+001B⟩")
    assert shown in hostile.one("table", "queries").text
    assert not re.search("[\u202a-\u202e\x00-\x08\x0e-\x1f]", everything(HOSTILE))
    told = repr(data_of(everything(HOSTILE)))
    assert HOSTILE[:20] in told
    assert not re.search(r"\\[xu]", told)
    for element in hostile.all():
        assert not [
            name for name in element.attributes if name.startswith("on") or name in ("src", "style")
        ]
        assert element.attributes.get("href", "#").startswith("#")


def test_every_link_leads_somewhere_and_every_id_is_there_once() -> None:
    page = parse(everything("plain"))
    ids = [element.attributes["id"] for element in page.all() if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    targets = {e.attributes["href"].removeprefix("#") for e in page.all() if "href" in e.attributes}
    for element in page.all():
        targets |= {*element.attributes.get("aria-labelledby", "").split()}
    assert targets
    assert targets <= set(ids)


def test_the_page_needs_nothing_but_itself() -> None:
    text = everything("plain")
    page = parse(text)
    metas = {
        m.attributes.get("http-equiv") or m.attributes.get("name", ""): m.attributes
        for m in page.all("meta")
    }
    style, script = page.one("style").raw, page.all("script")[-1].raw
    hashes = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (script, style)
    ]
    assert metas["Content-Security-Policy"]["content"] == (
        f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; base-uri 'none';"
        " form-action 'none'; require-trusted-types-for 'script'"
    )
    assert metas["color-scheme"]["content"] == "light dark"
    assert "viewport" in metas
    assert page.one("html").attributes["lang"] == "en"
    assert not re.search(r"https?:|url\(|@import", text)
    assert {element.tag for element in page.all()}.isdisjoint(
        {"link", "img", "iframe", "object", "form"}
    )
    assert text.startswith("<!doctype html>")


def test_table_headers_have_a_scope() -> None:
    headers = parse(everything("plain")).all("th")
    assert headers
    assert all(header.attributes.get("scope") in ("row", "col", "rowgroup") for header in headers)


def test_measures_lead_to_their_definitions() -> None:
    page = parse(
        html_report(
            [
                suite(
                    query("a"),
                    measures=("ndcg@10", "map@5"),
                    formulas=("Gain, discounted.", "Not shown."),
                )
            ]
        )
    )
    defined = page.one("dl")
    assert defined.text == "ndcg@10Gain, discounted."
    anchor = defined.one("div").attributes["id"]
    assert f"#{anchor}" in {
        link.attributes["href"] for link in page.one("table", "queries").all("a")
    }


def test_long_and_broken_text() -> None:
    made = suite(
        query("a" * 10_000), query("half \ud800 pair", ranking=(ShownDocument(1, "\ud83d"),))
    )
    text = html_report([made])
    text.encode("utf-8")
    assert "half \N{REPLACEMENT CHARACTER} pair" in text
    page = parse(text)
    assert len(page.one("table", "queries").all("span", "text")[0].text) == 300
    assert "a" * 10_000 in page.one("p", "whole").text


def test_titles_of_very_many_documents_are_cut() -> None:
    def ranking(n: int) -> tuple[ShownDocument, ...]:
        return tuple(ShownDocument(1, f"{n}-{at}", f"{n} {at} {'title ' * 50}") for at in range(10))

    made = suite(*(query(f"q{n}", ranking=ranking(n)) for n in range(2_000)))
    lengths = [*map(len, data_of(html_report([made]))["titles"])]
    assert max(lengths) == 90
    assert sum(lengths) == 1_800_000


# -- compared with a baseline ------------------------------------------------------------------------------------------

NOW = datetime(2026, 1, 3, 12, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("outcome", "word"),
    [("passed", "PASS"), ("failed", "FAIL"), ("accepted", "ACCEPTED"), ("not evaluated", "FAIL")],
)
def test_the_name_of_a_tab_has_its_end(outcome: Outcome, word: str) -> None:
    made = suite(query("a"), verdicts=(check("a", outcome),))
    assert parse(html_report([made])).one("title").text == f"{word}: Shop search"
    left = parse(html_report([made], left_out=["b.ir.yaml"])).one("title").text
    assert left == f"{'FAIL' if word == 'FAIL' else 'PARTIAL'}: Shop search"


def test_what_a_verdict_rests_on_is_amber_where_something_of_it_is_wrong() -> None:
    def heading(*facts: Fact) -> Element:
        page = parse(html_report([compared(facts=facts)]))
        return next(one for one in page.all("h2") if "What this rests on" in one.text)

    shaky = heading(RestsOnUnjudged(("ndcg@10",)))
    assert (shaky.attributes["class"], shaky.text) == ("warn-text", "⚠ What this rests on")


def test_what_was_compared_with_what_is_said_first() -> None:
    header = parse(html_report([compared()])).one("header").text
    assert "1 worse, 1 better, 1 unchanged. The mean fell 0.733 → 0.650" in header
    assert (
        "compared with .ir-baseline/shop.jsonl (commit 9e01b77aa01b, 2026-01-01, version v1, now v2); 2 checks: 2 judged"
    ) in header
    assert header.count("compared with") == 1


def test_both_rankings_stand_in_a_table_with_their_moves() -> None:
    assert ranked(row(parse(html_report([compared()])), "desk")) == [
        ["1", "–", "unjudged", "A newcomer", "came", ""],
        ["2", "1", "3 ✓", "The best one", "best", ""],
        ["3", "3", "⊘ forbidden", "Not this one", "banned", ""],
        ["expected, but not above:"],
        ["–", "2", "2 ✓", "Lost one", "lost", "← left the index"],
    ]


def test_a_row_says_what_moved_where_its_value_changed() -> None:
    page = parse(html_report([compared()]))
    said = [row(page, text).one("summary").text for text in ("office chair", "sofa")]
    assert said == [
        "office chair: Lost one (lost) 2 → left the index, The best one (best) 1 → 2",
        "sofa: 1 result",
    ]
    two = (
        ShownDocument(1, "near", "A near one", 1.0, True, before=5),
        ShownDocument(9, "far", "A far one", 1.0, True, before=3),
    )
    risen = compared(moved("desk", 0.5, 0.75, ranking=two, ranking_before=()))
    body = row(parse(html_report([risen])), "desk")
    assert (
        body.one("summary").text
        == "desk: Lost one (lost) 2 → left the index, A far one (far) 3 → 9"
    )


def test_every_querys_change_is_drawn_from_the_worst_to_the_best() -> None:
    chart = parse(html_report([compared()])).one("svg", "steps")
    bars = [(bar.attributes["class"], bar.one("title").text) for bar in chart.all("rect")]
    assert bars == [
        ("bad", "office chair: −0.500"),
        ("quiet", "sofa: 0.000"),
        ("good", "desk: +0.250"),
    ]


def test_limits_on_drops_tell_both_sides_and_what_statistics_say() -> None:
    page = parse(html_report([compared()]))
    row, said = limits(page, "before", "now", "change", "limit", "outcome", "queries")
    assert row == [
        "0.733", "0.650", "−0.083", "drop ≤ 0.02", "✗ failed",
        "4, 3 compared; 0.562 over all 4",
    ]  # fmt: skip
    assert said == [
        "ndcg@10 fell 0.733 → 0.650, by 0.083: more than max_drop 0.020 (1 worse, 1 better of 3"
        " queries); 90 % interval −0.200 to +0.050"
    ]


def test_tags_are_sorted_by_damage() -> None:
    page = parse(html_report([compared()]))
    rows = page.one("section", "slices").all("tr")[1:]
    assert [line.one("th").text for line in rows] == ["all queries", "head", "tail"]
    assert "−0.500" in rows[1].text
    assert "bad shade4" in rows[1].all("td")[1].attributes["class"]


def test_filters_count_what_they_let_through() -> None:
    page = parse(html_report([compared()]))
    assert [button.text for button in page.one("div", "chips").all("button")] == [
        "Failed 1", "Worse 1", "Better 1", "New 1", "Known issue 0", "Zero results 0", "Errors 0", "All 4",
    ]  # fmt: skip
    alone = parse(html_report([suite(query("a"))])).one("div", "chips").all("button")
    assert [button.text for button in alone] == [
        "Failed 0",
        "Known issue 0",
        "Zero results 0",
        "Errors 0",
        "All 1",
    ]


@pytest.mark.parametrize(
    ("word", "quoted"),
    [
        ("a/shop.ir.yaml::desk", "a/shop.ir.yaml::desk"),
        ("it's $HOME `id`", "it's $HOME `id`"),
        ("näin [bm25]", "näin [bm25]"),
    ],
)
def test_the_rerun_command_survives_a_shell(word: str, quoted: str) -> None:
    made = suite(query("a", check=word))
    command = row(parse(html_report([made])), "a").one("code", "command").text
    assert shlex.split(command)[2] == f"shop.ir.yaml::{quoted}"


def test_the_rerun_command_spells_out_what_would_not_survive_being_copied() -> None:
    made = suite(query("a", check="e\u202evil\x1b's"))
    command = row(parse(html_report([made])), "a").one("code", "command").text
    assert command == r"pytest --ir-suite $'shop.ir.yaml::e\U0000202evil\U0000001b\U00000027s'"


def test_retrievers_stand_beside_each_other_and_the_best_is_marked() -> None:
    good = suite(*(query(f"q{n}", 0.9) for n in range(8)), retriever="hybrid")
    poor = suite(
        *(query(f"q{n}", 0.5) for n in range(8)),
        retriever="bm25",
        means=(Mean("ndcg@10", None, 0.5, 8, 0),),
    )
    page = parse(html_report([poor, good]))
    rows = page.one("nav", "card").one("tbody").all("tr")
    assert [line.all("td")[-1].text for line in rows] == ["0.500", "0.900"]
    assert rows[1].one("a").attributes["data-section"] == "s2"
    (beside,) = [e for e in page.all("section", "card") if "side by side" in e.text]
    assert [cell.text for cell in beside.one("tbody").all("td")] == [
        "0.500 (8 worse, 0 better)", "0.900 ★",
    ]  # fmt: skip


def test_a_line_for_each_query_names_the_one_that_breaks_it() -> None:
    finding = Finding("q1", "min", False, True, "recall@10", 0.0, 0.5, 1)
    verdict = Verdict("each", "each_query: recall@10", 7, "failed", (finding,), "each_query")
    body = parse(html_report([suite(query("q1", text="green lamp"), verdicts=(verdict,))])).one(
        "section", "limits"
    )
    assert body.one("tbody").one("a").text == "green lamp"


@pytest.mark.parametrize(
    ("then", "said"),
    [
        ("2026-01-03T11:59:30+00:00", "just made"),
        ("2026-01-03T10:59:00Z", "1 hour old"),
        ("2025-12-27T12:00:00", "7 days old"),
        ("2023-01-01T00:00:00+02:00", "3 years old"),
        ("2027-01-01T00:00:00Z", ""),
        ("yesterday", ""),
    ],
)
def test_how_old_a_baseline_is(then: str, said: str) -> None:
    assert age(then, NOW) == said
