"""Evaluation of a suite, and of all suites of a branch.

A change can edit the search, the suites and the baselines at once, so the current suites alone
cannot judge it. The current answers are therefore evaluated twice, by the same functions: against
the suites and baselines of the change, and against those of the base branch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from pytest_irquality.baselines.sources import Baseline
from pytest_irquality.evaluation.comparison import Comparison, compare_runs
from pytest_irquality.evaluation.default_checks import check_build_defaults, check_suite_defaults
from pytest_irquality.evaluation.notices import SuiteFacts, create_notices
from pytest_irquality.evaluation.requirement_checks import RequirementChecks
from pytest_irquality.evaluation.results import (
    CheckResult,
    DefaultCheck,
    EvaluationContext,
    Notice,
    Outcome,
    assign_suites,
    find_worst_outcome,
)
from pytest_irquality.io import dataclass, field, replace
from pytest_irquality.io.decoding import pause_garbage_collection
from pytest_irquality.io.text import Text
from pytest_irquality.metrics import Judgments
from pytest_irquality.retrieval.run import Ranking, Run, merge_runs
from pytest_irquality.suite.model import RetrieverId, RunKey, Suite, Threshold
from pytest_irquality.suite.rules import Rule

# -- A suite ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Evaluation:
    """A suite and everything that is known about its answers.

    Attributes:
        results: The results of all checks of the suite. The default checks that several suites
            share are not among them.
        notices: The observations, causes of the outcome first.
    """

    suite: Suite
    run: Run = field(repr=False)
    comparison: Comparison = field(repr=False)
    results: tuple[CheckResult, ...]
    notices: tuple[Notice, ...]
    baseline_run: Run | None = field(default=None, repr=False)

    @property
    def outcome(self) -> Outcome:
        """Return the worst outcome of all results and notices."""
        return find_worst_outcome(self.results, self.notices)


def evaluate(
    suite: Suite,
    run: Run,
    baseline_run: Run | None = None,
    *,
    context: EvaluationContext | None = None,
) -> Evaluation:
    """Evaluate the answers of a retriever to the queries of a suite.

    Args:
        suite: The queries and the requirements on their answers.
        run: The current answers.
        baseline_run: The answers to compare with, if there are any.
        context: What else is known about the build.

    Returns:
        The evaluation. It lacks the default checks that all suites of a build share.
    """
    context = context or EvaluationContext()
    # What is created here stays, so the collector would look for garbage in vain.
    with pause_garbage_collection():
        comparison = compare_runs(
            suite, run, baseline_run, is_new=context.is_new, corpus_texts=context.corpus_texts
        )
        results = check_suite(comparison, context)
        labels = _list_checks_failed_by_unjudged(comparison, results, context)
        facts = SuiteFacts(comparison, results, context, labels)
        notices = create_notices(facts)
    return Evaluation(suite, run, comparison, results, notices, baseline_run)


def check_suite(comparison: Comparison, context: EvaluationContext) -> tuple[CheckResult, ...]:
    """Evaluate the checks of a suite whose items are selected."""
    requirements = RequirementChecks(comparison, context)
    defaults = check_suite_defaults(comparison, context.date_for_expiry)
    results = []
    for result in (*requirements.check_all(), *defaults):
        if context.selected_items is None or result.item in context.selected_items:
            results.append(assign_suites(result, [comparison.suite]))
    return tuple(results)


def _list_checks_failed_by_unjudged(
    comparison: Comparison, results: Sequence[CheckResult], context: EvaluationContext
) -> list[str]:
    """Return the labels of failed checks that would hold if unjudged documents were ignored."""
    failed = []
    for result in results:
        # No grade can repair a rule that forbids results or checks their fields.
        wants_documents = not isinstance(result.check, Rule) or result.check.wanted_doc_ids
        if result.outcome is Outcome.FAILED and wants_documents:
            failed.append(result)
    # With `match: text`, judgments are about passages, so no document is unjudged.
    if not failed or comparison.suite.settings.match == "text":
        return []
    run = _remove_unjudged(comparison)
    other = compare_runs(comparison.suite, run, comparison.baseline_run, is_new=comparison.is_new)
    holding = set()
    for result in check_suite(other, context):
        if result.outcome < Outcome.REVIEW:
            # A check that names other queries without these documents is broken in another way.
            holding.add((result.item, result.label, result.query_ids))
    return [each.label for each in failed if (each.item, each.label, each.query_ids) in holding]


def _remove_unjudged(comparison: Comparison) -> Run:
    """Return the current run without the unjudged documents that the baseline does not have."""
    answers = dict(comparison.run.answers)
    for query in comparison.answered_queries:
        change = comparison.changes_by_id.get(query.id)
        if not query.judgments.grades or (change and change.is_unchanged):
            continue
        expected = {*query.judgments.grades, *(change.doc_ids_before if change else ())}
        rankings = []
        for ranking in answers[query.request]:
            doc_ids = tuple(doc_id for doc_id in ranking.doc_ids if doc_id in expected)
            rankings.append(Ranking(doc_ids, seconds=ranking.seconds))
        answers[query.request] = tuple(rankings)
    return replace(comparison.run, answers=answers)


# -- The branches of a build -----------------------------------------------------------------------


class SuiteKey(NamedTuple):
    """What identifies a suite on a branch: its file and the retriever that it runs on."""

    path: str
    retriever: RetrieverId = RetrieverId()


class AnswerKey(NamedTuple):
    """What identifies an answer on a branch: its retriever and its request."""

    retriever: RetrieverId
    request: str


def list_answer_keys(suites: Iterable[Suite]) -> set[AnswerKey]:
    """Return the keys of the answers that suites need."""
    return {
        AnswerKey(suite.retriever, query.request) for suite in suites for query in suite.queries
    }


@dataclass(frozen=True)
class BuildFacts:
    """What the plugin knows about a build that suites, runs and baselines do not say.

    Attributes:
        addopts_selection: The options in ``addopts`` that select tests, such as ``-m smoke`` or
            ``--collect-only``, or empty.
        addopts_deselected_count: The number of checks that only these options deselect.
        addopts_saved_runs: The value of ``--ir-runs``, if only ``addopts`` has the option.
        is_interrupted: Whether Ctrl-C, ``--maxfail`` or ``-x`` ended the session early.
        has_code_changes: Whether files other than suites and baselines differ between the two
            commits of ``run:``.
        history: Earlier values of a suite's primary metric, oldest first.
        is_update: Whether this run updates the baselines. Changes only warn then, and neither the
            gate nor a small coverage affects the exit status.
    """

    addopts_selection: str = ""
    addopts_deselected_count: int = 0
    addopts_saved_runs: str = ""
    is_interrupted: bool = False
    has_code_changes: bool = False
    history: Mapping[SuiteKey, Sequence[float]] = field(default_factory=dict, repr=False)
    is_update: bool = False


class BaselineIndex:
    """All baselines of a branch, by retriever and suite.

    All baseline files of a branch are one baseline, so suites can be renamed, split and merged. If
    a request has two answers, the one in the suite's own file is used. If it has none, the suite's
    own file also counts if the conftest of the fixture was in another folder.

    Attributes:
        retrievers: The retrievers that have a baseline, in the order of their first one, each with
            its baselines.
    """

    def __init__(self, baselines: Iterable[Baseline]) -> None:
        self.retrievers: dict[RetrieverId, list[Baseline]] = {}
        self._own: dict[SuiteKey, list[Baseline]] = {}
        for baseline in baselines:
            self.retrievers.setdefault(baseline.retriever, []).append(baseline)
            key = SuiteKey(baseline.suite_path, baseline.retriever._replace(folder=""))
            self._own.setdefault(key, []).append(baseline)
        for group in (*self.retrievers.values(), *self._own.values()):
            group.sort(key=attrgetter("path"))

    def collect_answers(self, suite: Suite, retriever: RetrieverId | None = None) -> Run:
        """Collect the answers to a suite's queries from all baselines of a retriever.

        Args:
            suite: The suite.
            retriever: The retriever that the answers are filed under, if not the suite's.
        """
        retriever = retriever or suite.retriever
        own = self._own.get(SuiteKey(suite.path, retriever._replace(folder="")), ())
        own_first = [baseline for baseline in own if baseline.retriever == retriever]
        missing = dict.fromkeys(query.request for query in suite.queries)
        runs = []
        # The suite's own baselines come again, but then they have no answer that is missing.
        for baseline in chain(own_first, self.retrievers.get(retriever, ()), own):
            if not missing:
                break
            answers = baseline.run.answers
            selected = {request: answers[request] for request in missing if request in answers}
            if selected:
                runs.append(replace(baseline.run, answers=selected))
                missing = dict.fromkeys(request for request in missing if request not in selected)
        return merge_runs(runs)


@dataclass(frozen=True)
class Branch:
    """The suites and baselines of the current branch or of the base branch.

    Attributes:
        name: The user's name for the base branch, such as ``main``. Empty for the current branch.
        commit: The hash of its commit, if known. For the base branch, that is the merge base.
        suites: One suite for each suite file and retriever, so a suite whose fixture has two
            parameters is here twice. Suites that the command line leaves out can be missing or have
            a context that says so.
        baselines: The answers of the branch: its committed files or, for the base branch of
            ``run:``, what its code returns.
        committed: The committed baseline files, if ``baselines`` are something else: the answers of
            the code, or saved runs (then it is empty). ``None`` if they are the same.
        contexts: What suites are evaluated with besides their answers: selections, the texts of the
            corpus. ``BranchEvaluator`` adds the facts that are the same for all suites.
        errors: Why suites and baselines cannot be used, by the path of the file. An error of the
            current branch gives ``ERROR``, an error of the base branch ``REVIEW``.
        missing_retrievers: Why retrievers are not available, by the key of their run. A retriever
            without a run and a reason, such as a skipped fixture, only makes a build incomplete.
        notes: Remarks from reading suites and baselines, such as a data file that git does not
            track and that was read from the working tree.
        texts: The texts of suite files and of the files that they read, by path, for the diff.
        is_strict: Whether the configuration of this branch says ``ir_gate = strict`` at the path of
            any of its suites.
    """

    name: str = ""
    commit: str = ""
    suites: tuple[Suite, ...] = ()
    baselines: tuple[Baseline, ...] = field(default=(), repr=False)
    committed: tuple[Baseline, ...] | None = field(default=None, repr=False)
    contexts: Mapping[SuiteKey, EvaluationContext] = field(default_factory=dict, repr=False)
    errors: Mapping[str, Text | str] = field(default_factory=dict)
    missing_retrievers: Mapping[RunKey, Text | str] = field(default_factory=dict)
    notes: tuple[Text, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    is_strict: bool = False

    @cached_property
    def baseline_index(self) -> BaselineIndex:
        """Return the baselines, as suites look for their answers."""
        return BaselineIndex(self.baselines)

    @cached_property
    def committed_index(self) -> BaselineIndex:
        """Return the baselines that the branch has committed."""
        return self.baseline_index if self.committed is None else BaselineIndex(self.committed)

    @cached_property
    def judgments_by_request(self) -> Mapping[str, Sequence[Judgments]]:
        """Return the judgments that all suites have for each request."""
        judgments: dict[str, list[Judgments]] = {}
        for suite in self.suites:
            for query in suite.queries:
                judgments.setdefault(query.request, []).append(query.judgments)
        return judgments

    def get_context(self, suite: Suite) -> EvaluationContext:
        """Return what a suite is evaluated with besides its answers."""
        return self.contexts.get(SuiteKey(suite.path, suite.retriever), EvaluationContext())

    def is_deselected(self, suite: Suite) -> bool:
        """Return whether the command line leaves out all queries of a suite."""
        deselected = self.get_context(suite).deselected_query_ids
        return bool(deselected) and all(query.id in deselected for query in suite.queries)


@dataclass(frozen=True)
class BranchEvaluation:
    """The current answers, evaluated against the suites and baselines of a branch.

    Attributes:
        branch: The branch.
        evaluations: One for each suite whose retriever ran, in the order of ``branch.suites``.
        shared_results: The default checks that several suites share, passed ones included. There
            are none if only some checks of a suite were selected.
        suites_without_run: The suites that were not evaluated, because their retriever did not run.
        comparable_count: The number of queries that were to be compared: they have a baseline
            answer and were not deselected on the command line.
    """

    branch: Branch
    evaluations: tuple[Evaluation, ...] = ()
    shared_results: tuple[CheckResult, ...] = ()
    suites_without_run: tuple[Suite, ...] = ()
    comparable_count: int = 0

    @property
    def results(self) -> tuple[CheckResult, ...]:
        """Return the results of all checks, those that suites share first."""
        own_results = chain.from_iterable(each.results for each in self.evaluations)
        return (*self.shared_results, *own_results)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Return the notices of all suites."""
        return tuple(chain.from_iterable(each.notices for each in self.evaluations))


