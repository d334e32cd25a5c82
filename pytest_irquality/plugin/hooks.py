"""pytest's hooks. Thin: everything hands over at once, and nothing heavy is imported until a suite is collected."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_irquality.plugin.checking import Checker
    from pytest_irquality.plugin.collect import SuiteModule
    from pytest_irquality.plugin.init import FirstSuite

IN_BASE = "PYTEST_IRQUALITY_BASE"
RUN = "run:"
PATTERNS = ["*.ir.yaml", "*.ir.yml", "ir_*.yaml", "ir_*.yml"]


def at_least_one(text: str) -> int:
    """A whole number of at least 1, as an option is written."""
    if text.isascii() and text.isdecimal() and int(text):
        return int(text)
    raise argparse.ArgumentTypeError(f"it must be a whole number of at least 1, not {text!r}")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options; every path is relative to the invocation directory."""
    group = parser.getgroup("irquality", "search-quality regression tests")
    group.addoption(
        "--ir-suite", nargs="?", const="", default=None, metavar="PATH",
        help="Collect suites of queries (in PATH too, when given) and judge what the retriever fixture finds.",
    )  # fmt: skip
    group.addoption(
        "--ir-report", metavar="PATH", default="ir-report.html",
        help="Where to write the HTML report (default: ir-report.html); 'none' writes none.",
    )  # fmt: skip
    group.addoption(
        "--ir-json",
        metavar="PATH",
        default=None,
        help="Write the report's content as JSON to PATH.",
    )
    group.addoption(
        "--ir-markdown", metavar="PATH", default=None,
        help="Write the report as Markdown to PATH (and to $GITHUB_STEP_SUMMARY by itself, where that is set).",
    )  # fmt: skip
    group.addoption(
        "--ir-baseline", metavar="PATH|git:REF|run:REF", default=None,
        help="Compare with this stored run (a file, or a folder of them; TREC's too), with the baseline as it stands at"
        " the merge base of a revision and HEAD (git:REF), or with what the code of that merge base returns now"
        " (run:REF). Default: .ir-baseline/ beside the suite.",
    )  # fmt: skip
    group.addoption(
        "--ir-update-baseline", action="store_true",
        help="Write what was retrieved as the new baseline; drops are shown and do not fail.",
    )  # fmt: skip
    group.addoption(
        "--ir-history", metavar="FILE", default=None,
        help="Add a line a suite and retriever to FILE (kept outside the change: a cache, an artifact, a branch of its"
        " own), and show what measures did over the last changes.",
    )  # fmt: skip
    group.addoption(
        "--ir-save-runs", metavar="DIR", default=None,
        help="Keep what was retrieved in this folder, to be judged again by --ir-runs; FILE.run for one run in TREC's"
        " format.",
    )  # fmt: skip
    group.addoption(
        "--ir-runs", metavar="PATH", action="append", default=[],
        help="Judge the runs kept in this folder or file (JSONL, or TREC's .run and .trec, gzip too) instead of calling"
        " the retriever; repeatable.",
    )  # fmt: skip
    group.addoption(
        "--ir-shard", metavar="I/N", default=None,
        help="Ask share I of N of every suite's queries, to be kept by --ir-save-runs and joined by --ir-runs.",
    )  # fmt: skip
    group.addoption(
        "--ir-concurrency", metavar="N", default=None,
        help="Calls in flight at once, over what the suites and the ini key ir_concurrency say (default: 1).",
    )  # fmt: skip
    group.addoption(
        "--ir-unjudged", metavar="PATH", default=None,
        help="Write what was returned and never judged to PATH, as Quepid CSV to be filled in: first what could move a"
        " verdict most.",
    )  # fmt: skip
    group.addoption(
        "--ir-judge", metavar="PATH", default=None,
        help="Write one HTML page to PATH in which anybody can grade what was returned, blind and without a server; the"
        " CSV it saves goes under 'judgments:'.",
    )  # fmt: skip
    group.addoption(
        "--ir-judge-depth", metavar="N", type=at_least_one, default=None,
        help="How many results of each query --ir-judge and --ir-unjudged take (default: the suite's top_k).",
    )  # fmt: skip
    group.addoption(
        "--ir-audit", action="store_true",
        help="Look whether the suite is still true (documents that no longer exist, judges that disagree) and whether it"
        " guards anything; it fails only where 'audit:' limits what it finds.",
    )  # fmt: skip
    group.addoption(
        "--ir-init", metavar="QUERIES", default=None,
        help="Write a first suite beside this list of queries (text, one a line, or CSV), with what the retriever"
        " returns for them today as candidates to grade (with --ir-judge, on a page). Of a log, which has a column"
        " 'count', a sample is drawn.",
    )  # fmt: skip
    group.addoption(
        "--ir-init-size", metavar="N", type=at_least_one, default=None,
        help="How many queries --ir-init draws from a log (default: 200).",
    )  # fmt: skip
    group.addoption(
        "--ir-init-sample", choices=("proportional", "stratified"), default="proportional",
        help="How --ir-init draws them: in proportion to how often each was searched, or as many from the head as from"
        " the torso and the tail.",
    )  # fmt: skip
    group.addoption(
        "--ir-init-seed", metavar="N", type=int, default=0,
        help="Another seed draws another sample (default: 0).",
    )  # fmt: skip
    parser.addini(
        "ir_concurrency",
        type="string",
        default="",
        help="Calls in flight where a suite does not say.",
    )
    parser.addini(
        "ir_suite_files", type="args", default=PATTERNS, help="Globs of the names of suite files."
    )
    parser.addini(
        "ir_accepted", type="string", default="xfail",
        help="What a drop is that the change's own committed baseline accepts, under git:REF and run:REF: xfail"
        " (green and loud), or fail.",
    )  # fmt: skip
    parser.addini(
        "ir_base_command", type="string", default="",
        help="What runs pytest on the code of the base's checkout, for --ir-baseline=run:REF (default: this Python).",
    )  # fmt: skip
    parser.addini(
        "ir_base_link", type="args", default=[],
        help="Files and folders that git does not track and the retriever needs: --ir-baseline=run:REF links them into"
        " the base's checkout. Relative to the top of the checkout.",
    )  # fmt: skip
    parser.addini(
        "ir_allow_outside", type="args", default=[],
        help="Folders outside the project that suites may name files of; relative to rootdir.",
    )  # fmt: skip


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Let a conftest add measures."""
    from pytest_irquality.plugin import hookspecs as hooks  # noqa: PLC0415

    pluginmanager.add_hookspecs(hooks)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> None:
    """Give the PATH of ``--ir-suite PATH`` back to pytest as an ordinary argument.

    argparse hands an optional value to the option whether the user meant it so or not. Both readings mean "collect
    PATH, suites included", so the path is split off, and an empty value keeps argparse from taking the next one.
    """
    known = early_config.known_args_namespace
    if known.ir_suite:  # its conftest is an initial one
        known.file_or_dir = [*(known.file_or_dir or []), known.ir_suite]
    args[:] = _split_suite_option(args)
    if (
        known.ir_init
    ):  # collected like a file that was named, so that the fixtures are those of its folder
        known.file_or_dir = [*(known.file_or_dir or []), known.ir_init]
        args.append(known.ir_init)


def _split_suite_option(args: Iterable[str]) -> list[str]:
    split: list[str] = []
    rest = iter(args)
    for arg in rest:
        if arg == "--":
            return [*split, arg, *rest]
        name, _, value = arg.partition("=")
        split += ["--ir-suite=", *([value] if value else [])] if name == "--ir-suite" else [arg]
    return split


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """In the process that answers for the base: over every option, before any of them acts."""
    if IN_BASE in os.environ:
        from pytest_irquality.plugin import in_base  # noqa: PLC0415

        in_base.take_over(config)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and under ``--ir-suite`` everything else."""
    config.addinivalue_line(
        "markers", "ir_suite: a check of a search-quality suite (added by pytest-irquality)."
    )
    option = config.option
    # What is wrong with these is told before anything is collected, also where a suite is named by its path alone.
    if option.ir_suite is not None or option.ir_runs or option.ir_baseline or option.ir_shard:
        _activate(config)
    if queries := config.getoption("ir_init"):
        _start_first_suite(config, Path(config.invocation_params.dir, queries))


