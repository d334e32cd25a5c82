"""One suite and retriever, put into the words and widths that the page shows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from pytest_irquality.report.views import Reason
from pytest_irquality.verdict.result import SuiteResult, Verdict
from pytest_irquality.wording.block import STATES, Section, State, Table
from pytest_irquality.wording.examined import in_full
from pytest_irquality.wording.limit_table import Limits
from pytest_irquality.wording.losses import FATES
from pytest_irquality.wording.mean_tables import mark
from pytest_irquality.wording.numbers import counted, figure
from pytest_irquality.wording.query_table import HIDDEN, Queries
from pytest_irquality.wording.story import Story
from pytest_irquality.wording.told import told
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
    def queries(self) -> Queries:
        return Queries(self.result, self.story.damage)

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
            anchor = self.query(verdict.query or "")
        elif verdict.query is None:
            anchor = f"{self.anchor}-{self.limits.name(verdict)}"
        state = State("bad", STATES[verdict.outcome].symbol, verdict.outcome)
        return Reason(state, verdict.label, where, cut(words), anchor, self.anchor, row)

    # -- the section -------------------------------------------------------------------------------

    def query(self, id: str) -> str:
        """The anchor of a query's row; "" of what is none of the suite's."""
        row = self.queries.rows.get(id)
        return "" if row is None else f"{self.anchor}-q{row + 1}"

    def listed(self) -> Table:
        """The first queries, for readers without scripts."""
        table = self.queries.table
        shown = [at for at, column in enumerate(table.columns) if column.rank < HIDDEN]
        rows = tuple(
            row._replace(opens=self.queries.opened(query) if at < DETAILED else None)
            for at, (row, query) in enumerate(
                zip(table.rows[:LISTED], self.queries.ordered, strict=False)
            )
        )
        return table._replace(rows=rows).only(shown)

    @cached_property
    def chips(self) -> Mapping[str, tuple[str, int]]:
        """The filters of the table of queries: the words of each, and how many pass it."""
        table = self.queries.table
        passing = Counter(kind for row in table.rows for kind in row.kinds)
        return {kind: (words, passing[kind]) for kind, words in table.filters.items()}

    @property
    def noted(self) -> Mapping[str, str]:
        """Notes beside the names of the tabs: how much is to be seen there."""
        counts = {kind: many for kind, (_, many) in self.chips.items()}
        key = next((key for key in ("failed", "worse") if counts.get(key)), "")
        broken = len(self.story.damage.failed_limits)
        return defaultdict(
            str,
            Queries=f"{counts[key]} {key}" if key else "",
            Limits=f"{broken} broken" if broken else "",
            Slices=str(len({mean.tag for mean in self.result.means if mean.tag}) or ""),
        )

    @cached_property
    def told(self) -> Sequence[Section]:
        return told(self.story)

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
