"""Progress of a long run: a line every few seconds, on terminals and in logs of CI."""

from __future__ import annotations

import time
from contextlib import nullcontext

import pytest

from pytest_irquality.plugin.state import is_worker
from pytest_irquality.retrieval.collect import ReportProgress

INTERVAL_S = 5.0


def create_progress(config: pytest.Config, name: str) -> ReportProgress | None:
    """Return a function that reports progress, or ``None`` if nobody would read it."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or reporter.verbosity < 0 or is_worker(config):
        return None
    capture = config.pluginmanager.get_plugin("capturemanager")
    start = time.monotonic()
    next_line = start + INTERVAL_S

    def report_progress(done: int, total: int) -> None:
        nonlocal next_line
        now = time.monotonic()
        if now < next_line or not 0 < done < total:
            return
        next_line = now + INTERVAL_S
        seconds_left = round((now - start) * (total - done) / done)
        with capture.global_and_fixture_disabled() if capture else nullcontext():
            reporter.write_line(f"{name}: {done} of {total} calls, {seconds_left} s left")

    return report_progress
