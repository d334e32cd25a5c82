"""Notices about a build as a unit: what could not be used, what is out of date, what was edited.

Notices about a single suite are in ``notices``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pytest_irquality.evaluation.branches import (
    Branch,
    BranchEvaluation,
    BuildFacts,
    SuiteKey,
    collect_answers,
)
from pytest_irquality.evaluation.comparison import QueryChange, QueryStatus, compare_runs
from pytest_irquality.evaluation.coverage import Coverage
from pytest_irquality.evaluation.edits import EditKind, SuiteEdit, summarize_edits
from pytest_irquality.evaluation.evaluate import Evaluation
from pytest_irquality.evaluation.results import CheckResult, Notice, Outcome
from pytest_irquality.io.text import (
    CodePart,
    DataPart,
    QueryPart,
    Text,
    format_count,
    list_some,
    write,
)
from pytest_irquality.retrieval.run import Run
from pytest_irquality.suite.model import Query, RunKey, Suite

SLOW_LOSS_BUILDS = 30
MIN_SLOW_LOSS_BUILDS = 5
MIN_SLOW_LOSS = 0.02


def rank_notices(notices: Iterable[Notice]) -> tuple[Notice, ...]:
    """Return notices with the most severe first, and causes before others of their severity."""
    return tuple(sorted(notices, key=lambda notice: (-notice.outcome, not notice.is_cause)))


# -- What could not be used, run or compared -------------------------------------------------------


def create_branch_notices(evaluation: BranchEvaluation, base_name: str = "") -> Iterator[Notice]:
    """Create notices about files and retrievers of a branch that cannot be used.

    Args:
        evaluation: The evaluation against the branch.
        base_name: The name of the base branch, if ``evaluation`` is about it.
    """
    branch = evaluation.branch
    for path, error in branch.errors.items():
        outcome = Outcome.REVIEW if base_name else Outcome.ERROR
        where = f" on {base_name}" if base_name else ""
        text = write(f"cannot be used{where}. ", error)
        yield Notice("cannot-be-used", outcome, path, text, suite_path=path)
    for suite in evaluation.missing:
        yield _create_missing_notice(suite, branch.missing_retrievers, base_name)
    for remark in branch.remarks:
        yield Notice("remark", Outcome.PASSED, "", remark)


def _create_missing_notice(
    suite: Suite, reasons: Mapping[RunKey, Text | str], base_name: str
) -> Notice:
    reason = reasons.get(suite.run_key)
    outcome = Outcome.ERROR if reason else Outcome.INCOMPLETE
    where = ""
    if base_name:
        outcome = Outcome.REVIEW
        where = f" for {base_name}"
    text = write(
        f"did not run{where}, because the retriever ",
        DataPart(f"'{suite.retriever}'"),
        " is not available",
        *([" (", reason, ")"] if reason else []),
    )
    return Notice(
        "suite-not-run",
        outcome,
        suite.name,
        text,
        suite_path=suite.path,
        retriever=suite.retriever,
        is_cause=True,
    )


def create_unanswered_base_notices(
    base: BranchEvaluation, current: BranchEvaluation, facts: BuildFacts
) -> Iterator[Notice]:
    """Create notices about queries that only the base branch has, and that were not answered.

    Those that the current branch has too are counted there.
    """
    current_requests = set()
    for suite in current.branch.suites:
        current_requests |= {(suite.retriever, query.request) for query in suite.queries}
    for evaluation in base.evaluations:
        suite = evaluation.suite
        deselected = base.branch.get_context(suite).deselected_query_ids
        unanswered = []
        for query in suite.queries:
            status = evaluation.comparison.statuses[query.id]
            is_answered = status not in (QueryStatus.NO_ANSWER, QueryStatus.NOT_RUN)
            is_current = (suite.retriever, query.request) in current_requests
            if not (is_answered or is_current or query.id in deselected):
                unanswered.append(query)
        if unanswered:
            number = format_count(len(unanswered), "query", "queries")
            text = write(
                f"{number} of {base.branch.name} could not be evaluated: ",
                _list_queries(unanswered),
            )
            outcome = Outcome.INCOMPLETE if facts.is_interrupted else Outcome.REVIEW
            yield _create_suite_notice("base-not-answered", outcome, suite, text, unanswered)


def create_session_notices(
    facts: BuildFacts, runs: Iterable[Run], coverage: Coverage, *, has_evaluations: bool
) -> Iterator[Notice]:
    """Create notices about what the session left out."""
    selection = facts.addopts_selection
    if selection and not has_evaluations:
        text = write("'addopts' has ", CodePart(selection), ", which leaves nothing to evaluate")
        yield Notice("nothing-selected", Outcome.ERROR, "", text, is_cause=True)
    elif not has_evaluations:
        text = write("No suite was evaluated")
        yield Notice("nothing-evaluated", Outcome.INCOMPLETE, "", text, is_cause=True)
    elif facts.addopts_deselected_count:
        number = format_count(facts.addopts_deselected_count, "check")
        text = write(f"{number} did not run because of ", CodePart(selection), " in 'addopts'")
        yield Notice("deselected-in-addopts", Outcome.INCOMPLETE, "", text, is_cause=True)

    if facts.addopts_saved_runs:
        commits = sorted({run.provenance.commit[:7] for run in runs if run.provenance.commit})
        origin = f", and the answers are those of commit {', '.join(commits)}" if commits else ""
        text = write(
            "The current code did not run: 'addopts' has ",
            CodePart(f"--ir-runs={facts.addopts_saved_runs}"),
            origin,
        )
        yield Notice("saved-runs-in-addopts", Outcome.INCOMPLETE, "", text, is_cause=True)

    if facts.is_interrupted or any(run.provenance.is_interrupted for run in runs):
        text = write("The session was interrupted before all queries ran")
        yield Notice("interrupted", Outcome.INCOMPLETE, "", text, is_cause=True)

    if coverage.has_large_gap:
        number = format_count(coverage.comparable, "query", "queries")
        text = write(f"Only {coverage.compared} of {number} were compared")
        yield Notice("large-gap", Outcome.INCOMPLETE, "", text, is_cause=True)


# -- What the base branch says ---------------------------------------------------------------------


def create_base_failure_notice(
    result: CheckResult, base_name: str, edits: Sequence[SuiteEdit]
) -> Notice:
    """Create the notice about a check that fails for the base branch only."""
    if result.outcome is Outcome.REVIEW:
        text = write(f"needs a review for {base_name}. ", result.text)
    else:
        text = write(f"fails for {base_name}. ", result.text)
    committed_count = sum(edit.counts.get(EditKind.BASELINE_EDITED, 0) for edit in edits)
    if committed_count:
        number = format_count(committed_count, "answer")
        text += f". This change commits {number} as the new baseline"
    return Notice(
        "base-fails",
        Outcome.REVIEW,
        result.subject,
        text,
        query_ids=result.query_ids,
        doc_ids=result.doc_ids,
        suite_path=result.suite_path,
        retriever=result.retriever,
        is_cause=True,
    )


def create_edit_notices(edits: Sequence[SuiteEdit], base: Branch) -> Iterator[Notice]:
    """Create one notice for all edits, and one for each suite of which nothing is left."""
    for edit in edits:
        if edit.is_nothing_left:
            text = write(
                f"no query of this suite on {base.name} is left, so its protection ends with this "
                "change"
            )
            yield Notice(
                "nothing-left",
                Outcome.REVIEW,
                edit.subject,
                text,
                query_ids=edit.query_ids,
                suite_path=edit.path,
                is_cause=True,
            )
    named = [edit for edit in edits if edit.texts]
    if named:
        names = list(dict.fromkeys(edit.subject for edit in named))
        text = write("this change edits suites (", summarize_edits(named), ")")
        path = named[0].path if len(named) == 1 else ""
        subject = ", ".join(names)
        yield Notice("suites-edited", Outcome.PASSED, subject, text, suite_path=path)


def create_equal_sides_notice(
    current: BranchEvaluation, base: Branch, facts: BuildFacts
) -> Notice | None:
    """Ask whether both sides of ``run:`` search one index, if code changed and no ranking did."""
    if base.committed is None or not facts.has_code_changes:
        return None
    ranking_count = 0
    for evaluation in current.evaluations:
        # An answer that the change commits is not an answer of the other side.
        base_run = collect_answers(evaluation.suite, base.baselines, evaluation.suite.retriever)
        for request, answer in base_run.answers.items():
            now = evaluation.run.answers.get(request, ())
            if [ranking.doc_ids for ranking in now] != [ranking.doc_ids for ranking in answer]:
                return None
            ranking_count += 1
    if not ranking_count:
        return None
    text = write(
        f"Code changed, but all {ranking_count} rankings are those of {base.name}. "
        "Do both sides search one index?"
    )
    return Notice("equal-sides", Outcome.PASSED, "", text, is_cause=True)


# -- Baselines and history -------------------------------------------------------------------------


def create_stale_notice(
    current: BranchEvaluation, facts: BuildFacts, *, strict: bool
) -> Notice | None:
    """Create a notice if current rankings differ from the committed baseline."""
    suites = []
    outdated = []
    for evaluation in current.evaluations:
        metric = evaluation.suite.primary_metric
        for change in _compare_with_committed(evaluation, current.branch):
            if change.is_outdated(metric):
                suites.append(evaluation.suite)
                outdated.append(change.query)
    if not outdated:
        return None
    number = format_count(len(outdated), "ranking differs", "rankings differ")
    return Notice(
        "stale-baseline",
        Outcome.INCOMPLETE if strict else Outcome.PASSED,
        ", ".join(dict.fromkeys(suite.name for suite in suites)),
        write(f"baseline out of date: {number}"),
        query_ids=tuple(query.id for query in outdated),
        suite_path=suites[0].path if len({suite.path for suite in suites}) == 1 else "",
        next_step=write("Run ", CodePart(facts.update_command), " and commit the files"),
    )


def _compare_with_committed(evaluation: Evaluation, branch: Branch) -> Sequence[QueryChange]:
    suite = evaluation.suite
    if suite.baseline_retriever:
        return ()
    committed_run = collect_answers(suite, branch.committed_files, suite.retriever)
    baseline_run = evaluation.baseline_run
    if baseline_run is not None and baseline_run.answers == committed_run.answers:
        return evaluation.comparison.changes
    return compare_runs(suite, evaluation.run, committed_run).changes


def create_missing_baseline_notice(
    current: BranchEvaluation, base: Branch, facts: BuildFacts, *, strict: bool
) -> Notice | None:
    """Name the requests of the base branch that never got a baseline, and get none now."""
    base_requests = set()
    for suite in base.suites:
        if not suite.is_probe_suite and not suite.baseline_retriever:
            base_requests |= {(suite.retriever, query.request) for query in suite.queries}
    suites = []
    missing: dict[tuple[object, str], Query] = {}
    for suite in current.branch.suites:
        base_run = collect_answers(suite, base.baselines, suite.retriever)
        committed_run = collect_answers(suite, current.branch.committed_files, suite.retriever)
        for query in suite.queries:
            is_known = (suite.retriever, query.request) in base_requests
            has_answer = query.request in base_run.answers or query.request in committed_run.answers
            if is_known and not has_answer:
                suites.append(suite.name)
                missing[suite.retriever, query.request] = query
    if not missing:
        return None
    queries = list(missing.values())
    text = write(
        format_count(len(queries), "query has", "queries have"),
        f" no baseline, neither on {base.name} nor in this change: ",
        _list_queries(queries),
    )
    return Notice(
        "missing-baseline",
        Outcome.INCOMPLETE if strict else Outcome.PASSED,
        ", ".join(dict.fromkeys(suites)),
        text,
        query_ids=tuple(query.id for query in queries),
        next_step=write("Run ", CodePart(facts.update_command), " and commit the files"),
    )


def create_slow_loss_notices(current: BranchEvaluation, facts: BuildFacts) -> Iterator[Notice]:
    """Create a notice for each metric that many builds lowered, each by too little to fail."""
    for evaluation in current.evaluations:
        suite = evaluation.suite
        values = facts.history.get(SuiteKey(suite.path, suite.retriever), ())
        values = values[-SLOW_LOSS_BUILDS:]
        value = evaluation.comparison.suite_value(suite.primary_metric)
        if value is None or len(values) < MIN_SLOW_LOSS_BUILDS:
            continue
        loss = values[0] - value
        # A loss that this build causes is reported as such.
        if loss > MIN_SLOW_LOSS and values[0] - values[-1] >= loss / 2:
            change = f"−{loss:.3f} over {len(values)} builds"
            text = write(f"{suite.primary_metric} is falling slowly ({change})")
            yield _create_suite_notice("slow-loss", Outcome.PASSED, suite, text)


def _create_suite_notice(
    code: str, outcome: Outcome, suite: Suite, text: Text, queries: Sequence[Query] = ()
) -> Notice:
    return Notice(
        code,
        outcome,
        suite.name,
        text,
        query_ids=tuple(query.id for query in queries),
        suite_path=suite.path,
        retriever=suite.retriever,
    )


def _list_queries(queries: Iterable[Query]) -> Text:
    return list_some([QueryPart(query.id, query.text) for query in queries])
