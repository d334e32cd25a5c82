"""The sentences of a report: its headline, its summary, its last paragraph, and what to do next."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from pytest_irquality.baselines.store import get_baseline_path
from pytest_irquality.evaluation.comparison import MetricChange, QueryStatus
from pytest_irquality.evaluation.decide import Decision
from pytest_irquality.evaluation.edits import BASELINE_EDITED, SuiteEdit, summarize_edits
from pytest_irquality.evaluation.results import (
    Check,
    CheckResult,
    DefaultCheck,
    Notice,
    NoticeCode,
    Outcome,
    Requirement,
)
from pytest_irquality.evaluation.statistics import format_p_value
from pytest_irquality.io import dataclass
from pytest_irquality.io.escaping import quote_command
from pytest_irquality.io.text import DataPart, QueryPart, Text, format_count, join, list_some, write
from pytest_irquality.reports.query_rows import Direction, QueryRow, choose_names
from pytest_irquality.reports.tiles import format_value
from pytest_irquality.reports.view_model import Step, SuiteView, ViewSettings, find_label
from pytest_irquality.suite.model import Threshold

# Notices that make every number of a report misleading.
ROOT_CAUSES = frozenset(
    {NoticeCode.UNKNOWN_DOCUMENT_IDS, NoticeCode.CHANGED_DOCUMENT_IDS, NoticeCode.EQUAL_ANSWERS}
)

UPDATE_NOTICES = frozenset({NoticeCode.STALE_BASELINE, "missing-baseline"})
MAX_NAMED_SUITES = 5
MAX_NAMED_FAILURES = 2
MAX_NAMED_LOST = 2
MAX_NAMED_CHECKS = 20
MIN_NEWLY_EMPTY = 2
# The damage of a tag is worth a sentence if its mean fell visibly.
MIN_NAMED_DROP = 0.01
MIN_DROP_RATIO = 1.5  # of the tag to the suite, or the tag explains nothing
MAX_NAMED_P_VALUE = 0.5  # the mean rose if it is higher
MIN_SPREAD = 0.0005
MAX_REASONS = 3
MAX_STEPS = 3
MAX_NODES = 3
MAX_FILES = 8


@dataclass(frozen=True)
class Headline:
    """One sentence that says how the build ended, with the size of it.

    Attributes:
        subject: The suite that the sentence is about, if the build has several.
        sentence: The sentence, worded to follow the subject.
        counts_changes: Whether the sentence says how many queries got worse or better.
        check: The default check of which the sentence says everything.
    """

    sentence: Text
    subject: str = ""
    separator: str = ": "
    counts_changes: bool = False
    check: DefaultCheck | None = None

    @property
    def text(self) -> Text:
        """Return the sentence with its subject, or with a capital letter."""
        if self.subject:
            return write(DataPart(self.subject), self.separator, self.sentence)
        first, *others = self.sentence.parts
        # The name of a metric stays as it is.
        if isinstance(first, str) and first.partition(" ")[0].isalpha():
            return Text((first[0].upper() + first[1:], *others))
        return self.sentence


# -- The headline ----------------------------------------------------------------------------------


def write_headline(
    decision: Decision, suites: Sequence[SuiteView], causes: Sequence[Notice]
) -> Headline:
    """Write the headline of a build."""
    outcome = decision.outcome
    for cause in causes:
        if _leads(cause, decision):
            if cause.code == NoticeCode.NO_ANSWER:
                # The causes below list queries and errors, which are too long for a headline.
                return Headline(_count_unanswered(decision))
            return _quote_finding(cause, suites)
    if outcome is Outcome.PASSED:
        return _write_passed_headline(decision, suites)
    if outcome is Outcome.REVIEW and decision.base_failures:
        return _write_review_headline(decision, suites)
    if outcome is Outcome.FAILED:
        return _write_failed_headline(decision, suites)
    findings: list[Notice | CheckResult] = [*_list_decisive_notices(decision)]
    findings += [result for result in decision.current.results if result.outcome is outcome]
    if findings:
        return _quote_finding(findings[0], suites)
    return Headline(write("Nothing was evaluated"))


def _leads(cause: Notice, decision: Decision) -> bool:
    """Return whether a cause explains the build better than any number does."""
    if cause.code in ROOT_CAUSES:
        return True
    if cause.code == NoticeCode.NO_ANSWER:
        # A failed check over the other queries says more. A mean over fewer queries does not.
        for result in _list_failures(decision):
            is_mean = isinstance(result.check, Threshold) and not _depends_on_baseline(result)
            if not is_mean and result.check is not Requirement.ANSWERS:
                return False
    is_decisive = cause.is_cause and cause.outcome is decision.outcome
    return is_decisive and decision.outcome is not Outcome.PASSED


def _write_failed_headline(decision: Decision, suites: Sequence[SuiteView]) -> Headline:
    failures = _list_failures(decision)
    rows = collect_rows(suites)
    if failures and all(result.known_issue_id for result in failures):
        return _write_fixed_headline(failures, suites)
    comparing = [result for result in failures if _compares(result.check)]
    worse = count_direction(rows, Direction.WORSE)
    empty = sum(row.is_newly_empty for row in rows)
    lost = [result for result in comparing if result.check is DefaultCheck.LOST_QUERIES]
    lost_queries = _name_queries(lost, suites)
    is_few = 0 < len(lost_queries) <= MAX_NAMED_LOST and empty < MIN_NEWLY_EMPTY
    if is_few and len(lost) == len(comparing):
        whose = "its" if len(lost_queries) == 1 else "their"
        sentence = write(join(lost_queries, " and "), f" lost all {whose} relevant documents")
        return Headline(sentence, check=DefaultCheck.LOST_QUERIES)
    if 2 * len(lost_queries) > worse and empty < MIN_NEWLY_EMPTY:
        text = write(f"{_of_queries(len(lost_queries), rows)} lost all their relevant documents")
        return Headline(text)
    if worse and comparing:
        text = _write_change("worse", _of_queries(worse, rows), rows)
        if empty >= MIN_NEWLY_EMPTY:
            text += f", and {empty} queries now return nothing"
        return Headline(text, counts_changes=True)
    if any(result.check is DefaultCheck.UNRECOGNIZABLE for result in failures):
        described = _describe_first_results(list_ungraded(rows))
        return Headline(write(described), counts_changes=True, check=DefaultCheck.UNRECOGNIZABLE)
    if len(failures) == 1:
        return _quote_finding(failures[0], suites)
    return Headline(_count_failures(decision))


def _write_review_headline(decision: Decision, suites: Sequence[SuiteView]) -> Headline:
    """Say what the change accepts that the base branch would not."""
    rows = collect_rows(suites)
    worse = count_direction(rows, Direction.WORSE)
    if not worse:
        return Headline(_count_base_failures(decision) + ", but this branch's suites pass")
    accept = "new baseline accepts" if _edits_only_baselines(decision.edits) else "suites accept"
    change = _write_change("worse", _of_queries(worse, rows), rows)
    text = write(change, f", which this branch's {accept}, unlike ", DataPart(decision.base_name))
    return Headline(text + "'s", counts_changes=True)


def _write_fixed_headline(fixed: Sequence[CheckResult], suites: Sequence[SuiteView]) -> Headline:
    """Say that known issues are fixed, which fails a build until somebody removes them."""
    issues = [DataPart(issue) for issue in dict.fromkeys(result.known_issue_id for result in fixed)]
    text = write("Known issues ", list_some(issues), " are fixed")
    if len(issues) == 1:
        text = write("Known issue ", issues[0], " is fixed")
    queries = _name_queries(fixed, suites)
    return Headline(write(text, " for ", list_some(queries)) if queries else text)


def _write_passed_headline(decision: Decision, suites: Sequence[SuiteView]) -> Headline:
    rows = collect_rows(suites)
    worse = count_direction(rows, Direction.WORSE)
    better = count_direction(rows, Direction.BETTER)
    ungraded = list_ungraded(rows)
    spreads = [_find_spread(suite) for suite in suites]
    if (better or worse) and all(spread and spread.is_within_baseline for spread in spreads):
        return Headline(write("No change beyond the variation of the engine's own answers"))
    if better:
        text = _write_change("better", _of_queries(better, rows), rows)
        text += f" and worse for {worse}" if worse else ""
        return Headline(text, counts_changes=True)
    if worse:
        text = _write_change("worse", _of_queries(worse, rows), rows)
        is_update = decision.facts.is_update
        text += ", which the new baseline accepts" if is_update else ", and no check failed"
        return Headline(text, counts_changes=True)
    if any(row.direction is Direction.CHANGED for row in ungraded):
        return Headline(write(_describe_first_results(ungraded)))
    count = str(_count_evaluated(decision))
    if any(row.direction is not Direction.NONE for row in rows):
        return Headline(write(f"No query got worse or better, and {count}"))
    return Headline(write(count))


def _find_spread(suite: SuiteView) -> MetricChange | None:
    """Return the primary metric of a suite if the baseline's own repeats vary."""
    score = suite.evaluation.comparison.compare_means(suite.evaluation.suite.primary_metric)
    has_spread = score and score.highest_before - score.lowest_before >= MIN_SPREAD
    return score if has_spread else None


