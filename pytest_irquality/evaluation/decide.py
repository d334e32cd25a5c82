"""The decision on a build, over all suites and on both sides of a change.

If the evaluation against the current branch fails, the build fails. If only the evaluation against
the base branch fails, a person has to look. Notices about the build as a unit are created here,
those about a single suite in ``notices``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import cached_property

from pytest_irquality.baselines.sources import Baseline
from pytest_irquality.evaluation import constants
from pytest_irquality.evaluation.comparison import Comparison, QueryStatus, compare_runs
from pytest_irquality.evaluation.edits import (
    BASELINE_EDITED,
    SuiteEdit,
    find_edits,
    summarize_edits,
)
from pytest_irquality.evaluation.evaluate import (
    Branch,
    BranchEvaluation,
    BranchEvaluator,
    BuildFacts,
    Evaluation,
    SuiteKey,
    collect_answers,
)
from pytest_irquality.evaluation.results import (
    CheckResult,
    DefaultCheck,
    Notice,
    Outcome,
    assign_suites,
    find_worst_outcome,
)
from pytest_irquality.io import dataclass, field, replace
from pytest_irquality.io.text import CodePart, DataPart, Text, format_count, list_some, write
from pytest_irquality.retrieval.run import Provenance, Run
from pytest_irquality.suite.model import Query, RetrieverId, RunKey, Suite, Threshold

_Request = tuple[RetrieverId, str]  # what answers are filed by


@dataclass(frozen=True)
class Coverage:
    """The number of queries by status. Every current query has exactly one status.

    A suite that runs on two retrievers counts twice.

    Attributes:
        compared: Current queries with an answer in both runs.
        new: Current queries without a baseline answer, or without one on the base branch.
        no_answer: Current queries whose call failed.
        not_run: Current queries that were not selected, were skipped or could not run.
        removed: Queries of the base branch that current suites no longer have.
        comparable: Current queries that were to be compared: they have a baseline answer and were
            not deselected on the command line.
        base_only: Queries that ran only for the base branch.
    """

    compared: int = 0
    new: int = 0
    no_answer: int = 0
    not_run: int = 0
    removed: int = 0
    comparable: int = 0
    base_only: int = 0

    @property
    def total(self) -> int:
        """Return the number of current queries."""
        return self.compared + self.new + self.no_answer + self.not_run

    @property
    def has_large_gap(self) -> bool:
        """Return whether fewer than four in five of the comparable queries were compared."""
        return 5 * self.compared < constants.MIN_COMPARED_PER_5 * self.comparable

    def describe(self) -> Text:
        """Describe the coverage in one line that adds up, such as ``19 compared, 1 removed``."""
        counts = [
            (self.compared, "compared"),
            (self.new, "new"),
            (self.no_answer, "no answer"),
            (self.not_run, "not run"),
        ]
        parts = [f"{count:,} {name}" for count, name in counts if count]
        text = format_count(self.total, "query", "queries")
        if parts:
            text += f": {', '.join(parts)}"
        if self.removed:
            text += f" (and {self.removed:,} removed)"
        return write(text)


@dataclass(frozen=True)
class Decision:
    """The decision on a build.

    Attributes:
        current: The evaluation against the suites of the change.
        base: The evaluation against the suites of the base branch, if there is one.
        notices: Notices about the build rather than a single suite, most severe first.
        coverage: The number of queries by status.
        base_failures: The results of checks of the base branch that fail, while the current branch
            has no such failure. They lead a report for ``REVIEW``.
        edits: What the change edits in suites.
        strict: Whether a build exits with 0 only if it passes.
        gate_source: Where the gate comes from, if not from the current branch alone.
        facts: What the plugin knows about the build.
    """

    current: BranchEvaluation
    base: BranchEvaluation | None = None
    notices: tuple[Notice, ...] = ()
    coverage: Coverage = field(default=Coverage())
    base_failures: tuple[CheckResult, ...] = ()
    edits: tuple[SuiteEdit, ...] = ()
    strict: bool = False
    gate_source: Text = field(default=Text())
    facts: BuildFacts = field(default=BuildFacts(), repr=False)

    @property
    def sides(self) -> list[BranchEvaluation]:
        """Return the evaluations against the current and, if there is one, the base branch."""
        return [self.current] if self.base is None else [self.current, self.base]

    @property
    def base_name(self) -> str:
        """Return the name of the base branch, or nothing without one."""
        return self.base.branch.name if self.base else ""

    @cached_property
    def outcome(self) -> Outcome:
        """Return the worst outcome of the current suites and of the build's notices."""
        return find_worst_outcome(self.current.results, [*self.current.notices, *self.notices])

    @property
    def exit_status(self) -> int:
        """Return 0, 1 or 2.

        Nobody reads the report of a strict build, so it has to pass. A build that compared too few
        of its queries says too little to exit with 0, also if it is for review for another reason.
        """
        if self.outcome is Outcome.ERROR:
            return 2
        if self.facts.is_update:
            return int(self.outcome is Outcome.FAILED)
        if self.strict or self.coverage.has_large_gap:
            return int(self.outcome > Outcome.PASSED)
        return int(self.outcome > Outcome.REVIEW)


