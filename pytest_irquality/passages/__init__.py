"""Passages: the words of a text, whatever its form, and where a passage stands in it.

The room knows nothing of suites and runs.
"""

from pytest_irquality.passages.find import Found, find, find_in
from pytest_irquality.passages.lost import Nearest, Part, nearest, parts
from pytest_irquality.passages.normal import (
    Normal,
    letters,
    normal,
    sought,
    words,
)
from pytest_irquality.passages.placed import placed

__all__ = [
    "Found",
    "Nearest",
    "Normal",
    "Part",
    "find",
    "find_in",
    "letters",
    "nearest",
    "normal",
    "parts",
    "placed",
    "sought",
    "words",
]
