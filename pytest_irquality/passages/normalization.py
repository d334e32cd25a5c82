"""Normalize a text to its words, which loaders, chunkers and typesetters do not change.

A word is a run of letters and digits with what belongs to it (``C++``, ``-5``, ``1.2.3``,
``snake_case``, ``List<String>``, ``5%``), an operator (``<=``), or one character of a script that
puts no spaces between words. Case, spacing, line breaks, hyphens between letters, quotes, dashes,
invisible characters, entities, Unicode forms and the markup of Markdown and HTML disappear.
Punctuation separates words and disappears, too.

Every pattern is bounded, or cannot start inside its own match. Therefore the time is linear in the
length of any text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, cached_property, lru_cache
from html import unescape
from itertools import chain
from typing import NamedTuple
from unicodedata import category, combining, decimal, decomposition, normalize

# -- Characters ------------------------------------------------------------------------------------

# Scripts that put no space between words. Each of their characters, with its marks, is a word.
UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Tibetan, Burmese, Khmer
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u303b\u3041-\u309f\u30a1-\u30fa"
    "\u30fc-\u30ff\u3100-\u312f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua9e0-\ua9ff\uf900-\ufaff"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
MAX_MARKS_IN_A_ROW = 30
MAX_SHORT_CHARS = 20_000
# A character for private use in front of each subscript digit: H₂ is not H2, and 10₂ is not 102.
SUBSCRIPT = "\ue000"

_HYPHENS = "\u2010\u2011\u2012\u2013\u2043\u2212\ufe63\uff0d\u058a\u05be"
_EM_DASHES = "\u2014\u2015\u2e3a\u2e3b\ufe31\ufe58"
_APOSTROPHES = "\u2018\u2019\u201b\u02bc\u02b9\uff07\u2032\u00b4`"
_REPLACEMENTS = {
    SUBSCRIPT: SUBSCRIPT,
    **dict.fromkeys(_HYPHENS, "-"),
    **dict.fromkeys(_EM_DASHES, "\u2014"),
    **dict.fromkeys(_APOSTROPHES, "'"),
    **dict.fromkeys("\u2713\u2714\u2705\u2611", "\u2713"),  # check marks
    **dict.fromkeys("\u2717\u2718\u274c\u2612\u2715\u2716", "\u2717"),  # crosses
    # Comparisons, arrows and other operators.
    "\u2264": "<=", "\u2a7d": "<=", "\u2265": ">=", "\u2a7e": ">=", "\u2260": "!=", "\u2248": "~",
    "\u2192": "->", "\u27f6": "->", "\u2190": "<-", "\u21d2": "=>", "\u27f9": "=>",
    "\u2217": "*", "\u2044": "/", "\u2215": "/", "\u301c": "~", "\uff5e": "~",
    "\u2122": "", "\u2120": "", "\u00ae": "", "\u00a9": "",  # trademark and copyright signs
    "\u0640": "",  # Arabic tatweel only stretches a word.
    "\u0130": "i",
    "\n": "\n",
}  # fmt: skip
_INVISIBLE_CATEGORIES = ("Cf", "Cs", "Cn", "Co")  # formats, surrogates, unassigned, private use
_SPACE_CATEGORIES = ("Zs", "Zl", "Zp", "Cc")  # spaces, separators, controls
_VARIATION_SELECTORS = frozenset(map(chr, range(0xFE00, 0xFE10)))
_ORDINAL_LETTERS = "\u00aa\u00ba"


class _FoldTable(dict[int, str]):
    """A table for ``str.translate`` that computes each character when it is first needed."""

    def __missing__(self, code: int) -> str:
        self[code] = folded = _fold_character(chr(code))
        return folded


FOLD_TABLE = _FoldTable()


def _fold_character(character: str) -> str:
    """Return the replacement of a character.

    Case and compatibility forms disappear unless that would change the meaning: 10² becomes
    ``10^2`` rather than 102, and ½ becomes a separate ``1/2``. Invisible characters disappear.
    """
    if character in _REPLACEMENTS:
        return _REPLACEMENTS[character]
    general_category = category(character)
    if general_category == "Nd":
        return str(decimal(character))  # a digit of any script
    if general_category in _INVISIBLE_CATEGORIES or character in _VARIATION_SELECTORS:
        return ""
    if general_category in _SPACE_CATEGORIES:
        return " "
    return _fold_compatibility(character)


def _fold_compatibility(character: str) -> str:
    """Return the plain form of a letter or sign. A superscript keeps a ``^``."""
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
        if plain[-1:] in raised:  # a unit such as ㎢, which is km² rather than km2
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


# -- Markup ----------------------------------------------------------------------------------------

# The replacement of a match: a text, a group such as `\1`, or a function that returns a text.
Replacement = str | Callable[["re.Match[str]"], str]


class Markup(NamedTuple):
    """Markup of Markdown or HTML, such as ``**`` or a tag.

    Attributes:
        hint: A part of every match. A text without it is not searched.
        replacement: The replacement of a match. ``None`` for the number of an item in a list, which
            depends on the number before.
    """

    hint: str
    pattern: re.Pattern[str]
    replacement: Replacement | None

    def remove(self, text: str) -> str:
        """Return a text without this markup."""
        if self.hint not in text:
            return text
        replacement = _make_number_remover() if self.replacement is None else self.replacement
        return self.pattern.sub(replacement, text)


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
# Directly after a word, such a name is probably a type parameter, as in ``Array<object>``.
_POSSIBLE_TYPES = split_words(
    "address button data dialog form header image input label link main map menu meta object option"
    " output param picture progress section select slot source style summary table template text"
    " time title track var video"
)


def _remove_tag(match: re.Match[str]) -> str:
    """Replace a block tag with a space, and an inline tag with nothing. Keep other ``<words>``."""
    slash, name, attributes = match.groups()
    tag = name.lower()
    if tag not in _TAGS:
        return match[0]
    replacement = "" if tag in _INLINE_TAGS else " "
    if slash:
        return replacement
    before = match.string[match.start() - 1 : match.start()]
    if _is_word(before) and not attributes and _may_be_type(name):
        return match[0]
    if tag == "sub" and match.string[match.end() : match.end() + 1].isdigit():
        return SUBSCRIPT
    return replacement


def _may_be_type(name: str) -> bool:
    """Return whether a tag's name after a word may be a type parameter, as in ``Array<T>``."""
    if name.lower() in _POSSIBLE_TYPES:
        return True
    is_tag_in_capitals = len(name) > 1 and name == name.upper()
    return name != name.lower() and not is_tag_in_capitals


