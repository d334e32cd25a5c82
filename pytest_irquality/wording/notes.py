"""What each fact says, once, for every report: demands, verdicts and what a reader must know beside
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import singledispatch
from math import isfinite
from typing import get_args

from pytest_irquality.storage.provenance import UPDATE
from pytest_irquality.suite.keys import AuditKind
from pytest_irquality.suite.model import BoundKind, GuardKind, RuleKind
from pytest_irquality.verdict import facts
from pytest_irquality.verdict.facts import Fact
from pytest_irquality.verdict.findings import Cause, Change, Finding, Lack
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
from pytest_irquality.wording.losses import Lost, because, loss
from pytest_irquality.wording.moves import move, name, place, seen
from pytest_irquality.wording.numbers import (
    apart,
    counted,
    exact,
    few,
    figure,
    grouped,
    probability,
    share,
)
from pytest_irquality.wording.stages import how_far
from pytest_irquality.wording.words import ON_CHANGE, quoted, rerun


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


# -- demands ---------------------------------------------------------------------------------------


def sentence(result: SuiteResult, verdict: Verdict, finding: Finding) -> str:
    """A demand with the query or tag it was made of, unless that is the check's own."""
    said = demand(result, finding)
    if not finding.subject or verdict.scope == "query":
        return said
    if verdict.scope != "each_query":
        return f"tag {finding.subject}: {said}"
    colon = "" if finding.kind in get_args(GuardKind) else ":"
    return f"{query(result, finding.subject)}{colon} {said}"


def demand(result: SuiteResult, finding: Finding) -> str:
    """What was demanded, and what was seen; in how many answers, where there are several."""
    return DEMANDS[finding.kind](result, finding) + in_answers(finding)


def _must_find(result: SuiteResult, finding: Finding) -> str:
    (document,) = finding.ranked
    said = f"{name(document)} must be in the top {document.limit}: {seen(document)}"
    why = because(document)
    return f"{said}; {why}" if why else said


def in_brackets(document: Lost) -> str:
    """Why a document is not where it should be, behind its name; "" where nothing is known."""
    why = because(document)
    return f" ({why})" if why else ""


def _must_find_any(result: SuiteResult, finding: Finding) -> str:
    wanted = " or ".join(f"{name(d)} in the top {d.limit}" for d in finding.ranked)
    seen_at = [f"{d.id} {place(d)}{in_brackets(d)}" for d in finding.ranked]
    return f"must find {wanted}: {', '.join(seen_at)}"


def _must_not_find(result: SuiteResult, finding: Finding) -> str:
    (document,) = finding.ranked
    said = f"{name(document)} must not be in the top {document.limit}: {seen(document)}"
    why = because(document)
    return f"{said}; {why}" if why else said


def _in_order(result: SuiteResult, finding: Finding) -> str:
    if not finding.ok and all(document.rank is None for document in finding.ranked):
        wanted = ", ".join(map(name, finding.ranked))
        return f"must come in the order {wanted}: none of them was returned"
    above, below = (
        f"{name(d)} ({'; '.join(filter(None, (place(d), '' if finding.ok else because(d))))})"
        for d in finding.ranked
    )
    return f"{above} must come before {below}"


def _expect_no_results(result: SuiteResult, finding: Finding) -> str:
    if finding.ok or not finding.ranked:
        return "must return nothing"
    returned = result.query(finding.subject).returned
    return f"must return nothing: {returned} came, the first is {name(finding.ranked[0])}"


def _guard(done: Callable[[SuiteResult, Finding], str]) -> Callable[[SuiteResult, Finding], str]:
    """What a query did; or that none did, or that there is no baseline to tell."""

    def said(result: SuiteResult, finding: Finding) -> str:
        if finding.lacks:
            return f"{finding.kind} has nothing to compare with: {_nothing(result, finding.lacks)}"
        if finding.as_returned is not None:
            return f"{done(result, finding)}; as returned, not in the order of equal scores"
        if finding.ok:
            return f"no query of {finding.queries} with a baseline did so"
        return done(result, finding)

    return said


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
"""How a value that holds is told, and one that breaks: no pass is "below its floor"."""


