"""`python -m pytest_irquality.metrics` prints the page of definitions."""

from __future__ import annotations

import sys

from pytest_irquality.metrics.page import page

sys.stdout.buffer.write(page().encode())  # UTF-8 and plain line ends on every system
