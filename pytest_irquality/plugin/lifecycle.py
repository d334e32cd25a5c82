"""A session with suites from its first to its last hook: configure, prepare, decide, conclude.

``activate`` creates the ``SearchSession`` and registers the hooks. Once all items are known,
``prepare_runs`` records what is selected and reads saved runs. Then items run queries (``items``).
After the last item, the process that reports decides, writes files, and reports findings that
belong to no item as tests of their own. With pytest-xdist, workers send their answers, and the
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
from pytest_irquality.evaluation.evaluate import SuiteKey
from pytest_irquality.evaluation.results import Outcome
from pytest_irquality.io.access import FileAccess
from pytest_irquality.io.decoding import pause_garbage_collection
from pytest_irquality.io.escaping import escape_log_line, escape_log_lines
from pytest_irquality.io.files import FileError
from pytest_irquality.io.git import describe_commit
from pytest_irquality.io.text import find_closest
from pytest_irquality.plugin import compat, items as items_plugin, report_files, retriever_fixtures
from pytest_irquality.plugin.collection import STATE_KEY, PluginState, SuiteModule, get_state
from pytest_irquality.plugin.items import BASE_ITEM_NAME, SuiteItem, get_exception_policy
from pytest_irquality.plugin.options import (
    TYPED_ARGUMENTS_KEY,
    Options,
    describe_addopts_selection,
    get_command_line,
    is_controller,
    is_only_in_addopts,
    is_suite_path,
    is_without_evaluation,
    is_worker,
    list_command_words,
)
from pytest_irquality.plugin.session import (
    SearchSession,
    create_baseline_source,
    decode_item_answers,
)
from pytest_irquality.reports.view_model import View
from pytest_irquality.retrieval.collect import ReportProgress
from pytest_irquality.suite.model import ItemKind, Suite

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
            report_files.check_output(folder / name, config.rootpath, options.suite_files)
        except FileError as error:
            raise pytest.UsageError(f"{flag}: {error}") from None
    gate = get_command_line(config).overridden_ini_keys.get("ir_gate")
    search_session = SearchSession(
        config.rootpath,
        is_strict=options.gate == "strict",
        strict_override=None if gate is None else gate == "strict",
        concurrency=options.concurrency,
        repeat=options.repeat,
        is_update=options.is_update,
        rate_file_prefix=_create_shared_prefix(config) if is_worker(config) else None,
        get_exceptions=get_exception_policy,
        create_progress=lambda name: _create_progress(config, name),
    )
    # A suite outside the project may name files next to it if the command line names the folder.
    named_paths = [folder / argument.partition("::")[0] for argument in config.args]
    named_folders = [path if path.is_dir() else path.parent for path in named_paths]
    access = FileAccess(config.rootpath, options.files, tuple(named_folders))
    state = PluginState(
        options, search_session, access, tuple(retriever_fixtures.list_declared_retrievers(options))
    )
    config.stash[STATE_KEY] = state
    manager = config.pluginmanager
    if options.baseline:
        _set_baseline_source(config, state)
    if options.shard:
        from pytest_irquality.baselines.saved_runs import parse_shard

        try:
            search_session.plan.shard = parse_shard(options.shard)
        except BaselineError as error:
            raise pytest.UsageError(f"--ir-save-runs: {error}") from None
    # Under `run:`, fixtures can read for which branch they run.
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    patch.setenv("IRQUALITY_SIDE", os.environ.get("IRQUALITY_SIDE", "current"))
    # They are registered already if the ini file declares a retriever.
    if not manager.is_registered(retriever_fixtures):
        manager.register(retriever_fixtures, "irquality-retriever-fixtures")
    manager.register(items_plugin, "irquality-items")
    manager.register(sys.modules[__name__], "irquality-lifecycle")
    if not is_worker(config):
        manager.register(ConclusionPlugin(config), "irquality-conclusion")


def _set_baseline_source(config: pytest.Config, state: PluginState) -> None:
    """Use the baseline of ``--ir-baseline`` in place of the committed files."""
    options = state.options
    if options.compares_with_commit:
        from pytest_irquality.plugin.base_branch import BaseBranchPlugin

        state.base_plugin = BaseBranchPlugin(config, state)
        state.search_session.add_base_branch(state.base_plugin.branch)
        config.pluginmanager.register(state.base_plugin, "irquality-base-branch")
    else:
        folder, root = config.invocation_params.dir, config.rootpath
        try:
            source = create_baseline_source(options.baseline, folder, root=root)
        except BaselineError as error:
            raise pytest.UsageError(f"--ir-baseline: {error}") from None
        state.search_session.current.source = source


def _create_shared_prefix(config: pytest.Config) -> Path:
    """Choose a prefix for files that all workers share, and remove these files at the end.

    Each worker removes them. A worker that still runs creates them again, and loses only pauses.
    """
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
        if now < next_line or not done:
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
    search_session = get_state(config).search_session
    deselected = [item for item in items if not _is_in_shard(search_session, item)]
    if deselected:
        config.hook.pytest_deselected(items=deselected)
        items[:] = [item for item in items if _is_in_shard(search_session, item)]
    return result


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    """Say so if the command line asks for suites and there are none."""
    state = get_state(config)
    has_base_suites = state.base_plugin is not None and state.base_plugin.suite_paths
    if state.modules or has_base_suites or is_controller(config):
        return []
    patterns = " ".join(state.options.suite_files)
    return [f"No search-quality suite was found: no file in the test paths matches '{patterns}'."]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Prepare the runs, once all items are known."""
    prepare_runs(session.config, {item.nodeid for item in session.items})


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Send the typed command line to a worker of pytest-xdist."""
    node.workerinput[TYPED_ARGUMENTS_KEY] = list(get_command_line(node.config).arguments)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: Sequence[str]) -> None:
    """Collect the suites that the first worker collected, before any worker runs an item."""
    if not get_state(node.config).modules:
        session: Any = node.config.pluginmanager.get_plugin("session")
        _collect_suites(session, ids)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add the answers that a worker of pytest-xdist collected."""
    if hasattr(report, "node") and hasattr(report, "ir_answers"):
        search_session = get_state(report.node.config).search_session
        search_session.add_item_answers(decode_item_answers(report.ir_answers))


