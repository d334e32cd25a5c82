"""Sentences that said something else than what was judged, each with what is true."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_irquality.report.text import summary
from pytest_irquality.retrieval.run import Fault
from pytest_irquality.verdict.sides import causes_of
from pytest_irquality.wording.story import Story
from tests.conftest import Project
from tests.verdict.test_what_was_compared import found, judged, suite


def test_a_p_is_the_one_that_was_judged(tmp_path: Path) -> None:
    """Of two tests p is corrected: five of five worse is 0.031, and 0.062 as judged."""
    limits = "thresholds: {mrr: {max_significant_drop: 0.01}, ndcg: {max_significant_drop: 0.01}}\n"
    now = {name: [("x", 2.0), (f"{name}-d", 1.0)] for name in "abcde"}
    result = judged(tmp_path, suite("abcde", limits), now, found(*"abcde"))
    told = " ".join((*Story(result).rests_on, Story(result).mean))
    assert "alone cannot be told from chance (p = 0.062, corrected for several limits)" in told
    assert "0.031" not in told


def test_a_drop_that_a_test_excuses_is_told_by_its_size(tmp_path: Path) -> None:
    limits = "thresholds: {mrr: {max_significant_drop: 0.01}}\n"
    now = {**found(*"abcd"), "e": [("x", 2.0), ("e-d", 1.0)]}
    result = judged(tmp_path, suite("abcde", limits), now, found(*"abcde"))
    told = "\n".join(summary([result], 200))
    assert "1.000  0.900  −0.100 " in told
    assert "only 1 of 5 queries changed in mrr@10: no test could tell this from chance" in told
    two = judged(tmp_path, suite("de", limits), {key: [("x", 2.0)] for key in "de"}, found(*"de"))
    assert "only 2 queries are compared: no test" in "\n".join(summary([two], 200))


def test_causes_that_differ_by_an_id_are_one() -> None:
    said = ["503 (request_id: {})", "busy, trace-id={}", "failed: req={} of shard"]
    for text in said:
        faults = {f"q{n}": Fault(text.format(id)) for n, id in enumerate(["aB-c", "Zed", "k9"])}
        (cause,) = causes_of(faults)
        assert len(cause.queries) == 3, text
    assert len(causes_of({"a": Fault("invalid: colour"), "b": Fault("invalid: size")})) == 2


@pytest.mark.parametrize("baseline", [False, True])
def test_a_score_is_no_loss(project: Project, baseline: bool) -> None:
    project.suite(suite("abc", "thresholds: {mrr@10: 0.99}\n"))
    project.answers({name: ["x", f"{name}-d"] for name in "abc"})
    if baseline:
        project.run("--ir-update-baseline")
    project.run("--ir-markdown=out.md")
    markdown = (project.path / "out.md").read_text(encoding="utf-8")
    assert "| Lowest mrr@10 | value | " in markdown
    assert "| lost |" not in markdown
    assert "| a | 0.500 |" in markdown


def test_losses_are_sorted_by_what_is_shown_and_add_up_to_the_mean(project: Project) -> None:
    """Nine times 0.5 is more than 0.667, and both together a tenth of the mean's fall by ten."""
    text = "metrics: [weighted mrr@10]\nqueries:\n  - {query: head, relevant: [d], weight: 9}\n"
    project.suite(text + "  - {query: tail, relevant: [d]}\n")
    project.answers({"head": ["d"], "tail": ["d"]})
    project.run("-v", "--ir-update-baseline")
    project.answers({"head": ["x", "d"], "tail": ["x", "y", "d"]})
    project.run("-v", "--ir-markdown=out.md").stdout.fnmatch_lines([
        "  2 worse*; the mean fell 1.000 → 0.483",
        "    head  −0.500 × 9  *",
        "    tail      −0.667  *",
    ])  # fmt: skip
    markdown = (project.path / "out.md").read_text(encoding="utf-8")
    assert markdown.index("| head | −0.500 × 9 |") < markdown.index("| tail | −0.667 |")