def _quote_finding(item: Notice | CheckResult, suites: Sequence[SuiteView]) -> Headline:
    if isinstance(item, Notice) and item.code == NoticeCode.CANNOT_BE_USED:
        # The mistakes in a file are too long for a headline.
        return Headline(write("cannot be used"), item.subject, separator=" ")
    return Headline(item.text, find_label(suites, item))


# -- What is next to the headline ------------------------------------------------------------------


def write_summary(decision: Decision, suites: Sequence[SuiteView], headline: Headline) -> Text:
    """Write what else matters: the most damaged tag, what improved, and the significance."""
    rows = collect_rows(suites)
    worse = count_direction(rows, Direction.WORSE)
    better = count_direction(rows, Direction.BETTER)
    is_passed = decision.outcome is Outcome.PASSED
    sentences = [*_write_gap_sentences(decision, headline)]
    if decision.outcome is Outcome.REVIEW and decision.base_failures and headline.counts_changes:
        sentences.append(_count_base_failures(decision) + ".")
    if worse and not headline.counts_changes:
        sentences.append(_write_change("worse", _of_queries(worse, rows), rows) + ".")
    for notice in decision.current.notices:
        if notice.code == NoticeCode.PASSAGES and len(suites) == 1:
            sentences.append(notice.text + ".")
    if worse and not is_passed:
        sentences += _write_tag_sentence(suites)
    if better and not (is_passed and headline.counts_changes):
        verb = "got" if choose_names(rows).is_one_search else "are"
        sentences.append(write(f"{_count_queries(better)} {verb} better."))
    ungraded_firsts = _count_ungraded_firsts(rows)
    if ungraded_firsts and not is_passed:
        share = f"{_count_queries(ungraded_firsts)} that got worse"
        sentences.append(write(f"A new result that nobody has graded is first for {share}."))
    sentences += _write_unshared_sentences(rows)
    sentences += _write_repeat_sentence(suites)
    if worse:
        sentences += _write_significance(decision)
    sentences += _write_ungraded_sentence(rows)
    if any(result.known_issue_id for result in _list_failures(decision)):
        sentences.append(write("The build fails until 'known_issue' is removed."))
    if _needs_baseline(decision) and decision.coverage.new == decision.coverage.total:
        sentences.append(write("Nothing was compared, because there is no baseline yet."))
    warned = sum(result.is_warning for result in decision.current.results)
    if is_passed and warned and not decision.facts.is_update:
        warns = format_count(warned, "failing check only warns", "failing checks only warn")
        sentences.append(write(f"{warns}."))
    return join(sentences, " ")


