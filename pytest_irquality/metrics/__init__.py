"""Measures of search quality: names, definitions, and one pass that scores a run.

The room knows rankings and grades only.
"""

from pytest_irquality.metrics.definition import Definition as Definition, Parameter as Parameter
from pytest_irquality.metrics.errors import MeasureError as MeasureError
from pytest_irquality.metrics.evaluation import evaluate as evaluate
from pytest_irquality.metrics.hits import Hits as Hits
from pytest_irquality.metrics.judgments import Judgments as Judgments
from pytest_irquality.metrics.measure import Measure as Measure
from pytest_irquality.metrics.names import parse_measure as parse_measure
from pytest_irquality.metrics.own import own_measure as own_measure
from pytest_irquality.metrics.scores import Aggregate as Aggregate, Scores as Scores
