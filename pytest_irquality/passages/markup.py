"""What Markdown and HTML put round words: each mark by its pattern, and what stays of it.

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
    if name not in INLINE_TAGS and name not in BLOCK_TAGS:
        return 0
    before = match.string[match.start() - 1 : match.start()]
    behind_word = before.isalnum() or before == "_"
    if behind_word and not closing and not match[3]:
        mixed_case = written != name and (len(name) == 1 or written != written.upper())
        if mixed_case or name in ALSO_TYPES:
            return 0
    if name == "sub" and not closing and before.isdigit():
        return BELOW
    return "" if name in INLINE_TAGS else " "


def _list_numbers() -> Callable[[re.Match[str]], Stays]:
    """A number that begins a line is a list's where a list may begin, or where it counts on from
    the item before.
    """
    last = -1

    def stays(match: re.Match[str]) -> Stays:
        nonlocal last
        number, end_before = int(match[1]), match.start() - 1
        line_before = match.string[
            match.string.rfind("\n", 0, max(end_before, 0)) + 1 : max(end_before, 0)
        ]
        if number != 1 and line_before.strip() and number != last + 1:
            return 0
        last = number
        return ""

    return stays


def _star(match: re.Match[str]) -> Stays:
    """Stars at the edge of a word are marks; between numbers, or spaced between them, they
    multiply.
    """
    text, start, end = match.string, match.start(), match.end()
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    if before.isspace() and after.isspace():
        left, right = text[max(start - 8, 0) : start].rstrip(), text[end : end + 8].lstrip()
        return 0 if _operand(left[-2:][::-1]) and _operand(right[:2]) else ""
    inside = _is_word(before) and _is_word(after)
    if not inside:
        return 0 if before in "([{" and after in ")]},;" and before and after else ""
    return "" if match[0] == "**" and before.isalpha() and after.isalpha() else 0


def _operand(near_first: str) -> bool:
    """A digit, or a letter that stands alone, nearest first."""
    return near_first[:1].isdigit() or (near_first[:1].isalpha() and not _is_word(near_first[1:2]))


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _cells(match: re.Match[str]) -> Stays:
    return match[0].replace("|", " ")


LINES = re.M


def passes() -> tuple[Pass, ...]:
    """Every kind of mark, in the order in which they are taken out; made anew for each text, as
    lists are counted.
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