def decide(
    current: Branch,
    runs: Mapping[RunKey, Run],
    base: Branch | None = None,
    *,
    strict_override: bool | None = None,
    today: date | None = None,
    facts: BuildFacts | None = None,
    evaluations: Mapping[SuiteKey, Evaluation] | None = None,
) -> Decision:
    """Decide on a build.

    Args:
        current: The suites and baselines of the change.
        runs: The current answers, to the queries of both branches.
        base: The suites and baselines of the base branch, or ``None`` to compare with the
            committed baselines only.
        strict_override: Whether the gate on the command line is strict, which counts over both
            branches. ``None`` for the stricter gate of the branches' own configuration.
        today: The date in UTC, or ``None`` if no known issue is to expire.
        facts: What the plugin knows about the build.
        evaluations: Current suites that a ``BranchEvaluator`` with the same branches, date and
            facts has evaluated already.

    Returns:
        The decision, with everything that reports show.
    """
    facts = facts or BuildFacts()
    if base is not None and not base.name:
        base = replace(base, name="the base branch")
    evaluator = BranchEvaluator(current, runs, base, today=today, facts=facts)
    current_side = evaluator.evaluate_branch(evaluations)
    base_side = None
    is_base_strict = base is not None and base.is_strict
    base_failures: tuple[CheckResult, ...] = ()
    edits: tuple[SuiteEdit, ...] = ()
    if base is not None:
        base_side = BranchEvaluator(base, runs, is_base_side=True, today=today).evaluate_branch()
        base_failures = _find_base_failures(base_side, current_side)
        edits = find_edits(current, base)
    # Notices are about all the rest of a decision, so they come last.
    without_notices = Decision(
        current_side,
        base_side,
        coverage=count_coverage(current_side, base_side),
        base_failures=base_failures,
        edits=edits,
        strict=is_gate_strict(strict_override, current.is_strict, is_base_strict),
        gate_source=_describe_gate(current, base, strict_override),
        facts=facts,
    )
    return replace(without_notices, notices=_create_notices(without_notices))


def _create_notices(decision: Decision) -> tuple[Notice, ...]:
    """Create all notices about a build from a decision that has none yet.

    The most severe are first, and causes before others of their severity.
    """
    creators = (
        _create_base_failure_notices,
        _create_branch_notices,
        _create_lost_parameter_notices,
        _create_unanswered_base_notices,
        _create_unmade_check_notices,
        _create_edit_notices,
        _create_equal_sides_notice,
        _create_session_notices,
        _create_slow_loss_notices,
    )
    notices: list[Notice] = []
    for create in creators:
        notices += create(decision)
    current = decision.current
    outcome = find_worst_outcome(current.results, [*current.notices, *notices])
    # A failure or a review must be looked into first, and updating the baseline would hide it.
    if outcome <= Outcome.INCOMPLETE and not decision.facts.is_update:
        notices += _create_stale_notice(decision)
        notices += _create_missing_baseline_notice(decision)
    notices.sort(key=lambda notice: (-notice.outcome, not notice.is_cause))
    return tuple(notices)


def is_gate_strict(strict_override: bool | None, *configured: bool) -> bool:
    """Return whether the gate is strict, by the command line or else by any branch."""
    return any(configured) if strict_override is None else strict_override


def _describe_gate(current: Branch, base: Branch | None, strict_override: bool | None) -> Text:
    """Say where the gate comes from, if not from the current branch alone."""
    if strict_override is not None:
        return write("'ir_gate' is set on the command line")
    if base is not None and base.is_strict and not current.is_strict:
        return write(DataPart(base.name), " has ", CodePart("ir_gate = strict"))
    return Text()


# -- Failures of the base branch -------------------------------------------------------------------


