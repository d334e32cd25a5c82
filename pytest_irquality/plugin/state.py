"""State of the plugin in a pytest session, and in which process it is."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_irquality.plugin.options import Options
from pytest_irquality.plugin.session import SearchSession

if TYPE_CHECKING:
    from pytest_irquality.io.access import FileAccess

STATE_KEY = pytest.StashKey["PluginState"]()


@dataclass
class PluginState:
    """The state of an activated plugin.

    Attributes:
        options: The options and ini keys.
        search: Suites, runs and evaluations.
        file_access: Which files suites may name.
        declared_retrievers: Fixtures that suites may use, besides those that are named like one.
        modules: The ``SuiteModule`` of each collected suite by absolute path, selected or not.
        base_plugin: The ``BaseBranchPlugin`` of ``git:`` or ``run:``, if there is one.
    """

    options: Options
    search: SearchSession
    file_access: FileAccess
    declared_retrievers: tuple[str, ...] = ()
    modules: dict[Path, Any] = field(default_factory=dict)
    base_plugin: Any = None

    def get_relative_path(self, path: Path) -> str:
        """Return a path relative to the root of the project, with ``/``."""
        return os.path.relpath(path, self.search.root).replace(os.sep, "/")


def get_state(config: pytest.Config) -> PluginState:
    """Return the state of the session. The plugin must be activated."""
    return config.stash[STATE_KEY]


def is_worker(config: pytest.Config) -> bool:
    """Return whether this process is a worker of pytest-xdist."""
    return hasattr(config, "workerinput")


def is_controller(config: pytest.Config) -> bool:
    """Return whether this process distributes tests to workers of pytest-xdist."""
    return bool(getattr(config.option, "tx", None)) and not is_worker(config)
