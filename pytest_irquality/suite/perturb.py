"""Generated variants of a query: what people mistype, the same on every machine.

A kind of perturbation makes every text that it can make of a query; of these a handful is kept.
Which ones follows from a digest of kind, query and candidate: no random state, no clock, no Python
version can change it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import pairwise

Perturbation = Callable[[str], Iterable[str]]
"""Every variant that a kind can make of a query's text."""

BY_HAND = "variants"  # the kind of those that the suite's author wrote
HANDFUL = 3
SHORTEST_WORD = 4  # a slip in "tv" or "usb" is another word, not a mistyped one
MOST_WORDS = 40  # of a query that is a whole page, the beginning stands for the rest

# Rows of keys as they lie on the usual keyboard of each script. Neighbours are the keys beside a
# key and those above and below it.
KEYBOARDS = (
    ("qwertyuiop", "asdfghjkl", "zxcvbnm"),
    ("йцукенгшщзхъ", "фывапролджэ", "ячсмитьбю"),
    (";ςερτυθιοπ", "ασδφγηξκλ", "ζχψωβνμ"),
    ("/'קראטוןםפ", "שדגכעיחלךף", "זסבהנמצתץ"),
    ("ضصثقفغعهخحجد", "شسيبلاتنمكط", "ئءؤرىةوزظ"),
)
ALPHABETS = ("LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "GEORGIAN", "HEBREW", "ARABIC")
# Letters whose plain form is not their decomposition.
PLAIN = {"ß": "ss", "ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i", "ё": "е"}
SPELLED_OUT = {"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "ß": "ss"}
WORD = re.compile(r"\S+")


def perturbed(kind: str, text: str, make: Perturbation | None = None) -> tuple[str, ...]:
    """At most ``HANDFUL`` variants of a query, in the order they are made.

    None equals the query or another. ``make`` replaces the kind's own generator. Raises
    ``KeyError`` for a kind that nobody defined.
    """
    text = unicodedata.normalize("NFC", text)
    candidates = dict.fromkeys((make or PERTURBATIONS[kind])(text))
    candidates.pop(text, None)
    chosen = set(sorted(candidates, key=lambda variant: _draw(kind, text, variant))[:HANDFUL])
    return tuple(variant for variant in candidates if variant in chosen)


def _draw(kind: str, text: str, variant: str) -> bytes:
    drawn = "\0".join((kind, text, variant))
    return sha256(drawn.encode("utf-8", "surrogatepass")).digest()


# -- what a slip may touch -------------------------------------------------------------------------


def _words(text: str) -> list[tuple[int, int]]:
    """The places where the first words of a query begin and end."""
    found = (match.span() for match in WORD.finditer(text))
    return [span for span, _ in zip(found, range(MOST_WORDS), strict=False)]


def _mistyped(text: str) -> Iterator[tuple[int, int]]:
    """The words that a slip of the fingers may touch: no short ones, numbers or ids."""
    shouted = text.upper() == text
    for start, end in _words(text):
        word = text[start:end]
        letters = word.strip(".,;:!?\"'()")
        is_code = letters.upper() == letters and letters.lower() != letters and not shouted
        if len(letters) >= SHORTEST_WORD and all(map(_is_typed, letters)) and not is_code:
            offset = word.index(letters)
            yield start + offset, start + offset + len(letters)


def _is_typed(letter: str) -> bool:
    """Tell whether a letter is typed by itself, as those of alphabets are."""
    return letter.isalpha() and unicodedata.name(letter, "").split(" ")[0] in ALPHABETS


def _neighbours() -> Mapping[str, str]:
    neighbours: dict[str, str] = {}
    for rows in KEYBOARDS:
        for number, row in enumerate(rows):
            for place, key in enumerate(row):
                near = row[max(0, place - 1) : place] + row[place + 1 : place + 2]
                if number > 0:  # each row lies half a key to the right of the one above it
                    near += rows[number - 1][place : place + 2]
                if number + 1 < len(rows):
                    near += rows[number + 1][max(0, place - 1) : place + 1]
                neighbours[key] = "".join(letter for letter in near if letter.isalpha())
    return neighbours


NEIGHBOURS = _neighbours()


# -- the kinds -------------------------------------------------------------------------------------


def typo(text: str) -> Iterator[str]:
    """One letter, not the first of its word, replaced by a neighbour on the keyboard."""
    for start, end in _mistyped(text):
        for place in range(start + 1, end):
            letter = text[place]
            plain = unicodedata.normalize("NFD", letter)[0].lower()
            for near in NEIGHBOURS.get(plain, ""):
                if near != plain:
                    slip = near.upper() if letter.isupper() else near
                    yield text[:place] + slip + text[place + 1 :]


def transpose(text: str) -> Iterator[str]:
    """Two letters side by side, neither the first of its word, in the wrong order."""
    for start, end in _mistyped(text):
        for place in range(start + 1, end - 1):
            one, other = text[place], text[place + 1]
            if one != other:
                yield text[:place] + other + one + text[place + 2 :]


def case(text: str) -> Iterator[str]:
    """The query in small letters, in capitals, and with a capital at each word."""
    yield text.lower()
    yield text.upper()
    yield WORD.sub(lambda word: word[0][:1].upper() + word[0][1:].lower(), text)


def diacritics(text: str) -> Iterator[str]:
    """The query without the marks on its letters, and with German and Nordic ones spelled out."""
    yield "".join(map(_without_mark, text))
    yield "".join(_same_case(letter, SPELLED_OUT.get(letter.lower(), letter)) for letter in text)


def _without_mark(letter: str) -> str:
    if letter.lower() in PLAIN:
        return _same_case(letter, PLAIN[letter.lower()])
    script = unicodedata.name(letter, "").split(" ")[0]
    if script not in ("LATIN", "GREEK"):  # elsewhere a mark makes another letter: и and й
        return letter
    return unicodedata.normalize("NFD", letter)[0]


def _same_case(letter: str, plain: str) -> str:
    return plain.capitalize() if letter.isupper() else plain


def hyphen(text: str) -> Iterator[str]:
    """Hyphens left out or written as a space, and two words joined by one."""
    for match in re.finditer(r"(?<=[^\W\d_])[-\u2010\u2011](?=[^\W\d_])", text):
        yield text[: match.start()] + text[match.end() :]
        yield text[: match.start()] + " " + text[match.end() :]
    for before, after in _between_words(text):
        yield text[:before] + "-" + text[after:]


def space(text: str) -> Iterator[str]:
    """The space between two words left out, or typed twice."""
    for before, after in _between_words(text):
        yield text[:before] + text[after:]
        yield text[:before] + "  " + text[after:]


def _between_words(text: str) -> Iterator[tuple[int, int]]:
    """The places where two words of letters meet."""
    words = _words(text)
    for (_, before), (after, _) in pairwise(words):
        if text[before - 1].isalpha() and text[after].isalpha():
            yield before, after


PERTURBATIONS: Mapping[str, Perturbation] = {
    "typo": typo,
    "transpose": transpose,
    "case": case,
    "diacritics": diacritics,
    "hyphen": hyphen,
    "space": space,
}