def _value(result: SuiteResult, finding: Finding) -> str:
    if finding.lacks:
        return _no_value(result, finding)
    now, limit = apart(finding.value or 0.0, finding.limit or 0.0, finding.unit)
    holds, breaks = HOLDS[finding.kind]
    said = f"{finding.measure} is {now}, {holds if finding.ok else breaks} {limit}"
    if finding.variants:
        return f"{kind_name(finding.variants)}: {said}" + broken_by(
            finding, result.unit(finding.measure)
        )
    if finding.measure == "zero_results" and not finding.subject and not finding.ok:
        empty = [query.id for query in result.queries if query.returned_nothing]
        said = f"{said}: {queries(result, empty)}"
    return said


def _change(result: SuiteResult, finding: Finding) -> str:
    change = finding.change
    if finding.lacks or change is None:
        return _no_value(result, finding)
    unit = result.unit(finding.measure)
    said = f"{finding.measure} {moved(change, unit)}"
    if finding.variants:
        said = of_variants(finding, change, unit)
    worsened = change.difference if finding.kind == "max_rise" else -change.difference
    beyond = finding.value is None or finding.value > (finding.limit or 0.0) + EQUAL
    if worsened > EQUAL:
        said = f"{said}, by {_beside_limit(finding, beyond)}"
    if beyond and finding.kind == "max_significant_drop":
        said = f"{said}, {_certainty(change, finding.ok)}"
    if worsened > EQUAL and change.queries > 1:
        total = counted(change.queries, "query", "queries")
        said = f"{said} ({change.worse} worse, {change.better} better of {total})"
    if 0 < finding.queries < finding.of:
        said = f"{said}; {finding.queries} of {finding.of} compared"
    if finding.as_returned is not None:
        _, returned = apart(change.now, finding.as_returned, result.unit(finding.measure))
        said = f"{said} in the order of equal scores; as returned it is {returned}"
    return said + broken_by(finding, unit)


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
    if lacks.kind == "baseline":
        return f"there is no baseline; make one with `{UPDATE}` and commit it"
    if lacks.kind == "depth":
        return f"it reads {lacks.reads} results and the baseline holds {lacks.holds}; {renew}"
    if lacks.kind == "documents":
        return f"the baseline holds other document ids; {renew}"
    if lacks.kind == "edited":
        changed = queries(result, lacks.queries)
        return f"the baseline has other words or params for {changed}; {renew}"
    if lacks.kind == "kept candidates":
        return f"the baseline holds no candidates of them; {renew}"
    if lacks.kind == "new":
        return "every query here is new"
    if lacks.kind == "unchanged":
        return "no query here has a value on either side, and no ranking changed"
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
    "redundant": ("query asks what another asks", "queries ask what others ask"),
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

# -- facts -----------------------------------------------------------------------------------------


def notes(result: SuiteResult) -> tuple[str, ...]:
    """Every fact of a result in one line each."""
    told_first = facts.Accepted
    return tuple(note(fact, result) for fact in result.facts if not isinstance(fact, told_first))


@singledispatch
def note(fact: Fact, result: SuiteResult) -> str:
    """One fact in one line."""
    raise NotImplementedError(f"wording/sentences.py says nothing of {type(fact).__name__}")


@note.register
def _(fact: facts.Accepted, result: SuiteResult) -> str:
    return f"{counted(len(fact.queries), 'ranking is', 'rankings are')} accepted as committed"


@note.register
def _(fact: facts.Remark, result: SuiteResult) -> str:
    return fact.text


@note.register
def _(fact: facts.Interrupted, result: SuiteResult) -> str:
    return f"PARTIAL: interrupted after {counted(fact.queries, 'query', 'queries')}"


@note.register
def _(fact: facts.Selected, result: SuiteResult) -> str:
    selected = share(fact.queries, fact.total)
    return f"only {selected} queries were selected; every figure is over these"


@note.register
def _(fact: facts.Unanswered, result: SuiteResult) -> str:
    allowed = f"; 'errors' allows {fact.allowed}" if fact.allowed else ""
    faulty = share(len(fact.queries), fact.total)
    why = causes(result, fact.queries)
    return f"{faulty} queries could not be answered and are in no figure{allowed}: {why}"


