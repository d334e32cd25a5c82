"""Checks of what a suite requires: rules, thresholds, answers to all queries, a known corpus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date

from pytest_irquality.evaluation.comparison import Comparison, QueryStatus
from pytest_irquality.evaluation.results import CheckResult, Outcome, Requirement
from pytest_irquality.evaluation.threshold_checks import (
    SignificanceTests,
    check_threshold,
    list_tags,
)
from pytest_irquality.io.text import CodePart, DataPart, QueryPart, Text, list_some, write
from pytest_irquality.retrieval.run import Ranking
from pytest_irquality.suite.model import CheckItem, ItemKind, KnownIssue, Query
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
                yield from self._check_thresholds(item)
            elif item.kind is ItemKind.EACH_QUERY and item.rule:
                yield self._check_rule_of_each_query(item.rule, item)
            elif item.kind is ItemKind.EACH_QUERY and item.threshold:
                yield self._check_threshold_of_each_query(item)

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
        name = QueryPart(query.id, query.text)
        outcome = Outcome.PASSED
        text = write(name, f" satisfies '{rule.key}'")
        violations: list[Text] = []
        if query.id in self.comparison.answers:
            violations = self._find_violations(rule, query)
        else:
            outcome = Outcome.INCOMPLETE
            is_error = self.comparison.statuses[query.id] is QueryStatus.NO_ANSWER
            text = write(name, " has no answer" if is_error else " did not run")
        if violations:
            outcome = Outcome.FAILED
            text = list_some(violations)
        return CheckResult(
            check=rule,
            subject=self.suite.name,
            outcome=outcome,
            text=text,
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
        unanswered = len(self.suite.queries) - len(self.comparison.answers)
        outcome = Outcome.PASSED
        text = write(f"All {len(self.comparison.answers)} queries satisfy '{rule.key}'")
        if violations:
            outcome, text = Outcome.FAILED, list_some(violations)
        elif unanswered:
            outcome = Outcome.INCOMPLETE
            text = write(
                f"{unanswered} queries have no answer that '{rule.key}' could be checked on"
            )
        elif not has_results:
            outcome = Outcome.INCOMPLETE
            text = write(f"'{rule.key}' met no result at all, so it says nothing")
        return CheckResult(
            check=rule,
            subject=self.suite.name,
            outcome=outcome,
            text=text,
            label=item.label,
            item=item.name,
            query_ids=tuple(broken),
            known_issue=known_issue if not broken else "",
            location=rule.location,
        )

    # -- Thresholds --------------------------------------------------------------------------------

    def _check_thresholds(self, item: CheckItem) -> Sequence[CheckResult]:
        """Check a line of thresholds over the suite, a tag or each tag."""
        threshold = item.threshold
        if threshold is None:
            return ()
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

    def _check_threshold_of_each_query(self, item: CheckItem) -> CheckResult:
        """Check a threshold of every query, and report the queries that break it together."""
        threshold = item.threshold
        assert threshold is not None
        results = []
        for query in self.suite.queries:
            if query.known_issue is None or self._is_expired(query.known_issue):
                results.append(
                    check_threshold(threshold, self.comparison, self._tests, query=query)
                )
        broken = [r for r in results if r.outcome is Outcome.FAILED or r.is_warning]
        # A query without judgments has no value, and the threshold is not about it.
        measured = [r for r in results if r.value is not None]
        unanswered = len(self.suite.queries) - len(self.comparison.answers)
        worst = Outcome.PASSED
        text = write(f"All {len(measured)} queries satisfy '{item.label}'")
        if broken:
            worst = max(result.outcome for result in broken)
            text = list_some([result.text for result in broken])
        elif unanswered or not measured:
            worst = Outcome.INCOMPLETE
            text = write(f"{unanswered or 'All'} queries have no value of {threshold.metric}")
        query_ids = [query_id for result in broken for query_id in result.query_ids]
        return CheckResult(
            check=threshold,
            subject=self.suite.name,
            outcome=worst,
            text=text,
            label=item.label,
            item=item.name,
            value=broken[0].value if broken else None,
            bound=broken[0].bound if broken else None,
            bound_text=broken[0].bound_text if broken else "",
            query_ids=tuple(query_ids),
            is_warning=bool(broken) and threshold.is_warning,
            was_evaluated=any(result.was_evaluated for result in measured),
            location=threshold.location,
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
        fixed = replace(results[0], outcome=Outcome.FAILED, text=text, location=issue.location)
        return [fixed, *results[1:]]

    def _is_expired(self, issue: KnownIssue) -> bool:
        return is_expired(issue, self.today)

    # -- Answers and corpus ------------------------------------------------------------------------

    def _check_answers(self, item: CheckItem) -> CheckResult:
        unanswered = self.comparison.list_query_ids(QueryStatus.NO_ANSWER)
        not_run = self.comparison.list_query_ids(QueryStatus.NOT_RUN)
        allowed = self.suite.settings.max_errors
        outcome = Outcome.PASSED
        text = write("Every query has an answer")
        if unanswered:
            verb = "query has" if len(unanswered) == 1 else "queries have"
            text = write(f"{len(unanswered)} {verb} no answer")
            text += f", and 'errors' allows {allowed}" if allowed else ""
        if len(unanswered) > allowed:
            outcome = Outcome.FAILED
        elif not_run:
            outcome = Outcome.INCOMPLETE
            text = write(f"{len(not_run)} of {len(self.suite.queries)} queries did not run")
        return CheckResult(
            check=Requirement.ANSWERS,
            subject=self.suite.name,
            outcome=outcome,
            text=text,
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
        missing = []
        query_ids = []
        for query in self.suite.queries:
            for passage in sorted(query.judgments.relevant):
                if corpus.find_chunk(passage) is None:
                    missing.append(passage)
                    query_ids.append(query.id)
        is_warning = bool(missing) and self.suite.settings.corpus.missing == "warn"
        text = write("Every relevant passage is in the corpus")
        if missing:
            names = list_some([DataPart(passage) for passage in missing])
            text = write(f"{len(missing)} relevant passages are not in the corpus (", names, ")")
        yield CheckResult(
            check=Requirement.CORPUS,
            subject=self.suite.name,
            outcome=Outcome.FAILED if missing and not is_warning else Outcome.PASSED,
            text=text,
            label="corpus",
            item=item.name,
            value=len(missing),
            bound=0,
            query_ids=tuple(dict.fromkeys(query_ids)),
            doc_ids=tuple(missing),
            is_warning=is_warning,
        )


def is_expired(issue: KnownIssue, today: date | None) -> bool:
    """Return whether the last day of a known issue has passed."""
    return issue.until is not None and today is not None and today > issue.until
