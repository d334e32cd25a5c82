"""What was typed, as opposed to what the ini file adds with ``addopts``.

A selection that somebody typed is on purpose. The same selection in ``addopts`` can come from the
change that is being reviewed, so it is held against the run.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

_PARSER_KEY = pytest.StashKey[pytest.Parser]()
_COMMAND_LINE_KEY = pytest.StashKey["CommandLine"]()

# Workers of pytest-xdist get parsed options, not what was typed.
WORKER_INPUT = "ir_typed_arguments"

# Options that leave out items or files, by their attribute.
_SELECTING_OPTIONS = {
    "keyword": "-k",
    "markexpr": "-m",
    "deselect": "--deselect",
    "lf": "--last-failed",
    "stepwise": "--stepwise",
    "ignore": "--ignore",
    "ignore_glob": "--ignore-glob",
    "file_or_dir": "a path",
    "collectonly": "--collect-only",
    "setuponly": "--setup-only",
    "setupplan": "--setup-plan",
}
# With these, pytest only shows something, and exits with 0.
OPTIONS_WITHOUT_RUNNING = {
    "collectonly": "--collect-only",
    "setupplan": "--setup-plan",
    "showfixtures": "--fixtures",
    "show_fixtures_per_test": "--fixtures-per-test",
    "help": "--help",
    "version": "--version",
    "markers": "--markers",
    "cacheshow": "--cache-show",
}

# The patterns are texts, because a session that does not use them should not compile them.
# What a command that evaluates the same suites again does not need.
_DISPLAY_OPTIONS = (
    r"-[qvsrx]\w*|-pno:.*|--(quiet|verbose|verbosity|tb|color|capture|durations|no-header"
    r"|no-summary|junitxml|junit-xml|html|self-contained-html|report-log|numprocesses|maxprocesses|dist|basetemp"
    r"|last-failed|lf|failed-first|ff|new-first|nf|stepwise|sw|deselect"
    r"|exitfirst|maxfail|ir-suite|ir-update-baseline|ir-save-runs|ir-report|ir-json|ir-markdown"
    r"|ir-grade|ir-history|ir-concurrency)|-[kmn].*"
)
_OPTIONS_WITH_VALUE = (
    r"-[kmnr]|--(tb|color|capture|durations|dist|deselect|basetemp|junitxml|junit-xml|html"
    r"|report-log|numprocesses|maxprocesses|maxfail|ir-save-runs|ir-report|ir-json|ir-markdown"
    r"|ir-grade|ir-history|ir-concurrency)"
)
_SECRET_NAME = r"(?i)key|token|secret|passw|auth|credential|headers"


class CommandLine(NamedTuple):
    """The typed command line.

    Attributes:
        arguments: The arguments, with those of ``PYTEST_ADDOPTS``, which belongs to the job.
        namespace: The options that they give.
    """

    arguments: tuple[str, ...]
    namespace: argparse.Namespace

    @property
    def has_selection(self) -> bool:
        """Return whether somebody selected tests on purpose."""
        chosen = ("keyword", "markexpr", "deselect", "lf", "stepwise")
        if any(getattr(self.namespace, name, None) for name in chosen):
            return True
        return any("::" in path for path in self.paths)

    @property
    def paths(self) -> list[str]:
        """Return the typed paths and node ids."""
        return [str(path) for path in getattr(self.namespace, "file_or_dir", None) or ()]

    @property
    def overridden_ini_keys(self) -> dict[str, str]:
        """Return the ini keys that ``-o`` sets."""
        pairs = {}
        for text in getattr(self.namespace, "override_ini", None) or ():
            key, _, value = text.partition("=")
            pairs[key.strip()] = value.strip()
        return pairs


def prepare_arguments(
    early_config: pytest.Config, parser: pytest.Parser, arguments: list[str]
) -> None:
    """Give the paths back to pytest that follow our options with optional values.

    ``--ir-suite PATH`` and ``--ir-suite=PATH`` both mean "collect suites, and collect PATH", and
    argparse takes the path for the value of the option in any case.
    """
    early_config.stash[_PARSER_KEY] = parser
    split = split_optional_values(arguments)
    if split != arguments:
        arguments[:] = split
        known = early_config.known_args_namespace
        parsed = parser.parse_known_args(arguments)
        # pytest imports the conftests of these paths first.
        known.file_or_dir = parsed.file_or_dir
        known.ir_suite = parsed.ir_suite
        known.ir_update_baseline = parsed.ir_update_baseline


def split_optional_values(arguments: Iterable[str]) -> list[str]:
    """Split ``--ir-suite=P`` and ``--ir-update-baseline P`` into the option and a path."""
    split: list[str] = []
    has_ended = False
    for argument in arguments:
        has_ended = has_ended or argument == "--"
        if has_ended:
            split.append(argument)
        elif argument in ("--ir-suite", "--ir-update-baseline"):
            split.append(f"{argument}=")
        elif argument.startswith("--ir-suite=") and argument != "--ir-suite=":
            split += ["--ir-suite=", argument.partition("=")[2]]
        else:
            split.append(argument)
    return split


def parse_arguments(config: pytest.Config, arguments: Sequence[str]) -> CommandLine:
    """Parse arguments as pytest would, without ``addopts``."""
    namespace = argparse.Namespace()
    if _PARSER_KEY in config.stash:
        parser = config.stash[_PARSER_KEY]
        namespace = parser.parse_known_args(split_optional_values(arguments))
    return CommandLine(tuple(arguments), namespace)


def get_command_line(config: pytest.Config) -> CommandLine:
    """Return the typed command line of this session."""
    if _COMMAND_LINE_KEY not in config.stash:
        typed = getattr(config, "workerinput", {}).get(WORKER_INPUT)
        if typed is None:
            typed = shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))
            typed += map(os.fspath, config.invocation_params.args)
        config.stash[_COMMAND_LINE_KEY] = parse_arguments(config, typed)
    return config.stash[_COMMAND_LINE_KEY]


def describe_addopts_selection(config: pytest.Config) -> str:
    """Describe the options in ``addopts`` that leave out tests, such as ``-m smoke``."""
    typed = get_command_line(config).namespace
    described = []
    for name, flag in _SELECTING_OPTIONS.items():
        value = getattr(config.option, name, None)
        if not value or value == getattr(typed, name, None):
            continue
        if name == "file_or_dir" or isinstance(value, bool):
            described.append(flag)
        else:
            values = value if isinstance(value, list) else [value]
            described += [f"{flag} {shlex.quote(str(one))}" for one in values]
    return ", ".join(described)


def is_run_without_tests(config: pytest.Config) -> bool:
    """Return whether pytest only shows tests or fixtures and runs nothing."""
    return any(getattr(config.option, name, False) for name in OPTIONS_WITHOUT_RUNNING)


def is_only_in_addopts(config: pytest.Config, name: str) -> bool:
    """Return whether an option has a value, and nobody typed it."""
    value = getattr(config.option, name, None)
    typed = getattr(get_command_line(config).namespace, name, None)
    return value not in (None, [], False) and value != typed


def format_command(config: pytest.Config) -> list[str]:
    """Return the words of a command that evaluates suites again, without the paths.

    Options that select, display or write are left out, and so are values that may be secrets.
    """
    return [*_get_program(), "--ir-suite", *_list_kept_arguments(config)]


def format_update_command(config: pytest.Config) -> list[str]:
    """Return the words of a command that updates baselines, without the paths."""
    kept = _list_kept_arguments(config, dropped=("--ir-baseline", "--ir-runs"))
    return [*_get_program(), "--ir-update-baseline", *kept]


def _get_program() -> list[str]:
    is_module = Path(sys.argv[0]).parts[-2:] == ("pytest", "__main__.py")
    return ["python", "-m", "pytest"] if is_module else ["pytest"]


def _list_kept_arguments(config: pytest.Config, dropped: Sequence[str] = ()) -> list[str]:
    typed = get_command_line(config)
    arguments = [os.fspath(argument) for argument in config.invocation_params.args]
    kept: list[str] = []
    is_value = False
    for argument in split_optional_values(arguments):
        name = argument.partition("=")[0]
        is_dropped = name in dropped or bool(re.fullmatch(_DISPLAY_OPTIONS, name))
        if is_value:
            is_value = False
        elif argument in typed.paths or argument == "--":
            continue
        elif argument.startswith("no:") and kept[-1:] == ["-p"]:
            kept.pop()  # a plugin that is switched off adds nothing to the run
        elif is_dropped:
            has_value = name in dropped or bool(re.fullmatch(_OPTIONS_WITH_VALUE, name))
            is_value = "=" not in argument and has_value
        else:
            secret, equals, _ = argument.rpartition("=")
            is_secret = bool(equals) and bool(re.search(_SECRET_NAME, secret))
            kept.append(f"{secret}=…" if is_secret else argument)
    return kept