def _write_gap_sentences(decision: Decision, headline: Headline) -> list[Text]:
    """Say what was not answered and not run, unless the headline is about that."""
    coverage = decision.coverage
    sentences = []
    if coverage.no_answer and headline.counts_changes:
        count = format_count(coverage.no_answer, "query has", "queries have")
        sentences.append(write(f"{count} no answer."))
    if coverage.not_run and headline.counts_changes:
        sentences.append(write(f"{_count_queries(coverage.not_run)} did not run."))
    return sentences


def _write_tag_sentence(suites: Sequence[SuiteView]) -> list[Text]:
    """Name the tag whose queries lost most, if they lost clearly more than all queries."""
    drops = []
    for suite in suites:
        of_suite = suite.primary.improvement if suite.primary else 0.0
        for tag in suite.tags:
            is_named = tag.improvement < min(MIN_DROP_RATIO * of_suite, -MIN_NAMED_DROP)
            if is_named and tag.query_count > 1:
                drops.append((suite, tag.tiles[0]))
    if not drops:
        return []
    suite, tile = min(drops, key=lambda drop: drop[1].improvement)
    where = write(" of ", DataPart(suite.label)) if len(suites) > 1 else Text()
    values = write(f" lost most: their {tile.metric} fell from {tile.baseline} to {tile.compared}.")
    baseline = suite.evaluation.comparison.compared_search
    if baseline:
        values = write(f" are worst: their {tile.metric} is {tile.compared}, and {tile.baseline}")
        values += write(" with ", DataPart(baseline), ".")
    return [write("Queries tagged '", DataPart(tile.tag), "'", where, values)]