@dataclass(frozen=True)
class BranchEvaluator:
    """Evaluates the current answers against the suites and baselines of a branch.

    Attributes:
        branch: The suites and baselines to evaluate against.
        runs: The current answers, to the queries of both branches.
        base: The base branch, if ``branch`` is the current one and there is a base branch. It
            defines which queries are new.
        is_base_branch: Whether ``branch`` is the base branch.
        today: The date in UTC, or ``None`` if no known issue is to expire.
        facts: What the plugin knows about the build.
    """

    branch: Branch
    runs: Mapping[RunKey, Run]
    base: Branch | None = None
    is_base_branch: bool = False
    today: date | None = None
    facts: BuildFacts = field(default=BuildFacts())

    def evaluate_branch(
        self, known_evaluations: Mapping[SuiteKey, Evaluation] | None = None
    ) -> BranchEvaluation:
        """Evaluate all suites, and the checks that they share.

        Args:
            known_evaluations: Suites that ``evaluate_suite`` has evaluated already.
        """
        known_evaluations = known_evaluations or {}
        evaluations = []
        not_run = []
        comparable_count = 0
        suites = [each for each in self.branch.suites if not self.branch.is_deselected(each)]
        for suite in suites:
            for paired_suite, baseline_id in self._pair_retrievers(suite):
                baseline = self._find_baseline(paired_suite, baseline_id)
                if not baseline.is_new:
                    comparable_count += self._count_comparable(suite, baseline.run)
                key = SuiteKey(suite.path, paired_suite.retriever)
                if paired_suite.run_key not in self.runs:
                    not_run.append(paired_suite)
                elif key in known_evaluations:
                    evaluations.append(known_evaluations[key])
                else:
                    evaluations.append(self._evaluate_against(paired_suite, baseline))
        # Checks over suites and retrievers count as not run if only a part of a suite was selected.
        shared_results: tuple[CheckResult, ...] = ()
        if not any(map(self._is_partial, suites)):
            shared_results = self._check_shared(evaluations)
        return BranchEvaluation(
            self.branch, tuple(evaluations), shared_results, tuple(not_run), comparable_count
        )

    def evaluate_suite(self, suite: Suite, context: EvaluationContext | None = None) -> Evaluation:
        """Evaluate one suite, whose retriever has a run. Its context may replace the branch's."""
        return self._evaluate_against(suite, self._find_baseline(suite), context)

    def _check_shared(self, evaluations: Sequence[Evaluation]) -> tuple[CheckResult, ...]:
        base_paths = None if self.base is None else {suite.path for suite in self.base.suites}
        comparisons = [evaluation.comparison for evaluation in evaluations]
        today = self._add_build_facts(EvaluationContext()).date_for_expiry
        results = check_build_defaults(comparisons, base_paths, today=today)
        return tuple(map(_accept_change, results)) if self.facts.is_update else results

    def _add_build_facts(self, context: EvaluationContext) -> EvaluationContext:
        """Return a context with the facts that are the same for all suites of the branch."""
        return replace(
            context,
            today=self.today,
            is_update=self.facts.is_update,
            has_base_branch=self.is_base_branch or self.base is not None,
            is_base_branch=self.is_base_branch,
        )

    def _evaluate_against(
        self, suite: Suite, baseline: BaselineAnswers, context: EvaluationContext | None = None
    ) -> Evaluation:
        """Evaluate a suite against a baseline."""
        context = replace(
            self._add_build_facts(context or self.branch.get_context(suite)),
            is_new=baseline.is_new,
            regraded_query_ids=_find_regraded_ids(suite, self.base),
        )
        evaluation = evaluate(suite, self.runs[suite.run_key], baseline.run, context=context)
        if not self.facts.is_update:
            return evaluation
        return replace(evaluation, results=tuple(map(_accept_change, evaluation.results)))

    def _find_baseline(
        self, suite: Suite, baseline_id: RetrieverId | None = None
    ) -> BaselineAnswers:
        """Find the answers that a suite is compared with, of another retriever or of a branch."""
        if suite.baseline_retriever:
            return BaselineAnswers(_find_run_of_baseline_retriever(suite, self.runs))
        return find_baseline(suite, self.branch, self.base, baseline_id)

    def _count_comparable(self, suite: Suite, baseline_run: Run | None) -> int:
        """Count the queries that have a baseline answer and were not deselected."""
        deselected = self.branch.get_context(suite).deselected_query_ids
        answers = baseline_run.answers if baseline_run else {}
        return sum(q.request in answers and q.id not in deselected for q in suite.queries)

    def _is_partial(self, suite: Suite) -> bool:
        """Return whether only some checks of a suite are selected."""
        selected = self.branch.get_context(suite).selected_items
        return selected is not None and any(item.name not in selected for item in suite.items)

    def _pair_retrievers(self, suite: Suite) -> list[tuple[Suite, RetrieverId]]:
        """Pair the retrievers that run a suite with those that its baseline is filed under.

        These differ only for a base suite whose fixture has gained or lost its parameters. Say the
        base suite is written for ``search``:

        - The fixture is as before: ``search`` is paired with the baseline of ``search``.
        - It has the parameters ``bm25`` and ``dense`` now: ``search[bm25]`` and ``search[dense]``
          are each paired with the baseline of ``search``.
        - It has lost these parameters: ``search`` is paired with the baselines of both.
        - A conftest nearer to the suite has a ``search`` of its own now: that one is paired with
          the baselines in the suite's own files.
        """
        if not self.is_base_branch:
            return [(suite, suite.retriever)]
        key = suite.run_key
        available = [run_key.retriever for run_key in self.runs if _is_read_alike(run_key, key)]
        recorded = self.branch.baseline_index.retrievers
        pairs = []
        for run_id in _match_parameters(suite.retriever, available):
            wanted_id = suite.retriever if suite.retriever in recorded else run_id
            baseline_ids = _match_parameters(wanted_id, recorded)
            if recorded.keys().isdisjoint(baseline_ids):
                # A change can add a fixture of the same name in a conftest nearer to the suite.
                # What the suite is compared with must not depend on that.
                fixture = suite.retriever.fixture
                own = [each for each in self.branch.baselines if each.suite_path == suite.path]
                own_ids = [each.retriever for each in own if each.retriever.fixture == fixture]
                baseline_ids = list(dict.fromkeys(own_ids)) or baseline_ids
            for baseline_id in baseline_ids:
                pairs.append((replace(suite, retriever=run_id), baseline_id))
        return pairs


