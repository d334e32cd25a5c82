"""The HTML report: one self-contained page, drawn from ``SuiteResult`` by way of plain view values.

Everything a person reads is put into words before the templates and the script see it; they only
lay it out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any, NamedTuple

from markupsafe import Markup

from pytest_irquality.edges.collector import no_cycles
from pytest_irquality.edges.git import package_version
from pytest_irquality.report import page_data
from pytest_irquality.report.assets import asset, environment
from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.wording.acceptance import accepted
from pytest_irquality.wording.audit_lines import audit_of
from pytest_irquality.wording.block import LEVELS, Section, Space, State
from pytest_irquality.wording.mean_tables import mark, retrievers, suites
from pytest_irquality.wording.query_table import Queries
from pytest_irquality.wording.stories import overall, worst_first
from pytest_irquality.wording.story import Story
from pytest_irquality.wording.workbench import workbench

SPACE = Space(rows=500)
TITLES = {"FAILED": "FAIL", "": "PASS", "passed": "PASS"}


class SuiteView(NamedTuple):
    """A suite and retriever on the page.

    Its ``anchor`` begins those of its queries and limits, apart from other results on the page.
    """

    anchor: str
    story: Story
    queries: Queries
    sections: Sequence[Section]
    state: State

    @property
    def tabs(self) -> Mapping[str, Sequence[Section]]:
        """The sections of each tab but the first."""
        tabs = dict.fromkeys(section.tab for section in self.sections)
        named = {tab: [one for one in self.sections if one.tab == tab] for tab in tabs}
        return {tab: every for tab, every in named.items() if tab != "Overview"}

    def query(self, id: str) -> str:
        """The anchor of a query's row."""
        return f"{self.anchor}-q{self.queries.rows[id] + 1}"


@no_cycles()
def html_report(
    results: Sequence[SuiteResult],
    not_evaluated: Sequence[str] = (),
    left_out: Sequence[str] = (),
    settle: tuple[str, str] | None = None,
) -> str:
    """The whole page, which says when and by what it was made.

    ``settle`` are the words and the address of a link to where the verdict can be settled.
    """
    page = _page(results, not_evaluated, left_out)
    return (
        environment()
        .get_template("report.html")
        .render(
            page=page,
            version=package_version(),
            now=datetime.now(),
            settle=settle,
            style=asset("style.css"),
            script=asset("shared.js", "report.js"),
            pictures=any(result.fields for result in results),
            data=Markup(page_data.packed([section.queries for section in page["sections"]])),
        )
    )


def _page(
    results: Sequence[SuiteResult],
    not_evaluated: Sequence[str],
    left_out: Sequence[str],
) -> Mapping[str, Any]:
    """Values that the template draws; suites and retrievers the worst first."""
    stories, several = worst_first(results), len(results) > 1
    headline = overall(stories, left_out, not_evaluated)
    named = ", ".join(dict.fromkeys(result.suite for result in results)) or "search quality"
    formulas = dict(chain(*(zip(r.measures, r.formulas, strict=True) for r in results)))
    shown = dict.fromkeys(measure for result in results for measure in result.shown)
    return {
        "title": f"{TITLES.get(headline.word, headline.word)}: {named}",
        "state": State(headline.level, LEVELS[headline.level], headline.verdict),
        "headline": headline.beside,
        "accepted": [line for result in results for line in accepted(result)],
        "not_evaluated": (*not_evaluated, *left_out),
        "audits": audit_of(results),
        "sections": [_section(f"s{n}", story) for n, story in enumerate(stories, 1)],
        "suites": suites(stories) if several else None,
        "retrievers": tuple(retrievers(results)),
        "definitions": {
            measure: (f"measure-{number}", formulas[measure])
            for number, measure in enumerate(shown, 1)
        },
    }


def _section(anchor: str, story: Story) -> SuiteView:
    queries = Queries(story.result, story.damage)
    sections = [section.within(SPACE) for section in workbench(story, queries)]
    return SuiteView(anchor, story, queries, sections, mark(story))
