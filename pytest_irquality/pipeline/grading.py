"""Gathering what there is to grade of a suite: what retrievers and kept runs returned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_irquality.edges.project import Project
from pytest_irquality.pipeline.corpus import chunks_of, on_a_page
from pytest_irquality.pipeline.judged import NotJudged
from pytest_irquality.retrieval.run import Run
from pytest_irquality.retrieval.wrappers import UnreadableResult
from pytest_irquality.storage.kept import KeptRuns
from pytest_irquality.storage.sources import BASELINE, must_exist
from pytest_irquality.storage.stored import StoredRunError
from pytest_irquality.storage.target import Target
from pytest_irquality.suite.yaml import SuiteError
from pytest_irquality.verdict.pool import Pool, pool


def to_grade(
    target: Target,
    runs: Sequence[Run],
    named: Sequence[str],
    retriever: object,
    project: Project,
    *,
    depth: int,
) -> Pool:
    """Give ``depth`` results of each query, of these runs and of all that were ``named``.

    Who grades may look for more in the corpus, which the ``retriever`` may tell. Raises
    ``NotJudged``.
    """
    try:
        must_exist(named, project, BASELINE)
        every = [*runs, *KeptRuns(named, project, BASELINE).every(target.suite)]
        corpus = on_a_page(chunks_of(target, retriever, project.allowed(target.file)))
    except (StoredRunError, SuiteError, UnreadableResult) as error:
        raise NotJudged(str(error)) from None
    return replace(pool(target.suite, every, depth), corpus=corpus)
