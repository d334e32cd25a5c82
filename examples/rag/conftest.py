from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from help_search import HelpSearch, paragraphs, windows

CHUNKERS = {"paragraphs": paragraphs, "windows": windows}
CUT_IN_TWO = (
    "how-long-does-a-repair-take[windows]",
    "telephone-hours-of-customer-service[windows]",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What only one of the retrievers gets wrong is excused as any test is: by a mark."""
    for item in items:
        if item.name in CUT_IN_TWO:
            item.add_marker(pytest.mark.xfail(reason="HELP-9", strict=True))


@pytest.fixture(scope="session", params=CHUNKERS)
def retriever(request: pytest.FixtureRequest) -> Iterator[HelpSearch]:
    with closing(HelpSearch(CHUNKERS[request.param])) as search:
        yield search
