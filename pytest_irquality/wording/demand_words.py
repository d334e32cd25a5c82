"""The words of each demand, by its key: ``WORDS`` has those of every rule, guard and bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite

from pytest_irquality.storage.provenance import UPDATE
from pytest_irquality.suite.demands import Together
from pytest_irquality.suite.key_tables import complete
from pytest_irquality.suite.model import DEMANDS
from pytest_irquality.verdict.comparison import SIGNIFICANT
from pytest_irquality.verdict.findings import Change, Finding, Lack, LackKind, RankedDocument
from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.verdict.statistics import EQUAL
from pytest_irquality.wording.answers import (
    NO_VARIANTS,
    broken_by,
    of_variants,
    unanswered,
)
from pytest_irquality.wording.losses import because, in_brackets
from pytest_irquality.wording.moves import move, name, place, seen
from pytest_irquality.wording.numbers import apart, chance, counted, exact, few, figure
from pytest_irquality.wording.words import queries, relevant, wanted

Sentence = Callable[[SuiteResult, Finding], str]


@dataclass(frozen=True)
class Words:
    """The words of a demand: its ``sentence``, which says what was demanded and what was seen.

    Of a guard ``several`` is what several queries did; its sentence goes on from a query's name. Of
    a bound ``name`` is what it is called, and ``sign`` stands before its number.
    """

    sentence: Sentence
    several: str = ""
    name: str = ""
    sign: str = ""


def of(finding: Finding) -> Words:
    """The words of what a finding is on."""
    return WORDS[finding.kind]


def bound(finding: Finding) -> str:
    """A limit as written: ``≥ 0.87``; the demand's name where it has no number."""
    sign = of(finding).sign
    if finding.limit is None or not sign:
        return finding.kind if finding.measure else ""
    over = f" over {finding.suites} suites" if finding.suites > 1 else ""
    return f"{sign} {exact(finding.limit, finding.unit)}{over}"


# -- rules -----------------------------------------------------------------------------------------


def _must_find(result: SuiteResult, finding: Finding) -> str:
    (document,) = finding.ranked
    return f"{name(document)} must be in the top {document.limit}: {_seen_and_why(document)}"


def _must_not_find(result: SuiteResult, finding: Finding) -> str:
    (document,) = finding.ranked
    return f"{name(document)} must not be in the top {document.limit}: {_seen_and_why(document)}"


def _seen_and_why(document: RankedDocument) -> str:
    why = because(document)
    return f"{seen(document)}; {why}" if why else seen(document)


def _must_find_any(result: SuiteResult, finding: Finding) -> str:
    wanted = " or ".join(f"{name(d)} in the top {d.limit}" for d in finding.ranked)
    seen_at = [f"{d.id} {place(d)}{in_brackets(d)}" for d in finding.ranked]
    return f"must find {wanted}: {', '.join(seen_at)}"


def _in_order(result: SuiteResult, finding: Finding) -> str:
    if not finding.ok and all(document.rank is None for document in finding.ranked):
        wanted = ", ".join(map(name, finding.ranked))
        return f"must come in the order {wanted}: none of them was returned"
    above, below = (_name_and_place(document, finding.ok) for document in finding.ranked)
    return f"{above} must come before {below}"


def _name_and_place(document: RankedDocument, ok: bool) -> str:
    why = "" if ok else because(document)
    return f"{name(document)} ({'; '.join(filter(None, (place(document), why)))})"


def _expect_no_results(result: SuiteResult, finding: Finding) -> str:
    if finding.ok or not finding.ranked:
        return "must return nothing"
    returned = result.query(finding.subject).returned
    return f"must return nothing: {returned} came, the first is {name(finding.ranked[0])}"


# -- guards ----------------------------------------------------------------------------------------


def _guard(done: Sentence) -> Sentence:
    """The sentence of a guard: a query did it, none did, or nothing could be compared."""

    def sentence_of(result: SuiteResult, finding: Finding) -> str:
        if finding.lacks:
            return f"{finding.kind} has nothing to compare with: {_nothing(result, finding.lacks)}"
        if finding.tied:
            return f"{done(result, finding)}; as returned, not in the order of equal scores"
        if finding.ok:
            return f"no query of {finding.queries} with a baseline did so"
        return done(result, finding)

    return sentence_of


def _lost_all_relevant(result: SuiteResult, finding: Finding) -> str:
    lost = few([f"{move(d)}{in_brackets(d)}" for d in finding.ranked])
    return f"lost all its {relevant(result)} of the top {result.top_k}: {lost}"


