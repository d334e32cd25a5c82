"""Standard output for one document alone, ``--ir-json=-``: all else goes to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress

import pytest

Document = Callable[["BaseException | None"], str]
"""The maker of the text, of the error that ended pytest, if one did."""
KEPT = pytest.StashKey["StandardOutput"]()


class StandardOutput:
    """Standard output as it was, until pytest has ended: then the document is written to it.

    ``document`` makes it, once there is a session.
    """

    document: Document | None = None

    def __init__(self, config: pytest.Config) -> None:
        self.config, self.out, self.copy = config, sys.stdout, -1
        sys.stdout.flush()
        with suppress(OSError):  # closed, as for a daemon
            self.copy = os.dup(1)
            os.dup2(2, 1)
        sys.stdout = sys.stderr
        config.stash[KEPT] = self
        # The first that is added is the last that is called: after pytest's own last words.
        config.add_cleanup(self.end)

    def end(self) -> None:
        """Give standard output back, and write the document."""
        sys.stdout.flush()
        sys.stdout = self.out
        if self.copy >= 0:
            os.dup2(self.copy, 1)
            os.close(self.copy)
        if hasattr(self.config, "workerinput"):
            return
        error = sys.exc_info()[1]
        text = self.document(error) if self.document else _without_session(error)
        # In UTF-8, as JSON is, whatever the terminal's encoding.
        self.out.buffer.write(text.encode("utf-8", "backslashreplace"))
        self.out.flush()


def _without_session(error: BaseException | None) -> str:
    """The document where pytest ended before it began to collect."""
    from pytest_irquality.report.digest import digest  # noqa: PLC0415 - for this alone

    status = pytest.ExitCode.USAGE_ERROR if error else pytest.ExitCode.OK
    return digest((), (), (), exit_status=status, errors=[str(error)] if error else [])
