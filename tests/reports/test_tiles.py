from __future__ import annotations

import pytest

from pytest_irquality.metrics import parse_metric
from pytest_irquality.reports.tiles import format_change, format_value

NDCG = parse_metric("ndcg@10")


@pytest.mark.parametrize(
    ("metric", "value", "text"),
    [
        ("ndcg@10", 0.85, "0.850"),
        ("zero_results", 3.0, "3"),
        ("zero_results", 1234.0, "1,234"),
        ("latency_p95", 0.0414, "41 ms"),
        ("latency_p95", 0.9996, "1.00 s"),
        ("latency_p95", 1.5, "1.50 s"),
    ],
)
def test_value_has_the_unit_of_its_metric(metric: str, value: float, text: str) -> None:
    number = format_value(parse_metric(metric), value)

    assert number is not None
    assert (number.value, str(number)) == (value, text)


def test_undefined_value_has_no_number() -> None:
    assert format_value(NDCG, None) is None
    assert format_change(NDCG, None, 0.5) is None


def test_change_is_the_difference_of_the_values_shown() -> None:
    """Findings, section 1: 0.378 → 0.372 was shown with a change of -0.005."""
    number = format_change(NDCG, 0.3776, 0.3724)

    assert str(number) == "−0.006"
    assert number is not None
    assert number.value == pytest.approx(-0.0052)


def test_change_that_is_shown_as_nothing_has_no_sign() -> None:
    assert str(format_change(NDCG, 0.5001, 0.50012)) == "0.000"
