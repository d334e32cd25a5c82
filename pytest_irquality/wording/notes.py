"""The line that each fact of a result has in every report."""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch

from pytest_irquality.edges.shell import shell_word
from pytest_irquality.verdict import facts
from pytest_irquality.verdict.broken_builds import BrokenBuilds
from pytest_irquality.verdict.classes import Skipped
from pytest_irquality.verdict.facts import Fact
from pytest_irquality.verdict.guards import BlindGuard
from pytest_irquality.verdict.renumbered import Renumbered
from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.verdict.together import NotTogether
from pytest_irquality.wording.answers import blind, broken
from pytest_irquality.wording.moves import move, name
from pytest_irquality.wording.numbers import counted, few, grouped, judged, share
from pytest_irquality.wording.sentences import causes, drop_of_all, otherwise
from pytest_irquality.wording.words import queries, query, quoted, relevant, wanted


def noted(result: SuiteResult) -> Iterator[tuple[Fact | None, str]]:
    """Every note on a result, with the fact that it is of: what is yielded here every report has.

    A sentence on no single fact comes with None.
    """
    for fact in result.facts:
        yield fact, note(fact, result)
    for verdict in result.verdicts:
        if said := otherwise(verdict):
            yield None, f"{verdict.label!r}: {said}"


def notes(result: SuiteResult) -> tuple[str, ...]:
    """Every note on a result."""
    return tuple(text for _, text in noted(result))


@singledispatch
def note(fact: Fact, result: SuiteResult) -> str:
    """One fact in one line."""
    raise NotImplementedError(f"wording/notes.py says nothing of {type(fact).__name__}")


@note.register
def _(fact: facts.Accepted, result: SuiteResult) -> str:
    return f"{counted(len(fact.queries), 'ranking is', 'rankings are')} accepted as committed"


@note.register
def _(fact: facts.Remark, result: SuiteResult) -> str:
    return fact.text


@note.register
def _(fact: facts.Replacing, result: SuiteResult) -> str:
    return "the baseline is written anew: drops since the last one do not fail"


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
    faulty, why = share(len(fact.queries), fact.total), causes(result, fact.queries)
    named = queries(result, fact.queries)
    return f"{faulty} queries had no answer and are in no figure ({named}){allowed}: {why}"


@note.register
def _(fact: Skipped, result: SuiteResult) -> str:
    named = [f"{query(result, id)} ({result.query(id).fault})" for id in fact.queries]
    return f"{share(len(named), fact.total)} queries in no figure: {few(named)}"


@note.register
def _(fact: facts.ReturnedNothing, result: SuiteResult) -> str:
    empty = f"{share(len(fact.queries), fact.total)} queries returned nothing"
    empty += f"; {fact.undefined} are in no mean of relevance" if fact.undefined else " and score 0"
    if fact.newly:
        new = f"{grouped(len(fact.newly))} of them returned something before"
        return f"{empty}; {new}: {queries(result, fact.newly)}"
    return f"{empty}{', as before' if fact.compared else ''}: {queries(result, fact.queries)}"


@note.register
def _(fact: facts.WithoutRelevant, result: SuiteResult) -> str:
    what = "score 0" if fact.score_0 else "are in no mean of relevance"
    some = f"{share(len(fact.queries), fact.total)} queries"
    if not fact.graded:
        return f"{some} have no {relevant(result, 1)} and {what}"
    return (
        f"{some} are graded without any {relevant(result, 1)} and {what}:"
        f" {queries(result, fact.queries)}; grade the {wanted(result, 1)} that is right, write"
        " 'expect_no_results: true', or leave it out"
    )


@note.register
def _(fact: facts.NothingExpected, result: SuiteResult) -> str:
    tells = "no query has judgments or rules, so this tells what changed, and not what is right"
    if result.path.endswith((".yaml", ".yml")):
        return f"{tells}: grade what each should find, under its 'relevant'"
    return f"{tells}: `pytest --ir-init={shell_word(result.path)}` writes a suite to grade"


