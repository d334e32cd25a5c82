"""What to do next: at most three steps, each with a command or a place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_irquality.evaluation.decide import Decision
from pytest_irquality.evaluation.results import CheckResult, DefaultCheck, Notice, Outcome
from pytest_irquality.io.escaping import quote_command
from pytest_irquality.io.text import format_count, write
from pytest_irquality.reports.view_model import Step, ViewSettings
from pytest_irquality.suite.model import Threshold

MAX_STEPS = 3
MAX_NODES = 3
MAX_FILES = 8


def suggest_next_steps(
    decision: Decision, causes: Sequence[Notice], settings: ViewSettings
) -> tuple[Step, ...]:
    """Suggest at most three steps, most helpful first."""
    steps: dict[str, Step] = {}
    for step in _iter_steps(decision, causes, settings):
        steps.setdefault(str(step.text), step)
    return tuple(steps.values())[:MAX_STEPS]


def create_command(settings: ViewSettings, targets: Sequence[str]) -> str:
    """Create a command that runs suites or items again."""
    return quote_command(settings.command, targets)


def create_node_id(settings: ViewSettings, suite_path: str, retriever: str, item: str = "") -> str:
    """Create the node id of an item, or the path of the suite without one."""
    if not item:
        return suite_path
    return f"{suite_path}::{item}{settings.node_suffixes.get((suite_path, retriever), '')}"


def _iter_steps(
    decision: Decision, causes: Sequence[Notice], settings: ViewSettings
) -> Iterator[Step]:
    failures = [item for item in decision.current.results if item.outcome is Outcome.FAILED]
    if decision.outcome is Outcome.REVIEW:
        yield from _suggest_review(decision)
    if decision.coverage.total and decision.coverage.no_answer == decision.coverage.total:
        yield Step(write("Check that the search engine is running and reachable"))
    for notice in causes:
        # To grade results may turn the outcome, but the search comes first.
        if notice.next_step and notice.code != "unjudged-results":
            yield Step(notice.next_step)
    for result in failures:
        if result.known_issue:
            issue = result.known_issue
            yield Step(write(f"Remove 'known_issue' ({issue})"), location=str(result.location))
    if failures:
        yield _suggest_rerun(failures, settings)
        yield from _suggest_acceptance(decision, failures, settings)
    if not failures and not decision.coverage.comparable and decision.current.evaluations:
        text = write("Record a baseline to see what later changes do, and commit it")
        yield Step(text, command=quote_command(settings.update_command))
    for notice in (*decision.notices, *decision.current.notices):
        if notice.next_step:
            yield Step(notice.next_step)


def _suggest_review(decision: Decision) -> Iterator[Step]:
    for edit in decision.edits:
        if not edit.is_added:
            text = write("Review the edits of this suite. To merge this change is to accept them.")
            yield Step(text, location=edit.path)
            return
    yield Step(write("Review the checks above. To merge this change is to accept them."))


def _suggest_rerun(failures: Sequence[CheckResult], settings: ViewSettings) -> Step:
    nodes = []
    for result in failures:
        retriever = str(result.retriever or "")
        if result.suite_path:
            item = result.item
            nodes.append(create_node_id(settings, result.suite_path, retriever, item))
    nodes = list(dict.fromkeys(nodes))
    if len(nodes) > MAX_NODES:
        nodes = list(dict.fromkeys(node.partition("::")[0] for node in nodes))
    if len(nodes) > MAX_FILES or any(not result.suite_path for result in failures):
        nodes = []
    return Step(write("Run what failed again"), command=create_command(settings, nodes))


def _suggest_acceptance(
    decision: Decision, failures: Sequence[CheckResult], settings: ViewSettings
) -> Iterator[Step]:
    """Suggest a new baseline if it makes any failed check pass."""
    accepted = [result for result in failures if _depends_on_baseline(result)]
    if not accepted:
        return
    paths = {result.suite_path for result in accepted}
    targets = sorted(paths) if "" not in paths and len(paths) <= MAX_FILES else []
    others = len(failures) - len(accepted)
    if others > len(accepted):
        return
    text = "Or accept the new rankings, and commit the baseline"
    if others:
        text += f" ({format_count(others, 'other failure')} will stay)"
    yield Step(write(text), command=quote_command(settings.update_command, targets))


def _depends_on_baseline(result: CheckResult) -> bool:
    if isinstance(result.check, DefaultCheck):
        return True
    if not isinstance(result.check, Threshold) or not result.check.compares:
        return False
    threshold = result.check
    is_below = threshold.min is not None and result.bound == threshold.min.value
    is_above = threshold.max is not None and result.bound == threshold.max.value
    return not is_below and not is_above
