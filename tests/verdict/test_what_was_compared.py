"""Nothing that was not compared carries a tick, and nothing that moved is talked away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_irquality import judge, load_suite
from pytest_irquality.report.html import html_report
from pytest_irquality.report.markdown import markdown_report
from pytest_irquality.report.text import quiet, summary
from pytest_irquality.retrieval import Answer, Ranking, Run
from pytest_irquality.storage.provenance import Baseline
from pytest_irquality.verdict import SuiteResult
from pytest_irquality.wording.notes import notes
from pytest_irquality.wording.reasons import reason
from pytest_irquality.wording.story import Story
from tests.conftest import Project

Hits = Mapping[str, Sequence[tuple[str, float]]]


def run_of(hits: Hits, **more: int) -> Run:
    rankings = {
        id: Ranking(tuple(doc for doc, _ in some), tuple(score for _, score in some))
        for id, some in hits.items()
    }
    return Run("", (Answer(rankings),), **more)  # type: ignore[arg-type]


def judged(
    path: Path, text: str, now: Hits, before: Hits, baseline: Baseline | None = None
) -> SuiteResult:
    file = path / "s.ir.yaml"
    file.write_text(text, encoding="utf-8")
    suite = load_suite(file, shown="s.ir.yaml")
    return judge(suite, run_of(now), before=run_of(before), baseline=baseline)


def said(result: SuiteResult, label: str) -> tuple[str, str, str]:
    verdict = next(verdict for verdict in result.verdicts if verdict.label == label)
    return verdict.outcome, verdict.caveat, reason(result, verdict)


def suite(names: Sequence[str], limits: str, tags: str = "all") -> str:
    lines = [f"  - {{query: {name}, relevant: [{name}-d], tags: [{tags}]}}\n" for name in names]
    return f"queries:\n{''.join(lines)}{limits}"


def found(*names: str) -> dict[str, list[tuple[str, float]]]:
    return {
        name: [(f"{name}-d", 9 + len(name) / 7), (f"{name}-x", 8 + len(name) / 7)] for name in names
    }


DROP = "thresholds: {mrr: {max_drop: 0.1}}\n"


def test_a_limit_over_edited_queries_fails_and_names_them(tmp_path: Path) -> None:
    known = Baseline("b", 2, edited=("a", "b"))
    result = judged(tmp_path, suite("ab", DROP), found("a", "b"), {}, known)
    outcome, _, why = said(result, "mrr@10")
    assert outcome == "failed"
    assert "the baseline has other words or params for 'a', 'b'; renew it with" in why
    assert said(result, "each_query: lost_all_relevant")[0] == "failed"


def test_a_limit_over_a_baseline_of_none_of_the_queries_fails(tmp_path: Path) -> None:
    result = judged(tmp_path, suite("ab", DROP), found("a", "b"), {}, Baseline("b", 2))
    assert said(result, "mrr@10")[0] == "failed"


def test_a_new_suite_is_new_and_has_no_tick(tmp_path: Path) -> None:
    known = Baseline("git:main b", new="suite")
    result = judged(tmp_path, suite("ab", DROP), found("a", "b"), {}, known)
    assert said(result, "mrr@10") == ("passed", "new", "")
    assert "2 limits new" in Story(result).headline
    assert "✓" not in "\n".join(summary([result], 200))
    assert "2 limits new" in markdown_report([result])


def test_the_update_that_makes_the_first_baseline_ticks_no_limit_on_a_drop(
    project: Project,
) -> None:
    project.suite(
        suite("abcde", "thresholds: {mrr: {max_drop: 0.1}, recall: 0.5}\n")
        + "each_tag: {ndcg: {max_drop: 0.1}}\n"
        + "each_query: {mrr: {max_drop: 0.1}, lost_all_relevant: fail}\n"
    )
    project.answers({name: [f"{name}-d"] for name in "abcde"})
    result = project.run("--ir-update-baseline", "--ir-markdown=out.md")
    assert result.ret == 0
    assert set(project.outcomes().values()) == {"passed"}
    told = result.stdout.str()
    assert "! passed" in told
    assert "5 queries, 1 limit holds, but nothing was compared" in told
    markdown = (project.path / "out.md").read_text(encoding="utf-8")
    for text in (told, markdown):
        ticked = [line for line in text.splitlines() if "✓" in line]
        assert all("recall@10" in line for line in ticked), ticked
        assert text.count("– nothing to compare") == 4
    assert "## ⚠" in markdown
    assert project.run("--ir-markdown=out.md").stdout.str().count("nothing to compare") == 0
    assert "## ✓" in (project.path / "out.md").read_text(encoding="utf-8")


def test_no_tick_stands_for_several_suites_of_which_one_was_not_compared(tmp_path: Path) -> None:
    known = Baseline("git:main b", new="suite")
    new = judged(tmp_path, suite("ab", DROP), found("a", "b"), {}, known)
    fine = judged(tmp_path, suite("ab", DROP), found("a", "b"), found("a", "b"))
    stopped = replace(fine, path="t.ir.yaml", suite="stopped", interrupted=True)
    fine = replace(fine, path="u.ir.yaml", suite="fine")
    markdown = markdown_report([new, fine]).splitlines()
    assert list(summary([new, fine], 200))[-1] == (
        "! 2 suites passed, but 2 limits new (s), nothing was compared (s)"
    )
    assert markdown[0] == "## ⚠ 2 suites passed, but 2 limits new (s), nothing was compared (s)"
    assert any(line.startswith("| s | ⚠ Search is as good as demanded") for line in markdown)
    page = html_report([new, fine])
    assert "2 limits new (s), nothing was compared (s)" in page
    assert "<title>PASS: s, fine" in page
    assert (
        list(summary([stopped, fine], 200))[-1]
        == "! PARTIAL  1 of 2 suites judged in part: stopped (2 queries)"
    )
    assert list(summary([fine, replace(fine, path="v")], 200))[-1] == "✓ 2 suites passed"
    page = html_report([stopped, fine])
    assert "1 of 2 suites judged in part" in page


def test_quiet_says_what_failed_and_by_how_much_over_what_is_compared(tmp_path: Path) -> None:
    """Of five queries one is new: the first measure is that of the four, and all five stand apart."""
    now = {**found(*"abcde"), "e": [("x", 1.0)]}
    text = suite("abcde", "thresholds: {mrr: {max_drop: 0.1}, recall: 0.9}\nmetrics: [mrr]\n")
    (line,) = quiet([judged(tmp_path, text, now, found(*"abcd"))])
    assert line == (
        "✗ FAILED  s (s.ir.yaml): Search is not good enough: 1 of 3 limits broken;"
        " 4 queries are unchanged in mrr@10"
    )
    sunk = {name: hits[::-1] for name, hits in found(*"abcd").items()}
    (line,) = quiet([judged(tmp_path, text, {**now, **sunk}, found(*"abcd"))])
    assert "2 of 3 limits broken; 4 worse, 0 better, 0 unchanged; the mean fell 1.000" in line


def test_markdown_holds_now_against_before_over_the_same_queries(tmp_path: Path) -> None:
    now = {**found(*"abcde"), "a": found("a")["a"][::-1], "e": [("x", 1.0)]}
    text = suite("abcde", "thresholds: {mrr: {max_drop: 0.2}}\nmetrics: [mrr]\n")
    result = judged(tmp_path, text, now, found(*"abcd"))
    report = markdown_report([result])
    assert (
        "| mrr@10 | 1.000 | 0.875 | −0.125 | drop ≤ 0.2 | ✓ | 5, 4 compared; 0.700 over all 5 |"
        in report
    )
    assert "| all | 5 | 0.875 (−0.125); 0.700 over all 5 |" in report
    several = markdown_report([result, replace(result, path="t.ir.yaml")])
    assert "| 0.875 (−0.125); 0.700 over all 5 |" in several
    page = html_report([result])
    assert "0.700 over all 5" in page


def test_a_tag_of_new_queries_is_new_one_of_edited_queries_fails(tmp_path: Path) -> None:
    text = suite("abcde", "tags: {new: {mrr: {max_drop: 0.1}}}\n").replace(
        "[e-d], tags: [all]", "[e-d], tags: [new]"
    )
    for edited, outcome in (((), ("passed", "new")), (("e",), ("failed", ""))):
        result = judged(
            tmp_path, text, found(*"abcde"), found(*"abcd"), Baseline("b", 4, edited=edited)
        )
        assert said(result, "tag new: mrr@10")[:2] == outcome


@pytest.mark.parametrize(("compared", "loud"), [(4, False), (3, True)])
def test_where_part_was_compared_it_says_so_and_loudly_below_four_in_five(
    tmp_path: Path, compared: int, loud: bool
) -> None:
    limits = "thresholds: {mrr: {max_drop: 0.1}}\n"
    now = found(*"abcde")
    result = judged(tmp_path, suite("abcde", limits), now, found(*"abcde"[:compared]))
    assert said(result, "mrr@10")[:2] == ("passed", "")
    assert (f"only {compared} of 5 queries compared" in Story(result).headline) == loud
    assert f"5, {compared} compared" in "\n".join(summary([result], 200))


def test_documents_renumbered_fail_drops_and_guards(tmp_path: Path) -> None:
    before = {name: [(f"old-{name}{n}", 9.0 - n) for n in range(3)] for name in "abcde"}
    result = judged(tmp_path, suite("abcde", DROP), found(*"abcde"), before)
    for label in ("mrr@10", "each_query: lost_all_relevant"):
        outcome, _, why = said(result, label)
        assert outcome == "failed"
        assert "the baseline holds other document ids; renew it with" in why
    assert Story(result).verdict == "Search could not be compared"
    assert Story(result).tally == "", "no query is better for documents that nobody knows any more"
    assert {query.before for query in result.queries} == {None}


def test_the_tag_is_named_of_which_only_a_part_was_compared(tmp_path: Path) -> None:
    text = suite("abcdefgh", "each_tag: {mrr: {max_drop: 0.1}}\n")
    for name in "gh":
        text = text.replace(f"[{name}-d], tags: [all]", f"[{name}-d], tags: [few]")
    result = judged(tmp_path, text, found(*"abcdefgh"), found(*"abcdefg"))
    assert "only 1 of 2 queries of few compared" in Story(result).headline


def ties(order: str) -> dict[str, list[tuple[str, float]]]:
    """Five queries whose first three documents are tied; the fourth stands apart."""
    return {
        name: [*((f"{name}-{doc}", 5.0 + n) for doc in order), (f"{name}-z", 1.0 + n)]
        for n, name in enumerate("abcde")
    }


def test_a_limit_that_holds_by_ties_alone_gets_no_tick_and_both_values(tmp_path: Path) -> None:
    limits = "top_k: 2\ndepth: 10\nthresholds: {mrr: {max_drop: 0.1}}\n"
    result = judged(tmp_path, suite("abcde", limits), ties("xyd"), ties("dxy"))
    assert said(result, "mrr@2")[:2] == ("passed", "tied")
    assert said(result, "each_query: lost_all_relevant")[:2] == ("passed", "tied")
    assert (
        "held in the order of equal scores only: mrr@2, each_query: lost_all_relevant"
        in Story(result).headline
    )
    table = "\n".join(summary([result], 200))
    assert "1.000  1.000   0.000" in table
    assert "0.000 as returned" in table
    assert "tie order only" in table
    assert "✓" not in table
    assert "none of 5 rankings changed" in table
    assert "in no ranking now" not in table


def test_a_limit_that_holds_as_returned_too_has_its_tick(tmp_path: Path) -> None:
    limits = "top_k: 2\ndepth: 10\nthresholds: {mrr: {max_drop: 0.6}}\n"
    result = judged(tmp_path, suite("abcde", limits), ties("xdy"), ties("dxy"))
    assert said(result, "mrr@2")[:2] == ("passed", "")
    assert "equal scores only: " not in Story(result).headline


def test_ties_beyond_the_cut_lose_no_document(project: Project) -> None:
    """At depth 10 twenty documents are tied: others of them come every time."""
    project.suite(
        "queries: [{query: a, relevant: [d1]}, {query: b, relevant: [d2]}]\ndepth: 10\n"
        "thresholds: {recall@10: {max_drop: 0}}\n"
    )
    for order in ("", "[::-1]"):
        project.conftest(
            "@pytest.fixture\ndef retriever():\n"
            "    hits = {q: [(f'd{n}', s) for n in range(20)] for q, s in (('a', 2.0), ('b', 3.0))}\n"
            f"    return lambda query, k: hits[query]{order}[:k]\n"
        )
        result = project.run(*(() if order else ("--ir-update-baseline",)))
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*2 of 2 (100 %) rankings differ in equal scores only*"])
    result.stdout.no_fnmatch_line("*in no ranking now*")
    result.stdout.fnmatch_lines(["*held in the order of equal scores only: recall@10, *"])


def test_s32_more_queries_return_nothing_and_the_headline_says_which(project: Project) -> None:
    texts = [f"query {n}" for n in range(20)]
    project.suite(suite(texts, "thresholds: {zero_results: {max: 4}}\n"))
    empty = set(texts[:3])
    project.answers({text: [] if text in empty else [f"{text}-d"] for text in texts})
    project.run("-v", "--ir-update-baseline")
    empty |= {"query 11", "query 12"}
    project.answers({text: [] if text in empty else [f"{text}-d"] for text in texts})
    result = project.run("-v")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "*5 of 20 (25 %) queries returned nothing and score 0; 2 of them returned something"
            " before: 'query 11', 'query 12'",
            "✗ FAILED  shop (shop.ir.yaml)*; 2 more queries return nothing: 'query 11', 'query 12'",
        ]
    )
    assert "2 more queries return nothing" in markdown_report_of(project)


def markdown_report_of(project: Project) -> str:
    project.run("--ir-markdown=out.md")
    return (project.path / "out.md").read_text(encoding="utf-8")


def test_empty_queries_without_judgments_are_in_no_mean(tmp_path: Path) -> None:
    text = "undefined: skip\nqueries: [{query: a}, {query: b, relevant: [b-d]}]\n"
    result = judged(tmp_path, text, {"a": [], **found("b")}, {"a": [], **found("b")})
    told = "\n".join(notes(result))
    assert "1 of 2 (50 %) queries returned nothing; 1 are in no mean of relevance" in told
    assert "score 0" not in told


def test_a_selection_that_finds_nothing_is_no_matter_of_ids(tmp_path: Path) -> None:
    lost = {"a": [("x", 2.0)]}
    result = judged(tmp_path, suite("ab", ""), lost, found("a", "b"))
    assert "no query returned any document that this suite names" not in "\n".join(notes(result))


def test_unjudged_documents_are_blamed_only_where_they_came(tmp_path: Path) -> None:
    """The same documents in another order: nobody came between."""
    before = {name: [(f"{name}-d", 9.0 + n), ("x", 8.0)] for n, name in enumerate("abcde")}
    worse = {name: hits[::-1] for name, hits in before.items()}
    result = judged(tmp_path, suite("abcde", DROP), worse, before)
    assert said(result, "mrr@10")[0] == "failed"
    assert "would hold" not in "\n".join(notes(result))
    came = {
        name: [(f"{name}-new", 10.0 + n), *hits] for n, (name, hits) in enumerate(before.items())
    }
    result = judged(tmp_path, suite("abcde", DROP), came, before)
    assert "without unjudged documents 'mrr@10' would hold" in "\n".join(notes(result))


def test_a_limit_that_only_warns_is_none_that_holds_and_has_no_tick(tmp_path: Path) -> None:
    limits = (
        "thresholds: {mrr: {min: 0.1, max_drop: 0.9}, judged@10: {warn_below: 0.9}}\n"
        "each_query: {lost_all_relevant: warn}\n"
    )
    now = {"a": [("x", 2.0), ("a-d", 1.0)], "b": [("x", 2.0)]}
    result = judged(tmp_path, suite("ab", limits), now, found("a", "b"), Baseline("b", 2))
    assert not result.failed
    assert "2 queries, 1 limit holds, 2 limits warn" in Story(result).headline
    text = markdown_report([result])
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    marked = [row for row in rows if "| ✓ |" in row or "| ⚠ " in row]
    marks = {row.split(" | ")[0]: "✓" in row for row in marked}
    assert marks == {
        "| mrr@10": True, "| judged@10": False, "| each\\_query: lost\\_all\\_relevant": False,
    }  # fmt: skip


def test_an_update_does_not_say_that_what_it_makes_good_holds(project: Project) -> None:
    project.suite(suite("ab", DROP))
    project.conftest("@pytest.fixture\ndef retriever(): return lambda query: [f'{query}-d', 'x']\n")
    project.run("--ir-update-baseline")
    project.conftest("@pytest.fixture\ndef retriever(): return lambda query: ['x', f'{query}-d']\n")
    result = project.run("--ir-update-baseline", "--ir-markdown=out.md")
    assert result.ret == 0
    text = (project.path / "out.md").read_text()
    assert "2 queries, 1 limit holds, 1 limit warns" in text
    assert "| mrr@10 | 1.000 | 0.500 | −0.500 | drop ≤ " in text
