"""All built-in metrics by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from pytest_irquality.metrics import binary, comparing, graded, ranked, run_metrics
from pytest_irquality.metrics.errors import MetricError
from pytest_irquality.metrics.metric import Definition

_MODULES = (graded, binary, ranked, run_metrics, comparing)


def index_definitions(own: Iterable[Definition] = ()) -> Mapping[str, Definition]:
    """Return the built-in metrics and a project's own by name and alias.

    Raises:
        MetricError: Two definitions have the same name or alias.
    """
    # Aliases count, too: a project's "rr" would change what suites mean by it.
    definitions: dict[str, Definition] = {}
    for definition in (*METRICS.values(), *own):
        for name in (definition.name, *definition.aliases):
            if name in definitions:
                raise MetricError(
                    f"The metric name '{name}' is taken: it means '{definitions[name].name}'"
                )
            definitions[name] = definition
    return definitions


def _collect_builtin() -> Mapping[str, Definition]:
    builtin = {}
    for module in _MODULES:
        for definition in module.DEFINITIONS:
            builtin[definition.name] = definition
    return MappingProxyType(builtin)


METRICS = _collect_builtin()
