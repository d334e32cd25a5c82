"""The whole report as values.

It has the verdict in words, the few reasons for it, and a section a suite and retriever.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

from pytest_irquality.report.suite_view import SuiteView
from pytest_irquality.report.views import MeasureName, Reason
from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.wording.acceptance import accepted
from pytest_irquality.wording.audit_lines import audit_of
from pytest_irquality.wording.block import State, loudness
from pytest_irquality.wording.caveats import with_urgent
from pytest_irquality.wording.mean_tables import retrievers, suites
from pytest_irquality.wording.numbers import counted
from pytest_irquality.wording.stories import called, caveats_of, worst_first
from pytest_irquality.wording.story import Story

REASONS, FEWER = 6, 3
"""How many failures stand under the headline; fewer where the worst queries stand there, too."""


def page_view(
    results: Sequence[SuiteResult],
    definitions: Mapping[str, str],
    not_evaluated: Sequence[str],
    left_out: Sequence[str],
    *,
    generated: str,
    now: datetime,
) -> Mapping[str, Any]:
    """Values that the template draws; suites and retrievers the worst first."""
    stories, several = worst_first(results), len(results) > 1
    names = _names(results, definitions)
    views = [SuiteView(story.result, f"s{n}", now) for n, story in enumerate(stories, 1)]
    state, words = _headline(stories, not_evaluated, left_out)
    broken, reasons, more = _reasons(views)
    named = ", ".join(dict.fromkeys(result.suite for result in results))
    return dict(  # noqa: C408 - names are read better without quotes
        title=f"{_word(state, stories)}: {named or 'search quality'}",
        state=state,
        headline=words,
        accepted=tuple(line for result in results for line in accepted(result)),
        broken=tuple(broken),
        reasons=tuple(reasons),
        more=f"and {more} more" if more > 0 else "",
        facts=() if several else tuple(chain(*(view.facts() for view in views))),
        not_evaluated=(*not_evaluated, *left_out),
        generated=generated,
        names=names,
        audits=audit_of(results),
        sections=views,
        suites=suites(stories) if several else None,
        retrievers=tuple(retrievers(results)),
        definitions=tuple((name, definitions[m]) for m, name in names.items() if name.anchor),
    )


def _names(
    results: Sequence[SuiteResult], definitions: Mapping[str, str]
) -> Mapping[str, MeasureName]:
    """The measures shown, each with the anchor of its definition."""
    shown = dict.fromkeys(measure for result in results for measure in result.shown)
    anchors = {measure: f"measure-{number}" for number, measure in enumerate(shown, 1)}
    return {m: MeasureName(m, anchors[m] if m in definitions else "") for m in shown}


def _word(state: State, stories: Sequence[Story]) -> str:
    """The end of a run, in the one word that a list of tabs has room for."""
    if state.css == "bad":
        return "FAIL"
    passed = stories and all(story.state == "passed" for story in stories)
    return "PASS" if passed else "PARTIAL"


def _reasons(views: Sequence[SuiteView]) -> tuple[Sequence[Reason], Sequence[Reason], int]:
    """The broken limits, the foremost other reasons, and how many more there are.

    Limits need only their names where the worst queries stand below.
    """
    reasons = [reason for view in views for reason in view.reasons(len(views) > 1)]
    lost = views[0].story.losers if len(views) == 1 else ()
    if not lost:
        return (), _foremost(reasons, REASONS), len(reasons) - REASONS
    told = {views[0].queries.rows[query.id] for query in lost}
    limits = [r for r in reasons if r.query is None and r.state.word == "failed"]
    others = [r for r in reasons if r not in limits and r.query not in told]
    return limits, _foremost(others, FEWER), len(others) - FEWER


def _foremost(reasons: Sequence[Reason], most: int) -> Sequence[Reason]:
    """The few that stand under the headline, loudest first.

    There are some of every kind, so that no kind crowds out another.
    """
    kinds: dict[tuple[int, bool], list[Reason]] = {}
    for reason in reasons:
        kinds.setdefault((loudness(reason.state.word), reason.query is not None), []).append(reason)
    turns = [(turn, kind) for kind in sorted(kinds) for turn in range(len(kinds[kind]))]
    chosen = sorted(turns)[:most]
    return [
        kinds[kind][turn] for turn, kind in sorted(chosen, key=lambda place: (place[1], place[0]))
    ]


def _headline(
    stories: Sequence[Story], not_evaluated: Sequence[str], left_out: Sequence[str]
) -> tuple[State, str]:
    """The verdict in words, and how many checks ended how."""
    without = len(not_evaluated) + len(left_out)
    unseen = [f"{counted(without, 'suite')} not evaluated"] if without else []
    levels = {story.level for story in stories}
    if len(stories) == 1:
        verdict, words = stories[0].verdict, " · ".join([*stories[0].counts, *unseen])
        if not unseen:
            words = with_urgent(words, stories[0].result.failed, stories[0].caveats)
    else:
        verdict = _of_several(stories)
        words = " · ".join([*unseen, *caveats_of(stories)])
    if unseen and stories and "bad" not in levels:
        verdict = "Not everything was evaluated"
    if not_evaluated or "bad" in levels:
        return State("bad", "✗", verdict), words
    if levels == {"good"} and not unseen:
        return State("good", "✓", verdict), words
    return State("warn", "⚠", verdict), words


def _of_several(stories: Sequence[Story]) -> str:
    """The number of suites of each end, in a few words."""
    if not stories:
        return "Nothing was judged"
    of_all = counted(len(stories), called(stories))
    for state, word in (("failed", "failed"), ("partial", "judged in part")):
        if many := sum(story.state == state for story in stories):
            return f"{many} of {of_all} {word}"
    return f"All {of_all} passed"
