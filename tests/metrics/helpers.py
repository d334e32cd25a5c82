"""Builders of judgments, rankings and random cases, and data outside the repository."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import settings, strategies as st

from pytest_irquality.metrics import Judgments, Metric, parse_metric, score_rankings

SHARED_DATA = (
    Path(os.environ.get("IRQUALITY_SHARED", Path(__file__).parents[3] / "shared")) / "data"
)
DOC_IDS = [f"d{number}" for number in range(14)]
GRADES = (-2, -1, 0, 0, 1, 1, 2, 3, 4)
BATCH_SIZE = 500
# Each example is a batch, because drawing every case by itself takes longer than scoring it.
EXAMPLE_COUNT = max(5, settings().max_examples // 10)

batches = settings(max_examples=EXAMPLE_COUNT)
seeds = st.integers(0, 2**32)


@dataclass(frozen=True)
class Case:
    """The grades of a query, negative ones included, and a ranking without duplicates."""

    grades: dict[str, int]
    ranking: list[str]


def draw_batch(seed: int) -> list[Case]:
    """Draw cases with few documents and grades, so that ties and gaps are common."""
    draw = Random(seed)
    cases = []
    for _ in range(BATCH_SIZE):
        judged = draw_some(DOC_IDS, draw)
        grades = {doc_id: draw.choice(GRADES) for doc_id in judged}
        cases.append(Case(grades, draw_some(DOC_IDS, draw)))
    return cases


def draw_some(doc_ids: list[str], draw: Random) -> list[str]:
    return draw.sample(doc_ids, draw.randint(0, len(doc_ids)))


def score(
    name: str | Metric,
    grades: Mapping[str, float],
    ranking: Sequence[str],
    *,
    relevant_from: float = 1,
    **options: Any,
) -> float | None:
    """Score one ranking with one metric."""
    metric = parse_metric(name) if isinstance(name, str) else name
    columns = score_rankings([metric], [Judgments(grades, relevant_from)], [ranking], **options)
    return columns[0][0]


def score_cases(
    cases: Sequence[Case],
    metrics: Iterable[Metric],
    rankings: Sequence[Sequence[str]] | None = None,
    relevant_from: float = 1,
    **options: Any,
) -> list[dict[Metric, float | None]]:
    """Score cases with several metrics: the values of each case by metric."""
    metrics = list(metrics)
    judgments = [Judgments(case.grades, relevant_from) for case in cases]
    if rankings is None:
        rankings = [case.ranking for case in cases]
    columns = score_rankings(metrics, judgments, rankings, **options)
    return [dict(zip(metrics, row, strict=True)) for row in zip(*columns, strict=True)]


def make_scores(ranking: Sequence[str]) -> dict[str, float]:
    """Give documents scores, for tools that sort by score."""
    return {doc_id: float(len(ranking) - index) for index, doc_id in enumerate(ranking)}


def find_shared(name: str) -> Path:
    """Return a file of data outside the repository, or skip the test."""
    path = SHARED_DATA / name
    if not path.exists():
        pytest.skip(f"{name} is missing; IRQUALITY_SHARED can name the folder that has data/{name}")
    return path
