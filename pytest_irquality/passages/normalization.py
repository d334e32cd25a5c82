"""The normalized form of a text: its words, without case, markup, spacing and Unicode form."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NormalizedText:
    """A text in normalized form.

    Attributes:
        words: The words in order. Two texts with equal words are the same text to a reader.
    """

    words: tuple[str, ...]


def normalize_text(text: str) -> NormalizedText:
    """Return the normalized form of a text, in time linear in its length."""
    raise NotImplementedError