def _write_unshared_sentences(rows: Sequence[QueryRow]) -> Iterator[Text]:
    """Name the queries for which only one of two searches finds relevant documents."""
    for side in ("before", "now"):
        unshared = [row for row in rows if row.only_found_by == side]
        if unshared:
            name = getattr(choose_names(unshared), side)
            queries = list_some([row.query.part for row in unshared])
            yield write("Only ", DataPart(name), " finds relevant documents for ", queries, ".")


def _write_significance(decision: Decision) -> list[Text]:
    side = decision.current
    if decision.outcome is Outcome.REVIEW and decision.base:
        side = decision.base
    tests = []
    for result in side.results:
        if result.check is DefaultCheck.SIGNIFICANT_DROP and result.value is not None:
            # An update of the baseline turns the failure into a warning.
            is_failure = result.outcome is Outcome.FAILED or result.is_warning
            tests.append((not is_failure, result.value))
    if not tests:
        return []
    # A failed test explains the outcome, whichever p-value is smaller.
    is_insignificant, value = min(tests)
    if is_insignificant and value > MAX_NAMED_P_VALUE:
        return []
    p_value = format_p_value(value)
    if not is_insignificant:
        text = f"The drop is statistically significant ({p_value})."
    elif decision.outcome is Outcome.FAILED:
        text = f"The drop in the mean alone is not statistically significant ({p_value}), and the"
        text += " failure does not depend on it."
    else:
        text = f"No drop is statistically significant ({p_value})."
    return [write(text)]


def _write_repeat_sentence(suites: Sequence[SuiteView]) -> list[Text]:
    """Say how far the baseline's own answers differ from one another, if it has repeats."""
    for suite in suites:
        score = _find_spread(suite)
        if score:
            lowest = format_value(score.metric, score.lowest_before)
            highest = format_value(score.metric, score.highest_before)
            where = write(" of ", DataPart(suite.label)) if len(suites) > 1 else Text()
            span = f" is {format_value(score.metric, score.now)}, and {lowest} to {highest}"
            return [write(str(score.metric), where, span, " in the repeats of the baseline.")]
    return []


def _write_ungraded_sentence(rows: Sequence[QueryRow]) -> list[Text]:
    """Say how much of the rankings without judgments stayed, in words instead of a metric."""
    ungraded = list_ungraded(rows)
    changed = count_direction(ungraded, Direction.CHANGED)
    if not changed:
        return []
    kept = sum(row.overlap for row in ungraded) / len(ungraded)
    text = f"{changed:,} of {len(ungraded):,} rankings differ. On average, "
    return [write(text + f"{kept * 100:.0f}% of the first ten results are the same.")]


