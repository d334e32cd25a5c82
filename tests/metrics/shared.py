"""Data that lies beside the repository, and the order in which trec_eval reads a run."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conftest import SHARED


def shared(path: str) -> Path:
    found = SHARED / "data" / path
    if not found.exists():
        pytest.skip(
            f"{path} is not there; IRQUALITY_SHARED may name the folder that has data/{path}"
        )
    return found


def float32(score: float) -> float:
    (rounded,) = struct.unpack("f", struct.pack("f", score))
    return float(rounded)


def trec_order(scores: Mapping[str, float]) -> list[str]:
    return sorted(scores, key=lambda document: (float32(scores[document]), document), reverse=True)
