"""Retrieval: from a suite and whatever the user's fixture is to a run.

A run is what was returned for each query, or why nothing was.
"""

from pytest_irquality.retrieval.call import RetrieverError as RetrieverError
from pytest_irquality.retrieval.details import Details as Details
from pytest_irquality.retrieval.pace import Pace as Pace
from pytest_irquality.retrieval.retrieve import retrieve as retrieve
from pytest_irquality.retrieval.run import (
    Answer as Answer,
    Fault as Fault,
    Ranking as Ranking,
    Run as Run,
)
from pytest_irquality.retrieval.wrappers import UnreadableResult as UnreadableResult