def _is_read_alike(key: RunKey, other: RunKey) -> bool:
    """Return whether the results of two retrievers are read in the same way."""
    return key._replace(retriever=other.retriever) == other


def _match_parameters(retriever: RetrieverId, others: Iterable[RetrieverId]) -> list[RetrieverId]:
    """Return the ids with the same fixture, unless both ids have a parameter."""
    matching = []
    for other in dict.fromkeys(others):
        if other == retriever:
            return [retriever]
        has_two_parameters = retriever.parameter and other.parameter
        if retriever.has_same_fixture(other) and not has_two_parameters:
            matching.append(other)
    return matching or [retriever]


def _find_regraded_ids(suite: Suite, base: Branch | None) -> frozenset[str]:
    """Find the queries whose judgments differ from all that the base branch has for them."""
    base_judgments = base.judgments_by_request if base else {}
    regraded = set()
    for query in suite.queries:
        judgments = base_judgments.get(query.request)
        if judgments and query.judgments not in judgments:
            regraded.add(query.id)
    return frozenset(regraded)


def _accept_change(result: CheckResult) -> CheckResult:
    """Turn a failed check of a change into a warning, because the update accepts the change."""
    check = result.check
    is_change = isinstance(check, DefaultCheck)
    if isinstance(check, Threshold):
        is_change = result.bound not in [bound.value for bound in (check.min, check.max) if bound]
    if result.outcome < Outcome.REVIEW or not is_change:
        return result
    return replace(result, outcome=Outcome.PASSED, is_warning=True)


