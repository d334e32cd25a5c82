"""Markup of Markdown and HTML round words: each mark by its pattern, and what stays of it.

Every pattern is bounded or cannot start inside its own match, so that a hostile text takes time by
its length alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import NamedTuple

from pytest_irquality.passages.characters import BELOW
from pytest_irquality.passages.deciding import listed

Stays = str | int
"""What stays of a match: these characters, or those of this group."""


class Pass(NamedTuple):
    """One kind of mark. ``only_if``: what a text must hold for the pattern to be worth a look."""

    only_if: str
    pattern: re.Pattern[str]
    stays: Stays | Callable[[re.Match[str]], Stays]


INLINE_TAGS = listed(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd mark q rp rt ruby s samp"
    " small span strike strong sub sup time tt u var wbr label output"
)
BLOCK_TAGS = listed(
    "address area article aside audio blockquote body br button canvas caption center col colgroup"
    " dd details dialog div dl dt embed fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6"
    " head header hgroup hr html iframe img input legend li link main map menu meta meter nav"
    " noscript object ol optgroup option p param picture pre progress script section select slot"
    " source style summary svg table tbody td template textarea tfoot th thead title tr track ul"
    " video"
)
TAGS = INLINE_TAGS | BLOCK_TAGS
# Such a name right behind a word is a type's parameter, as in Array<object>; a real tag of these
# seldom stands there.
ALSO_TYPES = listed(
    "address button data dialog form header image input label link main map menu meta object option"
    " output param picture progress section select slot source style summary table template text"
    " time title track var video"
)
BOOLEAN = "async|autofocus|autoplay|checked|controls|default|defer|disabled|hidden|loop|multiple|muted|nowrap|open|readonly|required|reversed|selected"
ATTRIBUTE = rf"""\s{{1,40}}(?:[\w:@.-]{{1,60}}\s?=\s?(?:"[^"]{{0,2000}}"|'[^']{{0,2000}}'|[^\s"'<>=`]{{1,500}})|(?:{BOOLEAN})\b)"""
URL = r"[^\s()<>]{0,1000}(?:\([^\s()<>]{0,200}\)[^\s()<>]{0,300})?"
TARGET = rf"""(?=[^\s()\[\]]{{0,1000}}[/.#:])<?{URL}>?(?:\s{{1,4}}(?:"[^"]{{0,300}}"|'[^']{{0,300}}'))?\s?"""


def _tag(match: re.Match[str]) -> Stays:
    """Nothing of an inline tag, a space of any other; what is no tag of HTML stays."""
    closing, written = match[1], match[2]
    name = written.lower()
    if name not in TAGS:
        return 0
    stays = "" if name in INLINE_TAGS else " "
    if closing:
        return stays
    before = match.string[match.start() - 1 : match.start()]
    if _is_word(before) and not match[3] and _may_be_type(written):
        return 0
    if name == "sub" and match.string[match.end() : match.end() + 1].isdigit():
        return BELOW
    return stays


def _may_be_type(written: str) -> bool:
    """Tell whether a tag's name behind a word may be a type's parameter, as in Array<T>."""
    name = written.lower()
    if name in ALSO_TYPES:
        return True
    is_tag_in_capitals = len(name) > 1 and written == written.upper()
    return written != name and not is_tag_in_capitals


def _list_numbers() -> Callable[[re.Match[str]], Stays]:
    """A rule for numbers that begin a line, which counts the items of lists.

    Such a number is a list's where a list may begin, or where it counts on from the item before.
    """
    last = -1

    def stays(match: re.Match[str]) -> Stays:
        nonlocal last
        number, end_before = int(match[1]), max(match.start() - 1, 0)
        start_before = match.string.rfind("\n", 0, end_before) + 1
        begins_list = number == 1 or not match.string[start_before:end_before].strip()
        if not begins_list and number != last + 1:
            return 0
        last = number
        return ""

    return stays


def _star(match: re.Match[str]) -> Stays:
    """Nothing of stars at the edge of a word, which are marks.

    Between numbers, or spaced between them, they multiply, and stay.
    """
    start, end = match.span()
    left, right = match.string[max(start - 8, 0) : start], match.string[end : end + 8]
    before, after = left[-1:], right[:1]
    if before.isspace() and after.isspace():
        return 0 if _is_product(left.rstrip(), right.lstrip()) else ""
    if _is_word(before) and _is_word(after):
        is_bold = match[0] == "**" and (before + after).isalpha()
        return "" if is_bold else 0
    alone_in_brackets = before in tuple("([{") and after in tuple(")]},;")
    return 0 if alone_in_brackets else ""


def _is_product(left: str, right: str) -> bool:
    """Tell whether a star between these texts multiplies."""
    return _operand(left[-2:][::-1]) and _operand(right[:2])


def _operand(near_first: str) -> bool:
    """A digit, or a letter that stands alone, nearest first."""
    return near_first[:1].isdigit() or (near_first[:1].isalpha() and not _is_word(near_first[1:2]))


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _cells(match: re.Match[str]) -> Stays:
    return match[0].replace("|", " ")


LINES = re.M


def passes() -> tuple[Pass, ...]:
    """Every kind of mark, in the order in which they are taken out.

    They are made anew for each text, as lists are counted.
    """
    return (*FIXED[:NUMBERS_AT], Pass("", LIST_NUMBER, _list_numbers()), *FIXED[NUMBERS_AT:])


LIST_NUMBER = re.compile(r"^[ \t]{0,40}(\d{1,3})[.)](?=[ \t])", LINES)
FIXED = (
    Pass("\r", re.compile(r"\r\n?"), "\n"),
    Pass("\u00ad", re.compile("\u00ad[ \t]{0,40}\n?[ \t]{0,40}"), ""),
    Pass("&", re.compile(r"&(?:#x?[0-9A-Fa-f]{1,7}|[A-Za-z][A-Za-z0-9]{1,31});"), lambda m: unescape(m[0])),
    Pass("<!--", re.compile(r"<!--(?:(?!<!--|-->).)*-->", re.S), " "),
    Pass("<", re.compile(r"<(?:sup|SUP)>\s?([+\u2212-]?(?:\d{1,6}|n))\s?</(?:sup|SUP)>"), lambda m: f"^{m[1]}"),
    Pass("<", re.compile(r"<((?:https?|ftp|mailto):[^<>\s]{1,2000}|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8})>"), 1),
    Pass("<", re.compile(rf"<(/?)([A-Za-z][A-Za-z0-9]{{0,11}})((?:{ATTRIBUTE}){{0,20}})\s{{0,20}}/?>"), _tag),
    Pass("```", re.compile(r"^[ \t>]{0,20}`{3,}[^\n`]*$", LINES), ""),
    Pass("~~~", re.compile(r"^[ \t>]{0,20}~{3,}[^\n~]*$", LINES), ""),
    Pass("[", re.compile(r"(?<![\w)\]])!\[([^\[\]]{0,500})\]\(" + TARGET + r"\)"), 1),
    Pass("[", re.compile(r"(?<![\w)\]])\[([^\[\]]{0,500})\]\(" + TARGET + r"\)"), 1),
    Pass("]:", re.compile(r"^[ ]{0,3}\[[^\[\]\n]{1,100}\]:[ \t]{1,8}<?[a-z./#][^\s]{0,1000}(?:[ \t]{1,8}[\"'(][^\n]{0,300})?$", LINES), ""),
    Pass("[^", re.compile(r"\[\^[^\[\]\s]{1,60}\]:?"), ""),
    Pass("][", re.compile(r"(?<![\w)\]])\[([^\[\]]{1,500})\]\[[^\[\]\n]{0,100}\]"), 1),
    Pass("{", re.compile(r"\{[#.][^{}\n]{1,80}\}"), ""),
    Pass("\\", re.compile(r"\\([!-/:-@\[-`{-~])"), 1),
    Pass(">", re.compile(r"^[ \t]{0,40}>(?!=)(?:[ \t]?>(?!=))*", LINES), ""),
    Pass("", re.compile(r"^[-=*_+|:~ \t\u2500-\u257f]{3,}$", LINES), ""),
    Pass("|", re.compile(r"^[ \t]{0,40}\|[^\n]*$", LINES), _cells),
    Pass("", re.compile(r"^[ \t]{0,40}[-*+\u2022\u2023\u25e6\u25aa\u25cf\u25cb\u25a0\u2013\u2014](?=[ \t])(?:[ \t]{1,8}\[[ xX]\](?=[ \t]))?", LINES), ""),
    # the numbers of lists are taken out here
    Pass("~~", re.compile(r"~~"), ""),
    Pass("`", re.compile(r"`"), ""),
    Pass("*", re.compile(r"\*+"), _star),
    Pass("_", re.compile(r"(?<!\w)_+|(?<=[^\W_])_+(?!\w)"), ""),
)  # fmt: skip
NUMBERS_AT = next(place for place, one in enumerate(FIXED) if one.only_if == "~~")
WITH_LETTERS = FIXED[: next(place for place, one in enumerate(FIXED) if one.only_if == "\\")]
"""Those that take out letters, or make them; but for the sign of a task that is done."""
