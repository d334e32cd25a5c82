"""The fate of documents between the first stage and the ranking, in words."""

from __future__ import annotations

from pytest_irquality.verdict.findings import Candidate, Stages
from pytest_irquality.wording.numbers import share


def staged(candidate: Candidate | None, rank: int | None) -> str:
    """The fate of a document between the first stage and the ranking; "" where it is not known.

    It is the end of a sentence.
    """
    if candidate is None:
        return ""
    if candidate.rank is None:
        return "never a candidate"
    if rank is None:
        return f"candidate {candidate.rank}, lost by the reranker"
    if rank == candidate.rank:
        return f"the reranker left it at {rank}"
    did = "sank" if rank > candidate.rank else "raised"
    return f"the reranker {did} it {candidate.rank} → {rank}"


def how_far(stages: Stages, k: int, before: Stages | None = None) -> str:
    """The numbers of relevant documents that were found, and that each stage lost.

    ``31 of 40 (78 %) in the top 10; 5 sunk by the reranker (1 before)``.
    """
    parts = [f"{share(stages.found, stages.relevant)} in the top {k}"]
    lost = (
        (stages.sunk, before.sunk if before else None, "sunk by the reranker"),
        (stages.never, before.never if before else None, "never among the candidates"),
    )
    for number, then, words in lost:
        was = "" if then is None or then == number else f" ({then} before)"
        if number or was:
            parts.append(f"{number} {words}{was}")
    return "; ".join(parts)
