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
from pytest_irquality.wording.caveats import with_urgent
from pytest_irquality.wording.numbers import counted
from pytest_irquality.wording.story import Story, caveats_of, worst_first

REASONS, FEWER = 6, 3
"""How many failures stand under the headline; fewer where the worst queries stand there, too."""
WORDS = {"bad": "FAIL", "warn": "PARTIAL", "good": "PASS"}


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
    stories = worst_first(results)
    order = {id(story.result): n for n, story in enumerate(stories)}
    ranked = sorted(views, key=lambda view: order[id(view.result)])
    state, words = _headline(stories, not_evaluated)
    reasons = [reason for view in ranked for reason in view.reasons(several)]
    most = REASONS if several or not any(story.worst(1) for story in stories) else FEWER
    more = len(reasons) - most
    suites = ", ".join(dict.fromkeys(result.suite for result in results))
    return Page(
        title=f"{WORDS[state.css]}: {suites or 'search quality'}",
        state=state,
        headline=words,
        accepted=tuple(line for result in results for line in accepted(result)),
        reasons=tuple(_foremost(reasons, most)),
        more=f"and {more} more, below" if more > 0 else "",
        facts=() if several or not views else views[0].facts,
        not_evaluated=tuple(not_evaluated),
        generated=generated,
        compared=tuple(names.values()),
        audits=tuple(
            AuditView(path, f"audit-{n}", tuple(told))
            for n, (path, told) in enumerate(audit_of(results).items(), 1)
        ),
        sections=tuple(view.section for view in views),
        rows=tuple(view.compared(named, sides) for view in ranked) if several else (),
        definitions=tuple((names[m], definitions[m]) for m in named if m in definitions),
    )


def _foremost(reasons: Sequence[Reason], most: int) -> Sequence[Reason]:
    """The few that stand under the headline, loudest first: some of every kind, so that no kind
    crowds out another.
    """
    kinds: dict[tuple[int, bool], list[Reason]] = {}
    for reason in reasons:
        kinds.setdefault((loudness(reason.state.word), reason.query is not None), []).append(reason)
    turns = [(turn, kind) for kind in sorted(kinds) for turn in range(len(kinds[kind]))]
    chosen = sorted(turns)[:most]
    return [
        kinds[kind][turn] for turn, kind in sorted(chosen, key=lambda place: (place[1], place[0]))
    ]


def _headline(stories: Sequence[Story], not_evaluated: Sequence[str]) -> tuple[State, str]:
    """The verdict in words, and how many checks ended how."""
    unseen = [f"{counted(len(not_evaluated), 'suite')} not evaluated"] if not_evaluated else []
    states = {story.state for story in stories}
    if len(stories) == 1:
        words = " · ".join([*stories[0].counts, *unseen])
        if not unseen:
            words = with_urgent(words, stories[0].result.failed, stories[0].caveats)
        verdict = stories[0].verdict
        if not_evaluated and stories[0].state == "passed":
            verdict = "Not everything was evaluated"
    else:
        failed = sum(story.state == "failed" for story in stories)
        verdict = f"{failed} of {counted(len(stories), 'suite')} failed"
        if not failed:
            verdict = (
                f"All {counted(len(stories), 'suite')} passed" if stories else "Nothing was judged"
            )
        words = " · ".join([*unseen, *caveats_of(stories)])
    if "failed" in states or not_evaluated:
        return State("bad", "✗", verdict), words
    if "partial" in states or not stories:
        return State("warn", "⚠", verdict), words
    return State("good", "✓", verdict), words
