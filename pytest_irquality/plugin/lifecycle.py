"""A session with suites from its first to its last hook: configure, prepare, decide, conclude.

``activate`` creates the ``SearchSession`` and registers the hooks. Once all items are known,
``prepare_runs`` records what is selected and reads saved runs. Then items run queries (``items``).
After the last item, the process that reports decides, writes files, and sends test reports of its
own for what no item can check. With pytest-xdist, workers send what they retrieved, and the
controller decides.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Collection, Generator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from pytest_irquality.baselines.sources import BaselineError
from pytest_irquality.baselines.store import describe_update
from pytest_irquality.evaluation.decide import Decision
from pytest_irquality.evaluation.results import Outcome
from pytest_irquality.io.access import FileAccess
from pytest_irquality.io.escaping import escape_log_line, escape_log_lines, quote_command
from pytest_irquality.io.files import FileError, check_output
from pytest_irquality.io.git import describe_commit
from pytest_irquality.io.text import find_closest
from pytest_irquality.plugin import (
    collection,
    compat,
    items as plugin_items,
    options as plugin_options,
    services,
)
from pytest_irquality.plugin.collection import SuiteModule
from pytest_irquality.plugin.items import BASE_ITEM_NAME, SuiteItem
from pytest_irquality.plugin.options import (
    WORKER_INPUT,
    Options,
    get_command_line,
    is_only_in_addopts,
    is_run_without_tests,
)
from pytest_irquality.plugin.report_files import ReportWriter, list_annotations, render_section
from pytest_irquality.plugin.session import SearchSession, create_baseline_source, decode_retrieval
from pytest_irquality.plugin.state import (
    STATE_KEY,
    PluginState,
    get_state,
    is_controller,
    is_worker,
)
from pytest_irquality.reports.view_model import View
from pytest_irquality.retrieval.collect import ReportProgress
from pytest_irquality.suite.model import ItemKind

NODE_PREFIX = "search quality"
PROGRESS_INTERVAL_S = 5.0


# -- Configure -------------------------------------------------------------------------------------


def activate(config: pytest.Config, options: Options) -> None:
    """Create the ``SearchSession``, and register the hooks that fill it.

    Raises:
        pytest.UsageError: An option is wrong.
    """
    folder = config.invocation_params.dir
    for flag, name in options.outputs.items():
        try:
            check_output(folder / name, config.rootpath, options.suite_files)
        except FileError as error:
            raise pytest.UsageError(f"{flag}: {error}") from None
    gate = get_command_line(config).overridden_ini_keys.get("ir_gate")
    search = SearchSession(
        config.rootpath,
        is_strict=options.gate == "strict",
        strict_override=None if gate is None else gate == "strict",
        concurrency=options.concurrency,
        repeat=options.repeat,
        is_update=options.is_update,
        rate_files=_get_shared_prefix(config) if is_worker(config) else None,
        get_exceptions=plugin_items.get_exception_policy,
        create_progress=lambda name: _create_progress(config, name),
    )
    named_paths = [folder / argument.partition("::")[0] for argument in config.args]
    named_folders = [path if path.is_dir() else path.parent for path in named_paths]
    access = FileAccess(config.rootpath, options.files, tuple(named_folders))
    state = PluginState(options, search, access, tuple(services.list_declared(options)))
    config.stash[STATE_KEY] = state
    manager = config.pluginmanager
    try:
        if options.baseline:
            _set_baseline_source(config, state)
        if options.shard:
            from pytest_irquality.baselines.saved_runs import parse_shard

            search.shard = parse_shard(options.shard)
    except BaselineError as error:
        raise pytest.UsageError(str(error)) from None
    # Fixtures may ask which side of `run:` they are on.
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    patch.setenv("IRQUALITY_SIDE", os.environ.get("IRQUALITY_SIDE", "current"))
    manager.register(collection, "irquality-collection")
    if not manager.is_registered(services):
        manager.register(services, "irquality-services")
    manager.register(plugin_items, "irquality-items")
    manager.register(sys.modules[__name__], "irquality-lifecycle")
    if not is_worker(config):
        manager.register(ConclusionPlugin(config), "irquality-conclusion")


def _set_baseline_source(config: pytest.Config, state: PluginState) -> None:
    """Use the baseline of ``--ir-baseline`` in place of the committed files."""
    options = state.options
    if options.compares_with_commit:
        from pytest_irquality.plugin.base_branch import BaseBranchPlugin

        state.base_plugin = BaseBranchPlugin(config, state)
        state.search.base = state.base_plugin.branch
        config.pluginmanager.register(state.base_plugin, "irquality-base-branch")
    else:
        state.search.current.source = create_baseline_source(
            options.baseline, config.invocation_params.dir, root=config.rootpath
        )


def _get_shared_prefix(config: pytest.Config) -> Path:
    """Return the beginning of the names of files that all workers of a session share."""
    session_id = getattr(config, "workerinput", {})["testrunuid"]
    prefix = Path(tempfile.gettempdir(), f"irquality-{session_id}")

    def remove_files() -> None:
        for file in prefix.parent.glob(f"{prefix.name}*"):
            file.unlink(missing_ok=True)

    config.add_cleanup(remove_files)
    return prefix


def _create_progress(config: pytest.Config, name: str) -> ReportProgress | None:
    """Return a function that reports progress, or ``None`` if nobody would read it."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or reporter.verbosity < 0 or is_worker(config):
        return None
    capture = config.pluginmanager.get_plugin("capturemanager")
    start = time.monotonic()
    next_line = start + PROGRESS_INTERVAL_S

    def report_progress(done: int, total: int) -> None:
        nonlocal next_line
        now = time.monotonic()
        if now < next_line or not 0 < done < total:
            return
        next_line = now + PROGRESS_INTERVAL_S
        seconds_left = round((now - start) * (total - done) / done)
        with capture.global_and_fixture_disabled() if capture else nullcontext():
            reporter.write_line(f"{name}: {done} of {total} calls, {seconds_left} s left")

    return report_progress


