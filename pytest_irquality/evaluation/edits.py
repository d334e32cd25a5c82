"""What a change edits in suites, by name and as a plain diff.

Edits inform the reader and decide nothing: the base suites are evaluated as they were. Only a suite
of which nothing is left needs a review, because nobody will notice the next loss.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import Enum

from pytest_irquality.evaluation.branches import Branch, find_edited_answers
from pytest_irquality.io.text import DataPart, Text, join, write
from pytest_irquality.suite.model import Bound, ItemKind, Query, Suite, Threshold


class EditKind(Enum):
    """What can be edited in a suite, with the words for one and for several of them."""

    QUERIES_REMOVED = ("query removed", "queries removed")
    QUERIES_ADDED = ("query added", "queries added")
    QUERIES_MOVED = ("query moved to another suite", "queries moved to other suites")
    QUERIES_REWORDED = ("query reworded", "queries reworded")
    PARAMS_EDITED = ("query with other parameters", "queries with other parameters")
    QUERIES_REGRADED = ("query regraded", "queries regraded")
    JUDGMENTS_REMOVED = ("query without its judgments", "queries without their judgments")
    RULES_REMOVED = ("rule removed", "rules removed")
    RULES_ADDED = ("rule added", "rules added")
    WEIGHTS_EDITED = ("weight edited", "weights edited")
    THRESHOLDS_REMOVED = ("threshold removed", "thresholds removed")
    THRESHOLDS_ADDED = ("threshold added", "thresholds added")
    THRESHOLDS_LOWERED = ("threshold lowered", "thresholds lowered")
    THRESHOLDS_RAISED = ("threshold raised", "thresholds raised")
    DROPS_WIDENED = ("allowed drop widened", "allowed drops widened")
    DROPS_NARROWED = ("allowed drop narrowed", "allowed drops narrowed")
    THRESHOLDS_WARN = ("threshold that now only warns", "thresholds that now only warn")
    THRESHOLDS_EDITED = ("threshold edited", "thresholds edited")
    KNOWN_ISSUES_ADDED = ("known issue added", "known issues added")
    KNOWN_ISSUES_CLOSED = ("known issue closed", "known issues closed")
    BASELINE_EDITED = ("baseline answer edited", "baseline answers edited")

    def describe(self, count: int) -> str:
        """Describe a number of edits, such as ``3 queries removed``."""
        return f"{count:,} {self.value[count != 1]}"


@dataclass(frozen=True)
class SuiteEdit:
    """What a change edits in one suite.

    Attributes:
        subject: The name of the suite, or ``ir_gate`` for the gate.
        path: The path of the suite on the base branch or, for an added suite, on the current one.
        counts: How many queries, rules and thresholds are edited in which way.
        details: Edits of the suite as a unit, such as another retriever.
        query_ids: The base queries that the edits touch.
        is_removed: Whether the current branch no longer has the suite.
        is_added: Whether the base branch does not have the suite.
        is_nothing_left: Whether no request and no query id of the suite is left.
        diff: The unified diff of the files, or empty if their texts are not known.
    """

    subject: str
    path: str = ""
    counts: Mapping[EditKind, int] = field(default_factory=dict)
    details: tuple[Text, ...] = ()
    query_ids: tuple[str, ...] = ()
    is_removed: bool = False
    is_added: bool = False
    is_nothing_left: bool = False
    diff: str = field(default="", repr=False)

    @property
    def texts(self) -> tuple[Text, ...]:
        """Return the edits, such as ``3 queries removed`` or ``1 threshold lowered``."""
        counts = [
            write(kind.describe(self.counts[kind])) for kind in EditKind if kind in self.counts
        ]
        return (*self.details, *counts)


def summarize_edits(edits: Iterable[SuiteEdit]) -> Text:
    """Summarize the edits of all suites, such as ``9 queries removed, 1 threshold lowered``."""
    counts: Counter[EditKind] = Counter()
    details = []
    for edit in edits:
        counts.update(edit.counts)
        for detail in edit.details:
            details.append(write(DataPart(edit.subject), ": ", detail) if edit.path else detail)
    texts: list[Text] = [write(kind.describe(counts[kind])) for kind in EditKind if kind in counts]
    return join([*details, *texts])


def find_edits(current: Branch, base: Branch) -> tuple[SuiteEdit, ...]:
    """Find what the current branch edits in suites, in the order of the base suites.

    Args:
        current: The suites of the change.
        base: The suites of the base branch.

    Returns:
        One edit for each suite file that differs. Suites that the change adds come last, and the
        gate comes first. Suites that the command line leaves out are not looked at.
    """
    edits = []
    if base.is_strict and not current.is_strict:
        detail = write("gate lowered")
        edits.append(SuiteEdit("ir_gate", details=(detail,)))
    current_suites = _group_by_path(current)
    base_suites = _group_by_path(base)
    added_suites = {path: s for path, s in current_suites.items() if path not in base_suites}
    current_requests = _list_requests(current)
    for path, suites in base_suites.items():
        new_suites = current_suites.get(path, [])
        renamed_path = "" if new_suites else _find_renamed_path(suites[0], added_suites)
        if renamed_path:
            new_suites = added_suites.pop(renamed_path)
        edit = _compare_suites(suites, new_suites, current_requests)
        if renamed_path:
            detail = write("renamed to ", DataPart(renamed_path))
            edit = replace(edit, details=(detail, *edit.details))
        edit = _add_baseline_edits(edit, new_suites, current, base)
        edit = replace(edit, diff=_create_diff(suites[0], new_suites, current, base))
        if edit.counts or edit.details or edit.diff:
            edits.append(edit)
    for path, suites in added_suites.items():
        base_requests = _list_requests(base)
        added_count = sum(query.request not in base_requests for query in suites[0].queries)
        counts = {EditKind.QUERIES_ADDED: added_count} if added_count else {}
        detail = write("suite added")
        edit = SuiteEdit(suites[0].name, path, counts, details=(detail,), is_added=True)
        edit = _add_baseline_edits(edit, suites, current, base)
        edits.append(replace(edit, diff=_create_diff(suites[0], suites, current, base)))
    return tuple(edits)


def _find_renamed_path(base_suite: Suite, added_suites: Mapping[str, Sequence[Suite]]) -> str:
    """Return the path of the added suite that has most queries of a missing one, if any has."""
    requests = {query.request for query in base_suite.queries}
    for path, suites in added_suites.items():
        shared_count = sum(query.request in requests for query in suites[0].queries)
        if 2 * shared_count > len(requests):
            return path
    return ""


def _group_by_path(branch: Branch) -> dict[str, list[Suite]]:
    """Return the suites of each file, one for each retriever."""
    suites: dict[str, list[Suite]] = {}
    for suite in branch.suites:
        if not branch.is_deselected(suite):
            suites.setdefault(suite.path, []).append(suite)
    return suites


def _list_requests(branch: Branch) -> set[str]:
    return {query.request for suite in branch.suites for query in suite.queries}


# -- Suites ---------------------------------------------------------------------------------------


def _compare_suites(
    base_suites: Sequence[Suite], suites: Sequence[Suite], current_requests: set[str]
) -> SuiteEdit:
    """Compare the suite in a file of the base branch with the suite in the same file now."""
    base_suite = base_suites[0]
    has_requests = any(query.request in current_requests for query in base_suite.queries)
    moved_count = sum(query.request in current_requests for query in base_suite.queries)
    if not suites:
        counts = {EditKind.QUERIES_MOVED: moved_count} if moved_count else {}
        if removed_count := len(base_suite.queries) - moved_count:
            counts[EditKind.QUERIES_REMOVED] = removed_count
        return SuiteEdit(
            base_suite.name,
            base_suite.path,
            counts,
            details=(write("suite removed"),),
            query_ids=tuple(base_suite.queries_by_id),
            is_removed=True,
            is_nothing_left=not has_requests,
        )

    suite = suites[0]
    # Ids are unique in a suite only, so the same id in another suite is another query.
    has_ids = not base_suite.queries_by_id.keys().isdisjoint(suite.queries_by_id)
    counter, query_ids = _compare_queries(base_suite, suite, current_requests)
    counter.update(_compare_thresholds(_list_thresholds(base_suite), _list_thresholds(suite)))
    counter.update(_compare_each_query_rules(base_suite, suite))
    return SuiteEdit(
        base_suite.name,
        base_suite.path,
        {kind: count for kind, count in counter.items() if count},
        details=tuple(_compare_settings(base_suites, suites)),
        query_ids=tuple(query_ids),
        is_nothing_left=not has_requests and not has_ids,
    )


def _compare_settings(base_suites: Sequence[Suite], suites: Sequence[Suite]) -> Iterator[Text]:
    base_suite, suite = base_suites[0], suites[0]
    base_retrievers = {str(other.retriever) for other in base_suites}
    retrievers = {str(other.retriever) for other in suites}
    if base_retrievers != retrievers:
        names = [", ".join(sorted(names)) for names in (retrievers, base_retrievers)]
        yield write("retriever ", DataPart(names[0]), " instead of ", DataPart(names[1]))
    if suite.baseline_retriever != base_suite.baseline_retriever:
        yield write("'baseline' edited")
    if suite.primary_metric != base_suite.primary_metric:
        yield write(
            f"{suite.primary_metric} instead of {base_suite.primary_metric} as first metric"
        )
    if suite.lost_queries != base_suite.lost_queries:
        yield write("'lost_all_relevant' edited")
    edited = []
    for setting in fields(suite.settings):
        if getattr(suite.settings, setting.name) != getattr(base_suite.settings, setting.name):
            edited.append(f"'{setting.name}'")
    if edited:
        yield write(f"{', '.join(edited)} edited")


def _compare_each_query_rules(base_suite: Suite, suite: Suite) -> Counter[EditKind]:
    rules = [item.rule for item in suite.items if item.rule and not item.query_id]
    base_rules = [item.rule for item in base_suite.items if item.rule and not item.query_id]
    return _count_rules(base_rules, rules)


def _count_rules(base_rules: Sequence[object], rules: Sequence[object]) -> Counter[EditKind]:
    # A rule that was edited is a removed and an added one.
    return Counter(
        {
            EditKind.RULES_REMOVED: sum(rule not in rules for rule in base_rules),
            EditKind.RULES_ADDED: sum(rule not in base_rules for rule in rules),
        }
    )


# -- Queries --------------------------------------------------------------------------------------


def _compare_queries(
    base_suite: Suite, suite: Suite, current_requests: set[str]
) -> tuple[Counter[EditKind], list[str]]:
    """Count the edits of queries, and list the ids of the base queries that they touch."""
    by_request = {query.request: query for query in suite.queries}
    counter: Counter[EditKind] = Counter()
    edited_ids = []
    matched_ids = set()
    for base_query in base_suite.queries:
        query = suite.queries_by_id.get(base_query.id) or by_request.get(base_query.request)
        if query is None:
            is_moved = base_query.request in current_requests
            kind = EditKind.QUERIES_MOVED if is_moved else EditKind.QUERIES_REMOVED
            counts = Counter([kind])
        else:
            matched_ids.add(query.id)
            counts = _compare_query(base_query, query)
        counter.update(counts)
        if any(counts.values()):
            edited_ids.append(base_query.id)
    counter[EditKind.QUERIES_ADDED] = sum(query.id not in matched_ids for query in suite.queries)
    return counter, edited_ids


def _compare_query(base_query: Query, query: Query) -> Counter[EditKind]:
    counter = _count_rules(base_query.rules, query.rules)
    counter[EditKind.QUERIES_REWORDED] = int(query.text != base_query.text)
    counter[EditKind.PARAMS_EDITED] = int(query.params != base_query.params)
    if query.judgments != base_query.judgments:
        is_removed = not query.judgments.grades
        kind = EditKind.JUDGMENTS_REMOVED if is_removed else EditKind.QUERIES_REGRADED
        counter[kind] = 1
    counter[EditKind.WEIGHTS_EDITED] = int(query.weight != base_query.weight)
    counter[EditKind.KNOWN_ISSUES_ADDED] = _count_known_issue(base_query, query)
    counter[EditKind.KNOWN_ISSUES_CLOSED] = _count_known_issue(query, base_query)
    return counter


def _count_known_issue(without: Query | Threshold, with_issue: Query | Threshold) -> int:
    return int(without.known_issue is None and with_issue.known_issue is not None)


# -- Thresholds -----------------------------------------------------------------------------------


def _list_thresholds(suite: Suite) -> dict[tuple[object, ...], Threshold]:
    """Return the thresholds of a suite by what they apply to."""
    thresholds: dict[tuple[object, ...], Threshold] = {}
    for item in suite.items:
        if item.threshold:
            is_each_query = item.kind is ItemKind.EACH_QUERY
            scope = (item.query_id, item.tag, item.is_each_tag, is_each_query)
            thresholds[(*scope, item.threshold.metric)] = item.threshold
    for query in suite.queries:
        for threshold in query.thresholds:
            thresholds[(query.id, "", False, False, threshold.metric)] = threshold
    return thresholds


def _compare_thresholds(
    base_thresholds: Mapping[tuple[object, ...], Threshold],
    thresholds: Mapping[tuple[object, ...], Threshold],
) -> Counter[EditKind]:
    counter: Counter[EditKind] = Counter()
    counter[EditKind.THRESHOLDS_REMOVED] = len(base_thresholds.keys() - thresholds.keys())
    counter[EditKind.THRESHOLDS_ADDED] = len(thresholds.keys() - base_thresholds.keys())
    for key in base_thresholds.keys() & thresholds.keys():
        base_threshold, threshold = base_thresholds[key], thresholds[key]
        counter[EditKind.KNOWN_ISSUES_ADDED] += _count_known_issue(base_threshold, threshold)
        counter[EditKind.KNOWN_ISSUES_CLOSED] += _count_known_issue(threshold, base_threshold)
        if kind := _classify_threshold(base_threshold, threshold):
            counter[kind] += 1
    return counter


def _classify_threshold(base: Threshold, threshold: Threshold) -> EditKind | None:
    """Name the edit of a threshold, the most noticeable one if there are several."""
    if base == threshold:
        return None
    if threshold.is_warning and not base.is_warning:
        return EditKind.THRESHOLDS_WARN
    for name in ("max_drop", "max_rise", "max_significant_drop"):
        change = _compare_bounds(getattr(base, name), getattr(threshold, name))
        if change:
            return EditKind.DROPS_WIDENED if change > 0 else EditKind.DROPS_NARROWED
    for name in ("min", "max"):
        change = _compare_bounds(getattr(base, name), getattr(threshold, name))
        if change:
            return EditKind.THRESHOLDS_RAISED if change > 0 else EditKind.THRESHOLDS_LOWERED
    return EditKind.THRESHOLDS_EDITED


def _compare_bounds(base: Bound | None, bound: Bound | None) -> float:
    """Return how much higher a bound is now, or 0 if the two cannot be compared."""
    if base is None or bound is None or base.unit is not bound.unit:
        return 0.0
    return bound.value - base.value


# -- Baselines and files --------------------------------------------------------------------------


def _add_baseline_edits(
    edit: SuiteEdit, suites: Sequence[Suite], current: Branch, base: Branch
) -> SuiteEdit:
    edited_count = 0
    for suite in suites:
        edited = find_edited_answers(suite, current, base)
        known = find_edited_answers(suite, base, current)
        # An answer that the base branch lacks is the first one, and no edit.
        edited_count += len(edited.keys() & known.keys())
    if not edited_count:
        return edit
    return replace(edit, counts={**edit.counts, EditKind.BASELINE_EDITED: edited_count})


def _create_diff(base_suite: Suite, suites: Sequence[Suite], current: Branch, base: Branch) -> str:
    """Create a unified diff of a suite and the files that it reads."""
    paths = dict.fromkeys([base_suite.path, *base_suite.files])
    for suite in suites:
        paths.update(dict.fromkeys(suite.files))
    lines: list[str] = []
    for path in paths:
        if path in base.texts or path in current.texts:
            lines += difflib.unified_diff(
                base.texts.get(path, "").splitlines(),
                current.texts.get(path, "").splitlines(),
                f"a/{path}" if path in base.texts else "/dev/null",
                f"b/{path}" if path in current.texts else "/dev/null",
                lineterm="",
            )
    return "\n".join(lines)
