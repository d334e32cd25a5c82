"""Values that the templates and the script of the HTML report are given.

They are words and widths, nothing left to compute.
"""

from __future__ import annotations

from typing import NamedTuple

from pytest_irquality.wording.block import State


class MeasureName(NamedTuple):
    """A measure, with the anchor of its definition ("" where the page has none)."""

    text: str
    anchor: str


class Reason(NamedTuple):
    """A line under the headline, linked to where the rest is told.

    ``query`` is its row in the section, or None. ``label`` is what broke, in short.
    """

    state: State
    label: str
    where: str
    text: str
    anchor: str
    section: str
    query: int | None


class ChangeBar(NamedTuple):
    """A bar of neighbours among all queries in the order of their change; ``find`` lists them."""

    css: str
    x: float
    y: float
    width: float
    height: float
    title: str
    find: str


class Changes(NamedTuple):
    """The changes of every query's value of one measure since the baseline, in one row.

    ``most`` is the change that the tallest bar of the page stands for.
    """

    measure: str
    said: str
    most: str
    steps: tuple[ChangeBar, ...]
