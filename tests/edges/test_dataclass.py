"""Dataclasses of ours do what the standard ones do, but for guarding what is frozen."""

from __future__ import annotations

import dataclasses
from dataclasses import field, fields, replace
from typing import Any

import pytest

from pytest_irquality.edges.dataclass import dataclass

KINDS = {"ours": dataclass, "standard": dataclasses.dataclass}


@pytest.fixture(params=KINDS)
def made(request: pytest.FixtureRequest) -> Any:
    """A base and a class built on it, with every kind of field that the package has."""
    kind: Any = KINDS[request.param]

    @kind(frozen=True)
    class Base:
        name: str

    @kind(frozen=True)
    class Child(Base):
        number: int = 1
        aside: str = field(default="", compare=False, repr=False)
        many: tuple[int, ...] = field(default_factory=tuple, kw_only=True)

    Child.__qualname__ = "Child"
    return Child


def test_is_told_by_its_fields(made: Any) -> None:
    assert repr(made("a", 2, "b", many=(3,))) == "Child(name='a', number=2, many=(3,))"
    assert [each.name for each in fields(made)] == ["name", "number", "aside", "many"]


def test_equals_what_has_the_same_class_and_values(made: Any) -> None:
    one = made("a", 2, "one")
    assert one == made("a", 2, "other")
    assert hash(one) == hash(made("a", 2, "other"))
    assert one != made("a", 3)
    assert one != made.__base__("a")
    assert replace(one, number=3) == made("a", 3)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_what_may_change_has_no_hash_and_what_is_itself_alone_has(kind: Any) -> None:
    @kind
    class Changing:
        values: list[int] = field(default_factory=list)

    @kind(eq=False)
    class Itself:
        values: list[int] = field(default_factory=list)

    assert Changing() == Changing()
    assert Itself() != Itself()
    assert len({Itself(), Itself()}) == 2
    with pytest.raises(TypeError):
        hash(Changing())


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_what_has_slots_or_nothing_is_compared_as_well(kind: Any) -> None:
    @kind(frozen=True, slots=True)
    class Slim:
        value: int = 0
        other: int = 0

    @kind(frozen=True)
    class Empty:
        pass

    assert not hasattr(Slim(), "__dict__")
    assert {Slim(), Slim()} == {Slim()}
    assert {Empty(), Empty()} == {Empty()}
