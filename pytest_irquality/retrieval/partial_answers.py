"""Answers that the engine itself calls partial: by which field each engine says so."""

from __future__ import annotations


def find_partial_sign(response: object) -> str:
    """Return the field by which a response says that it is partial, or an empty string."""
    raise NotImplementedError
