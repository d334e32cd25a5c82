"""Checks of what a suite requires: rules, thresholds, answers to all queries, a known corpus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date

from pytest_irquality.evaluation.comparison import Comparison
from pytest_irquality.evaluation.query_changes import QueryStatus
from pytest_irquality.evaluation.results import CheckResult, Outcome, Requirement
from pytest_irquality.evaluation.threshold_checks import (
    SignificanceTests,
    check_threshold,
    describe_gap,
    list_tags,
)
from pytest_irquality.io.text import (
    CodePart,
    DataPart,
    QueryPart,
    Text,
    format_count,
    list_some,
    write,
)
from pytest_irquality.retrieval.run import Ranking
from pytest_irquality.suite.model import CheckItem, ItemKind, KnownIssue, Query, Threshold
from pytest_irquality.suite.rules import Rule


class RequirementChecks:
    """The checks of everything that a suite requires in so many words.

    Args:
        comparison: The answers.
        today: The date (UTC) on which known issues may have expired, or ``None`` if none does.
        accepts_fixed_issues: Whether a known issue that holds again is no failure.
    """

    def __init__(
        self, comparison: Comparison, today: date | None, *, accepts_fixed_issues: bool = False
    ) -> None:
        self.comparison = comparison
        self.suite = comparison.suite
        self.today = today
        self.accepts_fixed_issues = accepts_fixed_issues
        self._tests = SignificanceTests(comparison)

    def check_all(self) -> Iterator[CheckResult]:
        """Check all requirements, those of queries first."""
        item_names = {}
        for item in self.suite.items:
            if item.kind is ItemKind.QUERY:
                item_names[item.query_id] = item.name
        for query in self.suite.queries:
            if query.rules or query.thresholds:
                yield from self._check_query(query, item_names.get(query.id, ""))
        for item in self.suite.items:
            if item.kind is ItemKind.ANSWERS:
                yield self._check_answers(item)
                yield from self._check_corpus(item)
            elif item.kind is ItemKind.THRESHOLD and item.threshold:
                yield from self._check_thresholds(item.threshold, item)
            elif item.kind is ItemKind.EACH_QUERY and item.rule:
                yield self._check_rule_of_each_query(item.rule, item)
            elif item.kind is ItemKind.EACH_QUERY and item.threshold:
                yield self._check_threshold_of_each_query(item.threshold, item)

    # -- Queries -----------------------------------------------------------------------------------

    def _check_query(self, query: Query, item_name: str) -> Sequence[CheckResult]:
        results = [self._check_rule(rule, query, item_name) for rule in query.rules]
        for threshold in query.thresholds:
            results.append(
                check_threshold(
                    threshold, self.comparison, self._tests, query=query, item=item_name
                )
            )
        if query.known_issue:
            return self._cover(results, query.known_issue)
        return results

    def _check_rule(self, rule: Rule, query: Query, item_name: str) -> CheckResult:
        outcome, text = Outcome.PASSED, Text()
        name = QueryPart(query.id, query.text)
        if query.id not in self.comparison.answers:
            outcome = Outcome.INCOMPLETE
            is_error = self.comparison.statuses[query.id] is QueryStatus.NO_ANSWER
            text = write(name, " has no answer" if is_error else " did not run")
        elif violations := self._find_violations(rule, query):
            outcome, text = Outcome.FAILED, list_some(violations)
        return CheckResult(
            rule,
            self.suite.name,
            outcome,
            text or write(name, f" satisfies '{rule.key}'"),
            label=rule.key,
            item=item_name,
            query_ids=(query.id,),
            doc_ids=rule.doc_ids,
            location=rule.location,
        )

    def _find_violations(self, rule: Rule, query: Query) -> list[Text]:
        """Return how the first repeat that breaks a rule breaks it.

        Every repeat must satisfy a rule, because a user gets one answer, and it may be the bad one.
        """
        repeats = self._get_rankings(rule, query)
        for ranking in repeats:
            violations = rule.find_violations(
                ranking,
                query=query,
                top_k=self.suite.settings.top_k,
                titles=self.comparison.titles,
            )
            if violations:
                return violations
        return []

    def _get_rankings(self, rule: Rule, query: Query) -> Sequence[Ranking]:
        # A passage has no fields, the chunk that contains it has.
        if rule.reads_fields:
            return self.comparison.run.answers[query.request]
        return self.comparison.answers[query.id]

    def _check_rule_of_each_query(self, rule: Rule, item: CheckItem) -> CheckResult:
        """Check a rule of all queries, and report the queries that break it together."""
        broken: list[str] = []
        violations: list[Text] = []
        known_issue = ""
        has_results = False
        for query in self.comparison.answered_queries:
            has_results |= any(ranking.doc_ids for ranking in self._get_rankings(rule, query))
            found = self._find_violations(rule, query)
            if found and query.known_issue and not self._is_expired(query.known_issue):
                known_issue = query.known_issue.id
            elif found:
                broken.append(query.id)
                violations += found
        outcome = Outcome.PASSED
        text = write(f"All {len(self.comparison.answers)} queries satisfy '{rule.key}'")
        gap = describe_gap(self.comparison, self.suite.queries)
        if violations:
            outcome, text = Outcome.FAILED, list_some(violations)
        elif gap or not has_results:
            outcome = Outcome.INCOMPLETE
            text = gap or write(f"'{rule.key}' met no result at all, so it says nothing")
        return CheckResult(
            rule,
            self.suite.name,
            outcome,
            text,
            label=item.label,
            item=item.name,
            query_ids=tuple(broken),
            known_issue="" if broken else known_issue,
            location=rule.location,
        )

    # -- Thresholds --------------------------------------------------------------------------------

    def _check_thresholds(self, threshold: Threshold, item: CheckItem) -> Sequence[CheckResult]:
        """Check a line of thresholds over the suite, a tag or each tag."""
        results = []
        for tag in list_tags(self.comparison, item):
            label = f"{tag} {threshold.metric}" if item.is_each_tag else item.label
            results.append(
                check_threshold(
                    threshold, self.comparison, self._tests, tag=tag, label=label, item=item.name
                )
            )
        if item.is_each_tag:
            # A tag without judgments is not what "each tag" is about, unless no tag has any.
            defined = [result for result in results if result.value is not None]
            results = defined or results[:1]
        if threshold.known_issue:
            return self._cover(results, threshold.known_issue)
        return results

    def _check_threshold_of_each_query(self, threshold: Threshold, item: CheckItem) -> CheckResult:
        """Check a threshold of every query, and report the queries that break it together."""
        results = []
        for query in self.suite.queries:
            is_covered = query.known_issue and not self._is_expired(query.known_issue)
            if not is_covered and not query.expects_no_results:
                results.append(
                    check_threshold(threshold, self.comparison, self._tests, query=query)
                )
        broken = [r for r in results if r.outcome is Outcome.FAILED or r.is_warning]
        # A query without judgments has no value, and the threshold is not about it.
        measured = [r for r in results if r.value is not None]
        gap = describe_gap(self.comparison, self.suite.queries)
        text = write(f"All {len(measured)} queries with a value satisfy '{item.label}'")
        if not broken and (gap or not measured):
            text = gap or write(f"No query has a value of {threshold.metric}")
            gap_result = CheckResult(threshold, self.suite.name, Outcome.INCOMPLETE, text)
            return replace(gap_result, label=item.label, item=item.name)
        if broken:
            text = list_some([result.text for result in broken])
        return replace(
            (broken or measured)[0],
            text=text,
            label=item.label,
            item=item.name,
            query_ids=tuple(query_id for result in broken for query_id in result.query_ids),
            was_evaluated=any(result.was_evaluated for result in measured),
        )

    # -- Known issues ------------------------------------------------------------------------------

    def _cover(self, results: Sequence[CheckResult], issue: KnownIssue) -> Sequence[CheckResult]:
        """Return the results as they count if a known issue covers their failures.

        Once all of them hold, the issue itself fails, as a strict xfail does: if nobody removed it,
        it would hide the next failure.
        """
        is_broken = any(r.outcome is Outcome.FAILED or r.is_warning for r in results)
        if is_broken and self._is_expired(issue):
            return results
        if is_broken:
            covered = []
            for result in results:
                is_failed = result.outcome is Outcome.FAILED
                known = replace(result, outcome=Outcome.PASSED, known_issue=issue.id)
                covered.append(known if is_failed else result)
            return covered
        is_complete = all(result.outcome is Outcome.PASSED for result in results)
        if not results or not is_complete or self.accepts_fixed_issues:
            return results
        text = write("Known issue ", DataPart(issue.id), " is fixed. Remove ")
        text += write(CodePart("known_issue"), " at ", CodePart(str(issue.location)), ".")
        fixed = replace(
            results[0],
            outcome=Outcome.FAILED,
            text=text,
            known_issue=issue.id,
            location=issue.location,
        )
        return [fixed, *results[1:]]

    def _is_expired(self, issue: KnownIssue) -> bool:
        return is_expired(issue, self.today)

    # -- Answers and corpus ------------------------------------------------------------------------

    def _check_answers(self, item: CheckItem) -> CheckResult:
        unanswered = self.comparison.list_query_ids(QueryStatus.NO_ANSWER)
        allowed = self.suite.settings.max_errors
        outcome = Outcome.PASSED
        text = write("Every query has an answer")
        if unanswered:
            text = write(format_count(len(unanswered), "query has", "queries have"), " no answer")
            text += f", and 'errors' allows {allowed}" if allowed else ""
        gap = describe_gap(self.comparison, self.suite.queries)
        if len(unanswered) > allowed:
            outcome = Outcome.FAILED
        elif gap:
            outcome, text = Outcome.INCOMPLETE, gap
        return CheckResult(
            Requirement.ANSWERS,
            self.suite.name,
            outcome,
            text,
            label=item.label,
            item=item.name,
            value=len(unanswered),
            bound=allowed,
            query_ids=unanswered,
            location=item.location,
        )

    def _check_corpus(self, item: CheckItem) -> Iterator[CheckResult]:
        """Check that every relevant passage is in the corpus, if texts of it are known."""
        corpus = self.comparison.corpus
        if corpus is None or self.suite.settings.match != "text":
            return
        missing: dict[str, str] = {}
        for query in self.suite.queries:
            for passage in sorted(query.judgments.relevant):
                if corpus.find_chunk(passage) is None:
                    missing[passage] = query.id
        is_warning = bool(missing) and self.suite.settings.corpus.missing == "warn"
        text = write("Every relevant passage is in the corpus")
        if missing:
            count = format_count(len(missing), "relevant passage is", "relevant passages are")
            text = write(count, " not in the corpus (", list_some(map(DataPart, missing)), ")")
        yield CheckResult(
            Requirement.CORPUS,
            self.suite.name,
            Outcome.FAILED if missing and not is_warning else Outcome.PASSED,
            text,
            label="corpus",
            item=item.name,
            value=len(missing),
            bound=0,
            query_ids=tuple(dict.fromkeys(missing.values())),
            doc_ids=tuple(missing),
            is_warning=is_warning,
        )


def is_expired(issue: KnownIssue, today: date | None) -> bool:
    """Return whether the last day of a known issue has passed."""
    return issue.until is not None and today is not None and today > issue.until
