"""Numbers as reports show them."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_irquality.metrics import Metric

MINUS = "−"
DIGITS = 3
MIN_SHOWN_P_VALUE = 0.001


@dataclass(frozen=True)
class Number:
    """A number and its text, so programs get one and readers the other."""

    value: float
    text: str

    def __str__(self) -> str:
        return self.text


def format_value(metric: Metric, value: float | None) -> Number | None:
    """Format a value of a metric: ``0.850``, ``3``, ``41 ms``."""
    if value is None:
        return None
    return Number(value, _format_unsigned(metric, value))


def format_change(metric: Metric, before: float | None, now: float | None) -> Number | None:
    """Format the change of a metric with its sign.

    The text is the difference of the two texts and not of the two values, because readers check
    the difference of what they see.
    """
    if before is None or now is None:
        return None
    digits = get_digits(metric, before, now)
    shown = round(now, digits) - round(before, digits)
    text = _format_unsigned(metric, abs(shown))
    if any(digit in text for digit in "123456789"):
        text = (MINUS if shown < 0 else "+") + text
    return Number(now - before, text)


def format_bound(metric: Metric, bound: float, bound_text: str = "") -> str:
    """Format a bound as the suite has it."""
    if bound_text:
        return bound_text
    return f"{bound * 1000:g} ms" if metric.unit == "seconds" else f"{bound:g}"


def format_p_value(p_value: float) -> str:
    """Format a p-value: ``p < 0.001``, ``p = 0.016``."""
    if p_value < MIN_SHOWN_P_VALUE:
        return f"p < {MIN_SHOWN_P_VALUE}"
    return f"p = {p_value:.3f}" if p_value < 0.1 else f"p = {p_value:.2f}"


def get_digits(metric: Metric, *values: float) -> int:
    """Return how many decimals the values of a metric are shown with."""
    if not metric.unit:
        return DIGITS
    if metric.unit == "seconds":
        return 3 if max(map(abs, values)) < 1 else 2
    return 0 if all(value == int(value) for value in values) else 1


def _format_unsigned(metric: Metric, value: float) -> str:
    if not metric.unit:
        return f"{value:.{DIGITS}f}"
    if metric.unit == "seconds":
        return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.2f} s"
    return f"{value:,.{get_digits(metric, value)}f}"
