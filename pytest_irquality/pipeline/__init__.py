"""From a suite to results and written files, without pytest."""

from pytest_irquality.pipeline.check import check as check
from pytest_irquality.pipeline.check_result import (
    CheckResult as CheckResult,
    SearchQualityError as SearchQualityError,
)
from pytest_irquality.pipeline.judged import NotJudged as NotJudged
