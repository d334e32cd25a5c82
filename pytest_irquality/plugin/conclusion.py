"""Before the first item runs and after the last one: what is selected, read and written."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from pytest_irquality.baselines.history import (
    HistoryEntry,
    append_history,
    compute_digest,
    read_history,
    select_series,
)
from pytest_irquality.baselines.sources import BaselineError
from pytest_irquality.evaluation.decide import Decision
from pytest_irquality.evaluation.evaluate import SuiteKey
from pytest_irquality.io.escaping import quote_command
from pytest_irquality.io.git import describe_commit
from pytest_irquality.io.text import find_closest
from pytest_irquality.plugin import compat
from pytest_irquality.plugin.base_suites import (
    ANSWERS_INPUT,
    ITEM_NAME,
    create_base_items,
    run_base_code,
)
from pytest_irquality.plugin.collection import SuiteModule, is_in_shard
from pytest_irquality.plugin.items import PluginState, SuiteItem, get_state
from pytest_irquality.plugin.options import (
    WORKER_INPUT,
    describe_addopts_selection,
    format_update_command,
    get_command_line,
    is_only_in_addopts,
    is_suite_path,
)
from pytest_irquality.plugin.session import SearchSession, decode_retrieval
from pytest_irquality.retrieval.run import Run
from pytest_irquality.suite.model import Suite


def pytest_collection_finish(session: pytest.Session) -> None:
    """Prepare the runs, once all items are known."""
    selected = frozenset(item.nodeid for item in session.items)
    prepare_runs(session.config, get_state(session.config), selected)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker what was typed, and which commit the base branch is."""
    typed = get_command_line(node.config)
    node.workerinput[WORKER_INPUT] = list(typed.arguments)
    state = get_state(node.config)
    if state.search.base is not None:
        node.workerinput["ir_base_commit"] = state.search.base.source.commit
    if state.answers_folder is not None:
        node.workerinput[ANSWERS_INPUT] = str(state.answers_folder)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: Sequence[str]) -> None:
    """Collect the suites that the first worker collected, before any worker runs an item."""
    state = get_state(node.config)
    if state.session is not None and not state.modules:
        _collect_suites(state.session, state, ids)