# -- Baselines -------------------------------------------------------------------------------------


class BaselineAnswers(NamedTuple):
    """The answers that a suite is compared with.

    Attributes:
        run: The answers, or ``None`` if the retriever to compare with did not run.
        is_new: Whether the base branch has no answer to any query of the suite.
    """

    run: Run | None
    is_new: bool = False


def find_baseline(
    suite: Suite, branch: Branch, base: Branch | None, retriever: RetrieverId | None = None
) -> BaselineAnswers:
    """Find the answers that a suite is compared with.

    If there is a base branch, its answers count, and those that the change edits replace them. An
    answer that the change adds proves nothing about the change. Only a suite of new queries is
    compared with the answers that come with it, because it has no others.

    Args:
        suite: The suite.
        branch: The branch that has the suite.
        base: The base branch, if ``branch`` is the current one and there is a base branch.
        retriever: The retriever that the answers are filed under, if not the suite's.
    """
    run = branch.baseline_index.collect_answers(suite, retriever)
    if base is None:
        return BaselineAnswers(run)
    base_run = base.baseline_index.collect_answers(suite, retriever)
    if not base_run.answers:
        return BaselineAnswers(run, is_new=True)
    answers = {**base_run.answers}
    for request, answer in find_edited_answers(suite, branch, base).items():
        if request in answers:
            answers[request] = answer
    titles = {**run.titles, **base_run.titles}
    return BaselineAnswers(replace(base_run, answers=answers, titles=titles))


def find_edited_answers(
    suite: Suite, branch: Branch, base: Branch
) -> dict[str, tuple[Ranking, ...]]:
    """Find the committed answers to a suite's queries that a change adds or edits."""
    before = base.committed_index.collect_answers(suite).answers
    now = branch.committed_index.collect_answers(suite).answers
    return {request: answer for request, answer in now.items() if answer != before.get(request)}


def _find_run_of_baseline_retriever(suite: Suite, runs: Mapping[RunKey, Run]) -> Run | None:
    """Find the answers of the retriever that a suite names under ``baseline``."""
    folder, parameter = suite.retriever.folder, suite.retriever.parameter

    def get_distance(key: RunKey) -> tuple[bool, bool, RunKey]:
        return key.retriever.folder != folder, key.retriever.parameter != parameter, key

    candidates = []
    for key in runs:
        is_named = key.retriever.fixture == suite.baseline_retriever
        if is_named and _is_read_alike(key, suite.run_key):
            candidates.append(key)
    # Fixtures of one name can be in several folders and have parameters: the nearest one counts.
    nearest = min(candidates, key=get_distance, default=None)
    return runs[nearest] if nearest else None
