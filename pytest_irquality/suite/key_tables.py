"""Keys as tables: a dataclass whose fields are keys, each with how it is read and explained.

A key is one line of such a class (``keys.py`` has those of a suite), and everything follows from
it: the reader, the type of the value, "did you mean", the JSON Schema and the page of the
reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Generic, TypeVar

from yaml.events import Event

from pytest_irquality.suite.yaml import Document, Place

Schema = Mapping[str, Any]
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)
class Kind(Generic[T_co]):
    """A kind of value. ``form`` is what the reference calls it: "a whole number from 1".

    ``read`` is given the document, the value's first event and how to name the value in an error.
    """

    read: Callable[[Document, Event, str], T_co]
    schema: Schema
    form: str


@dataclass(frozen=True)
class Key:
    """One key.

    ``default`` is how the reference puts what holds where it is not written, "" for a required one.
    ``field`` names the dataclass field that takes its value. ``wants_results``: it contradicts
    ``expect_no_results``. ``shown``: every report shows its value.
    """

    kind: Kind[object]
    help: str
    default: str = ""
    field: str = ""
    wants_results: bool = False
    shown: bool = False

    @property
    def required(self) -> bool:
        """True where it must be written."""
        return not self.default

    @property
    def schema(self) -> Schema:
        """The JSON Schema of its value with the words that an editor shows."""
        default = f" Default: {self.default}." if self.default else ""
        return {**self.kind.schema, "description": f"{self.help}{default}"}


def key(
    kind: Kind[T],
    help: str,
    default: T,
    otherwise: str = "",
    *,
    name: str = "",
    wants_results: bool = False,
    shown: bool = False,
) -> T:
    """A field that is a key: an optional one.

    ``otherwise`` says in words what holds where the key is not written, if the default value itself
    does not say it. ``name`` is the key's, where the field has another. An empty mapping is a fine
    default: each object gets its own.
    """
    if not otherwise and default is None:
        raise TypeError(f"say in words what {help!r} means where it is not written")
    entry = Key(
        kind,
        help,
        otherwise or _as_text(default),
        wants_results=wants_results,
        shown=shown,
    )
    metadata = {"key": entry, "name": name}
    if default == {}:
        made: T = field(default_factory=dict, metadata=metadata)  # type: ignore[assignment]
        return made
    return field(default=default, metadata=metadata)


def required(kind: Kind[T], help: str) -> T:
    """A field that is a key which must be written."""
    made: T = field(metadata={"key": Key(kind, help), "name": ""})
    return made


_keys: dict[type, Mapping[str, Key]] = {}


def keys_of(table: type) -> Mapping[str, Key]:
    """The keys of a table by their names, in the order of its fields, required ones first."""
    if table not in _keys:
        _keys[table] = _find_keys(table)
    return _keys[table]


def _find_keys(table: type) -> Mapping[str, Key]:
    found = {
        entry.metadata["name"] or entry.name: replace(entry.metadata["key"], field=entry.name)
        for entry in fields(table)
        if "key" in entry.metadata
    }
    return dict(sorted(found.items(), key=lambda pair: not pair[1].required))


def fields_read(
    keys: Mapping[str, Key], document: Document, start: Event, what: str
) -> Iterator[tuple[str, Place, object]]:
    """Name, place and value of each key that is written, in the file's order.

    What is mistaken is left out: see ``Document.tried``.
    """
    for name, event, value in document.fields(start, what, keys):
        read = partial(_read_value, keys[name].kind, document, f"'{name}'")
        for found in document.tried(read, value):
            yield name, document.place(event), found


def _read_value(kind: Kind[T], document: Document, what: str, event: Event) -> T:
    return kind.read(document, event, what)


def read_table(table: type[T], document: Document, start: Event, what: str) -> T:
    """A mapping as the dataclass whose fields are its keys."""
    keys = keys_of(table)
    values = {name: value for name, _, value in fields_read(keys, document, start, what)}
    return filled(table, values, document, start, what)


def filled(
    table: type[T],
    values: Mapping[str, object],
    document: Document,
    start: Event,
    what: str,
    **more: object,
) -> T:
    """The dataclass with the values of its keys, and ``more`` of its fields.

    A required key must be there.
    """
    keys = keys_of(table)
    for name, entry in keys.items():
        if entry.required and name not in values:
            document.fail(start, f"{what} has no {name!r}")
    return table(**{keys[name].field: value for name, value in values.items()}, **more)


def shared(table: type, written: object) -> dict[str, Any]:
    """The values of a table's keys in an object that has them all, as keyword arguments."""
    return {entry.field: getattr(written, entry.field) for entry in keys_of(table).values()}


def remarks(table: type, written: object) -> Mapping[str, str]:
    """The words written under the keys that reports show, by key."""
    found = {}
    for name, entry in keys_of(table).items():
        value = getattr(written, entry.field)
        if entry.shown and value:
            found[name] = ", ".join(value) if isinstance(value, tuple) else str(value)
    return found


def table(of: type[T], form: str) -> Kind[T]:
    """The kind of a mapping whose keys are the fields of a dataclass."""

    def read(document: Document, event: Event, what: str) -> T:
        return read_table(of, document, event, what)

    return Kind(read, schema_of(keys_of(of)), form)


EXPERIMENTAL = frozenset({"audit", "corpus", "robustness", "trend"})
"""Keys that may still change. All others are stable."""


def schema_of(keys: Mapping[str, Key]) -> Schema:
    """The JSON Schema of a mapping that has some keys."""
    schema = closed(
        {
            name: {
                **entry.schema,
                "$comment": "experimental" if name in EXPERIMENTAL else "stable",
            }
            for name, entry in keys.items()
        }
    )
    needed = [name for name, entry in keys.items() if entry.required]
    if needed:
        schema["required"] = needed
    return schema


def closed(properties: Mapping[str, Schema], **more: object) -> dict[str, Any]:
    """The schema of a mapping with these keys and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "additionalProperties": False,
        **more,
    }


def complete(kinds: Iterable[str], entries: Mapping[Any, T]) -> Mapping[Any, T]:
    """A table with an entry for every one of some names.

    One that is forgotten fails where it is imported.
    """
    known = set(kinds)
    if lacking := sorted(known - set(entries)):
        raise TypeError(f"this table has no entry for {', '.join(lacking)}")
    if unknown := sorted(set(entries) - known):
        raise TypeError(
            f"this table has an entry for {', '.join(unknown)}, which is none of"
            f" {', '.join(sorted(known))}"
        )
    return entries


def _as_text(default: object) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, (int, float)):
        return f"{default:g}"
    return str(default) if default else "none"
