"""Measures of search quality: names, definitions, and one pass that scores a run. Knows rankings
and grades only.
"""

from __future__ import annotations

from pytest_irquality.metrics.catalogue import DEFINITIONS, with_own
from pytest_irquality.metrics.definition import Definition, Parameter
from pytest_irquality.metrics.errors import MeasureError
from pytest_irquality.metrics.evaluation import evaluate, scored, see
from pytest_irquality.metrics.hits import Hits
from pytest_irquality.metrics.judgments import Judgments
from pytest_irquality.metrics.measure import Measure
from pytest_irquality.metrics.names import parse_measure
from pytest_irquality.metrics.own import own_measure
from pytest_irquality.metrics.scores import Aggregate, Scores

__all__ = [
    "DEFINITIONS",
    "Aggregate",
    "Definition",
    "Hits",
    "Judgments",
    "Measure",
    "MeasureError",
    "Parameter",
    "Scores",
    "evaluate",
    "own_measure",
    "parse_measure",
    "scored",
    "see",
    "with_own",
]
