"""What single characters mean: how each is folded, and which of them can be part of a word."""

from __future__ import annotations

import re
from functools import cache
from unicodedata import category, combining, decimal, decomposition, normalize

# Scripts that put no space between words. Each of their characters, with its marks, is a word.
UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Tibetan, Burmese, Khmer
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u303b\u3041-\u309f\u30a1-\u30fa"
    "\u30fc-\u30ff\u3100-\u312f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua9e0-\ua9ff\uf900-\ufaff"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
MAX_MARKS_IN_A_ROW = 30
# A private character in front of each digit of an index: H₂ is not H2, and 10₂ is not 102.
SUBSCRIPT = "\ue000"

_HYPHENS = "\u2010\u2011\u2012\u2013\u2043\u2212\ufe63\uff0d\u058a\u05be"
_EM_DASHES = "\u2014\u2015\u2e3a\u2e3b\ufe31\ufe58"
_APOSTROPHES = "\u2018\u2019\u201b\u02bc\u02b9\uff07\u2032\u00b4`"
_REPLACEMENTS = {
    SUBSCRIPT: SUBSCRIPT,
    **dict.fromkeys(_HYPHENS, "-"),
    **dict.fromkeys(_EM_DASHES, "\u2014"),
    **dict.fromkeys(_APOSTROPHES, "'"),
    **dict.fromkeys("\u2713\u2714\u2705\u2611", "\u2713"),
    **dict.fromkeys("\u2717\u2718\u274c\u2612\u2715\u2716", "\u2717"),
    "\u2264": "<=", "\u2a7d": "<=", "\u2265": ">=", "\u2a7e": ">=", "\u2260": "!=", "\u2248": "~",
    "\u2192": "->", "\u27f6": "->", "\u2190": "<-", "\u21d2": "=>", "\u27f9": "=>",
    "\u2217": "*", "\u2044": "/", "\u2215": "/", "\u301c": "~", "\uff5e": "~",
    "\u2122": "", "\u2120": "", "\u00ae": "", "\u00a9": "",  # trademark and copyright signs
    "\u0640": "",  # Arabic tatweel only stretches a word.
    "\u0130": "i",
    "\n": "\n",
}  # fmt: skip
_INVISIBLE_CATEGORIES = ("Cf", "Cs", "Cn", "Co")
_SPACE_CATEGORIES = ("Zs", "Zl", "Zp", "Cc")
_VARIATION_SELECTORS = frozenset(map(chr, range(0xFE00, 0xFE10)))
_ORDINAL_LETTERS = "\u00aa\u00ba"


class _FoldTable(dict[int, str]):
    """A table for ``str.translate`` that computes each character when it is first needed."""

    def __missing__(self, code: int) -> str:
        self[code] = folded = _fold_character(chr(code))
        return folded


FOLD_TABLE = _FoldTable()


def _fold_character(character: str) -> str:
    """Return what a character is replaced with.

    Case and compatibility forms disappear unless that would change the meaning: 10² becomes
    ``10^2`` rather than 102, and ½ becomes a separate ``1/2``. Invisible characters disappear.
    """
    if character in _REPLACEMENTS:
        return _REPLACEMENTS[character]
    kind = category(character)
    if kind == "Nd":
        return str(decimal(character))
    if kind in _INVISIBLE_CATEGORIES or character in _VARIATION_SELECTORS:
        return ""
    if kind in _SPACE_CATEGORIES:
        return " "
    return _fold_compatibility(character)


def _fold_compatibility(character: str) -> str:
    """Return the plain form of a letter or sign. Superscripts stay raised."""
    plain = normalize("NFKC", character)
    form = decomposition(character).partition(" ")[0]
    if form == "<super>" and character not in _ORDINAL_LETTERS:
        return f"^{_REPLACEMENTS.get(plain, plain)}".casefold()
    if form == "<sub>" and plain.isdigit():
        return SUBSCRIPT + plain
    if form in ("<fraction>", "<circle>") or plain[:1] == "(":
        replaced = [_REPLACEMENTS.get(part, part) for part in plain]
        return f" {''.join(replaced)} ".casefold()
    if form == "<square>":
        raised = {"2": "\u00b2", "3": "\u00b3"}
        if plain[-1:] in raised:  # A squared unit such as km², not km2.
            plain = plain[:-1] + raised[plain[-1]]
        return "".join(map(_fold_character, normalize("NFD", plain)))
    return normalize("NFKC", plain.casefold())


@cache
def get_mark_class() -> str:
    """Return every combining mark, as the inside of a regular expression's character class."""
    codes = [code for code in range(0x300, 0x1F000) if category(chr(code)) in ("Mn", "Mc")]
    return _make_class(codes)


def limit_marks(text: str) -> str:
    """Drop the combining marks that follow 30 others directly.

    Putting a run of marks into canonical order takes quadratic time, and no language needs more
    marks on one letter. See "Stream-Safe Text Format" in https://unicode.org/reports/tr15/.
    """
    if text.isascii():
        return text
    return _get_long_runs().sub(r"\1", text)


@cache
def _get_long_runs() -> re.Pattern[str]:
    codes = [code for code in range(0x300, 0x1F000) if combining(chr(code))]
    marks = _make_class(codes)
    return re.compile(f"([{marks}]{{{MAX_MARKS_IN_A_ROW}}})[{marks}]+")


def _make_class(codes: list[int]) -> str:
    """Join code points into ranges of a character class."""
    ranges: list[list[int]] = []
    for code in codes:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"{chr(start)}-{chr(end)}" for start, end in ranges)


def split_words(text: str) -> frozenset[str]:
    """Return the set of words in a text, for lists that read better as text."""
    return frozenset(text.split())
