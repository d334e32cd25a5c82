"""Marks of Markdown and HTML around words: how each is recognized and what remains of it.

Every pattern is bounded, or cannot start inside its own match, so the time is linear in the length
of any text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from html import unescape
from typing import NamedTuple

from pytest_irquality.passages.characters import SUBSCRIPT, split_words

Remains = str | int | Callable[["re.Match[str]"], "str | int"]
"""What remains of a match: a text, a group by its number, or a function that returns either."""


class Markup(NamedTuple):
    """One kind of mark.

    Attributes:
        hint: What a text must contain for the pattern to be worth trying.
    """

    hint: str
    pattern: re.Pattern[str]
    remains: Remains

    def remove(self, text: str) -> str:
        """Return a text without marks of this kind."""
        if self.hint not in text:
            return text
        remains = self.remains
        if isinstance(remains, str):
            return self.pattern.sub(remains, text)

        def replace(match: re.Match[str]) -> str:
            value = remains(match) if callable(remains) else remains
            return value if isinstance(value, str) else match[value]

        return self.pattern.sub(replace, text)


_INLINE_TAGS = split_words(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd mark q rp rt ruby s samp"
    " small span strike strong sub sup time tt u var wbr label output"
)
_BLOCK_TAGS = split_words(
    "address area article aside audio blockquote body br button canvas caption center col colgroup"
    " dd details dialog div dl dt embed fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6"
    " head header hgroup hr html iframe img input legend li link main map menu meta meter nav"
    " noscript object ol optgroup option p param picture pre progress script section select slot"
    " source style summary svg table tbody td template textarea tfoot th thead title tr track ul"
    " video"
)
_TAGS = _INLINE_TAGS | _BLOCK_TAGS
# Directly after a word such a name is a type parameter, as in Array<object>. A real tag of these is
# rare there.
_POSSIBLE_TYPES = split_words(
    "address button data dialog form header image input label link main map menu meta object option"
    " output param picture progress section select slot source style summary table template text"
    " time title track var video"
)


def _remove_tag(match: re.Match[str]) -> str | int:
    """Replace a block tag with a space and an inline tag with nothing. Keep what is no HTML tag."""
    is_closing, written = match[1], match[2]
    name = written.lower()
    if name not in _TAGS:
        return 0
    remains = "" if name in _INLINE_TAGS else " "
    if is_closing:
        return remains
    before = match.string[match.start() - 1 : match.start()]
    if _is_word(before) and not match[3] and _may_be_type(written):
        return 0
    if name == "sub" and match.string[match.end() : match.end() + 1].isdigit():
        return SUBSCRIPT
    return remains


def _may_be_type(written: str) -> bool:
    """Return whether a tag's name after a word may be a type parameter, as in ``Array<T>``."""
    name = written.lower()
    if name in _POSSIBLE_TYPES:
        return True
    is_tag_in_capitals = len(name) > 1 and written == written.upper()
    return written != name and not is_tag_in_capitals


def _make_number_remover() -> Callable[[re.Match[str]], str | int]:
    """Return a function for numbers at the start of a line, which removes those of lists.

    A number belongs to a list if a list may begin there, or if it continues the item before.
    """
    last_number = -1

    def remove_number(match: re.Match[str]) -> str | int:
        nonlocal last_number
        number, previous_end = int(match[1]), max(match.start() - 1, 0)
        previous_start = match.string.rfind("\n", 0, previous_end) + 1
        begins_list = number == 1 or not match.string[previous_start:previous_end].strip()
        if not begins_list and number != last_number + 1:
            return 0
        last_number = number
        return ""

    return remove_number


def _remove_stars(match: re.Match[str]) -> str | int:
    """Remove stars at the edge of a word. Stars between numbers multiply, so they stay."""
    start, end = match.span()
    left, right = match.string[max(start - 8, 0) : start], match.string[end : end + 8]
    before, after = left[-1:], right[:1]
    if before.isspace() and after.isspace():
        is_product = _is_operand(left.rstrip()[-2:][::-1]) and _is_operand(right.lstrip()[:2])
        return 0 if is_product else ""
    if _is_word(before) and _is_word(after):
        is_bold = match[0] == "**" and (before + after).isalpha()
        return "" if is_bold else 0
    is_alone_in_brackets = before in tuple("([{") and after in tuple(")]},;")
    return 0 if is_alone_in_brackets else ""


def _is_operand(nearest_first: str) -> bool:
    """Return whether the characters next to a star are a digit or a single letter."""
    if nearest_first[:1].isdigit():
        return True
    return nearest_first[:1].isalpha() and not _is_word(nearest_first[1:2])


def _blank_cell_borders(match: re.Match[str]) -> str:
    return match[0].replace("|", " ")


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def remove_markup(text: str) -> str:
    """Return a text without the marks of Markdown and HTML."""
    patterns = _get_patterns()
    for markup in (*patterns.with_letters, *patterns.before_lists):
        text = markup.remove(text)
    text = Markup("", patterns.list_number, _make_number_remover()).remove(text)
    for markup in patterns.after_lists:
        text = markup.remove(text)
    return text


def remove_letters_of_markup(text: str) -> str:
    """Remove only the marks that have letters, which is much faster than ``remove_markup``."""
    for markup in _get_patterns().with_letters:
        text = markup.remove(text)
    return text


