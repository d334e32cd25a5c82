"""What several answers to a query, and its other wordings, say: wavering and robustness in words."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_irquality.verdict.facts import Change, Finding, Noise, Robustness, VariantLoss
from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.wording.numbers import apart, counted, few, figure, signed
from pytest_irquality.wording.words import quoted

BY_HAND = "variants"
NO_VARIANTS = "no query that finds something has variants that were answered"
UNKNOWN = "noise is unknown: each side has one answer to a query"


def in_answers(finding: Finding) -> str:
    """In how many of several answers a rule was broken, or that a loss may be wavering; else ""."""
    if finding.ok:
        return ""
    if finding.wavering:
        others = counted(finding.wavering, "other query wavers", "other queries waver")
        return f" (this may be wavering: {others} as much)"
    if finding.answers > 1:
        return f" (in {finding.broken_in} of {finding.answers} answers)"
    return ""


def kind_name(kind: str) -> str:
    """A kind of variants as people call it."""
    return "variants" if kind == BY_HAND else f"{kind} variants"


def of_variants(finding: Finding, change: Change, unit: str) -> str:
    """What variants score beside their queries."""
    own, variants = apart(change.before, change.now, unit)
    if own == variants:
        return f"{finding.measure} is {own} for the queries and their {kind_name(finding.variants)}"
    return (
        f"{finding.measure} is {own} for the queries"
        f" and {variants} for their {kind_name(finding.variants)}"
    )


def variants_value(result: SuiteResult, finding: Finding, said: str) -> str:
    """A floor or ceiling of variants, with the texts that find nothing where they are counted."""
    said = f"{kind_name(finding.variants)}: {said}"
    kind = next((one for one in result.robustness if one.kind == finding.variants), None)
    if kind is None or finding.ok or finding.measure != "zero_results":
        return said
    return f"{said}: {_texts(kind)}"


def _texts(kind: Robustness) -> str:
    return few([quoted(variant.text) for variant in kind.empty[:3]], len(kind.empty))


# -- for the reports --------------------------------------------------------------------------------


def robustness_lines(result: SuiteResult) -> Iterator[str]:
    """A line a kind of variants and measure, and the texts that broke most."""
    for kind in result.robustness:
        of = counted(kind.queries, "query", "queries")
        asked = f"{kind_name(kind.kind)}: {kind.variants} of {of}"
        if kind.unanswered:
            asked = f"{asked}, {kind.unanswered} could not be answered"
        yield asked
        for loss in kind.losses:
            yield f"  {loss_line(result, loss)}"
        if kind.empty:
            nothing = counted(len(kind.empty), "finds", "find")
            yield f"  {nothing} nothing: {_texts(kind)}"


def loss_line(result: SuiteResult, loss: VariantLoss) -> str:
    """What variants lose of a measure, with its interval and the text that lost most."""
    unit = result.unit(loss.measure)
    change = loss.change
    own, variants = apart(change.before, change.now, unit)
    said = f"{loss.measure} {own} → {variants}"
    if change.low is not None and change.high is not None:
        said = f"{said} (95 %: {signed(change.low, unit)} to {signed(change.high, unit)})"
    said = f"{said} over {counted(change.queries, 'query', 'queries')}"
    if loss.worst:
        worst = loss.worst[0]
        value = f"{figure(worst.own, unit)} → {figure(worst.value, unit)}"
        said = f"{said}; most: {quoted(worst.text)} {value}"
    return said


def noise_lines(result: SuiteResult) -> Iterator[str]:
    """What unchanged code does, as far as several answers tell."""
    noise = result.noise
    if noise is None:
        return
    yield _units(noise)
    for spread in noise.spreads:
        unit = result.unit(spread.measure)
        said = f"{spread.measure}: today {_range(spread.low, spread.high, unit)}"
        if spread.low_before is not None and spread.high_before is not None:
            then = _range(spread.low_before, spread.high_before, unit)
            said = f"{said}, baseline {then}"
        yield f"  {said}"
    asked = len(result.queries)
    if not noise.total:
        yield f"  none of {asked} queries wavers"
        return
    worst = noise.wavering[0]
    text = quoted(result.query(worst.query).text)
    yield f"  {noise.total} of {asked} queries waver; most: {text}, {worst.overlap:.0%} in common"


def _units(noise: Noise) -> str:
    sides = f"{counted(noise.answers, 'answer')} to each query today"
    if noise.answers_before:
        sides = f"{sides}, {noise.answers_before} in the baseline"
    if noise.answers > 1 and noise.builds == 1:
        return f"{sides}, all of one build: repeats cannot show what a rebuild does"
    return sides


def _range(low: float, high: float, unit: str) -> str:
    least, most = apart(low, high, unit)
    return least if least == most else f"{least} to {most}"
