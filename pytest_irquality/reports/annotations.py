"""Annotations on GitHub, which show failures next to the lines of suites."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_irquality.evaluation.results import Outcome
from pytest_irquality.io.escaping import escape_workflow_message, escape_workflow_property
from pytest_irquality.io.text import Text
from pytest_irquality.reports.terminal import fit
from pytest_irquality.reports.view_model import CheckRow, View
from pytest_irquality.suite.model import Location

# GitHub shows ten annotations of each kind for a step.
MAX_ANNOTATIONS = 10
MAX_TITLE = 80


@dataclass(frozen=True)
class _Annotation:
    """A text at a line of a file."""

    location: Location
    title: str
    text: str


def render_annotations(view: View, *, root: Path, repository: Path | None = None) -> str:
    """Render workflow commands. Print them only if ``GITHUB_ACTIONS`` is set.

    Args:
        view: The content.
        root: The folder that paths of suites are relative to.
        repository: The folder that GitHub wants paths relative to.

    Returns:
        At most ten errors and ten warnings, one a line, or an empty string.
    """
    errors = list(_iter_errors(view))[:MAX_ANNOTATIONS]
    warnings = list(_iter_warnings(view))[:MAX_ANNOTATIONS]
    lines = []
    for kind, shown in (("error", errors), ("warning", warnings)):
        for annotation in shown:
            lines.append(_format_command(kind, annotation, root, repository))
    return "".join(f"{line}\n" for line in lines)


def _iter_errors(view: View) -> Iterator[_Annotation]:
    """Yield the conclusion, then the failed checks at their lines."""
    if view.outcome >= Outcome.FAILED:
        yield _create_conclusion(view)
    for check in view.checks:
        if check.outcome >= Outcome.FAILED:
            yield _annotate_check(check)


def _iter_warnings(view: View) -> Iterator[_Annotation]:
    if view.outcome in (Outcome.INCOMPLETE, Outcome.REVIEW):
        yield _create_conclusion(view)
    for check in (*view.base_checks, *view.checks):
        if check.is_warning or check in view.base_checks:
            yield _annotate_check(check)


def _create_conclusion(view: View) -> _Annotation:
    paths = [message.suite_path for message in view.causes if message.suite_path]
    paths += [suite.path for suite in view.suites]
    text = "\n".join(map(str, _list_texts(view)))
    return _Annotation(
        Location(paths[0] if paths else "", 1), f"{view.outcome.name}: {view.header.suite}", text
    )


def _annotate_check(check: CheckRow) -> _Annotation:
    location = check.location if check.location.path else Location(check.suite_path, 1)
    return _Annotation(location, f"{check.subject}: {check.label}", str(check.text))


def _list_texts(view: View) -> list[Text]:
    texts = [view.headline, view.summary]
    texts += [message.text for message in view.causes]
    texts.append(view.coverage_line)
    return [text for text in texts if text]


def _format_command(kind: str, annotation: _Annotation, root: Path, repository: Path | None) -> str:
    path = _make_relative(annotation.location.path, root, repository)
    properties = [f"line={annotation.location.line}"] if path else []
    if path:
        properties.insert(0, f"file={escape_workflow_property(path)}")
    properties.append(f"title={escape_workflow_property(fit(annotation.title, MAX_TITLE))}")
    return f"::{kind} {','.join(properties)}::{escape_workflow_message(annotation.text)}"


def _make_relative(path: str, root: Path, repository: Path | None) -> str:
    if not path or repository is None:
        return path
    absolute = (root / path).resolve()
    if not absolute.is_relative_to(repository.resolve()):
        return path
    return absolute.relative_to(repository.resolve()).as_posix()
