"""One line on a retriever's fixture that is missing: pytest says more of it and less."""

from __future__ import annotations

import pytest

from pytest_irquality.edges.near import did_you_mean
from pytest_irquality.plugin.internals import available_fixtures
from pytest_irquality.suite import Suite


def said_of(suite: Suite, error: BaseException) -> str | None:
    """Give words to say instead of an error, if it is this one."""
    if not isinstance(error, pytest.FixtureLookupError) or error.argname != suite.retriever:
        return None
    place = suite.places.get("retriever")
    at = f"{suite.path}:{place.line}:{place.column}" if place else suite.path
    near = did_you_mean(suite.retriever, available_fixtures(error))
    return (
        f"{at}: no fixture {suite.retriever!r} is found from here{near}; write it in a conftest.py,"
        " name yours ('retriever: NAME'), or set ir_url or ir_command in the ini file"
    )