def _start_first_suite(config: pytest.Config, queries: Path) -> None:
    from pytest_irquality.plugin import init as first  # noqa: PLC0415 - for --ir-init only

    if not queries.is_file():
        raise pytest.UsageError(
            f"--ir-init: {queries.name}: {'no file' if queries.exists() else 'no such file'}"
        )
    if first.target(queries).exists() and not hasattr(config, "workerinput"):
        raise pytest.UsageError(
            f"--ir-init: {first.target(queries).name} exists already, and is never written over"
        )
    config.pluginmanager.register(first, "irquality-first")
    config.pluginmanager.register(first.Told(), "irquality-first-told")


def _activate(config: pytest.Config) -> None:
    if config.pluginmanager.has_plugin("irquality-collection"):
        return
    given = {
        "--ir-concurrency": config.option.ir_concurrency,
        "ini key ir_concurrency": config.getini("ir_concurrency"),
    }
    for name, text in given.items():
        if text and not (text.isascii() and text.isdecimal() and int(text)):
            raise pytest.UsageError(f"{name} must be a whole number of at least 1, not {text!r}")
    from pytest_irquality.plugin import checking  # noqa: PLC0415
    from pytest_irquality.plugin import collect as collection  # noqa: PLC0415 - imported by runs that have suites only
    from pytest_irquality.plugin import items as running  # noqa: PLC0415
    from pytest_irquality.plugin.session import Session  # noqa: PLC0415

    config.pluginmanager.register(collection, "irquality-collection")
    config.pluginmanager.register(running, "irquality-running")
    config.pluginmanager.register(checking, "irquality-checking")
    if not hasattr(
        config, "workerinput"
    ):  # reports come from the controller, or where there is no xdist
        config.pluginmanager.register(Session(config), "irquality-session")
    if (config.option.ir_baseline or "").startswith(RUN):
        from pytest_irquality.plugin import base  # noqa: PLC0415

        config.pluginmanager.register(base, "irquality-base")


