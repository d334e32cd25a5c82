"""The Markdown report, for comments and job summaries."""

from __future__ import annotations

from pytest_irquality.reports.view import View


def render_markdown(view: View) -> str:
    """Render the report as Markdown of at most 65,000 characters."""
    raise NotImplementedError
