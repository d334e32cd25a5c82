"""From a suite to results and written files, without pytest."""

from pytest_irquality.pipeline.check import (
    CheckResult as CheckResult,
    SearchQualityError as SearchQualityError,
    check as check,
)
from pytest_irquality.pipeline.judged import NotJudged as NotJudged
