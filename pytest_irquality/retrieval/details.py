"""What a person must see of a document to grade it: its text, and the fields that a suite shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_irquality.retrieval.wrappers import is_mapping

LONGEST_TEXT = 4000
LONGEST_FIELD = 300
LONGEST_IMAGE = 300_000  # characters of a data: URI, some 200 kB of picture


class Details(NamedTuple):
    """The text of a document, cut where it is very long, and its fields by name as text."""

    text: str = ""
    fields: tuple[tuple[str, str], ...] = ()


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
            text = next(filter(None, (_text(hit, name, inside) for name in texts)), "")
            fields = ((name, _field(hit, name, inside)) for name in show)
            wanted = tuple((name, value) for name, value in fields if value)
            found[id] = Details(clipped(text, LONGEST_TEXT), wanted)
    return found


def clipped(text: str, longest: int) -> str:
    """A text, cut where it is longer than that."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


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
    """What stands under a name in a hit, or in what the hit holds; whatever is there."""
    for place in inside:
        value = _at(hit, f"{place}{name}")
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if value is not None:
            yield value


def _at(thing: Any, place: str) -> Any:
    """What stands at a place with dots, None where nothing does; what raises has nothing."""
    try:
        if is_mapping(thing) and thing.get(place) is not None:
            return thing[place]
        for step in place.split("."):
            thing = thing.get(step) if isinstance(thing, Mapping) else _step(thing, step)
    except Exception:
        return None
    return thing


def _step(thing: Any, name: str) -> Any:
    return thing[name] if is_mapping(thing) else getattr(thing, name)
