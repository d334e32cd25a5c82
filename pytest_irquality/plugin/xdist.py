"""pytest-xdist: runs travel from workers to the controller, which collects suites itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_irquality.baselines.run_files import decode_run, encode_run
from pytest_irquality.evaluation.branches import SuiteKey
from pytest_irquality.plugin import command_line, compat
from pytest_irquality.plugin.base_modules import ANSWERS_INPUT, ITEM_NAME
from pytest_irquality.plugin.options import is_suite_path
from pytest_irquality.plugin.session import Retrieval
from pytest_irquality.plugin.state import PluginState, get_state
from pytest_irquality.suite.model import RetrieverId, RunKey


def encode_retrieval(retrieval: Retrieval) -> str:
    """Encode what an item retrieved as one string, which is cheaper to send than nested data."""
    return json.dumps(
        {
            "key": retrieval.key,
            "runs": [[key, encode_run(run)] for key, run in retrieval.runs.items()],
            "corpus": retrieval.corpus,
            "error": retrieval.error,
            "skip": retrieval.skip_reason,
            "is_base": retrieval.is_base,
        }
    )


def decode_retrieval(text: str) -> Retrieval:
    """Decode what a worker sent."""
    data = json.loads(text)
    path, retriever = data["key"]
    runs = {}
    for (run_retriever, *rest), run in data["runs"]:
        runs[RunKey(RetrieverId(*run_retriever), *rest)] = decode_run(run)
    key = SuiteKey(path, RetrieverId(*retriever))
    return Retrieval(
        key, runs, data["corpus"], data["error"], data["skip"], is_base=data["is_base"]
    )


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker what was typed, and which commit the base branch is."""
    typed = command_line.get_command_line(node.config)
    node.workerinput[command_line.WORKER_INPUT] = list(typed.arguments)
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
    from pytest_irquality.plugin import base_modules, conclusion
    from pytest_irquality.plugin.collection import SuiteModule

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
        base_modules.create_base_items(session, selected_items)
    conclusion.prepare_runs(session.config, state, selected)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Take what a worker retrieved."""
    encoded = getattr(report, "ir_retrieval", None)
    if encoded is not None and hasattr(report, "node"):
        state = get_state(report.node.config)
        state.search.add_retrieval(decode_retrieval(encoded))
        if state.search.save_checkpoint is not None:
            state.search.save_checkpoint()
    error = getattr(report, "ir_error", None)
    if error is not None and hasattr(report, "node"):
        path, text = error
        get_state(report.node.config).search.current.add_error(path, text)
