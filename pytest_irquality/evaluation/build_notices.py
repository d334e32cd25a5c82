"""Notices about a build as a unit: what could not be used, what is out of date, what was edited.

Notices about a single suite are in ``notices``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pytest_irquality.evaluation.branches import (
    Branch,
    BranchEvaluation,
    BuildFacts,
    SuiteKey,
    collect_answers,
)
from pytest_irquality.evaluation.comparison import compare_runs
from pytest_irquality.evaluation.constants import (
    MIN_SLOW_LOSS,
    MIN_SLOW_LOSS_BUILDS,
    SLOW_LOSS_BUILDS,
)
from pytest_irquality.evaluation.coverage import Coverage
from pytest_irquality.evaluation.edits import EditKind, SuiteEdit, summarize_edits
from pytest_irquality.evaluation.evaluate import Evaluation
from pytest_irquality.evaluation.query_changes import QueryChange
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
from pytest_irquality.suite.model import Query, Suite


def rank_notices(notices: Iterable[Notice]) -> tuple[Notice, ...]:
    """Return notices with the most severe first, and causes before others of their severity."""
    return tuple(sorted(notices, key=lambda notice: (-notice.outcome, not notice.is_cause)))


def _create(
    code: str,
    outcome: Outcome,
    text: Text,
    suites: Sequence[Suite] = (),
    *,
    queries: Sequence[Query] = (),
    is_cause: bool = False,
    next_step: Text | None = None,
) -> Notice:
    """Create a notice about some suites, or about the build."""
    paths = {suite.path for suite in suites}
    retrievers = {suite.retriever for suite in suites}
    return Notice(
        code,
        outcome,
        ", ".join(dict.fromkeys(suite.name for suite in suites)),
        text,
        query_ids=tuple(query.id for query in queries),
        suite_path=paths.pop() if len(paths) == 1 else "",
        retriever=retrievers.pop() if len(retrievers) == 1 else None,
        is_cause=is_cause,
        next_step=next_step or Text(),
    )


def _list_queries(queries: Iterable[Query]) -> Text:
    return list_some([QueryPart(query.id, query.text) for query in queries])


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
        where = f" for {base_name}" if base_name else ""
        name = DataPart(f"'{suite.retriever}'")
        text = write(f"did not run{where}, because the retriever ", name, " is not available")
        outcome = Outcome.INCOMPLETE
        if reason := branch.missing_retrievers.get(suite.run_key):
            text += write(" (", reason, ")")
            outcome = Outcome.ERROR
        if base_name:
            outcome = Outcome.REVIEW
        yield _create("suite-not-run", outcome, text, [suite], is_cause=True)
    for remark in branch.remarks:
        yield _create("remark", Outcome.PASSED, remark)


def create_unanswered_base_notices(
    base: BranchEvaluation, current: BranchEvaluation, facts: BuildFacts
) -> Iterator[Notice]:
    """Create notices about queries of the base branch that one side did not answer.

    Queries without a current answer that the current branch has too are counted there. Under
    ``run:``, a query that the base's code never ran would look like a new one.
    """
    current_requests = set()
    for suite in current.branch.suites:
        current_requests |= {(suite.retriever, query.request) for query in suite.queries}
    for evaluation in base.evaluations:
        suite = evaluation.suite
        answered = evaluation.run.answers.keys()
        ran_on_base = _list_requests_that_ran(suite, base.branch)
        excused = base.branch.get_context(suite).deselected_query_ids
        queries = []
        for query in suite.queries:
            is_counted = (suite.retriever, query.request) in current_requests
            is_known = query.request in answered or is_counted
            if query.id not in excused and not (is_known and query.request in ran_on_base):
                queries.append(query)
        if queries:
            number = format_count(len(queries), "query", "queries")
            text = write(f"{number} of {base.branch.name} could not be evaluated: ")
            outcome = Outcome.INCOMPLETE if facts.is_interrupted else Outcome.REVIEW
            text += _list_queries(queries)
            yield _create("base-not-answered", outcome, text, [suite], queries=queries)


def _list_requests_that_ran(suite: Suite, base: Branch) -> set[str]:
    """Return the requests that the base's code ran, or all if committed files answer for it."""
    requests: set[str] = set()
    if base.committed is None or not suite.has_stored_baseline:
        requests.update(query.request for query in suite.queries)
    for baseline in base.baselines:
        if baseline.retriever[:2] == suite.retriever[:2]:  # whatever its parameter
            requests.update(baseline.run.answers, baseline.run.errors)
    return requests


