"""The choice of a source: which runs are compared with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_irquality.edges.project import Project
from pytest_irquality.storage.baseline import BaselineFiles
from pytest_irquality.storage.commits import COMMITS, at_commit
from pytest_irquality.storage.found import Source
from pytest_irquality.storage.kept import KeptRuns
from pytest_irquality.storage.stored import StoredRunError

BASELINE = "--ir-baseline"


def compared_with(given: Sequence[str], project: Project, *, updating: bool = False) -> Source:
    """Give the source that the values of ``--ir-baseline`` stand for.

    Raises ``StoredRunError`` where they contradict each other, or name nothing that is there.
    """
    if not given:
        return BaselineFiles(project, updating=updating)
    commits = [one for one in given if one.startswith(COMMITS)]
    if commits and len(given) > 1:
        raise StoredRunError(
            f"{BASELINE} {commits[0]} stands alone: several of them are kept runs, a build each"
        )
    if commits:
        return at_commit(project, commits[0], accepting=not updating)
    if not updating:
        must_exist(given, project, BASELINE)
    if len(given) == 1:
        return BaselineFiles(project, given[0], updating)
    if updating:
        raise StoredRunError(
            f"--ir-update-baseline writes one baseline, and {BASELINE} names several: name one, and"
            " give the builds it is to hold by --ir-runs"
        )
    return KeptRuns(given, project, BASELINE)


def must_exist(given: Iterable[str], project: Project, option: str) -> None:
    """Raise ``StoredRunError`` for a file or folder that is to be read and is not there."""
    for name in given:
        if not (project.start / name).exists():
            hint = f"; a revision is git:{name}" if option == BASELINE else ""
            raise StoredRunError(f"{option} {name}: there is no such file or folder{hint}")
