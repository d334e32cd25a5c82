"""The whole report as values: the verdict in words, the few reasons for it, and a section a suite
and retriever.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from pytest_irquality.report.suite_view import SuiteView
from pytest_irquality.report.views import AuditView, Name, Page, Reason, State, loudness
from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.verdict.side_by_side import side_by_side
from pytest_irquality.wording.accepted import accepted
from pytest_irquality.wording.audit import audit_of
from pytest_irquality.wording.caveats import caveats, urgent, with_caveats, with_urgent
from pytest_irquality.wording.numbers import counted

REASONS = 6


def page_view(
    results: Sequence[SuiteResult],
    definitions: Mapping[str, str],
    not_evaluated: Sequence[str],
    generated: str,
    now: datetime,
) -> Page:
    """The page as values, from which HTML and Markdown are drawn."""
    named = list(dict.fromkeys(measure for result in results for measure in result.shown))
    names = {m: Name(m, f"measure-{n}" if m in definitions else "") for n, m in enumerate(named, 1)}
    several = len(results) > 1
    views = [SuiteView(result, f"s{n}", names, now) for n, result in enumerate(results, 1)]
    sides = {
        (table.path, retriever, row.measure): side
        for table in side_by_side(results)
        for row in table.rows
        for retriever, side in zip(table.retrievers, row.sides, strict=True)
    }
    state, words = _headline(results, not_evaluated)
    reasons = [reason for view in views for reason in view.reasons(several)]
    more = len(reasons) - REASONS
    return Page(
        title=(
            f"{state.word}:"
            f" {', '.join(dict.fromkeys(result.suite for result in results)) or 'search quality'}"
        ),
        state=state,
        headline=words,
        accepted=tuple(line for result in results for line in accepted(result)),
        reasons=tuple(_foremost(reasons)),
        more=f"and {more} more, below" if more > 0 else "",
        facts=() if several or not views else views[0].facts,
        said="" if several or not views else views[0].said,
        not_evaluated=tuple(not_evaluated),
        generated=generated,
        compared=tuple(names.values()),
        audits=tuple(
            AuditView(path, f"audit-{n}", tuple(told))
            for n, (path, told) in enumerate(audit_of(results).items(), 1)
        ),
        sections=tuple(view.section for view in views),
        rows=tuple(view.compared(named, sides) for view in views) if several else (),
        definitions=tuple((names[m], definitions[m]) for m in named if m in definitions),
    )


def _foremost(reasons: Sequence[Reason]) -> Sequence[Reason]:
    """The few that stand under the headline, loudest first: some of every kind, so that no kind
    crowds out another.
    """
    kinds: dict[tuple[int, bool], list[Reason]] = {}
    for reason in reasons:
        kinds.setdefault((loudness(reason.state.word), reason.query is not None), []).append(reason)
    turns = [(turn, kind) for kind in sorted(kinds) for turn in range(len(kinds[kind]))]
    chosen = sorted(turns)[:REASONS]
    return [
        kinds[kind][turn] for turn, kind in sorted(chosen, key=lambda place: (place[1], place[0]))
    ]


def _caveats(results: Sequence[SuiteResult]) -> tuple[str, ...]:
    """What no pass may stand without; of several suites whose it is."""
    return tuple(
        f"{result.suite}: {said}" if len(results) > 1 else said
        for result in results
        for said in caveats(result)
    )


def _headline(results: Sequence[SuiteResult], not_evaluated: Sequence[str]) -> tuple[State, str]:
    """The verdict in words, counted in checks as pytest counts them."""
    verdicts = [verdict for result in results for verdict in result.verdicts]

    def count(outcome: str, one: str, many: str = "", *, query: bool | None = None) -> str:
        found = [
            v for v in verdicts if v.outcome == outcome and query in (None, v.scope == "query")
        ]
        return counted(len(found), one, many) if found else ""

    unseen = len(not_evaluated) + sum(verdict.outcome == "not evaluated" for verdict in verdicts)
    said = [
        count("failed", "limit", query=False),
        count("failed", "query", "queries", query=True),
        count("error", "query unanswered", "queries unanswered", query=True),
        count("error", "limit undecided", "limits undecided", query=False),
        count("fixed", "known issue fixed", "known issues fixed"),
        f"{counted(unseen, 'check')} not evaluated" if unseen else "",
    ]
    bad = any(said)
    partial = (
        "partial: the run was interrupted" if any(result.interrupted for result in results) else ""
    )
    if not bad:
        limits = sum(
            verdict.scope != "query" and verdict.outcome == "passed" and not verdict.caveat
            for verdict in verdicts
        )
        gated = any(finding.fails for verdict in verdicts for finding in verdict.findings)
        said = [
            counted(sum(len(result.queries) for result in results), "query", "queries"),
            (
                f"{counted(limits, 'limit')} {'holds' if limits == 1 else 'hold'}"
                if limits and gated
                else ""
            ),
            "" if gated else "nothing gated",
        ]
    words = ", ".join(
        filter(
            None,
            [*said, count("accepted", "accepted drop"), count("known", "known issue"), partial],
        )
    )
    if bad:
        first = tuple(text for result in results for text in urgent(result))
        return State("bad", "✗", "FAIL"), with_urgent(words, True, first)
    words = with_caveats(words, _caveats(results))
    if partial or not verdicts:
        return State("warn", "⚠", "PARTIAL" if partial else "NOTHING JUDGED"), words
    return State("good", "✓", "PASS"), words
