"""The stories of several suites: their order, their name, and what is said of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_irquality.suite.demands import Together
from pytest_irquality.verdict.comparison import SIGNIFICANT
from pytest_irquality.verdict.findings import Finding
from pytest_irquality.verdict.result import BAD, SuiteResult, Verdict
from pytest_irquality.wording.block import Step
from pytest_irquality.wording.caveats import with_urgent
from pytest_irquality.wording.counts import accepted_drops
from pytest_irquality.wording.examined import of_the_base
from pytest_irquality.wording.numbers import counted, few, grouped, probability
from pytest_irquality.wording.reasons import reason
from pytest_irquality.wording.steps import next_steps
from pytest_irquality.wording.story import Story


def worst_first(results: Sequence[SuiteResult]) -> tuple[Story, ...]:
    """The stories of several results, the most damaged first, those that passed last."""
    stories = [Story(result) for result in results]
    return tuple(sorted(stories, key=_badness, reverse=True))


def steps_of(stories: Sequence[Story]) -> tuple[Step, ...]:
    """The things to do next after all of them."""
    return tuple(next_steps([story.result for story in stories]))


def failed_together(results: Sequence[SuiteResult]) -> Iterator[tuple[Story, Verdict]]:
    """Each drop over all suites of a retriever that fails, once: at the suite that lost most.

    None where a suite's own default limit fails anyway.
    """
    for pool in _pools(worst_first(results)):
        broken = [verdict.broken for _, verdict in pool if verdict.outcome == "failed"]
        if broken and all(_is_of_all(findings) for findings in broken):
            yield pool[0]


def _is_of_all(broken: Sequence[Finding]) -> bool:
    """Tell whether nothing is broken but the limit over all suites."""
    return all(issubclass(finding.demand, Together) for finding in broken)


def _pools(stories: Sequence[Story]) -> Sequence[Sequence[tuple[Story, Verdict]]]:
    """The suites that were judged together, the worst first, each with its default limit."""
    pools: dict[object, list[tuple[Story, Verdict]]] = {}
    for story in stories:
        for verdict in story.result.verdicts:
            for finding in verdict.findings:
                if issubclass(finding.demand, Together):
                    of = story.result.retriever, finding.measure, finding.change
                    pools.setdefault(of, []).append((story, verdict))
    return [*pools.values()]


def known_issues(result: SuiteResult) -> Iterator[str]:
    """The known issues that are still broken, each with what is seen of it."""
    for verdict in result.verdicts:
        if verdict.outcome == "known":
            yield f"known issue {verdict.known_issue}: {reason(result, verdict)}"


def called(stories: Sequence[Story]) -> str:
    """The name for several results: suites, or the retrievers of one."""
    return "retriever" if len({story.result.path for story in stories}) == 1 else "suite"


def caveats_of(stories: Sequence[Story]) -> tuple[str, ...]:
    """The caveats of several suites, each once, as a headline takes them."""
    exams = {caveat for story in stories for caveat in of_the_base(story.result)}
    first, each = list[str](), list[str]()
    for caveat, said in _whose(stories).items():
        (first if caveat in exams else each).append(said)
    each += _in_part(stories)
    return (*first, few(each)) if each else (*first,)


def _in_part(stories: Sequence[Story]) -> Iterator[str]:
    """The suites with no caveat of their own of which not all was compared."""
    names = [story.name for story in stories if story.qualified and not story.caveats]
    if names:
        yield f"not all was compared: see {few(names)}"


def _whose(stories: Sequence[Story]) -> Mapping[str, str]:
    """Each caveat with the suites that have it."""
    by_caveat: dict[str, list[str]] = {}
    for story in stories:
        for caveat in story.caveats:
            by_caveat.setdefault(caveat, []).append(story.name)
    whose = {
        caveat: names[0] if len(names) == 1 else counted(len(names), called(stories))
        for caveat, names in by_caveat.items()
    }
    return {caveat: f"{caveat} ({of})" for caveat, of in whose.items()}


def overall(stories: Sequence[Story], left_out: Sequence[str] = ()) -> str:
    """The number of suites that failed, and the worst; or those that no tick can stand for.

    ``left_out`` are those of which nothing was judged.
    """
    of_all = counted(len(stories) + len(left_out), "suite" if left_out else called(stories))
    failed = [story for story in stories if story.state == "failed"]
    partial = [f"{one.name} ({one.counts[0]})" for one in stories if one.state == "partial"]
    partial += left_out
    caveats = caveats_of(stories)
    if failed:
        worst = f"✗ FAILED  {len(failed)} of {of_all}, the worst is {failed[0].name}"
        results = [story.result for story in stories]
        told = [_drop_of_all(*pool) for pool in failed_together(results)]
        return with_urgent(f"{worst}{_balance(stories, *told)}", True, caveats)
    if partial:
        in_part = f"! PARTIAL  {len(partial)} of {of_all} judged in part: {few(partial)}"
        return with_urgent(f"{in_part}{_balance(stories)}", True, caveats)
    return with_urgent(f"{_passed(stories, of_all)}{_balance(stories)}", False, caveats)


def _passed(stories: Sequence[Story], of_all: str) -> str:
    """The number of suites where none failed, with a tick where one may stand for all."""
    if accepting := [story.name for story in stories if story.accepts]:
        return f"! ACCEPTED  in {len(accepting)} of {of_all}: {few(accepting)}"
    mark = "!" if any(story.level == "warn" for story in stories) else "✓"
    return f"{mark} {of_all} passed"


def _drop_of_all(story: Story, verdict: Verdict) -> str:
    """The drop over all suites that fails; its queries are counted elsewhere."""
    return reason(story.result, verdict).rpartition(" (")[0]


def _balance(stories: Sequence[Story], *first: str) -> str:
    """The queries that got worse and better over all suites, accepted drops, and lone suites.

    ``first`` is said before them.
    """
    gains = [gain for story in stories for gain in story.damage.gains]
    worse, better = sum(gain < 0 for gain in gains), sum(gain > 0 for gain in gains)
    said = [*first]
    if worse or better:
        said.append(f"{grouped(worse)} worse, {grouped(better)} better")
    if drops := _accepted_drops(stories):
        said.append(counted(drops, "accepted drop"))
    said += _alone(stories)
    return f": {'; '.join(said)}" if said else ""


def _accepted_drops(stories: Sequence[Story]) -> int:
    """The number of accepted drops, where one over all suites is one."""
    each = sum(len(accepted_drops(story.result)) for story in stories)
    for pool in _pools(stories):
        accepted = [verdict.broken for _, verdict in pool if verdict.outcome == "accepted"]
        each -= max(0, sum(map(_is_of_all, accepted)) - 1)
    return each


def _alone(stories: Sequence[Story]) -> Iterator[str]:
    """The suites that are worse by themselves, though all together are not."""
    for pool in _pools(stories):
        for story, verdict in pool:
            finding = verdict.findings[-1]
            if finding.ok and finding.own_p is not None and finding.own_p < SIGNIFICANT:
                of = f"one of {finding.suites} suites"
                yield f"{story.name} alone is worse ({probability(finding.own_p)}), {of}"


def _badness(story: Story) -> tuple[bool, float, int]:
    failed = sum(verdict.outcome in BAD for verdict in story.result.verdicts)
    return story.result.failed, story.damage.lost, failed
