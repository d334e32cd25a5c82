"""Characters by what they mean in a text: what each is folded to, and which of them make words."""

from __future__ import annotations

from functools import cache
from unicodedata import category, decimal, decomposition, normalize

# Scripts that put no space between words: there, each character with its marks is a word.
UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Tibetan, Burmese, Khmer
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u303b\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3100-\u312f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua9e0-\ua9ff\uf900-\ufaff"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
HYPHENS = "\u2010\u2011\u2012\u2013\u2043\u2212\ufe63\uff0d\u058a\u05be"
EM_DASHES = "\u2014\u2015\u2e3a\u2e3b\ufe31\ufe58"
APOSTROPHES = "\u2018\u2019\u201b\u02bc\u02b9\uff07\u2032\u00b4`"
BELOW = "\ue000"  # stands before an index: 10 to the base 2 is not 102, and H\u2082 is no H2
MEANING = {
    BELOW: BELOW,
    **dict.fromkeys(HYPHENS, "-"),
    **dict.fromkeys(EM_DASHES, "\u2014"),
    **dict.fromkeys(APOSTROPHES, "'"),
    **dict.fromkeys("\u2713\u2714\u2705\u2611", "\u2713"),
    **dict.fromkeys("\u2717\u2718\u274c\u2612\u2715\u2716", "\u2717"),
    "\u2264": "<=", "\u2a7d": "<=", "\u2265": ">=", "\u2a7e": ">=", "\u2260": "!=", "\u2248": "~",
    "\u2192": "->", "\u27f6": "->", "\u2190": "<-", "\u21d2": "=>", "\u27f9": "=>",
    "\u2217": "*", "\u2044": "/", "\u2215": "/", "\u301c": "~", "\uff5e": "~",
    "\u2122": "", "\u2120": "", "\u00ae": "", "\u00a9": "",  # (TM), (SM), (R), (C)
    "\u0640": "",  # Arabic's tatweel stretches a word
    "\u0130": "i",
    "\n": "\n",
}  # fmt: skip
UNSEEN = ("Cf", "Cs", "Cn", "Co")
SPACES = ("Zs", "Zl", "Zp", "Cc")
VARIATION_SELECTORS = frozenset(map(chr, range(0xFE00, 0xFE10)))
SUPERSCRIPT_LETTERS = "\u00aa\u00ba"  # ordinals


def meaning(character: str) -> str:
    """The characters that a character is folded to.

    Case and Unicode form leave no trace, unless that would change what it says: 10² is ``10^2`` and
    never 102, ½ is ``1/2`` on its own, and what is not seen (zero width, soft hyphens) is nothing.
    """
    if character in MEANING:
        return MEANING[character]
    kind = category(character)
    if kind == "Nd":
        return str(decimal(character))
    if kind in UNSEEN or character in VARIATION_SELECTORS:
        return ""
    return " " if kind in SPACES else _compatible(character)


def _compatible(character: str) -> str:
    """The letters, digits and signs that a character stands for, raised ones still raised."""
    plain = normalize("NFKC", character)
    form = decomposition(character).partition(" ")[0]
    if form == "<super>" and character not in SUPERSCRIPT_LETTERS:
        return f"^{MEANING.get(plain, plain)}".casefold()
    if form == "<sub>" and plain.isdigit():
        return BELOW + plain
    if form in ("<fraction>", "<circle>") or plain[:1] == "(":
        return f" {''.join(MEANING.get(one, one) for one in plain)} ".casefold()
    if form == "<square>":  # of units: km², not km2
        return "".join(meaning(one) for one in normalize("NFD", _powers(character)))
    return normalize("NFKC", plain.casefold())


def _powers(character: str) -> str:
    """A squared unit with its power still raised."""
    plain = normalize("NFKC", character)
    raised = {"2": "\u00b2", "3": "\u00b3"}
    return plain[:-1] + raised[plain[-1]] if plain[-1:] in raised else plain


class Fold(dict[int, str]):
    """A table for ``str.translate`` that learns each character when it is first met."""

    def __missing__(self, code: int) -> str:
        """Learn the characters that a character is folded to."""
        self[code] = found = meaning(chr(code))
        return found


FOLD = Fold()


@cache
def marks() -> str:
    """Every combining mark, as the inside of a character class.

    The class ``w`` of letters leaves them out.
    """
    found = [code for code in range(0x300, 0x1F000) if category(chr(code)) in ("Mn", "Mc")]
    starts = [code for code in found if category(chr(code - 1)) not in ("Mn", "Mc")]
    ends = [code for code in found if category(chr(code + 1)) not in ("Mn", "Mc")]
    return "".join(f"{chr(start)}-{chr(end)}" for start, end in zip(starts, ends, strict=True))
