"""Services: retrievers that search outside this process, as a URL or a program.

They have in common that they end their own calls in time, and say what went wrong in a line that
holds no secret.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from pytest_irquality.retrieval.secrets import Secrets
from pytest_irquality.retrieval.wrappers import UnreadableResult

if TYPE_CHECKING:
    from http.client import HTTPResponse

LARGEST = 16 * 2**20  # bytes of an answer


class ServiceError(UnreadableResult):
    """A call that gave no result. ``response`` is that of HTTP, if any came."""

    def __init__(self, cause: str, detail: str = "", response: HTTPResponse | None = None) -> None:
        super().__init__(cause, detail)
        self.response = response


class Service:
    """A retriever that is not Python, of an ini key. Any number of threads may ask it at once."""

    key = ""

    def __init__(self, secrets: Secrets) -> None:
        self.secrets = secrets
        self.kept: deque[Any] = deque()  # what is open and waits for a call

    def ask(self, query: str, k: int, params: Mapping[str, Any], seconds: float) -> Any:
        """The answer within so many seconds. Raises ``ServiceError`` or ``TimedOut``."""
        raise NotImplementedError

    def close(self) -> None:
        """End what is still open."""
        for one in self.taken():
            one.close()

    def within(self, seconds: float) -> Callable[..., Any]:
        """The function that asks it, each call ended after so many seconds."""

        def search(query: str, k: int, **params: Any) -> Any:
            return self.ask(query, k, params, seconds)

        search.__name__ = self.key
        return search

    def taken(self) -> Iterator[Any]:
        """The things that are kept, one after the other, each for nobody else."""
        with suppress(IndexError):
            while True:
                yield self.kept.pop()

    def checked(self, answer: Any) -> Any:
        """A value that was read from JSON, without secrets.

        Raises ``ServiceError`` where it says that something went wrong.
        """
        answer = self.secrets.masked(answer)
        if isinstance(answer, dict) and answer.get("error"):
            said = json.dumps(answer["error"]).encode()
            raise ServiceError("it answered with an error", self.secrets.quoted(said))
        return answer


@contextmanager
def ended_after(seconds: float, end: Callable[[], object]) -> Iterator[threading.Event]:
    """Call ``end`` from another thread after so many seconds, unless the block was left.

    The event says whether it was called.
    """
    late = threading.Event()

    def fire() -> None:
        late.set()
        end()

    timer = threading.Timer(seconds, fire)
    timer.daemon = True
    timer.start()
    try:
        yield late
    finally:
        timer.cancel()
