"""A pause for Python's collector of reference cycles.

It looks at every value that lives, again and again while many are made.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_cycles() -> Iterator[None]:
    """Pause the collector around work that makes very many values and no cycles of them.

    A context manager, and a decorator.
    """
    was_running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_running:
            gc.enable()
