"""GitHub's annotations, as workflow commands.

Causes come first, then the worst failures beside their lines of the suite file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from pytest_irquality.edges.printable import workflow, workflow_property
from pytest_irquality.verdict.result import SuiteResult, Verdict
from pytest_irquality.wording.reasons import reason, short_reason
from pytest_irquality.wording.sentences import sentence
from pytest_irquality.wording.stories import worst_first
from pytest_irquality.wording.story import Story
from pytest_irquality.wording.words import cut

MOST = 10
"""As many of a kind as GitHub shows for one step."""
SUITES, LIMITS = 3, 3
"""How many suites' causes, and how many of a suite's broken limits, come before the queries."""


class Annotation(NamedTuple):
    """A text at a line of a file."""

    path: str
    line: int
    title: str
    text: str


def github_annotations(
    results: Sequence[SuiteResult], folder: Path, root: Path | None = None
) -> Iterator[str]:
    """``::error file=search/shop.ir.yaml,line=7,title=...::...``: causes, then the worst.

    Never more than ten of a kind. Paths of suites are relative to ``folder``; GitHub wants them
    relative to the repository, ``root``.
    """
    stories = worst_first(results)
    failed = [story for story in stories if story.state == "failed"]
    errors = [*map(_causes, failed[:SUITES]), *_failures(failed)]
    warnings = [annotation for story in stories for annotation in _warnings(story)]
    for kind, some in (("error", errors), ("warning", warnings)):
        for annotation in some[:MOST]:
            yield _command(kind, annotation, folder, root)


def _causes(story: Story) -> Annotation:
    """The fate of a suite and its causes, at the query that lost most, or at the top."""
    lines = [story.headline, story.compared, *story.causes, *story.rests_on]
    path, line = story.result.path, 1
    if story.damage.worse:
        worst = story.damage.worse[0]
        path, line = worst.file or path, worst.line
    return Annotation(path, line, story.name, "\n".join(filter(None, lines)))


def _failures(stories: Sequence[Story]) -> Iterator[Annotation]:
    """A few broken limits of each suite, and the queries of all of them, the worst first."""
    ranked = []
    for story in stories:
        failed = [verdict for verdict, _ in story.failures()]
        limits = [verdict for verdict in failed if verdict.query is None][:LIMITS]
        for verdict in (*limits, *(verdict for verdict in failed if verdict.query is not None)):
            at = verdict.query is not None, -story.damage.of(verdict)
            ranked.append((at, story, verdict))
    for _, story, verdict in sorted(ranked, key=itemgetter(0)):
        yield _failure(story, verdict)


def _failure(story: Story, verdict: Verdict) -> Annotation:
    result = story.result
    path, line = story.damage.place(verdict)
    query = result.by_id.get(verdict.query or "")
    label = cut(query.text, 80) if query else verdict.label
    return Annotation(path, line, f"{story.name}: {label}", short_reason(result, verdict))


def _warnings(story: Story) -> Iterator[Annotation]:
    result = story.result
    for verdict in result.verdicts:
        title = f"{story.name}: {verdict.label}"
        if verdict.outcome == "accepted":
            text = f"accepted by this change: {reason(result, verdict)}"
            yield Annotation(verdict.file or result.path, verdict.line, title, text)
        for finding in verdict.findings:
            if not finding.fails and not finding.ok:
                text = sentence(result, verdict, finding)
                yield Annotation(verdict.file or result.path, verdict.line, title, text)


def _command(kind: str, annotation: Annotation, folder: Path, root: Path | None) -> str:
    path, line, title, text = annotation
    place = f"file={workflow_property(_file(path, folder, root))},line={line}"
    return f"::{kind} {place},title={workflow_property(title)}::{workflow(text)}"


def _file(path: str, folder: Path, root: Path | None) -> str:
    whole = (folder / path).resolve()
    if root is not None and whole.is_relative_to(root.resolve()):
        return whole.relative_to(root.resolve()).as_posix()
    return str(PurePosixPath(Path(path)))
