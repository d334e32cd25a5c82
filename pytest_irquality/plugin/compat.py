"""The only module that touches pytest's internals or works around differences between versions.

Everything here was tried with pytest 8.0 to 9.2. If pytest changes, this module changes.
"""

from __future__ import annotations

import argparse
import linecache
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any, TypeVar

import pytest

from pytest_irquality.io.escaping import escape_log_lines
from pytest_irquality.suite.model import RetrieverId


class SynthesizedModule(pytest.Module):
    """A file that is not Python, collected as a module of one function that uses some fixtures.

    pytest's own machinery then provides fixtures of all scopes, parameters, marks and reports.

    Attributes:
        fixtures: The fixtures that the function uses, unless ``load_fixture_names`` is overridden.
    """

    fixtures: Sequence[str] = ()
    _synthesized: ModuleType | None = None

    def load_fixture_names(self) -> Sequence[str]:
        """Load the file, and return the fixtures that the function uses. Called once."""
        return self.fixtures

    def _getobj(self) -> ModuleType:
        # pytest's source says "may be overwritten by subclasses". With `collect_imported_tests =
        # false` it is called for each attribute.
        if self._synthesized is None:
            module = ModuleType(self.path.name.partition(".")[0] or "suite")
            module.__file__ = str(self.path)
            function = _make_function(self.path)
            function.__module__ = module.__name__
            module.check = function  # type: ignore[attr-defined]
            fixtures = self.load_fixture_names()
            if fixtures:
                self.add_marker(pytest.mark.usefixtures(*fixtures))
            hide_source(self.path)
            self._synthesized = module
        return self._synthesized

    def funcnamefilter(self, name: str) -> bool:
        """Treat every function as a test, whatever ``python_functions`` says."""
        return not name.startswith("_")

    def collect_cases(self) -> list[pytest.Function]:
        """Collect the function once for each parameter of its fixtures."""
        return [case for case in pytest.Module.collect(self) if isinstance(case, pytest.Function)]


def _make_function(path: Path) -> FunctionType:
    """Return a test function without arguments, which pytest locates in line 1 of a file."""

    def check() -> None:
        """Represent everything in the file."""

    code = check.__code__.replace(co_filename=str(path), co_firstlineno=1)
    return FunctionType(code, check.__globals__, "check")


Item = TypeVar("Item", bound=pytest.Function)


def create_item(item_class: type[Item], case: pytest.Function, name: str) -> Item:
    """Create an item with the fixtures and parameters of a case of the same module.

    Resolving fixtures takes most of the time of collecting an item. Here, only the case does so.
    """
    callspec = getattr(case, "callspec", None)
    item: Item = item_class.from_parent(
        case.parent,
        name=name + case.name.removeprefix(case.originalname),
        originalname=name,
        callspec=callspec,
        keywords={callspec.id: True} if callspec else None,
        fixtureinfo=case._fixtureinfo,
        callobj=case.obj,
    )
    return item


# -- Fixtures and parameters -----------------------------------------------------------------------


def has_fixture(item: pytest.Function, name: str) -> bool:
    """Return whether there is a fixture of a name for an item."""
    return name in item._fixtureinfo.name2fixturedefs


def find_retriever(name: str, item: pytest.Function) -> RetrieverId:
    """Return the retriever that an item gets from a fixture: its name, folder and parameter.

    Parameters of other fixtures, such as a number of repetitions, do not count.
    """
    if not has_fixture(item, name):
        return RetrieverId(name)
    definitions: Mapping[str, Sequence[Any]] = item._fixtureinfo.name2fixturedefs
    folder = str(definitions[name][-1].baseid)
    folder = "" if folder == "." else folder
    return RetrieverId(name, folder, _find_parameter(item, name, definitions))


