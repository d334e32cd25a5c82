"""The Markdown report, for comments and job summaries."""

from __future__ import annotations

import re

from markupsafe import Markup

from pytest_irquality.io.files import OUTPUT_MARKER
from pytest_irquality.reports.numbers import MARKS, format_check_values
from pytest_irquality.reports.query_rows import QUERY_COLUMNS
from pytest_irquality.reports.templating import create_markdown_environment
from pytest_irquality.reports.view_model import View

# A comment on GitHub may have 65,536 characters.
MAX_CHARACTERS = 65_000
MAX_ROWS = 20


def render_markdown(view: View) -> str:
    """Render the report as Markdown of at most 65,000 characters."""
    # Thresholds of tags that hold are a long list.
    tiles = view.suites[0].shown_tiles if view.suites else ()
    loud_tiles = [tile for tile in tiles if not tile.tag or tile.outcome > 0]
    template = create_markdown_environment().get_template("report.md")
    text = template.render(
        view=view,
        marker=Markup(OUTPUT_MARKER),
        columns=QUERY_COLUMNS,
        check_values=format_check_values,
        marks=MARKS,
        failed_checks=[check for check in view.checks if check.outcome > 0 or check.known_issue],
        loud_tiles=loud_tiles,
        has_hidden_tiles=len(loud_tiles) < len(tiles),
        limit=MAX_ROWS,
    )
    text = re.sub(r"\n{3,}", "\n\n", text)
    if len(text) > MAX_CHARACTERS:
        # A cut at the end of a line keeps rows intact.
        text = text[: text.rindex("\n", 0, MAX_CHARACTERS) + 1]
    return text
