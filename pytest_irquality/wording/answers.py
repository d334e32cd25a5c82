"""What several answers to a query, and its other wordings, say: wavering and robustness in
words.
"""

from __future__ import annotations

from collections.abc import Iterator

from pytest_irquality.verdict.facts import (
    Change,
    Finding,
    Noise,
    Robustness,
    Spread,
    VariantLoss,
    Wavering,
    WorstVariant,
)
from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.wording.numbers import apart, counted, few, figure
from pytest_irquality.wording.words import quoted

BY_HAND = "variants"
NAMED = 3
NO_VARIANTS = "no query that finds something has variants that were answered"


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


def broken_by(finding: Finding, unit: str) -> str:
    """The texts that lost most where a limit on variants is broken, as they may be copied under
    ``variants``; else "".
    """
    if not finding.worst:
        return ""
    texts = [_with_loss(finding, variant, unit) for variant in finding.worst[:NAMED]]
    return f": {few(texts, finding.lost)}"


def unanswered(result: SuiteResult, finding: Finding) -> str:
    """Which variants were not answered, and why."""
    assert finding.lacks is not None
    silent = f"{finding.lacks.reads} of {finding.lacks.holds} {kind_name(finding.variants)}"
    texts = few([quoted(variant.text) for variant in finding.worst[:NAMED]], finding.lost)
    kind = next((one for one in result.robustness if one.kind == finding.variants), None)
    why = kind.cause if kind and kind.cause else "the kept run does not have them"
    return f"{silent} were not answered ({texts}): {why}"


def _with_loss(finding: Finding, variant: WorstVariant, unit: str) -> str:
    if finding.measure == "zero_results":  # 0 → 1 says no more than that it is named
        return quoted(variant.text)
    return f"{quoted(variant.text)} {figure(variant.own, unit)} → {figure(variant.value, unit)}"


def _texts(kind: Robustness) -> str:
    return few([quoted(variant.text) for variant in kind.empty[:NAMED]], len(kind.empty))


# -- for the reports -------------------------------------------------------------------------------


def answers_lines(result: SuiteResult) -> Iterator[str]:
    """What other wordings lose and what unchanged code does, in a line each."""
    for kind in result.robustness:
        yield _asked(kind)
        yield from (f"  {_loss(result, loss)}" for loss in kind.losses)
        if kind.empty:
            yield f"  {counted(len(kind.empty), 'finds', 'find')} nothing: {_texts(kind)}"
    noise = result.noise
    if noise is None:
        return
    yield units_said(noise)
    for spread in noise.spreads:
        yield f"  {spread_of(spread, result.unit(spread.measure))}"
    asked = counted(len(result.queries), "query", "queries")
    if not noise.total:
        yield f"  none of {asked} wavers"
        return
    worst = noise.wavering[0]
    text = quoted(result.query(worst.query).text)
    waver = "wavers" if noise.total == 1 else "waver"
    yield f"  {noise.total} of {asked} {waver}; most: {text}, {common(worst)} in common"


def _asked(kind: Robustness) -> str:
    asked = (
        f"{kind_name(kind.kind)}: {kind.variants} of {counted(kind.queries, 'query', 'queries')}"
    )
    if kind.unanswered:
        return f"{asked}, {kind.unanswered} could not be answered"
    return asked


def _loss(result: SuiteResult, loss: VariantLoss) -> str:
    """What variants lose of a measure, with the text that lost most."""
    unit, change = result.unit(loss.measure), loss.change
    own, variants = apart(change.before, change.now, unit)
    said = f"{loss.measure} {own} → {variants} over {counted(change.queries, 'query', 'queries')}"
    if since := since_baseline(loss, unit):
        said = f"{said}; {since}"
    if loss.worst:
        worst = loss.worst[0]
        value = f"{figure(worst.own, unit)} → {figure(worst.value, unit)}"
        said = f"{said}; most: {quoted(worst.text)} {value}"
    return said


def since_baseline(loss: VariantLoss, unit: str) -> str:
    """What the variants did since the baseline; "" where there is none, or nothing moved."""
    if loss.since is None or not (loss.since.better or loss.since.worse):
        return ""
    before, now = apart(loss.since.before, loss.since.now, unit)
    return f"since the baseline {before} → {now}"


def spread_of(spread: Spread, unit: str) -> str:
    """How far the means of a side's answers or builds lie apart."""
    said = f"{spread.measure}: today {_range(spread.low, spread.high, unit)}"
    if spread.low_before is None or spread.high_before is None:
        return said
    return f"{said}, baseline {_range(spread.low_before, spread.high_before, unit)}"


def common(wavering: Wavering) -> str:
    """How much of the top results a query's answers share."""
    return f"{wavering.overlap * 100:.0f} %"


def units_said(noise: Noise) -> str:
    """How many answers and builds there are, and what they cannot show."""
    said = f"unchanged code: {counted(noise.answers, 'answer')} to each query today"
    if noise.answers_before:
        said = f"{said}, {noise.answers_before} in the baseline"
    today = noise.answers > 1 and noise.builds == 1
    before = noise.answers_before > 1 and noise.builds_before == 1
    if not today and not before:
        return said
    if noise.builds <= 1 and noise.builds_before <= 1:
        whose = "of one build a side"
    else:
        whose = "today's of one build" if today else "the baseline's of one build"
    return f"{said}, {whose}: repeats cannot show what a rebuild does"


def _range(low: float, high: float, unit: str) -> str:
    least, most = apart(low, high, unit)
    return least if least == most else f"{least} to {most}"
