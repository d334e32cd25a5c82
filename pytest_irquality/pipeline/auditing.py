"""The audit of ``--ir-audit``, after the retriever was asked which documents exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pytest_irquality.edges.open import Allowed
from pytest_irquality.pipeline.corpus import Chunk, chunks_of
from pytest_irquality.retrieval.explain import ExistsError, existing
from pytest_irquality.retrieval.wrappers import UnreadableResult
from pytest_irquality.storage.found import Found
from pytest_irquality.suite import Audited, Check, Suite, SuiteError
from pytest_irquality.verdict.audit import audit, judged_documents
from pytest_irquality.verdict.audit_facts import Audit
from pytest_irquality.verdict.broken_builds import as_read
from pytest_irquality.verdict.comparison import compare
from pytest_irquality.verdict.findings import Finding, Lack
from pytest_irquality.verdict.result import SuiteResult, Verdict


def audited(
    suite: Suite,
    result: SuiteResult,
    today: Found,
    compared: Found,
    retriever: object,
    *,
    allowed: Allowed,
) -> SuiteResult:
    """Give the result with an audit, and a verdict on its limit.

    The corpus says which documents exist where the retriever does not; its files are ``allowed``.
    Where the audit fails, the result stands, and says so.
    """
    run, before, baseline = today.run, compared.run, compared.baseline
    assert run is not None
    try:
        exists, no_answer = _existing(suite, today, retriever, allowed)
        now = compare(suite, *as_read(suite, run, before)[:2], baseline)
        found = audit(now, result.verdicts, exists=exists, no_answer=no_answer)
    except Exception as error:  # a measure of a team's own may fail on rankings that nobody saw
        found = Audit(failed=f"{type(error).__name__}: {error}")
    verdicts = [
        _verdict(check, check.demand, found)
        for check in suite.checks
        if isinstance(check.demand, Audited)
    ]
    return replace(result, audit=found, verdicts=(*result.verdicts, *verdicts))


def _existing(
    suite: Suite, today: Found, retriever: object, allowed: Allowed
) -> tuple[Mapping[str, bool] | None, str]:
    """Tell which judged documents exist, None where nobody knows, and why that is not known."""
    documents = judged_documents(suite)
    if not documents:
        return None, ""
    try:
        exists = existing(retriever, documents)
        if exists is None:
            exists = _in_corpus(chunks_of(today.target, retriever, allowed), documents)
    except (ExistsError, SuiteError, UnreadableResult) as error:
        return None, str(error)
    return exists, ""


def _in_corpus(
    chunks: Iterator[Chunk] | None, documents: Sequence[str]
) -> Mapping[str, bool] | None:
    """Tell which documents a corpus has; None where none is known, or it has none of these."""
    there = {chunk.id for chunk in chunks or ()}
    return None if there.isdisjoint(documents) else {one: one in there for one in documents}


def _verdict(check: Check, limit: Audited, found: Audit) -> Verdict:
    number = None if found.failed or found.dead is None else len(found.dead)
    finding = Finding(
        subject="",
        kind=limit.key,
        ok=number is not None and number <= limit.most,
        value=None if number is None else float(number),
        limit=float(limit.most),
        unit="count",
        lacks=Lack("exists") if number is None else None,
    )
    return Verdict(
        check=check.name,
        label=check.label,
        line=check.place.line,
        outcome="passed" if finding.ok else "failed",
        findings=(finding,),
        scope=check.scope,
        file=check.place.path,
    )
