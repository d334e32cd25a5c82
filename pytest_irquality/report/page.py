"""The whole report as values: the verdict in words, the few reasons for it, and a section a suite
and retriever.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from pytest_irquality.report.means_view import Sides
from pytest_irquality.report.suite_view import SuiteView
from pytest_irquality.report.views import (
    AuditView,
    MeansRow,
    MeasureName,
    Page,
    Reason,
    State,
    loudness,
)
from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.verdict.side_by_side import side_by_side
from pytest_irquality.wording.accepted import accepted
from pytest_irquality.wording.audit import audit_of
from pytest_irquality.wording.caveats import with_urgent
from pytest_irquality.wording.numbers import counted
from pytest_irquality.wording.story import Story, called, caveats_of, worst_first

REASONS, FEWER = 6, 3
"""How many failures stand under the headline; fewer where the worst queries stand there, too."""


def page_view(
    results: Sequence[SuiteResult],
    definitions: Mapping[str, str],
    not_evaluated: Sequence[str],
    generated: str,
    now: datetime,
) -> Page:
    """The page as values; suites and retrievers the worst first."""
    stories = worst_first(results)
    named = list(dict.fromkeys(measure for result in results for measure in result.shown))
    names = {}
    for number, measure in enumerate(named, 1):
        anchor = f"measure-{number}" if measure in definitions else ""
        names[measure] = MeasureName(measure, anchor)
    several = len(results) > 1
    views = [SuiteView(story.result, f"s{n}", names, now) for n, story in enumerate(stories, 1)]
    sides = _sides(results)
    state, words = _headline(stories, not_evaluated)
    reasons = [reason for view in views for reason in view.reasons(several)]
    broken, others, most = _beside_worst(views, reasons)
    more = len(others) - most
    suites = ", ".join(dict.fromkeys(result.suite for result in results))
    return Page(
        title=f"{_word(state, stories)}: {suites or 'search quality'}",
        state=state,
        headline=words,
        accepted=tuple(line for result in results for line in accepted(result)),
        broken=tuple(broken),
        reasons=tuple(_foremost(others, most)),
        more=f"and {more} more, below" if more > 0 else "",
        facts=() if several or not views else tuple(views[0].facts()),
        not_evaluated=tuple(not_evaluated),
        generated=generated,
        compared=tuple(names.values()),
        audits=tuple(
            AuditView(path, f"audit-{n}", tuple(told))
            for n, (path, told) in enumerate(audit_of(results).items(), 1)
        ),
        sections=tuple(view.section for view in views),
        rows=tuple(_row(view, named, sides) for view in views) if several else (),
        definitions=tuple((names[m], definitions[m]) for m in named if m in definitions),
    )


def _sides(results: Sequence[SuiteResult]) -> Sides:
    """What each retriever scored beside the others of its suite."""
    sides = {}
    for table in side_by_side(results):
        for row in table.rows:
            for retriever, side in zip(table.retrievers, row.sides, strict=True):
                sides[table.path, retriever, row.measure] = side
    return sides


def _row(view: SuiteView, measures: Sequence[str], sides: Sides) -> MeansRow:
    return view.means.row_of_several(measures, sides, view.story, view.title, view.state)


def _word(state: State, stories: Sequence[Story]) -> str:
    """How it ended, in the one word that a list of tabs has room for."""
    if state.css == "bad":
        return "FAIL"
    passed = stories and all(story.state == "passed" for story in stories)
    return "PASS" if passed else "PARTIAL"


def _beside_worst(
    views: Sequence[SuiteView], reasons: Sequence[Reason]
) -> tuple[Sequence[Reason], Sequence[Reason], int]:
    """The broken limits, which need only their names where the worst queries stand below; the
    reasons of what lost nothing; and how many of these are shown.
    """
    lost = views[0].story.losers if len(views) == 1 else ()
    if not lost:
        return (), reasons, REASONS
    told = {views[0].queries.rows[query.id] for query in lost}
    limits = [r for r in reasons if r.query is None and r.state.word == "failed"]
    others = [r for r in reasons if r not in limits and r.query not in told]
    return limits, others, FEWER


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
    if len(stories) == 1:
        verdict, words = stories[0].verdict, " · ".join([*stories[0].counts, *unseen])
        if not unseen:
            words = with_urgent(words, stories[0].result.failed, stories[0].caveats)
    else:
        verdict = _of_several(stories)
        words = " · ".join([*unseen, *caveats_of(stories)])
    failed = any(story.state == "failed" for story in stories)
    if unseen and stories and not failed:
        verdict = "Not everything was evaluated"
    if failed or unseen:
        return State("bad", "✗", verdict), words
    if not stories or any(story.level == "warn" for story in stories):
        return State("warn", "⚠", verdict), words
    return State("good", "✓", verdict), words


def _of_several(stories: Sequence[Story]) -> str:
    """How many of several suites ended how, in a few words."""
    if not stories:
        return "Nothing was judged"
    of_all = counted(len(stories), called(stories))
    for state, word in (("failed", "failed"), ("partial", "interrupted")):
        if many := sum(story.state == state for story in stories):
            return f"{many} of {of_all} {word}"
    return f"All {of_all} passed"
