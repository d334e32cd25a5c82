"""Read a field of a search result by its path, such as ``metadata.source`` or ``tags.0``.

Suites name these paths, and a suite is data. So a path leads only through keys, items of lists and
public attributes of data. Frames, modules, code and classes expose all of a program, so a path
stops at them.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from operator import attrgetter, itemgetter
from typing import Any

MAX_FIELD_DEPTH = 40

# One step of a path: an `itemgetter` or an `attrgetter`.
Step = Callable[[Any], Any]
Steps = tuple[Step, ...]

_PLAIN_TYPES = frozenset((str, int, float, dict, list))
_CODE_TYPES = (
    type, types.ModuleType, types.FrameType, types.CodeType, types.TracebackType,
    types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType,
    types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.MethodWrapperType,
)  # fmt: skip


def settle_path(sample: object, path: str) -> Steps | None:
    """Decide by a sample whether each step of a path is a key, an index or an attribute.

    Args:
        sample: One of the objects that have the field, such as the first hit.
        path: Names with dots between them. A key that contains dots wins over nested keys.

    Returns:
        The steps for objects like this one, or ``None`` if the sample has nothing at the path.
    """
    names = path.split(".")
    lacks_path = _lacks_key(sample, path)
    if len(names) > MAX_FIELD_DEPTH or (lacks_path and _lacks_key(sample, names[0])):
        return None
    if not lacks_path and is_mapping(sample):
        value = get_value(sample, itemgetter(path))
        if value is not None and is_data(value):
            return (itemgetter(path),)
    steps: list[Step] = []
    value = sample
    for name in names:
        step = _make_step(value, name)
        if step is None:
            return None
        value = get_value(value, step)
        if value is None or not is_data(value):
            return None
        steps.append(step)
    return tuple(steps)


def get_field(value: object, path: str) -> Any:
    """Return the value at a path, or ``None`` if there is none."""
    found = value.get(path) if type(value) is dict else None
    if found is not None and is_data(found):
        return found  # Most fields are here, and need no steps.
    steps = settle_path(value, path)
    return None if steps is None else follow_steps(value, steps)


def follow_steps(value: Any, steps: Sequence[Step]) -> Any:
    """Return what steps lead to.

    Returns:
        The value, or ``None`` if a step fails or leads to a function, class or module.
    """
    try:
        for step in steps:
            value = step(value)
            if not is_data(value):
                return None
    except Exception:  # a property of the user's own class may raise anything
        return None
    return value


def get_value(value: Any, step: Step) -> Any:
    """Take a step. Return ``None`` if it raises an exception, as a property may."""
    try:
        return step(value)
    except Exception:
        return None


def is_data(value: object) -> bool:
    """Return whether a path may lead to a value or through it, because it is not code."""
    if type(value) in _PLAIN_TYPES:  # saves a dozen checks of almost every value
        return True
    # Other functions, such as slots of classes, have `__get__`.
    return not (isinstance(value, _CODE_TYPES) or hasattr(type(value), "__get__"))


def is_mapping(value: object) -> bool:
    """Return whether a value has keys: a dict, or an object such as a row of a database."""
    # Objects of pydantic take long to say that they have no keys, and their classes do not.
    return hasattr(type(value), "__getitem__") and hasattr(value, "keys")


def _make_step(value: Any, name: str) -> Step | None:
    if _lacks_key(value, name):
        return None
    if is_mapping(value) and get_value(value, itemgetter(name)) is not None:
        return itemgetter(name)
    # str.isdigit() alone accepts digits such as "²", which int() refuses.
    is_index = name.isascii() and name.isdigit() and len(name) < 10
    if is_index and isinstance(value, (list, tuple)):
        return itemgetter(int(name))
    return attrgetter(name) if name.isidentifier() and not name.startswith("_") else None


def _lacks_key(value: object, name: str) -> bool:
    """Return whether a plain dict has nothing of this name, without raising an exception."""
    return type(value) is dict and name not in value
