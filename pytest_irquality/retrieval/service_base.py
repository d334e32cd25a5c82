"""What retrievers outside this process share: time limits, masking, and quoting what they wrote."""

from __future__ import annotations

import json
import os
import re
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from html import unescape
from string import Template
from typing import Any

from pytest_irquality.io.secrets import Secrets, find_variables
from pytest_irquality.retrieval.errors import RetrieverError, ServiceError

# The placeholder for the port of ``ir_serve``.
PORT = "{port}"
MAX_ANSWER_BYTES = 16 * 2**20
# How much is quoted of the start and of the end of an answer or a log.
MAX_QUOTED_CHARS = 120


class Service:
    """A retriever outside this process. Any number of threads may call it at once.

    It ends its own calls in time, and its errors are single lines without secrets.
    """

    key = ""

    def __init__(self, secrets: Secrets) -> None:
        self.secrets = secrets
        self._idle: deque[Any] = deque()

    def call(self, query: str, k: int, params: Mapping[str, Any], timeout: float) -> Any:
        """Return the answer to a query within so many seconds, masked.

        Raises:
            ServiceError: There is no answer, or the answer is an error.
            CallTimeout: The time is over.
        """
        raise NotImplementedError

    def bind(self, timeout: float) -> Callable[..., Any]:
        """Return a function ``(query, k, **params)`` whose calls end within so many seconds."""

        def search(query: str, k: int, **params: Any) -> Any:
            return self.call(query, k, params, timeout)

        search.__name__ = self.key
        return search

    def close(self) -> None:
        """Close what is open."""
        for idle in self._take_idle():
            idle.close()

    def _take_idle(self) -> Iterator[Any]:
        """Yield connections or processes that wait for a call. Each goes to one thread only."""
        with suppress(IndexError):
            while True:
                yield self._idle.pop()

    def _check_answer(self, answer: Any) -> Any:
        """Return an answer without secrets. Raise ``ServiceError`` if it is an error."""
        answer = self.secrets.mask_json(answer)
        if isinstance(answer, dict) and answer.get("error"):
            raise ServiceError("The answer is an error", self.quote(json.dumps(answer["error"])))
        return answer

    def quote(self, data: bytes | str) -> str:
        """Quote what a service wrote: both ends on one line, without secrets and HTML tags."""
        text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
        text = self.secrets.mask(text)
        if text.lstrip().startswith("<"):
            text = self.secrets.mask(unescape(re.sub("<[^<>]*>", " ", text)))
        line = " ".join(text.split())
        if len(line) > 2 * MAX_QUOTED_CHARS:
            line = f"{line[:MAX_QUOTED_CHARS]} … {line[-MAX_QUOTED_CHARS:]}"
        return repr(str(line))


def parse_header(line: str) -> tuple[str, str]:
    """Return the name and the value of a line of ``ir_headers``.

    Raises:
        RetrieverError: The line is malformed, or a variable of the environment is not set.
    """
    for name in find_variables(line):
        if not os.environ.get(name, "").strip():
            raise RetrieverError(f"Ini key ir_headers: the environment variable {name} is not set")
    try:
        name, value = line.split(":", 1)
        return name.strip().title(), Template(value).substitute(os.environ).strip()
    except ValueError:
        reason = "a line must be 'Name: value', with $$ for a dollar sign"
        raise RetrieverError(f"Ini key ir_headers: {reason}") from None


@contextmanager
def limit_time(seconds: float, end: Callable[[], object]) -> Iterator[threading.Event]:
    """Call a function from another thread after so many seconds, unless the block was left.

    Yields:
        An event that is set if the function was called.
    """
    is_over = threading.Event()

    def fire() -> None:
        is_over.set()
        end()

    timer = threading.Timer(seconds, fire)
    timer.daemon = True
    timer.start()
    try:
        yield is_over
    finally:
        timer.cancel()
