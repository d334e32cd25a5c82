"""The normal form of a text: its words in order.

A loader, a chunker or a typesetter leaves no trace in it. ``words`` is all of it. A word is a run
of letters and digits with whatever belongs to it (``C++``, ``-5``, ``1.2.3``, ``snake_case``,
``List<String>``, ``5%``), an operator (``<=``), or one character of a script without spaces. Case,
white space, line breaks, hyphens between letters, quotes, dashes, invisible characters, entities,
Unicode form, and the marks of Markdown and HTML leave no trace. Punctuation parts words and is
nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from unicodedata import normalize

from pytest_irquality.passages.characters import BELOW, FOLD, UNSPACED, marks
from pytest_irquality.passages.markup import WITH_LETTERS, Pass, passes

LETTERS = "[^\\W\\d_]"
UNITS = "%‰°€£¥₹₽"
SIGNS = "$€£¥₹"
OPERATORS = (
    "<=>|<->|<-(?![0-9])|->|\\*\\*|(?<!=)=>|:=|[!<>]==?|[+*/%&|^-]=(?!=)|(?<!=)={1,3}(?!=)|<<|>>|&&|\\|\\||\\+\\+"
    "|!(?=[\\w(])|[<>+*%^~&±×÷√∞∈✓✗]"
    # A dash right between two words is the end of a sentence, wherever its line was broken.
    f"|(?<={LETTERS})—(?=\n?{LETTERS})|(?<={LETTERS}\n)—(?={LETTERS})"
)

GAP = re.compile(r"(?<=\s)(?:…|\.\.\.)(?=\s)|\[(?:…|\.\.\.)\]")
BESIDE_GAP = 3  # words on each side of an ellipsis that is a gap

NO_LETTER = re.compile(r"[\W\d_]+")
NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalpha())


@dataclass(frozen=True)
class Normal:
    """A text in normal form: its words."""

    words: tuple[str, ...]
    parts: tuple[Normal, ...] = ()  # of a passage with gaps, between them

    @cached_property
    def line(self) -> str:
        """The words between line ends, which no word holds.

        Whole words are found in it as a string is.
        """
        return "\n" + "".join(f"{word}\n" for word in self.words)

    @cached_property
    def letters(self) -> str:
        """The letters of its words in a row."""
        return NO_LETTER.sub("", self.line)

    def __str__(self) -> str:
        return " ".join(self.words)


@lru_cache(maxsize=2**14)
def normal(text: str) -> Normal:
    """The normal form of a text; remembered, as chunks come back for one query after the other."""
    return Normal(words(text))


@lru_cache(maxsize=2**14)
def sought(passage: str) -> Normal:
    """The normal form of a passage that is looked for: an ellipsis in it may be a gap."""
    parts = tuple(map(normal, GAP.split(passage)))
    can_be_gap = len(parts) > 1 and all(len(part.words) >= BESIDE_GAP for part in parts)
    return Normal(words(passage), parts if can_be_gap else ())


def words(text: str) -> tuple[str, ...]:
    """The normal form of a text. Takes time in proportion to its length."""
    for one in passes():
        if one.only_if in text:
            text = one.pattern.sub(_stays(one), text)
    text = normalize("NFC", normalize("NFC", text).translate(FOLD))
    for one in joined():
        text = one.pattern.sub(_stays(one), text)
    return tuple(pattern().findall(text))


@lru_cache(maxsize=2**15)
def letters(text: str) -> str:
    """The letters of a text's normal form in a row.

    They cost a fraction of its words: of all marks only those are taken out that have letters.
    """
    if "[x]" in text or "[X]" in text:  # at the end of a line's other marks
        return normal(text).letters
    for one in WITH_LETTERS:
        if one.only_if in text:
            text = one.pattern.sub(_stays(one), text)
    if text.isascii():
        return text.encode().lower().translate(None, NO_LETTERS).decode()
    return NO_LETTER.sub("", normalize("NFC", normalize("NFC", text).translate(FOLD)))


@cache
def joined() -> tuple[Pass, ...]:
    """Patterns between the halves of one word, or of one range, power or share.

    They are those of a folded text.
    """
    space = "[ ]{0,40}"
    digit = "(?<=[0-9])"
    apart = [
        (
            f"(?<={LETTERS}{LETTERS})-{space}\n?{space}(?={LETTERS})",
            "",
        ),  # hyphens of compounds and line ends
        (f"(?<={LETTERS})-{space}\n?{space}(?={LETTERS}{LETTERS})", ""),
        (f"{digit}(?:[ ]{{1,3}}[-—][ ]{{1,3}}|-{{1,2}}\n?[ ]?|—)(?=[0-9])", "-"),
        ("(?:(?<=\\b[a-z])|(?<=[0-9]))[ ]{1,3}-[ ]{1,3}(?=[a-z]\\b|[0-9])", "-"),
        (f"(?<![\\w)\\]-])--(?={LETTERS})", "-"),  # of options, which typesetters make one dash
        (f"{digit}[ ]{{0,3}}/[ ]{{0,3}}(?=[0-9])", "/"),
        (f"{digit}[ \n]{{1,3}}(?=[{UNITS}](?!\\w)|°[cf]\\b)", ""),
        (f"(?<={BELOW}[0-9]){BELOW}", ""),  # each digit of an index is below
        (f"(?:(?<=[0-9])|(?<=\\b[a-z])(?=.[0-9]{{1,9}}(?!\\w))){BELOW}", "_"),
        (BELOW, ""),
        (
            "(?<=\\^[0-9])\\^|(?<=\\^-)\\^|(?<=\\^n)\\^",
            "",
        ),  # each digit of a raised number is raised
    ]
    return tuple(Pass("", re.compile(pattern), stays) for pattern, stays in apart)


@cache
def pattern() -> re.Pattern[str]:
    """A word of a folded text."""
    mark = marks()
    spaced = f"(?:(?![{UNSPACED}])[\\w{mark}])"
    prefix = f"(?<![\\w)\\]])(?:[-+]?[{SIGNS}]?\\.?(?=[0-9])|--?(?={LETTERS})|\\$(?={LETTERS}))"
    inside = (
        f"['.@]{spaced}|(?<=[0-9])[:,/](?=[0-9])|-(?={spaced})|(?<={LETTERS})&(?={LETTERS})|\\^[-+]?(?={spaced})"
        "|\\+\\+(?=[0-9])"
    )
    suffix = (
        f"(?:\\+{{1,2}}(?![\\w+])|(?<=\\b[a-z])#(?!\\w)|(?<=[0-9])°[cf]?\\b|(?<=[0-9])[{UNITS}](?!\\w))?"
        "(?:<[a-z][\\w.,\\[\\]?:<>]{0,60}>)?"
    )
    word = f"(?:{prefix})?{spaced}(?:{spaced}|{inside})*{suffix}"
    return re.compile(f"[{UNSPACED}][{mark}]*|{word}|{OPERATORS}")


def _stays(one: Pass) -> str | Callable[[re.Match[str]], str]:
    """The replacement of one kind of mark as ``re.sub`` takes it."""
    keep = one.stays
    if isinstance(keep, str):
        return keep
    if isinstance(keep, int):
        return lambda match: match[keep]
    choose = keep

    def stays(match: re.Match[str]) -> str:
        chosen = choose(match)
        return chosen if isinstance(chosen, str) else match[chosen]

    return stays