def _is_in_shard(search_session: SearchSession, item: pytest.Item) -> bool:
    """Return whether the queries of the shard are enough for an item."""
    shard = search_session.plan.shard
    if shard is None or not isinstance(item, SuiteItem):
        return True
    if item.check_item.kind is ItemKind.QUERY:
        return shard.has_query(item.shared.suite.queries_by_id[item.check_item.query_id])
    return item.check_item.kind is ItemKind.ANSWERS


def _collect_suites(session: pytest.Session, ids: Sequence[str]) -> None:
    """Collect suites in the controller, which needs them to decide and collects nothing itself."""
    state = get_state(session.config)
    # With `--dist=loadgroup`, ids end with the name of a group.
    selected_node_ids = {*ids, *(node_id.rpartition("@")[0] for node_id in ids)}
    # A base suite that the change leaves out must not become a current one.
    current_ids = [node_id for node_id in ids if f"::{BASE_ITEM_NAME}" not in node_id]
    for name in dict.fromkeys(node_id.partition("::")[0] for node_id in current_ids):
        path = session.config.rootpath / name
        is_suite = is_suite_path(state.options, path, is_named=True)
        if not (is_suite and path.is_file()):
            continue
        try:
            folder = compat.build_folder_node(session, path.parent)
            SuiteModule.create(folder, path).collect()
        except Exception as error:  # whatever a conftest raises
            state.search_session.current.add_error(name, f"{type(error).__name__}: {error}")
    if state.base_plugin is not None:
        all_items = [item for module in state.modules.values() for item in module.items]
        selected_items = [item for item in all_items if item.nodeid in selected_node_ids]
        state.base_plugin.create_items(session, selected_items)
    prepare_runs(session.config, selected_node_ids)


