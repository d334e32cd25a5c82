"""Search-quality regression tests for pytest.

``check`` evaluates a suite from Python, as ``pytest --ir-suite`` does. All other names are the
steps of that path and their types. They are imported when they are used first, so an installed but
unused plugin costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_irquality.baselines.sources import Baseline as Baseline
    from pytest_irquality.evaluation.decide import Decision as Decision, decide as decide
    from pytest_irquality.evaluation.evaluate import (
        Evaluation as Evaluation,
        evaluate as evaluate,
    )
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
    from pytest_irquality.retrieval.run import Hit as Hit, Ranking as Ranking, Run as Run
    from pytest_irquality.suite.model import Query as Query, Suite as Suite
    from pytest_irquality.suite.parser import load_suite as load_suite
    from pytest_irquality.suite.yaml_source import SuiteError as SuiteError

_MODULES = {
    "baselines.sources": ("Baseline",),
    "evaluation.decide": ("Decision", "decide"),
    "evaluation.evaluate": ("Evaluation", "evaluate"),
    "evaluation.results": ("CheckResult", "Notice", "Outcome"),
    "metrics": (
        *("Judgments", "Metric", "MetricError", "make_own_metric", "parse_metric"),
        "score_rankings",
    ),
    "plugin.check_api": ("CheckReport", "SearchQualityError", "check"),
    "retrieval.collect": ("collect_run",),
    "retrieval.run": ("Hit", "Ranking", "Run"),
    "suite.model": ("Query", "Suite"),
    "suite.parser": ("load_suite",),
    "suite.yaml_source": ("SuiteError",),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(name for names in _MODULES.values() for name in names)