# -- Prepare ---------------------------------------------------------------------------------------


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Remember the folders that pytest collects."""
    compat.remember_folder_node(collector)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, object, object]:
    """Keep the items of the shard, after all other selection."""
    result = yield
    search = get_state(config).search
    deselected = [item for item in items if not _is_in_shard(search, item)]
    if deselected:
        config.hook.pytest_deselected(items=deselected)
        items[:] = [item for item in items if _is_in_shard(search, item)]
    return result


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    """Say so if the command line asks for suites and there are none."""
    state = get_state(config)
    has_base_suites = state.base_plugin is not None and state.base_plugin.suite_names
    if state.modules or has_base_suites or is_controller(config):
        return []
    patterns = " ".join(state.options.suite_files)
    return [f"No search-quality suite was found: no file in the test paths matches '{patterns}'."]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Prepare the runs, once all items are known."""
    prepare_runs(session.config, {item.nodeid for item in session.items})


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of pytest-xdist what was typed."""
    node.workerinput[WORKER_INPUT] = list(get_command_line(node.config).arguments)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: Sequence[str]) -> None:
    """Collect the suites that the first worker collected, before any worker runs an item."""
    if not get_state(node.config).modules:
        session: Any = node.config.pluginmanager.get_plugin("session")
        _collect_suites(session, ids)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Take what a worker retrieved."""
    if hasattr(report, "node") and hasattr(report, "ir_retrieval"):
        search = get_state(report.node.config).search
        search.add_retrieval(decode_retrieval(report.ir_retrieval))


def _is_in_shard(search: SearchSession, item: pytest.Item) -> bool:
    """Return whether the queries of the shard are enough for an item."""
    if search.shard is None or not isinstance(item, SuiteItem):
        return True
    if item.check_item.kind is ItemKind.QUERY:
        return search.shard.has_query(item.shared.suite.queries_by_id[item.check_item.query_id])
    return item.check_item.kind is ItemKind.ANSWERS


def _collect_suites(session: pytest.Session, ids: Sequence[str]) -> None:
    """Collect suites in the controller, which needs them to decide and collects nothing itself."""
    state = get_state(session.config)
    # With `--dist=loadgroup`, ids end with the name of a group.
    selected = {*ids, *(node_id.rpartition("@")[0] for node_id in ids)}
    # A base suite that the change leaves out must not become a current one.
    current_ids = [node_id for node_id in ids if f"::{BASE_ITEM_NAME}" not in node_id]
    for name in dict.fromkeys(node_id.partition("::")[0] for node_id in current_ids):
        path = session.config.rootpath / name
        is_suite = plugin_options.is_suite_path(state.options, path, is_named=True)
        if not (is_suite and path.is_file()):
            continue
        try:
            folder = compat.build_folder_node(session, path.parent)
            SuiteModule.create(folder, path).collect()
        except Exception as error:  # whatever a conftest raises
            state.search.current.add_error(name, f"{type(error).__name__}: {error}")
    if state.base_plugin is not None:
        all_items = [item for module in state.modules.values() for item in module.items]
        selected_items = [item for item in all_items if item.nodeid in selected]
        state.base_plugin.create_items(session, selected_items)
    prepare_runs(session.config, selected)


