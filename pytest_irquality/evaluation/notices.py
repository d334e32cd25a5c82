"""Notices about a suite: what a reader should know next to the results of its checks.

Every notice is created and worded in one function. ``create_notices`` lists them in the order in
which reports show them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from pytest_irquality.evaluation.causes import create_cause_notices
from pytest_irquality.evaluation.comparison import Side
from pytest_irquality.evaluation.constants import MAX_UNDECIDED_FRACTION, MIN_FEW_CHANGES, TOP
from pytest_irquality.evaluation.facts import SuiteFacts
from pytest_irquality.evaluation.probes import create_probe_notices
from pytest_irquality.evaluation.query_changes import QueryStatus, find_median_ranks
from pytest_irquality.evaluation.requirement_checks import format_value, is_expired
from pytest_irquality.evaluation.results import CheckResult, Notice, Outcome, Requirement
from pytest_irquality.io.text import (
    CodePart,
    DataPart,
    QueryPart,
    Text,
    format_count,
    join,
    list_some,
    write,
)
from pytest_irquality.passages.diagnosis import FindingKind
from pytest_irquality.suite.model import KnownIssue, Threshold


def create_notices(facts: SuiteFacts) -> tuple[Notice, ...]:
    """Create all notices about a suite, causes of its outcome first."""
    creators = (
        create_cause_notices,
        _create_not_run_notice,
        _create_nothing_can_fail_notice,
        _create_no_judgments_notice,
        _create_lost_query_notices,
        _create_gained_query_notice,
        _create_undecided_notice,
        _create_missing_document_notice,
        _create_passage_notice,
        _create_unjudged_notice,
        _create_assessor_notices,
        _create_few_changes_notice,
        _create_known_issue_notice,
        _create_expired_issue_notices,
        _create_new_query_notice,
        _create_regraded_notice,
        create_probe_notices,
        _create_baseline_notices,
        _create_tie_order_notice,
        _create_duplicate_notice,
        _create_remark_notices,
    )
    notices: list[Notice] = []
    for create in creators:
        notices += create(facts)
    return tuple(notices)


# -- What was not evaluated ------------------------------------------------------------------------


def _create_not_run_notice(facts: SuiteFacts) -> Iterator[Notice]:
    query_ids = []
    reasons: dict[str, None] = {}
    if facts.run.provenance.is_interrupted:
        reasons["the run was interrupted"] = None
    for query_id in facts.comparison.list_query_ids(QueryStatus.NOT_RUN):
        if query_id not in facts.context.deselected_query_ids:
            query_ids.append(query_id)
            error = facts.run.errors.get(facts.suite.queries_by_id[query_id].request)
            if error:
                reasons[error.message] = None
    if query_ids:
        total = format_count(len(facts.suite.queries), "query", "queries")
        text = write(f"{len(query_ids)} of {total} did not run: ", facts.name_queries(query_ids))
        if reasons:
            text += write(" (", list_some(map(DataPart, reasons)), ")")
        yield facts.create("not-run", text, query_ids, outcome=Outcome.INCOMPLETE)


def _create_nothing_can_fail_notice(facts: SuiteFacts) -> Iterator[Notice]:
    suite = facts.suite
    if not facts.comparison.answers or facts.context.selected_items is not None:
        return
    for result in facts.results:
        # That every query has an answer says nothing about the answer.
        is_about_quality = result.check is not Requirement.ANSWERS
        if is_about_quality and result.was_evaluated and not result.is_warning:
            return
    if suite.has_stored_baseline:
        values = facts.comparison.values(suite.primary_metric, Side.BEFORE).values()
        if any(values):
            return  # Checks 2 and 3, which suites share, can fail.
    text = write("No check in ", DataPart(suite.path or suite.name), " can fail")
    step = write("Add a rule, a threshold or a baseline")
    if facts.comparison.changes:
        step = write("Add grades, a rule or a threshold")
    yield facts.create(
        "nothing-can-fail", text, outcome=Outcome.INCOMPLETE, is_cause=True, next_step=step
    )


def _create_no_judgments_notice(facts: SuiteFacts) -> Iterator[Notice]:
    has_rules = any(query.rules for query in facts.suite.queries)
    has_rules = has_rules or any(item.rule for item in facts.suite.items)
    if facts.comparison.changes and not facts.suite.has_judgments and not has_rules:
        text = write("No query has grades or rules, so only changes are reported")
        step = write("Add grades under ", CodePart("relevant"))
        yield facts.create("no-judgments", text, next_step=step)


def _create_undecided_notice(facts: SuiteFacts) -> Iterator[Notice]:
    undecided = facts.comparison.list_undecided(facts.suite.primary_metric)
    if not undecided:
        return
    is_frequent = len(undecided) > len(facts.comparison.changes) * MAX_UNDECIDED_FRACTION
    query_ids = [change.query.id for change in undecided]
    rank = len(undecided[0].now[0].doc_ids)
    count = format_count(len(undecided), "query ends", "queries end")
    text = write(count, f" in a tie at rank {rank}, so missing documents may only be tied: ")
    text += facts.name_queries(query_ids)
    yield facts.create(
        "undecided-ties",
        text,
        query_ids,
        doc_ids=[doc_id for change in undecided for doc_id in change.restored],
        outcome=Outcome.INCOMPLETE if is_frequent else Outcome.PASSED,
        next_step=write("Increase ", CodePart("depth")),
    )


def _create_baseline_notices(facts: SuiteFacts) -> Iterator[Notice]:
    """Say where the baseline is too shallow or too old for the suite."""
    comparison = facts.comparison
    step = write("Update the baseline with ", CodePart("pytest --ir-update-baseline"))
    if comparison.changes and comparison.compared_depth < comparison.needed_depth:
        depth = f"{comparison.compared_depth} of {comparison.needed_depth}"
        text = write(f"Only the first {depth} results were compared, because one side has no more")
        yield facts.create("shallow-baseline", text, next_step=step)
    if comparison.unusable_query_ids:
        count = format_count(len(comparison.unusable_query_ids), "query", "queries")
        text = write(f"The baseline does not know the passages of {count}, so they were not")
        text += write(" compared: ", facts.name_queries(comparison.unusable_query_ids))
        query_ids = comparison.unusable_query_ids
        yield facts.create("unknown-passages", text, query_ids, next_step=step)


# -- What changed ----------------------------------------------------------------------------------


def _create_lost_query_notices(facts: SuiteFacts) -> Iterator[Notice]:
    """Name each lost query, because a check that passes names none."""
    for change in facts.comparison.changes:
        if lost := change.lost_doc_ids:
            ranks = find_median_ranks(change.before)
            docs = []
            for doc_id in lost:
                rank = f" at rank {ranks[doc_id]}" if doc_id in ranks else ""
                docs.append(write(facts.name_doc(doc_id), rank))
            query = QueryPart(change.query.id, change.query.text)
            text = write(query, " lost all its relevant documents (", list_some(docs), ")")
            yield facts.create("lost-query", text, (change.query.id,), doc_ids=lost)


def _create_gained_query_notice(facts: SuiteFacts) -> Iterator[Notice]:
    gained = [change.query.id for change in facts.comparison.changes if change.gained_doc_ids]
    if gained:
        count = format_count(len(gained), "query", "queries")
        text = write(count, " gained a first relevant document: ", facts.name_queries(gained))
        yield facts.create("gained-queries", text, gained)


def _create_few_changes_notice(facts: SuiteFacts) -> Iterator[Notice]:
    """Say that no test can tell whether a suite got worse, if some of its queries did."""
    suite, metric = facts.suite, facts.suite.primary_metric
    if not suite.has_stored_baseline or not suite.has_judgments:
        return
    gains = facts.comparison.collect_gains(metric)
    changed = [query_id for query_id, gain in gains.items() if gain]
    worse = []
    for query_id in changed:
        score = facts.comparison.changes_by_id[query_id].score(metric)
        if score and score.gain < 0 and len(changed) < MIN_FEW_CHANGES:
            values = f" from {format_value(metric, score.before)} to "
            values += format_value(metric, score.now)
            worse.append(write(facts.name_queries([query_id]), values))
    if worse:
        count = format_count(len(worse), "query", "queries")
        text = write(count, f" got worse in {metric}, and {len(changed)} changed")
        text += write(" in this suite, which is too few to test: ", join(worse))
        yield facts.create("too-few-changes", text, changed)
    elif 0 < len(gains) < MIN_FEW_CHANGES:
        count = format_count(len(gains), "query is", "queries are")
        text = write(count, " too few to detect a drop")
        step = write("Add queries or a threshold")
        yield facts.create("too-few-queries", text, next_step=step)


def _create_new_query_notice(facts: SuiteFacts) -> Iterator[Notice]:
    query_ids = facts.comparison.list_query_ids(QueryStatus.NEW)
    # Without any baseline, "new" would only repeat the list of queries.
    if query_ids and facts.comparison.changes:
        count = format_count(len(query_ids), "query is", "queries are")
        text = write(count, " new: ", facts.name_queries(query_ids))
        yield facts.create("new-queries", text, query_ids)


def _create_regraded_notice(facts: SuiteFacts) -> Iterator[Notice]:
    regraded = facts.context.regraded_query_ids
    query_ids = [query.id for query in facts.suite.queries if query.id in regraded]
    if query_ids:
        count = format_count(len(query_ids), "query has", "queries have")
        text = write(count, " other judgments than before: ", facts.name_queries(query_ids))
        yield facts.create("regraded-queries", text, query_ids)


def _create_tie_order_notice(facts: SuiteFacts) -> Iterator[Notice]:
    query_ids = []
    for change in facts.comparison.changes:
        if not change.is_unchanged and not change.is_reordered and change.aligned != change.now:
            query_ids.append(change.query.id)
    if query_ids:
        count = format_count(len(query_ids), "ranking differs", "rankings differ")
        text = write(count, " only in the order of equal scores, which is not a change")
        yield facts.create("tie-order", text, query_ids)


# -- Documents -------------------------------------------------------------------------------------


def _create_missing_document_notice(facts: SuiteFacts) -> Iterator[Notice]:
    """Name the relevant documents that the index lacks, and the queries that need them."""
    missing = facts.run.missing_doc_ids
    if not missing or facts.suite.is_probe_suite:
        return
    query_ids: list[str] = []
    doc_ids: dict[str, None] = {}
    for query in facts.suite.queries:
        needed = [doc_id for doc_id in query.judgments.relevant if doc_id in missing]
        for rule in query.rules:
            needed += [doc_id for doc_id in rule.wanted_doc_ids if doc_id in missing]
        if needed:
            query_ids.append(query.id)
            doc_ids.update(dict.fromkeys(sorted(needed)))
    if doc_ids:
        count = format_count(len(doc_ids), "relevant document is", "relevant documents are")
        names = list_some(map(facts.name_doc, doc_ids))
        text = write(count, " no longer in the index (", names, "), needed by ")
        text += facts.name_queries(query_ids)
        step = write("Index them again, or update the suite")
        yield facts.create("missing-documents", text, query_ids, doc_ids=doc_ids, next_step=step)


def _create_passage_notice(facts: SuiteFacts) -> Iterator[Notice]:
    """Count the relevant passages by what happened to them."""
    if facts.suite.settings.match != "text":
        return
    counts: Counter[FindingKind] = Counter()
    found_before = 0
    for query in facts.comparison.answered_queries:
        answers = facts.comparison.explain(query.id)
        ranks_before = find_median_ranks(answers.before) if answers.before else {}
        for passage in query.judgments.relevant:
            counts[answers.diagnose(passage).kind] += 1
            found_before += ranks_before.get(passage, answers.top_k + 1) <= answers.top_k
    if counts.total() == counts[FindingKind.FOUND]:
        return
    parts: list[Text] = []
    for kind in FindingKind:
        if counts[kind] or kind is FindingKind.FOUND:
            verb = "is" if counts[kind] == 1 else "are"
            is_compared = kind is FindingKind.FOUND and facts.comparison.changes
            before = f" ({found_before} before)" if is_compared else ""
            parts.append(write(f"{counts[kind]} {verb} {kind.value}{before}"))
    total = format_count(counts.total(), "relevant passage")
    text = write(f"Of {total}, ", join(parts[:-1]), " and " if parts[1:] else "", parts[-1])
    yield facts.create("passages", text)


def _create_unjudged_notice(facts: SuiteFacts) -> Iterator[Notice]:
    """Name unjudged documents that are new in the first results of queries that got worse."""
    comparison, suite = facts.comparison, facts.suite
    if suite.settings.match == "text" or suite.is_probe_suite:
        return
    labels = facts.labels_without_unjudged
    gains = comparison.collect_gains(suite.primary_metric)
    query_ids: list[str] = []
    ranks: dict[str, list[int]] = {}
    result_count = 0
    for query in comparison.answered_queries:
        if not query.judgments.grades or not (labels or gains.get(query.id, 0) < 0):
            continue
        change = comparison.changes_by_id.get(query.id)
        before = set(change.before[0].doc_ids[:TOP]) if change else set()
        top = comparison.answers[query.id][0].doc_ids[: suite.settings.top_k]
        result_count += len(top)
        for rank, doc_id in enumerate(top, start=1):
            if doc_id not in query.judgments.grades and doc_id not in before:
                ranks.setdefault(doc_id, []).append(rank)
                query_ids.append(query.id)
    if not ranks:
        return
    total = sum(map(len, ranks.values()))
    text = write(f"{total} of {result_count} results are unjudged")
    if labels:
        checks = list_some([DataPart(label) for label in dict.fromkeys(labels)])
        text = text + ", and without them these checks would hold: " + checks
    else:
        text += " and new in queries that got worse"
    # Documents that are high in many rankings cost the most.
    worst_first = sorted(ranks, key=lambda doc_id: -sum(1 / rank for rank in ranks[doc_id]))
    docs = []
    for doc_id in worst_first:
        count = format_count(len(ranks[doc_id]), "query", "queries")
        docs.append(write(facts.name_doc(doc_id), f" in {count}"))
    step = write("Grade these first: ", list_some(docs))
    yield facts.create(
        "unjudged-results",
        text,
        dict.fromkeys(query_ids),
        doc_ids=worst_first,
        is_cause=bool(labels),
        next_step=step,
    )


def _create_assessor_notices(facts: SuiteFacts) -> Iterator[Notice]:
    """Name documents on which assessors disagree and which may have decided the outcome."""
    failed_ids: set[str] = set()
    for result in facts.results:
        if result.outcome > Outcome.INCOMPLETE:
            failed_ids.update(result.query_ids or _list_low_query_ids(facts, result))
    gains = facts.comparison.collect_gains(facts.suite.primary_metric)
    for query in facts.suite.queries:
        relevant_from = query.judgments.relevant_from
        if query.id not in failed_ids and gains.get(query.id, 0) >= 0:
            continue
        for doc_id, grades in query.assessor_grades.items():
            if min(grades.values()) < relevant_from <= max(grades.values()):
                each = ", ".join(f"{grade:g}" for grade in grades.values())
                text = write("Assessors disagree on ", facts.name_doc(doc_id), " for ")
                text += write(QueryPart(query.id, query.text), f" ({each}). It counts with ")
                text += write(f"{query.judgments.grades.get(doc_id, 0):g}.")
                yield facts.create("disagreement", text, (query.id,), doc_ids=(doc_id,))


def _list_low_query_ids(facts: SuiteFacts, result: CheckResult) -> list[str]:
    """List the queries below the bound of a threshold over the suite or a tag."""
    query_ids = []
    if isinstance(result.check, Threshold) and result.bound is not None:
        metric = result.check.metric
        for query_id, value in facts.comparison.values(metric, Side.RETURNED).items():
            has_tag = not result.tag or result.tag in facts.suite.queries_by_id[query_id].tags
            if has_tag and metric.higher_is_better and value is not None and value < result.bound:
                query_ids.append(query_id)
    return query_ids


def _create_duplicate_notice(facts: SuiteFacts) -> Iterator[Notice]:
    query_ids = facts.comparison.list_query_ids_with_duplicates()
    if query_ids:
        count = format_count(len(query_ids), "ranking contains", "rankings contain")
        answers = facts.comparison.answers[query_ids[0]]
        doc_ids = Counter(doc_id for ranking in answers for doc_id in ranking.doc_ids)
        example = doc_ids.most_common(1)[0][0]
        text = write(count, " a document twice, such as ", facts.name_doc(example))
        text += write(", which counts once: ", facts.name_queries(query_ids))
        yield facts.create("repeated-documents", text, query_ids, doc_ids=(example,))


# -- Known issues and remarks ----------------------------------------------------------------------


def _create_known_issue_notice(facts: SuiteFacts) -> Iterator[Notice]:
    """Name the known issues that cover failures, so that nobody forgets them."""
    query_ids: dict[str, dict[str, None]] = {}
    for result in facts.results:
        if result.known_issue and result.outcome is Outcome.PASSED:
            query_ids.setdefault(result.known_issue, {}).update(dict.fromkeys(result.query_ids))
    if query_ids:
        parts = []
        for issue, ids in query_ids.items():
            about = write(" (", facts.name_queries(list(ids)), ")") if ids else Text()
            parts.append(write(DataPart(issue), about))
        count = format_count(len(parts), "known issue is", "known issues are")
        named = dict.fromkeys(query_id for ids in query_ids.values() for query_id in ids)
        yield facts.create("known-issues", write(count, " not fixed: ", list_some(parts)), named)


def _create_expired_issue_notices(facts: SuiteFacts) -> Iterator[Notice]:
    """Name known issues that are still broken after their date, where that does not fail."""
    broken = {result.known_issue for result in facts.results if result.known_issue}
    named: set[str] = set()
    for issue in _list_known_issues(facts):
        if issue.id in broken and issue.id not in named and is_expired(issue, facts.context.today):
            named.add(issue.id)
            text = write("Known issue ", DataPart(issue.id), f" expired on {issue.until}")
            step = write("Fix it, or set a later date at ", CodePart(str(issue.location)))
            yield facts.create("expired-known-issue", text, next_step=step)


def _list_known_issues(facts: SuiteFacts) -> Iterable[KnownIssue]:
    for query in facts.suite.queries:
        if query.known_issue:
            yield query.known_issue
    for item in facts.suite.items:
        if item.threshold and item.threshold.known_issue:
            yield item.threshold.known_issue


def _create_remark_notices(facts: SuiteFacts) -> Iterator[Notice]:
    """Repeat what was remarked when the suite and the answers were read."""
    provenance = facts.run.provenance
    remarks = [*facts.suite.notes, *facts.run.notes]
    if provenance.retry_count:
        count = format_count(provenance.retry_count, "call was", "calls were")
        remarks.append(f"{count} made again after a failure")
    for remark in remarks:
        yield facts.create("remark", Text((DataPart(remark),)))
