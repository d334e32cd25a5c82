"""Numbers as people read them, with as many digits as it takes to tell two apart."""

from __future__ import annotations

MAX_DIGITS = 12
NAMED = 3
EQUAL = 1e-9  # what rounding errors may differ by


def shown(value: float | None, unit: str = "", digits: int = 3) -> str:
    """A value in words: ``0.850``, ``3``, ``41 ms``; an undefined one is an en dash."""
    if value is None:
        return "–"
    if unit == "count":
        return f"{value:.{digits + 3}g}"
    if unit == "share":
        return f"{100 * value:.{max(0, digits - 3)}f} %"
    if unit == "seconds":
        return (
            f"{value:.{digits - 1}f} s"
            if value >= 1
            else f"{value * 1000:.{max(0, digits - 3)}f} ms"
        )
    return f"{value:.{digits}f}"


def told_apart(value: float, limit: float, unit: str = "") -> tuple[str, str]:
    """Both numbers, never printed alike where they differ: no message reads ``0.85 < 0.85``."""
    digits = digits_apart(value, limit, unit)
    return shown(value, unit, digits), shown(limit, unit, digits)


def digits_apart(value: float, limit: float, unit: str = "") -> int:
    """How many digits it takes to tell two numbers apart, at least the usual three."""
    if value == limit:
        return 3
    enough = (n for n in range(3, MAX_DIGITS) if shown(value, unit, n) != shown(limit, unit, n))
    return next(enough, MAX_DIGITS)


def apart(one: float, other: float, unit: str = "") -> tuple[str, str]:
    """Two values of one measure, with as many digits as tell them apart; equal but for rounding errors, alike."""
    return (
        told_apart(one, other, unit)
        if abs(one - other) > EQUAL
        else (shown(one, unit), shown(one, unit))
    )


def signed(value: float, unit: str = "", digits: int = 3) -> str:
    """A difference in words: ``+0.054``, ``−3``."""
    text = shown(abs(value), unit, digits)
    return f"{'−' if value < 0 else '+'}{text}" if any(c in "123456789" for c in text) else text


def share(part: int, whole: int) -> str:
    """``37 of 440 (8 %)``; never rounds something to nothing or a part to all."""
    if not whole:
        return f"{part} of {whole}"
    percent = 100 * part / whole
    text = "under 1" if 0 < percent < 1 else "over 99" if 99 < percent < 100 else f"{percent:.0f}"
    return f"{part} of {whole} ({text} %)"


def and_more(count: int, named: int = NAMED) -> str:
    """`` and 4 more``, where only some of many were named."""
    return f" and {count - named} more" if count > named else ""


def exact(limit: float, unit: str = "") -> str:
    """A limit as it was written, or as near as makes no difference."""
    return {"share": f"{100 * limit:g} %", "seconds": f"{1000 * limit:g} ms"}.get(
        unit, f"{limit:g}"
    )


def count(number: int, one: str, many: str) -> str:
    """``1 query``, ``3 queries``."""
    return f"{number} {one if number == 1 else many}"


def probability(p: float) -> str:
    """A p-value as people read it: ``p < 0.001``, ``p = 0.016``."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"
