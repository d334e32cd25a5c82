"""Dataclasses and named tuples as JSON and back, by the types that they declare.

``shape_of`` is the one place that takes a declared type apart: whatever its form, it gives how a
value is read from JSON, how foreign data is tested, and the JSON Schema. A dataclass is an object
in JSON, a named tuple an array.
"""

from __future__ import annotations

import dataclasses
import json
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

T = TypeVar("T")
Schema = dict[str, Any]
SchemaOf = Callable[[type], Schema]

LARGEST = 1e15
"""Numbers of foreign data are smaller, so that they and their sums stay exact."""
PLAIN = {
    str: "string",
    float: "number",
    int: "integer",
    bool: "boolean",
    type(None): "null",
    list: "array",
    dict: "object",
}


class Shape(NamedTuple):
    """A declared type in JSON.

    ``read`` makes a value from the data of JSON, which it may change; None where the data is the
    value already, as most is. ``fits`` tests data that anybody may have written. ``schema`` is the
    JSON Schema, for which it asks for that of each class.
    """

    read: Callable[[Any], Any] | None
    fits: Callable[[Any], bool]
    schema: Callable[[SchemaOf], Schema]


class Tagged:
    """The base of a family of dataclasses, which JSON tells apart by a field ``kind``."""


def shape_of(kind: Any) -> Shape:
    """The shape of any type that a field may declare."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:  # with a test of its values
        whole = shape_of(parts[0])
        return whole._replace(fits=lambda value: whole.fits(value) and parts[1](value))
    if origin is Literal:
        return Shape(None, lambda value: value in parts, lambda _: {"enum": [*parts]})
    if origin is tuple and parts[-1] is not Ellipsis:
        return _row([*map(shape_of, parts)])
    if origin in (tuple, list, Sequence):
        return _array(shape_of(parts[0]))
    if origin in (dict, Mapping):
        return _table(shape_of(parts[1]))
    if origin in (typing.Union, types.UnionType):
        return _either([*map(shape_of, parts)])
    return _plain(kind) if kind in PLAIN else _of_class(kind)


def _plain(kind: type) -> Shape:
    def is_number(value: Any) -> bool:
        return type(value) in (kind, int) and abs(value) < LARGEST

    def is_one(value: Any) -> bool:
        return isinstance(value, kind)

    fits = is_number if kind in (int, float) else is_one
    return Shape(None, fits, lambda _: {"type": PLAIN[kind]})


def _array(one: Shape) -> Shape:
    read = one.read
    return Shape(
        tuple if read is None else lambda entries: tuple(map(read, entries)),
        lambda value: isinstance(value, list) and all(map(one.fits, value)),
        lambda of: {"type": "array", "items": one.schema(of)},
    )


def _row(each: Sequence[Shape]) -> Shape:
    reads = [one.read or _as_is for one in each]

    def fits(value: Any) -> bool:
        if not isinstance(value, list) or len(value) != len(each):
            return False
        return all(one.fits(entry) for one, entry in zip(each, value, strict=True))

    return Shape(
        lambda entries: tuple(read(entry) for read, entry in zip(reads, entries, strict=True)),
        fits,
        lambda of: {
            "type": "array",
            "prefixItems": [one.schema(of) for one in each],
            "items": False,
        },
    )


def _as_is(value: Any) -> Any:
    return value


def _table(one: Shape) -> Shape:
    read = one.read
    return Shape(
        read and (lambda data: {name: read(entry) for name, entry in data.items()}),
        lambda value: isinstance(value, dict) and all(map(one.fits, value.values())),
        lambda of: {"type": "object", "additionalProperties": one.schema(of)},
    )


def _either(several: Sequence[Shape]) -> Shape:
    read = several[0].read  # beside what must be read stands None alone
    return Shape(
        read and (lambda data: None if data is None else read(data)),
        lambda value: any(one.fits(value) for one in several),
        lambda of: {"anyOf": [one.schema(of) for one in several]},
    )


@cache
def _of_class(kind: Any) -> Shape:
    if Tagged in kind.__bases__:
        return _family(kind)
    return _named_tuple(kind) if issubclass(kind, tuple) else _object(kind)


def _family(base: type) -> Shape:
    members = {tag_of(kind): _of_class(kind) for kind in members_of(base)}

    def read(data: dict[str, Any]) -> Any:
        return members[data.pop("kind")].read(data)  # type: ignore[misc]

    return _either([*members.values()])._replace(read=read)


def _named_tuple(kind: Any) -> Shape:
    fields = [*fields_of(kind).values()]
    reads = {place: field.read for place, field in enumerate(fields) if field.read}

    def read(entries: list[Any]) -> Any:
        for place, make in reads.items():
            if entries[place] is not None:
                entries[place] = make(entries[place])
        return kind(*entries)

    return Shape(read, _row(fields).fits, lambda of: of(kind))


def _object(kind: Any) -> Shape:
    fields = dict(fields_of(kind))
    reads = {name: field.read for name, field in fields.items() if field.read}
    if issubclass(kind, Tagged):
        fields["kind"] = shape_of(Literal[tag_of(kind)])

    def read(data: dict[str, Any]) -> Any:
        for name, make in reads.items():
            if data.get(name) is not None:
                data[name] = make(data[name])
        return kind(**data)

    def fits(data: Any) -> bool:
        """Unknown fields do not fit. Which ones are missing is for the class to say."""
        return isinstance(data, dict) and all(
            name in fields and fields[name].fits(value) for name, value in data.items()
        )

    return Shape(read, fits, lambda of: of(kind))


@cache
def fields_of(kind: Any) -> Mapping[str, Shape]:
    """The shape of each field of a dataclass or a named tuple, in their order."""
    hints = typing.get_type_hints(kind, include_extras=True)
    names = kind._fields if issubclass(kind, tuple) else _defaults_of(kind)
    return {name: shape_of(hints[name]) for name in names}


@cache
def _defaults_of(kind: Any) -> Mapping[str, object]:
    """The default of each field, ``MISSING`` where it has none."""
    if issubclass(kind, tuple):
        return {name: kind._field_defaults.get(name, dataclasses.MISSING) for name in kind._fields}
    return {field.name: field.default for field in dataclasses.fields(kind)}


def members_of(base: type) -> Sequence[type]:
    """All classes of a tagged family, those below others last."""
    children: list[type] = base.__subclasses__()
    return [*children, *(deeper for child in children for deeper in members_of(child))]


def tag_of(kind: type) -> str:
    """The ``kind`` of a tagged class in JSON: ``returned_nothing``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()


