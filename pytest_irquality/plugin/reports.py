"""The files that are written about all results: each is a line here, and a module in ``report/``.

A report has an option, which says where it goes, and a function that makes its text. What a
function needs it imports itself: this module is imported by every run of pytest.
"""

# ruff: noqa: PLC0415 - see above

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from pytest_irquality.plugin.declared import Declared, Text, at_least_one

if TYPE_CHECKING:
    from pytest_irquality.verdict import SuiteResult
    from pytest_irquality.verdict.pool import Pool

NONE = "none"
OUT = "-"


class Gathered(NamedTuple):
    """Results of a session, of which reports are made.

    ``missing`` are the suites that were collected and have no result, ``left_out`` those of which
    nothing was meant to be judged; ``pools`` is what there is
    to grade, what could move a verdict most first (empty without ``--ir-judge``). ``judging``
    is where a page to grade in goes, ``path`` where the report goes that is made.
    """

    results: Sequence[SuiteResult]
    missing: Sequence[str]
    left_out: Sequence[str]
    pools: Sequence[Pool]
    judging: str = ""
    path: str = ""


@dataclass(eq=False)
class Report(Text):
    """A report, and the option that says where it goes.

    ``make`` gives its text. ``default`` is where it goes unasked, where there is a result; 'none'
    then is for no file. ``also`` is an environment variable that names a file to add it to.
    ``what`` and ``amount`` are how the terminal speaks of it.
    """

    make: Callable[[Gathered], str] = field(kw_only=True)
    default: str | None = field(default=None, kw_only=True)
    also: str = field(default="", kw_only=True)
    what: str = field(default="report", kw_only=True)
    amount: Callable[[Gathered], str] = field(default=lambda gathered: "", kw_only=True)

    def path(self, given: Declared, gathered: Gathered) -> str | None:
        """Path it is written to, from where pytest was called; None: to no file."""
        asked = self.read(given)
        if self.default is None:
            return None if asked == OUT else asked
        path = asked or (self.default if gathered.results else NONE)
        return None if path == NONE else path


def _html(gathered: Gathered) -> str:
    from pytest_irquality.report.html import html_report
    from pytest_irquality.report.judging import to_settle

    settle = to_settle(gathered.judging, gathered.path, gathered.pools)
    return html_report(gathered.results, gathered.missing, gathered.left_out, settle)


def _json(gathered: Gathered) -> str:
    from pytest_irquality.report.data import document

    return document(gathered.results, gathered.missing, gathered.left_out)


def _markdown(gathered: Gathered) -> str:
    from pytest_irquality.report.markdown import markdown_report

    missing, left_out = gathered.missing, gathered.left_out
    return markdown_report(gathered.results, not_evaluated=missing, left_out=left_out)


def _judging(gathered: Gathered) -> str:
    from pytest_irquality.report.judging import to_be_graded

    return to_be_graded(gathered.path, gathered.pools)


def _to_grade(gathered: Gathered) -> str:
    from pytest_irquality.report.judging import to_grade

    return to_grade(gathered.path, gathered.pools)


class Reports(Declared):
    """All of them, in the order in which they are written."""

    report = Report(
        "Write the HTML report to PATH, or none where PATH is 'none' (default: ir-report.html).",
        make=_html,
        default="ir-report.html",
    )
    json = Report(
        "Write everything in the report as JSON to PATH; '-' is for a short JSON document on"
        " standard output, all else then goes to standard error (default: not written).",
        make=_json,
    )
    markdown = Report(
        "Write the report as Markdown to PATH (default: only to $GITHUB_STEP_SUMMARY, where that"
        " is set).",
        make=_markdown,
        also="GITHUB_STEP_SUMMARY",
    )
    judge = Report(
        "Write what nobody has graded yet, to the first N results of each query, as a page to grade"
        " in (.html) or a list to fill in (.csv) (default: not written; N is the suite's top_k).",
        "PATH[,depth=N]",
        suffixes=(".html", ".csv"),
        words={"depth": at_least_one},
        make=_judging,
        what="to grade",
        amount=_to_grade,
    )

    @classmethod
    def reports(cls) -> Iterator[Report]:
        """Reports that can be written."""
        return (option for option in cls.settings() if isinstance(option, Report))
