"""Several answers and other wordings, as tables for the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pytest_irquality.verdict.findings import Noise, Robustness, VariantLoss
from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.wording.answers import (
    asked,
    common,
    interval,
    kind_name,
    lost_by,
    since_baseline,
    span,
    spread_of,
    units_said,
)
from pytest_irquality.wording.numbers import apart, counted, signed


class WorstText(NamedTuple):
    """A variant that lost, with its text as it may be copied under ``variants``."""

    text: str
    values: str


class LossRow(NamedTuple):
    """A kind of variants and a measure."""

    kind: str
    measure: str
    queries: int
    own: str
    variants: str
    loss: str
    interval: str
    since: str
    worst: tuple[WorstText, ...]


class KindTexts(NamedTuple):
    """All variants of a kind, query by query, and those that find nothing."""

    said: str
    empty: tuple[str, ...]
    texts: tuple[tuple[str, tuple[str, ...]], ...]


class WaveringRow(NamedTuple):
    """A query that is not answered alike each time."""

    query: str
    common: str
    rbo: str
    values: str
    documents: tuple[str, ...]


class NoiseView(NamedTuple):
    """The noise of unchanged code."""

    said: str
    spreads: tuple[str, ...]
    rows: tuple[WaveringRow, ...]
    more: str


def loss_rows(result: SuiteResult) -> tuple[LossRow, ...]:
    """A row for each kind of variants and measure shown."""
    return tuple(_loss(result, kind, loss) for kind in result.robustness for loss in kind.losses)


def _loss(result: SuiteResult, kind: Robustness, loss: VariantLoss) -> LossRow:
    unit, change = result.unit(loss.measure), loss.change
    own, variants = apart(change.before, change.now, unit)
    return LossRow(
        kind_name(kind.kind),
        loss.measure,
        change.queries,
        own,
        variants,
        signed(change.difference, unit),
        interval(change, unit),
        since_baseline(loss, unit),
        tuple(WorstText(worst.text, lost_by(worst, unit)) for worst in loss.worst),
    )


def kinds(result: SuiteResult) -> Iterator[KindTexts]:
    """The texts that were asked of each kind."""
    for kind in result.robustness:
        empty = tuple(variant.text for variant in kind.empty)
        texts = ((result.query(query).text, variants) for query, variants in kind.texts.items())
        yield KindTexts(asked(kind), empty, tuple(texts))


def noise_view(result: SuiteResult) -> NoiseView | None:
    """The noise of unchanged code; None where each query has one answer."""
    noise = result.noise
    if noise is None:
        return None
    rows = tuple(_wavering(result, noise))
    left = noise.total - len(rows)
    more = f"{counted(left, 'more query', 'more queries')} waver" if left > 0 else ""
    spreads = tuple(spread_of(spread, result.unit(spread.measure)) for spread in noise.spreads)
    return NoiseView(units_said(noise), spreads, rows, more)


def _wavering(result: SuiteResult, noise: Noise) -> Iterator[WaveringRow]:
    unit = result.unit(result.shown[0]) if result.shown else ""
    for one in noise.wavering:
        values = span(one.low, one.high, unit)
        documents = tuple(
            f"{document.title or document.id} (in {document.in_answers} of {one.answers})"
            for document in one.documents
        )
        text = result.query(one.query).text
        yield WaveringRow(text, common(one), f"{one.rbo:.2f}", values, documents)
