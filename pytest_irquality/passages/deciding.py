"""Words that decide what a sentence says.

Without one of them, or with another, it is not the same passage.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise


def listed(words: str) -> frozenset[str]:
    """The words of a list that reads like text."""
    return frozenset(words.split())


NEGATIONS = listed("""
    not no none never nor neither nothing nobody nowhere without cannot except unless hardly
    nicht kein keine keinen keinem keiner keines nie niemals ohne weder nichts
    ne pas jamais sans aucun aucune rien ni nunca sin ningún ninguna nada tampoco
    non mai senza nessun nessuno nessuna niente não sem nenhum nenhuma
    niet geen nooit zonder niets inte ingen aldrig utan ikke aldri uten uden aldrig
    не нет никогда без нельзя nigdy bez żaden değil yok hiç
    不 没 沒 無 无 非 未 勿 莫 ん ず 안 않 못 없 لا ليس لم لن بدون לא אין בלי नहीं मत
    """)
NEGATED = re.compile(r"n't$|^non[^\W\d_]{3}")
PAIRS = frozenset({("な", "い"), ("な", "く"), ("ไ", "ม่")})  # negations of two characters
NUMBERS = listed("""
    zero one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty
    sixty seventy eighty ninety hundred thousand million billion half twice once
    """)
OTHERS = listed("""
    before after above below under over more less fewer least most minimum maximum min max
    only always all every must may should shall enabled disabled enable disable true false
    allowed forbidden required optional
    """)
OPERATOR = re.compile(r"[^\w]+")


def decides(words: Sequence[str]) -> set[int]:
    """The places of all the words that may not be missing.

    They are negations, operators, numbers, and others that turn a sentence round.
    """
    others = {at for at, word in enumerate(words) if word in OTHERS or OPERATOR.fullmatch(word)}
    return others | counts_or_denies(words)


def counts_or_denies(words: Sequence[str]) -> set[int]:
    """The places of numbers and negations."""
    found = {
        at
        for at, word in enumerate(words)
        if word in NEGATIONS
        or word in NUMBERS
        or NEGATED.search(word)
        or any(map(str.isdigit, word))
    }
    for at, pair in enumerate(pairwise(words)):
        if pair in PAIRS:
            found |= {at, at + 1}
    return found
