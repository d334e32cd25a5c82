"""Every measure of the house by its canonical name, in the order of the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from types import MappingProxyType

from pytest_irquality.metrics.definition import Definition
from pytest_irquality.metrics.errors import MeasureError
from pytest_irquality.metrics.families import (
    binary,
    coverage,
    graded,
    latency,
    overlaps,
    ranked,
)

FAMILIES = (graded, binary, ranked, coverage, latency, overlaps)


def by_name(definitions: Iterable[Definition]) -> Mapping[str, Definition]:
    """A lookup of definitions in which no name or alias stands for two of them."""
    known: dict[str, Definition] = {}
    taken: dict[str, str] = {}
    for definition in definitions:
        for name in (definition.name, *definition.aliases):
            if name in taken:
                raise MeasureError(f"the measure name {name!r} is taken: it means {taken[name]!r}")
            taken[name] = definition.name
        known[definition.name] = definition
    return MappingProxyType(known)


DEFINITIONS = by_name(chain.from_iterable(family.DEFINITIONS for family in FAMILIES))


def with_own(own: Iterable[Definition]) -> Mapping[str, Definition]:
    """The house's measures and a user's own."""
    return by_name([*DEFINITIONS.values(), *own])
