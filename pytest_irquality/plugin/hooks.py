"""pytest's hooks. Thin: everything hands over at once, and nothing heavy is imported until a suite
is collected.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_irquality.plugin.internals import collect_too
from pytest_irquality.plugin.options import (
    INT_INI,
    PATTERNS,
    REPORT,
    check_numbers,
    imply_suites,
    is_suite,
    last_baselines,
    needs_suites,
)

if TYPE_CHECKING:
    from pytest_irquality.plugin.checking import Checker
    from pytest_irquality.plugin.collect import SuiteModule
    from pytest_irquality.plugin.init import FirstSuite

IN_BASE = "PYTEST_IRQUALITY_BASE"
RUN = "run:"


def at_least_one(text: str) -> int:
    """A whole number of at least 1, as an option is written."""
    if text.isascii() and text.isdecimal() and int(text):
        return int(text)
    raise argparse.ArgumentTypeError(f"it must be a whole number of at least 1, not {text!r}")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options; every path is relative to the invocation directory."""
    group = parser.getgroup("irquality", "search-quality regression tests")
    group.addoption(
        "--ir-suite", action="store_true",
        help="Collect suites, in the files and folders that pytest is given, and judge what the retriever fixture finds"
        " (default: implied by an option below on the command line that needs them).",
    )  # fmt: skip
    group = parser.getgroup("irquality-reports", "search quality: reports")
    group.addoption(
        "--ir-report", metavar="PATH", default=None,
        help=f"Write the HTML report to PATH, or none where PATH is 'none' (default: {REPORT}).",
    )  # fmt: skip
    group.addoption(
        "--ir-json",
        metavar="PATH",
        default=None,
        help="Write everything in the report as JSON to PATH (default: not written).",
    )
    group.addoption(
        "--ir-markdown", metavar="PATH", default=None,
        help="Write the report as Markdown to PATH (default: only to $GITHUB_STEP_SUMMARY, where that is set).",
    )  # fmt: skip
    group = parser.getgroup("irquality-baseline", "search quality: what is compared with")
    group.addoption(
        "--ir-baseline", metavar="PATH|git:REF|run:REF", action="append", default=[],
        help="Compare with this stored run (a file, or a folder of them), with the baseline as it stands at the merge base"
        " of a revision and HEAD, or with what the code of that merge base returns now; a PATH may be given several times,"
        " once for each build of the index (default: .ir-baseline/ beside the suite).",
    )  # fmt: skip
    group.addoption(
        "--ir-update-baseline", action="store_true",
        help="Write what was retrieved as the new baseline; drops are shown and do not fail.",
    )  # fmt: skip
    group = parser.getgroup("irquality-runs", "search quality: kept runs and shares")
    group.addoption(
        "--ir-history", metavar="FILE", default=None,
        help="Add a line a suite and retriever to FILE, which is kept outside the change, and show what measures did over"
        " the last changes (default: no history).",
    )  # fmt: skip
    group.addoption(
        "--ir-save-runs", metavar="DIR", default=None,
        help="Keep what was retrieved in DIR, to be judged again by --ir-runs, or as FILE.run one run in TREC's format"
        " (default: not kept).",
    )  # fmt: skip
    group.addoption(
        "--ir-resume", action="store_true",
        help="Go on with the runs that --ir-save-runs=DIR holds already: ask only what is missing there or failed"
        " (default: ask everything).",
    )  # fmt: skip
    group.addoption(
        "--ir-runs", metavar="PATH", action="append", default=[],
        help="Judge the runs kept in this folder or file (JSONL, or TREC's .run and .trec, gzip too) instead of calling"
        " the retriever; may be given several times, once for each build of the index (default: call it).",
    )  # fmt: skip
    group.addoption(
        "--ir-shard", metavar="I/N", default=None,
        help="Ask only share I of N of every suite's queries, to be kept by --ir-save-runs and joined by --ir-runs (default:"
        " all of them).",
    )  # fmt: skip
    group = parser.getgroup("irquality")
    group.addoption(
        "--ir-concurrency", metavar="N", default=None,
        help="Keep N calls in flight at once, whatever the suites say (default: what a suite says, else the ini key"
        " ir_concurrency, else 1).",
    )  # fmt: skip
    group.addoption(
        "--ir-repeat", metavar="N", type=at_least_one, default=None,
        help="Ask every query N times, for engines that answer otherwise each time (default: what a suite"
        " says under 'repeat', else once).",
    )  # fmt: skip
    group = parser.getgroup("irquality-judgments", "search quality: queries and judgments")
    group.addoption(
        "--ir-unjudged", metavar="PATH", default=None,
        help="Write what was returned and never judged to PATH, as Quepid CSV to be filled in, first what could move a"
        " verdict most (default: not written).",
    )  # fmt: skip
    group.addoption(
        "--ir-judge", metavar="PATH", default=None,
        help="Write one HTML page to PATH in which anybody can grade what was returned, blind and without a server; the"
        " CSV it saves goes under 'judgments:' (default: not written).",
    )  # fmt: skip
    group.addoption(
        "--ir-judge-depth", metavar="N", type=at_least_one, default=None,
        help="Take N results of each query for --ir-judge and --ir-unjudged (default: the suite's top_k).",
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
        " 'count', a sample is drawn (default: no suite is written).",
    )  # fmt: skip
    group.addoption(
        "--ir-init-size", metavar="N", type=at_least_one, default=None,
        help="Draw N queries of a log for --ir-init (default: 200).",
    )  # fmt: skip
    group.addoption(
        "--ir-init-sample", choices=("proportional", "stratified"), default="proportional",
        help="Draw them in proportion to how often each was searched, or as many from the head as from the torso and the"
        " tail (default: proportional).",
    )  # fmt: skip
    group.addoption(
        "--ir-init-seed", metavar="N", type=int, default=0,
        help="Draw another sample with another seed (default: 0).",
    )  # fmt: skip
    parser.addini(
        "ir_concurrency",
        type=INT_INI,
        default=None,
        help="Calls in flight where neither a suite nor --ir-concurrency says (default: 1).",
    )
    parser.addini(
        "ir_suite_files",
        type="args",
        default=PATTERNS,
        help="Globs of the names of suite files (default: " + " ".join(PATTERNS) + ").",
    )
    parser.addini(
        "ir_accepted", type="string", default="xfail",
        help="What a drop is that the change's own committed baseline accepts, under git:REF and run:REF: fail, or"
        " what is green and loud (default: xfail).",
    )  # fmt: skip
    parser.addini(
        "ir_base_command", type="string", default="",
        help="What runs pytest on the code of the base's checkout, for --ir-baseline=run:REF (default: this Python).",
    )  # fmt: skip
    parser.addini(
        "ir_base_link", type="args", default=[],
        help="Files and folders that git does not track and the retriever needs: --ir-baseline=run:REF links them into"
        " the base's checkout, relative to its top (default: none).",
    )  # fmt: skip
    parser.addini(
        "ir_allow_outside", type="args", default=[],
        help="Folders outside the project, relative to rootdir, whose files suites may name (default: none).",
    )  # fmt: skip


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Let a conftest add measures."""
    from pytest_irquality.plugin import hookspecs as hooks  # noqa: PLC0415

    pluginmanager.add_hookspecs(hooks)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> None:
    """Collect the list of ``--ir-init`` like a file that was named: the fixtures are those of its
    folder.
    """
    if queries := early_config.known_args_namespace.ir_init:
        collect_too(early_config, args, queries)


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
    # What is wrong with the options is told before anything is collected.
    if needs_suites(config):
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
    check_numbers(config)
    # Imported by runs that have suites only.
    from pytest_irquality.plugin import checking, collect, items  # noqa: PLC0415
    from pytest_irquality.plugin.session import Session  # noqa: PLC0415

    config.pluginmanager.register(collect, "irquality-collection")
    config.pluginmanager.register(items, "irquality-running")
    config.pluginmanager.register(checking, "irquality-checking")
    if not hasattr(
        config, "workerinput"
    ):  # whoever reports: the controller, or a run without xdist
        config.pluginmanager.register(Session(config), "irquality-session")
    if any(given.startswith(RUN) for given in config.option.ir_baseline):
        from pytest_irquality.plugin import base  # noqa: PLC0415

        config.pluginmanager.register(base, "irquality-base")


def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> SuiteModule | FirstSuite | None:
    """Collect a suite: one that matches, or under ``--ir-suite`` any YAML file the command line
    names.
    """
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
    from pytest_irquality.plugin.checking import (  # noqa: PLC0415
        Checker,
    )

    return Checker(request.node)
