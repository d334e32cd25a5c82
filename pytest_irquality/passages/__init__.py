"""Passages: the words of a text, whatever its form, and where a passage stands in it.

The room knows nothing of suites and runs.
"""

from pytest_irquality.passages.deciding import too_short
from pytest_irquality.passages.find import Found, find
from pytest_irquality.passages.lost import Nearest, Part, nearest, parts
from pytest_irquality.passages.normal import Normal, Word, normal, placed_words, words

__all__ = [
    "Found",
    "Nearest",
    "Normal",
    "Part",
    "Word",
    "find",
    "nearest",
    "normal",
    "parts",
    "placed_words",
    "too_short",
    "words",
]
