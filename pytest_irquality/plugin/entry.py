"""The entry point that pytest loads in every project that has the plugin installed.

It imports nothing heavy. The modules that evaluate suites are imported once there is a suite, or an
option that needs one.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Generator, Iterable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_irquality.plugin import options as plugin_options
from pytest_irquality.plugin.options import OPTIONS_KEY, Options, is_base_process, is_worker

if TYPE_CHECKING:
    from pytest_irquality.metrics import Definition

_PACKAGE_PREFIX = "pytest_irquality."
_UNCOLLECTED_KEY = pytest.StashKey[list[Path]]()


class HookSpecs:
    """The hooks that a project's conftest can implement."""

    @staticmethod
    @pytest.hookspec
    def pytest_ir_metrics(config: pytest.Config) -> Iterable[Definition]:  # type: ignore[empty-body]
        """Return own metrics, made with ``pytest_irquality.make_own_metric``.

        The suites in and below the folder of the conftest can use them.
        """


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare options and ini keys."""
    plugin_options.add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the hooks that a conftest can implement."""
    pluginmanager.add_hookspecs(HookSpecs)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None, object, object]:
    """Rewrite arguments before pytest reads paths from them and captures output."""
    plugin_options.refuse_suites_as_outputs(early_config)
    plugin_options.prepare_arguments(early_config, parser, args)
    writes_document = early_config.known_args_namespace.ir_json == plugin_options.STANDARD_OUTPUT
    if writes_document and not is_base_process():
        from pytest_irquality.plugin.report_files import StandardOutput

        StandardOutput(early_config)
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Run only the queries of the base branch if this is its process."""
    if is_base_process():
        from pytest_irquality.plugin import base_process

        base_process.become_base_process(config)


def pytest_configure(config: pytest.Config) -> None:
    """Check the options, and activate the plugin if they need suites."""
    config.addinivalue_line("markers", "ir_suite: an item of a search-quality suite.")
    typed = plugin_options.get_command_line(config)
    if typed.implies_suites and not config.option.ir_init:
        config.option.ir_suite = config.option.ir_suite or ""
    options = plugin_options.read_options(config)
    config.stash[OPTIONS_KEY] = options
    if options.url or options.command:
        from pytest_irquality.plugin import retriever_fixtures

        retriever_fixtures.register(config, options)
    if is_base_process():
        return
    plugin_options.refuse_removed_ini_keys(config)
    needs_suites = not options.init and _needs_suites(config, options)
    if needs_suites or options.init or options.suite is not None:
        plugin_options.check_options(config, options)
    if options.init:
        from pytest_irquality.plugin.first_suite import FirstSuitePlugin

        config.pluginmanager.register(FirstSuitePlugin(config, options), "irquality-first-suite")
    elif needs_suites:
        ensure_active(config)


class _PlainImports:
    """Imports this package without pytest's rewriting of assertions, which it does not need.

    Rewritten modules are read from their own bytecode files in small pieces, and their sources are
    hashed, which takes longer than everything else about an import.
    """

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        """Find a module of this package, and leave other modules to pytest."""
        return PathFinder.find_spec(name, path) if name.startswith(_PACKAGE_PREFIX) else None


def ensure_active(config: pytest.Config) -> None:
    """Register the plugins that collect and evaluate suites, unless they are registered."""
    if config.pluginmanager.has_plugin("irquality-lifecycle"):
        return
    if _PlainImports not in sys.meta_path:
        sys.meta_path.insert(0, _PlainImports)
    # Modules stay. Looking for garbage while they are imported, and when pytest and Python end,
    # would take half as long as importing them.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        from pytest_irquality.plugin import lifecycle
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()
    lifecycle.activate(config, config.stash[OPTIONS_KEY])


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect suites."""
    config = parent.config
    options = config.stash[OPTIONS_KEY]
    if is_base_process() or options.init:
        return None
    is_named = parent.session.isinitpath(file_path)
    if not plugin_options.is_suite_path(options, file_path, is_named=is_named):
        if any(map(file_path.match, options.suite_files)):
            config.stash.setdefault(_UNCOLLECTED_KEY, []).append(file_path)
        return None
    ensure_active(config)
    from pytest_irquality.plugin.collection import SuiteModule

    return SuiteModule.create(parent, file_path)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    """Say how to run suites if there are suites and no tests."""
    suites = config.stash.get(_UNCOLLECTED_KEY, [])
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and suites:
        from pytest_irquality.io.text import format_count

        number = format_count(len(suites), "search-quality suite")
        terminalreporter.write_line(f"Found {number}. Run `pytest --ir-suite` to evaluate.")


def _needs_suites(config: pytest.Config, options: Options) -> bool:
    """Return whether this session is about suites, as far as is known before collecting.

    In ``addopts``, ``--ir-suite`` means "suites too", and nothing is loaded until there is one. The
    controller of pytest-xdist never collects any.
    """
    if options.is_update or options.baseline or options.save_runs or options.runs:
        return True
    if options.suite is not None:
        typed = plugin_options.get_command_line(config).arguments
        is_distributed = bool(getattr(config.option, "tx", None)) or is_worker(config)
        if is_distributed or any(argument.startswith("--ir-") for argument in typed):
            return True
    folder = config.invocation_params.dir
    for argument in config.args:
        path = Path(folder, argument.partition("::")[0])
        if plugin_options.is_suite_path(options, path, is_named=True):
            return True
    return False
