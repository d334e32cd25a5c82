"""One retriever's run, judged: the step that pytest's items and ``check`` share."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from pytest_irquality.pipeline.audit import audited
from pytest_irquality.pipeline.explain import explained
from pytest_irquality.pipeline.files import Against, Files, Target
from pytest_irquality.retrieval import Run
from pytest_irquality.suite import Check
from pytest_irquality.verdict import SuiteResult, judge
from pytest_irquality.verdict.facts import Unnoticed
from pytest_irquality.verdict.findings import Loss
from pytest_irquality.verdict.trend import Past


def judge_run(
    files: Files,
    target: Target,
    run: Run,
    *,
    checks: Collection[Check],
    compared: Against,
    retriever: object,
    notes: Sequence[str] = (),
    nowhere: Mapping[str, Loss] | None = None,
    audit: bool = False,
    past: Past | None = None,
) -> SuiteResult:
    """One retriever's run held against checks of its suite, with reasons, with an ``audit`` where
    one is asked for, and with what was written of it.

    ``nowhere`` are the passages that stand in no chunk of the corpus.

    Raises ``MeasureError`` where a measure of the project's own fails.
    """
    updating = (
        files.updating and target.suite.baseline_retriever is None
    )  # else no file would mend a drop
    asked = files.part(target.suite)
    result = judge(
        asked,
        run,
        checks,
        before=compared.run,
        baseline=compared.baseline,
        updating=updating,
        accepting=compared.accepting,
        past=past,
        nowhere=nowhere,
    )
    if files.shard:  # what would notice may be in another share
        facts = tuple(fact for fact in result.facts if not isinstance(fact, Unnoticed))
        result = replace(result, facts=facts)
    if audit:
        from pytest_irquality.pipeline.corpus import chunks_of  # noqa: PLC0415 - only for audits

        allowed = files.allowed(target.file)
        corpus = partial(chunks_of, asked, retriever, target.file.parent, allowed)
        before, known = compared.run, compared.baseline
        result = audited(asked, run, result, retriever, corpus, before=before, baseline=known)
    return files.completed(target, run, explained(result, retriever, asked), notes)


def version_of(retriever: object) -> str | None:
    """What a retriever says of its own version, to be kept with the baseline."""
    version = getattr(retriever, "version", None)
    return str(version) if isinstance(version, (str, int, float)) else None