def prepare_runs(config: pytest.Config, selected: Collection[str]) -> None:
    """Prepare for the queries: record the selection, read saved runs, and run the base's code.

    Args:
        config: The configuration of the session, of which all suites are collected.
        selected: The node ids of the items that run.

    Raises:
        pytest.UsageError: Saved runs cannot be read, or the base's code cannot be run.
    """
    state = get_state(config)
    search, options = state.search, state.options
    record_selection(config, state, selected)
    suites = list(search.current.suites.values())
    if options.update_baseline and suites:
        query_ids = [query_id for suite in suites for query_id in suite.queries_by_id]
        if options.update_baseline not in query_ids:
            closest = find_closest(options.update_baseline, query_ids)
            hint = f" Did you mean '{closest}'?" if closest else ""
            raise pytest.UsageError(
                f"--ir-update-baseline: no suite has a query '{options.update_baseline}'.{hint}"
            )
    try:
        if options.runs:
            from pytest_irquality.baselines.saved_runs import read_saved_runs

            paths = [config.invocation_params.dir / name for name in options.runs]
            base_suites = list(search.base.suites.values()) if search.base is not None else []
            saved = read_saved_runs(paths, suites, base_suites=base_suites, root=search.root)
            search.use_saved_runs(saved)
        if state.base_plugin is not None:
            state.base_plugin.run_code(config)
    except BaselineError as error:
        raise pytest.UsageError(str(error)) from None


def record_selection(config: pytest.Config, state: PluginState, selected: Collection[str]) -> None:
    """Record which items of each suite run, and which ones only ``addopts`` deselects.

    ==================  =========================================================================
    ``module.items``    all items that were collected
    ``selected``        the node ids that run, after every selection
    ``typed_items``     the items that the typed command line alone would run
    ``names``           the names of the items of a suite that run
    ``typed_names``     these, and the items that only ``addopts`` or a conftest deselects
    ==================  =========================================================================
    """
    left_out_count = 0
    for module in state.modules.values():
        typed_items = _find_typed_items(config, state.search, module.items, selected)
        for key in {item.shared.key for item in module.items}:
            own_items = [item for item in module.items if item.shared.key == key]
            names, typed_names = set(), set()
            for item in own_items:
                if item.nodeid in selected:
                    names.add(item.check_item.name)
                if item.nodeid in selected or item in typed_items:
                    typed_names.add(item.check_item.name)
            state.search.select_items(key, names, typed_names)
            left_out_count += len(typed_names - names)
    if left_out_count:
        selection = plugin_options.describe_addopts_selection(config) or "a conftest or plugin"
        state.search.facts = replace(
            state.search.facts, addopts_selection=selection, addopts_deselected_count=left_out_count
        )


def _find_typed_items(
    config: pytest.Config,
    search: SearchSession,
    items: Sequence[pytest.Item],
    selected: Collection[str],
) -> set[pytest.Item]:
    """Return the items that the typed command line alone selects."""
    typed = get_command_line(config)
    namespace = typed.namespace
    uses_cache = getattr(namespace, "lf", False) or getattr(namespace, "stepwise", False)
    if typed.has_node_ids or uses_cache:
        # What these select cannot be recomputed, so no deselected item counts as a gap.
        return {item for item in items if item.nodeid in selected}
    candidates = compat.find_typed_items(config, items, namespace)
    return {item for item in candidates if _is_in_shard(search, item)}


# -- Decide and conclude ---------------------------------------------------------------------------


