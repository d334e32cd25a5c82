"""A sequence that is made when it is first read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

T = TypeVar("T")


class Deferred(Sequence[T]):
    """A sequence as good as the tuple ``make(*of)``, which is made when somebody looks.

    A judge cannot know what will be read: a passing run without reports shows no document at all.
    Whatever ``make`` reads must not change, as nothing in a verdict does.
    """

    __slots__ = ("_made", "_make", "_of")

    def __init__(self, make: Callable[..., tuple[T, ...]], *of: object) -> None:
        self._make: Callable[..., tuple[T, ...]] | None = make
        self._of = of
        self._made: tuple[T, ...] = ()

    @property
    def made(self) -> tuple[T, ...]:
        """The tuple."""
        if self._make is not None:
            self._made = self._make(*self._of)
            self._make, self._of = None, ()
        return self._made

    def __len__(self) -> int:
        return len(self.made)

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[T, ...]: ...
    def __getitem__(self, at: Any) -> Any:
        return self.made[at]

    def __iter__(self) -> Any:
        return iter(self.made)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (tuple, Deferred)) and self.made == tuple(other)

    def __hash__(self) -> int:
        return hash(self.made)

    def __repr__(self) -> str:
        return repr(self.made)
