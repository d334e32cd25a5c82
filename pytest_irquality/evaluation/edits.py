"""Find what a change edits in suites: named edits, and a plain diff.

Edits inform the reader and decide nothing, because the base suites are evaluated as they were. Only
a suite whose queries are all removed needs a review, because nothing protects them from then on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pytest_irquality.evaluation.evaluate import Branch, find_edited_answers
from pytest_irquality.io import dataclass, field, fields, replace
from pytest_irquality.io.text import DataPart, Text, format_count, join, write
from pytest_irquality.suite.model import CHANGE_BOUNDS, VALUE_BOUNDS, Query, Suite, Threshold


class EditKind(NamedTuple):
    """What is edited in a suite, and how."""

    noun: str
    verb: str

    def describe(self, count: int) -> Text:
        """Describe a number of edits, such as ``3 queries removed``."""
        plural = "queries" if self.noun == "query" else f"{self.noun}s"
        return write(f"{format_count(count, self.noun, plural)} {self.verb}")


BASELINE_EDITED = EditKind("baseline answer", "edited")


@dataclass(frozen=True)
class SuiteEdit:
    """What a change edits in one suite.

    Attributes:
        subject: The name of the suite, or ``ir_gate`` for the gate.
        path: The path of the suite on the base branch or, for an added suite, on the current one.
        counts: The number of edits of each kind, such as removed queries.
        details: Edits of the suite as a unit, such as another retriever.
        is_added: Whether the base branch does not have the suite.
        removes_all_queries: Whether the current branch has no query with a request of the suite,
            and none with a query id of the suite in the same file.
        diff: The unified diff of the files, or empty if their texts are not known.
    """

    subject: str
    path: str = ""
    counts: Mapping[EditKind, int] = field(default_factory=dict)
    details: tuple[Text, ...] = ()
    is_added: bool = False
    removes_all_queries: bool = False
    diff: str = field(default="", repr=False)

    @property
    def texts(self) -> tuple[Text, ...]:
        """Return the edits, such as ``3 queries removed`` or ``1 threshold lowered``."""
        return (*self.details, *_describe_counts(self.counts))


def _describe_counts(counts: Mapping[EditKind, int]) -> list[Text]:
    return [kind.describe(count) for kind, count in counts.items()]


def summarize_edits(edits: Iterable[SuiteEdit]) -> Text:
    """Summarize the edits of all suites, such as ``9 queries removed, 1 threshold lowered``."""
    counts: Counter[EditKind] = Counter()
    details = []
    for edit in edits:
        counts.update(edit.counts)
        for detail in edit.details:
            details.append(write(DataPart(edit.subject), ": ", detail) if edit.path else detail)
    return join([*details, *_describe_counts(counts)])


def find_edits(current: Branch, base: Branch) -> tuple[SuiteEdit, ...]:
    """Find what the current branch edits in suites, in the order of the base suites.

    Args:
        current: The suites of the change.
        base: The suites of the base branch.

    Returns:
        One edit for each suite file that differs. Suites that the change adds come last, and the
        gate comes first. Suites that the command line deselects are not compared.
    """
    edits = []
    if base.is_strict and not current.is_strict:
        edits.append(SuiteEdit("ir_gate", details=(write("gate lowered"),)))
    base_suites = _group_by_path(base)
    # What is edited in a file that cannot be read is not known, and the file is an error anyway.
    for path in current.errors:
        base_suites.pop(path, None)
    current_suites = _group_by_path(current)
    added_suites = {path: s for path, s in current_suites.items() if path not in base_suites}
    current_requests = {query.request for suite in current.suites for query in suite.queries}
    for path, suites in base_suites.items():
        new_suites = current_suites.get(path, [])
        edit = _compare_suites(suites, new_suites, current_requests)
        edits.append(_add_baseline_and_diff(edit, [*suites, *new_suites], current, base))
    for path, suites in added_suites.items():
        edit = SuiteEdit(suites[0].name, path, details=(write("suite added"),), is_added=True)
        edits.append(_add_baseline_and_diff(edit, suites, current, base))
    return tuple(edit for edit in edits if edit.texts or edit.diff)


def _group_by_path(branch: Branch) -> dict[str, list[Suite]]:
    """Return the suites of each file, one for each retriever."""
    suites: dict[str, list[Suite]] = {}
    for suite in branch.suites:
        if not branch.is_deselected(suite):
            suites.setdefault(suite.path, []).append(suite)
    return suites


# -- Suites ----------------------------------------------------------------------------------------


def _compare_suites(
    base_suites: Sequence[Suite], suites: Sequence[Suite], current_requests: set[str]
) -> SuiteEdit:
    """Compare a suite of the base branch with the suite in the same file now, if there is one."""
    base_suite = base_suites[0]
    suite = suites[0] if suites else Suite(base_suite.name)
    kinds = [*_compare_queries(base_suite, suite, current_requests)]
    details = [write("suite removed")]
    if suites:
        kinds += _compare_thresholds(_list_thresholds(base_suite), _list_thresholds(suite))
        kinds += _compare_members("rule", _list_shared_rules(base_suite), _list_shared_rules(suite))
        details = list(_compare_settings(base_suites, suites))
    # Ids are unique in a suite only, so the same id in another suite is another query.
    has_ids = not base_suite.queries_by_id.keys().isdisjoint(suite.queries_by_id)
    has_requests = any(query.request in current_requests for query in base_suite.queries)
    return SuiteEdit(
        base_suite.name,
        base_suite.path,
        counts=Counter(kinds),
        details=tuple(details),
        removes_all_queries=not has_requests and not has_ids,
    )


def _compare_settings(base_suites: Sequence[Suite], suites: Sequence[Suite]) -> Iterator[Text]:
    base_suite, suite = base_suites[0], suites[0]
    base_retrievers = sorted({str(other.retriever) for other in base_suites})
    retrievers = sorted({str(other.retriever) for other in suites})
    if base_retrievers != retrievers:
        names = [DataPart(", ".join(names)) for names in (retrievers, base_retrievers)]
        yield write("retriever ", names[0], " instead of ", names[1])
    edited = []
    if suite.primary_metric != base_suite.primary_metric:
        edited.append("'metrics'")
    if suite.baseline_retriever != base_suite.baseline_retriever:
        edited.append("'baseline'")
    if suite.lost_queries != base_suite.lost_queries:
        edited.append("'lost_all_relevant'")
    for setting in fields(suite.settings):
        if getattr(suite.settings, setting.name) != getattr(base_suite.settings, setting.name):
            edited.append(f"'{setting.name}'")
    if edited:
        yield write(f"{', '.join(edited)} edited")


# -- Queries, rules and thresholds -----------------------------------------------------------------


def _compare_queries(
    base_suite: Suite, suite: Suite, current_requests: set[str]
) -> Iterator[EditKind]:
    """Yield each edit of a query. A query is matched by its id or, if that is new, its request."""
    by_request = {query.request: query for query in suite.queries}
    matched_ids = set()
    for base_query in base_suite.queries:
        query = suite.queries_by_id.get(base_query.id) or by_request.get(base_query.request)
        if query is not None:
            matched_ids.add(query.id)
            yield from _compare_query(base_query, query)
        elif base_query.request in current_requests:
            yield EditKind("query", "moved")
        else:
            yield EditKind("query", "removed")
    for query in suite.queries:
        if query.id not in matched_ids:
            yield EditKind("query", "added")


def _compare_query(base_query: Query, query: Query) -> Iterator[EditKind]:
    if query.request != base_query.request:
        yield EditKind("query", "reworded")
    if query.judgments != base_query.judgments:
        yield EditKind("query", "regraded")
    if query.weight != base_query.weight:
        yield EditKind("weight", "edited")
    yield from _compare_members("rule", base_query.rules, query.rules)
    base_issues = [issue for issue in (base_query.known_issue,) if issue]
    issues = [issue for issue in (query.known_issue,) if issue]
    yield from _compare_members("known issue", base_issues, issues)


def _compare_members(
    noun: str, base_members: Sequence[object], members: Sequence[object]
) -> Iterator[EditKind]:
    """Yield removed and added rules or known issues. An edited one is removed and added."""
    yield from [EditKind(noun, "removed") for member in base_members if member not in members]
    yield from [EditKind(noun, "added") for member in members if member not in base_members]


def _list_shared_rules(suite: Suite) -> list[object]:
    """Return the rules under ``each_query``."""
    return [item.rule for item in suite.items if item.rule and not item.query_id]


def _list_thresholds(suite: Suite) -> dict[tuple[object, ...], Threshold]:
    """Return the thresholds of a suite by their scope and metric."""
    thresholds: dict[tuple[object, ...], Threshold] = {}
    for item in suite.items:
        if item.threshold:
            scope = (item.kind, item.query_id, item.tag, item.is_each_tag)
            thresholds[(*scope, item.threshold.metric)] = item.threshold
    for query in suite.queries:
        for threshold in query.thresholds:
            thresholds[query.id, threshold.metric] = threshold
    return thresholds


def _compare_thresholds(
    base_thresholds: Mapping[tuple[object, ...], Threshold],
    thresholds: Mapping[tuple[object, ...], Threshold],
) -> Iterator[EditKind]:
    for key, base_threshold in base_thresholds.items():
        if key not in thresholds:
            yield EditKind("threshold", "removed")
        elif thresholds[key] != base_threshold:
            yield _classify_edit(base_threshold, thresholds[key])
    yield from [EditKind("threshold", "added") for key in thresholds if key not in base_thresholds]


def _classify_edit(base: Threshold, threshold: Threshold) -> EditKind:
    """Return the edit of a threshold or, if there are several, the most noticeable one."""
    for name in (*CHANGE_BOUNDS, *VALUE_BOUNDS):
        before, now = getattr(base, name), getattr(threshold, name)
        if before and now and before.unit is now.unit and before.value != now.value:
            is_higher = now.value > before.value
            if name in CHANGE_BOUNDS:
                return EditKind("allowed drop", "widened" if is_higher else "narrowed")
            return EditKind("threshold", "raised" if is_higher else "lowered")
    return EditKind("threshold", "edited")


# -- Baselines and files ---------------------------------------------------------------------------


def _add_baseline_and_diff(
    edit: SuiteEdit, suites: Sequence[Suite], current: Branch, base: Branch
) -> SuiteEdit:
    """Add the number of edited baseline answers of a suite, and the diff of its files."""
    import difflib

    edited = set()
    for suite in suites:
        # An answer that only one branch has was added or removed, which is no edit.
        removed_or_edited = find_edited_answers(suite, base, current)
        added_or_edited = find_edited_answers(suite, current, base)
        for request in added_or_edited.keys() & removed_or_edited.keys():
            edited.add((suite.retriever, request))
    counts = dict(edit.counts)
    if edited:
        counts[BASELINE_EDITED] = len(edited)
    paths: dict[str, None] = {}
    for suite in suites:
        paths.update(dict.fromkeys((suite.path, *suite.files)))
    lines: list[str] = []
    for path in paths:
        lines += difflib.unified_diff(
            base.texts.get(path, "").splitlines(),
            current.texts.get(path, "").splitlines(),
            f"a/{path}" if path in base.texts else "/dev/null",
            f"b/{path}" if path in current.texts else "/dev/null",
            lineterm="",
        )
    return replace(edit, counts=counts, diff="\n".join(lines))
