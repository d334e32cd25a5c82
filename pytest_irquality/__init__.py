"""Search-quality regression tests for pytest.

``check`` evaluates a suite from Python, as ``pytest --ir-suite`` does. ``load_suite``,
``collect_run`` and ``evaluate`` are its steps. The types that these functions return are public,
too. All names are imported when they are used first, so an unused plugin costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_irquality.baselines.sources import (
        Baseline as Baseline,
        BaselineError as BaselineError,
    )
    from pytest_irquality.evaluation.decide import Decision as Decision, decide as decide
    from pytest_irquality.evaluation.evaluate import Evaluation as Evaluation, evaluate as evaluate
    from pytest_irquality.evaluation.results import (
        CheckResult as CheckResult,
        Notice as Notice,
        Outcome as Outcome,
    )
    from pytest_irquality.metrics import (
        Judgments as Judgments,
        Metric as Metric,
        MetricError as MetricError,
        make_own_metric as make_own_metric,
        parse_metric as parse_metric,
        score_rankings as score_rankings,
    )
    from pytest_irquality.plugin.check_api import (
        CheckReport as CheckReport,
        SearchQualityError as SearchQualityError,
        check as check,
    )
    from pytest_irquality.retrieval.collect import collect_run as collect_run
    from pytest_irquality.retrieval.errors import RetrieverError as RetrieverError
    from pytest_irquality.retrieval.run import Hit as Hit, Ranking as Ranking, Run as Run
    from pytest_irquality.suite.mistakes import SuiteError as SuiteError
    from pytest_irquality.suite.model import Query as Query, Suite as Suite
    from pytest_irquality.suite.parser import load_suite as load_suite

# What most users need, by module.
_ESSENTIAL_NAMES = {
    "plugin.check_api": ("check", "CheckReport", "SearchQualityError"),
    "suite.parser": ("load_suite",),
    "suite.mistakes": ("SuiteError",),
    "retrieval.collect": ("collect_run",),
    "evaluation.evaluate": ("evaluate",),
    "metrics": ("make_own_metric", "parse_metric", "score_rankings", "Judgments", "MetricError"),
}
# Types that they return or raise, and the decision on several suites.
_OTHER_NAMES = {
    "baselines.sources": ("Baseline", "BaselineError"),
    "evaluation.decide": ("Decision", "decide"),
    "evaluation.evaluate": ("Evaluation",),
    "evaluation.results": ("CheckResult", "Notice", "Outcome"),
    "metrics": ("Metric",),
    "retrieval.errors": ("RetrieverError",),
    "retrieval.run": ("Hit", "Ranking", "Run"),
    "suite.model": ("Query", "Suite"),
}


def __getattr__(name: str) -> Any:
    for table in (_ESSENTIAL_NAMES, _OTHER_NAMES):
        for module, names in table.items():
            if name in names:
                return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    public: list[str] = []
    for table in (_ESSENTIAL_NAMES, _OTHER_NAMES):
        for names in table.values():
            public += names
    return sorted(public)
