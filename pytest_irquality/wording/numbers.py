"""Numbers as people read them, with as many digits as it takes to tell two apart."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_irquality.verdict.comparison import SIGNIFICANT
from pytest_irquality.verdict.findings import Change
from pytest_irquality.verdict.statistics import EQUAL

MAX_DIGITS = 12
NAMED = 3
"""How many of many things a sentence names."""


def figure(value: float | None, unit: str = "", digits: int = 3) -> str:
    """A value in words: ``0.850``, ``3``, ``41 ms``; an undefined one is an en dash."""
    if value is None:
        return "–"
    if unit == "count":
        return f"{value:.{digits + 3}g}"
    if unit == "share":
        return f"{100 * value:.{max(0, digits - 3)}f} %"
    if unit == "seconds" and value >= 1:
        return f"{value:.{digits - 1}f} s"
    if unit == "seconds":
        return f"{value * 1000:.{max(0, digits - 3)}f} ms"
    return f"{value:.{digits}f}"


def apart(one: float, other: float, unit: str = "") -> tuple[str, str]:
    """Two values of one measure, never printed alike where they differ.

    No message reads ``0.85 < 0.85``.
    """
    digits = digits_apart(one, other, unit)
    return figure(one, unit, digits), figure(other, unit, digits)


def digits_apart(one: float, other: float, unit: str = "") -> int:
    """The number of digits that tells two numbers apart, at least the usual three.

    Rounding errors are not told apart.
    """
    if abs(one - other) <= EQUAL:
        return 3
    enough = (n for n in range(3, MAX_DIGITS) if figure(one, unit, n) != figure(other, unit, n))
    return next(enough, MAX_DIGITS)


def signed(value: float, unit: str = "", digits: int = 3) -> str:
    """A difference in words: ``+0.054``, ``−3``; one that reads as nothing has no sign."""
    text = figure(abs(value), unit, digits)
    if not any(digit in text for digit in "123456789"):
        return text
    return f"−{text}" if value < 0 else f"+{text}"


def share(part: int, whole: int) -> str:
    """``37 of 440 (8 %)``; never rounds something to nothing or a part to all."""
    if not whole:
        return f"{grouped(part)} of {grouped(whole)}"
    percent = 100 * part / whole
    text = f"{percent:.0f}"
    if 0 < percent < 1:
        text = "under 1"
    elif 99 < percent < 100:
        text = "over 99"
    return f"{grouped(part)} of {grouped(whole)} ({text} %)"


def exact(limit: float, unit: str = "") -> str:
    """A limit as it was written, or as near as makes no difference."""
    scale, sign = {"share": (100, " %"), "seconds": (1000, " ms")}.get(unit, (1, ""))
    return f"{scale * limit:g}{sign}"


def counted(number: int, one: str, many: str = "") -> str:
    """``1 query``, ``7 000 queries``."""
    return f"{grouped(number)} {one if number == 1 else many or one + 's'}"


def grouped(number: int) -> str:
    """``7 000``, with a space that no line breaks at."""
    return f"{number:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def few(names: Sequence[str], total: int | None = None, named: int = NAMED) -> str:
    """The first of many: ``a, b, c and 4 more``. ``total`` where ``names`` are not all."""
    more = (len(names) if total is None else total) - min(len(names), named)
    rest = f" and {grouped(more)} more" if more > 0 else ""
    return ", ".join(names[:named]) + rest


def judged(change: Change) -> str:
    """The p-value of a change as it was judged: ``p = 0.062, corrected for several limits``."""
    corrected = "" if change.judged_p == change.p else ", corrected for several limits"
    return f"{probability(change.judged_p or 0.0)}{corrected}"


def chance(change: Change, *, fails: bool = False) -> str:
    """The certainty of a change: ``which chance does not explain (p = 0.002)``."""
    if change.noise and abs(change.difference) <= change.noise:
        return f"which is no more than unchanged code does (±{change.noise:.3f})"
    if change.judged_p is None:
        return "which no test could tell from chance"
    explains = "chance is unlikely to explain" if fails else "may be chance"
    if change.judged_p < SIGNIFICANT:
        explains = "chance does not explain"
    return f"which {explains} ({judged(change)})"


def probability(p: float) -> str:
    """A p-value as people read it: ``p < 0.001``, ``p = 0.016``."""
    if p < 0.001:
        return "p < 0.001"
    return f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"


def times(weight: float) -> str:
    """The weight behind a loss that is weighed: `` × 9``."""
    return "" if weight == 1 else f" × {weight:g}"
