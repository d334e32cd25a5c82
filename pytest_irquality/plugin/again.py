"""The command line as it was typed, for whoever is advised to type it again."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_irquality.plugin.options import Options
from pytest_irquality.storage.commits import COMMITS
from pytest_irquality.storage.provenance import Again
from pytest_irquality.verdict import SuiteResult

CALLED = pytest.StashKey[Again]()

SELECT = (
    "-k", "-m", "--lf", "--last-failed", "--ff", "--failed-first", "--nf", "--new-first",
    "--lfnf", "--last-failed-no-failures", "--sw", "--stepwise", "--sw-skip", "--stepwise-skip",
    "--sw-reset", "--stepwise-reset", "--deselect",
)  # fmt: skip
SHOW = (
    "-q", "-v", "-s", "-r", "--quiet", "--verbose", "--verbosity", "--tb", "--color", "--capture",
    "--durations", "--no-header", "--no-summary", "--junitxml", "--junit-xml", "--html",
    "--self-contained-html", "--report-log", "-n", "--numprocesses", "--maxprocesses", "--dist",
    "--basetemp",
)  # fmt: skip
OURS = ("--ir-suite", "--ir-update-baseline", "--ir-save-runs")
NEEDLESS = {*SELECT, *SHOW, *OURS, *(report.flag for report in Options.reports())}
"""What selects, what shows or writes, and what says how items are shared out."""

SECRET = r"(?i:key|token|secret|passw|auth|credential|headers)"
"""A part of the names of options and ini keys whose values stand in no report."""
NAMED_SECRET = rf"(?s)^((?:-[^=]*=)?[^=]*{SECRET}[^=]*=).+"


def _called(config: pytest.Config) -> Again:
    """Give the way in which pytest was called."""
    args = [os.fspath(arg) for arg in config.invocation_params.args]
    options = shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))
    options += (arg for arg in args if arg not in config.args)
    files = [arg for arg in args if arg in config.args]
    as_module = Path(sys.argv[0]).parts[-2:] == ("pytest", "__main__.py")
    given = Options(config).baseline
    return Again(
        ("python", "-m", "pytest") if as_module else ("pytest",),
        tuple(_that_matter(options)),
        tuple(dict.fromkeys(file.partition("::")[0] for file in files)),
        accepts=len(given) < 2,
        commits=any(one.startswith(COMMITS) for one in given),
    )


def _that_matter(words: Sequence[str]) -> Iterator[str]:
    """The options that a verdict may depend on, each with its values."""
    matters = is_secret = False
    for word in words:
        if word.startswith("-"):
            name = word.partition("=")[0] if word.startswith("--") else word[:2]
            matters = name not in NEEDLESS and word != "--"
            is_secret = False
        if matters:
            yield "…" if is_secret else re.sub(NAMED_SECRET, r"\1…", word)
        is_secret = word.startswith("-") and "=" not in word and bool(re.search(SECRET, word))


def saying_again(
    config: pytest.Config, results: Sequence[SuiteResult], *, accepts_nothing: bool
) -> list[SuiteResult]:
    """Give results that say how pytest was called, and whether a new baseline could help.

    It cannot where the project accepts nothing, nor where a suite compares with a retriever.
    """
    if (again := config.stash.get(CALLED, None)) is None:
        again = config.stash[CALLED] = _called(config)
    retrievers = {(result.path, result.retriever) for result in results}
    said = []
    for result in results:
        by_file = not result.baseline or (result.path, result.baseline.source) not in retrievers
        accepts = again.accepts and by_file and not (again.commits and accepts_nothing)
        said.append(replace(result, again=replace(again, accepts=accepts)))
    return said
