"""The HTML report: one file that needs no network."""

from __future__ import annotations

from pytest_irquality.reports.view import View


def render_html(view: View) -> str:
    """Render the report as one HTML file."""
    raise NotImplementedError