@note.register
def _(fact: facts.ReturnedNothing, result: SuiteResult) -> str:
    empty = f"{share(len(fact.queries), fact.total)} queries returned nothing{_scoring(fact)}"
    if not fact.compared:
        return f"{empty}: {queries(result, fact.queries)}"
    if not fact.newly:
        return f"{empty}, as before: {queries(result, fact.queries)}"
    all_new = len(fact.newly) == len(fact.queries)
    new = "all of them" if all_new else f"{grouped(len(fact.newly))} of them"
    return f"{empty}; {new} returned something before: {queries(result, fact.newly)}"


def _scoring(fact: facts.ReturnedNothing) -> str:
    """What empty rankings count for."""
    if not fact.undefined:
        return " and score 0"
    if fact.undefined == len(fact.queries):
        return ", and are in no mean of relevance"
    return f"; {fact.undefined} are in no mean of relevance, the others score 0"


@note.register
def _(fact: facts.ReturnsFewer, result: SuiteResult) -> str:
    fewer = f"{share(len(fact.queries), fact.total)} queries return fewer results than before"
    example = f"{query(result, fact.queries[0])} {fact.now}, not {fact.before}"
    return f"{fewer}: {few([example], len(fact.queries))}"


@note.register
def _(fact: facts.WithoutRelevant, result: SuiteResult) -> str:
    what = "score 0" if fact.score_0 else "are left out of relevance means"
    return f"{share(fact.queries, fact.total)} queries have no relevant document and {what}"


@note.register
def _(fact: facts.ReturnedTwice, result: SuiteResult) -> str:
    twice = f"{query(result, fact.query)} returned {name(fact.document)} twice"
    return (
        f"{share(fact.queries, fact.total)} queries returned a document more than once, credited"
        f" once and the ranks closed up: {few([twice], fact.queries)}"
    )


LOOKS = {"row numbers": "row numbers", "made up": "ids that the engine made up"}


@note.register
def _(fact: facts.UnknownIds, result: SuiteResult) -> str:
    ids, named = ", ".join(fact.returned), ", ".join(fact.named)
    which = f"they look like {LOOKS[fact.like]} ({ids})" if fact.like else f"they are {ids}"
    return (
        f"no query returned any document that this suite names: {which}, and the suite names"
        f" {named}; if a result keeps that id in another place, say where with 'id_field'"
    )


@note.register
def _(fact: facts.LowestSince, result: SuiteResult) -> str:
    better = result.whole[fact.measure].higher_is_better if fact.measure in result.whole else True
    word = "lowest" if better else "highest"
    return (
        f"{fact.measure} is the {word} since {fact.commit}, {counted(fact.changes, 'change')} ago"
    )


@note.register
def _(fact: facts.NewSuite, result: SuiteResult) -> str:
    missing = f"{fact.source} does not exist, so no limit on a drop applies"
    if fact.first:
        return f"this change brings the first baseline of {result.path}: {missing}"
    return f"{result.path} is new: {missing}"


@note.register
def _(fact: facts.TakenOver, result: SuiteResult) -> str:
    taken = f"compared with {fact.source}, the baseline of {fact.of}"
    return f"{taken}; the next update takes it over"


@note.register
def _(fact: facts.NewQueries, result: SuiteResult) -> str:
    new, texts = len(fact.queries), queries(result, fact.queries)
    if fact.retriever:
        lacks = share(new, fact.total)
        return (
            f"{fact.source} has no answer to {lacks} queries, to which no limit on a drop applies:"
            f" {texts}"
        )
    if new == fact.total:
        return f"none of today's queries is in the baseline ({fact.source})"
    return f"{counted(new, 'query is', 'queries are')} new: floors apply, drops do not: {texts}"


@note.register
def _(fact: facts.OtherVersion, result: SuiteResult) -> str:
    return (
        f"the retriever is of version {fact.now} now; the baseline is that of version {fact.before}"
    )


@note.register
def _(fact: facts.Renamed, result: SuiteResult) -> str:
    renamed = counted(fact.queries, "query has", "queries have")
    return f"{renamed} another id in the baseline, and the same text and params: compared with it"


@note.register
def _(fact: facts.LeftSuite, result: SuiteResult) -> str:
    left = counted(len(fact.queries), "query", "queries")
    return f"{left} of the baseline left the suite: {few(list(map(quoted, fact.queries)))}"


