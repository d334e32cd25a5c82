"""Tools that write parts of the documentation from the code, and tools that check it in CI.

``python -m docs.tools.renew`` brings every generated file up to date. A module that generates files
has a function ``generate``, which yields each path with the text that it should have.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
