"""The HTML report: one self-contained page, drawn from ``SuiteResult`` by way of plain view values.

Everything a person reads is put into words before the templates and the script see it; they only
lay it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from markupsafe import Markup

from pytest_irquality.edges.collector import no_cycles
from pytest_irquality.edges.git import package_version
from pytest_irquality.report import page_data
from pytest_irquality.report.assets import asset, environment
from pytest_irquality.report.page import page_view
from pytest_irquality.verdict.result import SuiteResult


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
    page = page_view(results, not_evaluated, left_out)
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
            data=Markup(page_data.packed(page["sections"])),
        )
    )