def _make_number_remover() -> Callable[[re.Match[str]], str]:
    """Return a function that removes the numbers of list items at the start of lines.

    A number belongs to a list if it is 1 or follows a blank line, or continues the item before.
    """
    last_number = -1

    def remove_number(match: re.Match[str]) -> str:
        nonlocal last_number
        number, previous_end = int(match[1]), max(match.start() - 1, 0)
        previous_start = match.string.rfind("\n", 0, previous_end) + 1
        begins_list = number == 1 or not match.string[previous_start:previous_end].strip()
        if not begins_list and number != last_number + 1:
            return match[0]
        last_number = number
        return ""

    return remove_number


def _remove_stars(match: re.Match[str]) -> str:
    """Remove stars at the edge of a word. Stars between numbers multiply, so they stay."""
    start, end = match.span()
    left, right = match.string[max(start - 8, 0) : start], match.string[end : end + 8]
    before, after = left[-1:], right[:1]
    if before.isspace() and after.isspace():
        is_product = _is_operand(left.rstrip()[-2:][::-1]) and _is_operand(right.lstrip()[:2])
        return match[0] if is_product else ""
    if _is_word(before) and _is_word(after):
        is_bold = match[0] == "**" and (before + after).isalpha()
        return "" if is_bold else match[0]
    # As in ``count(*)``. A tuple, because the empty string is in every string.
    is_alone_in_brackets = before in tuple("([{") and after in tuple(")]},;")
    return match[0] if is_alone_in_brackets else ""


def _is_operand(nearest_first: str) -> bool:
    """Return whether the characters next to a star are a digit or a single letter."""
    if nearest_first[:1].isdigit():
        return True
    return nearest_first[:1].isalpha() and not _is_word(nearest_first[1:2])


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