class ConclusionPlugin:
    """Hooks that decide once everything ran, in the process that reports."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.state = get_state(config)
        self.writer = ReportWriter(config, self.state)
        self.decision: Decision | None = None
        self.view: View | None = None
        self.has_failures = False
        # Printed above the report: what was written, and what could not be.
        self.update_lines: list[str] = []
        self.errors: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember whether anything is red."""
        if report.failed:
            self.has_failures = True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Decide after the items ran, also if Ctrl-C or ``-x`` ended the session early."""
        search = self.state.search
        try:
            return (yield)
        except (KeyboardInterrupt, session.Interrupted, session.Failed):
            search.is_interrupted = True
            raise
        finally:
            if search.needs_decision and not is_run_without_tests(self.config):
                self._conclude(session)

    def _conclude(self, session: pytest.Session) -> None:
        """Decide; write history, baselines, saved runs and reports; then report what fails."""
        search, options = self.state.search, self.state.options
        search.commit = describe_commit(search.root)
        update_command = plugin_options.format_command(self.config, is_update=True)
        runs = options.runs if is_only_in_addopts(self.config, "ir_runs") else ()
        search.facts = replace(
            search.facts,
            addopts_saved_runs=" ".join(runs),
            update_command=quote_command(update_command),
        )
        history = self._read_history() if options.history else ()
        self.decision = search.decide()
        self._write_records(self.decision)
        self.view, errors = self.writer.write_reports(self.decision, history, update_command)
        self.errors += errors
        self._log_findings(session, self.decision)

    def _read_history(self) -> Sequence[Any]:
        from pytest_irquality.baselines.history import read_history

        path = self.config.invocation_params.dir / self.state.options.history
        try:
            entries = read_history(path)
        except BaselineError as error:
            self.errors.append(f"--ir-history: {error}")
            return ()
        self.state.search.add_history(entries)
        return entries

    def _write_records(self, decision: Decision) -> None:
        """Write the history, the baselines and saved runs, as options say."""
        search, options = self.state.search, self.state.options
        folder = self.config.invocation_params.dir
        if options.history and not self.errors:
            from pytest_irquality.baselines.history import append_history

            try:
                entries = search.create_history_entries(decision)
                append_history(folder / options.history, entries)
            except (OSError, BaselineError) as error:
                self.errors.append(f"--ir-history: {error}")
        if options.is_update:
            try:
                for update in search.update_baselines(options.update_baseline or ""):
                    line = escape_log_line(str(describe_update(update)))
                    (self.errors if update.refusal else self.update_lines).append(line)
            except OSError as error:
                reason = error.strerror or error
                self.errors.append(f"The baseline could not be written. {reason}")
        if options.save_runs and search.runs:
            from pytest_irquality.baselines.saved_runs import save_runs

            try:
                target = folder / options.save_runs
                save_runs(target, search.runs, shard=search.shard, commit=search.commit)
            except (OSError, BaselineError) as error:
                self.errors.append(f"--ir-save-runs: {error}")

    def _log_findings(self, session: pytest.Session, decision: Decision) -> None:
        """Report each finding that no item has, and the build if nothing else is red."""
        findings = [("", result) for result in decision.current.shared_results]
        base_name = decision.base.branch.name if decision.base else ""
        findings += [(base_name, failure) for failure in decision.base_failures]
        for branch_name, result in findings:
            if result.outcome < Outcome.REVIEW:
                continue
            words = filter(None, [branch_name, result.subject, result.label, result.item])
            name = " ".join(dict.fromkeys(words)).replace("::", ": :")
            is_failed = decision.strict or (result.outcome >= Outcome.FAILED and not branch_name)
            _log_report(session, name, f"{result.subject}: {result.text}", is_failed=is_failed)
        # _log_report above set has_failures if a finding failed.
        if not self.has_failures and (self.errors or decision.exit_status):
            last_paragraph = str(self.view.last_paragraph) if self.view else ""
            text = "\n".join([last_paragraph, *self.errors])
            _log_report(session, "build", text, is_failed=True)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Apply the exit status of the decision, if pytest's own is not worse."""
        replaceable = (
            pytest.ExitCode.OK,
            pytest.ExitCode.TESTS_FAILED,
            pytest.ExitCode.NO_TESTS_COLLECTED,
        )
        if self.decision is not None and session.exitstatus in replaceable:
            status = max(self.decision.exit_status, int(bool(self.errors)))
            # 1 from pytest already says "failed"; only 2 may replace it.
            if status == 2 or session.exitstatus != pytest.ExitCode.TESTS_FAILED:
                session.exitstatus = pytest.ExitCode(status)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print our section."""
        if self.view is None:
            return
        terminalreporter.section("search quality")
        lines = [*self.update_lines, *self.errors]
        lines += render_section(self.config, self.view, terminalreporter.verbosity)
        for line in lines:
            is_red = line.lstrip().startswith(("✗", "FAILED", "ERROR"))
            terminalreporter.write_line(line, red=is_red)
        for line in list_annotations(self.config, self.view):
            terminalreporter.write_line(line)


def _log_report(session: pytest.Session, name: str, text: str, *, is_failed: bool) -> None:
    """Report a test that no item ran, so that JUnit and the exit status have it too.

    Args:
        session: The session.
        name: The name after ``search quality::`` in the node id.
        text: What was found.
        is_failed: Whether the test fails. Otherwise it is xfailed.
    """
    name, text = escape_log_line(name), escape_log_lines(text)
    node_id, location = f"{NODE_PREFIX}::{name}", (NODE_PREFIX, None, name)
    hook = session.config.hook
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None:
        terminal.ensure_newline()
    session.testscollected += 1
    hook.pytest_runtest_logstart(nodeid=node_id, location=location)
    phases: tuple[Literal["setup", "call", "teardown"], ...] = ("setup", "call", "teardown")
    for when in phases:
        report = pytest.TestReport(node_id, location, {}, "passed", None, when)
        if when == "call" and is_failed:
            report.outcome = "failed"
            report.longrepr = compat.make_failure(text, NODE_PREFIX)
        elif when == "call":
            report.outcome = "skipped"
            report.wasxfail = text.partition("\n")[0]
        hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=node_id, location=location)