def write_reasons(
    decision: Decision, suites: Sequence[SuiteView], headline: Headline
) -> tuple[Text, ...]:
    """Write what failed besides the headline and the tiles: default checks and broken rules."""
    reasons = []
    rules = []
    for result in _list_failures(decision):
        is_on_tile = result.check is DefaultCheck.SIGNIFICANT_DROP
        is_on_tile |= isinstance(result.check, Threshold) and not result.query_ids
        if result.known_issue_id or is_on_tile or result.check is headline.check:
            continue
        if isinstance(result.check, DefaultCheck):
            reasons.append(result)
        elif result.check is not Requirement.ANSWERS:
            rules.append(result)
    texts = [*_name_deselected_checks(decision)]
    for result in (*reasons, *(rules if len(rules) < MAX_REASONS else ())):
        label = find_label(suites, result)
        texts.append(write(DataPart(label), ": ", result.text) if label else result.text)
    if len(rules) >= MAX_REASONS:
        queries = _name_queries(rules, suites)
        count = format_count(len(queries), "query breaks its rules", "queries break their rules")
        texts.append(write(count, ": ", list_some(queries)))
    return tuple(text for text in texts if text != headline.sentence)


def _name_deselected_checks(decision: Decision) -> Iterator[Text]:
    """Name the checks that 'addopts' leaves out."""
    branch = decision.current.branch
    names: list[DataPart | QueryPart] = []
    for suite in branch.suites if decision.facts.addopts_deselected_count else ():
        selected = branch.get_context(suite).selected_items
        for item in suite.items:
            if selected is not None and item.name not in selected:
                query = suite.queries_by_id.get(item.query_id)
                names.append(query.part if query else DataPart(item.label))
    if names:
        yield write("Not run: ", list_some(names, MAX_NAMED_CHECKS))


def _name_queries(results: Iterable[CheckResult], suites: Sequence[SuiteView]) -> list[Text]:
    """Return the queries that results name, once each."""
    queries = {suite.path: suite.evaluation.suite.queries_by_id for suite in suites}
    named: dict[QueryPart, None] = {}
    for result in results:
        for query_id in result.query_ids:
            if query_id in queries.get(result.suite_path, ()):
                named[queries[result.suite_path][query_id].part] = None
    return [write(part) for part in named]


def write_suite_line(rows: Sequence[QueryRow]) -> Text:
    """Write how the queries of one suite changed."""
    parts = []
    worse = count_direction(rows, Direction.WORSE)
    better = count_direction(rows, Direction.BETTER)
    graded = sum(row.change is not None for row in rows)
    ungraded = list_ungraded(rows)
    if worse or better:
        parts.append(f"{worse} of {_count_queries(graded)} worse, {better} better")
    elif graded:
        parts.append(f"{_count_queries(graded)} unchanged")
    if ungraded:
        parts.append(_describe_first_results(ungraded))
    for status, count in Counter(row.status for row in rows).items():
        if status is not QueryStatus.COMPARED:
            parts.append(f"{count} {status.value}")
    return write("; ".join(parts) or "no queries")


# -- The last paragraph ----------------------------------------------------------------------------


def write_last_paragraph(
    decision: Decision, suites: Sequence[SuiteView], headline: Headline, coverage_line: Text
) -> Text:
    """Write the conclusion: outcome, suites concerned, coverage, and what is out of date."""
    outcome = decision.outcome
    parts: list[Text] = []
    if outcome is Outcome.FAILED:
        parts.append(_count_failures(decision))
    elif outcome is Outcome.PASSED:
        parts.append(_count_evaluated(decision))
    else:
        parts.append(_drop_period(headline.sentence))
    if outcome is Outcome.REVIEW and decision.base_failures:
        labels = [DataPart(failure.label) for failure in sort_base_failures(decision)]
        failing = list_some(labels, MAX_NAMED_FAILURES)
        parts.append(write("failing for ", DataPart(decision.base_name), ": ", failing))
    parts.append(coverage_line)
    # What readers must see even if they read nothing above.
    for notice in decision.notices:
        if notice.code == NoticeCode.STALE_BASELINE and notice.text != headline.sentence:
            parts.append(notice.text)
    parts.append(summarize_edits(edit for edit in decision.edits if edit.texts))
    if decision.exit_status:
        parts.append(decision.gate_source)
    conclusion = join([part for part in parts if part], "; ")
    return write(_name_outcome(decision, suites, MAX_NAMED_SUITES), conclusion)