@cache
def _get_markup() -> tuple[tuple[Markup, ...], tuple[Markup, ...]]:
    """Return the markup that can have letters, and the other markup, in the order of removal.

    They are compiled when the first text is read, because most projects have no passages.
    """
    boolean_attributes = (
        "async|autofocus|autoplay|checked|controls|default|defer|disabled|hidden|loop|multiple|muted"
        "|nowrap|open|readonly|required|reversed|selected"
    )
    # name="value", name='value', name=value or one of the names above
    attribute = (
        r"\s{1,40}(?:[\w:@.-]{1,60}\s?=\s?"
        r"""(?:"[^"]{0,2000}"|'[^']{0,2000}'|[^\s"'<>=`]{1,500})"""
        rf"|(?:{boolean_attributes})\b)"
    )
    # A URL may have parentheses. Only a target with one of / . # : is a link.
    url = r"[^\s()<>]{0,1000}(?:\([^\s()<>]{0,200}\)[^\s()<>]{0,300})?"
    link_title = r"""(?:\s{1,4}(?:"[^"]{0,300}"|'[^']{0,300}'))?"""
    link_target = rf"(?=[^\s()\[\]]{{0,1000}}[/.#:])<?{url}>?{link_title}\s?"

    lines = re.M
    table_row = re.compile(r"^[ \t]{0,40}\|[^\n]*$", lines)
    list_number = re.compile(r"^[ \t]{0,40}(\d{1,3})[.)](?=[ \t])", lines)
    entity = re.compile(r"&(?:#x?[0-9A-Fa-f]{1,7}|[A-Za-z][A-Za-z0-9]{1,31});")
    comment = re.compile(r"<!--(?:(?!<!--|-->).)*-->", re.S)
    # Only powers, as in 10<sup>6</sup>. Of others, the tag is removed below.
    superscript = re.compile(r"<(?:sup|SUP)>\s?([+\u2212-]?(?:\d{1,6}|n))\s?</(?:sup|SUP)>")
    autolink = re.compile(
        r"<((?:https?|ftp|mailto):[^<>\s]{1,2000}"
        r"|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8})>"
    )
    tag = re.compile(rf"<(/?)([A-Za-z][A-Za-z0-9]{{0,11}})((?:{attribute}){{0,20}})\s{{0,20}}/?>")
    # Brackets directly after a word are an index, as in a[i](x).
    image = re.compile(r"(?<![\w)\]])!\[([^\[\]]{0,500})\]\(" + link_target + r"\)")
    link = re.compile(r"(?<![\w)\]])\[([^\[\]]{0,500})\]\(" + link_target + r"\)")
    # [1]: https://example.org "Title"
    link_definition = re.compile(
        r"^[ ]{0,3}\[[^\[\]\n]{1,100}\]:[ \t]{1,8}<?[a-z./#][^\s]{0,1000}"
        r"(?:[ \t]{1,8}[\"'(][^\n]{0,300})?$",
        lines,
    )
    # [text][1]
    reference = re.compile(r"(?<![\w)\]])\[([^\[\]]{1,500})\]\[[^\[\]\n]{0,100}\]")
    # A bullet, and the box of a task: - [x]
    list_item = re.compile(
        r"^[ \t]{0,40}[-*+\u2022\u2023\u25e6\u25aa\u25cf\u25cb\u25a0\u2013\u2014](?=[ \t])"
        r"(?:[ \t]{1,8}\[[ xX]\](?=[ \t]))?",
        lines,
    )
    with_letters = (
        Markup("\r", re.compile(r"\r\n?"), "\n"),
        # A soft hyphen, even at the end of a line.
        Markup("\u00ad", re.compile("\u00ad[ \t]{0,40}\n?[ \t]{0,40}"), ""),
        Markup("&", entity, lambda match: unescape(match[0])),
        Markup("<!--", comment, " "),
        Markup("<", superscript, lambda match: f"^{match[1]}"),
        Markup("<", autolink, r"\1"),
        Markup("<", tag, _remove_tag),
        # Fences of code blocks.
        Markup("```", re.compile(r"^[ \t>]{0,20}`{3,}[^\n`]*$", lines), ""),
        Markup("~~~", re.compile(r"^[ \t>]{0,20}~{3,}[^\n~]*$", lines), ""),
        Markup("[", image, r"\1"),
        Markup("[", link, r"\1"),
        Markup("]:", link_definition, ""),
        # Footnotes, and below them attributes such as {#anchor}.
        Markup("[^", re.compile(r"\[\^[^\[\]\s]{1,60}\]:?"), ""),
        Markup("][", reference, r"\1"),
        Markup("{", re.compile(r"\{[#.][^{}\n]{1,80}\}"), ""),
    )
    others = (
        # Backslashes before punctuation.
        Markup("\\", re.compile(r"\\([!-/:-@\[-`{-~])"), r"\1"),
        # Quotes, and below them rules and borders of tables.
        Markup(">", re.compile(r"^[ \t]{0,40}>(?!=)(?:[ \t]?>(?!=))*", lines), ""),
        Markup("", re.compile(r"^[-=*_+|:~ \t\u2500-\u257f]{3,}$", lines), ""),
        Markup("|", table_row, lambda match: match[0].replace("|", " ")),
        Markup("", list_item, ""),
        Markup("", list_number, None),
        Markup("~~", re.compile(r"~~"), ""),
        Markup("`", re.compile(r"`"), ""),
        Markup("*", re.compile(r"\*+"), _remove_stars),
        Markup("_", re.compile(r"(?<!\w)_+|(?<=[^\W_])_+(?!\w)"), ""),
    )
    return with_letters, others


# -- Words -----------------------------------------------------------------------------------------

_LETTER = "[^\\W\\d_]"
_UNITS = "%‰°€£¥₹₽"
_CURRENCIES = "$€£¥₹"
# Operators of programming languages and mathematics, longer ones first: <=>, **, =>, :=, +=, &&.
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
        """Return the words, each between line ends, so that words in a row are a substring."""
        return "\n" + "\n".join(self.words) + "\n"

    @cached_property
    def letters(self) -> str:
        """Return all letters of the words without anything between them."""
        return _NO_LETTER.sub("", self.line)


