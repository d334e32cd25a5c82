"""The verdict in words over all results, and the few reasons that stand right under it."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_irquality.report.views import Reason, State, loudness
from pytest_irquality.report.words import counted
from pytest_irquality.verdict.result import SuiteResult

REASONS = 6


def foremost(reasons: Sequence[Reason]) -> Sequence[Reason]:
    """The few that stand under the headline, loudest first: some of every kind, so that no kind crowds out another."""
    kinds: dict[tuple[int, bool], list[Reason]] = {}
    for reason in reasons:
        kinds.setdefault((loudness(reason.state.word), reason.query is not None), []).append(reason)
    turns = [(turn, kind) for kind in sorted(kinds) for turn in range(len(kinds[kind]))]
    chosen = sorted(turns)[:REASONS]
    return [kinds[kind][turn] for turn, kind in sorted(chosen, key=lambda place: (place[1], place[0]))]


def headline(results: Sequence[SuiteResult], not_evaluated: Sequence[str]) -> tuple[State, str]:
    """The verdict in words, counted in checks as pytest counts them."""
    verdicts = [verdict for result in results for verdict in result.verdicts]

    def count(outcome: str, one: str, many: str = "", *, query: bool | None = None) -> str:
        found = [v for v in verdicts if v.outcome == outcome and query in (None, v.scope == "query")]
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
    partial = "partial: the run was interrupted" if any(result.interrupted for result in results) else ""
    if not bad:
        limits = sum(verdict.scope != "query" and verdict.outcome == "passed" for verdict in verdicts)
        gated = any(finding.fails for verdict in verdicts for finding in verdict.findings)
        said = [
            counted(sum(len(result.queries) for result in results), "query", "queries"),
            f"{counted(limits, 'limit')} {'holds' if limits == 1 else 'hold'}" if limits and gated else "",
            "" if gated else "nothing gated",
        ]
    words = ", ".join(filter(None, [*said, count("known", "known issue"), partial]))
    if bad:
        return State("bad", "✗", "FAIL"), words
    if partial or not verdicts:
        return State("warn", "⚠", "PARTIAL" if partial else "NOTHING JUDGED"), words
    return State("good", "✓", "PASS"), words