# -- writing and reading ---------------------------------------------------------------------------


def as_dict(value: Any) -> dict[str, Any]:
    """The fields of an object by name, whose values stay what they are."""
    return _tagged(value, {name: getattr(value, name) for name in fields_of(value.__class__)})


def changed(value: Any) -> dict[str, Any]:
    """The fields of an object that are not as its class declares them, by name."""
    defaults = _defaults_of(value.__class__)
    fields = as_dict(value)
    return {name: one for name, one in fields.items() if name == "kind" or one != defaults[name]}


def defaults_of(kind: Any) -> Mapping[str, object]:
    """The default of each field that has one which JSON can hold as it is."""
    plain = (str, int, float, bool, tuple, type(None))
    defaults = _defaults_of(kind)
    return {name: value for name, value in defaults.items() if isinstance(value, plain)}


def _tagged(value: object, fields: dict[str, Any]) -> dict[str, Any]:
    kind = type(value)
    return {"kind": tag_of(kind), **fields} if issubclass(kind, Tagged) else fields


def encode(value: object) -> str:
    """Write an object as one line of JSON.

    Fields that are as their class declares them are left out: of a large result those are half of
    the text. Raises ``ValueError`` for what is no number in JSON.
    """
    return json.dumps(value, default=_changed, allow_nan=False)


def _changed(value: Any) -> Any:
    if isinstance(value, Sequence):
        return tuple(value)
    fields = {
        name: entry
        for name, default in _defaults_of(value.__class__).items()
        if (entry := getattr(value, name)) is not default
    }
    return _tagged(value, fields)


def decode(text: str, kind: type[T]) -> T:
    """Read an object of a class from what ``encode`` wrote."""
    return restored(json.loads(text), kind)


def restored(data: Any, kind: type[T]) -> T:
    """Make an object of a class from the data of JSON, which is used up.

    Raises ``TypeError`` where a field is missing that has no default.
    """
    read: Any = _of_class(kind).read  # type: ignore[arg-type]
    value: T = read(data)
    return value


def fits(data: Any, kind: type) -> bool:
    """Tell whether data of JSON holds nothing but fields of a class, each as it is declared.

    Anybody may have written it. Fields may be missing.
    """
    return _of_class(kind).fits(data)
