"""Places in hits, written with dots (``metadata.source``): keys, attributes and items of lists."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import attrgetter, itemgetter
from typing import Any

from pytest_irquality.edges.reach import is_data, is_public
from pytest_irquality.retrieval.wrappers import is_mapping

Getter = Callable[[Any], Any]


def getter(hit: Any, place: str) -> Getter | None:
    """The way to a place in hits like this one; None where this one has nothing there.

    Each step is a key or an attribute, as the hit has them, and leads to data alone: a suite may
    have written it.
    """
    if _lacks(hit, place) and _lacks(hit, place.partition(".")[0]):
        return None  # as most places, and without an exception
    if is_mapping(hit) and got(hit, itemgetter(place)) is not None:
        return itemgetter(place)
    steps: list[Getter] = []
    for name in place.split("."):
        step = _step(hit, name)
        if step is None or (hit := _data_at(hit, step)) is None:
            return None
        steps.append(step)
    return steps[0] if len(steps) == 1 else lambda hit: reduce(_taken, steps, hit)


def _taken(value: Any, step: Getter) -> Any:
    return step(value)


def _data_at(hit: Any, step: Getter) -> Any:
    value = got(hit, step)
    return value if is_data(value) else None


def _step(hit: Any, name: str) -> Getter | None:
    if _lacks(hit, name):
        return None
    if is_mapping(hit) and got(hit, itemgetter(name)) is not None:
        return itemgetter(name)
    if isinstance(hit, (list, tuple)) and name.isdigit():
        return itemgetter(int(name))
    return attrgetter(name) if is_public(name) else None


def _lacks(hit: Any, name: str) -> bool:
    """Tell whether a plain dict has nothing of that name."""
    return type(hit) is dict and name not in hit and not hasattr(dict, name)


def got(hit: Any, get: Getter) -> Any:
    """The value at a place, None where there is none; a property that raises has none either."""
    try:
        return get(hit)
    except Exception:
        return None


def value_at(hit: Any, place: str) -> Any:
    """The value at a place with dots in one hit, None where there is none."""
    get = getter(hit, place)
    return None if get is None else got(hit, get)


def alone(value: Any) -> Any:
    """The one value of a stored field that could hold several, or the value itself."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value