def write_quiet_line(
    decision: Decision, suites: Sequence[SuiteView], headline: Headline, coverage_line: Text
) -> Text:
    """Write the conclusion in one short line for ``-q``."""
    sentence = _drop_period(headline.sentence)
    return write(_name_outcome(decision, suites, 2), sentence, "; ", coverage_line)


def sort_base_failures(decision: Decision) -> list[CheckResult]:
    """Return the failed checks of the base branch, with those over many queries first."""
    return sorted(decision.base_failures, key=lambda failure: failure.value is None)


def _drop_period(sentence: Text) -> Text:
    """Return a sentence to be followed by a semicolon."""
    *parts, last = sentence.parts
    return Text((*parts, last.removesuffix("."))) if isinstance(last, str) else sentence


def _name_outcome(decision: Decision, suites: Sequence[SuiteView], limit: int) -> Text:
    """Write the outcome and the suites that it is about, to be followed by the conclusion."""
    subjects = _list_subjects(decision, suites)
    names = write(list_some(subjects, limit), ": ") if subjects else Text()
    return write(decision.outcome.name, " ", names)


def _list_subjects(decision: Decision, suites: Sequence[SuiteView]) -> list[Text]:
    """Return the suites that the outcome is about, or all if it is about none of them."""
    names: dict[str, None] = {}
    if decision.outcome is not Outcome.PASSED:
        names = {suite.name: None for suite in suites if suite.outcome is decision.outcome}
        findings: list[Notice | CheckResult] = [*_list_decisive_notices(decision)]
        findings += decision.base_failures
        # The subject of a check that suites share is a list of them.
        names |= {finding.subject: None for finding in findings if finding.suite_path}
    names = names or dict.fromkeys(suite.name for suite in suites)
    paths = {suite.name: suite.path for suite in suites}
    if len(names) > 1:
        return [write(DataPart(name)) for name in names]
    for name in names:
        path = paths.get(name, name)
        text = write(DataPart(name))
        return [text if path in ("", name) else write(text, " (", DataPart(path), ")")]
    return []


# -- What sentences count --------------------------------------------------------------------------


def collect_rows(suites: Sequence[SuiteView]) -> list[QueryRow]:
    """Return the rows of all suites."""
    return list(chain.from_iterable(suite.rows for suite in suites))


def count_direction(rows: Sequence[QueryRow], direction: Direction) -> int:
    """Count the queries that changed in a direction."""
    return sum(row.direction is direction for row in rows)


def _count_ungraded_firsts(rows: Sequence[QueryRow]) -> int:
    """Count the queries with an ungraded new first result, if most that got worse have one."""
    count = sum(row.has_ungraded_first_hit for row in rows)
    return count if 2 * count > count_direction(rows, Direction.WORSE) else 0


def list_ungraded(rows: Sequence[QueryRow]) -> list[QueryRow]:
    """Return the compared queries whose metric is undefined, for which only changes are known."""
    return [row for row in rows if row.direction is not Direction.NONE and row.change is None]


def _write_change(direction: str, count: str, rows: Sequence[QueryRow]) -> Text:
    """Write for how many queries the search is worse or better, than before or than another one."""
    names = choose_names(rows)
    if names.is_one_search:
        return write(f"Search got {direction} for {count}")
    now, before = DataPart(names.now), DataPart(names.before)
    return write(now, f" is {direction} than ", before, f" for {count}")


def _describe_first_results(rows: Sequence[QueryRow]) -> str:
    changed = sum(row.is_first_hit_new for row in rows)
    verb = "changed" if choose_names(rows).is_one_search else "differs"
    return f"the first result {verb} for {changed} of {_count_queries(len(rows))}"


def _of_queries(count: int, rows: Sequence[QueryRow]) -> str:
    compared = sum(row.direction is not Direction.NONE for row in rows)
    return f"{count:,} of {_count_queries(compared)}"


