"""What a pull request shows: a comment or job summary in Markdown, and annotations of lines."""

from __future__ import annotations

import re
from pathlib import Path

from pytest_irquality.evaluation.results import CheckResult, Outcome
from pytest_irquality.io.escaping import escape_workflow_message, escape_workflow_property
from pytest_irquality.reports.templating import create_markdown_environment
from pytest_irquality.reports.terminal import fit
from pytest_irquality.reports.tiles import MARKS, format_check_values
from pytest_irquality.reports.view_model import View
from pytest_irquality.suite.mistakes import Location

# A comment on GitHub may have 65,536 characters.
MAX_CHARACTERS = 65_000
MAX_ROWS = 20


def render_markdown(view: View) -> str:
    """Render the report as Markdown of at most 65,000 characters."""
    # Thresholds of tags that hold are a long list.
    tiles = view.suites[0].shown_tiles if view.suites else ()
    loud_tiles = [tile for tile in tiles if not tile.tag or tile.outcome > 0]
    columns = view.names.columns
    template = create_markdown_environment().get_template("report.md")
    text = template.render(
        view=view,
        list_filled_columns=lambda rows: [each for each in columns if any(map(each.read, rows))],
        check_values=format_check_values,
        marks=MARKS,
        failed_checks=[check for check in view.checks if check.outcome > 0 or check.known_issue_id],
        loud_tiles=loud_tiles,
        has_hidden_tiles=len(loud_tiles) < len(tiles),
        limit=MAX_ROWS,
    )
    text = re.sub(r"\n{3,}", "\n\n", text)
    if len(text) > MAX_CHARACTERS:
        # A cut at the end of a line keeps rows intact.
        text = text[: text.rindex("\n", 0, MAX_CHARACTERS) + 1]
    return text


# -- Annotations -----------------------------------------------------------------------------------

# GitHub shows ten annotations of each kind for a step.
MAX_ANNOTATIONS = 10
MAX_TITLE = 80

Annotation = tuple[Location, str, str]
"""A place in a file, a title and a text."""


def render_annotations(view: View, *, root: Path, repository: Path | None = None) -> str:
    """Render workflow commands. Print them only if ``GITHUB_ACTIONS`` is set.

    Args:
        view: The content.
        root: The folder that paths of suites are relative to.
        repository: The folder that GitHub wants paths relative to.

    Returns:
        At most ten errors and ten warnings, one a line, or an empty string.
    """
    errors: list[Annotation] = []
    warnings = [_annotate_check(check) for check in view.base_checks]
    for check in view.checks:
        if check.outcome >= Outcome.FAILED:
            errors.append(_annotate_check(check))
        elif check.is_warning:
            warnings.append(_annotate_check(check))
    if view.outcome is not Outcome.PASSED:
        is_error = view.outcome >= Outcome.FAILED
        (errors if is_error else warnings).insert(0, _write_conclusion(view))
    lines = []
    for kind, found in (("error", errors), ("warning", warnings)):
        for annotation in found[:MAX_ANNOTATIONS]:
            lines.append(_format_command(kind, annotation, root, repository))
    return "".join(f"{line}\n" for line in lines)


def _write_conclusion(view: View) -> Annotation:
    causes = [message.text for message in view.causes]
    texts = [view.headline, view.summary, *causes, view.coverage_line]
    paths = [message.suite_path for message in view.causes] + [suite.path for suite in view.suites]
    location = Location(next(filter(None, paths), ""), 1)
    text = "\n".join(str(text) for text in texts if text)
    return location, f"{view.outcome.name}: {view.header.suite}", text


def _annotate_check(check: CheckResult) -> Annotation:
    location = check.location if check.location.path else Location(check.suite_path, 1)
    return location, f"{check.subject}: {check.label}", str(check.text)


def _format_command(kind: str, annotation: Annotation, root: Path, repository: Path | None) -> str:
    location, title, text = annotation
    properties = []
    if location.path:
        path = _make_relative(location.path, root, repository)
        properties = [f"file={escape_workflow_property(path)}", f"line={location.line}"]
    properties.append(f"title={escape_workflow_property(fit(title, MAX_TITLE))}")
    return f"::{kind} {','.join(properties)}::{escape_workflow_message(text)}"


def _make_relative(path: str, root: Path, repository: Path | None) -> str:
    absolute = (root / path).resolve()
    if repository is None or not absolute.is_relative_to(repository.resolve()):
        return path
    return absolute.relative_to(repository.resolve()).as_posix()
