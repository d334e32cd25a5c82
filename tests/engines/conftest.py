"""Real engines over the same five documents, each asked through the public API, with no glue but its own search call."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

import pytest

from pytest_irquality import retrieve
from pytest_irquality.retrieval import Ranking, Run
from pytest_irquality.suite import Query, Suite

DOCUMENTS = {
    "51": "mesh office chair",
    "7": "kneeling chair of birch",
    "486": "desk lamp",
    "9": "wireless headphones",
    "12": "polycarbonate mat for a chair",
}


def library(name: str) -> Any:
    """A library of the extra ``engines``: a test without it is skipped, but fails where all must be there."""
    if os.environ.get("IRQUALITY_ENGINES") == "all":
        return importlib.import_module(name)
    return pytest.importorskip(name)


@pytest.fixture
def ask() -> Callable[..., tuple[Ranking, Run]]:
    def ask(retriever: object, **suite: Any) -> tuple[Ranking, Run]:
        """What a retriever gives for the query "chair", and the run it is in."""
        run = retrieve(
            Suite(name="s", path="s", queries=(Query("q", "chair"),), depth=4, **suite), retriever
        )
        assert not run.faults, run.faults["q"].message
        return run.first.rankings["q"], run

    return ask
