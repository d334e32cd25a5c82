"""How far a long pass over the queries is: a line rewritten on a terminal, a line every few seconds
in a CI log.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import pytest

ON_TERMINAL = 1.0, 0.2  # seconds before the first line, and between lines
IN_LOG = 5.0, 5.0


@contextmanager
def shown_progress(config: pytest.Config, name: str) -> Iterator[Callable[[int, int], None] | None]:
    """What to tell how many queries were answered, and of how many; None where nobody would read
    it.
    """
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or reporter.verbosity < 0 or hasattr(config, "workerinput"):
        yield None
        return
    capture = config.pluginmanager.get_plugin("capturemanager")
    uncaptured = capture.global_and_fixture_disabled if capture else nullcontext
    wait, pause = ON_TERMINAL if reporter.isatty else IN_LOG
    start = time.monotonic()
    due = start + wait
    line = ""

    def rewrite(text: str) -> None:
        nonlocal line
        # Backspaces keep what pytest has written on this line; a text that wrapped could not be
        # taken back.
        room = (
            shutil.get_terminal_size().columns
            - config.get_terminal_writer().width_of_current_line
            - 1
        )
        text = text[: max(0, room)]
        with uncaptured():
            sys.stdout.write(
                "\b" * len(line) + text.ljust(len(line)) + "\b" * max(0, len(line) - len(text))
            )
            sys.stdout.flush()
        line = text

    def tell(done: int, total: int) -> None:
        nonlocal due
        now = time.monotonic()
        if now < due or done == total:
            return
        due = now + pause
        text = (
            f"{done} of {total} queries, {_rate(done, now - start)},"
            f" {_left(total, done, now - start)} left"
        )
        if reporter.isatty:
            rewrite(f" {text}")
        else:
            with uncaptured():
                reporter.write_line(f"{name}: {text}")

    try:
        yield tell
    finally:
        if line:
            rewrite("")


def _rate(done: int, seconds: float) -> str:
    return f"{done / seconds:.0f}/s" if done >= seconds else f"{60 * done / seconds:.0f}/min"


def _left(total: int, done: int, seconds: float) -> str:
    left = round(seconds * (total - done) / done)
    return f"{left} s" if left < 100 else f"{round(left / 60)} min"
