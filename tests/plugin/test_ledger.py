"""Every query and every check is in one class, the sums add up, and a tick needs all of them."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings, strategies as st

from pytest_irquality import load_suite
from pytest_irquality.metrics import Judgments
from pytest_irquality.retrieval import Answer, Ranking, Run
from pytest_irquality.retrieval.run import Fault
from pytest_irquality.storage.provenance import Baseline
from pytest_irquality.suite.model import Suite
from pytest_irquality.verdict.classes import classes_of
from pytest_irquality.verdict.comparison import Then, compare
from tests.conftest import Project

TWELVE = "".join(
    f"  - {{query: q{n}, relevant: [d1], must_find: [d1], tags: [{'a' if n < 4 else 'b'}]}}\n"
    for n in range(12)
)
SUITE = f"queries:\n{TWELVE}thresholds: {{mrr: 0.5}}\n"
GOOD = "@pytest.fixture\ndef retriever(): return lambda query: ['d1']\n"


def ledger(project: Project) -> dict[str, Any]:
    (suite,) = project.data["suites"]
    found: dict[str, Any] = suite["ledger"]
    return found


# -- the sums --------------------------------------------------------------------------------------


class Told(NamedTuple):
    """Of one query: whether it was asked and answered on both sides, and what its judgments are."""

    now: str
    then: str
    edited: bool
    reworded: bool
    known: bool
    judged: tuple[int | None, int | None]
    unsettled: bool


def by_hand(told: Told, *, baseline: bool, then: bool) -> str:
    """The class of a query, worked out as the page says it, in the order of the page."""
    now, before, was = told.now, told.then if baseline else "", told.judged[0] if then else told.judged[1]  # fmt: skip
    if now in ("not asked", "skipped"):
        return now
    if (baseline and told.edited) or (then and told.reworded):
        return "reworded"
    if now == "fault":
        return "unanswered now"
    if not baseline:
        return "other"
    if before == "fault" or (before == "" and then and told.known):
        return "unanswered then"
    if before == "":
        return "new"
    if not (then and told.known):
        was = told.judged[1]
    if was and not told.judged[1]:
        return "unjudged now"
    if told.unsettled:
        return "tie unsettled"
    return "compared" if was == told.judged[1] else "compared with other judgments"


TOLD = st.builds(
    Told,
    now=st.sampled_from(["answer", "answer", "fault", "skipped", "not asked"]),
    then=st.sampled_from(["answer", "answer", "fault", ""]),
    edited=st.booleans(),
    reworded=st.booleans(),
    known=st.booleans(),
    judged=st.tuples(st.sampled_from([None, 1, 2]), st.sampled_from([None, 1, 2])),
    unsettled=st.booleans(),
)


@cache
def whole() -> Suite:
    """A suite of eight queries."""
    lines = (f"  - {{query: q{n}, id: '{n}', relevant: [d]}}\n" for n in range(8))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "s.ir.yaml")
        file.write_text(f"queries:\n{''.join(lines)}", encoding="utf-8")
        return load_suite(file)


@settings(max_examples=300)
@given(st.lists(TOLD, min_size=1, max_size=8), st.booleans(), st.booleans(), st.integers(0, 3))
def test_the_classes_are_those_of_the_page_and_add_up(
    told: list[Told], baseline: bool, then: bool, left: int
) -> None:
    eight = whole()
    now = {str(n): Judgments({"d": one.judged[1] or 0}) for n, one in enumerate(told)}
    suite = eight.judged_as(now)
    suite = replace(suite, queries=suite.queries[: len(told)])
    ranking = Ranking(("d",))

    def run(side: list[str]) -> Run:
        rankings = {str(n): ranking for n, how in enumerate(side) if how == "answer"}
        faults = {
            str(n): Fault("refused", skipped=how == "skipped")
            for n, how in enumerate(side)
            if how in ("fault", "skipped")
        }
        return Run("", (Answer(rankings),), faults)

    before = run([one.then for one in told]) if baseline else None
    known = None
    if baseline:
        edited = tuple(str(n) for n, one in enumerate(told) if one.edited)
        known = Baseline("b", left=("gone",) * left, edited=edited)
    comparison = compare(suite, run([one.now for one in told]), before, known)
    base = None
    if then:
        judgments = {
            str(n): Judgments({"d": one.judged[0] or 0}) for n, one in enumerate(told) if one.known
        }
        reworded = [str(n) for n, one in enumerate(told) if one.reworded]
        base = Then(judgments, {"moved": left}, reworded)
    found = classes_of(comparison, base, {str(n) for n, one in enumerate(told) if one.unsettled})
    expected = Counter(by_hand(one, baseline=baseline, then=then) for one in told)
    if then:
        expected["moved"] = left
    elif baseline:
        expected["removed"] = left
    assert found == {name: many for name, many in expected.items() if many}
    assert sum(found.values()) == len(told) + (left if then or baseline else 0)


def test_every_check_is_counted_once(project: Project) -> None:
    project.suite(
        "queries:\n  - {query: good, relevant: [d1]}\n  - {query: skipped, relevant: [d1], must_find: [d9]}\n"
        "  - {query: down, relevant: [d1]}\nerrors: {max: 1}\n"
        "thresholds: {success@1: {max_significant_drop: 0.1}, judged@5: {warn_below: 0.9}}\n"
    )
    project.conftest(GOOD)
    assert project.run("--ir-update-baseline").ret == 1
    project.conftest(
        "@pytest.fixture\ndef retriever():\n    def ask(query):\n"
        "        if query == 'down': raise OSError('refused')\n        return ['d1']\n    return ask\n"
        "def pytest_collection_modifyitems(items):\n    for item in items:\n"
        "        if item.name == 'skipped': item.add_marker(pytest.mark.skip)\n"
    )
    result = project.run("--deselect=shop.ir.yaml::good")
    assert ledger(project) == {
        "queries": {"unanswered now": 1, "compared": 2},
        "checks": {"judged": 2, "deselected": 1, "skipped": 1, "not evaluated": 1, "unable to fail": 1},
    }  # fmt: skip
    result.stdout.fnmatch_lines([
        "  compared with .ir-baseline/shop.jsonl*; 3 queries: 1 unanswered now, 2 compared; 6 checks: 2 judged, 1 deselected, 1 skipped, *"
    ])  # fmt: skip


# -- partial ---------------------------------------------------------------------------------------

SELECTIONS = {
    "-k": ["-k", "q3"],
    "node id": ["shop.ir.yaml::q3"],
    "deselect": [f"--deselect=shop.ir.yaml::q{n}" for n in range(12) if n != 3]
    + ["--deselect=shop.ir.yaml::mrr-10"],
}


@pytest.mark.parametrize("how", SELECTIONS)
@pytest.mark.parametrize("workers", [(), pytest.param(("-n1",), marks=pytest.mark.slow)], ids=str)
@pytest.mark.usefixtures("pages")
def test_what_is_deselected_costs_the_tick(
    project: Project, how: str, workers: tuple[str, ...]
) -> None:
    project.suite(SUITE)
    project.conftest(GOOD)
    result = project.run(*SELECTIONS[how], *workers, "--ir-markdown=out.md")
    assert result.ret == 0
    last = next(line for line in reversed(result.outlines) if "shop" in line)
    assert last.startswith("! PARTIAL  shop (shop.ir.yaml): Partial: 1 of 12 queries, 12 checks deselected")  # fmt: skip
    assert "✓" not in result.stdout.str()
    assert project.data["outcome"] == project.data["suites"][0]["outcome"] == "partial"
    sums = "12 queries: 11 not asked, 1 compared with nothing; 13 checks: 1 judged, 12 deselected"
    for text in (result.stdout.str(), (project.path / "out.md").read_text("utf-8")):
        assert sums in text
    page = (project.path / "ir-report.html").read_text("utf-8")
    assert sums in page
    assert "<title>PARTIAL" in page
    markdown = (project.path / "out.md").read_text("utf-8")
    assert markdown.startswith("## ⚠ Partial")
    assert "✓" not in markdown
    assert "✓" not in re.sub(r'="[^"]*(grade|legend).*', "", page)


def test_a_broken_rule_that_is_left_out_is_no_pass(project: Project) -> None:
    project.suite("queries: [{query: a, relevant: [d1]}, {query: b, must_find: [d9]}]\nthresholds: {mrr: 0.5}\n")  # fmt: skip
    project.conftest(GOOD)
    result = project.run("-k", "mrr")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["! PARTIAL*: Partial: 2 checks deselected, 1 limit holds*"])


@pytest.mark.parametrize("workers", [(), pytest.param(("-n1",), marks=pytest.mark.slow)], ids=str)
def test_a_suite_of_which_nothing_is_selected_costs_the_tick(
    project: Project, workers: tuple[str, ...]
) -> None:
    project.suite(SUITE)
    project.suite("queries: [{query: other, must_find: [d9]}]\n", "b.ir.yaml")
    project.conftest(GOOD)
    result = project.run("--deselect=b.ir.yaml", *workers)
    assert result.ret == 0
    result.stdout.fnmatch_lines([
        "b.ir.yaml: 1 check deselected: NOT EVALUATED",
        "! PARTIAL  1 of 2 suites judged in part: b.ir.yaml: 1 check deselected*",
    ])  # fmt: skip
    assert project.data["outcome"] == "partial"


def test_whoever_selects_other_tests_is_told_nothing(project: Project) -> None:
    project.suite(SUITE)
    project.conftest(GOOD)
    project.pytester.makepyfile("def test_login(): pass\n")
    result = project.run("-k", "login")
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*search quality*")


def test_an_answer_that_a_kept_night_lacked_is_no_new_query(project: Project) -> None:
    project.suite(
        f"errors: {{max: 11}}\nthresholds: {{mrr: {{max_drop: 0.1}}}}\nqueries:\n{TWELVE}"
    )
    down = "@pytest.fixture\ndef retriever():\n    def ask(query):\n        if query != 'q0': raise OSError('down')\n        return ['d1']\n    return ask\n"  # fmt: skip
    project.conftest(down)
    project.run("--ir-save-runs=nights")
    project.conftest(GOOD)
    result = project.run("--ir-baseline=nights")
    assert result.ret == 0
    assert ledger(project)["queries"] == {"unanswered then": 11, "compared": 1}
    assert "are new" not in result.stdout.str()
    result.stdout.fnmatch_lines(["! PARTIAL*: Partial: 1 of 12 queries, 11 unanswered then, *"])


# -- ir_strict -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("addopts", "given", "status"),
    [
        ("", (), 0),
        ("-k q3", (), 1),
        ("-k q3", ("-k", "q3"), 0),
        ("", ("-k", "q3"), 0),
        ("", ("-kq3",), 0),
        ("", ("shop.ir.yaml::q3",), 0),
        ("", ("--deselect=shop.ir.yaml::q3",), 0),
        ("--deselect=shop.ir.yaml::q3", ("-v",), 1),
        ("-k nothing", (), 1),
    ],
)  # fmt: skip
def test_strict_is_what_the_command_line_did_not_choose(
    project: Project, addopts: str, given: tuple[str, ...], status: int
) -> None:
    project.suite(SUITE)
    project.conftest(GOOD)
    project.pytester.makeini(f"[pytest]\nir_strict = true\naddopts = {addopts}\n")
    result = project.run(*given)
    assert result.ret == status or (addopts == "-k nothing" and result.ret == 5)
    failed = "✗ FAILED  shop (shop.ir.yaml): Not all was judged, which ir_strict refuses: *"
    (result.stdout.fnmatch_lines if status and result.ret == 1 else result.stdout.no_fnmatch_line)(
        [failed] if status and result.ret == 1 else failed  # type: ignore[arg-type]
    )


def test_strict_refuses_a_skip_whatever_was_chosen(project: Project) -> None:
    project.suite(SUITE)
    project.conftest(
        f"{GOOD}def pytest_collection_modifyitems(items):\n    items[0].add_marker(pytest.mark.skip)\n"
    )
    project.pytester.makeini("[pytest]\nir_strict = true\n")
    assert project.run("-k", "q0 or q1").ret == 1
    assert project.data["suites"][0]["refused"] == ["skipped"]


def test_strict_wants_four_in_five_of_the_baseline(project: Project) -> None:
    project.conftest(GOOD)
    project.suite(SUITE)
    project.run("--ir-update-baseline")
    project.pytester.makeini("[pytest]\nir_strict = true\n")
    lines = TWELVE.splitlines(keepends=True)
    fresh = "".join(f"  - {{query: fresh {n}, relevant: [d1]}}\n" for n in range(30))
    for left, status in ((10, 0), (9, 1)):
        project.suite(f"queries:\n{''.join(lines[:left])}{fresh}")
        assert project.run().ret == status


def test_strict_must_be_true_or_false(project: Project) -> None:
    project.suite(SUITE)
    project.conftest(GOOD)
    project.pytester.makeini("[pytest]\nir_strict = perhaps\n")
    result = project.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: ini key ir_strict must be true or false: *"])
