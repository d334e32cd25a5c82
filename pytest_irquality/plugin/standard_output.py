"""Standard output for one document alone (``--ir-json=-``); all else goes to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress

import pytest

MakeDocument = Callable[["BaseException | None"], str]
"""Makes the document. The argument is the error that ended pytest, if one did."""
STANDARD_OUTPUT_KEY = pytest.StashKey["StandardOutput"]()


class StandardOutput:
    """Keeps standard output until pytest has ended, and then writes the document to it.

    Attributes:
        make_document: Makes the document, once there is a session.
    """

    make_document: MakeDocument | None = None

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.stream = sys.stdout
        self.descriptor = -1
        sys.stdout.flush()
        with suppress(OSError):  # closed, as for a daemon
            self.descriptor = os.dup(1)
            os.dup2(2, 1)
        sys.stdout = sys.stderr
        config.stash[STANDARD_OUTPUT_KEY] = self
        # Cleanups run in reverse order, so this one comes after the last words of pytest.
        config.add_cleanup(self.restore)

    def restore(self) -> None:
        """Give standard output back, and write the document."""
        sys.stdout.flush()
        sys.stdout = self.stream
        if self.descriptor >= 0:
            os.dup2(self.descriptor, 1)
            os.close(self.descriptor)
        if hasattr(self.config, "workerinput"):
            return
        error = sys.exc_info()[1]
        text = self.make_document(error) if self.make_document else _make_empty_document(error)
        # JSON is UTF-8, whatever the encoding of the terminal is.
        self.stream.buffer.write(text.encode("utf-8", "backslashreplace"))
        self.stream.flush()


def _make_empty_document(error: BaseException | None) -> str:
    """Make the document for a session that ended before it began to collect."""
    from pytest_irquality.evaluation.branches import Branch
    from pytest_irquality.evaluation.decide import decide
    from pytest_irquality.reports.json_report import render_short_json
    from pytest_irquality.reports.view import build_view

    errors = {"pytest": str(error)} if error else {}
    status = pytest.ExitCode.USAGE_ERROR if error else pytest.ExitCode.OK
    return render_short_json(build_view(decide(Branch(errors=errors), {})), exit_status=int(status))
