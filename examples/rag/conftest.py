from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from help_search import HelpSearch, paragraphs, windows

CHUNKERS = {"paragraphs": paragraphs, "windows": windows}
SPLIT_PASSAGES = (
    "how-long-does-a-repair-take[windows]",
    "telephone-hours-of-customer-service[windows]",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Expect failures that only one of the retrievers has. `known_issue` would be for both."""
    for item in items:
        if item.name in SPLIT_PASSAGES:
            item.add_marker(pytest.mark.xfail(reason="HELP-9", strict=True))


@pytest.fixture(scope="session", params=CHUNKERS)
def retriever(request: pytest.FixtureRequest) -> Iterator[HelpSearch]:
    with closing(HelpSearch(CHUNKERS[request.param])) as search:
        yield search
