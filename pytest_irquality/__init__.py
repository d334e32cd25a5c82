"""Search-quality regression tests for pytest.

The same path as ``pytest --ir-suite``, from Python: ``check`` is all of it; ``load_suite``,
``retrieve``, ``evaluate`` and ``judge`` are its steps. What they take, give and raise can be
imported from here, too: each room's ``__init__`` says which of its names are the users'.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_irquality.metrics import *
    from pytest_irquality.pipeline import *
    from pytest_irquality.retrieval import *
    from pytest_irquality.storage import *
    from pytest_irquality.suite import *
    from pytest_irquality.verdict import *

# In the order in which rooms import each other: none is imported for a name that one before it has,
# and an installed but unused plugin costs nothing.
_ROOMS = ("metrics", "suite", "retrieval", "storage", "verdict", "pipeline")


def __getattr__(name: str) -> Any:
    for room in _ROOMS:
        value = _public(room).get(name)
        if value is not None:
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(name for room in _ROOMS for name in _public(room))


def _public(room: str) -> dict[str, Any]:
    """The names that a room has for users, not the files it consists of."""
    names = vars(import_module(f"{__name__}.{room}"))
    return {
        name: value
        for name, value in names.items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
