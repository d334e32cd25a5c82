"""Notices about a build: what a reader should know that no single suite says.

Every notice is created and worded in one function. ``create_build_notices`` lists them. Notices
about a suite are in ``notices``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pytest_irquality.baselines.sources import Baseline
from pytest_irquality.evaluation import constants
from pytest_irquality.evaluation.comparison import Comparison, compare_runs
from pytest_irquality.evaluation.edits import BASELINE_EDITED, SuiteEdit, summarize_edits
from pytest_irquality.evaluation.evaluate import (
    AnswerKey,
    Branch,
    BranchEvaluation,
    BuildFacts,
    Evaluation,
    SuiteKey,
    list_answer_keys,
)
from pytest_irquality.evaluation.results import (
    CheckResult,
    Coverage,
    Notice,
    NoticeCode,
    Outcome,
    assign_suites,
    find_worst_outcome,
)
from pytest_irquality.io import dataclass, field, replace
from pytest_irquality.io.text import CodePart, DataPart, Text, format_count, list_some, write
from pytest_irquality.retrieval.run import Provenance
from pytest_irquality.suite.model import Query, RetrieverId, Suite, Threshold


@dataclass(frozen=True)
class BuildEvaluation:
    """The evaluations of a build on the current and the base branch, and what follows from them.

    Attributes:
        current: The evaluation against the suites of the change.
        base: The evaluation against the suites of the base branch, if there is one.
        coverage: The number of queries by status.
        base_failures: The results of checks of the base branch that fail, while the current branch
            has no such failure. A ``REVIEW`` report begins with them.
        edits: What the change edits in suites.
        is_strict: Whether a build exits with 0 only if it passes.
        facts: What the plugin knows about the build.
    """

    current: BranchEvaluation
    base: BranchEvaluation | None = None
    coverage: Coverage = field(default=Coverage())
    base_failures: tuple[CheckResult, ...] = ()
    edits: tuple[SuiteEdit, ...] = ()
    is_strict: bool = False
    facts: BuildFacts = field(default=BuildFacts(), repr=False)

    @property
    def branch_evaluations(self) -> list[BranchEvaluation]:
        """Return the evaluations against the current and, if there is one, the base branch."""
        return [self.current] if self.base is None else [self.current, self.base]

    @property
    def base_name(self) -> str:
        """Return the name of the base branch, or nothing without one."""
        return self.base.branch.name if self.base else ""


def create_build_notices(build: BuildEvaluation) -> tuple[Notice, ...]:
    """Create all notices about a build.

    The most severe are first, and causes before others of their severity.
    """
    creators = (
        _create_base_failure_notices,
        _create_branch_notices,
        _create_removed_parameter_notices,
        _create_base_no_answer_notices,
        _create_unevaluated_threshold_notices,
        _create_edit_notices,
        _create_equal_answers_notice,
        _create_selection_notice,
        _create_saved_run_notice,
        _create_gap_notices,
        _create_slow_drop_notices,
    )
    notices: list[Notice] = []
    for create in creators:
        notices += create(build)
    current = build.current
    outcome = find_worst_outcome(current.results, [*current.notices, *notices])
    # A failure or a review must be looked into first, and updating the baseline would hide it.
    if outcome <= Outcome.INCOMPLETE and not build.facts.is_update:
        notices += _create_stale_baseline_notice(build)
        notices += _create_missing_baseline_notice(build)
    notices.sort(key=lambda notice: (-notice.outcome, not notice.is_cause))
    return tuple(notices)


# -- The base branch -------------------------------------------------------------------------------


def _create_base_failure_notices(build: BuildEvaluation) -> Iterator[Notice]:
    """Create a notice for each check that fails for the base branch only."""
    for result in build.base_failures:
        verb = "needs a review" if result.outcome is Outcome.REVIEW else "fails"
        text = write(f"{verb} for {build.base_name}. ", result.text)
        edited_count = 0
        for edit in build.edits:
            # A check without a path is about several suites, and an edit without one about none.
            if edit.path and result.suite_path in ("", edit.path):
                edited_count += edit.counts.get(BASELINE_EDITED, 0)
        if edited_count:
            answers = format_count(edited_count, "answer")
            text += f". This change commits {answers} as the new baseline"
        yield Notice(
            NoticeCode.BASE_FAILS,
            text,
            Outcome.REVIEW,
            subject=result.subject,
            query_ids=result.query_ids,
            doc_ids=result.doc_ids,
            suite_path=result.suite_path,
            retriever=result.retriever,
            is_cause=True,
        )


def _create_removed_parameter_notices(build: BuildEvaluation) -> Iterator[Notice]:
    """Create a notice for each baseline whose fixture no longer has its parameter.

    The fixture of the current code says with which parameters the suites of both branches run.
    """
    if build.base is None:
        return
    base_branch = build.base.branch
    parametrized = {suite.retriever for suite in base_branch.suites if suite.retriever.parameter}
    fixtures = {retriever._replace(parameter="") for retriever in parametrized}
    unmatched: dict[tuple[str, RetrieverId], Baseline] = {}
    for baseline in base_branch.baselines:
        retriever = baseline.retriever
        has_fixture = retriever._replace(parameter="") in fixtures
        if retriever.parameter and has_fixture and retriever not in parametrized:
            unmatched[baseline.suite_path, retriever] = baseline
    for (suite_path, retriever), baseline in unmatched.items():
        number = format_count(len(baseline.run.answers), "query", "queries")
        text = write("did not run for ", DataPart(str(retriever)), f" of {base_branch.name}, ")
        text += f"because its fixture no longer has the parameter ({number} not compared)"
        step = write("Restore the parameter, or delete its baseline ", CodePart(baseline.path))
        notice = Notice("parameter-lost", text, Outcome.REVIEW, is_cause=True, next_step=step)
        suites = [suite for suite in base_branch.suites if suite.path == suite_path]
        yield assign_suites(notice, suites)


def _create_base_no_answer_notices(build: BuildEvaluation) -> Iterator[Notice]:
    """Create a notice for each base suite with queries that a branch did not answer.

    If the current branch has the query as well, its missing answer is reported there. Under
    ``run:``, a query that the base branch never ran would otherwise count as new.
    """
    if build.base is None:
        return
    base_branch = build.base.branch
    current_keys = list_answer_keys(build.current.branch.suites)
    for evaluation in build.base.evaluations:
        suite = evaluation.suite
        ran_on_base = _list_requests_that_ran(suite, base_branch)
        deselected_ids = base_branch.get_context(suite).deselected_query_ids
        queries = []
        for query in suite.queries:
            is_answered = query.request in evaluation.run.answers
            is_reported = AnswerKey(suite.retriever, query.request) in current_keys
            has_gap = not (is_answered or is_reported) or query.request not in ran_on_base
            if has_gap and query.id not in deselected_ids:
                queries.append(query)
        if queries:
            number = format_count(len(queries), "query", "queries")
            text = write(f"{number} of {base_branch.name} could not be evaluated: ")
            text += _name_queries(queries)
            outcome = Outcome.INCOMPLETE if build.facts.is_interrupted else Outcome.REVIEW
            query_ids = tuple(query.id for query in queries)
            notice = Notice("base-not-answered", text, outcome, query_ids=query_ids)
            yield assign_suites(notice, [suite])


def _list_requests_that_ran(suite: Suite, base_branch: Branch) -> set[str]:
    """Return the requests that the base branch ran, or all if its committed files answer them."""
    if base_branch.committed is None or not suite.has_stored_baseline:
        return {query.request for query in suite.queries}
    requests: set[str] = set()
    for baseline in base_branch.baselines:
        if baseline.retriever.has_same_fixture(suite.retriever):
            requests.update(baseline.run.answers, baseline.run.errors)
    return requests


def _create_unevaluated_threshold_notices(build: BuildEvaluation) -> Iterator[Notice]:
    """Create a notice for each base suite with thresholds that can no longer be evaluated.

    A change can remove the stage that a threshold is about, or the retriever that it compares with.
    """
    if build.base is None:
        return
    results = build.current.results
    incomplete = {result.key for result in results if result.outcome >= Outcome.INCOMPLETE}
    for evaluation in build.base.evaluations:
        suite = evaluation.suite
        lacks_retriever = bool(suite.baseline_retriever) and evaluation.baseline_run is None
        labels: dict[str, None] = {}
        for result in evaluation.results:
            if not isinstance(result.check, Threshold) or result.outcome is not Outcome.INCOMPLETE:
                continue
            metric = result.check.metric
            stage = evaluation.comparison.get_stage(metric)
            lacks_stage = bool(metric.stage) and not stage.answers
            if (lacks_stage or lacks_retriever) and result.key not in incomplete:
                labels[result.label] = None
        if labels and not build.base.branch.get_context(suite).deselected_query_ids:
            names = list_some([DataPart(label) for label in labels])
            missing = "the retriever that it compares with" if lacks_retriever else "the stage"
            text = write(names, f" can no longer be checked for {build.base_name}, because ")
            text += f"{missing} no longer exists"
            notice = Notice("base-check-not-made", text, Outcome.REVIEW, is_cause=True)
            yield assign_suites(notice, [suite])


# -- What could not be used or did not run ---------------------------------------------------------


def _create_branch_notices(build: BuildEvaluation) -> Iterator[Notice]:
    """Create notices about files and retrievers of a branch that cannot be used."""
    for branch_evaluation in build.branch_evaluations:
        branch = branch_evaluation.branch
        is_base = branch_evaluation is build.base
        worst = Outcome.REVIEW if is_base else Outcome.ERROR
        for path, error in branch.errors.items():
            where = f" on {build.base_name}" if is_base else ""
            first, *others = str(error).splitlines()
            text = write(f"cannot be used{where}. ", DataPart(first))
            text += f" ({len(others)} more)" if others else ""
            yield Notice(NoticeCode.CANNOT_BE_USED, text, worst, subject=path, suite_path=path)
        for suite in branch_evaluation.suites_without_run:
            where = f" for {build.base_name}" if is_base else ""
            name = DataPart(f"'{suite.retriever}'")
            text = write(f"did not run{where}, because the retriever ", name, " is not available")
            reason = branch.missing_retrievers.get(suite.run_key)
            if reason:
                text += write(" (", reason, ")")
            outcome = worst if reason or is_base else Outcome.INCOMPLETE
            yield assign_suites(Notice("suite-not-run", text, outcome, is_cause=True), [suite])
        for note in branch.notes:
            yield Notice("note", note)


def _create_selection_notice(build: BuildEvaluation) -> Iterator[Notice]:
    """Create a notice if ``addopts`` leaves out checks, or if nothing was evaluated."""
    branch, facts = build.current.branch, build.facts
    has_evaluations = any(each.evaluations for each in build.branch_evaluations)
    # A run is not empty just because the command line leaves suites out.
    is_deselected = any(map(branch.is_deselected, branch.suites))
    is_empty = not has_evaluations and not is_deselected
    selection = CodePart(facts.addopts_selection)
    if is_empty and facts.addopts_selection:
        text = write("'addopts' has ", selection, ", which leaves nothing to evaluate")
        yield Notice("nothing-selected", text, Outcome.ERROR, is_cause=True)
    elif is_empty:
        text = write("No suite was evaluated")
        yield Notice(NoticeCode.NOTHING_EVALUATED, text, Outcome.INCOMPLETE, is_cause=True)
    elif facts.addopts_deselected_count:
        number = format_count(facts.addopts_deselected_count, "check")
        text = write(f"{number} did not run, because 'addopts' leaves them out")
        step = write("Remove ", selection, " from 'addopts', or pass it on the command line")
        outcome = Outcome.INCOMPLETE
        yield Notice("deselected-in-addopts", text, outcome, is_cause=True, next_step=step)


def _create_saved_run_notice(build: BuildEvaluation) -> Iterator[Notice]:
    """Create a notice if the answers are not from the current code."""
    provenances = _list_provenances(build)
    commits = {provenance.commit for provenance in provenances} - {""}
    current_commit = build.current.branch.commit
    if addopts_runs := build.facts.addopts_saved_runs:
        option = CodePart(f"--ir-runs={addopts_runs}")
        text = write("The current code did not run: 'addopts' has ", option)
        if commits:
            text += f", and the answers are from commit {_name_commits(commits)}"
        yield Notice("saved-runs-in-addopts", text, Outcome.INCOMPLETE, is_cause=True)
    elif current_commit and commits - {current_commit}:
        # Perhaps nobody reads the report of a strict build, so an old run could pass forever.
        other_commits = _name_commits(commits - {current_commit})
        text = write(f"The answers are from commit {other_commits}, not from the current code")
        outcome = Outcome.INCOMPLETE if build.is_strict else Outcome.PASSED
        yield Notice("saved-runs-of-another-commit", text, outcome, is_cause=True)


def _list_provenances(build: BuildEvaluation) -> list[Provenance]:
    provenances = []
    for branch_evaluation in build.branch_evaluations:
        provenances += [each.run.provenance for each in branch_evaluation.evaluations]
    return provenances


def _name_commits(commits: Iterable[str]) -> str:
    return ", ".join(sorted({commit[:7] for commit in commits}))


def _create_gap_notices(build: BuildEvaluation) -> Iterator[Notice]:
    """Create notices if the session was interrupted, or compared too few queries."""
    is_interrupted = any(each.is_interrupted for each in _list_provenances(build))
    if build.facts.is_interrupted or is_interrupted:
        text = write("The session was interrupted before all queries ran")
        yield Notice("interrupted", text, Outcome.INCOMPLETE, is_cause=True)
    coverage = build.coverage
    if coverage.has_large_gap:
        number = format_count(coverage.comparable, "query", "queries")
        text = write(f"Only {coverage.compared} of {number} were compared")
        yield Notice(NoticeCode.LARGE_GAP, text, Outcome.INCOMPLETE, is_cause=True)


# -- What the change edits -------------------------------------------------------------------------


def _create_edit_notices(build: BuildEvaluation) -> Iterator[Notice]:
    """Create one notice for all edits, and one for each suite whose queries are all removed."""
    for edit in build.edits:
        if edit.removes_all_queries:
            text = write(f"this change removes all queries the suite has on {build.base_name}")
            notice = Notice("nothing-left", text, Outcome.REVIEW, edit.subject, is_cause=True)
            yield replace(notice, suite_path=edit.path)
    named = [edit for edit in build.edits if edit.texts]
    if named:
        subject = ", ".join(dict.fromkeys(edit.subject for edit in named))
        text = write("this change edits suites (", summarize_edits(named), ")")
        path = named[0].path if len(named) == 1 else ""
        yield Notice(NoticeCode.SUITES_EDITED, text, subject=subject, suite_path=path)


def _create_equal_answers_notice(build: BuildEvaluation) -> Iterator[Notice]:
    """Create a notice if code changed, but no ranking did: ``run:`` may search one index twice."""
    base_branch = build.base and build.base.branch
    if not base_branch or base_branch.committed is None or not build.facts.has_code_changes:
        return
    ranking_count = 0
    for evaluation in build.current.evaluations:
        # Answers that the change commits are not answers of the base branch.
        base_run = base_branch.baseline_index.collect_answers(evaluation.suite)
        for request, base_answer in base_run.answers.items():
            answer = evaluation.run.answers.get(request, ())
            if [each.doc_ids for each in answer] != [each.doc_ids for each in base_answer]:
                return
            ranking_count += 1
    if ranking_count:
        text = write(f"Code changed, but all {ranking_count} rankings match {base_branch.name}. ")
        text += "Do both branches search the same index?"
        yield Notice(NoticeCode.EQUAL_ANSWERS, text, is_cause=True)


# -- Baselines and history -------------------------------------------------------------------------


def _create_stale_baseline_notice(build: BuildEvaluation) -> Iterator[Notice]:
    """Create a notice if current rankings differ from the committed baseline."""
    suites = []
    query_ids = []
    for evaluation in build.current.evaluations:
        suite = evaluation.suite
        if not suite.baseline_retriever:
            comparison = _compare_with_committed(evaluation, build.current.branch)
            for change in comparison.list_outdated(suite.primary_metric):
                suites.append(suite)
                query_ids.append(change.query.id)
    if query_ids:
        number = format_count(len(query_ids), "ranking differs", "rankings differ")
        text = write(f"baseline out of date: {number}")
        yield _create_update_notice(NoticeCode.STALE_BASELINE, text, build, suites, query_ids)


def _compare_with_committed(evaluation: Evaluation, branch: Branch) -> Comparison:
    committed_run = branch.committed_index.collect_answers(evaluation.suite)
    baseline_run = evaluation.baseline_run
    if baseline_run is not None and baseline_run.answers == committed_run.answers:
        return evaluation.comparison
    return compare_runs(evaluation.suite, evaluation.run, committed_run)


def _create_missing_baseline_notice(build: BuildEvaluation) -> Iterator[Notice]:
    """Create a notice if queries of the base branch never got a baseline, and get none now."""
    if build.base is None:
        return
    current_branch, base_branch = build.current.branch, build.base.branch
    base_keys = list_answer_keys(each for each in base_branch.suites if each.has_stored_baseline)
    suites = []
    missing: dict[AnswerKey, Query] = {}
    for suite in current_branch.suites:
        answers = base_branch.baseline_index.collect_answers(suite).answers
        committed = current_branch.committed_index.collect_answers(suite).answers
        for query in suite.queries:
            key = AnswerKey(suite.retriever, query.request)
            is_answered = query.request in answers or query.request in committed
            if key in base_keys and not is_answered:
                suites.append(suite)
                missing[key] = query
    if missing:
        queries = list(missing.values())
        number = format_count(len(queries), "query has", "queries have")
        text = write(f"{number} no baseline, neither on {base_branch.name} nor in this change: ")
        text += _name_queries(queries)
        query_ids = [query.id for query in queries]
        yield _create_update_notice("missing-baseline", text, build, suites, query_ids)


def _create_update_notice(
    code: str, text: Text, build: BuildEvaluation, suites: Sequence[Suite], query_ids: Sequence[str]
) -> Notice:
    """Create a notice that an update of the baselines resolves."""
    outcome = Outcome.INCOMPLETE if build.is_strict else Outcome.PASSED
    step = write("To accept the current rankings, update the baseline and commit it")
    notice = Notice(code, text, outcome, query_ids=tuple(query_ids), next_step=step)
    return assign_suites(notice, suites)


def _create_slow_drop_notices(build: BuildEvaluation) -> Iterator[Notice]:
    """Create a notice for each suite that many builds made worse, each by too little to fail."""
    for evaluation in build.current.evaluations:
        suite = evaluation.suite
        values = build.facts.history.get(SuiteKey(suite.path, suite.retriever), ())
        values = values[-constants.SLOW_DROP_BUILDS :]
        value = evaluation.comparison.get_mean(suite.primary_metric)
        if value is None or len(values) < constants.MIN_SLOW_DROP_BUILDS:
            continue
        drop = values[0] - value
        # If most of the drop is new, this build caused it, and its checks report it.
        if drop > constants.MIN_SLOW_DROP and values[0] - values[-1] >= drop / 2:
            change = f"−{drop:.3f} over {len(values)} builds"
            text = write(f"{suite.primary_metric} is dropping slowly ({change})")
            yield assign_suites(Notice("slow-drop", text), [suite])


def _name_queries(queries: Iterable[Query]) -> Text:
    return list_some([query.part for query in queries])
