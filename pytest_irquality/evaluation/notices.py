"""Notices about a suite: what a reader should know next to the results of its checks.

Every notice is created and worded in one function. ``create_notices`` lists them in the order in
which reports show them. Causes come first: document ids that do not match, results that were cut
off, or a retriever that gives no answers look like bad search in every number.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any

from pytest_irquality.evaluation import constants
from pytest_irquality.evaluation.comparison import Comparison, QueryStatus, RankingVersion
from pytest_irquality.evaluation.documents import diagnose, find_median_ranks, list_expected_doc_ids
from pytest_irquality.evaluation.requirement_checks import exceeds_allowed_errors, is_expired
from pytest_irquality.evaluation.results import (
    CheckResult,
    EvaluationContext,
    Notice,
    NoticeCode,
    Outcome,
    Requirement,
    assign_suites,
)
from pytest_irquality.io import dataclass
from pytest_irquality.io.text import (
    CodePart,
    DataPart,
    DocPart,
    Text,
    format_count,
    list_some,
    write,
)
from pytest_irquality.passages.diagnosis import FindingKind
from pytest_irquality.retrieval.hit_reader import clean_title
from pytest_irquality.suite.model import Probe, Query, Suite

MAX_COMPARED_IDS = 200  # ids of the suite, and as many returned ones, whose forms are compared
MIN_NAMED_IDS = 3  # ids of the suite: if it has fewer, it is no surprise that none is returned
MAX_LOST_QUERY_NOTICES = 3  # more lost queries share one notice

PROBES_NOT_BY_QUOTE = "probes-not-by-quote"
PROBES_OTHER_IDS = "probes-other-ids"
MIN_SHARED_PROBES = 3  # what fewer broken probes have in common may be a coincidence
MIN_SHARED_FRACTION = 0.8  # fraction of broken probes that must have something in common
MIN_CUT_POSITION = 50  # characters: no index cuts texts earlier, so the field is not indexed
MIN_BROKEN_FRACTION = 0.25  # fraction of broken quotes at which a field may not be indexed


@dataclass(frozen=True)
class SuiteFacts:
    """What notices about a suite read.

    Attributes:
        labels_failed_by_unjudged: The labels of failed checks that would hold if unjudged documents
            were ignored.
    """

    comparison: Comparison
    results: Sequence[CheckResult]
    context: EvaluationContext
    labels_failed_by_unjudged: Sequence[str] = ()

    @property
    def suite(self) -> Suite:
        """Return the suite that the notices are about."""
        return self.comparison.suite

    def name_queries(self, query_ids: Iterable[str]) -> Text:
        """Name the first few queries and count the others."""
        queries = self.suite.queries_by_id
        return list_some(queries[query_id].part for query_id in query_ids)

    def name_doc(self, doc_id: str) -> DocPart:
        """Name a document by its title and id."""
        return DocPart(doc_id, self.comparison.titles.get(doc_id, ""))

    def create_query_notice(
        self, code: str, query_ids: Iterable[str], singular: str, plural: str, **fields: Any
    ) -> Iterator[Notice]:
        """Create a notice such as ``2 queries are new: "boots", "shoes"``, if there are queries."""
        ids = tuple(query_ids)
        if ids:
            text = write(format_count(len(ids), singular, plural), ": ", self.name_queries(ids))
            yield Notice(code, text, query_ids=ids, **fields)


def create_notices(facts: SuiteFacts) -> tuple[Notice, ...]:
    """Create all notices about a suite, causes of its outcome first."""
    creators = (
        _create_no_answer_notices,
        _create_unknown_id_notice,
        _create_changed_id_notice,
        _create_empty_notice,
        _create_few_results_notice,
        _create_not_run_notice,
        _create_nothing_can_fail_notice,
        _create_no_judgments_notice,
        _create_lost_query_notices,
        _create_gained_query_notice,
        _create_undecided_notice,
        _create_missing_document_notice,
        _create_passage_notice,
        _create_unjudged_notice,
        _create_assessor_notice,
        _create_few_changes_notice,
        _create_known_issue_notice,
        _create_expired_issue_notices,
        _create_new_query_notice,
        _create_regraded_notice,
        _create_probe_notices,
        _create_baseline_notices,
        _create_tie_order_notice,
        _create_duplicate_notice,
        _create_remark_notices,
    )
    notices: list[Notice] = []
    for create in creators:
        notices += create(facts)
    return tuple(assign_suites(notice, [facts.suite]) for notice in notices)


# -- Causes: no answers, other ids, missing results ------------------------------------------------


def _create_no_answer_notices(facts: SuiteFacts) -> Iterator[Notice]:
    """Create a notice for each error, which names the queries that got it."""
    queries = facts.suite.queries_by_id
    is_failure = exceeds_allowed_errors(facts.comparison)
    outcome = Outcome.FAILED if is_failure else Outcome.PASSED
    query_ids_by_cause: dict[str, list[str]] = {}
    messages: dict[str, str] = {}
    for query_id in facts.comparison.list_query_ids(QueryStatus.NO_ANSWER):
        error = facts.comparison.run.errors[queries[query_id].request]
        cause = error.cause or error.message
        query_ids_by_cause.setdefault(cause, []).append(query_id)
        messages.setdefault(cause, error.message)
    for cause, ids in sorted(query_ids_by_cause.items(), key=lambda item: -len(item[1])):
        count = format_count(len(ids), "query has", "queries have")
        text = write(f"{count} no answer: ", DataPart(messages[cause]))
        if len(ids) < len(queries):
            text += write(" (", facts.name_queries(ids), ")")
        yield Notice(NoticeCode.NO_ANSWER, text, outcome, query_ids=tuple(ids), is_cause=is_failure)


def _create_unknown_id_notice(facts: SuiteFacts) -> Iterator[Notice]:
    """Create a notice if the retriever returns no id that the suite names, and compare the ids."""
    comparison = facts.comparison
    if comparison.suite.settings.match == "text":
        return
    suite_ids: dict[str, None] = {}
    returned_ids: dict[str, None] = {}
    for query in comparison.answered_queries:
        ids_of_query = dict.fromkeys(query.judgments.grades)
        for rule in query.rules:
            ids_of_query.update(dict.fromkeys(rule.doc_ids))
        change = comparison.changes_by_id.get(query.id)
        for ranking in comparison.answers[query.id] + (change.before if change else ()):
            # One shared id proves that both mean the same documents.
            if not ids_of_query.keys().isdisjoint(ranking.doc_ids):
                return
            returned_ids.update(dict.fromkeys(ranking.doc_ids))
        suite_ids.update(ids_of_query)
    if not suite_ids or not returned_ids or not suite_ids.keys().isdisjoint(returned_ids):
        return
    relation = _find_relation(suite_ids, returned_ids)
    if relation is None and len(suite_ids) < MIN_NAMED_IDS:
        return
    first_ids = next(iter(suite_ids)), next(iter(returned_ids))
    suite_id, returned_id, difference = relation or (*first_ids, "")
    text = write("No result has an ID that the suite names. The retriever returns ")
    text += write(DocPart(returned_id), ", and the suite names ", DocPart(suite_id))
    text += f". They differ in {difference}." if difference else "."
    step = write("Write the IDs as the retriever returns them, or name their field in ")
    step += write(CodePart("id_field"))
    yield Notice(NoticeCode.UNKNOWN_DOCUMENT_IDS, text, is_cause=True, next_step=step)


def _find_relation(
    suite_ids: Iterable[str], returned_ids: Iterable[str]
) -> tuple[str, str, str] | None:
    """Find an id of the suite that differs from a returned one in its form only."""
    samples = islice(suite_ids, MAX_COMPARED_IDS), islice(returned_ids, MAX_COMPARED_IDS)
    for suite_id, returned_id in product(*samples):
        if difference := _describe_difference(suite_id, returned_id):
            return suite_id, returned_id, difference
    return None


def _describe_difference(doc_id: str, other: str) -> str:
    shorter, longer = sorted((doc_id, other), key=len)
    if shorter.lower() == longer.lower():
        return "upper and lower case"
    prefix, suffix = longer.removesuffix(shorter), longer.removeprefix(shorter)
    # Another digit next to it makes another number, unless it is a zero in front: 7, sku-17.
    if prefix != longer and not prefix.rstrip("0")[-1:].isdecimal():
        return f"the prefix '{prefix}'"
    if suffix != longer and not suffix[:1].isdecimal():
        return f"the suffix '{suffix}'"
    return ""


def _create_changed_id_notice(facts: SuiteFacts) -> Iterator[Notice]:
    """Create a notice if the documents of the baseline have other ids now."""
    comparison = facts.comparison
    if comparison.suite.settings.match == "text" or comparison.baseline_run is None:
        return
    baseline_ids: set[str] = set()
    new_ids: dict[str, str] = {}
    for change in comparison.changes:
        before, now = change.before[0].doc_ids, change.now[0].doc_ids
        # One shared id proves that the scheme is unchanged.
        if not set(before).isdisjoint(now):
            return
        baseline_ids.update(before)
        titles_before, titles_now = comparison.baseline_run.titles, comparison.run.titles
        for rank, doc_id in enumerate(before):
            title = titles_before.get(doc_id, doc_id)
            start = max(rank - constants.MAX_RANK_DISTANCE, 0)
            for candidate in now[start : rank + constants.MAX_RANK_DISTANCE + 1]:
                has_same_title = title == titles_now.get(candidate)
                if has_same_title or _describe_difference(doc_id, candidate):
                    new_ids.setdefault(doc_id, candidate)
    if len(new_ids) <= constants.MIN_MATCHED_FRACTION * len(baseline_ids):
        return
    old_id, new_id = next(iter(new_ids.items()))
    count = format_count(len(baseline_ids), "document ID")
    text = write(f"All {count} changed (", DocPart(old_id), " → ", DocPart(new_id), ")")
    step = write("Update grades and rules, or set ", CodePart("id_field"))
    yield Notice(NoticeCode.CHANGED_DOCUMENT_IDS, text, is_cause=True, next_step=step)


def _create_empty_notice(facts: SuiteFacts) -> Iterator[Notice]:
    """Create a notice for the queries that return nothing or, if any do, newly return nothing."""
    comparison = facts.comparison
    empty = []
    for query in comparison.answered_queries:
        has_results = any(ranking.doc_ids for ranking in comparison.answers[query.id])
        if not has_results and not query.expects_no_results:
            empty.append(query.id)
    changes = comparison.changes_by_id
    newly_empty = [each for each in empty if each in changes and changes[each].is_newly_empty]
    if newly_empty:
        more = "more " if len(newly_empty) < len(empty) else ""
        phrases = (f"{more}query returns nothing", f"{more}queries return nothing")
        yield from facts.create_query_notice("newly-empty", newly_empty, *phrases, is_cause=True)
    else:
        as_before = " as before" if changes.keys() >= set(empty) else ""
        is_cause = len(empty) == len(comparison.answers) and not as_before
        phrases = (f"query returns nothing{as_before}", f"queries return nothing{as_before}")
        yield from facts.create_query_notice("empty", empty, *phrases, is_cause=is_cause)


def _create_few_results_notice(facts: SuiteFacts) -> Iterator[Notice]:
    """Create a notice if all queries have fewer results than requested, and some lack documents."""
    comparison = facts.comparison
    requested = comparison.run.provenance.depth or comparison.needed_depth
    lengths = [len(rankings[0].doc_ids) for rankings in comparison.answers.values()]
    longest = max(lengths, default=0)
    if len(lengths) < 2 or not 0 < longest < requested:
        return
    for query in comparison.answered_queries:
        if not query.judgments.relevant <= set(comparison.answers[query.id][0].doc_ids):
            break
    else:
        return  # No query lacks a relevant document.
    longest_before = max((len(each.before[0].doc_ids) for each in comparison.changes), default=0)
    text = write(f"No query has more than {format_count(longest, 'result')}")
    is_cause = longest_before > longest
    if is_cause:
        text += f", and the baseline has up to {longest_before}"
    else:
        text += f", and {requested} were requested"
    step = write("Let the retriever return as many results as requested. If several results are ")
    step += write("parts of one document, request more with ", CodePart("depth"))
    yield Notice("few-results", text, is_cause=is_cause, next_step=step)


# -- What was not evaluated ------------------------------------------------------------------------


def _create_not_run_notice(facts: SuiteFacts) -> Iterator[Notice]:
    suite, run = facts.suite, facts.comparison.run
    query_ids = []
    reasons: dict[str, None] = {}
    for query_id in facts.comparison.list_query_ids(QueryStatus.NOT_RUN):
        if query_id not in facts.context.deselected_query_ids:
            query_ids.append(query_id)
            if error := run.errors.get(suite.queries_by_id[query_id].request):
                reasons[error.message] = None
    if query_ids:
        total = format_count(len(suite.queries), "query", "queries")
        text = write(f"{len(query_ids)} of {total} did not run: ", facts.name_queries(query_ids))
        if reasons:
            text += write(" (", list_some(map(DataPart, reasons)), ")")
        yield Notice("not-run", text, Outcome.INCOMPLETE, query_ids=tuple(query_ids))


def _create_nothing_can_fail_notice(facts: SuiteFacts) -> Iterator[Notice]:
    suite = facts.suite
    if not facts.comparison.answers or facts.context.selected_items is not None:
        return
    for result in facts.results:
        # That every query has an answer says nothing about the answer.
        is_about_quality = result.check is not Requirement.ANSWERS
        if is_about_quality and result.could_fail and not result.is_warning:
            return
    values = facts.comparison.get_values(suite.primary_metric, RankingVersion.BEFORE).values()
    # Checks 2 and 3, which suites share, can fail now or with the baseline that this run records.
    is_first_update = facts.context.is_update and not facts.comparison.changes
    if suite.has_stored_baseline and (any(values) or is_first_update):
        return
    text = write("No check in ", DataPart(suite.path or suite.name), " can fail")
    step = write("Add a rule, a threshold or a baseline")
    if facts.comparison.changes:
        step = write("Add grades, a rule or a threshold")
    yield Notice(
        NoticeCode.NOTHING_CAN_FAIL, text, Outcome.INCOMPLETE, is_cause=True, next_step=step
    )


def _create_no_judgments_notice(facts: SuiteFacts) -> Iterator[Notice]:
    suite = facts.suite
    has_rules = any(query.rules for query in suite.queries)
    has_rules = has_rules or any(item.rule for item in suite.items)
    if facts.comparison.changes and not suite.has_judgments and not has_rules:
        text = write("No query has grades or rules, so only changes are reported")
        step = write("Add grades under ", CodePart("relevant"))
        yield Notice("no-judgments", text, next_step=step)


def _create_undecided_notice(facts: SuiteFacts) -> Iterator[Notice]:
    comparison = facts.comparison
    undecided = comparison.list_decided_by_tie(comparison.suite.primary_metric)
    if not undecided:
        return
    is_frequent = len(undecided) > len(comparison.changes) * constants.MAX_UNDECIDED_FRACTION
    rank = len(undecided[0].now[0].doc_ids)
    reason = f"in a tie at rank {rank}, so missing documents may only be tied"
    yield from facts.create_query_notice(
        "undecided-ties",
        [change.query.id for change in undecided],
        f"query ends {reason}",
        f"queries end {reason}",
        outcome=Outcome.INCOMPLETE if is_frequent else Outcome.PASSED,
        doc_ids=tuple(doc_id for change in undecided for doc_id in change.restored),
        next_step=write("Increase ", CodePart("depth")),
    )


def _create_baseline_notices(facts: SuiteFacts) -> Iterator[Notice]:
    """Create notices if the baseline is too shallow or too old for the suite."""
    comparison = facts.comparison
    step = write("Update the baseline with ", CodePart("pytest --ir-update-baseline"))
    if comparison.changes and comparison.compared_depth < comparison.needed_depth:
        depth = f"{comparison.compared_depth} of {comparison.needed_depth}"
        text = write(f"Only the first {depth} results were compared, because one side has no more")
        yield Notice("shallow-baseline", text, next_step=step)
    reason = "not compared, because the baseline has no record of the passages"
    yield from facts.create_query_notice(
        "unknown-passages",
        comparison.unusable_query_ids,
        f"query was {reason}",
        f"queries were {reason}",
        next_step=step,
    )


# -- What changed ----------------------------------------------------------------------------------


def _create_lost_query_notices(facts: SuiteFacts) -> Iterator[Notice]:
    """Create a notice for each lost query with its documents or, if there are many, one for all."""
    lost = [change for change in facts.comparison.changes if change.lost_doc_ids]
    if facts.comparison.compared_search:
        return  # Nothing is lost if the baseline is another search.
    if len(lost) > MAX_LOST_QUERY_NOTICES:
        text = write(f"{len(lost):,} queries lost all their relevant documents: ")
        text += list_some([change.query.part for change in lost], len(lost))
        yield Notice("lost-query", text, query_ids=tuple(change.query.id for change in lost))
        return
    for change in lost:
        ranks = find_median_ranks(change.before)
        docs = []
        for doc_id in change.lost_doc_ids:
            rank = f" at rank {ranks[doc_id]}" if doc_id in ranks else ""
            docs.append(write(facts.name_doc(doc_id), rank))
        query, doc_ids = change.query, change.lost_doc_ids
        text = write(query.part, " lost all its relevant documents (", list_some(docs), ")")
        yield Notice("lost-query", text, query_ids=(query.id,), doc_ids=doc_ids)


def _create_gained_query_notice(facts: SuiteFacts) -> Iterator[Notice]:
    if facts.comparison.compared_search:
        return  # Nothing is gained if the baseline is another search.
    gained = [change.query.id for change in facts.comparison.changes if change.gained_doc_ids]
    what = "gained a first relevant document"
    yield from facts.create_query_notice(
        "gained-queries", gained, f"query {what}", f"queries {what}"
    )


def _create_few_changes_notice(facts: SuiteFacts) -> Iterator[Notice]:
    """Create a notice if queries got worse, but too few changed to test the suite."""
    suite, metric = facts.suite, facts.suite.primary_metric
    if not suite.has_stored_baseline or not suite.has_judgments:
        return
    improvements = facts.comparison.collect_improvements(metric)
    if sum(map(bool, improvements.values())) < constants.MIN_FEW_CHANGES:
        worse = [query_id for query_id, change in improvements.items() if change < 0]
        what = f"got worse in {metric}, too few to test"
        phrases = (f"query {what}", f"queries {what}")
        yield from facts.create_query_notice("too-few-changes", worse, *phrases)


def _create_new_query_notice(facts: SuiteFacts) -> Iterator[Notice]:
    # Without any baseline, "new" would only repeat the list of queries.
    if facts.comparison.changes:
        new = facts.comparison.list_query_ids(QueryStatus.NEW)
        yield from facts.create_query_notice("new-queries", new, "query is new", "queries are new")


def _create_regraded_notice(facts: SuiteFacts) -> Iterator[Notice]:
    regraded = facts.context.regraded_query_ids
    query_ids = [query.id for query in facts.suite.queries if query.id in regraded]
    phrases = ("query has changed judgments", "queries have changed judgments")
    yield from facts.create_query_notice("regraded-queries", query_ids, *phrases)


def _create_tie_order_notice(facts: SuiteFacts) -> Iterator[Notice]:
    query_ids = []
    for change in facts.comparison.changes:
        if not change.is_reordered and change.aligned != change.now:
            query_ids.append(change.query.id)
    what = "only in the order of equal scores, which is not a change"
    phrases = (f"ranking differs {what}", f"rankings differ {what}")
    yield from facts.create_query_notice("tie-order", query_ids, *phrases)


# -- Documents -------------------------------------------------------------------------------------


def _create_missing_document_notice(facts: SuiteFacts) -> Iterator[Notice]:
    """Create a notice for relevant documents that the index lacks, with their queries."""
    suite, missing = facts.suite, facts.comparison.run.missing_doc_ids
    if not missing or suite.is_probe_suite:
        return
    query_ids: list[str] = []
    doc_ids: dict[str, None] = {}
    for query in suite.queries:
        needed = [doc_id for doc_id in list_expected_doc_ids(query) if doc_id in missing]
        if needed:
            query_ids.append(query.id)
            doc_ids.update(dict.fromkeys(needed))
    if doc_ids:
        count = format_count(len(doc_ids), "relevant document is", "relevant documents are")
        names = list_some(map(facts.name_doc, doc_ids))
        text = write(count, " no longer in the index (", names, "), needed by ")
        text += facts.name_queries(query_ids)
        yield Notice(
            "missing-documents",
            text,
            query_ids=tuple(query_ids),
            doc_ids=tuple(doc_ids),
            next_step=write("Index them again, or update the suite"),
        )


def _create_passage_notice(facts: SuiteFacts) -> Iterator[Notice]:
    """Create a notice that counts the relevant passages by what happened to them."""
    settings = facts.suite.settings
    if settings.match != "text":
        return
    counts: Counter[FindingKind] = Counter()
    found_before = 0
    for query in facts.comparison.answered_queries:
        change = facts.comparison.changes_by_id.get(query.id)
        ranks_before = find_median_ranks(change.before if change else ())
        for passage in query.judgments.relevant:
            counts[diagnose(facts.comparison, query, passage).kind] += 1
            found_before += ranks_before.get(passage, settings.top_k + 1) <= settings.top_k
    if counts.total() == counts[FindingKind.FOUND]:
        return
    parts = []
    for kind in FindingKind:
        if counts[kind] or kind is FindingKind.FOUND:
            parts.append(f"{counts[kind]} {kind.value}")
    if facts.comparison.changes:
        parts[0] += f" ({found_before} before)"
    total = format_count(counts.total(), "relevant passage")
    yield Notice(NoticeCode.PASSAGES, write(f"{total}: {', '.join(parts)}"))


def _create_unjudged_notice(facts: SuiteFacts) -> Iterator[Notice]:
    """Create a notice for unjudged documents that are new at the top of queries that got worse."""
    comparison, suite = facts.comparison, facts.suite
    if suite.settings.match == "text" or suite.is_probe_suite:
        return
    labels = facts.labels_failed_by_unjudged
    improvements = comparison.collect_improvements(suite.primary_metric)
    query_ids: dict[str, None] = {}
    ranks: dict[str, list[int]] = {}
    result_count = 0
    for query in comparison.answered_queries:
        if not query.judgments.grades or not (labels or improvements.get(query.id, 0) < 0):
            continue
        change = comparison.changes_by_id.get(query.id)
        before = set(change.before[0].doc_ids[: constants.TOP]) if change else set()
        top = comparison.answers[query.id][0].doc_ids[: suite.settings.top_k]
        result_count += len(top)
        for rank, doc_id in enumerate(top, start=1):
            if doc_id not in query.judgments.grades and doc_id not in before:
                ranks.setdefault(doc_id, []).append(rank)
                query_ids[query.id] = None
    if not ranks:
        return
    total = sum(map(len, ranks.values()))
    text = write(f"{total} of {result_count} results are unjudged")
    if labels:
        checks = list_some([DataPart(label) for label in dict.fromkeys(labels)])
        text += write(", and without them these checks would hold: ", checks)
    else:
        text += " and new in queries that got worse"
    # Documents that are high in many rankings cost the most.
    worst_first = sorted(ranks, key=lambda doc_id: -sum(1 / rank for rank in ranks[doc_id]))
    # Chunks and editions of a document have one title, which a reader needs once.
    docs: dict[str, DocPart] = {}
    for doc_id in worst_first:
        doc = facts.name_doc(doc_id)
        docs.setdefault(doc.title or doc_id, doc)
    yield Notice(
        NoticeCode.UNJUDGED_RESULTS,
        text,
        query_ids=tuple(query_ids),
        doc_ids=tuple(worst_first),
        is_cause=bool(labels),
        next_step=write("Grade these first: ", list_some(docs.values(), separator="; ")),
    )


def _create_assessor_notice(facts: SuiteFacts) -> Iterator[Notice]:
    """Create a notice for disagreements of assessors that may have decided the outcome."""
    is_failed = any(result.outcome > Outcome.INCOMPLETE for result in facts.results)
    improvements = facts.comparison.collect_improvements(facts.suite.primary_metric)
    values = facts.comparison.get_values(facts.suite.primary_metric, RankingVersion.RETURNED)
    doc_ids: list[str] = []
    findings: list[Text] = []
    for query in facts.suite.queries:
        is_imperfect = (values.get(query.id) or 0) < 1
        if improvements.get(query.id, 0) >= 0 and not (is_failed and is_imperfect):
            continue
        for doc_id, grades in query.assessor_grades.items():
            if min(grades.values()) < query.judgments.relevant_from <= max(grades.values()):
                doc_ids.append(doc_id)
                grade_list = ", ".join(f"{grade:g}" for grade in grades.values())
                grade = f"{query.judgments.grades.get(doc_id, 0):g}"
                text = write(facts.name_doc(doc_id), " for ", query.part, f" ({grade_list})")
                findings.append(text + f", which counts as {grade}")
    if findings:
        text = write("Assessors disagree on ", list_some(findings))
        yield Notice("disagreement", text, doc_ids=tuple(doc_ids))


def _create_duplicate_notice(facts: SuiteFacts) -> Iterator[Notice]:
    query_ids = []
    for query_id, rankings in facts.comparison.answers.items():
        if any(len(set(ranking.doc_ids)) < len(ranking.doc_ids) for ranking in rankings):
            query_ids.append(query_id)
    what = "a document twice, which counts once"
    phrases = (f"ranking contains {what}", f"rankings contain {what}")
    yield from facts.create_query_notice("repeated-documents", query_ids, *phrases)


# -- Probes ----------------------------------------------------------------------------------------


def _create_probe_notices(facts: SuiteFacts) -> Iterator[Notice]:
    """Create notices that say what broken probes have in common, to show what indexing loses."""
    comparison = facts.comparison
    found_probes: list[Probe] = []
    broken_probes: dict[str, Probe] = {}
    fields_by_doc: dict[str, dict[str, str]] = defaultdict(dict)  # by document and way
    for query in comparison.answered_queries:
        if query.probe and _is_found(query, comparison):
            found_probes.append(query.probe)
            fields_by_doc[query.probe.doc_id][query.probe.way] = query.probe.field
        elif query.probe:
            broken_probes[query.id] = query.probe

    probes = [*found_probes, *broken_probes.values()]
    has_several_fields = len({probe.field for probe in probes}) > 1
    other_ids = _find_other_ids(broken_probes, fields_by_doc, comparison)
    groups: dict[tuple[str, str], dict[str, Probe]] = defaultdict(dict)
    for query_id, probe in broken_probes.items():
        fields = fields_by_doc[probe.doc_id]
        if probe.doc_id in comparison.run.missing_doc_ids:
            group = ("probes-not-in-the-index", "not in the index")
        elif probe.way == "quote" and "whole" in fields:
            words = f"found by '{fields['whole']}', but not by a quote from '{probe.field}'"
            group = (PROBES_NOT_BY_QUOTE, words)
        elif not fields and probe.doc_id in other_ids:
            group = (PROBES_OTHER_IDS, "returned with another id")
        elif not fields and has_several_fields:
            group = ("probes-not-by-any-field", "not found by any field")
        else:
            group = ("probes-not-by-field", f"not found by '{probe.field}'")
        groups[group][query_id] = probe

    for (code, words), group_probes in groups.items():
        probes = list(group_probes.values())
        documents = {probe.doc_id: DocPart(probe.doc_id, probe.title) for probe in probes}
        count = format_count(len(documents), "document is", "documents are")
        text = write(f"{count} {words}") + _describe_source(found_probes, probes)
        if code == PROBES_NOT_BY_QUOTE:
            text += _describe_cut(found_probes, probes)
        if code == PROBES_OTHER_IDS:
            first = next(iter(documents))
            text += write(", such as ", DataPart(other_ids[first]), " instead of ", DataPart(first))
        text += write(": ", list_some(documents.values()))
        query_ids, doc_ids = tuple(group_probes), tuple(documents)
        yield Notice(code, text, query_ids=query_ids, doc_ids=doc_ids, is_cause=True)


def _is_found(query: Query, comparison: Comparison) -> bool:
    top_k = comparison.suite.settings.top_k
    relevant = query.judgments.relevant
    rankings = comparison.answers[query.id]
    return all(not relevant.isdisjoint(ranking.doc_ids[:top_k]) for ranking in rankings)


def _find_other_ids(
    broken_probes: Mapping[str, Probe], fields_by_doc: Mapping[str, object], comparison: Comparison
) -> dict[str, str]:
    """Return other ids under which documents that no field finds are returned, by document.

    A result with the title of a document may be another document. So ids are returned only if
    nearly all of these documents have such a result.
    """
    other_ids: dict[str, str] = {}
    doc_ids = set()
    for query_id, probe in broken_probes.items():
        title = clean_title(probe.title)
        if fields_by_doc.get(probe.doc_id) or not title:
            continue
        doc_ids.add(probe.doc_id)
        for ranking in comparison.answers[query_id]:
            for doc_id in ranking.doc_ids[: comparison.suite.settings.top_k]:
                if comparison.run.titles.get(doc_id) == title:
                    other_ids.setdefault(probe.doc_id, doc_id)
    is_common = len(other_ids) >= max(MIN_SHARED_PROBES, MIN_SHARED_FRACTION * len(doc_ids))
    return other_ids if is_common else {}


def _describe_source(found: Sequence[Probe], broken: Sequence[Probe]) -> Text:
    """Describe the source that nearly all broken probes are from, unless all probes are from it."""
    ((source, count),) = Counter(probe.source for probe in broken).most_common(1)
    if len(broken) < MIN_SHARED_PROBES or all(probe.source == source for probe in found):
        return Text()
    if count == len(broken):
        return write(", all from ", DataPart(source))
    # A missing source also shows if something else broke one or two other probes.
    is_missing = all(probe.source != source for probe in found)
    if is_missing and count >= max(MIN_SHARED_PROBES, MIN_SHARED_FRACTION * len(broken)):
        return write(f", {count} of {len(broken)} from ", DataPart(source))
    return Text()


def _describe_cut(found: Sequence[Probe], broken: Sequence[Probe]) -> str:
    """Describe the position at which texts seem to be cut, or a field that seems not indexed.

    A quote after the cut may be found by chance, and one before it broken for another reason.
    """
    quotes = [(probe.position, False) for probe in found if probe.way == "quote"]
    if len(broken) < MIN_SHARED_PROBES:
        return ""
    are_few_broken = len(broken) < MIN_BROKEN_FRACTION * (len(quotes) + len(broken))
    quotes += [(probe.position, True) for probe in broken]
    quotes.sort()
    # The cut is where the fewest quotes are on the wrong side.
    # Start with the cut before all texts, where every found quote is on the wrong side.
    misplaced_count = fewest = len(quotes) - len(broken)
    cut = broken_before = broken_before_cut = 0
    for position, is_broken in quotes:
        misplaced_count += 1 if is_broken else -1
        broken_before += is_broken
        if misplaced_count < fewest:
            fewest, cut, broken_before_cut = misplaced_count, position, broken_before
    found_after_cut = fewest - broken_before_cut
    broken_after_cut = len(broken) - broken_before_cut
    is_clear = broken_after_cut >= max(2 * found_after_cut, MIN_SHARED_FRACTION * len(broken))
    if cut >= MIN_CUT_POSITION and is_clear:
        return f", as if texts were cut off at about character {cut:,}"
    return "" if are_few_broken else ", as if the field were not indexed"


# -- Known issues and notes ------------------------------------------------------------------------


def _create_known_issue_notice(facts: SuiteFacts) -> Iterator[Notice]:
    """Create a notice for known issues that cover failures, so that nobody forgets them."""
    query_ids: dict[str, dict[str, None]] = {}
    for result in facts.results:
        if result.known_issue_id and result.outcome is Outcome.PASSED:
            query_ids.setdefault(result.known_issue_id, {}).update(dict.fromkeys(result.query_ids))
    if query_ids:
        parts = []
        for issue, ids in query_ids.items():
            about = write(" (", facts.name_queries(ids), ")") if ids else Text()
            parts.append(write(DataPart(issue), about))
        count = format_count(len(parts), "known issue is", "known issues are")
        text = write(count, " not fixed: ", list_some(parts))
        named = dict.fromkeys(query_id for ids in query_ids.values() for query_id in ids)
        yield Notice("known-issues", text, query_ids=tuple(named))


def _create_expired_issue_notices(facts: SuiteFacts) -> Iterator[Notice]:
    """Create a notice for each known issue that is not fixed after its date, and does not fail."""
    broken = {result.known_issue_id for result in facts.results if result.known_issue_id}
    for query in facts.suite.queries:
        issue = query.known_issue
        if issue and issue.id in broken and is_expired(issue, facts.context.today):
            broken.remove(issue.id)
            text = write("Known issue ", DataPart(issue.id), f" expired on {issue.until}")
            step = write("Fix it, or set a later date at ", CodePart(str(issue.location)))
            yield Notice("expired-known-issue", text, next_step=step)


def _create_remark_notices(facts: SuiteFacts) -> Iterator[Notice]:
    """Create a notice for each remark from reading the suite and the answers."""
    run = facts.comparison.run
    notes = [*facts.suite.notes, *run.notes]
    if run.provenance.retry_count:
        count = format_count(run.provenance.retry_count, "call was", "calls were")
        notes.append(f"{count} retried after a failure")
    for note in notes:
        yield Notice("note", Text((DataPart(note),)))
