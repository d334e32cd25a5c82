"""Suggestions for a name that nobody knows."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """``; did you mean 'x'?`` where a known name is near, else nothing."""
    near = get_close_matches(name, list(known), 1, cutoff)
    return f"; did you mean {near[0]!r}?" if near else ""
