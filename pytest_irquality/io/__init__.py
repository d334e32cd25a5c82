"""Reading and writing safely: files, git, encodings, secrets and child processes.

All packages import this one, so it also has the decorator of their data classes.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field, fields, replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass", "field", "fields", "replace"]

if not TYPE_CHECKING:

    def dataclass(cls=None, /, *, eq=True, frozen=False, **options):
        """Make a class a dataclass, for which nothing but ``__init__`` is compiled.

        The standard decorator compiles up to six methods of each class. All classes together took
        half of the time that a small suite adds to a run of pytest. Here they share these methods,
        and only type checkers refuse assignments to fields of a frozen class.
        """
        if cls is None:
            return partial(dataclass, eq=eq, frozen=frozen, **options)
        own_names = set(vars(cls))
        cls = dataclasses.dataclass(cls, eq=False, repr=False, **options)
        if "__repr__" not in own_names:
            cls.__repr__ = _format_fields
        if eq:
            compared = [each.name for each in fields(cls) if each.compare]
            # The class comes first, since some classes have no other field.
            get_values = attrgetter("__class__", *compared)

            def is_equal(self, other):
                if self.__class__ is not other.__class__:
                    return NotImplemented
                return get_values(self) == get_values(other)

            cls.__eq__ = is_equal
            if "__hash__" not in own_names:
                cls.__hash__ = (lambda self: hash(get_values(self))) if frozen else None
        return cls


def _format_fields(self: Any) -> str:
    values = [f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr]
    return f"{type(self).__qualname__}({', '.join(values)})"