@note.register
def _(fact: facts.ReturnedTwice, result: SuiteResult) -> str:
    twice = f"{query(result, fact.query)} returned {name(fact.document)} twice"
    return (
        f"{share(fact.queries, fact.total)} queries returned a result more than once, credited"
        f" once and the ranks closed up: {few([twice], fact.queries)}"
    )


@note.register
def _(fact: facts.UnknownIds, result: SuiteResult) -> str:
    ids, named = ", ".join(fact.returned), ", ".join(fact.named)
    return (
        f"no query returned any document that this suite names: they are {ids}, and the suite names"
        f" {named}; if a result keeps that id in another place, say where with 'id_field'"
    )


@note.register
def _(fact: facts.NewSuite, result: SuiteResult) -> str:
    what = f"{result.path} is new"
    if fact.first:
        what = f"this change brings the first baseline of {result.path}"
    return f"{what}: {fact.source} does not exist, so no limit on a drop applies"


@note.register
def _(fact: facts.TakenOver, result: SuiteResult) -> str:
    taken = f"compared with {fact.source}, the baseline of {fact.of}"
    return f"{taken}; the next update takes it over"


@note.register
def _(fact: facts.NewQueries, result: SuiteResult) -> str:
    new, texts = len(fact.queries), queries(result, fact.queries)
    if fact.unanswered:
        lacks = share(new, fact.total)
        return (
            f"{fact.source} has no answer to {lacks} queries, to which no limit on a drop applies:"
            f" {texts}"
        )
    return f"{counted(new, 'query is', 'queries are')} new: floors apply, drops do not: {texts}"


@note.register
def _(fact: Renumbered, result: SuiteResult) -> str:
    return (
        f"{other_ids(fact)}: bring judgments and rules to the new ids, or name the field that has"
        " the old ones with 'id_field'; then write the baseline again"
    )


def other_ids(fact: Renumbered) -> str:
    """``documents seem to have other ids now (sku-1 → p-sku-1, 225 of 225)``."""
    example = f"{fact.before} → {fact.now}"
    of = f"{grouped(fact.documents)} of {grouped(fact.total)}"
    return f"documents seem to have other ids now ({example}, {of})"


@note.register
def _(fact: BrokenBuilds, result: SuiteResult) -> str:
    rest = "the run fails" if fact.alarms else "nothing is compared with it"
    return f"{broken(fact)}: unchanged code does not differ so much, so {rest}"


@note.register
def _(fact: NotTogether, result: SuiteResult) -> str:
    return "the drop over all suites is not judged: this is a selection or a share of them"


@note.register
def _(fact: facts.LeftSuite, result: SuiteResult) -> str:
    left = counted(len(fact.queries), "query", "queries")
    return (
        f"{left} of the baseline left the suite: {few(list(map(quoted, fact.queries)), named=20)}"
    )


@note.register
def _(fact: facts.Moved, result: SuiteResult) -> str:
    changed = share(fact.rankings, fact.total) if fact.rankings else f"none of {fact.total}"
    return f"{changed} rankings changed"


@note.register
def _(fact: facts.TiesMoved, result: SuiteResult) -> str:
    only = f"{share(fact.rankings, fact.total)} rankings differ in equal scores only"
    if not fact.documents:
        return f"{only}, which is no drift"
    which = f"{query(result, fact.query)} {few(list(map(move, fact.documents)))}"
    return f"{only}, which is no drift: {which}"


@note.register
def _(fact: facts.Unsettled, result: SuiteResult) -> str:
    named = [
        f"{query(result, id)} {few(list(map(move, documents)))}" for id, documents in fact.queries
    ]
    return (
        f"{counted(len(named), 'query is', 'queries are')} unsettled, for what is gone may be"
        f" hidden by equal scores at the cut: {few(named)}; ask the engine (a kept run may have no"
        " deeper answer) with a larger 'depth' in the suite, or have it order equal scores by id"
    )


