"""A user's own measure: one function, told which direction is better."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from numbers import Real

from pytest_irquality.metrics.catalogue import with_own
from pytest_irquality.metrics.definition import Compute, Definition
from pytest_irquality.metrics.errors import MeasureError
from pytest_irquality.metrics.hits import Ranking
from pytest_irquality.metrics.judgments import Judgments

DIRECTIONS: Mapping[str, bool] = {"higher": True, "lower": False}
NAME = re.compile(r"(?!.*_\d+$)[a-z][a-z0-9_]*")
SLACK = 1e-9  # sums of floats may pass a bound by their last bits

Function = Callable[..., "float | None"]


def own_measure(
    name: str,
    function: Function,
    *,
    better: str = "higher",
    range: tuple[float, float] = (0, 1),
    needs_relevant: bool = True,
    doc: str = "",
    cutoff: bool = True,
) -> Definition:
    """Make a measure of ``function(ranking, grades, k)``.

    The function is given the first k documents, best first, and the query's grades as written; it
    returns a number within ``range``, or None where it is undefined. Without a ``cutoff`` it is
    given every document, and their number as k.

    ``better`` is "higher" or "lower".
    ``needs_relevant``: the measure is undefined for queries without a relevant document. ``doc`` is
    its formula in words, for reports; the function's docstring if there is none.

    The hook ``pytest_ir_measures`` gives it to suites, ``check`` takes it as ``measures``. Raises
    ``MeasureError`` for a name that is taken or none.
    """
    if not NAME.fullmatch(name):
        raise MeasureError(
            f"{name!r} cannot name a measure: use small letters, digits and _, but no _ before"
            " last digits"
        )
    if better not in DIRECTIONS:
        raise MeasureError(f"better is 'higher' or 'lower' for {name!r}, not {better!r}")
    if not range[0] < range[1]:
        raise MeasureError(
            f"the range of {name!r} runs from {range[0]} to {range[1]}, but must run upwards"
        )
    own = Own(name, function, range)
    undefined = "where its function returns None"
    if needs_relevant:
        undefined += ", or without a relevant document"
    definition = Definition(
        name=name,
        title=name,
        formula=doc or function.__doc__ or "",
        source="this project",
        make=own.make,
        takes_cutoff=cutoff,
        needs="relevant" if needs_relevant else "",
        undefined=undefined,
        reach="cutoff" if cutoff else "all",
        range=range,
        higher_is_better=DIRECTIONS[better],
    )
    with_own([definition])  # raises where the name is taken
    return definition


@dataclass(frozen=True)
class Own:
    """A user's function, held to what was promised of it."""

    name: str
    function: Function
    range: tuple[float, float]

    def make(self, k: int | None = None) -> Compute:
        """Score the first k documents, or all that were returned."""
        call = partial(self.call, k=k)
        return lambda hits: [*map(call, hits.queries, hits.rankings, hits.judgments)]

    def call(
        self, query: str, ranking: Ranking, judgments: Judgments, k: int | None
    ) -> float | None:
        """The value that the function gives one query.

        An error names the measure and the query.
        """
        name = self.name if k is None else f"{self.name}@{k}"
        place = f"{name}, query {query!r}"
        distinct = [*dict.fromkeys(ranking)]
        most = len(distinct) if k is None else k
        try:
            value = self.function(distinct[:k], judgments.grades, most)
        except Exception as error:
            raise MeasureError(
                f"{place}: the function raised {type(error).__name__}: {error}"
            ) from error
        if value is None:
            return None
        if not isinstance(value, Real):
            raise MeasureError(f"{place}: the function returned {value!r}, which is no number")
        low, high = self.range
        if not low - SLACK <= value <= high + SLACK:
            raise MeasureError(
                f"{place}: the function returned {value!r}, which is outside {low} to {high}"
            )
        return min(max(float(value), low), high)
