"""Suites as users write them: queries, judgments, rules and limits, read from YAML."""

from pytest_irquality.edges.open import Allowed as Allowed
from pytest_irquality.edges.open import Unreadable as Unreadable
from pytest_irquality.suite.demands import Demand as Demand
from pytest_irquality.suite.demands import Guard as Guard
from pytest_irquality.suite.judges import Judges as Judges
from pytest_irquality.suite.keys import Corpus as Corpus
from pytest_irquality.suite.keys import Ends as Ends
from pytest_irquality.suite.keys import Retry as Retry
from pytest_irquality.suite.lint import IRQualityWarning as IRQualityWarning
from pytest_irquality.suite.model import Bound as Bound
from pytest_irquality.suite.model import Check as Check
from pytest_irquality.suite.model import Limits as Limits
from pytest_irquality.suite.model import Query as Query
from pytest_irquality.suite.model import Suite as Suite
from pytest_irquality.suite.reader import load_suite as load_suite
from pytest_irquality.suite.rules import Rule as Rule
from pytest_irquality.suite.yaml import Place as Place
from pytest_irquality.suite.yaml import SuiteError as SuiteError
