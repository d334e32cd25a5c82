"""Details that a person must see of a document: its text, and fields of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from pytest_irquality.edges.printable import clipped
from pytest_irquality.retrieval.places import alone, value_at

LONGEST_TEXT = 4000
LONGEST_FIELD = 300
LONGEST_IMAGE = 300_000  # characters of a data: URI, some 200 kB of picture


class Details(NamedTuple):
    """The text of a document, cut where it is very long, and its fields by name as text."""

    text: str = ""
    fields: tuple[tuple[str, str], ...] = ()

    @property
    def title(self) -> str:
        """The first of its fields that is called a title or a name."""
        named = (text for name, text in self.fields if name.lower().endswith(("title", "name")))
        return next(named, "")


def details_of(
    hits: Sequence[Any],
    ids: Sequence[str],
    show: Iterable[str],
    texts: Sequence[str],
    inside: Sequence[str],
) -> dict[str, Details]:
    """The details of each hit by its document's id, those of its best hit.

    ``show`` names fields; ``texts`` are the names of fields that may hold the text, and ``inside``
    what either may stand in (``"metadata."``).
    """
    found: dict[str, Details] = {}
    show = tuple(show)
    for hit, id in zip(hits, ids, strict=False):
        if id in found:
            continue
        if isinstance(hit, (tuple, list)):
            words = [value for value in hit if isinstance(value, str) and value != id]
            found[id] = Details(clipped(max(words, key=len, default=""), LONGEST_TEXT))
        elif not isinstance(hit, (str, int)):
            found[id] = _details(hit, show, texts, inside)
    return found


def _details(hit: Any, show: Sequence[str], texts: Sequence[str], inside: Sequence[str]) -> Details:
    text = next(filter(None, (_text(hit, name, inside) for name in texts)), "")
    fields = ((name, _field(hit, name, inside)) for name in show)
    return Details(clipped(text, LONGEST_TEXT), tuple(pair for pair in fields if pair[1]))


def _text(hit: Any, name: str, inside: Sequence[str]) -> str:
    values = (value for value in _values(hit, name, inside) if isinstance(value, str))
    return next((value for value in values if value and not value.isspace()), "")


def _field(hit: Any, name: str, inside: Sequence[str]) -> str:
    """A field as text; one that holds several values names them all."""
    value = next(_values(hit, name, inside), None)
    several = value if isinstance(value, (list, tuple, set)) else [value]
    words = [str(one) for one in several if isinstance(one, (str, int, float, bool))]
    text = ", ".join(words)
    return clipped(text, LONGEST_IMAGE if text.startswith("data:image/") else LONGEST_FIELD)


def _values(hit: Any, name: str, inside: Sequence[str]) -> Iterator[Any]:
    """The values under a name in a hit, or in what the hit holds; whatever they are."""
    found = (alone(value_at(hit, f"{place}{name}")) for place in inside)
    return (value for value in found if value is not None)
