"""GitHub's annotations: each failure beside its line of the suite file, as workflow commands in the
output.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from pytest_irquality.edges.printable import workflow, workflow_property
from pytest_irquality.verdict.result import BAD, SuiteResult, Verdict
from pytest_irquality.wording.sentences import reason, sentence

SHOWN = 10
"""Of a kind, as many as GitHub shows for one step."""


def github_annotations(
    results: Sequence[SuiteResult], folder: Path, root: Path | None = None
) -> Iterator[str]:
    """``::error file=search/shop.ir.yaml,line=7,title=ndcg@10::...``: limits first, then queries.

    Paths of suites are relative to ``folder``; GitHub wants them relative to the repository,
    ``root``.
    """
    failed, warned = [], []
    for result in results:
        suite = f"{result.suite} [{result.retriever}]" if result.retriever else result.suite
        for verdict in sorted(result.verdicts, key=lambda verdict: verdict.scope == "query"):
            file = _file(verdict.file or result.path, folder, root)
            if verdict.outcome in BAD:
                failed.append(_command("error", file, verdict, suite, reason(result, verdict)))
            elif verdict.outcome == "accepted":
                text = f"accepted by this change: {reason(result, verdict)}"
                warned.append(_command("warning", file, verdict, suite, text))
            warnings = [
                sentence(result, verdict, finding)
                for finding in verdict.findings
                if not finding.fails and not finding.ok
            ]
            warned += [_command("warning", file, verdict, suite, text) for text in warnings]
    for commands in (failed, warned):
        yield from commands[:SHOWN]


def _file(path: str, folder: Path, root: Path | None) -> str:
    whole = (folder / path).resolve()
    if root is not None and whole.is_relative_to(root.resolve()):
        return whole.relative_to(root.resolve()).as_posix()
    return str(PurePosixPath(Path(path)))


def _command(kind: str, file: str, verdict: Verdict, suite: str, text: str) -> str:
    title = f"{suite}: {verdict.label}"
    place = f"file={workflow_property(file)},line={verdict.line}"
    return f"::{kind} {place},title={workflow_property(title)}::{workflow(text)}"
