"""The options and ini keys, each declared once, and what they say of which files are suites.

``Options(config)`` is read wherever one is asked for; ``reports.py`` declares those that name a
report.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_irquality.edges.project import PATTERNS
from pytest_irquality.plugin.declared import (
    COMPARED,
    JUDGMENTS,
    RUNS,
    Count,
    Flag,
    IniChoice,
    IniCount,
    IniText,
    IniTexts,
    Sized,
    Text,
    Texts,
)
from pytest_irquality.plugin.internals import named_on_command_line
from pytest_irquality.plugin.reports import Reports


class Options(Reports):
    """Every option and ini key. Paths are relative to where pytest was called."""

    suite = Flag(
        "Collect suites, in the files and folders that pytest is given (a list of queries, .txt or"
        " .csv, where it is named), and judge what the retriever finds (default: implied by an"
        " option below on the command line that needs them).",
        implies_suites=False,
        looks_at_once=True,
    )
    baseline = Texts(
        "Compare with this stored run (a file, or a folder of them), with the baseline as it stands"
        " at the merge base of a revision and HEAD, or with what the code of that merge base"
        " returns now; a PATH may be given several times, once for each build of the index"
        " (default: .ir-baseline/ beside the suite).",
        "PATH|git:REF|run:REF",
        group=COMPARED,
        looks_at_once=True,
    )
    update_baseline = Flag(
        "Write what was retrieved as the new baseline; drops are shown and do not fail.",
        group=COMPARED,
    )
    history = Text(
        "Add a line a suite and retriever to FILE, which is kept outside the change, and show what"
        " measures did over the last changes (default: no history).",
        "FILE",
        group=RUNS,
    )
    save_runs = Text(
        "Keep what was retrieved in DIR, to be judged again by --ir-runs, or as FILE.run one run in"
        " TREC's format (default: not kept).",
        "DIR",
        group=RUNS,
    )
    resume = Flag(
        "Go on with the runs that --ir-save-runs=DIR holds already: ask only what is missing there"
        " or failed (default: ask everything).",
        group=RUNS,
    )
    runs = Texts(
        "Judge the runs kept in this folder or file (JSONL, or TREC's .run and .trec, gzip too)"
        " instead of calling the retriever; may be given several times, once for each build of"
        " the index (default: call it).",
        group=RUNS,
        looks_at_once=True,
    )
    shard = Text(
        "Ask only share I of N of every suite's queries, to be kept by --ir-save-runs and joined by"
        " --ir-runs (default: all of them).",
        "I/N",
        group=RUNS,
        looks_at_once=True,
        in_base=True,
    )
    concurrency = Count(
        "Keep N calls in flight at once, whatever the suites say (default: what a suite says, else"
        " the ini key ir_concurrency, else 1).",
        in_base=True,
    )
    repeat = Count(
        "Ask every query N times, for engines that answer otherwise each time (default: what a"
        " suite says under 'repeat', else once).",
        in_base=True,
    )
    judge_depth = Count(
        "Take N results of each query for --ir-judge (default: the suite's top_k).",
        group=JUDGMENTS,
    )
    audit = Flag(
        "Look whether the suite is still true (documents that no longer exist, judges that"
        " disagree) and whether it guards anything; it fails only where 'audit:' limits what it"
        " finds.",
        group=JUDGMENTS,
    )
    init = Sized(
        "Write a first suite beside this list of queries (text, one a line, or CSV), with what the"
        " retriever returns for them today as candidates to grade (with --ir-judge, on a page). Of"
        " a log, which has a column 'count', a sample of N queries is drawn, 200 unless written"
        " (default: no suite is written).",
        "QUERIES[,size=N]",
        group=JUDGMENTS,
        implies_suites=False,
    )

    ini_concurrency = IniCount(
        "Calls in flight where neither a suite nor --ir-concurrency says (default: 1).",
        twin="concurrency",
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
        "Start this server for ir_url, at a free {port} that both name, and end it with the run"
        " (default: none)."
    )
    prepare = IniTexts(
        "Run these commands before ir_serve and ir_command, one a line (default: none).",
        kind="linelist",
    )
    accepted = IniChoice(
        "What a drop is that the change's own committed baseline accepts, under git:REF and"
        " run:REF: fail, or what is green and loud (default: xfail).",
        "xfail",
        choices=("xfail", "fail"),
    )
    base_command = IniText(
        "What runs pytest on the code of the base's checkout, for --ir-baseline=run:REF (default:"
        " this Python)."
    )
    base_link = IniTexts(
        "Files and folders that git does not track and the retriever needs: --ir-baseline=run:REF"
        " links them into the base's checkout, relative to its top (default: none)."
    )
    allow_outside = IniTexts(
        "Folders outside the project, relative to rootdir, whose files suites may name (default:"
        " none)."
    )

    def calls_at_once(self, of_suite: int | None) -> int:
        """Calls in flight: what the command line says, or the suite, or the ini file."""
        return self.concurrency or of_suite or self.ini_concurrency or 1


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