def _find_base_failures(
    base: BranchEvaluation, current: BranchEvaluation
) -> tuple[CheckResult, ...]:
    """Find the checks of the base branch that fail, unless the current branch fails them too."""
    current_outcomes: dict[object, Outcome] = {}
    for result in current.results:
        # The same finding in a renamed suite is the same failure under another name.
        finding = (result.check, str(result.text))
        for key in (_get_key(result), finding):
            current_outcomes[key] = max(result.outcome, current_outcomes.get(key, result.outcome))
    failures = []
    for result in base.results:
        keys = (_get_key(result), (result.check, str(result.text)))
        known = max(current_outcomes.get(key, Outcome.PASSED) for key in keys)
        if result.outcome >= Outcome.REVIEW and known < result.outcome:
            failures.append(result)
    return tuple(failures)


def _get_key(result: CheckResult) -> tuple[object, ...]:
    """Return what identifies a check on both branches, whatever its bounds are."""
    check: object = result.check
    if not isinstance(check, DefaultCheck):
        check = (type(check), result.label)
    suite = result.suite_path or result.subject
    return (check, suite, result.retriever, result.tag, result.item)


def _create_base_failure_notices(decision: Decision) -> Iterator[Notice]:
    for result in decision.base_failures:
        verb = "needs a review" if result.outcome is Outcome.REVIEW else "fails"
        text = write(f"{verb} for {decision.base_name}. ", result.text)
        path = result.suite_path
        touching = [each for each in decision.edits if each.path and path in ("", each.path)]
        if count := sum(edit.counts.get(BASELINE_EDITED, 0) for edit in touching):
            text += f". This change commits {format_count(count, 'answer')} as the new baseline"
        yield Notice(
            "base-fails",
            text,
            Outcome.REVIEW,
            subject=result.subject,
            query_ids=result.query_ids,
            doc_ids=result.doc_ids,
            suite_path=result.suite_path,
            retriever=result.retriever,
            is_cause=True,
        )


# -- What could not be used, run or compared -------------------------------------------------------


def _create_branch_notices(decision: Decision) -> Iterator[Notice]:
    """Create notices about files and retrievers of a branch that cannot be used."""
    for side in decision.sides:
        is_base = side is decision.base
        worst = Outcome.REVIEW if is_base else Outcome.ERROR
        for path, error in side.branch.errors.items():
            where = f" on {decision.base_name}" if is_base else ""
            first, *others = str(error).splitlines()
            text = write(f"cannot be used{where}. ", DataPart(first))
            text += f" and {len(others)} more" if others else ""
            yield Notice("cannot-be-used", text, worst, subject=path, suite_path=path)
        for suite in side.missing:
            where = f" for {decision.base_name}" if is_base else ""
            name = DataPart(f"'{suite.retriever}'")
            text = write(f"did not run{where}, because the retriever ", name, " is not available")
            reason = side.branch.missing_retrievers.get(suite.run_key)
            if reason:
                text += write(" (", reason, ")")
            outcome = worst if reason or is_base else Outcome.INCOMPLETE
            yield assign_suites(Notice("suite-not-run", text, outcome, is_cause=True), [suite])
        for note in side.branch.notes:
            yield Notice("note", note)


def _create_lost_parameter_notices(decision: Decision) -> Iterator[Notice]:
    """Name retrievers with a baseline on the base branch whose parameter the fixture lost.

    The fixture of the current code says with which parameters the suites of both branches run.
    """
    if decision.base is None:
        return
    base = decision.base.branch
    retrievers = {suite.retriever for suite in base.suites if suite.retriever.parameter}
    lost: dict[tuple[str, RetrieverId], Baseline] = {}
    for baseline in base.baselines:
        parameter = baseline.retriever.parameter
        siblings = {retriever._replace(parameter=parameter) for retriever in retrievers}
        if parameter and baseline.retriever in siblings - retrievers:
            lost[baseline.suite_path, baseline.retriever] = baseline
    for (suite_path, retriever), baseline in lost.items():
        number = format_count(len(baseline.run.answers), "query", "queries")
        text = write("did not run for ", DataPart(str(retriever)), f" of {base.name}, because its")
        text += f" fixture no longer has the parameter ({number} not compared)"
        step = write("Restore the parameter, or delete its baseline ", CodePart(baseline.path))
        notice = Notice("parameter-lost", text, Outcome.REVIEW, is_cause=True, next_step=step)
        yield assign_suites(notice, [suite for suite in base.suites if suite.path == suite_path])


