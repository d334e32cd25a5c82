"""The HTML report: one self-contained page, drawn from ``SuiteResult`` by way of plain view values.

Everything a person reads is put into words before the templates and the script see it; they only lay it out.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from importlib.resources import files
from types import MappingProxyType

import jinja2
from markupsafe import Markup

from pytest_irquality.edges.printable import visible
from pytest_irquality.report import page_data
from pytest_irquality.report.page import page_view
from pytest_irquality.verdict.result import SuiteResult


def html_report(
    results: Sequence[SuiteResult],
    *,
    definitions: Mapping[str, str] = MappingProxyType({}),
    not_evaluated: Sequence[str] = (),
    generated: str = "",
    now: datetime | None = None,
) -> str:
    """The whole page. ``definitions`` says what measures mean, ``generated`` when and by what the page was made.

    ``now`` is the time that a baseline's age is told from.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pytest_irquality.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    page = page_view(
        results, definitions, not_evaluated, generated, now or datetime.now(timezone.utc)
    )
    style, script = _source("style.css"), _source("report.js")
    return environment.get_template("report.html").render(
        page=page,
        style=Markup(style),
        style_hash=_hash(style),
        script=Markup(script),
        script_hash=_hash(script),
        rows=Markup(page_data.rows(page.sections)),
        details=Markup(page_data.details(page.sections)),
    )


def _source(name: str) -> str:
    return files("pytest_irquality.report").joinpath("templates", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
