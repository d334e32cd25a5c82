"""Failures as a terminal shows them, while every other report of pytest keeps them in full."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence

import pytest

from pytest_irquality.plugin.internals import LaidOut, said_in_words
from pytest_irquality.plugin.items import KnownItem
from pytest_irquality.report.failure import laid_out, within
from pytest_irquality.verdict import SuiteResult
from pytest_irquality.verdict.damage import Damage

CI_WIDTH = 120
"""Columns where nothing says how wide the output is, as in the logs of CI."""


def width_of(config: pytest.Config) -> int:
    """Give the columns there are: the terminal's, those of ``COLUMNS``, or those of a log of CI."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS"):
        return config.get_terminal_writer().fullwidth
    return CI_WIDTH


def lay_out(
    config: pytest.Config, results: Sequence[SuiteResult], items: Mapping[str, KnownItem | None]
) -> None:
    """Fit what the terminal is about to say of failures to its width, most damage first.

    ``items`` are ours, by node id; None: of a worker that said nothing of it. Under ``-v``
    everything stays in full and as it came.
    """
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is None or terminal.verbosity > 0:
        return
    width = width_of(config)
    failed = terminal.stats.get("failed", [])
    ours = [*_fitted(failed, results, items, width)]
    worst_first = sorted(ours, key=lambda entry: -entry[2])
    for (place, *_), (_, report, _) in zip(ours, worst_first, strict=True):
        failed[place] = report
    for report in terminal.stats.get("error", []):
        if report.nodeid in items and said_in_words(report.longrepr):
            text = within(str(report.longrepr), width)
            report.longrepr = LaidOut(report.longrepr, text)


def _fitted(
    failed: Sequence[pytest.TestReport],
    results: Sequence[SuiteResult],
    items: Mapping[str, KnownItem | None],
    width: int,
) -> Iterator[tuple[int, pytest.TestReport, float]]:
    """Fit the reports of our items, and give each with its place and the damage."""
    known = {(result.path, result.retriever): result for result in results}
    for place, report in enumerate(failed):
        item = items.get(report.nodeid)
        result = known.get(item.key) if item else None
        verdict = result.verdict(item.check) if item and result else None
        if result and verdict and verdict.outcome in ("failed", "fixed"):
            text = laid_out(result, verdict, width)
            report.longrepr = LaidOut(report.longrepr, text)
            yield place, report, Damage(result).of(verdict)
