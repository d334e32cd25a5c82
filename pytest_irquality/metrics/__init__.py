"""Metrics of search quality: definitions, names and scoring.

This package knows document ids and grades, but no queries, suites or runs.
"""

from pytest_irquality.metrics.catalog import (
    METRICS as METRICS,
    compute_overlap as compute_overlap,
    make_own_metric as make_own_metric,
)
from pytest_irquality.metrics.judgments import Judgments as Judgments, MetricError as MetricError
from pytest_irquality.metrics.metric import (
    Definition as Definition,
    Metric as Metric,
    Parameter as Parameter,
)
from pytest_irquality.metrics.names import parse_metric as parse_metric
from pytest_irquality.metrics.scoring import (
    RankingBatch as RankingBatch,
    aggregate_values as aggregate_values,
    score_rankings as score_rankings,
)
