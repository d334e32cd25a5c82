"""The stories of several suites: their order, their name, and what is said of all of them."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_irquality.verdict.result import BAD, SuiteResult
from pytest_irquality.wording.caveats import with_urgent
from pytest_irquality.wording.numbers import counted, few
from pytest_irquality.wording.story import Story


def worst_first(results: Sequence[SuiteResult]) -> tuple[Story, ...]:
    """The stories of several results, the most damaged first, those that passed last."""
    stories = [Story(result) for result in results]
    return tuple(sorted(stories, key=_badness, reverse=True))


def called(stories: Sequence[Story]) -> str:
    """The name for several results: suites, or the retrievers of one."""
    return "retriever" if len({story.result.path for story in stories}) == 1 else "suite"


def caveats_of(stories: Sequence[Story]) -> tuple[str, ...]:
    """The caveats of several suites, each once, as a headline takes them."""
    by_caveat: dict[str, list[str]] = {}
    for story in stories:
        for caveat in story.caveats:
            by_caveat.setdefault(caveat, []).append(story.name)
    each = []
    for caveat, names in by_caveat.items():
        whose = names[0] if len(names) == 1 else counted(len(names), called(stories))
        each.append(f"{caveat} ({whose})")
    if in_part := [story.name for story in stories if story.qualified and not story.caveats]:
        each.append(f"not all was compared: see {few(in_part)}")
    return (few(each),) if each else ()


def overall(stories: Sequence[Story]) -> str:
    """The number of suites that failed, and the worst; or those that no tick can stand for."""
    of_all = counted(len(stories), called(stories))
    failed = [story for story in stories if story.state == "failed"]
    partial = [story.name for story in stories if story.state == "partial"]
    caveats = caveats_of(stories)
    if failed:
        worst = f"✗ FAILED  {len(failed)} of {of_all}, the worst is {failed[0].name}"
        return with_urgent(worst, True, caveats)
    if partial:
        interrupted = f"! PARTIAL  {len(partial)} of {of_all} interrupted: {few(partial)}"
        return with_urgent(interrupted, True, caveats)
    mark = "!" if any(story.level == "warn" for story in stories) else "✓"
    return with_urgent(f"{mark} {of_all} passed", False, caveats)


def _badness(story: Story) -> tuple[bool, float, int]:
    failed = sum(verdict.outcome in BAD for verdict in story.result.verdicts)
    return story.result.failed, story.damage.lost, failed
