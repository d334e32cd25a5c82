"""Several answers and other wordings, as the terminal shows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_irquality.edges.printable import terminal
from pytest_irquality.verdict.findings import Robustness, VariantLoss
from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.wording.answers import (
    asked,
    interval,
    kind_name,
    sides,
    since_then,
    spread_of,
    units_said,
    wavering_said,
    worst_of,
)
from pytest_irquality.wording.words import cells, columns, fitted

KINDS, MEASURES = 6, 4


def wordings(result: SuiteResult, width: int) -> Iterator[str]:
    """A table, kind by measure, of what other wordings lose; below it the texts that broke."""
    kinds = [kind for kind in result.robustness if kind.losses or kind.empty]
    if not kinds:
        yield from (fitted(terminal(f"  {asked(kind)}"), width) for kind in result.robustness)
        return
    lines = list(columns(list(_table(result, kinds, with_intervals=True))))
    if max(map(cells, lines)) > width:
        lines = list(columns(list(_table(result, kinds, with_intervals=False))))
    yield from (fitted(terminal(line), width) for line in lines)
    for kind in kinds[:KINDS]:
        for said in (*worst_of(result, kind), *since_then(result, kind)):
            yield fitted(terminal(f"    {kind_name(kind.kind)}: {said}"), width)


def _table(
    result: SuiteResult, kinds: Sequence[Robustness], with_intervals: bool
) -> Iterator[tuple[str, ...]]:
    measures = list(dict.fromkeys(loss.measure for kind in kinds for loss in kind.losses))[
        :MEASURES
    ]
    yield ("other wordings", *(f"{measure} of queries → variants" for measure in measures))
    for kind in kinds[:KINDS]:
        losses = {loss.measure: loss for loss in kind.losses}
        cells_ = (
            _cell(result, losses[measure], with_intervals) if measure in losses else ""
            for measure in measures
        )
        yield (asked(kind), *cells_)
    if len(kinds) > KINDS:
        yield (f"and {len(kinds) - KINDS} more kinds", *("" for _ in measures))


def _cell(result: SuiteResult, loss: VariantLoss, with_interval: bool) -> str:
    """The loss, and how sure it is."""
    said = " → ".join(sides(result, loss))
    low_to_high = interval(loss.change, result.unit(loss.measure))
    return f"{said} ({low_to_high})" if with_interval and low_to_high else said


def unchanged_code(result: SuiteResult, width: int) -> Iterator[str]:
    """The noise of unchanged code: how far answers lie apart, and how many queries waver."""
    noise = result.noise
    if noise is None:
        return
    yield fitted(terminal(f"  {units_said(noise)}"), width)
    for spread in noise.spreads[:MEASURES]:
        said = spread_of(spread, result.unit(spread.measure))
        yield fitted(terminal(f"    {said}"), width)
    yield fitted(terminal(f"    {wavering_said(result)}"), width)
