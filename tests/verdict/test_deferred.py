"""A sequence that is made when it is first read."""

from __future__ import annotations

from pytest_irquality.verdict.deferred import Deferred


def test_it_is_made_once_and_when_it_is_read() -> None:
    asked: list[int] = []

    def make(last: int) -> tuple[int, ...]:
        asked.append(last)
        return tuple(range(last))

    numbers = Deferred(make, 3)
    assert not asked
    assert len(numbers) == 3
    assert asked == [3]
    assert [*numbers] == [0, 1, 2]
    assert asked == [3]


def test_it_is_as_good_as_the_tuple() -> None:
    numbers: Deferred[str] = Deferred(tuple, "abc")
    assert numbers == ("a", "b", "c") == numbers
    assert numbers != ("a", "b")
    assert numbers == Deferred(tuple, "abc")
    assert hash(numbers) == hash(("a", "b", "c"))
    assert (numbers[0], numbers[1:], repr(numbers)) == ("a", ("b", "c"), "('a', 'b', 'c')")
    assert not Deferred(tuple)
