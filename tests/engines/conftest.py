"""Real engines over the same five documents, called without any glue code."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

import pytest

from pytest_irquality.retrieval.collect import collect_run
from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.model import Query, Settings

DOCUMENTS = {
    "51": "mesh office chair",
    "7": "kneeling chair of birch",
    "486": "desk lamp",
    "9": "wireless headphones",
    "12": "polycarbonate mat for a chair",
}
CHAIRS = {"51", "7", "12"}
Search = Callable[..., tuple[Ranking, Run]]


def import_library(name: str) -> Any:
    """Import a library of the extra ``engines``.

    A test without it is skipped, and fails if ``IRQUALITY_ENGINES=all`` says that all are there.
    """
    if os.environ.get("IRQUALITY_ENGINES") == "all":
        return importlib.import_module(name)
    return pytest.importorskip(name)


def run_search(
    retriever: object, params: dict[str, Any] | None = None, **settings: Any
) -> tuple[Ranking, Run]:
    """Return what a retriever finds for "chair", and the run that contains it.

    Raises:
        AssertionError: There is no answer. The message is that of the error.
    """
    query = Query("q", "chair", params=params or {})
    run = collect_run(retriever, [query], Settings(**settings), depth=4)
    assert not run.errors, run.errors[query.request].message
    return run.answers[query.request][0], run
