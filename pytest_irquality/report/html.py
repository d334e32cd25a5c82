"""The HTML report: one self-contained page, drawn from ``SuiteResult`` by way of plain view values.

Everything a person reads is put into words before the templates and the script see it; they only
lay it out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType

from markupsafe import Markup

from pytest_irquality.edges.collector import no_cycles
from pytest_irquality.edges.git import package_version
from pytest_irquality.report import page_data
from pytest_irquality.report.assets import asset, environment
from pytest_irquality.report.page import page_view
from pytest_irquality.verdict.result import SuiteResult


def report_of(
    results: Sequence[SuiteResult],
    not_evaluated: Sequence[str] = (),
    left_out: Sequence[str] = (),
    settle: tuple[str, str] | None = None,
) -> str:
    """The page of today's results, which says when and by what it was made."""
    definitions: dict[str, str] = {}
    for result in results:
        definitions |= dict(zip(result.measures, result.formulas, strict=True))
    made = f"Made by pytest-irquality {package_version()} on {datetime.now():%Y-%m-%d at %H:%M}."
    return html_report(
        results,
        definitions=definitions,
        not_evaluated=not_evaluated,
        left_out=left_out,
        generated=made,
        settle=settle,
    )


@no_cycles()
def html_report(
    results: Sequence[SuiteResult],
    *,
    definitions: Mapping[str, str] = MappingProxyType({}),
    not_evaluated: Sequence[str] = (),
    left_out: Sequence[str] = (),
    generated: str = "",
    settle: tuple[str, str] | None = None,
) -> str:
    """The whole page.

    ``definitions`` says what measures mean, ``generated`` when and by what the page was made.
    ``settle`` are the words and the address of a link to where the verdict can be settled.
    """
    page = page_view(results, definitions, not_evaluated, left_out)
    return (
        environment()
        .get_template("report.html")
        .render(
            page=page,
            generated=generated,
            settle=settle,
            style=asset("style.css"),
            script=asset("shared.js", "report.js"),
            pictures=any(result.fields for result in results),
            data=Markup(page_data.packed(page["sections"])),
        )
    )
