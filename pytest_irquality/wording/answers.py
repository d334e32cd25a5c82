"""Wavering and robustness in words: several answers to a query, and its other wordings."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_irquality.verdict.broken_builds import BrokenBuilds
from pytest_irquality.verdict.findings import (
    Change,
    Finding,
    Noise,
    Robustness,
    Spread,
    VariantLoss,
    Wavering,
    WorstVariant,
)
from pytest_irquality.verdict.guards import BlindGuard
from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.wording.numbers import apart, counted, few, figure, signed
from pytest_irquality.wording.words import quoted

NAMED, SPREADS = 3, 4
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


def of_variants(finding: Finding, change: Change, unit: str) -> str:
    """The scores of variants beside those of their queries."""
    own, variants = apart(change.before, change.now, unit)
    if own == variants:
        return f"{finding.measure} is {own} for the queries and their variants"
    return f"{finding.measure} is {own} for the queries and {variants} for their variants"


def broken_by(finding: Finding, unit: str) -> str:
    """The texts that lost most where a limit on variants is broken; else "".

    They stand as they may be copied under ``variants``.
    """
    if not finding.worst:
        return ""
    texts = [_with_loss(finding, variant, unit) for variant in finding.worst[:NAMED]]
    return f": {few(texts, finding.lost)}"


def unanswered(result: SuiteResult, finding: Finding) -> str:
    """The variants that were not answered, and the cause."""
    assert finding.lacks is not None
    silent = f"{finding.lacks.reads} of {finding.lacks.holds} variants"
    texts = few([quoted(variant.text) for variant in finding.worst[:NAMED]], finding.lost)
    cause = result.robustness.cause if result.robustness else ""
    why = cause or "the kept run does not have them"
    return f"{silent} were not answered ({texts}): {why}"


def _with_loss(finding: Finding, variant: WorstVariant, unit: str) -> str:
    if finding.measure == "zero_results":  # 0 → 1 says no more than that it is named
        return quoted(variant.text)
    return f"{quoted(variant.text)} {lost_by(variant, unit)}"


# -- for the reports -------------------------------------------------------------------------------


def wordings_said(result: SuiteResult) -> Iterator[str]:
    """The texts that find nothing, and variants without a measure, of which no row tells."""
    variants = result.robustness
    if variants and variants.empty:
        many = counted(len(variants.empty), "finds", "find")
        texts = few([quoted(one.text) for one in variants.empty[:NAMED]], len(variants.empty))
        yield f"variants: {many} nothing: {texts}"
    elif variants and not variants.losses:
        yield asked(variants)


def noise_said(result: SuiteResult) -> Iterator[str]:
    """The noise of unchanged code: how far answers lie apart, and how many queries waver."""
    if result.noise is not None:
        yield units_said(result.noise)
        for spread in result.noise.spreads[:SPREADS]:
            yield spread_of(spread, result.unit(spread.measure))
        yield wavering_said(result)


def asked(all: Robustness) -> str:
    """The numbers of variants and of their queries: ``24 variants of 8 queries``."""
    said = f"{counted(all.variants, 'variant')} of {counted(all.queries, 'query', 'queries')}"
    return f"{said}, {all.unanswered} could not be answered" if all.unanswered else said


def sides(result: SuiteResult, loss: VariantLoss) -> tuple[str, str]:
    """The scores of the queries themselves, and of their variants."""
    return apart(loss.change.before, loss.change.now, result.unit(loss.measure))


def lost_by(variant: WorstVariant, unit: str) -> str:
    """The scores of a query and its variant: ``1.000 → 0.000``."""
    return f"{figure(variant.own, unit)} → {figure(variant.value, unit)}"


def wavering_said(result: SuiteResult) -> str:
    """The number of queries that waver, and the one that wavers most.

    Where none does today, of the baseline; of a single answer nobody can tell.
    """
    noise = result.noise
    asked = counted(len(result.queries), "query", "queries")
    if noise is None or not noise.total:
        before = noise.total_before if noise else 0
        if not before:
            return f"none of {asked} wavers"
        wavered = f"{before} of {asked} wavered in the baseline"
        return f"{wavered}, and none today" if noise and noise.answers > 1 else wavered
    worst = noise.wavering[0]
    waver = "wavers" if noise.total == 1 else "waver"
    text = quoted(result.query(worst.query).text)
    return f"{noise.total} of {asked} {waver}; most: {text}, {common(worst)} in common"


def spread_of(spread: Spread, unit: str) -> str:
    """The distance between the means of a side's answers or builds."""
    said = f"{spread.measure}: today {span(spread.low, spread.high, unit)}"
    before = span(spread.low_before, spread.high_before, unit)
    return f"{said}, baseline {before}" if before else said


def common(wavering: Wavering) -> str:
    """The share of the top results that a query's answers have in common."""
    return f"{wavering.overlap * 100:.0f} %"


WHOSE = {"today": "today's", "baseline": "the baseline's", "HEAD": "HEAD's baseline of"}


def broken(fact: BrokenBuilds) -> str:
    """The builds that are not like the others, and how far they lie.

    ``build 3 of the baseline's 10 is left out (ndcg@10 0.000, median 1.000)``.
    """
    numbers, means = zip(*fact.means, strict=True)
    one = "build" if fact.builds else "answer"
    some, are = (one, "is") if len(numbers) == 1 else (f"{one}s", "are")
    which = f"{some} {', '.join(map(str, numbers))} of {WHOSE[fact.of]} {fact.total}"
    what = "broken" if fact.alarms else "left out"
    values = f"{fact.measure} {', '.join(map(figure, means))}, median {figure(fact.median)}"
    return f"{which} {are} {what} ({values})"


def units_said(noise: Noise) -> str:
    """The numbers of answers and builds, and what they cannot show."""
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


def interval(change: Change, unit: str) -> str:
    """The interval that a difference lies in: ``−0.170 to +0.030``; "" where it is not known."""
    if change.low is None or change.high is None:
        return ""
    return f"{signed(change.low, unit)} to {signed(change.high, unit)}"


def span(low: float | None, high: float | None, unit: str) -> str:
    """The lowest and the highest of some values, once where they are equal; "" without values."""
    if low is None or high is None:
        return ""
    least, most = apart(low, high, unit)
    return least if least == most else f"{least} to {most}"


def blind(fact: BlindGuard) -> str:
    """``'lost_all_relevant' can see a lost query in 0 of 20``."""
    return f"{fact.guard!r} can see a lost query in {fact.sees} of {fact.of}"