def _collect_suites(session: pytest.Session, state: PluginState, ids: Sequence[str]) -> None:
    """Collect suites in the controller, which needs them to decide and collects nothing itself."""
    # With `--dist=loadgroup`, ids end with the name of a group.
    selected = frozenset(ids) | {node_id.rpartition("@")[0] for node_id in ids}
    folders: dict[Path, Any] = {}
    current_ids = [node_id for node_id in ids if f"::{ITEM_NAME}" not in node_id]
    for name in dict.fromkeys(node_id.partition("::")[0] for node_id in current_ids):
        path = session.config.rootpath / name
        if not is_suite_path(state.options, path, is_named=True) or not path.is_file():
            continue
        try:
            folder = compat.build_folder_node(session, path.parent, folders)
            SuiteModule.create(folder, path).collect()
        except Exception as error:  # whatever a conftest raises
            text = f"{type(error).__name__}: {error}"
            state.search.current.add_error(name, text)
    items = [item for module in state.modules.values() for item in module.items]
    selected_items = [item for item in items if item.nodeid in selected]
    if state.search.base is not None:
        create_base_items(session, selected_items)
    prepare_runs(session.config, state, selected)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Take what a worker retrieved."""
    encoded = getattr(report, "ir_retrieval", None)
    if encoded is not None and hasattr(report, "node"):
        state = get_state(report.node.config)
        state.search.add_retrieval(decode_retrieval(encoded))
    error = getattr(report, "ir_error", None)
    if error is not None and hasattr(report, "node"):
        path, text = error
        get_state(report.node.config).search.current.add_error(path, text)


def prepare_runs(config: pytest.Config, state: PluginState, selected: Collection[str]) -> None:
    """Prepare for the queries: record the selection, read saved runs, and run the base's code.

    Args:
        config: The configuration of the session.
        state: The state, with all collected suites.
        selected: The node ids of the items that run.

    Raises:
        pytest.UsageError: Saved runs cannot be read, or the base's code cannot be run.
    """
    record_selection(config, state, selected)
    search, options = state.search, state.options
    folder = config.invocation_params.dir
    suites = list(search.current.suites.values())
    if options.update_query_id and suites:
        _refuse_unknown_query(options.update_query_id, suites)
    try:
        if options.runs:
            from pytest_irquality.baselines.saved_runs import read_saved_runs

            paths = [folder / name for name in options.runs]
            base_suites = list(search.base.suites.values()) if search.base is not None else []
            saved = read_saved_runs(paths, suites, base_suites=base_suites, root=search.root)
            search.use_saved_runs(saved)
        if search.base is not None and search.base.answers is not None:
            run_base_code(config, state)
    except BaselineError as error:
        raise pytest.UsageError(str(error)) from None


def _refuse_unknown_query(query_id: str, suites: Sequence[Suite]) -> None:
    known = [known_id for suite in suites for known_id in suite.queries_by_id]
    if query_id not in known:
        closest = find_closest(query_id, known)
        hint = f" Did you mean '{closest}'?" if closest else ""
        raise pytest.UsageError(f"--ir-update-baseline: no suite has a query '{query_id}'.{hint}")


def record_selection(config: pytest.Config, state: PluginState, selected: Collection[str]) -> None:
    """Record which items of each suite run.

    Args:
        config: The configuration of the session.
        state: The state, with all collected suites.
        selected: The node ids of the items that run.
    """
    left_out_count = 0
    for module in state.modules.values():
        typed_items = _find_typed_items(config, state, module.items, selected)
        for group in module.groups.values():
            items = [item for item in module.items if item.group is group]
            names = {item.check.name for item in items if item.nodeid in selected}
            typed_names = {item.check.name for item in items if item in typed_items}
            state.search.select_items(group.key, names, typed_names | names)
            left_out_count += len(typed_names - names)
    if left_out_count:
        description = describe_addopts_selection(config)
        state.search.facts = replace(
            state.search.facts,
            addopts_selection=description or "a conftest or plugin",
            addopts_deselected_count=left_out_count,
        )


def _find_typed_items(
    config: pytest.Config,
    state: PluginState,
    items: Sequence[SuiteItem],
    selected: Collection[str],
) -> set[pytest.Item]:
    """Return the items that the typed command line alone selects."""
    typed = get_command_line(config)
    namespace: argparse.Namespace = typed.namespace
    if getattr(namespace, "lf", False) or getattr(namespace, "stepwise", None):
        return {item for item in items if item.nodeid in selected}
    candidates = compat.find_typed_items(config, items, namespace)
    node_ids = [path for path in typed.paths if "::" in path]
    if node_ids:
        candidates = [item for item in candidates if _is_named(config, item, typed.paths)]
    shard = state.search.shard
    if shard is not None:
        candidates = [item for item in candidates if is_in_shard(item, shard)]
    return set(candidates)


def _is_named(config: pytest.Config, item: pytest.Item, paths: Sequence[str]) -> bool:
    """Return whether a typed path or node id includes an item."""
    for path in paths:
        file_name, colons, name = path.partition("::")
        file = Path(config.invocation_params.dir, file_name)
        if not colons and (file == item.path or file in item.path.parents):
            return True
        if colons and file == item.path and name in (item.name, item.name.partition("[")[0]):
            return True
    return False


def complete_facts(config: pytest.Config, state: PluginState) -> None:
    """Record what only the end of a session knows."""
    options, search = state.options, state.search
    search.commit = describe_commit(search.root)
    saved_runs = ""
    if options.runs and is_only_in_addopts(config, "ir_runs"):
        saved_runs = " ".join(options.runs)
    history: dict[SuiteKey, list[float]] = {}
    if options.history:
        try:
            state.history = read_history(config.invocation_params.dir / options.history)
        except BaselineError as error:
            state.history_error = f"--ir-history: {error}"
        for key, suite in search.current.suites.items():
            metric = str(suite.primary_metric)
            series = select_series(state.history, key.path, str(key.retriever), metric)
            history[key] = [value for _, value in series]
    search.facts = replace(
        search.facts,
        history=history,
        addopts_saved_runs=saved_runs,
        is_update=options.updates_baseline,
        update_command=quote_command(format_update_command(config)),
    )


def write_answers(config: pytest.Config, state: PluginState, decision: Decision) -> list[str]:
    """Write baselines, saved runs and the history, and return what could not be written."""
    search, options = state.search, state.options
    errors: list[str] = []
    if state.history_error:
        errors.append(state.history_error)
    elif options.history:
        try:
            path = config.invocation_params.dir / options.history
            append_history(path, _list_history_entries(search, decision))
        except (OSError, BaselineError) as error:
            errors.append(f"--ir-history: {error}")
    if options.updates_baseline:
        try:
            state.baseline_updates = search.update_baselines(options.update_query_id)
        except OSError as error:
            errors.append(f"The baseline could not be written. {error.strerror or error}")
        errors += [update.refusal for update in state.baseline_updates if update.refusal]
    if state.save_folder is not None and search.runs:
        from pytest_irquality.baselines.saved_runs import save_runs

        try:
            save_runs(state.save_folder, search.runs, shard=search.shard, commit=search.commit)
        except OSError as error:
            errors.append(f"--ir-save-runs: {error}")
    return errors


def _list_history_entries(search: SearchSession, decision: Decision) -> list[HistoryEntry]:
    """Return an entry for each suite of which all queries ran."""
    entries = []
    for evaluation in decision.current.evaluations:
        suite, comparison = evaluation.suite, evaluation.comparison
        key = SuiteKey(suite.path, suite.retriever)
        if key in search.selected_items or search.shard is not None or search.is_interrupted:
            continue
        values: dict[str, float] = {}
        changes: dict[str, float] = {}
        for metric in (*suite.metrics, suite.primary_metric):
            value, change = comparison.suite_value(metric), comparison.score(metric)
            if value is not None:
                values[str(metric)] = value
            if change is not None:
                changes[str(metric)] = change.delta
        entries.append(
            HistoryEntry(
                suite.path,
                str(suite.retriever),
                commit=search.commit,
                date=datetime.now(timezone.utc).isoformat(timespec="seconds"),
                values=values,
                changes=changes,
                baseline=compute_digest(evaluation.baseline_run or Run()),
                outcome=decision.outcome.name,
            )
        )
    return entries
