"""Suites as users write them: queries, judgments, rules and limits, read from YAML."""

from pytest_irquality.edges.open import Allowed as Allowed, Unreadable as Unreadable
from pytest_irquality.edges.reach import OwnFiles as OwnFiles
from pytest_irquality.suite.demands import (
    Answered as Answered,
    Audited as Audited,
    Demand as Demand,
    Examined as Examined,
    Guard as Guard,
    Scope as Scope,
)
from pytest_irquality.suite.keys import Corpus as Corpus, Retry as Retry
from pytest_irquality.suite.lint import IRQualityWarning as IRQualityWarning
from pytest_irquality.suite.model import (
    Bound as Bound,
    Check as Check,
    Limits as Limits,
    Query as Query,
    Suite as Suite,
    TrendLimits as TrendLimits,
)
from pytest_irquality.suite.reader import load_suite as load_suite
from pytest_irquality.suite.rules import Rule as Rule
from pytest_irquality.suite.yaml import Place as Place, SuiteError as SuiteError
