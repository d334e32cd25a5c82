"""The state of a session about search quality, from the first suite to the decision.

It does not know pytest, so ``check()`` uses it as well. Suites are added to a branch, their queries
run on retrievers, suites are evaluated one by one, and ``decide`` decides on all of them together.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import date, datetime, timezone
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_irquality.baselines import store
from pytest_irquality.baselines.sources import BaselineError, BaselineSource
from pytest_irquality.evaluation.comparison import QueryChange
from pytest_irquality.evaluation.decide import Decision, decide, is_gate_strict
from pytest_irquality.evaluation.documents import iter_unreturned_doc_ids
from pytest_irquality.evaluation.evaluate import BranchEvaluator, BuildFacts, Evaluation, SuiteKey
from pytest_irquality.evaluation.results import EvaluationContext
from pytest_irquality.io import dataclass, field, replace
from pytest_irquality.metrics import MetricError
from pytest_irquality.plugin.query_plan import QueryPlan, SessionBranch
from pytest_irquality.retrieval import collect
from pytest_irquality.retrieval.calling import ExceptionPolicy
from pytest_irquality.retrieval.corpus import has_corpus, load_corpus
from pytest_irquality.retrieval.rate_limit import RateLimiters
from pytest_irquality.retrieval.run import Run, merge_runs
from pytest_irquality.suite.model import Query, RetrieverId, RunKey, Suite
from pytest_irquality.suite.parser import list_metrics

if TYPE_CHECKING:
    from pytest_irquality.baselines.history import HistoryEntry
    from pytest_irquality.baselines.saved_runs import SavedRuns


MAX_EXPLAINED_QUERIES = 100


@dataclass
class ItemAnswers:
    """The answers that one item got for the queries of a suite, or why it got none.

    Attributes:
        corpus: The texts of the retriever's own corpus, if evaluating the suite needs them.
        error: Why the retriever cannot be used, or empty.
        is_base: Whether the suite is on the base branch.
    """

    key: SuiteKey
    runs: dict[RunKey, Run] = field(default_factory=dict)
    corpus: Mapping[str, str] | None = None
    error: str = ""
    is_base: bool = False


def encode_item_answers(item_answers: ItemAnswers) -> str:
    """Encode the answers of an item as one string, which is cheaper to send than nested data."""
    from pytest_irquality.baselines.run_files import encode_run

    runs = [[key, encode_run(run)] for key, run in item_answers.runs.items()]
    return json.dumps({**vars(item_answers), "runs": runs})


def decode_item_answers(text: str) -> ItemAnswers:
    """Decode the answers that a worker of pytest-xdist sent."""
    from pytest_irquality.baselines.run_files import decode_run

    data = json.loads(text)
    path, retriever = data["key"]
    runs = {}
    for (run_retriever, *others), run in data["runs"]:
        runs[RunKey(RetrieverId(*run_retriever), *others)] = decode_run(run)
    return ItemAnswers(**{**data, "key": SuiteKey(path, RetrieverId(*retriever)), "runs": runs})


def create_baseline_source(baseline: str, folder: Path, *, root: Path) -> BaselineSource:
    """Create the source that ``--ir-baseline`` or the argument of ``check()`` names.

    Args:
        baseline: ``git:REF``, ``run:REF`` or the path of saved runs.
        folder: The folder that a path is relative to.
        root: The root of the project.

    Raises:
        BaselineError: Git does not know the revision, or there are no saved runs.
    """
    from pytest_irquality.baselines.git_source import GitSource
    from pytest_irquality.baselines.saved_runs import SavedBaselines

    kind, _, ref = baseline.partition(":")
    if kind in ("git", "run"):
        return GitSource(root, ref, label=baseline)
    path = folder / baseline
    if not path.exists():
        raise BaselineError(
            f"There is no file or folder '{baseline}'. For a branch or commit, write"
            f" `git:{baseline}`."
        )
    return SavedBaselines(path, root=root)


class SearchSession:
    """Suites that are added, evaluated suite by suite, and decided on together.

    Args:
        root: The root of the project, to which the paths of suites are relative.
        is_strict: Whether the configuration says ``ir_gate = strict``.
        strict_override: Whether the gate on the command line is strict, or ``None`` without one.
            Overrides both branches.
        concurrency: The number of calls at the same time. Overrides the settings of suites.
        repeat: How often each query runs. Overrides the settings of suites.
        is_update: Whether baselines will be written.
        rate_file_prefix: The beginning of the names of files that all workers share.
        get_exceptions: Returns which exceptions skip a query or end the session.
        create_progress: Takes a suite's name, and returns a function that is called as calls end.

    Attributes:
        current: The current branch.
        base: The base branch, if there is one.
        plan: Which queries run.
        runs: The current answers by run key.
        corpora: The texts of documents by id, for each suite that needs them.
        facts: What the decision needs to know about the session.
        commit: The current commit.
    """

    def __init__(
        self,
        root: Path,
        *,
        is_strict: bool = False,
        strict_override: bool | None = None,
        concurrency: int | None = None,
        repeat: int | None = None,
        is_update: bool = False,
        rate_file_prefix: Path | None = None,
        get_exceptions: Callable[[], ExceptionPolicy] = ExceptionPolicy,
        create_progress: Callable[[str], collect.ReportProgress | None] | None = None,
    ) -> None:
        self.root = root
        self.current = SessionBranch(store.CommittedBaselines(root), is_strict=is_strict)
        self.base: SessionBranch | None = None
        self.plan = QueryPlan(self.current, repeat=repeat, is_update=is_update)
        self.strict_override = strict_override
        self.concurrency = concurrency
        self.get_exceptions = get_exceptions
        self.create_progress = create_progress
        self.runs: dict[RunKey, Run] = {}
        self.corpora: dict[SuiteKey, Mapping[str, str]] = {}
        self.facts = BuildFacts(is_update=is_update)
        self.uses_saved_runs = False
        self.is_interrupted = False
        self.commit = ""
        # By the run they evaluate, because more answers may change any of them.
        self._evaluations: dict[RunKey, dict[SuiteKey, Evaluation]] = {}
        self._retriever_errors: dict[SuiteKey, str] = {}
        self._chunk_texts: dict[RunKey, dict[str, str]] = {}
        self._rate_limiters = RateLimiters(rate_file_prefix)

    def add_base_branch(self, branch: SessionBranch) -> None:
        """Add the base branch, whose suites and baselines decide as well."""
        self.base = self.plan.base = branch

    @property
    def needs_decision(self) -> bool:
        """Return whether there is an error, or a query that is not deselected."""
        if self.current.errors:
            return True
        for key, suite in self.current.suites.items():
            deselected = self.plan.deselected_query_ids.get(key, frozenset())
            if not suite.queries or len(deselected) < len(suite.queries):
                return True
        base = self.base
        if base is None or (base.suites and base.deselected >= base.suites.keys()):
            return False
        return bool(base.suites or base.errors)

    # -- Running queries ---------------------------------------------------------------------------

    def run_suite_queries(
        self,
        key: SuiteKey,
        retriever: object,
        baseline_retriever: tuple[RetrieverId, object] | None = None,
    ) -> None:
        """Run the queries that a suite has on the current branch and on the base branch.

        Requests that have an answer are not sent again.

        Args:
            key: The suite. The base branch's suite of the same key runs as well.
            retriever: The value of the retriever fixture.
            baseline_retriever: The retriever that the suite names under ``baseline``.

        Raises:
            RetrieverError: The retriever cannot be called.
            CorpusError: The corpus of the suite cannot be read.
        """
        for suite, queries in self.plan.list_suites_with_queries(key):
            baseline_id, value = baseline_retriever or (RetrieverId(), None)
            if suite.baseline_retriever and baseline_id.fixture == suite.baseline_retriever:
                self._collect_answers(value, replace(suite, retriever=baseline_id), queries)
            self._collect_answers(retriever, suite, queries)
            if self.is_interrupted:
                return
            if suite.settings.match == "text" and has_corpus(suite.settings, retriever):
                documents = load_corpus(suite.settings, retriever)
                self.corpora[key] = {document.doc_id: document.text for document in documents}

    def _collect_answers(self, retriever: object, suite: Suite, queries: Sequence[Query]) -> None:
        batch = self.plan.create_batch([suite], queries)
        # Suites of a retriever share its limiter, which is created once, with the lowest rate.
        rates = self._iter_rates(suite.retriever)
        run = collect.collect_run(
            retriever,
            batch.queries,
            batch.settings,
            depth=batch.depth,
            fields=batch.fields,
            size_units=batch.size_units,
            stages=batch.stages,
            concurrency=self.concurrency,
            rate_limiter=self._rate_limiters.get("/".join(suite.retriever), rates),
            exceptions=self.get_exceptions(),
            known=self.runs.get(suite.run_key),
            chunk_texts=self._chunk_texts.setdefault(suite.run_key, {}),
            report_progress=self.create_progress(suite.name) if self.create_progress else None,
        )
        self.add_run(suite.run_key, run)
        self.is_interrupted = self.is_interrupted or run.provenance.is_interrupted

    def _iter_rates(self, retriever: RetrieverId) -> Iterator[float]:
        for suite in self.current.suites.values():
            if suite.retriever == retriever and suite.settings.rate:
                yield suite.settings.rate

    # -- Answers -----------------------------------------------------------------------------------

    def add_run(self, key: RunKey, run: Run) -> None:
        """Add answers, from this process or another one. Answers replace earlier errors."""
        known = self.runs.get(key)
        self.runs[key] = run if known is None else merge_runs([run, known])
        self._evaluations.pop(key, None)

    def use_saved_runs(self, saved: SavedRuns) -> None:
        """Use saved runs as the current answers, so that no retriever runs."""
        self.runs.update(saved.runs)
        self.uses_saved_runs = True
        self.current.notes += tuple(saved.notes)
        for name, message in saved.errors.items():
            self.current.add_error(name, message)

    def get_item_answers(self, key: SuiteKey, *, is_base: bool = False) -> ItemAnswers:
        """Return the answers to a suite, for the process that decides."""
        pairs = self.plan.list_suites_with_queries(key)
        requests = {query.request for _, queries in pairs for query in queries}
        run_keys = {suite.run_key for suite, _ in pairs}
        baseline_retrievers = {suite.baseline_retriever for suite, _ in pairs}
        runs = {}
        for run_key, run in self.runs.items():
            if run_key in run_keys or run_key.retriever.fixture in baseline_retrievers:
                runs[run_key] = _select_requests(run, requests)
        current = self.current.suites.get(key)
        has_files = current is not None and bool(current.settings.corpus_files)
        corpus = None if has_files else self.corpora.get(key)
        return ItemAnswers(key, runs, corpus, is_base=is_base)

    def add_item_answers(self, item_answers: ItemAnswers) -> None:
        """Add the answers of an item, maybe of another process, or the error of its retriever."""
        key, error = item_answers.key, item_answers.error
        for run_key, run in item_answers.runs.items():
            self.add_run(run_key, run)
            self.is_interrupted = self.is_interrupted or run.provenance.is_interrupted
        if item_answers.corpus is not None:
            self.corpora[key] = item_answers.corpus
        if not item_answers.is_base:
            self.clear_error(key)
            if error:
                self._retriever_errors[key] = error
        elif error and self.base is not None:
            self.base.set_missing_retriever(key, error)

    def clear_error(self, key: SuiteKey) -> None:
        """Forget the error of an earlier attempt to run a suite."""
        self._retriever_errors.pop(key, None)

    # -- Evaluating suites -------------------------------------------------------------------------

    def _create_base_context(self, key: SuiteKey) -> EvaluationContext:
        return EvaluationContext(
            selected_items=self.plan.typed_items.get(key),
            deselected_query_ids=self.plan.find_deselected_base_ids(key),
            corpus_texts=self.corpora.get(key),
        )

    def _create_context(self, key: SuiteKey) -> EvaluationContext:
        settings = self.current.suites[key].settings
        if settings.match == "text" and settings.corpus_files and key not in self.corpora:
            # Another process ran the queries.
            documents = load_corpus(settings)
            self.corpora[key] = {document.doc_id: document.text for document in documents}
        return EvaluationContext(
            selected_items=self.plan.selected_items.get(key),
            deselected_query_ids=self.plan.deselected_query_ids.get(key, frozenset()),
            corpus_texts=self.corpora.get(key),
        )

    def evaluate(self, key: SuiteKey, retriever: object = None) -> Evaluation:
        """Evaluate a suite whose queries ran.

        Args:
            key: The suite.
            retriever: The retriever, if it can still be called to explain what is missing.

        Raises:
            MetricError: A metric of the project's own failed.
        """
        suite = self.current.suites[key]
        evaluations = self._evaluations.setdefault(suite.run_key, {})
        if key not in evaluations:
            # A shard may have none of the queries of a suite.
            self.runs.setdefault(suite.run_key, Run())
            base = self.base.read_branch() if self.base is not None else None
            evaluator = BranchEvaluator(
                self.current.read_branch(), self.runs, base, today=_get_today(), facts=self.facts
            )
            context = self._create_context(key)
            evaluation = evaluator.evaluate_suite(suite, context)
            if retriever is not None and self._explain_missing_documents(evaluation, retriever):
                evaluation = evaluator.evaluate_suite(suite, context)
            _compute_fallible_metrics(evaluation)
            evaluations[key] = evaluation
        return evaluations[key]

    def _explain_missing_documents(self, evaluation: Evaluation, retriever: object) -> bool:
        """Call ``exists`` and ``stages`` of the retriever. Return whether they explain anything."""
        suite = evaluation.suite
        run = self.runs[suite.run_key]
        doc_ids = iter_unreturned_doc_ids(evaluation.comparison)
        missing = collect.find_unindexed_documents(retriever, doc_ids)
        stages: Mapping[str, Run] = {}
        if not run.stages and collect.has_stages(retriever):
            changes = filter(_misses_baseline_document, evaluation.comparison.changes)
            queries = [change.query for change in islice(changes, MAX_EXPLAINED_QUERIES)]
            stages = collect.collect_stages(retriever, queries, suite.settings) if queries else {}
        if missing or stages:
            self.runs[suite.run_key] = replace(
                run, missing_doc_ids=run.missing_doc_ids | missing, stages={**run.stages, **stages}
            )
        return bool(missing or stages)

    # -- Deciding ----------------------------------------------------------------------------------

    @property
    def is_strict(self) -> bool:
        """Return whether the gate is strict, so that ``REVIEW`` exits with 1."""
        is_base_strict = self.base is not None and self.base.is_strict
        return is_gate_strict(self.strict_override, self.current.is_strict, is_base_strict)

    def decide(self) -> Decision:
        """Decide on the build, with all answers so far.

        Suites that cannot be evaluated become errors of their branch first.
        """
        self._record_retriever_errors()
        if self.base is not None:
            self._drop_broken_base_suites(self.base)
        contexts = {key: self._create_context(key) for key in self.current.suites}
        current = self.current.complete_branch(contexts, self.commit)
        base = None
        if self.base is not None:
            base_contexts = {key: self._create_base_context(key) for key in self.base.suites}
            base = self.base.complete_branch(base_contexts)
        if self.facts.is_update:
            # Reading the branch found damaged baselines, which the update replaces.
            for suite in current.suites:
                path = store.get_baseline_path(suite.path, suite.retriever.parameter)
                self.current.errors.pop(path, None)
            current = replace(current, errors=self.current.errors)
        evaluations: dict[SuiteKey, Evaluation] = {}
        for evaluations_of_run in self._evaluations.values():
            evaluations.update(evaluations_of_run)
        return decide(
            current,
            self.runs,
            base,
            strict_override=self.strict_override,
            today=_get_today(),
            facts=replace(self.facts, is_interrupted=self.is_interrupted),
            evaluations=evaluations,
        )

    def _record_retriever_errors(self) -> None:
        """Record the suites whose retriever cannot be used on the current branch."""
        for key, error in self._retriever_errors.items():
            if self.current.suites[key].run_key in self.runs:
                # Its retriever has answers, so the suite itself cannot be evaluated.
                del self.current.suites[key]
                self.current.add_error(key.path, error)
            else:
                self.current.set_missing_retriever(key, error)
        self._retriever_errors.clear()

    def _drop_broken_base_suites(self, base: SessionBranch) -> None:
        """Leave out base suites in which a metric of the project's own fails now."""
        for key, suite in list(base.suites.items()):
            has_own = any(metric.definition.is_own for metric in list_metrics(suite))
            if not has_own or suite.run_key not in self.runs:
                continue
            try:
                evaluator = BranchEvaluator(base.read_branch(), self.runs)
                evaluation = evaluator.evaluate_suite(suite, self._create_base_context(key))
                _compute_fallible_metrics(evaluation)
            except MetricError as error:
                del base.suites[key]
                base.add_error(key.path, str(error))

    # -- Baselines and history ---------------------------------------------------------------------

    def update_baselines(self, query_id: str = "") -> list[store.BaselineUpdate]:
        """Write the answers as baselines, after the decision.

        Args:
            query_id: The only query to update, or empty for all that ran.

        Returns:
            What changed, by file.

        Raises:
            OSError: A file cannot be written.
        """
        updates = []
        for key, suite in self.current.suites.items():
            if suite.run_key not in self.runs or not suite.has_stored_baseline:
                continue
            query_ids: Collection[str] = ()
            if query_id:
                query_ids = [query_id] if query_id in suite.queries_by_id else []
                if not query_ids:
                    continue
            elif key in self.plan.selected_items:
                selected = self.plan.select_queries(suite, self.plan.selected_items[key])
                query_ids = [query.id for query in selected]
            updates.append(
                store.update_baseline(
                    self.root,
                    suite,
                    self.runs[suite.run_key],
                    query_ids=query_ids,
                    compute_repeat_means=self.evaluate(key).comparison.compute_repeat_means,
                )
            )
        if not query_id and not self.plan.selected_items and not self.current.errors:
            updates += store.remove_unused_baselines(self.root, list(self.current.suites.values()))
        return updates

    def add_history(self, entries: Sequence[HistoryEntry]) -> None:
        """Add the values of earlier builds, which reveal a slow drop."""
        from pytest_irquality.baselines.history import select_series

        history = {}
        for key, suite in self.current.suites.items():
            metric = str(suite.primary_metric)
            series = select_series(entries, key.path, str(key.retriever), metric)
            history[key] = [value for _, value in series]
        self.facts = replace(self.facts, history=history)

    def create_history_entries(self, decision: Decision) -> list[HistoryEntry]:
        """Create a history entry for each suite whose queries all ran."""
        from pytest_irquality.baselines.history import HistoryEntry, compute_digest

        entries: list[HistoryEntry] = []
        if self.plan.shard is not None or self.is_interrupted:
            return entries
        for evaluation in decision.current.evaluations:
            suite, comparison = evaluation.suite, evaluation.comparison
            key = SuiteKey(suite.path, suite.retriever)
            if key in self.plan.selected_items:
                continue
            values: dict[str, float] = {}
            changes: dict[str, float] = {}
            for metric in (*suite.metrics, suite.primary_metric):
                value, change = comparison.get_mean(metric), comparison.compare_means(metric)
                if value is not None:
                    values[str(metric)] = value
                if change is not None:
                    changes[str(metric)] = change.delta
            entries.append(
                HistoryEntry(
                    suite.path,
                    str(suite.retriever),
                    commit=self.commit,
                    date=datetime.now(timezone.utc).isoformat(timespec="seconds"),
                    values=values,
                    changes=changes,
                    baseline=compute_digest(evaluation.baseline_run or Run()),
                    outcome=decision.outcome.name,
                )
            )
        return entries


def _compute_fallible_metrics(evaluation: Evaluation) -> None:
    """Compute metrics that can raise, so that they raise here and not in a report."""
    for metric in evaluation.suite.metrics:
        if metric.definition.is_own or metric.budget:
            evaluation.comparison.get_mean(metric)
            evaluation.comparison.compare_means(metric)


def _get_today() -> date:
    return datetime.now(timezone.utc).date()


def _misses_baseline_document(change: QueryChange) -> bool:
    """Return whether a relevant document of the baseline is no longer returned."""
    if change.is_unchanged:
        return False
    missing = change.doc_ids_before & change.query.judgments.relevant
    for ranking in change.now:
        missing.difference_update(ranking.doc_ids)
    return bool(missing)


def _select_requests(run: Run, requests: Collection[str]) -> Run:
    return replace(
        run,
        answers={request: run.answers[request] for request in requests if request in run.answers},
        errors={request: run.errors[request] for request in requests if request in run.errors},
        stages={name: _select_requests(stage, requests) for name, stage in run.stages.items()},
    )
