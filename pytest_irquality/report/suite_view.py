"""One suite and retriever, put into the words and widths that the page shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from pytest_irquality.report.query_view import QueryViews
from pytest_irquality.report.views import Listed, QueryRow, Reason
from pytest_irquality.verdict.result import SuiteResult, Verdict
from pytest_irquality.wording.block import STATES, State, Table
from pytest_irquality.wording.examined import in_full
from pytest_irquality.wording.limit_table import Limits
from pytest_irquality.wording.losses import FATES
from pytest_irquality.wording.mean_tables import mark
from pytest_irquality.wording.numbers import counted, figure, share
from pytest_irquality.wording.story import Story
from pytest_irquality.wording.words import cut, provenance, revision

MOVERS = 6
"""Documents that moved in several queries, as links."""
DIFFERENCES = 100
LISTED, DETAILED = 200, 20
"""Queries that the page shows where scripts do not run, and those of them in full."""


@dataclass(frozen=True)
class SuiteView:
    """A result as a section.

    Its ``anchor`` begins those of its queries and limits, apart from other results on the page.
    """

    result: SuiteResult
    anchor: str
    now: datetime

    @cached_property
    def queries(self) -> QueryViews:
        return QueryViews(self.result, self.anchor, self.story.damage)

    @cached_property
    def story(self) -> Story:
        return Story(self.result)

    @cached_property
    def limits(self) -> Limits:
        return Limits(self.result, self.story.damage)

    @property
    def state(self) -> State:
        return mark(self.story)

    # -- the facts under the headline --------------------------------------------------------------

    def facts(self) -> Iterator[str]:
        """The facts under the headline: what was judged, and what it was compared with."""
        result = self.result
        yield f"suite {result.path}"
        for name, text in result.remarks.items():
            yield f"{name} {text}"
        if result.retriever:
            yield " ".join(filter(None, ("retriever", result.retriever, result.version)))
        elif result.version:
            yield f"retriever version {result.version}"
        if result.commit:
            yield f"commit {revision(result.commit)}"
        if result.baseline:
            yield f"compared with {provenance(result.baseline, self.now)}"
            yield "both sides scored with today's judgments"
        yield counted(len(result.queries), "query", "queries")
        yield f"{figure(result.seconds, 'seconds')} retrieving"

    # -- why it failed -----------------------------------------------------------------------------

    def reasons(self, several: bool) -> Iterator[Reason]:
        """A reason for each check that ended badly, most damage first."""
        for verdict, words in self.story.failures():
            yield self.reason(verdict, words, self.story.title if several else "")

    def reason(self, verdict: Verdict, words: str, where: str) -> Reason:
        row = self.queries.rows.get(verdict.query) if verdict.query is not None else None
        anchor = ""
        if row is not None:
            anchor = self.queries.anchor(verdict.query or "")
        elif verdict.query is None:
            anchor = f"{self.anchor}-{self.limits.name(verdict)}"
        state = State("bad", STATES[verdict.outcome].symbol, verdict.outcome)
        return Reason(state, verdict.label, where, cut(words), anchor, self.anchor, row)

    # -- the section -------------------------------------------------------------------------------

    @cached_property
    def rows(self) -> tuple[QueryRow, ...]:
        """The row of each query, worst first."""
        return self.queries.views()

    def listed(self) -> Iterator[Listed]:
        """The first queries, for readers without scripts."""
        return self.queries.listed(self.rows[:LISTED], DETAILED)

    @property
    def noted(self) -> Mapping[str, str]:
        """Notes beside the names of the tabs: how much is to be seen there."""
        counts = {chip.key: chip.count for chip in self.queries.chips(self.rows)}
        key = next((key for key in ("failed", "worse") if counts.get(key)), "")
        broken = len(self.story.damage.failed_limits)
        return {
            "queries": f"{counts[key]} {key}" if key else "",
            "limits": f"{broken} broken" if broken else "",
            "slices": str(len({mean.tag for mean in self.result.means if mean.tag}) or ""),
        }

    @property
    def notes(self) -> tuple[str, ...]:
        story = self.story
        return (story.ledger, *story.notes, *self.result.written)

    @property
    def exams(self) -> Iterator[tuple[str, Table]]:
        """The suites of the base, each with its differences from today's."""
        exams = map(in_full, self.result.exams)
        return ((said, differences.most(DIFFERENCES)) for said, differences in exams)

    def movers(self) -> Iterator[tuple[str, str]]:
        """Documents that moved in several queries, each with the search that lists these."""
        damage = self.story.damage
        for document, times in [*damage.vanished, *damage.risen][:MOVERS]:
            yield f"{document.title or document.id} ({times})", f'doc:"{document.id}"'

    def fates(self) -> Iterator[tuple[str, str]]:
        """Places at which passages or documents were lost, each with the search for its queries."""
        for count in self.result.fates.counts if self.result.fates else ():
            if count.now and count.fate != "found":
                yield f"{FATES[count.fate]} ({count.now})", f'fate:"{FATES[count.fate]}"'

    @property
    def coverage_top(self) -> str:
        """The share of the places that weigh most that nobody has judged."""
        top = [document for query in self.result.queries for document in query.ranking[:3]]
        unjudged = sum(document.grade is None for document in top)
        if not unjudged or not self.result.returned:
            return ""
        places = f"{share(unjudged, len(top))} places in the top 3 hold an unjudged document"
        return f"{places}; `--ir-judge=judge.html` writes a page to judge them in."
