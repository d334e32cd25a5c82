"""Short builders for decisions, so a test shows only the data that matters to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pytest_irquality.baselines.sources import Baseline
from pytest_irquality.evaluation.decide import Decision, decide
from pytest_irquality.evaluation.evaluate import Branch
from pytest_irquality.evaluation.results import CheckResult, Outcome
from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.model import Query, RetrieverId, RunKey, Suite
from tests.builders import rank

RETRIEVER = RetrieverId()
LAST_SWAPPED = rank("best", "fair", "good")  # an nDCG of 0.973


def merge(*runs: Run) -> Run:
    """Merge runs. Later answers replace earlier ones."""
    answers: dict[str, tuple[Ranking, ...]] = {}
    for run in runs:
        answers.update(run.answers)
    return Run(answers)


def answer(queries: Iterable[Query], ranking: Ranking) -> Run:
    """Answer queries with one ranking."""
    return Run({query.request: (ranking,) for query in queries})


def make_branch(suites: Sequence[Suite], baseline_run: Run | None = None, **fields: Any) -> Branch:
    """Make a branch whose suites have one baseline file."""
    baselines: tuple[Baseline, ...] = ()
    if baseline_run is not None:
        baselines = (Baseline(baseline_run, RETRIEVER, path=".ir-baseline/all.jsonl"),)
    return Branch(suites=tuple(suites), baselines=baselines, **fields)


def decide_on(
    suites: Sequence[Suite],
    run: Run,
    baseline_run: Run | None,
    *,
    base: Branch | None = None,
    strict: bool | None = None,
    **options: Any,
) -> Decision:
    """Decide on suites of one retriever."""
    current = make_branch(suites, baseline_run)
    return decide(current, make_runs(run), base, strict_override=strict, **options)


def make_runs(run: Run, retriever: RetrieverId = RETRIEVER) -> dict[RunKey, Run]:
    return {RunKey(retriever): run}


def list_codes(decision: Decision) -> list[str]:
    """Return the codes of the build's notices."""
    return [notice.code for notice in decision.notices]


def list_suite_codes(decision: Decision) -> list[str]:
    """Return the codes of the notices about current suites."""
    return [notice.code for notice in decision.current.notices]


def list_failed(decision: Decision) -> list[CheckResult]:
    """Return the failed results of the current side."""
    return [result for result in decision.current.results if result.outcome is Outcome.FAILED]


def get_text(decision: Decision, code: str) -> str:
    """Return the subject and text of the build's notice with a code."""
    (notice,) = [notice for notice in decision.notices if notice.code == code]
    return f"{notice.subject} {notice.text}".strip()
