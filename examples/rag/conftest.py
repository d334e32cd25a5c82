from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from help_search import HelpSearch, paragraphs, windows

CHUNKERS = {"paragraphs": paragraphs, "windows": windows}


@pytest.fixture(scope="session", params=CHUNKERS)
def retriever(request: pytest.FixtureRequest) -> Iterator[HelpSearch]:
    with closing(HelpSearch(CHUNKERS[request.param])) as search:
        yield search