def normalize_text(text: str) -> NormalizedText:
    """Return the normalized form of a text, in time linear in its length.

    The last few thousand texts are remembered, because many queries return the same chunk. Only
    a few long texts are, because they take more memory.
    """
    return _normalize_short(text) if len(text) <= MAX_SHORT_CHARS else _normalize_long(text)


def _normalize(text: str) -> NormalizedText:
    for markup in chain.from_iterable(_get_markup()):
        text = markup.remove(text)
    text = _fold(text)
    for pattern, replacement in _get_joints():
        text = pattern.sub(replacement, text)
    return NormalizedText(tuple(_get_word_pattern().findall(text)))


_normalize_short = lru_cache(maxsize=2**12)(_normalize)
_normalize_long = lru_cache(maxsize=4)(_normalize)


@lru_cache(maxsize=2**15)
def extract_letters(text: str) -> str:
    """Return ``normalize_text(text).letters`` at a fraction of the cost.

    A text that lacks the letters of a passage does not contain the passage.
    """
    if "[x]" in text or "[X]" in text:  # The box of a task is recognized after other markup only.
        return normalize_text(text).letters
    for markup in _get_markup()[0]:  # without the markup that has no letters
        text = markup.remove(text)
    if text.isascii():
        return text.encode().lower().translate(None, _ASCII_WITHOUT_LETTERS).decode()
    return _NO_LETTER.sub("", _fold(text))


def _fold(text: str) -> str:
    """Replace each character with its plain form, and compose letters and marks (NFC)."""
    if text.isascii():
        return text.translate(FOLD_TABLE)
    # Folding removes invisible characters, so it can join runs of marks to a longer one.
    folded = normalize("NFC", limit_marks(text)).translate(FOLD_TABLE)
    return normalize("NFC", limit_marks(folded))


@cache
def _get_joints() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return replacements that join the parts of a word, range, power or fraction."""
    space = "[ ]{0,40}"
    digit = "(?<=[0-9])"
    joints = [
        # Hyphens in compounds and at the ends of lines: e-mail, e-\nmail.
        (f"(?<={_LETTER}{_LETTER})-{space}\n?{space}(?={_LETTER})", ""),
        (f"(?<={_LETTER})-{space}\n?{space}(?={_LETTER}{_LETTER})", ""),
        # Ranges and differences: 3 – 5, 3--5, x - y.
        (f"{digit}(?:[ ]{{1,3}}[-—][ ]{{1,3}}|-{{1,2}}\n?[ ]?|—)(?=[0-9])", "-"),
        ("(?:(?<=\\b[a-z])|(?<=[0-9]))[ ]{1,3}-[ ]{1,3}(?=[a-z]\\b|[0-9])", "-"),
        # Typesetters turn the two hyphens of a command line option into one dash.
        (f"(?<![\\w)\\]-])--(?={_LETTER})", "-"),
        # Fractions, and numbers with units: 1 / 2, 5 %, 20 °C.
        (f"{digit}[ ]{{0,3}}/[ ]{{0,3}}(?=[0-9])", "/"),
        (f"{digit}[ \n]{{1,3}}(?=[{_UNITS}](?!\\w)|°[cf]\\b)", ""),
        # Each digit of a subscript or power has a mark. One mark for all of them remains.
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
    # A letter, digit or "_" of scripts with spaces, or a combining mark.
    character = f"(?:(?![{UNSPACED}])[\\w{mark}])"
    # -5, +5, $5, .5; --option, -x; $variable
    prefix = (
        f"(?<![\\w)\\]])(?:[-+]?[{_CURRENCIES}]?\\.?(?=[0-9])|--?(?={_LETTER})|\\$(?={_LETTER}))"
    )
    # don't, a.b, a@b; 1:2, 1,000, 1/2; a-b, R&D, x^2, c++11
    inside = (
        f"['.@]{character}|(?<=[0-9])[:,/](?=[0-9])|-(?={character})"
        f"|(?<={_LETTER})&(?={_LETTER})|\\^[-+]?(?={character})|\\+\\+(?=[0-9])"
    )
    # C++, c#, 20°c, 5%; List<String>
    suffix = (
        "(?:\\+{1,2}(?![\\w+])|(?<=\\b[a-z])#(?!\\w)|(?<=[0-9])°[cf]?\\b"
        f"|(?<=[0-9])[{_UNITS}](?!\\w))?"
        "(?:<[a-z][\\w.,\\[\\]?:<>]{0,60}>)?"
    )
    word = f"(?:{prefix})?{character}(?:{character}|{inside})*{suffix}"
    return re.compile(f"[{UNSPACED}][{mark}]*|{word}|{_OPERATORS}")
