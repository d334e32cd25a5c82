"""Short builders for decisions, so a test shows only the data that matters to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_irquality.baselines.sources import Baseline
from pytest_irquality.evaluation.branches import Branch
from pytest_irquality.evaluation.decide import Decision, decide
from pytest_irquality.evaluation.results import CheckResult, Outcome
from pytest_irquality.metrics import Judgments, parse_metric
from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.model import (
    Bound,
    CheckItem,
    ItemKind,
    Query,
    RetrieverId,
    RunKey,
    Suite,
    Threshold,
)

RETRIEVER = RetrieverId()
GRADES = {"best": 3.0, "good": 2.0, "fair": 1.0}


def rank(*doc_ids: str) -> Ranking:
    return Ranking(doc_ids)


# With GRADES, these have an nDCG of 1.000, 0.509, 0.922, 0.973 and 0.
GOOD = rank("best", "good", "fair")
WORSE = rank("junk-1", "junk-2", "junk-3", "best", "good", "fair")
SWAPPED = rank("good", "best", "fair")
LAST_SWAPPED = rank("best", "fair", "good")
EMPTY = rank()


def make_query(text: str, grades: Mapping[str, float] | None = None, **fields: Any) -> Query:
    judgments = Judgments(GRADES if grades is None else grades)
    fields.setdefault("id", text)
    return Query(text=text, judgments=judgments, **fields)


def make_suite(
    name: str = "shop",
    queries: int | Sequence[Query] = 20,
    *,
    metrics: Sequence[str] = (),
    thresholds: Sequence[Threshold] = (),
    **fields: Any,
) -> Suite:
    """Make a suite with the queries ``shop 0``, ``shop 1`` and so on."""
    if isinstance(queries, int):
        queries = [make_query(f"{name} {number}") for number in range(queries)]
    items = [CheckItem("answers", "answers", ItemKind.ANSWERS)]
    items += [CheckItem(query.id, query.id, ItemKind.QUERY, query_id=query.id) for query in queries]
    for threshold in thresholds:
        label = str(threshold.metric)
        items.append(CheckItem(label, label, ItemKind.THRESHOLD, threshold=threshold))
    items.append(CheckItem("default checks", "default checks", ItemKind.DEFAULT_CHECKS))
    fields.setdefault("path", f"{name}.ir.yaml")
    return Suite(
        name,
        tuple(queries),
        metrics=tuple(parse_metric(metric) for metric in metrics),
        items=tuple(items),
        **fields,
    )


def make_threshold(metric: str = "ndcg@10", **bounds: float) -> Threshold:
    written: dict[str, Any] = {name: Bound(value) for name, value in bounds.items()}
    return Threshold(parse_metric(metric), **written)


def make_run(*suites: Suite, worse: int = 0, ranking: Ranking = WORSE) -> Run:
    """Answer the first ``worse`` queries of each suite with ``ranking``, and the others well."""
    answers = {}
    for suite in suites:
        for number, query in enumerate(suite.queries):
            answers[query.request] = (ranking if number < worse else GOOD,)
    return Run(answers)


def make_repeated_run(suite: Suite, *repeats: tuple[Ranking, ...]) -> Run:
    """Answer each of the first queries with the given repeats, and the others well three times."""
    answers = {}
    for number, query in enumerate(suite.queries):
        answers[query.request] = repeats[number] if number < len(repeats) else (GOOD, GOOD, GOOD)
    return Run(answers)


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
    **options: Any,
) -> Decision:
    """Decide on suites of one retriever."""
    return decide(make_branch(suites, baseline_run), make_runs(run), base, **options)


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