def _new_zero_results(result: SuiteResult, finding: Finding) -> str:
    before = result.query(finding.subject).returned_before or 0
    return f"returns nothing now; it returned {counted(before, 'result')} before"


def _nothing_in_common(result: SuiteResult, finding: Finding) -> str:
    return f"has none of its top {result.top_k} results of before among those of now"


# -- bounds ----------------------------------------------------------------------------------------


def _value(holds: str, breaks: str) -> Sentence:
    """The sentence of a bound on a value, in words for one that holds and one that breaks.

    No pass is "below its floor".
    """

    def sentence_of(result: SuiteResult, finding: Finding) -> str:
        if finding.lacks:
            return _no_value(result, finding)
        now, limit = apart(finding.value or 0.0, finding.limit or 0.0, finding.unit)
        value = f"{finding.measure} is {now}, {holds if finding.ok else breaks} {limit}"
        if finding.variants:
            texts = broken_by(finding, result.unit(finding.measure))
            return f"variants: {value}{texts}"
        if finding.measure == "zero_results" and not finding.subject and not finding.ok:
            empty = [query.id for query in result.queries if query.returned_nothing]
            return f"{value}: {queries(result, empty)}"
        return value

    return sentence_of


def _change(result: SuiteResult, finding: Finding) -> str:
    change = finding.change
    if finding.lacks or change is None:
        return _no_value(result, finding)
    unit = result.unit(finding.measure)
    words = f"{finding.measure} {rose_or_fell(change, unit)}"
    if finding.variants:
        words = of_variants(finding, change, unit)
    words += _worsened(finding, change)
    if 0 < finding.queries < finding.of:
        words += f"; {finding.queries} of {finding.of} compared"
    if finding.as_returned is not None:
        _, returned = apart(change.now, finding.as_returned, unit)
        words += f" in the order of equal scores; as returned it is {returned}"
    return words + broken_by(finding, unit)


def _worsened(finding: Finding, change: Change) -> str:
    """The part of a worsening that a limit allows, how sure it is, and who shares it."""
    worsened = -change.difference if finding.demand.falls else change.difference
    if worsened <= EQUAL:
        return ""
    beyond = finding.value is None or finding.value > (finding.limit or 0.0) + EQUAL
    of_all = issubclass(finding.demand, Together)
    by = "" if of_all else f", by {_beside_limit(finding, beyond)}"
    total = counted(change.queries, "query", "queries")
    told = f"{change.worse} worse, {change.better} better of {total}"
    if beyond and finding.demand.tested:
        return f"{by}, {chance(change, fails=finding.breaks)}: {told}"
    return f"{by} ({told})" if change.queries > 1 else by


def _beside_limit(finding: Finding, beyond: bool) -> str:
    limit = finding.limit or 0.0
    if finding.value is None or not isfinite(finding.value):
        return f"everything: more than {finding.kind} {figure(limit, finding.unit)}"
    by, most = apart(finding.value, limit, finding.unit)
    return f"{by}: {'more than' if beyond else 'within'} {finding.kind} {most}"


def beyond_chance(change: Change) -> bool:
    """Tell whether a change for the worse is more than chance explains."""
    return change.judged_p is not None and change.judged_p < SIGNIFICANT


def rose_or_fell(change: Change, unit: str) -> str:
    """The movement of a value: ``fell 0.943 → 0.890``."""
    before, now = apart(change.before, change.now, unit)
    if abs(change.difference) <= EQUAL:
        return f"is unchanged at {now}"
    return f"{'rose' if change.difference > 0 else 'fell'} {before} → {now}"


# -- what there is nothing to hold against ---------------------------------------------------------


def _no_value(result: SuiteResult, finding: Finding) -> str:
    """The sentence of a limit that has nothing to be held against."""
    lacks, measure = finding.lacks, finding.measure
    if lacks is None:
        return f"{measure} is undefined"
    if why := NO_VALUE.get(lacks.kind):
        return f"{measure} is {why(result, finding)}"
    limit = f"{finding.kind} {exact(finding.limit or 0.0, finding.unit)}"
    return f"{measure}: {limit} has nothing to compare with: {_nothing(result, lacks)}"


def _nothing(result: SuiteResult, lacks: Lack) -> str:
    """The reason that nothing can be compared, and the remedy."""
    return NOTHING[lacks.kind](result, lacks)


