"""Metrics that a project defines: one function and what it promises about its values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from numbers import Real
from typing import Literal

from pytest_irquality.metrics.catalog import index_definitions
from pytest_irquality.metrics.judgments import DocIds, JudgedRankings, Judgments, MetricError
from pytest_irquality.metrics.metric import Definition, ScoreFunction

# Sums of floats may exceed a bound by their last bits.
RANGE_TOLERANCE = 1e-9

MetricFunction = Callable[[list[str], Mapping[str, float], int], "float | None"]

# A name must not look like trec_eval's name with a cutoff, such as `recall_100`.
_NAME = re.compile(r"(?!.*_\d+$)[a-z][a-z0-9_]*")


def make_own_metric(
    name: str,
    function: MetricFunction,
    *,
    better: Literal["higher", "lower"] = "higher",
    range: tuple[float, float] = (0, 1),
    needs_relevant: bool = True,
    doc: str = "",
    cutoff: bool = True,
) -> Definition:
    """Define a metric of a project's own.

    Suites use it by name if the hook ``pytest_ir_metrics`` returns it, and ``check()`` accepts it
    under ``metrics``.

    Args:
        name: The name in suites, in lower-case letters, digits and underscores.
        function: Called with the documents (best first, without duplicates, cut at k), the grades
            of the query as written, and k. Returns a number within ``range``, or ``None`` if the
            metric is undefined for the query.
        better: Whether a ``higher`` or ``lower`` value is better.
        range: The lowest and the highest value.
        needs_relevant: Whether the metric is undefined for queries without a relevant document.
        doc: The formula in words, for reports. The function's docstring by default.
        cutoff: Whether names have a cutoff (``dwell@10``). Without one the function receives all
            documents, and their number as k.

    Raises:
        MetricError: The name is invalid or taken, or another argument is invalid.
    """
    if not _NAME.fullmatch(name):
        raise MetricError(
            f"'{name}' cannot name a metric. Use lower-case letters, digits and '_', and do not end"
            " with '_' and digits."
        )
    if better not in ("higher", "lower"):
        raise MetricError(f"'{name}': 'better' must be 'higher' or 'lower', not {better!r}")
    low, high = range
    if not low < high:
        raise MetricError(f"'{name}': 'range' must ascend, but it is {low} to {high}")
    undefined = "if its function returns None"
    if needs_relevant:
        undefined += ", or for a query without a relevant document"
    definition = Definition(
        name=name,
        title=name,
        formula=doc or function.__doc__ or "",
        source="this project",
        make=partial(_make_score_function, name, function, range),
        undefined=undefined,
        has_cutoff=cutoff,
        needs="relevant" if needs_relevant else "",
        reach="cutoff" if cutoff else "all",
        range=range,
        higher_is_better=better == "higher",
        is_own=True,
    )
    index_definitions([definition])  # raises MetricError if the name is taken
    return definition


def _make_score_function(
    name: str, function: MetricFunction, range: tuple[float, float], cutoff: int | None = None
) -> ScoreFunction:
    """Return a function that scores a batch by a project's function, and checks its values."""
    low, high = range
    subject = f"The function of '{name}'"

    def score_one(ranking: DocIds, judgments: Judgments, position: int) -> float | None:
        doc_ids = list(dict.fromkeys(ranking))
        k = len(doc_ids) if cutoff is None else cutoff
        try:
            value = function(doc_ids[:k], judgments.grades, k)
        except Exception as error:
            cause = f"{type(error).__name__}: {error}"
            raise MetricError(f"{subject} raised {cause}", position) from error
        if value is None:
            return None
        # Booleans are numbers here, because `doc_id in ranking` is a natural result.
        if not isinstance(value, Real):
            raise MetricError(f"{subject} returned {value!r}, which is not a number", position)
        if not low - RANGE_TOLERANCE <= value <= high + RANGE_TOLERANCE:
            message = f"{subject} returned {value!r}, which is not in its range of {low} to {high}"
            raise MetricError(message, position)
        return min(max(float(value), low), high)

    def score(batch: JudgedRankings) -> list[float | None]:
        return list(map(score_one, batch.rankings, batch.judgments, batch.positions))

    return score