def _find_parameter(
    item: pytest.Function, name: str, definitions: Mapping[str, Sequence[Any]]
) -> str:
    """Return the ids of the parameters of a fixture and of the fixtures it depends on."""
    callspec = getattr(item, "callspec", None)
    if callspec is None:
        return ""
    dependencies: set[str] = set()
    pending = [name]
    while pending:
        dependency = pending.pop()
        if dependency in dependencies:
            continue
        dependencies.add(dependency)
        for definition in reversed(definitions.get(dependency, ())):
            pending += definition.argnames
            if dependency not in definition.argnames:  # otherwise it extends the one it overrides
                break
    names = list(callspec.params)
    ids = list(getattr(callspec, "_idlist", ()))
    if len(names) != len(ids):  # several parameters in one `parametrize`, or a hidden id
        return str(callspec.id) if dependencies.intersection(names) else ""
    used = [str(id_) for param, id_ in zip(names, ids, strict=True) if param in dependencies]
    return "-".join(used)


def list_available_fixtures(error: pytest.FixtureLookupError) -> list[str]:
    """Return the names that pytest lists if a fixture is not found."""
    text = str(getattr(error.formatrepr(), "errorstring", ""))
    return text.partition("available fixtures: ")[2].partition("\n")[0].split(", ")


# -- Collecting ------------------------------------------------------------------------------------


_FOLDER_NODES_KEY = pytest.StashKey[dict[Path, Any]]()


def remember_folder_node(collector: pytest.Collector) -> None:
    """Remember the collector of a folder: fixtures of its conftest belong to this object."""
    if isinstance(collector, pytest.Directory):
        collector.session.stash.setdefault(_FOLDER_NODES_KEY, {})[collector.path] = collector


def build_folder_node(session: pytest.Session, folder: Path) -> Any:
    """Return the collector of a folder, and load its conftest.

    Args:
        session: The session.
        folder: A folder of the project, which need not exist.

    Raises:
        Exception: A conftest cannot be imported.
    """
    known = session.stash.setdefault(_FOLDER_NODES_KEY, {})
    if folder in known:
        return known[folder]
    root = session.config.rootpath
    is_top = folder == root or {root, *known}.isdisjoint(folder.parents)
    parent = session if is_top else build_folder_node(session, folder.parent)
    kind = pytest.Package if (folder / "__init__.py").is_file() and not is_top else pytest.Dir
    node = kind.from_parent(parent, path=folder)
    if folder.is_dir():
        # This imports the conftest and registers its fixtures. `_loadconftestmodules` alone does
        # not register them.
        report = node.ihook.pytest_make_collect_report(collector=node)
        call = getattr(report, "call", None)
        if report.failed:
            raise call.excinfo.value if call else RuntimeError(str(report.longrepr))
    known[folder] = node
    return node


def find_typed_items(
    config: pytest.Config, items: Sequence[pytest.Item], typed: argparse.Namespace
) -> list[pytest.Item]:
    """Return the items that ``-k``, ``-m`` and ``--deselect`` of a command line select."""
    selected = list(items)
    hook = SimpleNamespace(pytest_deselected=lambda items: None)
    other_config: Any = _ConfigWithOptions(config, typed, hook)
    if getattr(typed, "keyword", "") or getattr(typed, "markexpr", ""):
        plugin = config.pluginmanager.get_plugin("mark")
        if plugin is not None:
            plugin.pytest_collection_modifyitems(items=selected, config=other_config)
    prefixes = tuple(getattr(typed, "deselect", None) or ())
    return [item for item in selected if not (prefixes and item.nodeid.startswith(prefixes))]


class _ConfigWithOptions:
    """A configuration with other options than the session's, for pytest's own selection."""

    def __init__(self, config: pytest.Config, option: argparse.Namespace, hook: Any) -> None:
        self._config = config
        self.option = option
        self.hook = hook

    def __getattr__(self, name: str) -> Any:
        return getattr(self._config, name)


# -- Configuration ---------------------------------------------------------------------------------

INI_NAMES = (
    *(("pytest.toml", ".pytest.toml") if pytest.version_tuple >= (9,) else ()),
    "pytest.ini",
    ".pytest.ini",
    "pyproject.toml",
    "tox.ini",
    "setup.cfg",
)


