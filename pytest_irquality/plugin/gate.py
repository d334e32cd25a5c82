"""The settings that guard the gate: of both sides' ini files the stricter word holds."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from pytest_irquality.edges.objects import placed
from pytest_irquality.edges.project import Project
from pytest_irquality.plugin.internals import TOML_OF_PYTEST, ini_of, named_on_command_line
from pytest_irquality.plugin.options import Options
from pytest_irquality.storage.commits import GIT, AtCommit, FirstPush
from pytest_irquality.storage.found import Source
from pytest_irquality.storage.sources import compared_with, must_exist
from pytest_irquality.storage.stored import StoredRunError

NAMES = *TOML_OF_PYTEST, "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"
BASE = "ir_base_commit"
"""The name by which the merge base goes to workers of pytest-xdist."""
LAX = ("pass", "false", "0", "no", "off", "n", "f")
"""What allows something, where the base has the key: a word that nobody understands does not."""


@dataclass(frozen=True)
class Gate:
    """The refusals of a project: accepted drops, weaker suites, runs that were judged in part.

    ``looked_in`` is where the base's pytest looked for suites, where today's looks elsewhere.
    ``declared`` are the retrievers that the base of ``git:`` declares by name.
    """

    accepted: bool
    exam: bool
    strict: bool
    looked_in: tuple[Path, ...] = ()
    declared: Sequence[str] | None = None


def compared_by(config: pytest.Config, options: Options, project: Project) -> Source:
    """Give what is compared with. Raises ``pytest.UsageError``."""
    try:
        must_exist(options.runs, project, Options.runs.flag)
        compared = compared_with(options.baseline, project, updating=options.update_baseline)
    except StoredRunError as error:
        raise pytest.UsageError(str(error)) from None
    if options.strict and isinstance(compared, FirstPush):
        raise pytest.UsageError(
            f"--ir-baseline {compared.given}: nothing to compare with at a first push, which"
            " ir_strict refuses"
        )
    if isinstance(compared, AtCommit):
        return replace(compared, pinned=getattr(config, "workerinput", {}).get(BASE, ""))
    return compared


def gate_of(config: pytest.Config, base: AtCommit | None) -> Gate:
    """Give what holds; suites that match the patterns of the base count from now on, too.

    ``-o`` on the command line is the job's own word, and goes before both sides.
    """
    options, then = Options(config), _at_base(config, base) if base else {}

    def either(key: str, today: bool) -> bool:
        said_by_job = any(f"{key}=" in os.fspath(arg) for arg in config.invocation_params.args)
        then_said = str(then.get(key, "pass")).strip().lower()
        return today or (not said_by_job and then_said not in LAX)

    known = options.suite_files
    for pattern in _words(then.get(Options.suite_files.key)):
        if pattern not in known:
            config.addinivalue_line(Options.suite_files.key, pattern)
    return Gate(
        either(Options.accepted.key, options.accepted == "fail"),
        either(Options.exam.key, options.exam == "fail"),
        either(Options.strict.key, options.strict),
        tuple(_looked_in(config, then)) if base else (),
        _declared(then) if base and base.given.startswith(GIT) else None,
    )


def _declared(then: Mapping[str, Any]) -> Sequence[str]:
    """The names that an ini file declares: in a list, and of URLs and commands."""
    services = [then.get(key.key) or () for key in (Options.url, Options.command)]
    lines = chain(*(one.splitlines() if isinstance(one, str) else one for one in services))
    named = (line.strip().partition(": ") for line in lines)
    return [*_words(then.get(Options.retrievers.key)), *(name for name, colon, _ in named if colon)]


def _looked_in(config: pytest.Config, then: Mapping[str, Any]) -> Iterator[Path]:
    """Give the folders of the base's run, where the change tells pytest to pass over others."""
    now = (config.inipath and ini_of(config.inipath)) or {}
    if _passes_over(then) != _passes_over(now):
        by_ini = config.args_source is config.ArgsSource.TESTPATHS
        by_nobody = config.args_source is config.ArgsSource.INVOCATION_DIR
        paths = _words(then.get("testpaths")) or ["."]
        named = [config.rootpath / path for path in paths] if by_ini or by_nobody else ()
        yield from named or named_on_command_line(config)


def _passes_over(ini: Mapping[str, Any]) -> tuple[list[str], ...]:
    ignored = [word for word in _words(ini.get("addopts")) if "ignore" in word]
    return _words(ini.get("norecursedirs")), _words(ini.get("testpaths")), ignored


def _words(value: str | list[str] | None) -> list[str]:
    try:
        return shlex.split(value) if isinstance(value, str) else value or []
    except ValueError as error:
        raise pytest.UsageError(f"{value!r}: {error}") from None


def _at_base(config: pytest.Config, base: AtCommit) -> Mapping[str, Any]:
    """Give the ini file of the base as pytest would find it; nothing where there is none.

    Raises ``pytest.UsageError`` where it cannot be read: what it refuses must not pass.
    """
    try:
        tree = base.tree
    except OSError:  # that git does not know the commit is told elsewhere
        return {}
    try:
        with tempfile.TemporaryDirectory() as folder:
            for path in _places(config, base):
                if placed(tree, path, Path(folder)):
                    found = ini_of(Path(folder, path))
                    if found is not None:
                        return {**found, **dict(_overriding(found))}
    except (OSError, pytest.UsageError) as error:
        raise pytest.UsageError(
            f"--ir-baseline {base.given}: its ini file cannot be read: {error}"
        ) from None
    return {}


def _overriding(ini: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Give what the ``-o`` of its ``addopts`` lay over an ini file."""
    for word in _words(ini.get("addopts")):
        key, _, value = word.removeprefix("--override-ini=").removeprefix("-o").partition("=")
        if value and key.startswith("ir_"):
            yield key, value


def _places(config: pytest.Config, base: AtCommit) -> Iterator[str]:
    """Give the files that may be the ini file, the first that is one first."""
    folders = (config.rootpath, *config.rootpath.parents)
    files = [folder / name for folder in folders for name in NAMES]
    if config.option.inifilename and config.inipath:
        files = [config.inipath]
    for file in files:
        with suppress(OSError):  # no change reaches what lies outside of the checkout
            yield base.tree.repository.path(file)
