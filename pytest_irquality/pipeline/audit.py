"""``--ir-audit``: what the retriever says of judged documents, and the audit that follows from
it.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_irquality.retrieval.run import Run
from pytest_irquality.storage.provenance import Baseline
from pytest_irquality.suite.model import Check, Suite
from pytest_irquality.verdict.audit import audit, judged_documents
from pytest_irquality.verdict.audit_facts import Audit
from pytest_irquality.verdict.facts import Finding, Lack
from pytest_irquality.verdict.judge import judge
from pytest_irquality.verdict.measured import Measured
from pytest_irquality.verdict.passages import by_passages
from pytest_irquality.verdict.result import SuiteResult, Verdict

BATCH = 1000


class ExistsError(Exception):
    """The retriever's own ``exists`` or ``exists_all`` does not answer as it should."""


def audited(
    suite: Suite,
    run: Run,
    result: SuiteResult,
    retriever: object,
    *,
    before: Run | None = None,
    baseline: Baseline | None = None,
) -> SuiteResult:
    """The result with an audit, and a verdict on each of its limits."""

    def judged(other: Suite, its_run: Run, checks: Sequence[Check]) -> SuiteResult:
        return judge(other, its_run, checks, before=before, baseline=baseline)

    exists, no_answer = None, ""
    if documents := judged_documents(suite):
        try:
            exists = existing(retriever, documents)
        except ExistsError as error:
            no_answer = str(error)
    now = Measured(suite, by_passages(suite, run), before and by_passages(suite, before, today=run))
    found = audit(now, result, judged, exists=exists, no_answer=no_answer)
    verdicts = [_verdict(check, found) for check in suite.checks if check.audit]
    return replace(result, audit=found, verdicts=(*result.verdicts, *verdicts))


def _verdict(check: Check, found: Audit) -> Verdict:
    assert check.audit is not None
    kind, most = check.audit
    value = found.count(kind)
    unknown = kind == "dead" and found.dead is None
    finding = Finding(
        subject="",
        kind=kind,
        ok=not unknown and value <= most,
        value=None if unknown else float(value),
        limit=float(most),
        unit="count",
        lacks=Lack("exists") if unknown else None,
    )
    return Verdict(
        check=check.name,
        label=check.label,
        line=check.place.line,
        outcome="passed" if finding.ok else "failed",
        findings=(finding,),
        scope="audit",
        file=check.place.path,
    )


def existing(retriever: object, documents: Sequence[str]) -> Mapping[str, bool] | None:
    """Which documents still exist, asked for all of them; None where the retriever cannot tell."""
    at_once, one = (getattr(retriever, name, None) for name in ("exists_all", "exists"))
    if callable(at_once):
        found: dict[str, bool] = {}
        for start in range(0, len(documents), BATCH):
            batch = documents[start : start + BATCH]
            found.update(_all(at_once, batch))
        return found
    if callable(one):
        return {document: bool(_answer(one, document)) for document in documents}
    return None


def _all(method: Any, documents: Sequence[str]) -> Mapping[str, bool]:
    """What ``exists_all`` says: a mapping, a set of those that exist, or an answer each in
    order.
    """
    answer = _answer(method, list(documents))
    if isinstance(answer, Mapping):
        return {document: bool(answer.get(document)) for document in documents}
    if isinstance(answer, (set, frozenset)):
        return {document: document in answer for document in documents}
    if isinstance(answer, (list, tuple)) and len(answer) == len(documents):
        return dict(zip(documents, map(bool, answer), strict=True))
    raise ExistsError(
        f"exists_all must give a bool for each id, a mapping, or the set of those that exist, not"
        f" {type(answer).__name__}"
    )


def _answer(method: Any, asked: Any) -> Any:
    name = getattr(method, "__name__", "exists")
    try:
        answer = method(asked)
    except Exception as error:
        raise ExistsError(f"{name} raised {type(error).__name__}: {error}") from error
    if inspect.iscoroutine(answer):
        answer.close()
        raise ExistsError(f"{name} is async, and cannot be asked by --ir-audit")
    return answer