def read_ini_file(
    folder: Path, arguments: Sequence[str], ini_name: str | None = None
) -> tuple[Path, dict[str, str | list[str]]]:
    """Read the ini file that pytest would use for some arguments.

    Args:
        folder: The working directory.
        arguments: Test paths.
        ini_name: The file that ``-c`` names.

    Returns:
        The rootdir that the file gives, and its values.

    Raises:
        pytest.UsageError: The file cannot be read.
    """
    from _pytest.config.findpaths import determine_setup

    keywords: dict[str, Any] = {
        "inifile": ini_name,
        # Without arguments, pytest 8.0 starts in the working directory of the process.
        "args": list(arguments) or [str(folder)],
        "rootdir_cmd_arg": None,
        "invocation_dir": folder,
    }
    if pytest.version_tuple >= (9,):
        keywords["override_ini"] = None
    try:
        rootdir, _, values, *_ = determine_setup(**keywords)
    except (pytest.UsageError, pytest.fail.Exception):
        raise
    except Exception as error:
        raise pytest.UsageError(f"{type(error).__name__}: {error}") from None
    plain: dict[str, str | list[str]] = {}
    for name, wrapped in values.items():
        value: Any = getattr(wrapped, "value", wrapped)  # pytest 9 wraps values
        plain[name] = [str(one) for one in value] if isinstance(value, list) else str(value)
    return Path(rootdir), plain


# -- Reports ---------------------------------------------------------------------------------------


def make_failure(text: str, path: str, line: int = 1) -> Any:
    """Return the ``longrepr`` of a failure that is a text, at a place that pytest does not know.

    The short summary, JUnit and annotations repeat the first line. To let pytest format a traceback
    would take most of the time of a session with many failures.
    """
    from _pytest._code import code

    traceback = code.ReprTraceback([code.ReprEntryNative([f"{text}\n"])], None, "native")
    crash = code.ReprFileLocation(path, line, text.partition("\n")[0])
    return code.ReprExceptionInfo(reprtraceback=traceback, reprcrash=crash)


def forget_silent_reports(config: pytest.Config) -> None:
    """Remove reports of setups and teardowns that captured no output from the terminal reporter.

    For each failure, it looks through all of them (``_get_teardown_reports``), which takes longer
    than everything else if thousands of items fail.
    """
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and config.option.durations is None:
        reports = reporter.stats.get("", [])
        reports[:] = [report for report in reports if getattr(report, "sections", True)]


def escape_report(report: pytest.TestReport) -> None:
    """Escape control characters and workflow commands in the errors of a report.

    An error of the user's code may quote a query, a title or a file name. Lines of source are kept.
    """
    chain = getattr(report.longrepr, "chain", None)
    if chain is None:
        is_safe = isinstance(report.longrepr, tuple) or hasattr(report.longrepr, "reprcrash")
        if report.longrepr is not None and not is_safe:
            report.longrepr = escape_log_lines(str(report.longrepr))
        return
    for traceback, crash, _ in chain:
        if crash is not None:
            crash.message = escape_log_lines(crash.message)
        for entry in traceback.reprentries:
            # Python's own texts of several lines, such as an exception group, are one entry.
            for index, line in enumerate(entry.lines):
                if line.startswith("E ") or "\n" in line:
                    entry.lines[index] = escape_log_lines(line)
            values = getattr(entry, "reprlocals", None)
            if values:
                values.lines = list(map(escape_log_lines, values.lines))


# -- Tracebacks ------------------------------------------------------------------------------------

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_RUNNERS = ("asyncio", "concurrent", "threading", "anyio", "uvloop")


def remove_own_frames(excinfo: pytest.ExceptionInfo[BaseException]) -> None:
    """Remove frames of this plugin, of event loops and of threads from the traceback of a report.

    If no other frame exists, the traceback is kept.
    """
    excinfo.traceback = excinfo.traceback.filter(_is_user_frame) or excinfo.traceback


def _is_user_frame(entry: Any) -> bool:
    module = str(entry.frame.f_globals.get("__name__")).partition(".")[0]
    return module not in _RUNNERS and not str(entry.path).startswith(_PACKAGE)


def hide_source(path: Path) -> None:
    """Keep tracebacks and warnings from quoting the lines of a suite.

    CI services would read workflow commands in them. An entry of ``linecache`` without a time is
    never compared with the disk.
    """
    linecache.cache[str(path)] = (0, None, [], str(path))
