"""The stories of several suites: their order, their name, and what is said of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pytest_irquality.suite.demands import Together
from pytest_irquality.verdict.comparison import SIGNIFICANT
from pytest_irquality.verdict.findings import Finding
from pytest_irquality.verdict.result import BAD, SuiteResult, Verdict
from pytest_irquality.wording.block import Step
from pytest_irquality.wording.caveats import with_caveats
from pytest_irquality.wording.counts import accepted_drops
from pytest_irquality.wording.examined import of_the_base
from pytest_irquality.wording.numbers import counted, few, grouped, probability
from pytest_irquality.wording.reasons import reason
from pytest_irquality.wording.steps import next_steps
from pytest_irquality.wording.story import Level, Story


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
    """The caveats of several suites, each once with whose it is; those by the base's exam first."""
    exams = {caveat for story in stories for caveat in of_the_base(story.result)}
    whose: dict[str, list[str]] = {}
    for story in stories:
        for caveat in story.caveats or ["not all was compared"] * story.qualified:
            whose.setdefault(caveat, []).append(story.name)
    first = [_of(caveat, names) for caveat, names in whose.items() if caveat in exams]
    others = [_of(caveat, names) for caveat, names in whose.items() if caveat not in exams]
    return tuple(filter(None, (*first, few(others))))


def _of(caveat: str, names: Sequence[str]) -> str:
    return f"{caveat} ({few(names)})"


class Headline(NamedTuple):
    """The verdict over everything, what is ``counted``, and the caveats of both.

    ``word`` is the one that a log is searched for; "" of several suites that passed.
    """

    level: Level
    word: str
    verdict: str
    counted: str
    caveats: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """All of it on one line."""
        return self._with_caveats(": ".join(filter(None, (self.verdict, self.counted))))

    @property
    def beside(self) -> str:
        """All but the verdict, for where that stands by itself."""
        return self._with_caveats(self.counted) if self.counted else "; ".join(self.caveats)

    def _with_caveats(self, words: str) -> str:
        return with_caveats(words, self.level == "bad", self.caveats)


def overall(
    stories: Sequence[Story], left_out: Sequence[str] = (), not_evaluated: Sequence[str] = ()
) -> Headline:
    """The verdict on one suite; of several how many failed, and the worst.

    ``left_out`` are those of which nothing was judged, ``not_evaluated`` those without a result.
    """
    if len(stories) == 1 and not left_out:
        headline = _of_one(stories[0])
    elif stories or left_out:
        headline = _of_several(stories, left_out)
    else:
        headline = Headline("warn", "PARTIAL", "Nothing was judged", "")
    if not not_evaluated:
        return headline
    missing = f"{counted(len(not_evaluated), 'suite')} not evaluated"
    headline = headline._replace(counted=", ".join(filter(None, (headline.counted, missing))))
    if headline.level == "bad":
        return headline
    return headline._replace(level="bad", word="FAILED", verdict="Not everything was evaluated")


def _of_one(story: Story) -> Headline:
    passed = "ACCEPTED" if story.accepts else "passed"
    word = {"failed": "FAILED", "partial": "PARTIAL", "passed": passed}[story.state]
    return Headline(story.level, word, story.verdict, ", ".join(story.counts), story.caveats)


def _of_several(stories: Sequence[Story], left_out: Sequence[str]) -> Headline:
    of_all = counted(len(stories) + len(left_out), "suite" if left_out else called(stories))
    level, word, words = _ends(stories, left_out, of_all)
    return Headline(level, word, words, "; ".join(_balance(stories)), caveats_of(stories))


def _partial(stories: Sequence[Story]) -> Iterator[str]:
    return (f"{one.name} ({one.counts[0]})" for one in stories if one.state == "partial")


def _ends(stories: Sequence[Story], left_out: Sequence[str], of_all: str) -> tuple[Level, str, str]:
    """The worst end that any has, and how many have it."""
    failed = [story for story in stories if story.state == "failed"]
    partial = [*_partial(stories), *left_out]
    accepting = [story.name for story in stories if story.accepts]
    if failed:
        said = f"{len(failed)} of {of_all} failed, the worst is {failed[0].name}"
        return "bad", "FAILED", said
    if partial:
        return "warn", "PARTIAL", f"{len(partial)} of {of_all} judged in part: {few(partial)}"
    if accepting:
        said = f"{len(accepting)} of {of_all} accepted, not passed: {few(accepting)}"
        return "warn", "ACCEPTED", said
    warns = any(story.level == "warn" for story in stories)
    return "warn" if warns else "good", "", f"{of_all} passed"


def _drop_of_all(story: Story, verdict: Verdict) -> str:
    """The drop over all suites that fails; its queries are counted elsewhere."""
    return reason(story.result, verdict).rpartition(": ")[0]


def _balance(stories: Sequence[Story]) -> Iterator[str]:
    """The queries that got worse and better over all suites, accepted drops, and lone suites."""
    for story, verdict in failed_together([story.result for story in stories]):
        yield _drop_of_all(story, verdict)
    yield from _gains([gain for story in stories for gain in story.damage.gains])
    if accepting := [story.name for story in stories if accepted_drops(story.result)]:
        yield f"{few(accepting)} accepted a drop"
    yield from _alone(stories)


def _gains(gains: Sequence[float]) -> Iterator[str]:
    if any(gains):
        worse, better = sum(gain < 0 for gain in gains), sum(gain > 0 for gain in gains)
        yield f"{grouped(worse)} worse, {grouped(better)} better"


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