def _count_queries(number: int) -> str:
    return format_count(number, "query", "queries")


def _count_unanswered(decision: Decision) -> Text:
    coverage = decision.coverage
    if coverage.no_answer == coverage.total:
        return write("No query got an answer")
    return write(f"{coverage.no_answer:,} of {_count_queries(coverage.total)} got no answer")


def _count_base_failures(decision: Decision) -> Text:
    count = format_count(len(decision.base_failures), "check")
    verb = "fails" if len(decision.base_failures) == 1 else "fail"
    return write(count, " of ", DataPart(decision.base_name), f" {verb}")


def _edits_only_baselines(edits: Sequence[SuiteEdit]) -> bool:
    kinds = {kind for edit in edits for kind in edit.counts}
    return kinds == {BASELINE_EDITED} and not any(edit.details for edit in edits)


def _count_failures(decision: Decision) -> Text:
    failed = len(_list_failures(decision))
    evaluated = _count_evaluated_checks(decision.current.results)
    if not failed and decision.coverage.no_answer:
        return _count_unanswered(decision)
    return write(f"{failed:,} of {format_count(evaluated, 'check')} failed")


def _count_evaluated(decision: Decision) -> Text:
    count = _count_evaluated_checks(decision.current.results)
    if not count:
        return write("no check was evaluated")
    return write("1 check passed" if count == 1 else f"all {count:,} checks passed")


def _count_evaluated_checks(results: Sequence[CheckResult]) -> int:
    evaluated = [result for result in results if result.outcome is not Outcome.INCOMPLETE]
    return sum(result.could_fail for result in evaluated)


def _needs_baseline(decision: Decision) -> bool:
    """Return whether any suite can have a baseline, which suites of probes cannot."""
    return any(evaluation.suite.has_stored_baseline for evaluation in decision.current.evaluations)


def _list_failures(decision: Decision) -> list[CheckResult]:
    return [result for result in decision.current.results if result.outcome is Outcome.FAILED]


def _list_decisive_notices(decision: Decision) -> list[Notice]:
    """Return the notices that alone would give the outcome of the build."""
    notices = [*decision.notices, *decision.current.notices]
    return [notice for notice in notices if notice.outcome is decision.outcome]


def _compares(check: Check) -> bool:
    if isinstance(check, Threshold):
        return check.compares
    return isinstance(check, DefaultCheck) and check is not DefaultCheck.UNRECOGNIZABLE


# -- Next steps ------------------------------------------------------------------------------------


def suggest_next_steps(
    decision: Decision,
    suites: Sequence[SuiteView],
    causes: Sequence[Notice],
    settings: ViewSettings,
) -> tuple[Step, ...]:
    """Suggest at most three steps, most helpful first."""
    steps: dict[str, Step] = {}
    if _count_ungraded_firsts(collect_rows(suites)):
        for notice in decision.current.notices:
            if notice.code == NoticeCode.UNJUDGED_RESULTS:
                steps[str(notice.next_step)] = Step(notice.next_step)
    for step in _iter_steps(decision, causes, settings):
        steps.setdefault(str(step.text), step)
    return tuple(steps.values())[:MAX_STEPS]


def create_node_id(settings: ViewSettings, suite_path: str, retriever: str, item: str = "") -> str:
    """Create the node id of an item, or the path of the suite without one, to type in a command."""
    # Suites are named relative to the root of the project, and commands are typed elsewhere.
    path = posixpath.relpath(suite_path, settings.folder or ".")
    if not item:
        return path
    return f"{path}::{item}{settings.node_suffixes.get((suite_path, retriever), '')}"


