"""One line on a fixture that is missing, or that nothing awaits.

pytest says more of it and less.
"""

from __future__ import annotations

import re

import pytest

from pytest_irquality.edges.near import did_you_mean
from pytest_irquality.plugin.internals import NOTHING_AWAITED, Failure, available_fixtures
from pytest_irquality.retrieval.call import AWAITED_BY
from pytest_irquality.suite import Suite


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
        place = suite.places.get("retriever")
        at = f"{suite.path}:{place.line}:{place.column}" if place else suite.path
        return (
            f"{at}: no fixture {name!r} is found from here{near}; write it in a conftest.py, name"
            " yours ('retriever: NAME'), or set ir_url or ir_command in the ini file"
        )
    return (
        f"{suite.path}: no fixture {name!r}, which the fixture {asking!r} asks for, is found from"
        f" here{near}; the fixture of a retriever returns a function that takes the query"
    )
