"""The limits of a first suite, where builds of its retriever are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_irquality.edges.project import Project
from pytest_irquality.pipeline.judged import NotJudged
from pytest_irquality.retrieval.run import Run
from pytest_irquality.storage.kept import KeptRuns
from pytest_irquality.storage.stored import StoredRunError
from pytest_irquality.suite.by_default import guarded
from pytest_irquality.suite.model import Suite
from pytest_irquality.verdict.build_gate import Gate
from pytest_irquality.verdict.gauge import FEWEST
from pytest_irquality.verdict.proposals import proposed
from pytest_irquality.wording.gauge_lines import limits


def kept_builds(suite: Suite, named: Sequence[str], project: Project) -> Sequence[Run]:
    """The kept runs, each a build, that answer every query. Raises ``NotJudged``."""
    try:
        every = [*KeptRuns(named, project).every(suite)]
    except StoredRunError as error:
        raise NotJudged(str(error)) from None
    return [run for run in every if run.answered >= suite.by_id.keys()]


def measured_limits(suite: Suite, builds: Sequence[Run]) -> Sequence[str]:
    """The lines of limits that builds of unchanged code hold; none where too few tell."""
    if len(builds) < FEWEST:
        return ()
    asked = guarded(suite)
    answers = [replace(run.first, build=number) for number, run in enumerate(builds)]
    gate = Gate(asked, Run("", tuple(answers)))
    return tuple(limits(proposed(gate, [(answer,) for answer in answers])))