def _create_unanswered_base_notices(decision: Decision) -> Iterator[Notice]:
    """Name queries of the base branch that one side did not answer.

    Queries without a current answer that the current branch has too are counted there. Under
    ``run:``, a query that the base's code never ran would look like a new one.
    """
    if decision.base is None:
        return
    branch = decision.base.branch
    current_requests = _list_requests(decision.current.branch.suites)
    for evaluation in decision.base.evaluations:
        suite = evaluation.suite
        ran_on_base = _list_requests_that_ran(suite, branch)
        excused = branch.get_context(suite).deselected_query_ids
        queries = []
        for query in suite.queries:
            is_known = query.request in evaluation.run.answers
            is_known |= (suite.retriever, query.request) in current_requests
            if query.id not in excused and not (is_known and query.request in ran_on_base):
                queries.append(query)
        if queries:
            number = format_count(len(queries), "query", "queries")
            text = write(f"{number} of {branch.name} could not be evaluated: ")
            text += _name_queries(queries)
            outcome = Outcome.INCOMPLETE if decision.facts.is_interrupted else Outcome.REVIEW
            query_ids = tuple(query.id for query in queries)
            notice = Notice("base-not-answered", text, outcome, query_ids=query_ids)
            yield assign_suites(notice, [suite])


def _create_unmade_check_notices(decision: Decision) -> Iterator[Notice]:
    """Name thresholds of the base branch that can no longer be checked.

    A change can remove the stage that a threshold is about, or the retriever that it compares with.
    """
    if decision.base is None:
        return
    results = decision.current.results
    incomplete = {_get_key(each) for each in results if each.outcome >= Outcome.INCOMPLETE}
    for evaluation in decision.base.evaluations:
        suite = evaluation.suite
        lacks_retriever = bool(suite.baseline_retriever) and evaluation.baseline_run is None
        labels: dict[str, None] = {}
        for result in evaluation.results:
            if not isinstance(result.check, Threshold) or result.outcome is not Outcome.INCOMPLETE:
                continue
            metric = result.check.metric
            stage = evaluation.comparison.get_stage(metric)
            lacks_stage = bool(metric.stage) and not stage.answers
            if (lacks_stage or lacks_retriever) and _get_key(result) not in incomplete:
                labels[result.label] = None
        if labels and not decision.base.branch.get_context(suite).deselected_query_ids:
            names = list_some([DataPart(label) for label in labels])
            missing = "the retriever that it compares with" if lacks_retriever else "the stage"
            text = write(names, f" can no longer be checked for {decision.base_name}, because ")
            text += f"{missing} is gone"
            notice = Notice("base-check-not-made", text, Outcome.REVIEW, is_cause=True)
            yield assign_suites(notice, [suite])


def _name_queries(queries: Iterable[Query]) -> Text:
    return list_some([query.part for query in queries])


def _list_requests_that_ran(suite: Suite, base: Branch) -> set[str]:
    """Return the requests that the base's code ran, or all if committed files answer for it."""
    requests: set[str] = set()
    if base.committed is None or not suite.has_stored_baseline:
        requests.update(query.request for query in suite.queries)
    for baseline in base.baselines:
        if baseline.retriever[:2] == suite.retriever[:2]:  # whatever its parameter
            requests.update(baseline.run.answers, baseline.run.errors)
    return requests


