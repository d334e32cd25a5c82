"""What each fact says, once, for every report: demands, verdicts and what a reader must know beside
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from typing import get_args

from pytest_irquality.storage.provenance import UPDATE
from pytest_irquality.suite.keys import AuditKind
from pytest_irquality.suite.model import BoundKind, GuardKind, RuleKind
from pytest_irquality.verdict import facts
from pytest_irquality.verdict.findings import Cause, Change, Finding, Lack, RankedDocument
from pytest_irquality.verdict.result import SuiteResult, Verdict
from pytest_irquality.verdict.statistics import EQUAL
from pytest_irquality.wording.answers import (
    NO_VARIANTS,
    broken_by,
    in_answers,
    kind_name,
    of_variants,
    unanswered,
)
from pytest_irquality.wording.losses import because, in_brackets
from pytest_irquality.wording.moves import move, name, place, seen
from pytest_irquality.wording.numbers import (
    apart,
    counted,
    exact,
    few,
    figure,
    probability,
)
from pytest_irquality.wording.words import ON_CHANGE, quoted


def causes(result: SuiteResult, ids: Iterable[str]) -> str:
    """Why queries have no ranking; those that failed alike are reported once, and counted where
    there are several.
    """
    of_candidates = _of_candidates(result)
    faults = {
        id: result.by_id[id].fault or of_candidates.get(id, "") for id in ids if id in result.by_id
    }
    all_causes = [*result.causes, *_causes_of_candidates(result)]
    groups = [[id for id in cause.queries if id in faults] for cause in all_causes]
    groups = sorted(filter(None, groups), key=len, reverse=True)
    if len(groups) > 1:
        return few([f"{faults[alike[0]]} ({len(alike)})" for alike in groups])
    return next(filter(None, faults.values()), "another process had no answer")


def _causes_of_candidates(result: SuiteResult) -> Sequence[Cause]:
    unknown = (fact for fact in result.facts if isinstance(fact, facts.CandidatesUnknown))
    return next((fact.causes for fact in unknown), ())


def _of_candidates(result: SuiteResult) -> Mapping[str, str]:
    """Why the first stage of a query could not be asked, by its id."""
    causes = _causes_of_candidates(result)
    return {id: f"candidates: {cause.message}" for cause in causes for id in cause.queries}


def warnings(result: SuiteResult) -> tuple[str, ...]:
    """What is broken and only warns."""
    return tuple(
        sentence(result, verdict, finding)
        for verdict in result.verdicts
        for finding in verdict.findings
        if not finding.fails and not finding.ok
    )


def query(result: SuiteResult, id: str | None) -> str:
    """A query's text in quotes."""
    known = result.by_id.get(id or "")
    return quoted(known.text if known else id or "")


def queries(result: SuiteResult, ids: Sequence[str]) -> str:
    """The texts of a few of many queries."""
    return few([query(result, id) for id in ids[:3]], len(ids))


def otherwise(verdict: Verdict) -> str:
    """Under whose grades alone a check would end otherwise; "" where under nobody's."""
    if not verdict.otherwise:
        return ""
    verb = "fail" if verdict.outcome == "passed" else "pass"
    return f"it would {verb} under the grades of {few(list(verdict.otherwise))} alone"


# -- demands ---------------------------------------------------------------------------------------


def sentence(result: SuiteResult, verdict: Verdict, finding: Finding) -> str:
    """A demand with the query or tag it was made of, unless that is the check's own."""
    demanded = demand(result, finding)
    if not finding.subject or verdict.scope == "query":
        return demanded
    if verdict.scope != "each_query":
        return f"tag {finding.subject}: {demanded}"
    colon = "" if finding.kind in get_args(GuardKind) else ":"
    return f"{query(result, finding.subject)}{colon} {demanded}"


def demand(result: SuiteResult, finding: Finding) -> str:
    """What was demanded, and what was seen; in how many answers, where there are several."""
    return DEMANDS[finding.kind](result, finding) + in_answers(finding)


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


