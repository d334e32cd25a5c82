"""The exception that this package raises."""

from __future__ import annotations


class MetricError(ValueError):
    """A metric or judgment that cannot be used as written, in one line that says what to do.

    Attributes:
        index: The position of the ranking that could not be scored, if the error is about one.
            Callers know to which query it belongs, and this package does not.
    """

    def __init__(self, message: str, index: int | None = None) -> None:
        super().__init__(message)
        self.index = index