@note.register
def _(fact: facts.Resolution, result: SuiteResult) -> str:
    """One sentence on what this suite cannot tell."""
    changed, n = fact.change.better + fact.change.worse, fact.change.queries
    few_changed = f"only {changed} of {n} queries changed in {fact.measure}"
    if changed == n:
        few_changed = f"only {counted(n, 'query is', 'queries are')} compared"
    of_many = any(finding.suites > 1 for _, finding in result.findings)
    where = "in this suite alone " if of_many else ""
    stands = "; the failures above do not rest on it" if fact.apart else ""
    if told := drop_of_all(result):
        return f"{where}{few_changed}; {told}"
    if not fact.decided:
        return f"{where}{few_changed}: no test could tell this from chance{stands}"
    least = fact.change.detectable
    shows = f"; {n} queries can show a worsening of about {least:.2g}" if least else ""
    chance = f"the mean of {fact.measure} alone cannot be told from chance"
    return f"{where}{chance} ({judged(fact.change)}){stands}{shows}"


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
    new = f"not judged, and new in the top {result.top_k} of queries that got worse"
    return f"{new if fact.of_worse else 'judge these first'}: {few(documents, fact.total)}"


@note.register
def _(fact: facts.InNoRanking, result: SuiteResult) -> str:
    lost = len(fact.documents)
    what = f"{grouped(lost)} {relevant(result, lost)} of the baseline"
    are, named = "is" if lost == 1 else "are", few(list(map(name, fact.documents)))
    return f"{what} {are} in no ranking now: {named}"


@note.register
def _(fact: facts.NeverFound, result: SuiteResult) -> str:
    of_graded = f"{fact.recall} counts graded documents only"
    if not fact.documents:
        return f"{of_graded}: nothing is known to be relevant but what was returned"
    named = few(list(map(name, fact.named)), fact.documents)
    never = f"{share(fact.documents, fact.total)} {relevant(result)} were not returned: {named}"
    return f"{never}; {of_graded}" if fact.recall else never


@note.register
def _(fact: facts.LeftIndex, result: SuiteResult) -> str:
    left = counted(len(fact.documents), f"{wanted(result, 1)} has", f"{wanted(result)} have")
    least = "at least " if fact.at_least else ""
    named = few(list(map(name, fact.documents)))
    words = f"{least}{left} left the index, which no ranking can mend: {named}"
    if not fact.queries:
        return words
    verb = "it decides" if len(fact.documents) == 1 else "they decide"
    return f"{words}; {verb} {queries(result, fact.queries)}"


@note.register
def _(fact: facts.FewerThanAsked, result: SuiteResult) -> str:
    return (
        f"{share(fact.queries, fact.total)} queries have fewer than {fact.k} documents (the fewest:"
        f" {fact.documents}), so recall@{fact.k} and its like read fewer: let the retriever return"
        f" {fact.k}, and where several results are chunks of one document ask for more with 'depth:"
        f" {3 * fact.k}'"
    )


@note.register
def _(fact: facts.CandidatesUnknown, result: SuiteResult) -> str:
    unknown, why = share(len(fact.queries), fact.total), causes(result, fact.queries)
    return f"the candidates of {unknown} queries could not be had: {why}"


@note.register
def _(fact: facts.Retried, result: SuiteResult) -> str:
    calls = counted(fact.calls, "failed call was", "failed calls were")
    return f"{calls} made again ('retry'); waits are in no latency"


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
    words = (
        f"{other} had other answers in another worker: the retriever is not the same in every"
        " process, and what unchanged code does is unknown: `--ir-repeat=3` shows it"
    )
    if not fact.checks:
        return words
    return f"{words}; the worse verdict stands for {few(list(map(repr, fact.checks)))}"


note.register(BlindGuard, lambda fact, _: f"{blind(fact)}: builds differ so; keep more of them")

_wordless = {kind for kind in Fact.__subclasses__() if kind not in note.registry}
assert not _wordless, f"wording/notes.py says nothing of {_wordless}"