def prepare_runs(config: pytest.Config, selected_node_ids: Collection[str]) -> None:
    """Record the selection, read saved runs, and run the code of the base branch.

    Args:
        config: The configuration of the session, whose suites are all collected.
        selected_node_ids: The items that run.

    Raises:
        pytest.UsageError: Saved runs cannot be read, the code of the base branch cannot be run, or
            ``--ir-update-baseline`` names an unknown query.
    """
    state = get_state(config)
    search_session, options = state.search_session, state.options
    record_selection(config, state, selected_node_ids)
    suites = list(search_session.current.suites.values())
    if options.update_baseline and suites:
        _check_updated_query(options.update_baseline, suites)
    try:
        if options.runs:
            from pytest_irquality.baselines.saved_runs import read_saved_runs

            paths = [config.invocation_params.dir / name for name in options.runs]
            base = search_session.base
            base_suites = list(base.suites.values()) if base is not None else []
            saved = read_saved_runs(paths, suites, base_suites=base_suites, root=config.rootpath)
            search_session.use_saved_runs(saved)
        if state.base_plugin is not None:
            state.base_plugin.run_code(config)
    except BaselineError as error:
        raise pytest.UsageError(str(error)) from None


def _check_updated_query(query_id: str, suites: Sequence[Suite]) -> None:
    """Refuse to update the baseline of a query that no suite has."""
    query_ids = [known_id for suite in suites for known_id in suite.queries_by_id]
    if query_id not in query_ids:
        closest = find_closest(query_id, query_ids)
        hint = f" Did you mean '{closest}'?" if closest else ""
        raise pytest.UsageError(f"--ir-update-baseline: no suite has a query '{query_id}'.{hint}")


def record_selection(
    config: pytest.Config, state: PluginState, selected_node_ids: Collection[str]
) -> None:
    """Record which items of each suite run, and which ones only ``addopts`` deselects."""
    search_session = state.search_session
    deselected_count = 0
    for module in state.modules.values():
        typed_items = _find_typed_items(config, search_session, module.items, selected_node_ids)
        items_by_key: dict[SuiteKey, list[SuiteItem]] = {}
        for item in module.items:
            items_by_key.setdefault(item.shared.key, []).append(item)
        for key, own_items in items_by_key.items():
            names = {i.check_item.name for i in own_items if i.nodeid in selected_node_ids}
            typed_names = {i.check_item.name for i in own_items if i in typed_items}
            names_without_addopts = names | typed_names
            search_session.plan.record_items(key, names, names_without_addopts)
            deselected_count += len(names_without_addopts - names)
    if deselected_count:
        selection = describe_addopts_selection(config) or "a conftest or plugin"
        search_session.facts = replace(
            search_session.facts,
            addopts_selection=selection,
            addopts_deselected_count=deselected_count,
        )


def _find_typed_items(
    config: pytest.Config,
    search_session: SearchSession,
    items: Sequence[pytest.Item],
    selected_node_ids: Collection[str],
) -> set[pytest.Item]:
    """Return the items that the typed command line alone selects."""
    typed = get_command_line(config)
    namespace = typed.namespace
    uses_cache = getattr(namespace, "lf", False) or getattr(namespace, "stepwise", False)
    if typed.has_node_ids or uses_cache:
        # The selection by these cannot be recomputed, so no deselected item counts as a gap.
        return {item for item in items if item.nodeid in selected_node_ids}
    candidates = compat.find_typed_items(config, items, namespace)
    return {item for item in candidates if _is_in_shard(search_session, item)}


# -- Decide and conclude ---------------------------------------------------------------------------