class _Patterns(NamedTuple):
    """All kinds of marks, in the order in which they are removed."""

    with_letters: tuple[Markup, ...]
    before_lists: tuple[Markup, ...]
    list_number: re.Pattern[str]
    after_lists: tuple[Markup, ...]


@cache
def _get_patterns() -> _Patterns:
    """Compile the patterns when the first text is read, since most projects have none."""
    boolean_attributes = (
        "async|autofocus|autoplay|checked|controls|default|defer|disabled|hidden|loop|multiple|muted"
        "|nowrap|open|readonly|required|reversed|selected"
    )
    attribute = (
        r"\s{1,40}(?:[\w:@.-]{1,60}\s?=\s?"
        r"""(?:"[^"]{0,2000}"|'[^']{0,2000}'|[^\s"'<>=`]{1,500})"""
        rf"|(?:{boolean_attributes})\b)"
    )
    url = r"[^\s()<>]{0,1000}(?:\([^\s()<>]{0,200}\)[^\s()<>]{0,300})?"
    link_title = r"""(?:\s{1,4}(?:"[^"]{0,300}"|'[^']{0,300}'))?"""
    link_target = rf"(?=[^\s()\[\]]{{0,1000}}[/.#:])<?{url}>?{link_title}\s?"

    lines = re.M
    list_number = re.compile(r"^[ \t]{0,40}(\d{1,3})[.)](?=[ \t])", lines)
    entity = re.compile(r"&(?:#x?[0-9A-Fa-f]{1,7}|[A-Za-z][A-Za-z0-9]{1,31});")
    comment = re.compile(r"<!--(?:(?!<!--|-->).)*-->", re.S)
    superscript = re.compile(
        r"<(?:sup|SUP)>\s?([+\u2212-]?(?:\d{1,6}|n))\s?</(?:sup|SUP)>",
    )
    autolink = re.compile(
        r"<((?:https?|ftp|mailto):[^<>\s]{1,2000}"
        r"|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8})>"
    )
    tag = re.compile(rf"<(/?)([A-Za-z][A-Za-z0-9]{{0,11}})((?:{attribute}){{0,20}})\s{{0,20}}/?>")
    image = re.compile(r"(?<![\w)\]])!\[([^\[\]]{0,500})\]\(" + link_target + r"\)")
    link = re.compile(r"(?<![\w)\]])\[([^\[\]]{0,500})\]\(" + link_target + r"\)")
    link_definition = re.compile(
        r"^[ ]{0,3}\[[^\[\]\n]{1,100}\]:[ \t]{1,8}<?[a-z./#][^\s]{0,1000}"
        r"(?:[ \t]{1,8}[\"'(][^\n]{0,300})?$",
        lines,
    )
    reference = re.compile(r"(?<![\w)\]])\[([^\[\]]{1,500})\]\[[^\[\]\n]{0,100}\]")
    list_item = re.compile(
        r"^[ \t]{0,40}[-*+\u2022\u2023\u25e6\u25aa\u25cf\u25cb\u25a0\u2013\u2014](?=[ \t])"
        r"(?:[ \t]{1,8}\[[ xX]\](?=[ \t]))?",
        lines,
    )
    with_letters = (
        Markup("\r", re.compile(r"\r\n?"), "\n"),
        Markup("\u00ad", re.compile("\u00ad[ \t]{0,40}\n?[ \t]{0,40}"), ""),
        Markup("&", entity, lambda match: unescape(match[0])),
        Markup("<!--", comment, " "),
        Markup("<", superscript, lambda match: f"^{match[1]}"),
        Markup("<", autolink, 1),
        Markup("<", tag, _remove_tag),
        Markup("```", re.compile(r"^[ \t>]{0,20}`{3,}[^\n`]*$", lines), ""),
        Markup("~~~", re.compile(r"^[ \t>]{0,20}~{3,}[^\n~]*$", lines), ""),
        Markup("[", image, 1),
        Markup("[", link, 1),
        Markup("]:", link_definition, ""),
        Markup("[^", re.compile(r"\[\^[^\[\]\s]{1,60}\]:?"), ""),
        Markup("][", reference, 1),
        Markup("{", re.compile(r"\{[#.][^{}\n]{1,80}\}"), ""),
    )
    before_lists = (
        Markup("\\", re.compile(r"\\([!-/:-@\[-`{-~])"), 1),
        Markup(">", re.compile(r"^[ \t]{0,40}>(?!=)(?:[ \t]?>(?!=))*", lines), ""),
        Markup("", re.compile(r"^[-=*_+|:~ \t\u2500-\u257f]{3,}$", lines), ""),
        Markup("|", re.compile(r"^[ \t]{0,40}\|[^\n]*$", lines), _blank_cell_borders),
        Markup("", list_item, ""),
    )
    after_lists = (
        Markup("~~", re.compile(r"~~"), ""),
        Markup("`", re.compile(r"`"), ""),
        Markup("*", re.compile(r"\*+"), _remove_stars),
        Markup("_", re.compile(r"(?<!\w)_+|(?<=[^\W_])_+(?!\w)"), ""),
    )
    return _Patterns(with_letters, before_lists, list_number, after_lists)
