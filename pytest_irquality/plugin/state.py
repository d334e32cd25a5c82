"""What the hooks of this plugin share in a pytest session."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_irquality.plugin.options import Options
from pytest_irquality.plugin.session import SearchSession

if TYPE_CHECKING:
    from pytest_irquality.baselines.history import HistoryEntry
    from pytest_irquality.baselines.saved_runs import SaveTarget
    from pytest_irquality.baselines.store import BaselineUpdate
    from pytest_irquality.io.access import FileAccess
    from pytest_irquality.plugin.base_branch import BaseConfig
    from pytest_irquality.plugin.collection import SuiteModule

STATE_KEY = pytest.StashKey["PluginState"]()


@dataclass
class PluginState:
    """The state of an activated plugin.

    Attributes:
        options: The options and ini keys.
        search: Suites, runs and evaluations.
        modules: The collected suites by absolute path, selected or not.
        declared_retrievers: Fixtures that suites may use, besides those that are named like one.
        save_target: Where ``--ir-save-runs`` saves.
        base_config: What the ini file of the base branch says.
        base_suite_names: The suites of the base branch, relative to the root.
        answers_folder: Where the answers of the base branch's code are for workers of pytest-xdist.
        session: The session of pytest.
        next_checkpoint: When answers are saved again, on the monotonic clock.
        history: The earlier builds of ``--ir-history``.
        history_error: Why the history cannot be read.
        baseline_updates: The baselines that this session wrote.
        file_access: Which files suites may name.
    """

    options: Options
    search: SearchSession
    modules: dict[Path, SuiteModule] = field(default_factory=dict)
    declared_retrievers: tuple[str, ...] = ()
    save_target: SaveTarget | None = None
    base_config: BaseConfig | None = None
    base_suite_names: tuple[str, ...] = ()
    answers_folder: Path | None = None
    session: pytest.Session | None = None
    next_checkpoint: float = 0.0
    history: Sequence[HistoryEntry] = ()
    history_error: str = ""
    baseline_updates: list[BaselineUpdate] = field(default_factory=list)
    file_access: FileAccess | None = None

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
