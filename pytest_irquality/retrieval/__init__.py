"""From a suite and whatever the user's fixture is to a run: what was returned for each query, or
why nothing was.
"""

from __future__ import annotations

from pytest_irquality.retrieval.call import RetrieverError
from pytest_irquality.retrieval.retrieve import Progress, retrieve
from pytest_irquality.retrieval.run import Answer, Fault, Ranking, Run
from pytest_irquality.retrieval.wrappers import UnreadableResult

__all__ = [
    "Answer",
    "Fault",
    "Progress",
    "Ranking",
    "RetrieverError",
    "Run",
    "UnreadableResult",
    "retrieve",
]
