from __future__ import annotations

import pytest
from shop_search import ShopSearch


@pytest.fixture(scope="session")
def retriever() -> ShopSearch:
    return ShopSearch()
