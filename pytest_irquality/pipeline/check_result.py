"""The results of a suite, as ``check`` gives them: printed, asserted, shown in a notebook."""

from __future__ import annotations

import html
from dataclasses import dataclass

from pytest_irquality.report.failure import explain
from pytest_irquality.report.text import summary
from pytest_irquality.verdict import SuiteResult, Verdict
from pytest_irquality.verdict.result import BAD
from pytest_irquality.wording.reasons import reason
from pytest_irquality.wording.story import Story

COLUMNS = 120
HEIGHT = 720  # of the report in a notebook, in pixels


class SearchQualityError(AssertionError):
    """A suite that failed. Its text is what the terminal says of each check that failed."""


@dataclass(frozen=True)
class CheckResult:
    """The results of a suite, one for each retriever.

    Printed it says what the terminal says; in a notebook it shows as the report.
    """

    results: tuple[SuiteResult, ...]

    @property
    def failed(self) -> bool:
        """True where anything failed. A known issue that is still broken has not."""
        return any(result.failed for result in self.results)

    @property
    def failures(self) -> tuple[str, ...]:
        """Everything about each check that failed, as in pytest's FAILURES."""
        broken = [
            _full_text(result, verdict)
            for result in self.results
            for verdict in result.verdicts
            if verdict.outcome in BAD
        ]
        alarmed = [Story(result) for result in self.results if result.alarmed]
        return (*broken, *(f"{story.name}: {story.headline}" for story in alarmed))

    def raise_for_failures(self) -> None:
        """Raise ``SearchQualityError`` where anything failed."""
        __tracebackhide__ = True
        if self.failed:
            raise SearchQualityError("\n\n".join(self.failures))

    def to_html(self) -> str:
        """The report, a whole page."""
        from pytest_irquality.report.html import html_report  # noqa: PLC0415 - a page alone needs it

        return html_report(self.results)

    def __str__(self) -> str:
        return "\n\n".join((*self.failures, "\n".join(summary(self.results, COLUMNS))))

    def __repr__(self) -> str:
        stories = map(Story, self.results)
        outcomes = (f"{story.name}: {story.headline}" for story in stories)
        return f"<{type(self).__name__} {'; '.join(outcomes)}>"

    def _repr_html_(self) -> str:
        # In a frame of its own, where neither side's styles and scripts reach the other's.
        return (
            f'<iframe srcdoc="{html.escape(self.to_html())}" title="search quality"'
            f' style="width: 100%; height: {HEIGHT}px; border: 0"></iframe>'
        )


def _full_text(result: SuiteResult, verdict: Verdict) -> str:
    if verdict.outcome in ("failed", "fixed"):
        return explain(result, verdict)
    return f"{reason(result, verdict)}\n  at {result.place(verdict)}"
