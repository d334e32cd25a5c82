"""The normalized form of a text: its words, which loaders, chunkers and typesetters do not change.

A word is a run of letters and digits with what belongs to it (``C++``, ``-5``, ``1.2.3``,
``snake_case``, ``List<String>``, ``5%``), an operator (``<=``), or one character of a script that
puts no spaces between words. Case, spacing, line breaks, hyphens between letters, quotes, dashes,
invisible characters, entities, Unicode forms and the marks of Markdown and HTML disappear.
Punctuation separates words and disappears, too.
"""

from __future__ import annotations

import re
from functools import cache, cached_property, lru_cache
from unicodedata import normalize

from pytest_irquality.passages.characters import (
    FOLD_TABLE,
    SUBSCRIPT,
    UNSPACED,
    get_mark_class,
    limit_marks,
)
from pytest_irquality.passages.markup import remove_letters_of_markup, remove_markup

_LETTER = "[^\\W\\d_]"
_UNITS = "%‰°€£¥₹₽"
_CURRENCIES = "$€£¥₹"
_OPERATORS = (
    "<=>|<->|<-(?![0-9])|->|\\*\\*|(?<!=)=>|:=|[!<>]==?|[+*/%&|^-]=(?!=)|(?<!=)={1,3}(?!=)|<<|>>"
    "|&&|\\|\\||\\+\\+|!(?=[\\w(])|[<>+*%^~&±×÷√∞∈✓✗]"
    # A dash directly between two words ends a clause, wherever the line was broken.
    f"|(?<={_LETTER})—(?=\n?{_LETTER})|(?<={_LETTER}\n)—(?={_LETTER})"
)
_NO_LETTER = re.compile(r"[\W\d_]+")
_ASCII_WITHOUT_LETTERS = bytes(code for code in range(128) if not chr(code).isalpha())


class NormalizedText:
    """A text in normalized form.

    Attributes:
        words: The words in order. Two texts with equal words are the same text to a reader.
    """

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = words

    @cached_property
    def line(self) -> str:
        """Return the words, each between line ends, so words in a row are found as a string."""
        if not self.words:
            return "\n"
        return "\n" + "\n".join(self.words) + "\n"

    @cached_property
    def letters(self) -> str:
        """Return all letters of the words without anything between them."""
        return _NO_LETTER.sub("", self.line)

    def __str__(self) -> str:
        return " ".join(self.words)


@lru_cache(maxsize=2**12)
def normalize_text(text: str) -> NormalizedText:
    """Return the normalized form of a text, in time linear in its length.

    The last few thousand texts are remembered, because a chunk is returned for many queries.
    """
    text = _fold(remove_markup(text))
    for pattern, replacement in _get_joints():
        text = pattern.sub(replacement, text)
    return NormalizedText(tuple(_get_word_pattern().findall(text)))


@lru_cache(maxsize=2**15)
def extract_letters(text: str) -> str:
    """Return ``normalize_text(text).letters`` at a fraction of the cost.

    A text that lacks the letters of a passage does not contain the passage.
    """
    if "[x]" in text or "[X]" in text:  # A task's box is only recognized after other marks.
        return normalize_text(text).letters
    text = remove_letters_of_markup(text)
    if text.isascii():
        return text.encode().lower().translate(None, _ASCII_WITHOUT_LETTERS).decode()
    return _NO_LETTER.sub("", _fold(text))


def _fold(text: str) -> str:
    """Replace characters by what they mean, in canonical composed form."""
    if text.isascii():
        return text.translate(FOLD_TABLE)
    # Folding removes invisible characters, so it can join runs of marks to a longer one.
    folded = normalize("NFC", limit_marks(text)).translate(FOLD_TABLE)
    return normalize("NFC", limit_marks(folded))


@cache
def _get_joints() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return what is between the parts of one word, range, power or fraction of a folded text."""
    space = "[ ]{0,40}"
    digit = "(?<=[0-9])"
    joints = [
        # Hyphens in compounds and at the ends of lines.
        (f"(?<={_LETTER}{_LETTER})-{space}\n?{space}(?={_LETTER})", ""),
        (f"(?<={_LETTER})-{space}\n?{space}(?={_LETTER}{_LETTER})", ""),
        # Ranges and differences.
        (f"{digit}(?:[ ]{{1,3}}[-—][ ]{{1,3}}|-{{1,2}}\n?[ ]?|—)(?=[0-9])", "-"),
        ("(?:(?<=\\b[a-z])|(?<=[0-9]))[ ]{1,3}-[ ]{1,3}(?=[a-z]\\b|[0-9])", "-"),
        # Typesetters turn the two hyphens of a command line option into one dash.
        (f"(?<![\\w)\\]-])--(?={_LETTER})", "-"),
        (f"{digit}[ ]{{0,3}}/[ ]{{0,3}}(?=[0-9])", "/"),
        (f"{digit}[ \n]{{1,3}}(?=[{_UNITS}](?!\\w)|°[cf]\\b)", ""),
        # Each digit of an index or power is marked. One mark for all of them remains.
        (f"(?<={SUBSCRIPT}[0-9]){SUBSCRIPT}", ""),
        (f"(?:(?<=[0-9])|(?<=\\b[a-z])(?=.[0-9]{{1,9}}(?!\\w))){SUBSCRIPT}", "_"),
        (SUBSCRIPT, ""),
        ("(?<=\\^[0-9])\\^|(?<=\\^-)\\^|(?<=\\^n)\\^", ""),
    ]
    return tuple((re.compile(pattern), replacement) for pattern, replacement in joints)


@cache
def _get_word_pattern() -> re.Pattern[str]:
    """Return the pattern of a word in a folded text."""
    mark = get_mark_class()
    character = f"(?:(?![{UNSPACED}])[\\w{mark}])"
    prefix = (
        f"(?<![\\w)\\]])(?:[-+]?[{_CURRENCIES}]?\\.?(?=[0-9])|--?(?={_LETTER})|\\$(?={_LETTER}))"
    )
    inside = (
        f"['.@]{character}|(?<=[0-9])[:,/](?=[0-9])|-(?={character})"
        f"|(?<={_LETTER})&(?={_LETTER})|\\^[-+]?(?={character})|\\+\\+(?=[0-9])"
    )
    suffix = (
        "(?:\\+{1,2}(?![\\w+])|(?<=\\b[a-z])#(?!\\w)|(?<=[0-9])°[cf]?\\b"
        f"|(?<=[0-9])[{_UNITS}](?!\\w))?"
        "(?:<[a-z][\\w.,\\[\\]?:<>]{0,60}>)?"
    )
    word = f"(?:{prefix})?{character}(?:{character}|{inside})*{suffix}"
    return re.compile(f"[{UNSPACED}][{mark}]*|{word}|{_OPERATORS}")
