"""The one exception of this package."""

from __future__ import annotations


class MeasureError(ValueError):
    """A measure that cannot be had as written, in one line that names the nearest right one."""