class ConclusionPlugin:
    """Hooks that decide once everything has run, in the process that reports."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.state = get_state(config)
        self.writer = report_files.ReportWriter(config, self.state)
        self.decision: Decision | None = None
        self.view: View | None = None
        # Printed above the report: what was written, and what could not be.
        self.update_lines: list[str] = []
        self.errors: list[str] = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Decide after the items ran, even if Ctrl-C or ``-x`` ended the session early."""
        search_session = self.state.search_session
        try:
            return (yield)
        except (KeyboardInterrupt, session.Interrupted, session.Failed):
            search_session.is_interrupted = True
            raise
        finally:
            # Before the reports are built, because these take as much memory.
            compat.forget_silent_reports(self.config)
            if search_session.needs_decision and not is_without_evaluation(self.config):
                self._conclude(session)

    # Reports have rows for each query, and the garbage collector would visit them again and again.
    @pause_garbage_collection()
    def _conclude(self, session: pytest.Session) -> None:
        """Decide; write history, baselines, saved runs and reports; then report what fails."""
        search_session, options = self.state.search_session, self.state.options
        search_session.commit = describe_commit(search_session.root)
        update_command = list_command_words(self.config, is_update=True)
        runs = options.runs if is_only_in_addopts(self.config, "ir_runs") else ()
        search_session.facts = replace(search_session.facts, addopts_saved_runs=" ".join(runs))
        history = self._read_history() if options.history else None
        self.decision = search_session.decide()
        if history is not None:
            self._append_history(self.decision)
        self._write_answers()
        self.view, errors = self.writer.write_reports(self.decision, history or (), update_command)
        self.errors += errors
        self._report_findings(session, self.decision)

    def _read_history(self) -> Sequence[Any] | None:
        """Return the entries of earlier builds, or ``None`` if they cannot be read."""
        from pytest_irquality.baselines.history import read_history

        path = self.config.invocation_params.dir / self.state.options.history
        try:
            entries = read_history(path)
        except BaselineError as error:
            self.errors.append(f"--ir-history: {error}")
            return None
        self.state.search_session.add_history(entries)
        return entries

    def _append_history(self, decision: Decision) -> None:
        from pytest_irquality.baselines.history import append_history

        path = self.config.invocation_params.dir / self.state.options.history
        try:
            append_history(path, self.state.search_session.create_history_entries(decision))
        except (OSError, BaselineError) as error:
            self.errors.append(f"--ir-history: {error}")

    def _write_answers(self) -> None:
        """Write the answers as baselines and saved runs, as options say."""
        search_session, options = self.state.search_session, self.state.options
        if options.is_update:
            try:
                for update in search_session.update_baselines(options.update_baseline or ""):
                    line = escape_log_line(str(describe_update(update)))
                    (self.errors if update.refusal else self.update_lines).append(line)
            except OSError as error:
                reason = error.strerror or error
                self.errors.append(f"The baseline could not be written. {reason}")
        if options.save_runs and search_session.runs:
            from pytest_irquality.baselines.saved_runs import save_runs

            try:
                save_runs(
                    self.config.invocation_params.dir / options.save_runs,
                    search_session.runs,
                    shard=search_session.plan.shard,
                    commit=search_session.commit,
                )
            except (OSError, BaselineError) as error:
                self.errors.append(f"--ir-save-runs: {error}")

    def _report_findings(self, session: pytest.Session, decision: Decision) -> None:
        """Report each finding that no item has, and the build if nothing else failed."""
        findings = [("", result) for result in decision.current.shared_results]
        base_name = decision.base.branch.name if decision.base else ""
        findings += [(base_name, failure) for failure in decision.base_failures]
        for branch_name, result in findings:
            if result.outcome < Outcome.REVIEW:
                continue
            # The label and the item are often equal. "::" would look like a part of the node id.
            words = filter(None, [branch_name, result.subject, result.label, result.item])
            name = " ".join(dict.fromkeys(words)).replace("::", ": :")
            is_failed = decision.is_strict or (result.outcome >= Outcome.FAILED and not branch_name)
            _report_test(session, name, f"{result.subject}: {result.text}", is_failed=is_failed)
        # Failed findings count as failed tests, too.
        if not session.testsfailed and (self.errors or decision.exit_status):
            last_paragraph = str(self.view.last_paragraph) if self.view else ""
            text = "\n".join([last_paragraph, *self.errors])
            _report_test(session, "build", text, is_failed=True)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Apply the exit status of the decision, if pytest's own is not worse."""
        compat.forget_silent_reports(self.config)  # those of findings
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
        for text in self.update_lines:
            terminalreporter.write_line(text)
        for text in self.errors:
            terminalreporter.write_line(text, red=True)
        for line in report_files.render_section(self.config, self.view, terminalreporter.verbosity):
            terminalreporter.write_line(line.text, red=line.is_red)
        for text in report_files.list_annotations(self.config, self.view):
            terminalreporter.write_line(text)


def _report_test(session: pytest.Session, name: str, text: str, *, is_failed: bool) -> None:
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
