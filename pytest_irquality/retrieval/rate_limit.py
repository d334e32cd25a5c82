"""Rate limiting: calls are spaced as ``rate`` says, and slower if an engine refuses them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


class RateLimiter:
    """Spaces the calls of one retriever, from any thread, suite or process.

    Args:
        rate: The highest number of calls a second, or ``None``.
        file: A file that all processes share which call the same retriever.
    """

    def __init__(self, rate: float | None = None, file: Path | None = None) -> None:
        raise NotImplementedError

    def acquire(self) -> float:
        """Reserve a call. Return 0, or the seconds to wait before trying again."""
        raise NotImplementedError

    def is_refusal(self, error: BaseException | None, began: float, first_began: float) -> bool:
        """Record how a call ended, and return whether it was refused and is to be made again."""
        raise NotImplementedError


class RateLimiters:
    """The limiter of each retriever.

    Args:
        shared: The beginning of the names of files that the workers of pytest-xdist share.
    """

    def __init__(self, shared: Path | None = None) -> None:
        raise NotImplementedError

    def get(self, retriever: str, rates: Iterable[float] = ()) -> RateLimiter:
        """Return the limiter of a retriever. The lowest of the rates of its suites applies."""
        raise NotImplementedError
