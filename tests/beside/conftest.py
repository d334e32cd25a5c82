"""Tests beside other pytest plugins, which this run itself must not load: with its warnings as errors they would end it.

They run with ``-p no:asyncio -p no:anyio -p no:rerunfailures -p no:timeout``; the inner runs load them by themselves.
"""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def installed(request: pytest.FixtureRequest) -> None:
    """Skip where the plugin a test names is not installed, unless all of them must be."""
    for marker in request.node.iter_markers("needs"):
        for name in marker.args:
            if os.environ.get("IRQUALITY_PLUGINS") == "all":
                __import__(name)
            else:
                pytest.importorskip(name)
