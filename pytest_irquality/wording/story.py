"""The story of a run, the same in every report.

It says what got worse, how badly, why, what that rests on, and what to do. Reports only lay it out.
A part that does not apply is empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pytest_irquality.verdict import facts
from pytest_irquality.verdict.damage import Damage
from pytest_irquality.verdict.result import Outcome, QueryResult, SuiteResult, Verdict
from pytest_irquality.verdict.statistics import EQUAL
from pytest_irquality.wording.causes import CAUSES, as_before, known_causes, renumbered, risen
from pytest_irquality.wording.caveats import caveats, with_caveats
from pytest_irquality.wording.counts import counts, fates, sums
from pytest_irquality.wording.demand_words import beyond_chance, rose_or_fell
from pytest_irquality.wording.losers import Worse, low, worsened, worst_tags
from pytest_irquality.wording.notes import note, noted
from pytest_irquality.wording.numbers import chance, counted, few, grouped, share
from pytest_irquality.wording.reasons import reason
from pytest_irquality.wording.steps import on_change
from pytest_irquality.wording.words import provenance, quoted

ENDED: Mapping[Outcome, str] = {
    "error": "Some queries had no answer",
    "not evaluated": "Not everything was evaluated",
    "fixed": "A known issue is fixed",
}
IN_STORY: tuple[type[facts.Fact], ...] = (
    *CAUSES,
    facts.RestsOnUnjudged,
    facts.JudgeFirst,
    facts.Resolution,
    facts.NothingGated,
    facts.Accepted,
    facts.Interrupted,
    facts.Selected,
)
"""Facts that have a place of their own in the story; the others are notes."""
DOUBTS = (facts.Interrupted, facts.Selected, facts.RestsOnUnjudged)
End = Literal["failed", "partial", "passed"]
Level = Literal["bad", "warn", "good"]


@dataclass(frozen=True)
class Story:
    """The story of one suite and retriever."""

    result: SuiteResult

    @cached_property
    def damage(self) -> Damage:
        """The loss of each query, and the order of failures."""
        return Damage(self.result)

    # -- the verdict -------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """A suite with its retriever."""
        result = self.result
        return f"{result.suite} [{result.retriever}]" if result.retriever else result.suite

    @property
    def state(self) -> End:
        """The end of the run: failed, partial or passed."""
        if self.result.failed:
            return "failed"
        return "partial" if self.result.partial else "passed"

    @property
    def qualified(self) -> bool:
        """A pass for which no plain tick can stand.

        Something was not compared, holds in the order of equal scores alone, or ids may be wrong;
        an update takes what queries lost; or nothing can fail.
        """
        lost = self._has(facts.Replacing) and bool(self.damage.worse)
        wrong = lost or self._has(facts.Unmatched) or not self.result.gated
        return self.state == "passed" and (wrong or any(v.caveat for v in self.result.verdicts))

    @property
    def accepts(self) -> bool:
        """A pass that is none: the change accepts something, in the open."""
        return self.state == "passed" and self.result.accepts

    @property
    def level(self) -> Level:
        """The level that its colour and mark show: a tick is for ``good``."""
        if self.state == "failed":
            return "bad"
        short = self.state == "partial" or self.qualified or self.accepts
        return "warn" if short else "good"

    @property
    def verdict(self) -> str:
        """The verdict in a few words."""
        outcomes = {verdict.outcome for verdict in self.result.verdicts}
        if "failed" in outcomes:
            return self._failed
        for outcome, words in ENDED.items():
            if outcome in outcomes:
                return words
        said = {
            "Nothing was returned, and no check noticed": self._has(facts.Unnoticed),
            "A build of today is broken": self.result.alarmed,
            "Not all was judged, which ir_strict refuses": bool(self.result.refused),
            "Interrupted": self.result.interrupted,
            "Accepted, not passed": any(exam.accepted for exam in self.result.exams),
            "This change accepts a drop": "accepted" in outcomes,
            "Nothing can fail": not self.result.gated,
            "Partial": self.result.partial,
        }
        return next((words for words, so in said.items() if so), self._passed)

    @property
    def _passed(self) -> str:
        if not (self.says_nothing and self.result.baseline):
            return "Search is as good as demanded"
        warned = any(verdict.warned for verdict in self.result.verdicts)
        return "Some rankings changed" if warned else "Rankings stayed alike"

    @property
    def _uncompared(self) -> bool:
        """True where all that failed had nothing to be compared with."""
        lacks = [finding.lacks for finding in self.result.broken]
        examined = any(exam.verdicts for exam in self.result.exams)
        return not examined and all(lack is not None and lack.why.uncompared for lack in lacks)

    @property
    def _failed(self) -> str:
        if words := renumbered(self.result):
            return words
        if self.damage.worse:
            return "Search got worse"
        if self._uncompared:
            return "Search could not be compared"
        if self.says_nothing and self.on_baseline:
            return "Rankings changed too much"
        return "Search is not good enough"

    @property
    def counts(self) -> tuple[str, ...]:
        """The number of checks of each outcome: ``19 of 70 queries broke a rule``."""
        return counts(self.result)

    @property
    def headline(self) -> str:
        """The verdict and its counts on one line, alike in every report."""
        return f"{self.verdict}: {self.counted}"

    @property
    def counted(self) -> str:
        """The counts in one line, with what must be known first."""
        return with_caveats(", ".join(self.counts), self.result.failed, self.caveats)

    @property
    def caveats(self) -> tuple[str, ...]:
        """The caveats of the verdict, whichever it is."""
        return caveats(self.result)

    # -- how badly ---------------------------------------------------------------------------------

    @property
    def tally(self) -> str:
        """``23 worse, 6 better, 40 unchanged``; "" where nothing is compared."""
        gains = self.damage.gains
        if not gains:
            return ""
        worse, better = sum(gain < 0 for gain in gains), sum(gain > 0 for gain in gains)
        same = len(gains) - worse - better
        if not worse and not better:
            return f"{counted(same, 'query is', 'queries are')} unchanged in {self.damage.measure}"
        return f"{grouped(worse)} worse, {grouped(better)} better, {grouped(same)} unchanged"

    @property
    def compared(self) -> str:
        """The tally and the mean, on one line."""
        return "; ".join(filter(None, (self.tally, self.mean)))

    @property
    def mean(self) -> str:
        """The movement of the mean, and whether chance explains it."""
        measure = self.damage.measure
        mean = self.result.mean(measure)
        if mean is None or mean.change is None or abs(mean.change.difference) <= EQUAL:
            return ""
        words = f"the mean {rose_or_fell(mean.change, mean.unit)}"
        if beyond_chance(mean.change) and self.damage.sign * mean.change.difference < 0:
            words += f", {chance(mean.change)}"
        return words

    @property
    def ledger(self) -> str:
        """The sums of queries and checks by class, on one line."""
        return sums(self.result)

    @property
    def compared_with(self) -> str:
        """The two sides that are compared, in short."""
        before = self.result.baseline
        if before is None:
            return "compared with nothing: there is no baseline"
        return f"compared with {provenance(before, self.result.version)}"

    # -- why ---------------------------------------------------------------------------------------

    @property
    def fates(self) -> str:
        """The places at which relevant passages or documents were lost; "" where nothing tells."""
        return fates(self.result)

    @property
    def causes(self) -> tuple[str, ...]:
        """The known causes, the most telling first."""
        return (*known_causes(self.result), *risen(self.damage))

    def in_words(self, query: QueryResult) -> Worse:
        """A query's loss; of a failure by which no query lost its value, and what keeps it low."""
        return (low if self.lowest else worsened)(self.damage, query)

    @property
    def losers(self) -> Sequence[QueryResult]:
        """All of these queries, the worst first."""
        return self.damage.lowest if self.lowest else self.damage.worse

    @property
    def says_nothing(self) -> bool:
        """True where the suite has neither judgments nor rules."""
        return self._has(facts.NothingExpected)

    def _has(self, kind: type[facts.Fact]) -> bool:
        """Tell whether a fact of a kind is among those of the result."""
        return any(isinstance(fact, kind) for fact in self.result.facts)

    @property
    def lowest(self) -> bool:
        """Tell whether the worst queries are those of the lowest value: none lost anything."""
        if self.says_nothing:
            return True
        failed = any(verdict.outcome == "failed" for verdict in self.result.verdicts)
        return failed and not self.damage.worse

    @property
    def tags(self) -> str:
        """The tags that lost most."""
        return worst_tags(self.damage)

    # -- what it rests on --------------------------------------------------------------------------

    @property
    def shaky(self) -> bool:
        """Tell whether something that it rests on is wrong, and not only little."""
        return any(isinstance(fact, DOUBTS) for fact in self.result.facts)

    @property
    def rests_on(self) -> tuple[str, ...]:
        """The facts that could overturn the verdict."""
        return tuple(self._rests_on())

    def _rests_on(self) -> Iterator[str]:
        result = self.result
        for fact in result.facts:
            if isinstance(fact, (*DOUBTS, facts.JudgeFirst, facts.Resolution)):
                yield note(fact, result)

    @property
    def on_baseline(self) -> bool:
        """Tell whether anything failed on a change from the baseline."""
        broken = (f for verdict in self.result.verdicts for f in verdict.broken)
        return self.result.baseline is not None and any(map(on_change, broken))

    @property
    def coverage(self) -> str:
        """The share of the returned results that nobody judged."""
        result, before = self.result, self.result.baseline
        if result.judged == result.returned or self.says_nothing:
            return ""
        unjudged = share(result.returned - result.judged, result.returned)
        words = f"{unjudged} results in the top {result.top_k} are not judged"
        if not before or not before.returned:
            return words
        unjudged_before = share(before.returned - before.judged, before.returned)
        return f"{words}; {unjudged_before} in the baseline"

    @property
    def notes(self) -> tuple[str, ...]:
        """The other facts that a reader must know."""
        told = noted(self.result)
        others = (text for fact, text in told if not isinstance(fact, IN_STORY) or as_before(fact))
        first, last = (self.coverage, "") if self.state == "failed" else ("", self.coverage)
        return tuple(filter(None, (first, *others, last)))

    # -- what broke --------------------------------------------------------------------------------

    def failures(self) -> Iterator[tuple[Verdict, str]]:
        """The failures with their reasons, most damage first.

        Those that are undecided for one cause are one, which names them.
        """
        by_reason: dict[str, list[Verdict]] = {}
        for verdict in self.damage.failures:
            by_reason.setdefault(reason(self.result, verdict), []).append(verdict)
        for why, (first, *others) in by_reason.items():
            said = few([*map(self._called, (first, *others))]) if first.outcome == "error" else ""
            yield first, f"{said}: {why}" if said else why

    def _called(self, verdict: Verdict) -> str:
        query = self.result.by_id.get(verdict.query or "")
        return quoted(query.text) if query else verdict.label
