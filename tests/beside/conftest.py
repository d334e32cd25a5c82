"""Tests beside other pytest plugins, which this run itself must not load: with its warnings as errors they would end it.

They run with ``PYTEST_DISABLE_PLUGIN_AUTOLOAD=1``; the inner runs load what they name, and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from tests.conftest import Project


@pytest.fixture(autouse=True)
def installed(request: pytest.FixtureRequest) -> None:
    """Skip where the plugin a test names is not installed, unless all of them must be."""
    for marker in request.node.iter_markers("needs"):
        for name in marker.args:
            if os.environ.get("IRQUALITY_PLUGINS") == "all":
                __import__(name)
            else:
                pytest.importorskip(name)


@dataclass(frozen=True)
class Beside:
    """A project in which pytest runs with our plugin and those that are named, and with no others."""

    project: Project
    monkeypatch: pytest.MonkeyPatch

    def set(self, name: str, value: str) -> None:
        self.monkeypatch.setenv(name, value)

    def run(self, *args: str, plugins: Sequence[str]) -> pytest.RunResult:
        self.set("PYTEST_PLUGINS", "")
        names = [f"-p{name}" for name in dict.fromkeys(("irquality", *plugins))]
        return self.project.pytester.runpytest_subprocess(*names, *args)


@pytest.fixture
def beside(project: Project, monkeypatch: pytest.MonkeyPatch) -> Beside:
    return Beside(project, monkeypatch)
