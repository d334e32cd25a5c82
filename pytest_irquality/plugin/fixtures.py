"""One line on a fixture that is missing, or that nothing awaits.

pytest says more of it and less.
"""

from __future__ import annotations

import re

import pytest

from pytest_irquality.edges.near import did_you_mean
from pytest_irquality.plugin.internals import NOTHING_AWAITED, Failure, available_fixtures
from pytest_irquality.retrieval.call import AWAITED_BY, CLEAR_CUTOFFS, SHORT_CUTOFFS
from pytest_irquality.suite import Suite

QUERY_NAMES = ("query", "queries", "q", "text", "question", "search", "term", "keywords")


def said_of(suite: Suite, error: BaseException) -> str | None:
    """Give words to say instead of an error, if it is one of these."""
    if isinstance(error, pytest.FixtureLookupError):
        return _no_such_fixture(suite, error)
    found = re.search(NOTHING_AWAITED, str(error)) if isinstance(error, Failure) else None
    return found and f"the fixture {found[1]!r} is async and nothing has awaited it: {AWAITED_BY}"


def _no_such_fixture(suite: Suite, error: pytest.FixtureLookupError) -> str | None:
    """The retriever, or a fixture that it asks for, with a name that is near."""
    name, asking = error.argname, error.request.fixturename
    if name is None or (name != suite.retriever and asking is None):
        return None
    near = did_you_mean(name, available_fixtures(error))
    if name == suite.retriever:
        return _no_retriever(suite, near)
    if asking == suite.retriever and name in (*QUERY_NAMES, *SHORT_CUTOFFS, *CLEAR_CUTOFFS):
        return (
            f"{suite.path}: the fixture {asking!r} takes {name!r} itself; it must return a function"
            " that does"
        )
    return (
        f"{suite.path}: no fixture {name!r}, which the fixture {asking!r} asks for, is found from"
        f" here{near}"
    )


def _no_retriever(suite: Suite, near: str) -> str:
    place = suite.places.get("retriever")
    if place:
        where = f"{suite.path}:{place.line}:{place.column}"
        return f"{where}: no fixture {suite.retriever!r} is found from here{near}"
    advice = near or (
        "; write it in a conftest.py, name yours ('retriever: NAME'), or set ir_url or ir_command"
        " in the ini file"
    )
    return f"{suite.path}: no fixture 'retriever' is found from here{advice}"
