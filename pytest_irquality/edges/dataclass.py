"""Dataclasses that cost little where they are declared and where they are made.

Every start of pytest with suites declares about two hundred. The standard decorator compiles up to
six methods for each of them, which was two thirds of the time of importing the package. This one
compiles ``__init__`` alone; the others are closures over the names of the fields.

What is ``frozen`` is so for type checkers, which see the standard decorator, and not while a
program runs: setting each field past a guard would double the time of making one.
"""

from __future__ import annotations

import dataclasses
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, eq=True, kw_only=False, slots=False):
        """As ``dataclasses.dataclass``; what is frozen can be hashed."""
        if cls is None:
            return lambda cls: dataclass(cls, frozen=frozen, eq=eq, kw_only=kw_only, slots=slots)
        cls = dataclasses.dataclass(cls, repr=False, eq=False, kw_only=kw_only, slots=slots)
        if "__repr__" not in vars(cls):
            cls.__repr__ = _repr
        if eq:
            _compared_by_fields(cls, frozen)
        return cls


def _repr(self: Any) -> str:
    shown = (field.name for field in dataclasses.fields(self) if field.repr)
    values = (f"{name}={getattr(self, name)!r}" for name in shown)
    return f"{type(self).__qualname__}({', '.join(values)})"


def _compared_by_fields(cls: Any, frozen: bool) -> None:
    names = [field.name for field in dataclasses.fields(cls) if field.compare]
    values = attrgetter(*names) if names else type

    def equal(self: object, other: object) -> Any:
        return values(self) == values(other) if type(other) is type(self) else NotImplemented

    cls.__eq__ = equal
    cls.__hash__ = (lambda self: hash(values(self))) if frozen else None
