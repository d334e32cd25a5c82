"""Progress of a long pass over the queries: a line every few seconds."""

from __future__ import annotations

import time
from contextlib import nullcontext

import pytest

from pytest_irquality.retrieval.retrieve import Progress

PAUSE = 5.0  # seconds before the first line, and between lines


def shown_progress(config: pytest.Config, name: str) -> Progress | None:
    """Call to make for each answer; None where nobody would read it."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or reporter.verbosity < 0 or hasattr(config, "workerinput"):
        return None
    capture = config.pluginmanager.get_plugin("capturemanager")
    uncaptured = capture.global_and_fixture_disabled if capture else nullcontext
    start = time.monotonic()
    due = start + PAUSE

    def tell(done: int, total: int) -> None:
        """Show how far the pass is, if it is time, past whatever captures the output of tests."""
        nonlocal due
        now = time.monotonic()
        if now < due or done in (0, total):
            return
        due = now + PAUSE
        left = round((now - start) * (total - done) / done)
        with uncaptured():
            reporter.write_line(f"{name}: {done} of {total} queries, {left} s left")

    return tell