def _iter_steps(
    decision: Decision, causes: Sequence[Notice], settings: ViewSettings
) -> Iterator[Step]:
    failures = _list_failures(decision)
    if decision.outcome is Outcome.REVIEW:
        yield from _suggest_review(decision)
    if decision.coverage.no_answer:
        yield Step(write("Check that the search engine is running and reachable"))
    can_fail = True
    for notice in causes:
        # A suite cannot be used either if its saved run is at fault.
        if notice.code == NoticeCode.CANNOT_BE_USED and "--ir-runs" not in str(notice.text):
            yield Step(write("Correct this file"), location=notice.suite_path)
        # To grade results may turn the outcome, but the search comes first.
        if notice.next_step and notice.code != NoticeCode.UNJUDGED_RESULTS:
            can_fail = can_fail and notice.code != NoticeCode.NOTHING_CAN_FAIL
            yield _follow_notice(notice, decision, settings)
    for result in failures:
        if result.known_issue_id:
            issue = result.known_issue_id
            yield Step(write(f"Remove 'known_issue' ({issue})"), location=str(result.location))
    if failures:
        yield _suggest_rerun(failures, settings)
        if not any(each.comparison.compared_search for each in decision.current.evaluations):
            yield from _suggest_acceptance(failures, settings)
    is_compared = decision.coverage.comparable or decision.facts.is_update
    if _needs_baseline(decision) and can_fail and not is_compared:
        text = write("Record a baseline to compare later changes with, and commit it")
        yield Step(text, command=quote_command(settings.update_command))
    for notice in (*decision.notices, *decision.current.notices):
        if notice.next_step:
            yield _follow_notice(notice, decision, settings)


def _follow_notice(notice: Notice, decision: Decision, settings: ViewSettings) -> Step:
    """Return the step of a notice, with the command if it is to update the baseline."""
    is_first_run = notice.code == NoticeCode.NOTHING_CAN_FAIL and not decision.coverage.comparable
    is_update = is_first_run or notice.code in UPDATE_NOTICES
    return Step(notice.next_step, quote_command(settings.update_command) if is_update else "")


def _suggest_review(decision: Decision) -> Iterator[Step]:
    for edit in decision.edits:
        if _edits_only_baselines([edit]):
            text = write("Review the new baseline, because merging this change accepts it")
            yield Step(text, location=get_baseline_path(edit.path))
            return
        if not edit.is_added:
            text = write("Review the edits to this suite, because merging this change accepts them")
            yield Step(text, location=edit.path)
            return
    yield Step(write("Review the checks above, because merging this change accepts their failures"))


def _suggest_rerun(failures: Sequence[CheckResult], settings: ViewSettings) -> Step:
    targets = _list_suite_paths(failures, settings)
    if all(result.item for result in failures):
        nodes: dict[str, None] = {}
        for result in failures:
            retriever = str(result.retriever or "")
            nodes[create_node_id(settings, result.suite_path, retriever, result.item)] = None
        targets = list(nodes) if len(nodes) <= MAX_NODES else targets
    return Step(write("Rerun what failed"), command=quote_command(settings.command, targets))


def _suggest_acceptance(failures: Sequence[CheckResult], settings: ViewSettings) -> Iterator[Step]:
    """Suggest a new baseline if it makes most failed checks pass."""
    accepted = [result for result in failures if _depends_on_baseline(result)]
    others = len(failures) - len(accepted)
    if not accepted or others > len(accepted):
        return
    text = "Or accept the new rankings, and commit the baseline"
    if others:
        text += f" ({format_count(others, 'other failure')} will stay)"
    targets = _list_suite_paths(accepted, settings)
    yield Step(write(text), command=quote_command(settings.update_command, targets))


def _list_suite_paths(results: Sequence[CheckResult], settings: ViewSettings) -> list[str]:
    """Return the suites of results to type in a command, or none if it is shorter to run all."""
    paths = dict.fromkeys(result.suite_path for result in results)
    if "" in paths or len(paths) > MAX_FILES:
        return []
    return [create_node_id(settings, path, "") for path in paths]


def _depends_on_baseline(result: CheckResult) -> bool:
    if isinstance(result.check, DefaultCheck):
        return True
    if not isinstance(result.check, Threshold) or not result.check.compares:
        return False
    threshold = result.check
    is_below = threshold.min is not None and result.bound == threshold.min.value
    is_above = threshold.max is not None and result.bound == threshold.max.value
    return not is_below and not is_above
