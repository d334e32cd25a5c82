"""Notices about causes: what explains at once that many queries got worse.

Document IDs that do not match, results that were cut off, or a retriever that gives no answers look
like bad search in every number. A report shows these notices next to the headline.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from pytest_irquality.evaluation.constants import (
    MAX_RANK_DISTANCE,
    MIN_MATCHED_FRACTION,
)
from pytest_irquality.evaluation.facts import SuiteFacts
from pytest_irquality.evaluation.query_changes import QueryStatus
from pytest_irquality.evaluation.results import Notice, Outcome
from pytest_irquality.io.text import CodePart, DataPart, DocPart, Text, format_count, join, write

MAX_COMPARED_IDS = 200  # ids of each side that are compared in their form
MIN_NAMED_IDS = 3  # ids of the suite, below which it is no surprise that none is returned


def create_cause_notices(facts: SuiteFacts) -> Iterator[Notice]:
    """Create the notices that explain an outcome, the most fundamental cause first."""
    yield from _create_no_answer_notice(facts)
    yield from _create_unknown_id_notice(facts)
    yield from _create_changed_id_notice(facts)
    yield from _create_empty_notice(facts)
    yield from _create_few_results_notice(facts)


def _create_no_answer_notice(facts: SuiteFacts) -> Iterator[Notice]:
    query_ids = facts.comparison.list_query_ids(QueryStatus.NO_ANSWER)
    if not query_ids:
        return
    queries_by_cause: dict[str, list[str]] = {}
    messages: dict[str, str] = {}
    for query_id in query_ids:
        error = facts.run.errors[facts.suite.queries_by_id[query_id].request]
        cause = error.cause or error.message
        queries_by_cause.setdefault(cause, []).append(query_id)
        messages.setdefault(cause, error.message)
    causes: list[Text] = []
    for cause, ids in sorted(queries_by_cause.items(), key=lambda item: -len(item[1])):
        count = f"{len(ids)} with " if len(queries_by_cause) > 1 else ""
        causes.append(write(facts.name_queries(ids), f": {count}", DataPart(messages[cause])))
    is_all = len(query_ids) == len(facts.suite.queries)
    text = write(format_count(len(query_ids), "query has", "queries have"), " no answer (")
    text += join(causes, "; ") + ")"
    if is_all and len(causes) == 1:
        text = write("No query has an answer: ", DataPart(next(iter(messages.values()))))
    is_failure = len(query_ids) > facts.suite.settings.max_errors
    outcome = Outcome.FAILED if is_failure else Outcome.PASSED
    yield facts.create("no-answer", text, query_ids, outcome=outcome, is_cause=is_failure)


# -- Document ids ----------------------------------------------------------------------------------


def _create_unknown_id_notice(facts: SuiteFacts) -> Iterator[Notice]:
    """Say that the retriever returns no id that the suite names, and how the ids differ."""
    if facts.suite.settings.match == "text":
        return
    named: dict[str, None] = {}
    returned: dict[str, None] = {}
    for query in facts.comparison.answered_queries:
        names = dict.fromkeys(query.judgments.grades)
        for rule in query.rules:
            names.update(dict.fromkeys(rule.doc_ids))
        change = facts.comparison.changes_by_id.get(query.id)
        rankings = facts.comparison.answers[query.id] + (change.before if change else ())
        for ranking in rankings:
            # One shared id proves that both mean the same documents.
            if not names.keys().isdisjoint(ranking.doc_ids):
                return
            returned.update(dict.fromkeys(ranking.doc_ids))
        named.update(names)
    if not named or not returned or not named.keys().isdisjoint(returned):
        return
    relation = _find_relation(named, returned)
    if relation is None and len(named) < MIN_NAMED_IDS:
        return
    named_id, returned_id, difference = relation or (next(iter(named)), next(iter(returned)), "")
    text = write("No result has an ID that the suite names. The retriever returns ")
    text += write(DocPart(returned_id), ", and the suite names ", DocPart(named_id))
    text += f". They differ in {difference}." if difference else "."
    step = write("Write the IDs as the retriever returns them, or name the field that has them in ")
    step += write(CodePart("id_field"))
    yield facts.create("unknown-document-ids", text, is_cause=True, next_step=step)


def _find_relation(named: Iterable[str], returned: Iterable[str]) -> tuple[str, str, str] | None:
    """Find an id of the suite that differs from a returned one in its form only."""
    candidates = list(islice(returned, MAX_COMPARED_IDS))
    for named_id in islice(named, MAX_COMPARED_IDS):
        for returned_id in candidates:
            difference = _describe_difference(named_id, returned_id)
            if difference:
                return named_id, returned_id, difference
    return None


def _describe_difference(doc_id: str, other: str) -> str:
    shorter, longer = sorted((doc_id, other), key=len)
    if shorter.lower() == longer.lower():
        return "upper and lower case"
    number = _normalize_number(shorter)
    if number and number == _normalize_number(longer):
        return "the form of a number"
    if longer.endswith(shorter):
        return f"the prefix '{longer.removesuffix(shorter)}'"
    if longer.startswith(shorter):
        return f"the suffix '{longer.removeprefix(shorter)}'"
    return ""


def _normalize_number(doc_id: str) -> str:
    """Return the digits of ``12``, ``012`` and ``12.0``, or an empty string."""
    digits = doc_id.removesuffix(".0").lstrip("0")
    return digits if digits.isdecimal() and digits.isascii() else ""


def _create_changed_id_notice(facts: SuiteFacts) -> Iterator[Notice]:
    """Say that the documents of the baseline have other ids now."""
    baseline_run = facts.comparison.baseline_run
    if facts.suite.settings.match == "text" or baseline_run is None:
        return
    baseline_ids: set[str] = set()
    new_ids: dict[str, str] = {}
    for change in facts.comparison.changes:
        before, now = change.before[0].doc_ids, change.now[0].doc_ids
        # One shared ID proves that the scheme is unchanged.
        if not set(before).isdisjoint(now):
            return
        baseline_ids.update(before)
        new_ids.update(_match_documents(before, now, baseline_run.titles, facts.run.titles))
    if len(new_ids) <= MIN_MATCHED_FRACTION * len(baseline_ids):
        return
    old_id, new_id = next(iter(new_ids.items()))
    count = format_count(len(baseline_ids), "document ID")
    text = write(f"All {count} changed (", DocPart(old_id), " → ", DocPart(new_id), ")")
    step = write("Update grades and rules, or set ", CodePart("id_field"))
    yield facts.create("changed-document-ids", text, is_cause=True, next_step=step)


def _match_documents(
    before: Sequence[str],
    now: Sequence[str],
    titles_before: Mapping[str, str],
    titles_now: Mapping[str, str],
) -> dict[str, str]:
    """Match documents at nearly the same rank that have one title, or one id within the other."""
    matches = {}
    for rank, doc_id in enumerate(before):
        title = titles_before.get(doc_id)
        start = max(rank - MAX_RANK_DISTANCE, 0)
        for candidate in now[start : rank + MAX_RANK_DISTANCE + 1]:
            has_same_title = bool(title) and titles_now.get(candidate) == title
            if has_same_title or _describe_difference(doc_id, candidate):
                matches[doc_id] = candidate
                break
    return matches


# -- Results ---------------------------------------------------------------------------------------


def _create_empty_notice(facts: SuiteFacts) -> Iterator[Notice]:
    """Name the queries that return nothing, those that newly do if there is a baseline."""
    empty = []
    newly_empty = []
    for query in facts.comparison.answered_queries:
        rankings = facts.comparison.answers[query.id]
        if query.expects_no_results or any(ranking.doc_ids for ranking in rankings):
            continue
        empty.append(query.id)
        change = facts.comparison.changes_by_id.get(query.id)
        if change and change.is_newly_empty:
            newly_empty.append(query.id)
    if newly_empty:
        more = "more " if len(newly_empty) < len(empty) else ""
        count = format_count(len(newly_empty), f"{more}query returns", f"{more}queries return")
        text = write(count, " nothing: ", facts.name_queries(newly_empty))
        yield facts.create("newly-empty", text, newly_empty, is_cause=True)
    elif empty:
        is_all = len(empty) == len(facts.comparison.answers)
        is_known = all(query_id in facts.comparison.changes_by_id for query_id in empty)
        as_before = " as before" if is_known else ""
        count = format_count(len(empty), "query returns", "queries return")
        text = write(count, f" nothing{as_before}: ", facts.name_queries(empty))
        yield facts.create("empty", text, empty, is_cause=is_all and not as_before)


def _create_few_results_notice(facts: SuiteFacts) -> Iterator[Notice]:
    """Say that every query has fewer results than were requested, if that can cost anything."""
    comparison = facts.comparison
    requested = facts.run.provenance.depth or comparison.needed_depth
    longest = 0
    lacks_relevant = False
    for query in comparison.answered_queries:
        doc_ids = comparison.answers[query.id][0].doc_ids
        longest = max(longest, len(doc_ids))
        if longest >= requested:
            return
        lacks_relevant = lacks_relevant or not query.judgments.relevant.issubset(doc_ids)
    if not longest or len(comparison.answers) < 2 or not lacks_relevant:
        return
    longest_before = 0
    for change in comparison.changes:
        longest_before = max(longest_before, len(change.before[0].doc_ids))
    text = write(f"No query has more than {format_count(longest, 'result')}")
    if longest_before > longest:
        text += f", and the baseline has up to {longest_before}"
    else:
        text += f", and {requested} were requested"
    step = write("Let the retriever return as many results as requested. If several results are ")
    step += write("parts of one document, request more with ", CodePart("depth"))
    is_cause = longest_before > longest
    yield facts.create("few-results", text, is_cause=is_cause, next_step=step)
