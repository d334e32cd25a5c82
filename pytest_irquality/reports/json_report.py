"""The JSON report and its schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_irquality.reports.view import View


def render_json(view: View) -> str:
    """Render the complete report. Only its ``timing`` block differs between equal runs."""
    raise NotImplementedError


def render_short_json(
    view: View, *, exit_status: int | None = None, protected_paths: Sequence[str] = ()
) -> str:
    """Render the short document of ``--ir-json=-``, for a program that reads nothing else.

    Args:
        view: The content.
        exit_status: The exit status of pytest.
        protected_paths: Files that a program must not edit to make the build pass.

    """
    raise NotImplementedError


def create_schema() -> dict[str, Any]:
    """Create the JSON Schema of the report from the classes of the view."""
    raise NotImplementedError
