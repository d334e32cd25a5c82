"""Hooks of pytest, thin: everything hands over at once.

Nothing heavy is imported until a suite is collected.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_irquality.edges.collector import no_cycles
from pytest_irquality.plugin.internals import PARSER, collect_too
from pytest_irquality.plugin.options import (
    Options,
    imply_suites,
    is_suite,
    last_baselines,
    needs_suites,
)
from pytest_irquality.plugin.reports import OUT

if TYPE_CHECKING:
    from pytest_irquality.plugin.init import FirstSuite
    from pytest_irquality.plugin.suite_module import SuiteModule

IN_BASE = "PYTEST_IRQUALITY_BASE"
RUN = "run:"
EARLY = "--ir-json", "--ir-init"
"""What must be known before pytest captures output and looks for files."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options and ini keys."""
    for setting in (*Options.options(), *Options.ini_keys()):
        setting.declare(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Let a conftest add measures."""
    from pytest_irquality.plugin import hookspecs as hooks  # noqa: PLC0415

    pluginmanager.add_hookspecs(hooks)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None, None, None]:
    """Keep standard output for ``--ir-json=-``, before pytest captures anything.

    Collect the list of ``--ir-init`` like a file that was named. The fixtures are those of its
    folder.
    """
    early_config.stash[PARSER] = parser
    if not any(arg.startswith(EARLY) for arg in args):
        return (yield)
    options = Options(early_config, parser.parse_known_args(args))
    if options.json == OUT and IN_BASE not in os.environ:
        from pytest_irquality.plugin.standard_output import StandardOutput  # noqa: PLC0415

        StandardOutput(early_config)
    if options.init:
        collect_too(early_config, args, options.init)
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """In the process that answers for the base: over every option, before any of them acts."""
    if IN_BASE in os.environ:
        from pytest_irquality.plugin import in_base  # noqa: PLC0415

        in_base.take_over(config)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and where suites are asked for everything else."""
    config.addinivalue_line(
        "markers", "ir_suite: a check of a search-quality suite (added by pytest-irquality)."
    )
    imply_suites(config)
    last_baselines(config)
    options = Options(config)
    if options.url or options.command or IN_BASE in os.environ:
        from pytest_irquality.plugin import services  # noqa: PLC0415 - for these only

        services.register(config)
    # What is wrong with the options is told before anything is collected.
    if needs_suites(config):
        _activate(config)
    queries = options.init
    if queries:
        _start_first_suite(config, Path(config.invocation_params.dir, queries))


def _start_first_suite(config: pytest.Config, queries: Path) -> None:
    from pytest_irquality.plugin import init as first  # noqa: PLC0415 - for --ir-init only

    if not queries.exists():
        raise pytest.UsageError(f"--ir-init: {queries.name}: no such file")
    if not queries.is_file():
        raise pytest.UsageError(f"--ir-init: {queries.name}: no file")
    if first.target(queries).exists() and not hasattr(config, "workerinput"):
        raise pytest.UsageError(
            f"--ir-init: {first.target(queries).name} exists already, and is never written over"
        )
    config.pluginmanager.register(first, "irquality-first")
    config.pluginmanager.register(first.LastWords(), "irquality-first-words")


def _activate(config: pytest.Config) -> None:
    if config.pluginmanager.has_plugin("irquality-collection"):
        return
    options = Options(config)
    options.check()
    with no_cycles():
        from pytest_irquality.plugin import budget, collect, items, planning  # noqa: PLC0415
        from pytest_irquality.plugin.session import Session  # noqa: PLC0415

    _tell_the_side(config)
    config.pluginmanager.register(planning, "irquality-planning")
    config.pluginmanager.register(collect, "irquality-collection")
    config.pluginmanager.register(items, "irquality-running")
    config.pluginmanager.register(budget, "irquality-budget")
    if not hasattr(config, "workerinput"):  # the controller reports, or a run without xdist
        config.pluginmanager.register(Session(config), "irquality-session")
    if any(given.startswith(RUN) for given in options.baseline):
        from pytest_irquality.plugin import base  # noqa: PLC0415

        config.pluginmanager.register(base, "irquality-base")


def _tell_the_side(config: pytest.Config) -> None:
    """Tell fixtures which side they are on, and a port for a server that they start."""
    from pytest_irquality.edges.supervisor import free_port  # noqa: PLC0415

    side = "base" if IN_BASE in os.environ else "today"
    told = pytest.MonkeyPatch()
    config.add_cleanup(told.undo)
    told.setenv("IRQUALITY_SIDE", side)
    told.setenv("IRQUALITY_PORT", str(free_port()))


def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> SuiteModule | FirstSuite | None:
    """Collect a suite: one that matches, or under ``--ir-suite`` any YAML file that is named."""
    queries = Options(parent.config).init
    if queries:
        if file_path != Path(parent.config.invocation_params.dir, queries).resolve():
            return None
        from pytest_irquality.plugin.init import FirstSuite  # noqa: PLC0415

        first: FirstSuite = FirstSuite.from_parent(parent, path=file_path)
        return first
    if not is_suite(parent.config, file_path, parent.session.isinitpath(file_path)):
        return None
    _activate(parent.config)
    from pytest_irquality.plugin.suite_module import SuiteModule  # noqa: PLC0415

    module: SuiteModule = SuiteModule.from_parent(parent, path=file_path)
    return module