def is_suite(config: pytest.Config, path: Path, named: bool) -> bool:
    """Whether a file is to be collected; ``named``: the command line names it."""
    if path.suffix not in (".yaml", ".yml"):
        return False
    matches, asked = (
        any(map(path.match, config.getini("ir_suite_files"))),
        config.getoption("ir_suite") is not None,
    )
    return (asked and (named or matches)) or (named and matches)


def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> SuiteModule | FirstSuite | None:
    """Collect a suite: one that matches, or under ``--ir-suite`` any YAML file the command line names."""
    if queries := parent.config.getoption("ir_init"):
        if file_path != Path(parent.config.invocation_params.dir, queries).resolve():
            return None
        from pytest_irquality.plugin.init import FirstSuite  # noqa: PLC0415

        first: FirstSuite = FirstSuite.from_parent(parent, path=file_path)
        return first
    if not is_suite(parent.config, file_path, parent.session.isinitpath(file_path)):
        return None
    _activate(parent.config)
    from pytest_irquality.plugin.collect import SuiteModule  # noqa: PLC0415

    module: SuiteModule = SuiteModule.from_parent(parent, path=file_path)
    return module


@pytest.fixture
def ir_check(request: pytest.FixtureRequest) -> Checker:
    """Judge a suite in a test of yours, which then fails as the suite's own items do."""
    from pytest_irquality.plugin.checking import Checker  # noqa: PLC0415 - for tests that use it only

    return Checker(request.node)