def create_session_notices(
    facts: BuildFacts, runs: Iterable[Run], coverage: Coverage, *, has_evaluations: bool
) -> Iterator[Notice]:
    """Create notices about what the session left out."""
    provenances = [run.provenance for run in runs]
    selection = CodePart(facts.addopts_selection)
    outcome = Outcome.INCOMPLETE
    if not has_evaluations and facts.addopts_selection:
        text = write("'addopts' has ", selection, ", which leaves nothing to evaluate")
        yield _create("nothing-selected", Outcome.ERROR, text, is_cause=True)
    elif not has_evaluations:
        yield _create("nothing-evaluated", outcome, write("No suite was evaluated"), is_cause=True)
    elif facts.addopts_deselected_count:
        number = format_count(facts.addopts_deselected_count, "check")
        text = write(f"{number} did not run because of ", selection, " in 'addopts'")
        yield _create("deselected-in-addopts", outcome, text, is_cause=True)
    if facts.addopts_saved_runs:
        option = CodePart(f"--ir-runs={facts.addopts_saved_runs}")
        text = write("The current code did not run: 'addopts' has ", option)
        commits = sorted({each.commit[:7] for each in provenances if each.commit})
        if commits:
            text += f", and the answers are those of commit {', '.join(commits)}"
        yield _create("saved-runs-in-addopts", outcome, text, is_cause=True)
    if facts.is_interrupted or any(each.is_interrupted for each in provenances):
        text = write("The session was interrupted before all queries ran")
        yield _create("interrupted", outcome, text, is_cause=True)
    if coverage.has_large_gap:
        number = format_count(coverage.comparable, "query", "queries")
        text = write(f"Only {coverage.compared} of {number} were compared")
        yield _create("large-gap", outcome, text, is_cause=True)


# -- What the base branch says ---------------------------------------------------------------------


def create_base_failure_notice(
    result: CheckResult, base_name: str, edits: Sequence[SuiteEdit]
) -> Notice:
    """Create the notice about a check that fails for the base branch only."""
    verb = "needs a review" if result.outcome is Outcome.REVIEW else "fails"
    text = write(f"{verb} for {base_name}. ", result.text)
    if count := sum(edit.counts.get(EditKind.BASELINE_EDITED, 0) for edit in edits):
        text += f". This change commits {format_count(count, 'answer')} as the new baseline"
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
            suites = [suite for suite in base.suites if suite.path == edit.path]
            text = write(f"no query of this suite on {base.name} is left, so its protection ends")
            yield _create("nothing-left", Outcome.REVIEW, text, suites, is_cause=True)
    named = [edit for edit in edits if edit.texts]
    if named:
        subject = ", ".join(dict.fromkeys(edit.subject for edit in named))
        text = write("this change edits suites (", summarize_edits(named), ")")
        path = named[0].path if len(named) == 1 else ""
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
        base_run = collect_answers(evaluation.suite, base.baselines)
        for request, answer in base_run.answers.items():
            now = evaluation.run.answers.get(request, ())
            if [ranking.doc_ids for ranking in now] != [ranking.doc_ids for ranking in answer]:
                return None
            ranking_count += 1
    if not ranking_count:
        return None
    text = write(f"Code changed, but all {ranking_count} rankings are those of {base.name}. ")
    text += "Do both sides search one index?"
    return _create("equal-sides", Outcome.PASSED, text, is_cause=True)


# -- Baselines and history -------------------------------------------------------------------------


def create_stale_notice(
    current: BranchEvaluation, facts: BuildFacts, *, strict: bool
) -> Notice | None:
    """Create a notice if current rankings differ from the committed baseline."""
    suites = []
    queries = []
    for evaluation in current.evaluations:
        for change in _compare_with_committed(evaluation, current.branch):
            if change.is_outdated(evaluation.suite.primary_metric):
                suites.append(evaluation.suite)
                queries.append(change.query)
    if not queries:
        return None
    number = format_count(len(queries), "ranking differs", "rankings differ")
    text = write(f"baseline out of date: {number}")
    outcome = Outcome.INCOMPLETE if strict else Outcome.PASSED
    step = write("Run ", CodePart(facts.update_command), " and commit the files")
    return _create("stale-baseline", outcome, text, suites, queries=queries, next_step=step)


def _compare_with_committed(evaluation: Evaluation, branch: Branch) -> Sequence[QueryChange]:
    suite = evaluation.suite
    if suite.baseline_retriever:
        return ()
    committed_run = collect_answers(suite, branch.committed_files)
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
        if suite.has_stored_baseline:
            base_requests |= {(suite.retriever, query.request) for query in suite.queries}
    suites = []
    missing: dict[tuple[object, str], Query] = {}
    for suite in current.branch.suites:
        answers = collect_answers(suite, base.baselines).answers
        committed = collect_answers(suite, current.branch.committed_files).answers
        for query in suite.queries:
            key = (suite.retriever, query.request)
            is_answered = query.request in answers or query.request in committed
            if key in base_requests and not is_answered:
                suites.append(suite)
                missing[key] = query
    if not missing:
        return None
    queries = list(missing.values())
    number = format_count(len(queries), "query has", "queries have")
    text = write(f"{number} no baseline, neither on {base.name} nor in this change: ")
    text += _list_queries(queries)
    outcome = Outcome.INCOMPLETE if strict else Outcome.PASSED
    step = write("Run ", CodePart(facts.update_command), " and commit the files")
    return _create("missing-baseline", outcome, text, suites, queries=queries, next_step=step)


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
            yield _create("slow-loss", Outcome.PASSED, text, [suite])