@note.register
def _(fact: facts.Moved, result: SuiteResult) -> str:
    if fact.rankings:
        what = "ranking" if fact.total == 1 else "rankings"
        return f"{share(fact.rankings, fact.total)} {what} changed"
    if fact.total == 1:
        return "the one ranking has not changed"
    return f"none of {fact.total} rankings changed"


@note.register
def _(fact: facts.NoiseUnknown, result: SuiteResult) -> str:
    again = rerun(result, None)
    return f"noise is unknown, with one answer to each query: `{again} --ir-repeat=3` asks again"


@note.register
def _(fact: facts.TiesMoved, result: SuiteResult) -> str:
    only = f"{share(fact.rankings, fact.total)} rankings differ in the order of equal scores only"
    moves = few(list(map(move, fact.documents)))
    return f"{only}, which is no drift: {query(result, fact.query)} {moves}"


@note.register
def _(fact: facts.JudgmentsChanged, result: SuiteResult) -> str:
    was, today = apart(fact.then, fact.today, fact.unit)
    if fact.new > 0:
        return (
            f"{counted(fact.new, 'new judgment')} since the baseline was saved: {fact.measure}"
            f" {was} → {today} on its {counted(fact.rankings, 'unchanged ranking')}; the change"
            " above is that of rankings alone"
        )
    return (
        f"judgments of {counted(fact.queries, 'query', 'queries')} changed since the baseline was"
        f" saved: over its {counted(fact.rankings, 'ranking')} {fact.measure} was {was}, and is"
        f" {today} today; the change above is that of rankings alone"
    )


@note.register
def _(fact: facts.Resolution, result: SuiteResult) -> str:
    """One sentence on what this suite can and cannot tell."""
    worth = f"one query is worth up to {fact.worth:.2g} {fact.measure} here; " if fact.worth else ""
    if not fact.decided:
        return f"{worth}{_too_few(fact)}: no test could tell this from chance{_stands(fact)}"
    least, n = fact.change.detectable, fact.change.queries
    shows = f"; {n} queries can show a worsening of about {least:.2g}" if least else ""
    return f"{worth}{_chance(fact)}{shows}"


def _too_few(fact: facts.Resolution) -> str:
    changed, n = fact.change.better + fact.change.worse, fact.change.queries
    if changed < n:
        return f"only {changed} of {n} queries changed in {fact.measure}"
    return f"only {counted(n, 'query is', 'queries are')} compared"


def _stands(fact: facts.Resolution) -> str:
    return "; the failures above do not rest on it" if fact.apart else ""


def _chance(fact: facts.Resolution) -> str:
    p = probability(fact.change.p or 0.0)
    if not fact.got_worse:
        return f"{fact.measure} got no worse{_stands(fact)}"
    if not fact.significant:
        return f"the mean of {fact.measure} alone cannot be told from chance ({p}){_stands(fact)}"
    return f"the change of {fact.measure} is more than chance ({p})"


@note.register
def _(fact: facts.RestsOnUnjudged, result: SuiteResult) -> str:
    return f"without unjudged documents {few(list(map(repr, fact.checks)))} would hold"


@note.register
def _(fact: facts.JudgeFirst, result: SuiteResult) -> str:
    documents = [
        f"{name(some.document)} ({counted(some.queries, 'query', 'queries')}, best rank"
        f" {some.document.rank})"
        for some in fact.documents
    ]
    return f"judge these first: {few(documents, fact.total)}"


@note.register
def _(fact: facts.InNoRanking, result: SuiteResult) -> str:
    lost = counted(
        len(fact.documents),
        "relevant document of the baseline is",
        "relevant documents of the baseline are",
    )
    return f"{lost} in no ranking now: {few(list(map(name, fact.documents)))}"


@note.register
def _(fact: facts.NeverFound, result: SuiteResult) -> str:
    when = ", neither now nor before" if fact.compared else ""
    return f"{share(fact.documents, fact.total)} relevant documents are in no ranking{when}"


@note.register
def _(fact: facts.LeftIndex, result: SuiteResult) -> str:
    left = counted(len(fact.documents), "document has", "documents have")
    least = "at least " if fact.at_least else ""
    named = few(list(map(name, fact.documents)))
    said = f"{least}{left} left the index, which no ranking can mend: {named}"
    if not fact.queries:
        return said
    verb = "it decides" if len(fact.documents) == 1 else "they decide"
    return f"{said}; {verb} {queries(result, fact.queries)}"