NO_CANDIDATES = "the retriever tells nothing of that stage, or it was not kept"
NO_VALUE: Mapping[LackKind, Sentence] = {
    "variants": lambda result, finding: f"undefined: {NO_VARIANTS}",
    "candidates": lambda result, finding: f"undefined: {NO_CANDIDATES}",
    "unanswered": lambda result, finding: f"undecided: {unanswered(result, finding)}",
    "defined": lambda result, finding: (
        f"undefined: no query here has a {relevant(result, 1)} or was answered"
    ),
}
RENEW = f"renew it with `{UPDATE}`"
NOTHING: Mapping[LackKind, Callable[[SuiteResult, Lack], str]] = {
    "baseline": lambda result, lacks: (
        f"there is no baseline; make one with `{UPDATE}` and commit it"
    ),
    "depth": lambda result, lacks: (
        f"it reads {lacks.reads} results and the baseline holds {lacks.holds}; {RENEW}"
    ),
    "documents": lambda result, lacks: f"the baseline holds other document ids; {RENEW}",
    "edited": lambda result, lacks: (
        f"the baseline has other words or params for {queries(result, lacks.queries)}; {RENEW}"
    ),
    "kept candidates": lambda result, lacks: f"the baseline holds no candidates of them; {RENEW}",
    "new": lambda result, lacks: "every query here is new",
    "unchanged": lambda result, lacks: (
        "no query here has a value on either side, and no ranking changed"
    ),
    "compared": lambda result, lacks: f"no query here has a value on both sides; {RENEW}",
}


def _together(result: SuiteResult, finding: Finding) -> str:
    """The drop over all suites of a retriever."""
    over = f"over {finding.suites} suites together " if finding.suites > 1 else ""
    return f"{over}{_change(result, finding)}"


# -- the others ------------------------------------------------------------------------------------


def _trend(result: SuiteResult, finding: Finding) -> str:
    """The loss of many changes together, each against its own baseline."""
    assert finding.value is not None
    assert finding.limit is not None
    if not finding.queries:
        return f"no change of {finding.measure} is in the history yet"
    lost, most = apart(finding.value, finding.limit, finding.unit)
    allows = f"more than {most}; it began with {finding.since}"
    if finding.ok:
        allows = f"within max_drop {most}"
    return (
        f"{finding.measure} lost {lost} in the last {counted(finding.queries, 'change')} together,"
        f" each against its own baseline: {allows}"
    )


def _dead(result: SuiteResult, finding: Finding) -> str:
    """The number of judged documents that are gone, or why it is not known."""
    if finding.lacks:
        if result.audit and result.audit.failed:
            return f"the audit could not be made: {result.audit.failed}"
        why = result.audit.no_answer if result.audit else ""
        why = why or "the retriever has no exists(id), and no corpus is known that has these ids"
        return f"nobody can say which {wanted(result)} exist: {why}"
    within = "within" if finding.ok else "more than"
    one, many = wanted(result, 1), wanted(result)
    gone = counted(
        int(finding.value or 0),
        f"judged {one} no longer exists",
        f"judged {many} no longer exist",
    )
    return f"{gone}, {within} the {finding.limit or 0:g} allowed"


WORDS: Mapping[str, Words] = complete(
    DEMANDS,
    {
        "must_find": Words(_must_find),
        "must_find_any": Words(_must_find_any),
        "must_not_find": Words(_must_not_find),
        "in_order": Words(_in_order),
        "expect_no_results": Words(_expect_no_results),
        "lost_all_relevant": Words(_guard(_lost_all_relevant), several="lost all their {relevant}"),
        "new_zero_results": Words(
            _guard(_new_zero_results),
            several="return nothing now and returned something before",
        ),
        "nothing_in_common": Words(
            _guard(_nothing_in_common), several="have no result in common with before"
        ),
        "min": Words(_value("at or above its floor", "below its floor"), name="floor", sign="≥"),
        "max": Words(
            _value("at or below its ceiling", "above its ceiling"), name="ceiling", sign="≤"
        ),
        "warn_below": Words(_value("not below", "below"), name="warning below", sign="warn <"),
        "warn_above": Words(_value("not above", "above"), name="warning above", sign="warn >"),
        "max_drop": Words(_change, name="drop", sign="drop ≤"),
        "max_rise": Words(_change, name="rise", sign="rise ≤"),
        "max_significant_drop": Words(_change, name="significant drop", sign="significant drop ≤"),
        "trend": Words(_trend),
        "together": Words(_together, name="drop of all", sign="significant drop ≤"),
        "dead": Words(_dead),
    },
)
