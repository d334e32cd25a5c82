"""Activation of the plugin: from options to a session, before anything is collected."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_irquality.baselines.sources import BaselineError
from pytest_irquality.io.access import FileAccess
from pytest_irquality.io.files import FileError, check_output
from pytest_irquality.plugin import (
    collection,
    conclusion,
    decision_reports,
    items,
    options as plugin_options,
    services,
)
from pytest_irquality.plugin.items import STATE_KEY, PluginState, is_worker
from pytest_irquality.plugin.options import (
    OPTIONS_WITHOUT_RUNNING,
    Options,
    get_command_line,
    is_only_in_addopts,
)
from pytest_irquality.plugin.session import SearchSession

# Options of pytest that write to a file, by their attribute.
_PYTEST_OUTPUTS = {"xmlpath": "--junitxml", "log_file": "--log-file", "debug": "--debug"}


def activate(config: pytest.Config, options: Options) -> None:
    """Create the session of searches, and register the hooks that fill it.

    Raises:
        pytest.UsageError: An option is wrong.
    """
    if STATE_KEY in config.stash:
        return
    plugin_options.check_options(config, options)
    _refuse_addopts(config, options)
    _refuse_outputs(config, options)
    root = config.rootpath
    overridden = get_command_line(config).overridden_ini_keys.get("ir_gate")
    search = SearchSession(
        root,
        is_strict=options.gate == "strict",
        gate=None if overridden is None else overridden == "strict",
        concurrency=options.concurrency,
        repeat=options.repeat,
        is_update=options.updates_baseline,
        rate_files=_get_shared_prefix(config),
    )
    state = PluginState(options, search)
    state.declared_retrievers = (*options.retrievers, *services.list_names(options))
    state.file_access = FileAccess(root, options.files, tuple(_list_named_folders(config)))
    config.stash[STATE_KEY] = state
    folder = config.invocation_params.dir
    try:
        if options.save_runs:
            from pytest_irquality.baselines.saved_runs import parse_shard

            state.save_folder = folder / options.save_runs
            search.shard = parse_shard(options.shard) if options.shard else None
        if options.compares_with_commit:
            from pytest_irquality.plugin import base_suites

            base_suites.open_base_branch(config, state)
            config.pluginmanager.register(base_suites, "irquality-base-modules")
        elif options.baseline:
            from pytest_irquality.baselines.saved_runs import SavedBaselines

            path = folder / options.baseline
            if not path.exists():
                raise pytest.UsageError(
                    f"--ir-baseline: There is no file or folder '{options.baseline}'. A branch or"
                    f" commit is `git:{options.baseline}`."
                )
            search.current.source = SavedBaselines(path, root=root)
    except BaselineError as error:
        raise pytest.UsageError(str(error)) from None
    _set_side(config)
    manager = config.pluginmanager
    manager.register(collection, "irquality-collection")
    manager.register(items, "irquality-items")
    manager.register(conclusion, "irquality-conclusion")
    if not is_worker(config):
        manager.register(decision_reports.Reporter(config), "irquality-reporter")


def _refuse_addopts(config: pytest.Config, options: Options) -> None:
    """Refuse options in ``addopts`` with which a change could accept its own results."""
    if is_worker(config):
        return
    if options.updates_baseline and is_only_in_addopts(config, "ir_update_baseline"):
        raise pytest.UsageError(
            "--ir-update-baseline comes from 'addopts' in the ini file, so every run would accept"
            " its own results. Remove it there, and type it when you want to update."
        )
    for name, flag in OPTIONS_WITHOUT_RUNNING.items():
        if is_only_in_addopts(config, name):
            raise pytest.UsageError(
                f"{flag} comes from 'addopts' in the ini file, so no query would run. Remove it"
                " there."
            )


def _refuse_outputs(config: pytest.Config, options: Options) -> None:
    """Refuse output options that name a suite, a tracked file or a file that is no report."""
    folder = config.invocation_params.dir
    patterns = options.suite_patterns
    for flag, name in options.outputs.items():
        if name:
            try:
                check_output(folder / name, config.rootpath, patterns)
            except FileError as error:
                raise pytest.UsageError(f"{flag}: {error}") from None
    others: dict[str, object] = {
        flag: getattr(config.option, name, None) for name, flag in _PYTEST_OUTPUTS.items()
    }
    others.update({"--ir-save-runs": options.save_runs, "--ir-history": options.history})
    if config.pluginmanager.has_plugin("logging"):
        others["Ini key log_file"] = config.getini("log_file")
    for flag, value in others.items():
        if isinstance(value, str) and value and any(map(Path(value).match, patterns)):
            raise pytest.UsageError(
                f"{flag}: '{value}' is named like a suite. Choose another file."
            )


def _list_named_folders(config: pytest.Config) -> Iterator[Path]:
    """Yield the folders that the command line names, and those of the files it names."""
    for argument in config.args:
        path = config.invocation_params.dir / argument.partition("::")[0]
        yield path if path.is_dir() else path.parent


def _get_shared_prefix(config: pytest.Config) -> Path | None:
    """Return the beginning of the names of files that all workers of a session share."""
    session_id = getattr(config, "workerinput", {}).get("testrunuid")
    if session_id is None:
        return None
    prefix = Path(tempfile.gettempdir(), f"irquality-{session_id}")

    def remove_files() -> None:
        for file in prefix.parent.glob(f"{prefix.name}*"):
            file.unlink(missing_ok=True)

    config.add_cleanup(remove_files)
    return prefix


def _set_side(config: pytest.Config) -> None:
    """Tell fixtures which side of ``run:`` they are on."""
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    patch.setenv("IRQUALITY_SIDE", os.environ.get("IRQUALITY_SIDE", "current"))