def _guard(done: Callable[[SuiteResult, Finding], str]) -> Callable[[SuiteResult, Finding], str]:
    """What a query did; or that none did, or that there is nothing to compare with."""

    def sentence_of(result: SuiteResult, finding: Finding) -> str:
        if finding.lacks:
            return f"{finding.kind} has nothing to compare with: {_nothing(result, finding.lacks)}"
        if finding.as_returned is not None:
            return f"{done(result, finding)}; as returned, not in the order of equal scores"
        if finding.ok:
            return f"no query of {finding.queries} with a baseline did so"
        return done(result, finding)

    return sentence_of


def _lost_all_relevant(result: SuiteResult, finding: Finding) -> str:
    lost = few([f"{move(d)}{in_brackets(d)}" for d in finding.ranked])
    return f"lost all its relevant documents of the top {result.top_k}: {lost}"


def _new_zero_results(result: SuiteResult, finding: Finding) -> str:
    before = result.query(finding.subject).returned_before or 0
    return f"returns nothing now; it returned {counted(before, 'result')} before"


HOLDS: Mapping[str, tuple[str, str]] = {
    "min": ("at or above its floor", "below its floor"),
    "max": ("at or below its ceiling", "above its ceiling"),
    "warn_below": ("not below", "below"),
    "warn_above": ("not above", "above"),
}
"""What is said of a value that holds, and of one that breaks: no pass is "below its floor"."""


def _value(result: SuiteResult, finding: Finding) -> str:
    if finding.lacks:
        return _no_value(result, finding)
    now, limit = apart(finding.value or 0.0, finding.limit or 0.0, finding.unit)
    holds, breaks = HOLDS[finding.kind]
    value = f"{finding.measure} is {now}, {holds if finding.ok else breaks} {limit}"
    if finding.variants:
        texts = broken_by(finding, result.unit(finding.measure))
        return f"{kind_name(finding.variants)}: {value}{texts}"
    if finding.measure == "zero_results" and not finding.subject and not finding.ok:
        empty = [query.id for query in result.queries if query.returned_nothing]
        return f"{value}: {queries(result, empty)}"
    return value


def _change(result: SuiteResult, finding: Finding) -> str:
    change = finding.change
    if finding.lacks or change is None:
        return _no_value(result, finding)
    unit = result.unit(finding.measure)
    words = f"{finding.measure} {moved(change, unit)}"
    if finding.variants:
        words = of_variants(finding, change, unit)
    worsened = change.difference if finding.kind == "max_rise" else -change.difference
    beyond = finding.value is None or finding.value > (finding.limit or 0.0) + EQUAL
    if worsened > EQUAL:
        words += f", by {_beside_limit(finding, beyond)}"
    if beyond and finding.kind == "max_significant_drop":
        words += f", {_certainty(change, finding.ok)}"
    if worsened > EQUAL and change.queries > 1:
        total = counted(change.queries, "query", "queries")
        words += f" ({change.worse} worse, {change.better} better of {total})"
    if 0 < finding.queries < finding.of:
        words += f"; {finding.queries} of {finding.of} compared"
    if finding.as_returned is not None:
        _, returned = apart(change.now, finding.as_returned, unit)
        words += f" in the order of equal scores; as returned it is {returned}"
    return words + broken_by(finding, unit)


def _beside_limit(finding: Finding, beyond: bool) -> str:
    limit = finding.limit or 0.0
    if finding.value is None or not isfinite(finding.value):
        return f"everything: more than {finding.kind} {figure(limit, finding.unit)}"
    by, most = apart(finding.value, limit, finding.unit)
    return f"{by}: {'more than' if beyond else 'within'} {finding.kind} {most}"


def moved(change: Change, unit: str) -> str:
    """What a value did: ``fell 0.943 → 0.890``."""
    before, now = apart(change.before, change.now, unit)
    if abs(change.difference) <= EQUAL:
        return f"is unchanged at {now}"
    return f"{'rose' if change.difference > 0 else 'fell'} {before} → {now}"


def _certainty(change: Change, ok: bool) -> str:
    if change.p is None:
        return "but no test could be made"
    corrected = ""
    if change.adjusted is not None and change.adjusted != change.p:
        corrected = f" ({probability(change.adjusted)} corrected for several limits)"
    if ok and change.noise and abs(change.difference) <= change.noise:
        return f"which is no more than unchanged code does (±{change.noise:.3f})"
    verb = "which may be chance" if ok else "which chance does not explain"
    return f"{verb}: {probability(change.p)}{corrected}"


