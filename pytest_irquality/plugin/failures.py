"""Failures as a terminal shows them, while every other report of pytest keeps them in full."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence

import pytest

from pytest_irquality.edges.printable import terminal as safe
from pytest_irquality.plugin.internals import (
    failed_as_a_whole,
    reports_of,
    said_in_words,
    shown_as,
)
from pytest_irquality.plugin.items import KnownItem
from pytest_irquality.report.failure import explain, laid_out, told_in_full, within
from pytest_irquality.suite.item_names import slug
from pytest_irquality.verdict import SuiteResult
from pytest_irquality.verdict.damage import Damage
from pytest_irquality.wording.reasons import summary_reason
from pytest_irquality.wording.stories import failed_together

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
    failed = reports_of(terminal, "failed")
    ours = [*_fitted(failed, results, items, width)]
    worst_first = sorted(ours, key=lambda entry: -entry[2])
    for (place, *_), (_, report, _) in zip(ours, worst_first, strict=True):
        failed[place] = report
    for report in reports_of(terminal, "error"):
        if report.nodeid in items and said_in_words(report.longrepr):
            shown_as(report, within(str(report.longrepr), width))


def _fitted(
    failed: Sequence[pytest.TestReport],
    results: Sequence[SuiteResult],
    items: Mapping[str, KnownItem | None],
    width: int,
) -> Iterator[tuple[int, pytest.TestReport, float]]:
    """Fit the reports of our items, and give each with its place and the damage."""
    known = {(result.path, result.retriever): result for result in results}
    full = {key: told_in_full(result) for key, result in known.items()}
    for place, report in enumerate(failed):
        item = items.get(report.nodeid)
        result = known.get(item.key) if item else None
        verdict = result.verdict(item.check) if item and result else None
        if result and verdict and verdict.outcome in ("failed", "fixed"):
            text = laid_out(result, verdict, width, full[result.path, result.retriever])
            shown_as(report, text)
            yield place, report, Damage(result).of(verdict)


def of_all_suites(results: Sequence[SuiteResult]) -> Iterator[tuple[KnownItem, pytest.TestReport]]:
    """A report of each drop over all suites that fails, at the suite that lost most by it.

    None where a suite's own default limit fails anyway.
    """
    for story, verdict in failed_together(results):
        result = story.result
        variant = f"[{result.retriever}]" if result.retriever else ""
        name = f"{slug(f'{verdict.findings[-1].measure}-together')}{variant}"
        text = "\n".join(map(safe, explain(result, verdict).split("\n")))
        short = safe(summary_reason(result, verdict))
        report = failed_as_a_whole(f"{result.path}::{name}", result.path, text, short)
        yield KnownItem(result.path, result.retriever, verdict.check), report
