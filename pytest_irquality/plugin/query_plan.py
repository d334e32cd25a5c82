"""The branches of a session, and the plan of their queries: which ones run, and what they need.

A suite may be on the current branch, on the base branch, or on both. Its queries on both branches
run on the same retriever, and suites that share a request share its answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_irquality.baselines.sources import Baseline, BaselineError, BaselineSource, QueryBatch
from pytest_irquality.evaluation.evaluate import Branch, SuiteKey, find_baseline
from pytest_irquality.evaluation.results import EvaluationContext
from pytest_irquality.io import dataclass, field, replace
from pytest_irquality.io.text import DataPart, Text, write
from pytest_irquality.suite.model import ItemKind, Query, RetrieverId, RunKey, Suite
from pytest_irquality.suite.parser import get_needed_depth, get_needed_fields, list_metrics

if TYPE_CHECKING:
    from pytest_irquality.baselines.saved_runs import Shard


@dataclass
class SessionBranch:
    """A branch, as far as the session knows it: its suites, baselines and errors.

    Attributes:
        source: Where its baselines come from, and its suites if it is the base branch.
        is_compared: Whether answers are compared with its baselines.
        name: How the user calls the base branch, such as ``main``. Empty for the current one.
        is_strict: Whether its configuration says ``ir_gate = strict``.
        code_source: The answers of the base branch's code (``run:``), in place of its baselines.
        suites: Its suites by path and retriever.
        errors: Why a suite, a baseline or a retriever cannot be used, by its path or name.
        texts: The texts of its suites by path, for the diff.
        missing_retrievers: Why suites cannot run, by the key of their run.
        deselected: The base suites that the typed command line leaves out.
        notes: Remarks about its answers, for the report.
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
    _keys_by_request: dict[RunKey, dict[str, tuple[SuiteKey, ...]]] = field(default_factory=dict)
    _branch: Branch | None = None

    def add_suite(self, suite: Suite, retriever: RetrieverId) -> SuiteKey:
        """Add a suite for a retriever."""
        key = SuiteKey(suite.path, retriever)
        self.suites[key] = suite = replace(suite, retriever=retriever)
        keys_by_request = self._keys_by_request.setdefault(suite.run_key, {})
        own_keys = (key,)  # shared by all requests that no other suite has
        for request in {query.request for query in suite.queries}:
            keys_by_request[request] = keys_by_request.get(request, ()) + own_keys
        self._branch = None
        return key

    def find_suites(self, run_key: RunKey, requests: Iterable[str]) -> list[Suite]:
        """Find the suites with a run key that have any of these requests."""
        keys_by_request = self._keys_by_request.get(run_key, {})
        keys = {key for request in requests for key in keys_by_request.get(request, ())}
        return [self.suites[key] for key in sorted(keys) if key in self.suites]

    def add_error(self, path: str, message: str) -> None:
        """Record that a suite, a baseline or a retriever cannot be used."""
        self.errors.setdefault(path, write(DataPart(message)))

    def set_missing_retriever(self, key: SuiteKey, reason: str) -> None:
        """Record why a suite cannot run."""
        self.missing_retrievers[self.suites[key].run_key] = write(DataPart(reason))

    def read_branch(self) -> Branch:
        """Return the suites and baselines, which are read if a suite was added."""
        if self._branch is None:
            baselines = self._read_baselines(self.source) if self.is_compared else ()
            # Nothing is "out of date" if the user names the saved runs to compare with.
            committed: tuple[Baseline, ...] | None = None if self.source.is_committed else ()
            if self.code_source is not None:
                baselines, committed = self._read_baselines(self.code_source), baselines
            suites = tuple(self.suites.values())
            self._branch = Branch(
                self.name, suites=suites, baselines=baselines, committed=committed
            )
        return self._branch

    def complete_branch(
        self, contexts: Mapping[SuiteKey, EvaluationContext], commit: str = ""
    ) -> Branch:
        """Return the branch as the decision needs it.

        Args:
            contexts: What evaluating a suite needs to know about its selection and corpus.
            commit: The commit of the branch, or empty for the commit of its source.
        """
        return replace(
            self.read_branch(),
            commit=commit or self.source.commit,
            # The order of the command line must not change a report.
            suites=tuple(sorted(self.suites.values(), key=lambda suite: suite.path)),
            contexts=contexts,
            errors=dict(self.errors),
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


class QueryPlan:
    """Which queries of both branches run, and what their answers must have.

    Args:
        current: The current branch.
        repeat: How often each query runs. Overrides the settings of suites.
        is_update: Whether baselines will be written.

    Attributes:
        base: The base branch, if there is one.
        shard: The part of all queries that this job runs, or ``None`` for all.
        selected_items: The items that run, for each suite of which not all items run.
        typed_items: The items that the typed command line selects, for suites as above. Items that
            only ``addopts`` deselects count as missing.
        deselected_query_ids: The queries that the typed command line leaves out, by suite.
    """

    def __init__(
        self, current: SessionBranch, *, repeat: int | None = None, is_update: bool = False
    ) -> None:
        self.current = current
        self.repeat = repeat
        self.is_update = is_update
        self.base: SessionBranch | None = None
        self.shard: Shard | None = None
        self.selected_items: dict[SuiteKey, frozenset[str]] = {}
        self.typed_items: dict[SuiteKey, frozenset[str]] = {}
        self.deselected_query_ids: dict[SuiteKey, frozenset[str]] = {}

    # -- Which queries run -------------------------------------------------------------------------

    def record_items(
        self, key: SuiteKey, names: Collection[str], typed_names: Collection[str]
    ) -> None:
        """Record the items of a suite that run, and those that the typed command line selects."""
        suite = self.current.suites[key]
        if len(names) < len(suite.items):
            self.selected_items[key] = frozenset(names)
        if len(typed_names) < len(suite.items):
            self.typed_items[key] = frozenset(typed_names)
        query_ids = {query.id for query in suite.queries}
        query_ids -= {query.id for query in self.select_queries(suite, typed_names)}
        if query_ids:
            self.deselected_query_ids[key] = frozenset(query_ids)

    def select_queries(self, suite: Suite, item_names: Collection[str] | None) -> tuple[Query, ...]:
        """Return the queries that some items need, or all items, and that are in the shard."""
        queries = suite.queries if item_names is None else find_needed_queries(suite, item_names)
        if self.shard is not None:
            queries = tuple(query for query in queries if self.shard.has_query(query))
        return queries

    def list_suites_with_queries(self, key: SuiteKey) -> list[tuple[Suite, tuple[Query, ...]]]:
        """Return a suite on each branch that has it, with the queries that run."""
        pairs = []
        if key in self.current.suites:
            suite = self.current.suites[key]
            pairs.append((suite, self.select_queries(suite, self.selected_items.get(key))))
        if self.base is not None and key in self.base.suites:
            # A selection by the change itself must not spare the queries of the base branch.
            suite, deselected_ids = self.base.suites[key], self.find_deselected_base_ids(key)
            pairs.append((suite, tuple(q for q in suite.queries if q.id not in deselected_ids)))
        return pairs

    def find_deselected_base_ids(self, key: SuiteKey) -> frozenset[str]:
        """Find the queries of a base suite that the typed command line or the shard leaves out."""
        assert self.base is not None
        suite = self.base.suites[key]
        if key in self.base.deselected:
            return frozenset(query.id for query in suite.queries)
        selected = self._find_selected_requests(key)
        # A shard runs its part of the queries that only the base suite has. A selection on the
        # command line names current queries, so it runs none of them.
        deselected = set()
        for query in suite.queries:
            runs_base_only = not selected if self.shard is None else self.shard.has_query(query)
            if not selected.get(query.request, runs_base_only):
                deselected.add(query.id)
        return frozenset(deselected)

    def _find_selected_requests(self, key: SuiteKey) -> dict[str, bool]:
        """Return whether each request of a current suite is selected, or nothing if all are."""
        suite, deselected_ids = self.current.suites.get(key), self.deselected_query_ids.get(key)
        selected: dict[str, bool] = {}
        if suite is not None and deselected_ids:
            for query in suite.queries:
                is_selected = query.id not in deselected_ids
                selected[query.request] = is_selected or selected.get(query.request, False)
        return selected

    # -- What their answers must have --------------------------------------------------------------

    def create_batch(self, suites: Sequence[Suite], queries: Sequence[Query]) -> QueryBatch:
        """Create the batch of some queries of suites with one retriever and folder.

        Answers are filed by request, so a batch requests what every suite needs that shares a
        request with these suites.
        """
        requests = {query.request for suite in suites for query in suite.queries}
        # By identity, because comparing large suites takes long.
        suites_by_id = {id(suite): suite for suite in suites}
        for branch in filter(None, (self.current, self.base)):
            for other in branch.find_suites(suites[0].run_key, requests):
                suites_by_id[id(other)] = other
        every_suite = list(suites_by_id.values())
        metrics = [metric for other in every_suite for metric in list_metrics(other)]
        fields = dict.fromkeys(name for other in every_suite for name in get_needed_fields(other))
        size_units = dict.fromkeys(metric.budget[0] for metric in metrics if metric.budget)
        stages = dict.fromkeys(metric.stage for metric in metrics if metric.stage)
        repeat = self.repeat or max(other.settings.repeat for other in every_suite)
        return QueryBatch(
            suites[0].run_key,
            suites[0].path.rpartition("/")[0],
            tuple(queries),
            replace(suites[0].settings, repeat=repeat),
            depth=self._find_depth(every_suite),
            fields=tuple(fields),
            size_units=tuple(size_units),
            stages=tuple(stages) or None,
        )

    def _find_depth(self, suites: Sequence[Suite]) -> int:
        """Return how many results these suites need. Suites with a baseline need more."""
        if self.is_update or (self.base is not None and self.base.code_source is not None):
            # Baselines cannot be read yet: they do not exist, or their code runs later.
            return max(get_needed_depth(suite, has_baseline=True) for suite in suites)
        current = self.current.read_branch()
        base = self.base.read_branch() if self.base is not None else None
        depth = 0
        for suite in suites:
            baseline_run = find_baseline(suite, current, base).run
            has_baseline = baseline_run is not None and bool(baseline_run.answers)
            depth = max(depth, get_needed_depth(suite, has_baseline=has_baseline))
        return depth

    def list_base_batches(self) -> list[QueryBatch]:
        """Return the queries of both branches, which the code of the base branch has to answer."""
        queries: dict[tuple[RunKey, str], dict[str, Query]] = {}
        suites: dict[tuple[RunKey, str], list[Suite]] = {}
        for key in (*self.current.suites, *(self.base.suites if self.base else ())):
            for suite, needed in self.list_suites_with_queries(key):
                # The base branch's fixture is run with all of its own parameters.
                retriever = suite.retriever._replace(parameter="")
                group = suite.run_key._replace(retriever=retriever), suite.path.rpartition("/")[0]
                queries.setdefault(group, {}).update((query.request, query) for query in needed)
                suites.setdefault(group, []).append(suite)
        batches = []
        for (run_key, folder), needed_queries in queries.items():
            if needed_queries:
                batch = self.create_batch(suites[run_key, folder], tuple(needed_queries.values()))
                batches.append(replace(batch, key=run_key))
        return batches


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
