"""Errors of retrievers and their results, and how an error becomes one line of a report."""

from __future__ import annotations

from pytest_irquality.retrieval.run import QueryError


class RetrieverError(Exception):
    """The retriever, or what the ini file says of it, cannot be used for any query."""


class ResultError(Exception):
    """A result from which no document ids can be read.

    Attributes:
        cause: What is wrong, worded alike for all results with this fault.
        detail: What this result looks like.
    """

    def __init__(self, cause: str, detail: str = "") -> None:
        super().__init__(f"{cause}. {detail}" if detail else cause)
        self.cause = cause
        self.detail = detail


class CallTimeout(Exception):
    """A call took longer than its time limit."""


def make_query_error(error: BaseException, query_text: str) -> QueryError:
    """Describe what a call raised in one line, with the cause that similar errors share."""
    raise NotImplementedError
