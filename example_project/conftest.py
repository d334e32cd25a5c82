from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from shop_search import ShopSearch


@pytest.fixture(scope="session")
def retriever() -> Iterator[ShopSearch]:
    with closing(ShopSearch()) as shop:
        yield shop
