"""The Markdown report, for comments and job summaries."""

from __future__ import annotations

import re

from markupsafe import Markup

from pytest_irquality.io.files import OUTPUT_MARKER
from pytest_irquality.reports.numbers import MARKS
from pytest_irquality.reports.query_rows import QUERY_COLUMNS
from pytest_irquality.reports.templating import create_markdown_environment
from pytest_irquality.reports.view_model import View

# A comment on GitHub may have 65,536 characters.
MAX_CHARACTERS = 65_000
MAX_ROWS = 20
MAX_ROWS_BRIEF = 5


def render_markdown(view: View) -> str:
    """Render the report as Markdown of at most 65,000 characters."""
    text = _render(view, limit=MAX_ROWS, is_brief=False)
    if len(text) > MAX_CHARACTERS:
        text = _render(view, limit=MAX_ROWS_BRIEF, is_brief=True)
    if len(text) > MAX_CHARACTERS:
        # Only very long texts from data get here. A cut at the end of a line keeps rows intact.
        text = text[: text.rindex("\n", 0, MAX_CHARACTERS) + 1]
    return text


def _render(view: View, *, limit: int, is_brief: bool) -> str:
    not_passed = [check for check in view.checks if check.outcome > 0 or check.known_issue]
    # Thresholds of tags that hold are a long list.
    tiles = view.suites[0].tiles if view.suites else ()
    loud_tiles = [tile for tile in tiles if not tile.tag or tile.outcome > 0]
    text = (
        create_markdown_environment()
        .get_template("report.md")
        .render(
            view=view,
            marker=Markup(OUTPUT_MARKER),
            columns=QUERY_COLUMNS,
            marks=MARKS,
            failed_checks=not_passed,
            loud_tiles=loud_tiles,
            has_hidden_tiles=len(loud_tiles) < len(tiles),
            has_retrievers=len({suite.retriever for suite in view.suites}) > 1,
            limit=limit,
            is_brief=is_brief,
        )
    )
    return re.sub(r"\n{3,}", "\n\n", text)