def _no_value(result: SuiteResult, finding: Finding) -> str:
    """Why a limit has nothing to be held against."""
    lacks, measure, kind = finding.lacks, finding.measure, finding.kind
    if lacks is None:
        return f"{measure} is undefined"
    if lacks.kind == "variants":
        return f"{measure} is undefined: {NO_VARIANTS}"
    if lacks.kind == "candidates":
        return f"{measure} is undefined: {NO_CANDIDATES}"
    if lacks.kind == "unanswered":
        return f"{measure} is undecided: {unanswered(result, finding)}"
    if lacks.kind != "defined":
        limit = f"{kind} {exact(finding.limit or 0.0, finding.unit)}"
        return f"{measure}: {limit} has nothing to compare with: {_nothing(result, lacks)}"
    if kind in ON_CHANGE:
        return f"{measure} is undefined, now and before: no query here has a relevant document"
    return f"{measure} is undefined: no query here has a relevant document or was answered"


NO_CANDIDATES = "the retriever has no candidates(query, k), or no candidates were kept"


def _nothing(result: SuiteResult, lacks: Lack) -> str:
    """Why there is nothing to compare with, and what to do about it."""
    renew = f"renew it with `{UPDATE}`"
    match lacks.kind:
        case "baseline":
            return f"there is no baseline; make one with `{UPDATE}` and commit it"
        case "depth":
            return f"it reads {lacks.reads} results and the baseline holds {lacks.holds}; {renew}"
        case "documents":
            return f"the baseline holds other document ids; {renew}"
        case "edited":
            edited = queries(result, lacks.queries)
            return f"the baseline has other words or params for {edited}; {renew}"
        case "kept candidates":
            return f"the baseline holds no candidates of them; {renew}"
        case "new":
            return "every query here is new"
        case "unchanged":
            return "no query here has a value on either side, and no ranking changed"
        case _:
            return f"no query here has a value on both sides; {renew}"


def _trend(result: SuiteResult, finding: Finding) -> str:
    """What many changes lost together, each against its own baseline."""
    assert finding.value is not None
    assert finding.limit is not None
    if not finding.queries:
        return f"no change of {finding.measure} is in the history yet"
    changes = counted(finding.queries, "change")
    lost, most = apart(finding.value, finding.limit, finding.unit)
    if finding.ok:
        return f"{finding.measure} lost {lost} in the last {changes} together, of at most {most}"
    return (
        f"{finding.measure} lost {lost} in the last {changes} together, each against its own"
        f" baseline: more than {most}; it began with {finding.since}"
    )


AUDITED: Mapping[AuditKind, tuple[str, str]] = {
    "dead": ("judged document no longer exists", "judged documents no longer exist"),
    "unprotected": (
        "query is in no rule, limit or guard",
        "queries are in no rule, limit or guard",
    ),
    "toothless": ("limit could not be broken", "limits could not be broken"),
}
"""What is counted under ``audit``, of one and of several."""


def _audited(result: SuiteResult, finding: Finding) -> str:
    if finding.lacks:
        why = result.audit.no_answer if result.audit else ""
        return f"nobody can say which documents exist: {why or 'the retriever has no exists(id)'}"
    one, many = AUDITED[finding.kind]  # type: ignore[index]
    number = int(finding.value or 0)
    within = "within" if finding.ok else "more than"
    return f"{counted(number, one, many)}, {within} the {finding.limit or 0:g} allowed"


DEMANDS: Mapping[str, Callable[[SuiteResult, Finding], str]] = {
    "must_find": _must_find,
    "must_find_any": _must_find_any,
    "must_not_find": _must_not_find,
    "in_order": _in_order,
    "expect_no_results": _expect_no_results,
    "lost_all_relevant": _guard(_lost_all_relevant),
    "new_zero_results": _guard(_new_zero_results),
    "trend": _trend,
    **dict.fromkeys(AUDITED, _audited),
    **dict.fromkeys(HOLDS, _value),
    **dict.fromkeys(ON_CHANGE, _change),
}
_wordless = {*get_args(RuleKind), *get_args(GuardKind), *get_args(BoundKind)} - DEMANDS.keys()
assert not _wordless, f"wording/sentences.py says nothing of {_wordless}"
