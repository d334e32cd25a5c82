"""The settings that guard the gate: of both sides' ini files the stricter word holds."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_irquality.edges.objects import placed
from pytest_irquality.plugin.internals import ini_of
from pytest_irquality.plugin.options import Options
from pytest_irquality.storage.commits import AtCommit

NAMES = (
    "pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini",
    "setup.cfg",
)  # fmt: skip
STRICT = ("fail", "true", "1", "yes", "on")


@dataclass(frozen=True)
class Gate:
    """The refusals of a project: accepted drops, weaker suites, runs that were judged in part."""

    accepted: bool
    exam: bool
    strict: bool


def gate_of(config: pytest.Config, base: AtCommit | None) -> Gate:
    """Give what holds; suites that match the patterns of the base count from now on, too.

    ``-o`` on the command line is the job's own word, and goes before both sides.
    """
    options, then = Options(config), _at_base(config, base) if base else {}

    def either(key: str, today: bool) -> bool:
        said_by_job = any(f"{key}=" in os.fspath(arg) for arg in config.invocation_params.args)
        return today or (not said_by_job and str(then.get(key, "")).lower() in STRICT)

    known = options.suite_files
    for pattern in _words(then.get(Options.suite_files.key)):
        if pattern not in known:
            config.addinivalue_line(Options.suite_files.key, pattern)
    return Gate(
        either(Options.accepted.key, options.accepted == "fail"),
        either(Options.exam.key, options.exam == "fail"),
        either(Options.strict.key, options.strict),
    )


def _words(value: Any) -> list[str]:
    return shlex.split(value) if isinstance(value, str) else [*(value or ())]


def _at_base(config: pytest.Config, base: AtCommit) -> Mapping[str, Any]:
    """Give the ini file of the base as pytest would find it; nothing where there is none."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            for path in _places(config, base):
                if placed(base.tree, path, Path(folder)):
                    found = ini_of(Path(folder, path))
                    if found is not None:
                        return found
    except OSError:  # that git does not know the commit is told elsewhere
        pass
    return {}


def _places(config: pytest.Config, base: AtCommit) -> Iterator[str]:
    """Give the files that may be the ini file, the first that is one first."""
    repository = base.tree.repository
    if config.option.inifilename and config.inipath:
        yield repository.path(config.inipath)
        return
    for folder in (config.rootpath, *config.rootpath.parents):
        yield from (repository.path(folder / name) for name in NAMES)
        if folder == repository.top:
            return
