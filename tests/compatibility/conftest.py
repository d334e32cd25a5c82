"""Runs with other pytest plugins.

This run itself must not load those plugins, because their warnings would end it. It runs with
``PYTEST_DISABLE_PLUGIN_AUTOLOAD=1``, and each inner run loads the plugins that a test names.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from tests.project import Project


@pytest.fixture(autouse=True)
def needed_plugins(request: pytest.FixtureRequest) -> None:
    """Skip a test whose plugins are not installed, unless all of them must be."""
    for marker in request.node.iter_markers("needs"):
        for name in marker.args:
            if os.environ.get("IRQUALITY_PLUGINS") == "all":
                __import__(name)
            else:
                pytest.importorskip(name)


@dataclass(frozen=True)
class Neighborhood:
    """A project in which pytest runs with our plugin and the named ones, and no others."""

    project: Project
    monkeypatch: pytest.MonkeyPatch

    def set_variable(self, name: str, value: str) -> None:
        self.monkeypatch.setenv(name, value)

    def run(self, *arguments: str, plugins: Sequence[str]) -> pytest.RunResult:
        self.set_variable("PYTEST_PLUGINS", "")
        self.set_variable("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        names = [f"-p{name}" for name in dict.fromkeys(("irquality", *plugins))]
        return self.project.pytester.runpytest_subprocess(*names, *arguments)


@pytest.fixture
def neighborhood(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Neighborhood:
    return Neighborhood(Project(pytester, monkeypatch), monkeypatch)
