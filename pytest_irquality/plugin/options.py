"""The options and ini keys, each declared once, and what they say of which files are suites.

``Options(config)`` is read wherever one is asked for; ``reports.py`` declares those that name a
report.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest

from pytest_irquality.edges.project import PATTERNS
from pytest_irquality.plugin.declared import (
    Count,
    Flag,
    IniChoice,
    IniCount,
    IniFlag,
    IniText,
    IniTexts,
    Text,
    Texts,
    alone,
)
from pytest_irquality.plugin.internals import named_on_command_line
from pytest_irquality.plugin.reports import Reports


class Options(Reports):
    """Every option and ini key. Paths are relative to where pytest was called."""

    suite = Flag(
        "Collect suites (also a list of queries, .txt or .csv, that is named), and judge what the"
        " retriever finds; options below that need suites imply it.",
        implies_suites=False,
    )
    baseline = Texts(
        "Compare with this stored run (a file, or a folder of them), with the baseline as it was at"
        " the merge base of REF and HEAD, or with what its code returns now; several PATHs are"
        " several builds of the index (default: .ir-baseline/ beside the suite).",
        "PATH|git:REF|run:REF",
        looks_at_once=True,
    )
    update_baseline = Flag(
        "Write what was retrieved as the new baseline; drops do not fail.",
        looks_at_once=True,
    )
    history = Text(
        "Add this run's measures to FILE, and show those of the last changes (default: none).",
        "FILE",
    )
    save_runs = Text(
        "Keep what was retrieved in DIR, for --ir-runs, or as FILE.run in TREC's format; 'resume'"
        " asks only what DIR lacks or what failed there, 'shard=I/N' only share I of N of every"
        " suite's queries (default: not kept).",
        "DIR[,resume][,shard=I/N]",
        words={"resume": alone, "shard": str},
        looks_at_once=True,
    )
    runs = Texts(
        "Judge the runs kept in this folder or file (ours, or TREC's) instead of calling the"
        " retriever; several are several builds of the index (default: call it).",
        looks_at_once=True,
    )
    concurrency = Count(
        "Make N calls at the same time (default: what a suite says, else 1).",
    )
    repeat = Count(
        "Ask every query N times, for engines that answer differently each time (default: what a"
        " suite says, else 1).",
    )
    audit = Flag(
        "Tell whether the suite is still true and guards anything; it fails only where 'audit:'"
        " says so.",
    )
    init = Text(
        "Write a first suite beside this list of queries (one a line, or CSV), with what is"
        " returned today to grade (with --ir-judge, on a page) (default: no suite).",
        "QUERIES",
        implies_suites=False,
    )

    suite_files = IniTexts(
        "Globs of the names of suite files (default: " + " ".join(PATTERNS) + ").", PATTERNS
    )
    url = IniTexts("Ask this URL where a fixture is missing (default: none).", kind="linelist")
    headers = IniTexts("Headers for ir_url, one a line (default: none).", kind="linelist")
    command = IniTexts(
        "Ask this program where a fixture is missing (default: none).", kind="linelist"
    )
    serve = IniText(
        "Start this server for ir_url, at a free {port} that both name (default: none)."
    )
    prepare = IniTexts(
        "Run these commands before ir_serve and ir_command, one a line (default: none).",
        kind="linelist",
    )
    retrievers = IniTexts(
        "More fixtures that suites may name, besides `retriever` and `*_retriever` (default: none)."
    )
    files = IniTexts(
        "Files that suites may name though git does not track them: patterns from the top of the"
        " checkout, and folders outside it (default: none)."
    )
    max_calls = IniCount(
        "The most calls that a session may make, of both sides and with every retry, and a hundred"
        " results for each (default: 100000).",
    )
    accepted = IniChoice(
        "Whether a drop passes that the change accepts, by its own baseline or suite, under git:REF"
        " and run:REF: pass or fail (default: pass).",
        "pass",
        choices=("pass", "fail"),
    )
    exam = IniChoice(
        "Whether a suite passes that demands less than the base's, under git:REF and run:REF: pass"
        " or fail (default: pass).",
        "pass",
        choices=("pass", "fail"),
    )
    strict = IniFlag(
        "Fail a run that was judged in part, but for what the command line left out, or that"
        " compares under four in five of the baseline's queries (default: false).",
    )
    base_command = IniText(
        "What runs pytest on the base's code for --ir-baseline=run:REF (default: this Python)."
    )
    base_link = IniTexts(
        "Files and folders that git does not track and the base's code needs, linked for"
        " --ir-baseline=run:REF (default: none)."
    )

    @property
    def judge_depth(self) -> int | None:
        """The results of each query that --ir-judge takes."""
        depth: int | None = Options.judge.word(self, "depth")
        return depth

    @property
    def resume(self) -> bool:
        """True where --ir-save-runs goes on with what is there."""
        return bool(Options.save_runs.word(self, "resume"))

    @property
    def shard(self) -> str | None:
        """The share of the queries that --ir-save-runs asks for."""
        shard: str | None = Options.save_runs.word(self, "shard")
        return shard

    @property
    def declared(self) -> Collection[str]:
        """The names of the fixtures that the ini file declares to be retrievers."""
        lines = (line.partition(": ") for line in (*self.url, *self.command))
        return (*self.retrievers, *(name for name, colon, _ in lines if colon))


def imply_suites(config: pytest.Config) -> None:
    """Turn ``--ir-suite`` on for an option that means nothing without suites.

    Only options on the command line itself do: those of ``addopts`` stand there for whenever
    suites are run.
    """
    if Options(config).init:  # the others are for it
        return
    implying = {option.flag for option in Options.options() if option.implies_suites}
    for argument in map(str, config.invocation_params.args):
        if argument == "--":
            return
        if argument.partition("=")[0] in implying:
            config.option.ir_suite = True


def last_baselines(config: pytest.Config) -> None:
    """Leave of several ``--ir-baseline`` those of the command line, where it has any.

    They stand in place of those in ``addopts``.
    """
    written = [str(argument).partition("=")[0] for argument in config.invocation_params.args]
    count = written.count(Options.baseline.flag)
    if count:
        config.option.ir_baseline = config.option.ir_baseline[-count:]


def needs_suites(config: pytest.Config) -> bool:
    """Tell if this session is about suites, as far as is known before anything is collected."""
    options = Options(config)
    if any(option.read(options) for option in Options.options() if option.looks_at_once):
        return True
    # In ``addopts`` it means "suites, too", and nothing is loaded until there is one; the
    # controller of xdist never collects any.
    arguments = map(str, config.invocation_params.args)
    if options.suite and (
        any(argument.startswith("--ir-") for argument in arguments)
        or getattr(config.option, "tx", None)
    ):
        return True
    return any(is_suite(config, path, True) for path in named_on_command_line(config))


def is_suite(config: pytest.Config, path: Path, named: bool) -> bool:
    """Tell if a file is to be collected; ``named``: the command line names it."""
    options = Options(config)
    if path.suffix in (".txt", ".csv"):
        return options.suite and named
    if path.suffix not in (".yaml", ".yml"):
        return False
    matches = any(map(path.match, options.suite_files))
    return (options.suite and (named or matches)) or (named and matches)
