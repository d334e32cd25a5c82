"""What the options and ini keys say: whether suites are collected, which files are suites, how many
calls at once.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal

import pytest

from pytest_irquality.plugin.internals import named_on_command_line

PATTERNS = ["*.ir.yaml", "*.ir.yml", "ir_*.yaml", "ir_*.yml"]
REPORT = "ir-report.html"
NUMBER = "must be a whole number of at least 1"
NEED_NO_SUITE = ("--ir-suite", "--ir-init")
INT_INI: Literal["int", "string"] = "int" if pytest.version_tuple >= (8, 4) else "string"


def imply_suites(config: pytest.Config) -> None:
    """Turn ``--ir-suite`` on for an option on the command line itself that means nothing without
    suites.

    Those of ``addopts`` do not: they stand there for whenever suites are run.
    """
    for arg in config.invocation_params.args:
        if arg == "--" or config.option.ir_init:  # whose options are for it
            return
        option = str(arg).partition("=")[0]
        if re.fullmatch(r"--ir-[a-z-]+", option) and option not in NEED_NO_SUITE:
            config.option.ir_suite = True


def last_baselines(config: pytest.Config) -> None:
    """Leave of several ``--ir-baseline`` those of the command line, where it has any: they stand in
    place of those in ``addopts``.
    """
    options = [str(arg).partition("=")[0] for arg in config.invocation_params.args]
    if count := options.count("--ir-baseline"):
        config.option.ir_baseline = config.option.ir_baseline[-count:]


def needs_suites(config: pytest.Config) -> bool:
    """Whether this session is about suites, as far as is known before anything is collected."""
    option = config.option
    if option.ir_suite or option.ir_runs or option.ir_baseline or option.ir_shard:
        return True
    return any(is_suite(config, path, True) for path in named_on_command_line(config))


def is_suite(config: pytest.Config, path: Path, named: bool) -> bool:
    """Whether a file is to be collected; ``named``: the command line names it."""
    if path.suffix not in (".yaml", ".yml"):
        return False
    asked = bool(config.option.ir_suite)
    matches = any(map(path.match, config.getini("ir_suite_files")))
    return (asked and (named or matches)) or (named and matches)


def check_numbers(config: pytest.Config) -> None:
    """Raise ``pytest.UsageError`` for a concurrency that is no number."""
    _check_number("--ir-concurrency", config.option.ir_concurrency)
    key = "ini key ir_concurrency"
    try:
        in_file = config.getini("ir_concurrency")
    except (TypeError, ValueError, pytest.UsageError) as error:  # which ends in the value
        value = str(error).rpartition(": ")[2]
        raise pytest.UsageError(f"{key} {NUMBER}, not {value}") from None
    _check_number(key, in_file)


def _check_number(name: str, given: object) -> None:
    if given and not re.fullmatch("0*[1-9][0-9]*", str(given)):
        raise pytest.UsageError(f"{name} {NUMBER}, not {given!r}")


def concurrency(config: pytest.Config, of_suite: int | None) -> int:
    """Calls in flight: what the command line says, or the suite, or the ini file."""
    return int(config.option.ir_concurrency or of_suite or config.getini("ir_concurrency") or 1)


def shown_path(config: pytest.Config, path: Path) -> str:
    """How messages name a file: from where pytest was called."""
    start = config.invocation_params.dir
    if path.is_relative_to(start):
        return path.relative_to(start).as_posix()
    try:
        return Path(os.path.relpath(path, start)).as_posix()
    except ValueError:  # another drive
        return path.as_posix()
