"""Annotations on GitHub, which show failures next to the lines of suites."""

from __future__ import annotations

from pathlib import Path

from pytest_irquality.reports.view import View


def render_annotations(view: View, *, root: Path, repository: Path | None = None) -> str:
    """Render workflow commands. Print them only if ``GITHUB_ACTIONS`` is set.

    Args:
        view: The content.
        root: The folder that paths of suites are relative to.
        repository: The folder that GitHub wants paths relative to.

    """
    raise NotImplementedError
