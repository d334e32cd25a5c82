"""Wavering and robustness in words: several answers to a query, and its other wordings."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_irquality.verdict.broken_builds import BrokenBuilds
from pytest_irquality.verdict.findings import (
    Change,
    Finding,
    WorstVariant,
)
from pytest_irquality.verdict.guards import BlindGuard
from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.wording.numbers import apart, counted, few, figure, signed
from pytest_irquality.wording.words import quoted

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
    """The losses of variants, measure by measure, and those that find nothing."""
    variants = result.robustness
    if variants is None:
        return
    queries = counted(variants.queries, "query", "queries")
    silent = f", {variants.unanswered} could not be answered" if variants.unanswered else ""
    yield f"{counted(variants.variants, 'variant')} of {queries}{silent}"
    for loss in variants.losses:
        unit = result.unit(loss.measure)
        own, reworded = apart(loss.change.before, loss.change.now, unit)
        most = ", ".join(f"{quoted(one.text)} {lost_by(one, unit)}" for one in loss.worst[:NAMED])
        said = f"{loss.measure}: {own} for the queries, {reworded} for their variants"
        yield f"{said}; most: {most}" if most else said
    if variants.empty:
        texts = few([quoted(one.text) for one in variants.empty[:NAMED]], len(variants.empty))
        yield f"{counted(len(variants.empty), 'finds', 'find')} nothing: {texts}"


def noise_said(result: SuiteResult) -> Iterator[str]:
    """The numbers of answers, what these cannot show, and how many queries waver."""
    noise = result.noise
    if noise is None:
        return
    said = f"unchanged code: {counted(noise.answers, 'answer')} to each query today"
    if noise.answers_before:
        said = f"{said}, {noise.answers_before} in the baseline"
    sides = ((noise.answers, noise.builds), (noise.answers_before, noise.builds_before))
    if any(answers > 1 and builds == 1 for answers, builds in sides):
        said = f"{said}; repeats of one build cannot show what a rebuild does"
    yield said
    today = f"{noise.wavering} today" if noise.answers > 1 else ""
    before = f"{noise.wavering_before} in the baseline" if noise.answers_before > 1 else ""
    waver = ", ".join(filter(None, (today, before)))
    yield f"queries that waver, of {len(result.queries)}: {waver}"


def lost_by(variant: WorstVariant, unit: str) -> str:
    """The scores of a query and its variant: ``1.000 → 0.000``."""
    return f"{figure(variant.own, unit)} → {figure(variant.value, unit)}"


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


def interval(change: Change, unit: str) -> str:
    """The interval that a difference lies in: ``−0.170 to +0.030``; "" where it is not known."""
    if change.low is None or change.high is None:
        return ""
    return f"{signed(change.low, unit)} to {signed(change.high, unit)}"


def blind(fact: BlindGuard) -> str:
    """``'lost_all_relevant' can see a lost query in 0 of 20``."""
    return f"{fact.guard!r} can see a lost query in {fact.sees} of {fact.of}"