def _create_session_notices(decision: Decision) -> Iterator[Notice]:
    """Create notices about what the session left out."""
    facts, coverage, current = decision.facts, decision.coverage, decision.current
    evaluations = [evaluation for side in decision.sides for evaluation in side.evaluations]
    # What the command line leaves out is not held against a run.
    is_deselected = any(map(current.branch.is_deselected, current.branch.suites))
    selection = CodePart(facts.addopts_selection)
    if not evaluations and not is_deselected and facts.addopts_selection:
        text = write("'addopts' has ", selection, ", which leaves nothing to evaluate")
        yield Notice("nothing-selected", text, Outcome.ERROR, is_cause=True)
    elif not evaluations and not is_deselected:
        yield Notice(
            "nothing-evaluated", write("No suite was evaluated"), Outcome.INCOMPLETE, is_cause=True
        )
    elif facts.addopts_deselected_count:
        number = format_count(facts.addopts_deselected_count, "check")
        text = write(f"{number} did not run because of ", selection, " in 'addopts'")
        step = write("Remove the selection from 'addopts', or pass it on the command line")
        yield Notice(
            "deselected-in-addopts", text, Outcome.INCOMPLETE, is_cause=True, next_step=step
        )

    provenances = [evaluation.run.provenance for evaluation in evaluations]
    other_commits = _list_other_commits(provenances, current.branch.commit)
    if facts.addopts_saved_runs:
        option = CodePart(f"--ir-runs={facts.addopts_saved_runs}")
        text = write("The current code did not run: 'addopts' has ", option)
        commits = sorted({each.commit[:7] for each in provenances if each.commit})
        if commits:
            text += f", and the answers are from commit {', '.join(commits)}"
        yield Notice("saved-runs-in-addopts", text, Outcome.INCOMPLETE, is_cause=True)
    elif other_commits:
        # Nobody may read the report of a strict build, which could pass with an old run forever.
        text = write(f"The answers are from commit {other_commits}, not from the current code")
        outcome = Outcome.INCOMPLETE if decision.strict else Outcome.PASSED
        yield Notice("saved-runs-of-another-commit", text, outcome, is_cause=True)
    if facts.is_interrupted or any(each.is_interrupted for each in provenances):
        text = write("The session was interrupted before all queries ran")
        yield Notice("interrupted", text, Outcome.INCOMPLETE, is_cause=True)
    if coverage.has_large_gap:
        number = format_count(coverage.comparable, "query", "queries")
        text = write(f"Only {coverage.compared} of {number} were compared")
        yield Notice("large-gap", text, Outcome.INCOMPLETE, is_cause=True)


def _list_other_commits(provenances: Iterable[Provenance], commit: str) -> str:
    """Return the commits of answers other than the current one, or an empty text."""
    commits = {provenance.commit for provenance in provenances}
    others = commits - {"", commit} if commit else set()
    return ", ".join(sorted(other[:7] for other in others))


# -- What the change edits -------------------------------------------------------------------------


def _create_edit_notices(decision: Decision) -> Iterator[Notice]:
    """Create one notice for all edits, and one for each suite of which nothing is left."""
    for edit in decision.edits:
        if edit.is_nothing_left:
            text = write(f"this change removes all queries the suite has on {decision.base_name}")
            yield Notice(
                "nothing-left",
                text,
                Outcome.REVIEW,
                edit.subject,
                suite_path=edit.path,
                is_cause=True,
            )
    named = [edit for edit in decision.edits if edit.texts]
    if named:
        subject = ", ".join(dict.fromkeys(edit.subject for edit in named))
        text = write("this change edits suites (", summarize_edits(named), ")")
        path = named[0].path if len(named) == 1 else ""
        yield Notice("suites-edited", text, subject=subject, suite_path=path)


def _create_equal_sides_notice(decision: Decision) -> Iterator[Notice]:
    """Ask whether both sides of ``run:`` search one index, if code changed and no ranking did."""
    base = decision.base and decision.base.branch
    if not base or base.committed is None or not decision.facts.has_code_changes:
        return
    ranking_count = 0
    for evaluation in decision.current.evaluations:
        # An answer that the change commits is not an answer of the other side.
        base_run = collect_answers(evaluation.suite, base.baselines)
        for request, answer in base_run.answers.items():
            now = evaluation.run.answers.get(request, ())
            if [ranking.doc_ids for ranking in now] != [ranking.doc_ids for ranking in answer]:
                return
            ranking_count += 1
    if ranking_count:
        text = write(f"Code changed, but all {ranking_count} rankings match {base.name}. ")
        text += "Do both branches search the same index?"
        yield Notice("equal-sides", text, is_cause=True)


# -- Baselines and history -------------------------------------------------------------------------


def _create_stale_notice(decision: Decision) -> Iterator[Notice]:
    """Say that current rankings differ from the committed baseline."""
    suites = []
    query_ids = []
    for evaluation in decision.current.evaluations:
        suite = evaluation.suite
        if not suite.baseline_retriever:
            comparison = _compare_with_committed(evaluation, decision.current.branch)
            for change in comparison.list_outdated(suite.primary_metric):
                suites.append(suite)
                query_ids.append(change.query.id)
    if query_ids:
        number = format_count(len(query_ids), "ranking differs", "rankings differ")
        text = write(f"baseline out of date: {number}")
        yield _create_update_notice("stale-baseline", text, decision, suites, query_ids)


def _compare_with_committed(evaluation: Evaluation, branch: Branch) -> Comparison:
    committed_run = collect_answers(evaluation.suite, branch.committed_files)
    baseline_run = evaluation.baseline_run
    if baseline_run is not None and baseline_run.answers == committed_run.answers:
        return evaluation.comparison
    return compare_runs(evaluation.suite, evaluation.run, committed_run)


