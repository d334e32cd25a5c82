"""The session's state, from the first suite to the decision.

It does not know pytest, so ``check()`` uses it as well. Suites are added, retrievers answer their
queries, suites are evaluated one by one, and in the end all of them are decided on together.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_irquality.baselines.sources import Baseline, BaselineError, BaselineSource
from pytest_irquality.baselines.store import (
    BaselineUpdate,
    CommittedBaselines,
    get_baseline_path,
    remove_unused_baselines,
    update_baseline,
)
from pytest_irquality.evaluation.comparison import QueryChange
from pytest_irquality.evaluation.decide import Decision, decide, is_gate_strict
from pytest_irquality.evaluation.documents import list_unreturned_doc_ids
from pytest_irquality.evaluation.evaluate import (
    Branch,
    BranchEvaluator,
    BuildFacts,
    Evaluation,
    SuiteKey,
    find_baseline,
)
from pytest_irquality.evaluation.results import EvaluationContext
from pytest_irquality.io.text import DataPart, Text, write
from pytest_irquality.metrics import MetricError
from pytest_irquality.retrieval.calling import ExceptionPolicy
from pytest_irquality.retrieval.collect import (
    ReportProgress,
    ask_exists,
    collect_run,
    collect_stages,
    has_stages,
)
from pytest_irquality.retrieval.corpus import has_corpus, load_corpus
from pytest_irquality.retrieval.rate_limit import RateLimiters
from pytest_irquality.retrieval.run import Run, merge_runs
from pytest_irquality.suite.model import ItemKind, Query, RetrieverId, RunKey, Settings, Suite
from pytest_irquality.suite.parser import get_needed_depth, get_needed_fields, list_metrics

if TYPE_CHECKING:
    from pytest_irquality.baselines.history import HistoryEntry
    from pytest_irquality.baselines.saved_runs import SavedRuns, Shard
    from pytest_irquality.baselines.worktree import QueryBatch


MAX_EXPLAINED_QUERIES = 100


class Needs(NamedTuple):
    """What all suites together need of the answer to a request, as ``collect_run`` takes it."""

    settings: Settings
    depth: int
    fields: tuple[str, ...]
    size_units: tuple[str, ...]
    stages: tuple[str, ...] | None


@dataclass
class Retrieval:
    """What one item retrieved for the queries of a suite, or why it could not.

    Attributes:
        corpus: The texts of the retriever's own corpus, if evaluating the suite needs them.
        error: Why the retriever cannot be used, or empty.
        is_base: Whether the suite is the base branch's.
    """

    key: SuiteKey
    runs: dict[RunKey, Run] = field(default_factory=dict)
    corpus: Mapping[str, str] | None = None
    error: str = ""
    is_base: bool = False


def encode_retrieval(retrieval: Retrieval) -> str:
    """Encode what an item retrieved as one string, which is cheaper to send than nested data."""
    from pytest_irquality.baselines.run_files import encode_run

    runs = [[key, encode_run(run)] for key, run in retrieval.runs.items()]
    return json.dumps({**vars(retrieval), "runs": runs})


def decode_retrieval(text: str) -> Retrieval:
    """Decode what a worker sent."""
    from pytest_irquality.baselines.run_files import decode_run

    data = json.loads(text)
    path, retriever = data["key"]
    runs = {}
    for (run_retriever, *others), run in data["runs"]:
        runs[RunKey(RetrieverId(*run_retriever), *others)] = decode_run(run)
    return Retrieval(**{**data, "key": SuiteKey(path, RetrieverId(*retriever)), "runs": runs})


@dataclass
class SessionBranch:
    """One side of a change, as far as the session knows it.

    Attributes:
        source: Where its baselines come from, and its suites if it is the base branch.
        is_compared: Whether answers are compared with its baselines.
        name: How the user names the base branch, such as ``main``.
        is_strict: Whether its configuration says ``ir_gate = strict``.
        code_source: The answers of the base branch's code (``run:``), in place of its baselines.
        suites: Its suites by path and retriever.
        texts: The texts of its suites by path, for the diff.
        missing_retrievers: Why suites cannot run, by the key of their run.
        deselected: The base suites that the typed command line leaves out.
    """

    source: BaselineSource
    is_compared: bool = True
    name: str = ""
    is_strict: bool = False
    code_source: BaselineSource | None = None
    suites: dict[SuiteKey, Suite] = field(default_factory=dict)
    errors: dict[str, Text] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    missing_retrievers: dict[RunKey, Text] = field(default_factory=dict)
    deselected: set[SuiteKey] = field(default_factory=set)
    notes: tuple[Text, ...] = ()
    _baselines: tuple[Baseline, ...] | None = None
    _committed: tuple[Baseline, ...] | None = None

    def add_suite(self, suite: Suite, retriever: RetrieverId) -> SuiteKey:
        """Add a suite for a retriever."""
        key = SuiteKey(suite.path, retriever)
        self.suites[key] = replace(suite, retriever=retriever)
        self._baselines = None
        return key

    def add_error(self, path: str, message: str) -> None:
        """Record that a suite, a baseline or a retriever cannot be used."""
        self.errors.setdefault(path, write(DataPart(message)))

    def set_missing(self, key: SuiteKey, reason: str) -> None:
        """Record why a suite cannot run."""
        self.missing_retrievers[self.suites[key].run_key] = write(DataPart(reason))

    def create_branch(
        self, contexts: Mapping[SuiteKey, EvaluationContext], commit: str = ""
    ) -> Branch:
        """Create the branch that the decision reads, with its baselines."""
        if self._baselines is None:
            self._baselines = self._read_baselines(self.source) if self.is_compared else ()
            if self.code_source is not None:
                self._committed = self._baselines
                self._baselines = self._read_baselines(self.code_source)
            elif not self.source.is_committed:
                # Nothing is "out of date" if the user names the saved runs to compare with.
                self._committed = ()
        return Branch(
            name=self.name,
            commit=commit or self.source.commit,
            # The order of the command line must not change a report.
            suites=tuple(sorted(self.suites.values(), key=lambda suite: suite.path)),
            baselines=self._baselines,
            committed=self._committed,
            contexts=contexts,
            errors=self.errors,
            missing_retrievers=self.missing_retrievers,
            notes=(*self.notes, *self.source.notes),
            texts=self.texts,
            is_strict=self.is_strict,
        )

    def _read_baselines(self, source: BaselineSource) -> tuple[Baseline, ...]:
        try:
            baselines = source.read_baselines(tuple(self.suites.values()))
        except BaselineError as error:
            self.add_error(source.label or "baseline", str(error))
            return ()
        for path, message in source.errors.items():
            self.add_error(path, message)
        return baselines


def create_baseline_source(
    baseline: str, folder: Path, *, root: Path, commit: str = ""
) -> BaselineSource:
    """Create the source that ``--ir-baseline`` or the argument of ``check()`` names.

    Args:
        baseline: ``git:REF``, ``run:REF`` or the path of saved runs.
        folder: The folder that a path is relative to.
        root: The root of the project.
        commit: The commit of the revision, if another process has resolved it.

    Raises:
        BaselineError: Git does not know the revision, or there are no saved runs.
    """
    from pytest_irquality.baselines.git_source import GitSource
    from pytest_irquality.baselines.saved_runs import SavedBaselines

    kind, _, ref = baseline.partition(":")
    if kind in ("git", "run"):
        return GitSource(root, ref, label=baseline, commit=commit)
    path = folder / baseline
    if not path.exists():
        raise BaselineError(
            f"--ir-baseline: There is no file or folder '{baseline}'. For a branch or commit,"
            f" write `git:{baseline}`."
        )
    return SavedBaselines(path, root=root)


class SearchSession:
    """Suites that are added, evaluated suite by suite, and decided on together.

    Args:
        root: The root of the project, to which the paths of suites are relative.
        is_strict: Whether the configuration says ``ir_gate = strict``.
        strict_override: The gate on the command line, which counts over both branches, or ``None``.
        concurrency: The number of calls at the same time, over the settings of suites.
        repeat: How often each query runs, over the settings of suites.
        is_update: Whether baselines will be written.
        rate_files: The beginning of the names of files that all workers share.
        get_exceptions: Returns which exceptions skip a query or end the session.
        create_progress: Takes a suite's name, and returns a function that is called as calls end.
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
        rate_files: Path | None = None,
        get_exceptions: Callable[[], ExceptionPolicy] = ExceptionPolicy,
        create_progress: Callable[[str], ReportProgress | None] | None = None,
    ) -> None:
        self.root = root
        self.current = SessionBranch(CommittedBaselines(root), is_strict=is_strict)
        self.base: SessionBranch | None = None
        self.strict_override = strict_override
        self.concurrency = concurrency
        self.repeat = repeat
        self.get_exceptions = get_exceptions
        self.create_progress = create_progress
        self.selected_items: dict[SuiteKey, frozenset[str]] = {}
        self.deselected_query_ids: dict[SuiteKey, frozenset[str]] = {}
        self._typed_items: dict[SuiteKey, frozenset[str]] = {}
        self.runs: dict[RunKey, Run] = {}
        self.corpora: dict[SuiteKey, Mapping[str, str]] = {}
        self.shard: Shard | None = None
        self.facts = BuildFacts(is_update=is_update)
        self.uses_saved_runs = False
        self.is_interrupted = False
        self.commit = ""
        self._evaluations: dict[SuiteKey, Evaluation] = {}
        self._broken_suites: dict[SuiteKey, str] = {}
        self._rate_limiters = RateLimiters(rate_files)

    # -- Which queries run -------------------------------------------------------------------------

    def select_items(
        self, key: SuiteKey, names: Collection[str], typed_names: Collection[str]
    ) -> None:
        """Record which items of a suite run.

        Args:
            key: The suite.
            names: The items that run.
            typed_names: The items that the typed command line selects. Items that only ``addopts``
                deselects count as missing.
        """
        suite = self.current.suites[key]
        if len(names) < len(suite.items):
            self.selected_items[key] = frozenset(names)
        if len(typed_names) < len(suite.items):
            self._typed_items[key] = frozenset(typed_names)
        query_ids = {query.id for query in suite.queries}
        query_ids -= {query.id for query in self._select_queries(suite, typed_names)}
        if query_ids:
            self.deselected_query_ids[key] = frozenset(query_ids)

    def _select_queries(
        self, suite: Suite, item_names: Collection[str] | None
    ) -> tuple[Query, ...]:
        """Return the queries that some items need, or all items, and that are in the shard."""
        queries = suite.queries if item_names is None else find_needed_queries(suite, item_names)
        if self.shard is not None:
            queries = tuple(query for query in queries if self.shard.has_query(query))
        return queries

    def _plan_queries(self, key: SuiteKey) -> list[tuple[Suite, tuple[Query, ...]]]:
        """Return the queries that run for a suite of this branch and of the base branch."""
        plan = []
        if key in self.current.suites:
            suite = self.current.suites[key]
            plan.append((suite, self._select_queries(suite, self.selected_items.get(key))))
        if self.base is not None and key in self.base.suites:
            # A selection by the change itself must not spare the queries of the base branch.
            suite, left_out = self.base.suites[key], self._find_deselected_base_ids(key)
            plan.append((suite, tuple(q for q in suite.queries if q.id not in left_out)))
        return plan

    def _find_deselected_base_ids(self, key: SuiteKey) -> frozenset[str]:
        """Find the queries of a base suite that the typed command line or the shard leaves out."""
        assert self.base is not None
        suite = self.base.suites[key]
        if key in self.base.deselected:
            return frozenset(query.id for query in suite.queries)
        selected = self._find_selected_requests(key)
        deselected = set()
        for query in suite.queries:
            runs_if_removed = self._runs_removed_query(query, has_selection=bool(selected))
            if not selected.get(query.request, runs_if_removed):
                deselected.add(query.id)
        return frozenset(deselected)

    def _find_selected_requests(self, key: SuiteKey) -> dict[str, bool]:
        """Return whether each request of a current suite is selected, or nothing if all are."""
        suite, left_out_ids = self.current.suites.get(key), self.deselected_query_ids.get(key)
        selected: dict[str, bool] = {}
        if suite is not None and left_out_ids:
            for query in suite.queries:
                is_selected = query.id not in left_out_ids
                selected[query.request] = is_selected or selected.get(query.request, False)
        return selected

    def _runs_removed_query(self, query: Query, *, has_selection: bool) -> bool:
        """Return whether a query that only the base suite has runs.

        A shard runs its part of them. A selection on the command line is about current queries.
        """
        return not has_selection if self.shard is None else self.shard.has_query(query)

    @property
    def needs_decision(self) -> bool:
        """Return whether an error or a query that was not deselected is left to decide on."""
        if self.current.errors:
            return True
        for key, suite in self.current.suites.items():
            deselected = self.deselected_query_ids.get(key, frozenset())
            if not suite.queries or len(deselected) < len(suite.queries):
                return True
        base = self.base
        if base is None or (base.suites and base.deselected >= base.suites.keys()):
            return False
        return bool(base.suites or base.errors)

    # -- Running queries ---------------------------------------------------------------------------

    def answer_queries(
        self, key: SuiteKey, retriever: object, compared: tuple[RetrieverId, object] | None = None
    ) -> None:
        """Run the queries of a suite, on this branch and on the base branch.

        Requests that have an answer are not sent again.

        Args:
            key: The suite. The base branch's suite of the same key runs as well.
            retriever: The value of the retriever fixture.
            compared: The retriever that the suite names under ``baseline``.

        Raises:
            RetrieverError: The retriever cannot be called.
            CorpusError: The corpus of the suite cannot be read.
        """
        for suite, queries in self._plan_queries(key):
            if compared is not None and compared[0].fixture == suite.baseline_retriever:
                self._run_queries(compared[1], replace(suite, retriever=compared[0]), queries)
            self._run_queries(retriever, suite, queries)
            if self.is_interrupted:
                return
            if suite.settings.match == "text" and has_corpus(suite.settings, retriever):
                documents = load_corpus(suite.settings, retriever)
                self.corpora[key] = {document.doc_id: document.text for document in documents}

    def _run_queries(self, retriever: object, suite: Suite, queries: Sequence[Query]) -> None:
        rates = []
        for other in self.current.suites.values():
            if other.retriever == suite.retriever and other.settings.rate:
                rates.append(other.settings.rate)
        run = collect_run(
            retriever,
            queries,
            **self._find_needs(suite)._asdict(),
            concurrency=self.concurrency,
            rate_limiter=self._rate_limiters.get("/".join(suite.retriever), rates),
            exceptions=self.get_exceptions(),
            known=self.runs.get(suite.run_key),
            report_progress=self.create_progress(suite.name) if self.create_progress else None,
        )
        self.add_run(suite.run_key, run)
        self.is_interrupted = self.is_interrupted or run.provenance.is_interrupted

    def _find_needs(self, *suites: Suite) -> Needs:
        """Combine what all suites need that share answers with some suites of one retriever."""
        requests = {query.request for suite in suites for query in suite.queries}
        sharing = list(suites)
        base_suites = self.base.suites.values() if self.base is not None else ()
        for other in (*self.current.suites.values(), *base_suites):
            is_sharing = other.run_key == suites[0].run_key and other not in suites
            if is_sharing and any(query.request in requests for query in other.queries):
                sharing.append(other)
        fields: dict[str, None] = {}
        units: dict[str, None] = {}
        stages: dict[str, None] = {}
        for other in sharing:
            fields.update(dict.fromkeys(get_needed_fields(other)))
            for metric in list_metrics(other):
                if metric.budget:
                    units[metric.budget[0]] = None
                if metric.stage:
                    stages[metric.stage] = None
        repeat = self.repeat or max(other.settings.repeat for other in sharing)
        return Needs(
            replace(suites[0].settings, repeat=repeat),
            depth=self._find_depth(sharing),
            fields=tuple(fields),
            size_units=tuple(units),
            stages=tuple(stages) or None,
        )

    def _find_depth(self, suites: Sequence[Suite]) -> int:
        """Return how many results some suites need, which are more if they have a baseline."""
        if self.facts.is_update or (self.base is not None and self.base.code_source is not None):
            # Baselines cannot be read yet: they do not exist, or their code runs later.
            return max(get_needed_depth(suite, has_baseline=True) for suite in suites)
        current, base = self._create_branches()
        depth = 0
        for suite in suites:
            baseline_run = find_baseline(suite, current, base).run
            has_baseline = baseline_run is not None and bool(baseline_run.answers)
            depth = max(depth, get_needed_depth(suite, has_baseline=has_baseline))
        return depth

    def list_query_batches(self) -> list[QueryBatch]:
        """Return what the code of the base branch has to answer: the queries of both branches."""
        from pytest_irquality.baselines.worktree import QueryBatch

        queries: dict[tuple[RunKey, str], dict[str, Query]] = {}
        suites: dict[tuple[RunKey, str], list[Suite]] = {}
        for key in (*self.current.suites, *(self.base.suites if self.base else ())):
            for suite, needed in self._plan_queries(key):
                # The base branch's fixture is run with all of its own parameters.
                retriever = suite.retriever._replace(parameter="")
                group = suite.run_key._replace(retriever=retriever), suite.path.rpartition("/")[0]
                queries.setdefault(group, {}).update((query.request, query) for query in needed)
                suites.setdefault(group, []).append(suite)
        batches = []
        for group, needed_queries in queries.items():
            if needed_queries:
                needs = self._find_needs(*suites[group])._asdict()
                batches.append(QueryBatch(*group, tuple(needed_queries.values()), **needs))
        return batches

    # -- Answers -----------------------------------------------------------------------------------

    def add_run(self, key: RunKey, run: Run) -> None:
        """Add answers, of this process or of another one. Earlier errors give way to answers."""
        known = self.runs.get(key)
        self.runs[key] = run if known is None else merge_runs([run, known])
        for suite_key, suite in self.current.suites.items():
            if suite.run_key == key:
                self._evaluations.pop(suite_key, None)

    def use_saved_runs(self, saved: SavedRuns) -> None:
        """Take saved runs as the current answers, so no retriever runs."""
        self.runs.update(saved.runs)
        self.uses_saved_runs = True
        self.current.notes += tuple(saved.notes)
        for name, message in saved.errors.items():
            self.current.add_error(name, message)

    def create_retrieval(self, key: SuiteKey, *, is_base: bool = False) -> Retrieval:
        """Return what was retrieved for a suite, for the process that decides."""
        requests: set[str] = set()
        run_keys = set()
        compared = set()
        for suite, queries in self._plan_queries(key):
            requests.update(query.request for query in queries)
            run_keys.add(suite.run_key)
            compared.add(suite.baseline_retriever)
        runs = {}
        for run_key, run in self.runs.items():
            if run_key in run_keys or run_key.retriever.fixture in compared:
                runs[run_key] = _select_requests(run, requests)
        current = self.current.suites.get(key)
        has_files = current is not None and bool(current.settings.corpus.files)
        corpus = None if has_files else self.corpora.get(key)
        return Retrieval(key, runs, corpus, is_base=is_base)

    def add_retrieval(self, retrieval: Retrieval) -> None:
        """Take what another process retrieved, or why it could not."""
        for run_key, run in retrieval.runs.items():
            self.add_run(run_key, run)
            self.is_interrupted = self.is_interrupted or run.provenance.is_interrupted
        if retrieval.corpus is not None:
            self.corpora[retrieval.key] = retrieval.corpus
        if not retrieval.is_base:
            self._broken_suites.pop(retrieval.key, None)
            if retrieval.error:
                self._broken_suites[retrieval.key] = retrieval.error
        elif retrieval.error and self.base is not None:
            self.base.set_missing(retrieval.key, retrieval.error)

    # -- Evaluating suites -------------------------------------------------------------------------

    def create_current_branch(self) -> Branch:
        """Create the current branch, as far as it is known. The first call reads its baselines."""
        contexts = {key: self._create_context(key) for key in self.current.suites}
        return self.current.create_branch(contexts, self.commit)

    def create_base_branch(self) -> Branch | None:
        """Create the base branch, as far as it is known, or return ``None`` without one."""
        if self.base is None:
            return None
        contexts = {}
        for key in self.base.suites:
            contexts[key] = EvaluationContext(
                selected_items=self._typed_items.get(key),
                deselected_query_ids=self._find_deselected_base_ids(key),
                corpus_texts=self.corpora.get(key),
            )
        return self.base.create_branch(contexts)

    def _create_branches(self, *keys: SuiteKey) -> tuple[Branch, Branch | None]:
        """Create both branches with the contexts of some current suites, which can be evaluated."""
        contexts = {key: self._create_context(key) for key in keys}
        base = self.base.create_branch({}) if self.base is not None else None
        return self.current.create_branch(contexts, self.commit), base

    def _create_context(self, key: SuiteKey) -> EvaluationContext:
        settings = self.current.suites[key].settings
        if settings.match == "text" and settings.corpus.files and key not in self.corpora:
            # Another process ran the queries.
            documents = load_corpus(settings)
            self.corpora[key] = {document.doc_id: document.text for document in documents}
        return EvaluationContext(
            selected_items=self.selected_items.get(key),
            deselected_query_ids=self.deselected_query_ids.get(key, frozenset()),
            corpus_texts=self.corpora.get(key),
        )

    def evaluate(self, key: SuiteKey, retriever: object = None) -> Evaluation:
        """Evaluate a suite whose queries ran.

        Args:
            key: The suite.
            retriever: The retriever, which can explain what is missing, if it is at hand.

        Raises:
            MetricError: A metric of the project's own failed.
        """
        if key not in self._evaluations:
            suite = self.current.suites[key]
            # A shard may have none of the queries of a suite.
            self.runs.setdefault(suite.run_key, Run())
            current, base = self._create_branches(key)
            evaluator = BranchEvaluator(
                current, self.runs, base, today=_get_today(), facts=self.facts
            )
            evaluation = evaluator.evaluate_suite(suite)
            if retriever is not None and self._explain(evaluation, retriever):
                evaluation = evaluator.evaluate_suite(suite)
            _compute_risky_metrics(evaluation)
            self._evaluations[key] = evaluation
        return self._evaluations[key]

    def _explain(self, evaluation: Evaluation, retriever: object) -> bool:
        """Ask the retriever about missing documents. Return whether it said anything."""
        suite = evaluation.suite
        run = self.runs[suite.run_key]
        missing: frozenset[str] = frozenset()
        if callable(getattr(retriever, "exists", None)):
            missing = ask_exists(retriever, list_unreturned_doc_ids(evaluation.comparison))
        stages: Mapping[str, Run] = {}
        changes = evaluation.comparison.changes
        lost = [change.query for change in changes if _misses_baseline_document(change)]
        if lost and not run.stages and has_stages(retriever):
            stages = collect_stages(retriever, lost[:MAX_EXPLAINED_QUERIES], suite.settings)
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
        """Decide on the build, with all runs so far."""
        for key, error in self._broken_suites.items():
            if self.current.suites[key].run_key in self.runs:
                # It ran and cannot be evaluated, or another suite has answers of its retriever.
                del self.current.suites[key]
                self.current.add_error(key.path, error)
            else:
                self.current.set_missing(key, error)
        self._broken_suites.clear()
        if self.base is not None:
            self._drop_broken_base_suites(self.base)
        current = self.create_current_branch()
        if self.facts.is_update:
            # Creating the branch found damaged baselines. The update replaces them.
            for suite in current.suites:
                path = get_baseline_path(suite.path, suite.retriever.parameter)
                self.current.errors.pop(path, None)
        return decide(
            current,
            self.runs,
            self.create_base_branch(),
            strict_override=self.strict_override,
            today=_get_today(),
            facts=replace(self.facts, is_interrupted=self.is_interrupted),
            evaluations=self._evaluations,
        )

    def _drop_broken_base_suites(self, base: SessionBranch) -> None:
        """Leave out base suites in which a metric of the project's own fails now."""
        base_branch = self.create_base_branch()
        assert base_branch is not None
        for key, suite in list(base.suites.items()):
            has_own = any(metric.definition.is_own for metric in list_metrics(suite))
            if not has_own or suite.run_key not in self.runs:
                continue
            try:
                evaluation = BranchEvaluator(base_branch, self.runs).evaluate_suite(suite)
                _compute_risky_metrics(evaluation)
            except MetricError as error:
                del base.suites[key]
                base.add_error(key.path, str(error))

    # -- Files of the answers ----------------------------------------------------------------------

    def update_baselines(self, query_id: str = "") -> list[BaselineUpdate]:
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
            elif key in self.selected_items:
                query_ids = [q.id for q in self._select_queries(suite, self.selected_items[key])]
            updates.append(
                update_baseline(
                    self.root,
                    suite,
                    self.runs[suite.run_key],
                    query_ids=query_ids,
                    compute_repeat_means=self.evaluate(key).comparison.compute_repeat_means,
                )
            )
        if not query_id and not self.selected_items and not self.current.errors:
            updates += remove_unused_baselines(self.root, list(self.current.suites.values()))
        return updates

    def add_history(self, entries: Sequence[HistoryEntry]) -> None:
        """Take the earlier builds of a history, in which a slow loss shows."""
        from pytest_irquality.baselines.history import select_series

        history = {}
        for key, suite in self.current.suites.items():
            metric = str(suite.primary_metric)
            series = select_series(entries, key.path, str(key.retriever), metric)
            history[key] = [value for _, value in series]
        self.facts = replace(self.facts, history=history)

    def create_history_entries(self, decision: Decision) -> list[HistoryEntry]:
        """Create an entry of a history for each suite of which all queries ran."""
        from pytest_irquality.baselines.history import HistoryEntry, compute_digest

        entries = []
        for evaluation in decision.current.evaluations:
            suite, comparison = evaluation.suite, evaluation.comparison
            key = SuiteKey(suite.path, suite.retriever)
            if key in self.selected_items or self.shard is not None or self.is_interrupted:
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


def find_needed_queries(suite: Suite, item_names: Collection[str]) -> tuple[Query, ...]:
    """Return the queries that some items of a suite are about."""
    query_ids: set[str] = set()
    for item in suite.items:
        if item.name not in item_names:
            continue
        if item.kind is ItemKind.QUERY:
            query_ids.add(item.query_id)
        elif item.tag:
            query_ids.update(query.id for query in suite.queries_by_tag.get(item.tag, ()))
        else:
            return suite.queries
    return tuple(query for query in suite.queries if query.id in query_ids)


def _compute_risky_metrics(evaluation: Evaluation) -> None:
    """Compute own metrics and those with a budget now, so no report is the first to fail."""
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
    lost = change.doc_ids_before & change.query.judgments.relevant
    for ranking in change.now:
        lost.difference_update(ranking.doc_ids)
    return bool(lost)


def _select_requests(run: Run, requests: Collection[str]) -> Run:
    return replace(
        run,
        answers={request: run.answers[request] for request in requests if request in run.answers},
        errors={request: run.errors[request] for request in requests if request in run.errors},
        stages={name: _select_requests(stage, requests) for name, stage in run.stages.items()},
    )
