"""Statistical tests that distinguish a drop from chance."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

TestName = TypeVar("TestName", bound=Hashable)


def select_changed(deltas: Sequence[float]) -> list[float]:
    """Return the differences that are not zero."""
    raise NotImplementedError


def compute_sign_flip_p_value(deltas: Sequence[float]) -> float:
    """Compute the p-value of a one-sided paired sign-flip test for a drop."""
    raise NotImplementedError


def compute_min_p_value(deltas: Sequence[float]) -> float:
    """Compute the p-value that the test would have if every changed query had dropped."""
    raise NotImplementedError


def compute_sign_p_value(lost_count: int, gained_count: int) -> float:
    """Compute the p-value of a one-sided sign test for more losses than gains."""
    raise NotImplementedError


def compute_interval(deltas: Sequence[float]) -> tuple[float, float] | None:
    """Compute the 90 % interval of the mean difference, or ``None`` for too few differences."""
    raise NotImplementedError


@dataclass(frozen=True)
class SignificanceTest:
    """A test, with the significance level that it shares with the others of its kind.

    Attributes:
        min_p_value: The p-value if every change had been for the worse.
    """

    p_value: float
    min_p_value: float
    alpha: float


def create_drop_test(deltas: Sequence[float], alpha: float) -> SignificanceTest:
    """Create a sign-flip test for a drop."""
    raise NotImplementedError


def create_sign_test(lost_count: int, gained_count: int, alpha: float) -> SignificanceTest:
    """Create a sign test for more losses than gains."""
    raise NotImplementedError


def select_rejecting(tests: Mapping[TestName, SignificanceTest]) -> list[TestName]:
    """Return the names of the tests that reject, with the lowest p-value first (Hochberg)."""
    raise NotImplementedError