def _create_missing_baseline_notice(decision: Decision) -> Iterator[Notice]:
    """Name the requests of the base branch that never got a baseline, and get none now."""
    if decision.base is None:
        return
    current, base = decision.current.branch, decision.base.branch
    base_requests = _list_requests(suite for suite in base.suites if suite.has_stored_baseline)
    suites = []
    missing: dict[tuple[object, str], Query] = {}
    for suite in current.suites:
        answers = collect_answers(suite, base.baselines).answers
        committed = collect_answers(suite, current.committed_files).answers
        for query in suite.queries:
            key = (suite.retriever, query.request)
            is_answered = query.request in answers or query.request in committed
            if key in base_requests and not is_answered:
                suites.append(suite)
                missing[key] = query
    if missing:
        queries = list(missing.values())
        number = format_count(len(queries), "query has", "queries have")
        text = write(f"{number} no baseline, neither on {base.name} nor in this change: ")
        text += _name_queries(queries)
        query_ids = [query.id for query in queries]
        yield _create_update_notice("missing-baseline", text, decision, suites, query_ids)


def _create_update_notice(
    code: str, text: Text, decision: Decision, suites: Sequence[Suite], query_ids: Sequence[str]
) -> Notice:
    """Create a notice that an update of the baselines resolves."""
    outcome = Outcome.INCOMPLETE if decision.strict else Outcome.PASSED
    step = write("Run ", CodePart(decision.facts.update_command), " and commit the files")
    notice = Notice(code, text, outcome, query_ids=tuple(query_ids), next_step=step)
    return assign_suites(notice, suites)


def _create_slow_loss_notices(decision: Decision) -> Iterator[Notice]:
    """Create a notice for each metric that many builds lowered, each by too little to fail."""
    for evaluation in decision.current.evaluations:
        suite = evaluation.suite
        values = decision.facts.history.get(SuiteKey(suite.path, suite.retriever), ())
        values = values[-constants.SLOW_LOSS_BUILDS :]
        value = evaluation.comparison.get_mean(suite.primary_metric)
        if value is None or len(values) < constants.MIN_SLOW_LOSS_BUILDS:
            continue
        loss = values[0] - value
        # A loss that this build causes is reported as such.
        if loss > constants.MIN_SLOW_LOSS and values[0] - values[-1] >= loss / 2:
            change = f"−{loss:.3f} over {len(values)} builds"
            text = write(f"{suite.primary_metric} is dropping slowly ({change})")
            yield assign_suites(Notice("slow-loss", text), [suite])


# -- Coverage --------------------------------------------------------------------------------------


def count_coverage(current: BranchEvaluation, base: BranchEvaluation | None = None) -> Coverage:
    """Count the queries of a build by status.

    Args:
        current: The evaluation against the current branch.
        base: The evaluation against the base branch, if there is one.
    """
    statuses: Counter[QueryStatus] = Counter()
    for evaluation in current.evaluations:
        statuses.update(evaluation.comparison.statuses.values())
    compared, new = statuses[QueryStatus.COMPARED], statuses[QueryStatus.NEW]
    no_answer = statuses[QueryStatus.NO_ANSWER]
    # Suites that were not evaluated count as well.
    total = sum(len(suite.queries) for suite in current.branch.suites)

    current_requests = _list_requests(current.branch.suites)
    removed: set[_Request] = set()
    base_only: set[_Request] = set()
    if base is not None:
        texts = {request for _, request in current_requests}
        base_suites = [each for each in base.branch.suites if not base.branch.is_deselected(each)]
        # A query that only moved to another suite or retriever is not removed.
        removed.update(key for key in _list_requests(base_suites) if key[1] not in texts)
        for evaluation in base.evaluations:
            only_base = _list_requests([evaluation.suite]) - current_requests
            base_only.update(key for key in only_base if key[1] in evaluation.run.answers)
    return Coverage(
        compared=compared,
        new=new,
        no_answer=no_answer,
        not_run=total - compared - new - no_answer,
        removed=len(removed),
        comparable=current.comparable_count,
        base_only=len(base_only),
    )


def _list_requests(suites: Iterable[Suite]) -> set[_Request]:
    requests: set[_Request] = set()
    for suite in suites:
        requests.update((suite.retriever, query.request) for query in suite.queries)
    return requests