@note.register
def _(fact: facts.SeveralJudges, result: SuiteResult) -> str:
    pairs = counted(fact.pairs, "pair was", "pairs were")
    judges = few([judge or "nobody named" for judge in fact.judges])
    return f"{pairs} graded by more than one judge ({judges}): {HOW[fact.counts.split(':')[0]]}"


HOW: Mapping[str, str] = {
    "mean": "their mean counts, and half of them make a document relevant",
    "median": "the median counts",
    "majority": "the grade given most often counts",
    "{prefer": "the judge preferred by the suite counts",
}


@note.register
def _(fact: facts.OtherJudge, result: SuiteResult) -> str:
    pairs = counted(fact.pairs, "pair", "pairs")
    would = [
        f"{few(list(map(repr, labels)))} would {verb}"
        for labels, verb in ((fact.fails, "fail"), (fact.passes, "pass"))
        if labels
    ]
    return f"under the grades of {fact.judge} alone, other on {pairs}, {' and '.join(would)}"


def otherwise(verdict: Verdict) -> str:
    """Under whose grades alone a check would end otherwise; "" where under nobody's."""
    if not verdict.otherwise:
        return ""
    verb = "fail" if verdict.outcome == "passed" else "pass"
    return f"it would {verb} under the grades of {few(list(verdict.otherwise))} alone"


@note.register
def _(fact: facts.InNoChunk, result: SuiteResult) -> str:
    lost = [
        f"{quoted(one.passage)} of {query(result, one.query)} is {loss(one.loss)}"
        for one in fact.passages
    ]
    return (
        f"{share(len(fact.passages), fact.total)} passages stand in no chunk of the corpus, so no"
        f" ranking can find them: {few(lost)}"
    )


@note.register
def _(fact: facts.FewerThanAsked, result: SuiteResult) -> str:
    results = counted(fact.results, "result")
    if fact.collapsed:
        return (
            f"{share(fact.queries, fact.total)} queries have fewer than {fact.k} documents once the"
            f" chunks of one are one (the fewest: {fact.results}): ask for more with 'depth:"
            f" {3 * fact.k}'"
        )
    return (
        f"no query returned more than {results}: recall@{fact.k} and its like are over {results};"
        f" let the retriever return {fact.k}, or name the cutoff that it has"
    )


@note.register
def _(fact: facts.LostInStages, result: SuiteResult) -> str:
    over = counted(fact.queries, "query", "queries")
    told = how_far(fact.now, fact.k, fact.before)
    return (
        f"relevant documents by stage, over {over} with up to {fact.depth} candidates each: {told}"
    )


@note.register
def _(fact: facts.CandidatesUnknown, result: SuiteResult) -> str:
    unknown = share(len(fact.queries), fact.total)
    why = few([cause.message for cause in fact.causes])
    return f"the candidates of {unknown} queries could not be had: {why}"


@note.register
def _(fact: facts.Retried, result: SuiteResult) -> str:
    were = "was" if fact.calls == 1 else "were"
    return (
        f"{counted(fact.calls, 'failed call')} {were} made again ('retry'); waits are in no latency"
    )


@note.register
def _(fact: facts.EmptyChunks, result: SuiteResult) -> str:
    holds = "holds" if fact.results == 1 else "hold"
    return (
        f"{counted(fact.results, 'result')} of {counted(fact.queries, 'query', 'queries')} had an"
        f" empty text, and so {holds} no passage"
    )


@note.register
def _(fact: facts.NothingGated, result: SuiteResult) -> str:
    return "nothing gated: this suite has no rule and no limit that could fail"


@note.register
def _(fact: facts.Unnoticed, result: SuiteResult) -> str:
    return (
        "nothing was returned for any query, and every check holds: an engine that is down would"
        " pass; let a query say what it must find"
    )


@note.register
def _(fact: facts.Disputed, result: SuiteResult) -> str:
    other = counted(fact.queries, "query", "queries")
    said = (
        f"{other} had other answers in another worker: the retriever is not the same in every"
        " process"
    )
    if not fact.checks:
        return said
    return f"{said}; the worse verdict stands for {few(list(map(repr, fact.checks)))}"


_wordless = {kind for kind in Fact.__subclasses__() if kind not in note.registry}
assert not _wordless, f"wording/sentences.py says nothing of {_wordless}"
