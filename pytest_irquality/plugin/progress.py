"""Progress of a long pass over the queries: a line every few seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import pytest

from pytest_irquality.edges.printable import terminal
from pytest_irquality.retrieval.retrieve import Progress

PAUSE = 5.0  # seconds before the first line, and between lines
PATIENCE = 10.0  # seconds without an answer until it is said what is waited for


@contextmanager
def shown_progress(config: pytest.Config, name: str) -> Iterator[Progress | None]:
    """Call to make for each answer; None where nobody would read it."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or reporter.verbosity < 0 or hasattr(config, "workerinput"):
        yield None
        return
    shown = _Shown(config, reporter, name)
    watcher = threading.Thread(target=shown.watch, daemon=True, name="irquality-progress")
    watcher.start()
    try:
        yield shown.tell
    finally:
        shown.ended.set()
        watcher.join()


class _Shown:
    """A pass, and when something was last said of it."""

    def __init__(self, config: pytest.Config, reporter: pytest.TerminalReporter, name: str) -> None:
        self.config, self.reporter, self.name = config, reporter, name
        self.start = self.heard = time.monotonic()
        self.due = self.start + PAUSE
        self.waiting = ""
        self.ended, self.writing = threading.Event(), threading.Lock()

    def tell(self, done: int, total: int, waiting: str) -> None:
        """Show how far the pass is, if it is time."""
        now = self.heard = time.monotonic()
        self.waiting = waiting
        if now < self.due or done in (0, total):
            return
        self.due = now + PAUSE
        seconds = now - self.start
        rate = f"{done / seconds:.0f}/s" if done >= seconds else f"{60 * done / seconds:.0f}/min"
        left = round(seconds * (total - done) / done)
        time_left = f"{left} s" if left < 100 else f"{round(left / 60)} min"
        self.write(f"{done} of {total} queries, {rate}, {time_left} left")

    def watch(self) -> None:
        """Say what is waited for, once of each long wait: the test's own thread is in the call."""
        said = ""
        while not self.ended.wait(PATIENCE / 20):
            if self.waiting != said and time.monotonic() - self.heard > PATIENCE:
                said = self.waiting
                self.write(terminal(said))

    def write(self, text: str) -> None:
        """Write a line, past whatever captures the output of tests."""
        capture = self.config.pluginmanager.get_plugin("capturemanager")
        uncaptured = capture.global_and_fixture_disabled if capture else nullcontext
        with self.writing, uncaptured():
            self.reporter.write_line(f"{self.name}: {text}")
