"""Every hold on pytest's inside, in one place, with the test that would notice its loss.

Besides these ``Broken`` is shown as a builtin, as pytest does with its own ``Failed``
(``test_faults.py::test_the_short_summary_names_no_module``).
"""

from __future__ import annotations

import linecache
import os
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from _pytest._code.code import ReprFileLocation, TerminalRepr
from _pytest._io import TerminalWriter
from _pytest.config.findpaths import load_config_dict_from_file

if TYPE_CHECKING:

    class Failure(BaseException):
        """``pytest.fail.Exception``, which pytest names in no way that a type checker follows."""

        def __init__(self, msg: str, pytrace: bool = True) -> None: ...

else:
    Failure = pytest.fail.Exception

MACHINERY = ("asyncio", "concurrent", "threading", "anyio", "uvloop")
"""What runs coroutines and threads, of which a traceback tells a user nothing."""
NOTHING_AWAITED = r"requested an async fixture '(\w+)'"
"""Words of pytest's own error, of which we say what helps (``test_async.py``)."""


class MadeModule(pytest.Module):
    """A file that is no Python, collected as a module of one function, which is made of it.

    pytest's source says that subclasses may override ``_getobj`` (every test that collects a
    suite).
    """

    _made: types.ModuleType | None = None

    def _getobj(self) -> types.ModuleType:
        if self._made is None:  # pytest may ask more than once
            self._made = self.made()
        return self._made

    def made(self) -> types.ModuleType:
        """Make the module, by ``module_of``."""
        raise NotImplementedError

    def module_of(self, function: Any, name: str, *marks: pytest.MarkDecorator) -> types.ModuleType:
        """Make a module of a function."""
        module = types.ModuleType(name)
        module.__file__ = str(self.path)
        function.__module__ = name
        vars(module).update({"pytestmark": [*marks], function.__name__: function})
        return module

    def funcnamefilter(self, name: str) -> bool:
        """Take its one function for a test, whatever ``python_functions`` says."""
        return True


def ini_of(file: Path) -> Mapping[str, Any] | None:
    """Give the settings of pytest in an ini file; None where it has no place for any.

    Newer versions of pytest wrap the values (``test_gate.py``).
    """
    try:
        found = load_config_dict_from_file(file)
    except pytest.UsageError:
        return None
    return found and {key: getattr(value, "value", value) for key, value in found.items()}


def fixture_of(item: pytest.Function, name: str) -> str:
    """Give the folder whose conftest has the fixture that an item uses: one name may be of several.

    ``_fixtureinfo`` holds the definitions, the nearest last (``test_all_suites.py``).
    """
    found = item._fixtureinfo.name2fixturedefs.get(name)
    return f"{name} {found[-1].baseid}" if found else name


def retriever_of(item: pytest.Function, fixture: str) -> str:
    """Give ``bm25`` of ``ndcg-10[bm25-1-2]``: the parameters of a fixture and its own fixtures.

    ``callspec`` and its ``_idlist`` hold the parameters and their ids in one order,
    ``_fixtureinfo`` which fixture asks for which; nothing public does (``test_parameters.py``). A
    parameter that something else brings, such as a number of repetitions, does not make another
    retriever.
    """
    callspec = getattr(item, "callspec", None)
    if callspec is None:
        return ""
    closure, names, ids = _closure(item, fixture), list(callspec.params), list(callspec._idlist)
    if len(names) != len(ids):  # several names in one parametrize, or a hidden id
        return str(callspec.id) if closure.intersection(names) else ""
    return "-".join(id for name, id in zip(names, ids, strict=True) if name in closure)


def finds(item: pytest.Function, fixture: str) -> bool:
    """Tell whether a fixture of that name is found from an item.

    ``test_base.py`` has a suite without its fixture.
    """
    return fixture in item._fixtureinfo.name2fixturedefs


def _closure(item: pytest.Function, fixture: str) -> set[str]:
    """The fixture, what it asks for, and so on."""
    known = item._fixtureinfo.name2fixturedefs
    found: set[str] = set()
    left = [fixture]
    while left:
        name = left.pop()
        if name in found:
            continue
        found.add(name)
        for definition in reversed(known.get(name, ())):
            left += definition.argnames
            if name not in definition.argnames:  # else it builds on the one that it overrides
                break
    return found


def like(item: pytest.Function) -> dict[str, Any]:
    """Give the arguments of another item that has an item's fixtures and parameters.

    pytest works them out for each function, which is most of what collecting costs, and for those
    of a suite in one way (``test_parameters.py``). ``callspec`` and ``_fixtureinfo`` are what it
    gives to ``Function``, whose documented arguments they are.
    """
    callspec = getattr(item, "callspec", None)
    return {
        "callspec": callspec,
        "keywords": {callspec.id: True} if callspec else None,
        "fixtureinfo": item._fixtureinfo,
        "callobj": item.obj,
    }


def available_fixtures(error: pytest.FixtureLookupError) -> list[str]:
    """Give the names that pytest lists under a fixture that is not there.

    ``test_faults.py`` has a name that is near.
    """
    listed = str(getattr(error.formatrepr(), "errorstring", "")).partition("available fixtures: ")
    return listed[2].partition("\n")[0].split(", ")


def collect_too(early_config: pytest.Config, args: list[str], path: str) -> None:
    """Collect a path as if the command line named it, with the conftests of its folder.

    ``test_init.py`` would notice.
    """
    known = early_config.known_args_namespace
    known.file_or_dir = [*(known.file_or_dir or []), path]
    args.append(path)


def import_plainly(config: pytest.Config, package: str) -> None:
    """Have a plugin's modules imported as all others are.

    pytest rewrites the asserts of plugins and so imports them itself, which takes half as long
    again; ours are for nobody's eyes. ``_must_rewrite`` holds their names (``test_plugin.py``).
    """
    hook = config.pluginmanager.rewrite_hook
    getattr(hook, "_must_rewrite", set()).discard(package)
    getattr(hook, "_marked_for_rewrite_cache", {}).clear()


def first_line_only(report: pytest.TestReport, instead: str | None = None) -> None:
    """Cut the message that the short summary, JUnit and annotations repeat.

    On CI they would show all of it. ``instead`` is what they are to say. ``reprcrash`` is pytest's
    own, and not named in public (``test_reporters.py``).
    """
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        crash.message = instead or crash.message.split("\n", 1)[0]


def said_safely(report: pytest.TestReport, safe: Callable[[str], str]) -> None:
    """Make what an error of the user's says harmless: it may quote a query, a title, a file's name.

    ``chain``, ``reprentries`` and ``lines`` are pytest's own; lines of source stay as they are
    (``test_hostile.py``).
    """
    for traceback, crash, _ in getattr(report.longrepr, "chain", ()):
        if crash is not None:
            crash.message = "\n".join(map(safe, crash.message.split("\n")))
        for entry in traceback.reprentries:
            entry.lines = [_safe_line(line, safe) for line in entry.lines]
            if values := getattr(entry, "reprlocals", None):
                values.lines = [safe(line) for line in values.lines]


def _safe_line(line: str, safe: Callable[[str], str]) -> str:
    """A line of a traceback: of source, ``E   what was raised``, or several of Python's own."""
    if line.startswith("E "):
        return safe(line)
    return "\n".join(map(safe, line.split("\n"))) if "\n" in line else line


# -- frames ----------------------------------------------------------------------------------------


def at(path: Path, line: int, name: str) -> Callable[[BaseException], NoReturn]:
    """Make a function that raises an error as if from a line of a file.

    Crash locations, ``--pdb`` and annotations go there. The function is one line long, so that its
    only line is its first (``test_parameters.py``).
    """
    return _placed(lambda error: _raise(error), path, line, name)  # noqa: PLW0108 - a frame of its own


def function_at(path: Path, line: int, name: str) -> types.FunctionType:
    """A function that does nothing, and whose place is a line of a file."""
    return _placed(lambda: None, path, line, name)


def _placed(function: Any, path: Path, line: int, name: str) -> types.FunctionType:
    code = function.__code__.replace(co_filename=str(path), co_firstlineno=line, co_name=name)
    return types.FunctionType(code, function.__globals__, name)


def _raise(error: BaseException) -> NoReturn:
    __tracebackhide__ = True
    raise error from None  # it stands for what was being handled


def for_the_user(error: BaseException, package: str) -> BaseException:
    """An error, and those that it came from, with the user's own frames alone."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        link.__traceback__ = users_frames(link.__traceback__, package)
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return error


def users_frames(traceback: types.TracebackType | None, package: str) -> types.TracebackType | None:
    """Give a traceback without our own frames and those of an event loop or a pool of threads.

    All of it stays where nothing else is left.
    """
    frames = []
    rest = traceback
    while rest is not None:
        module = str(rest.tb_frame.f_globals.get("__name__")).partition(".")[0]
        ours = rest.tb_frame.f_code.co_filename.startswith(package)
        if not ours and module not in MACHINERY:
            frames.append(rest)
        rest = rest.tb_next
    kept = None
    for one in reversed(frames):
        kept = types.TracebackType(kept, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return kept or traceback


def hide_source(path: Path) -> None:
    """Keep warnings and tracebacks from quoting a file's lines.

    CI systems would read commands in those of a suite. An entry of ``linecache`` without a time is
    never checked against the disk (``test_attack.py``).
    """
    linecache.cache[str(path)] = 0, None, [], str(path)


# -- reports ---------------------------------------------------------------------------------------


def said_in_words(longrepr: Any) -> bool:
    """Tell whether an error is a sentence of ours and no traceback.

    pytest shows it in the style "value" (``test_text.py``).
    """
    return getattr(getattr(longrepr, "reprtraceback", None), "style", "") == "value"


class LaidOut(TerminalRepr):
    """A failure that prints in one way and is in another for whoever asks for its text.

    pytest prints what a report's ``longrepr`` prints, by a ``TerminalRepr`` that it does not name
    in public (``test_text.py``).
    """

    def __init__(self, whole: Any, text: str) -> None:
        self.whole = whole
        self.text = text

    @property
    def reprcrash(self) -> ReprFileLocation | None:
        """The place that the short summary quotes."""
        crash: ReprFileLocation | None = getattr(self.whole, "reprcrash", None)
        return crash

    def toterminal(self, tw: TerminalWriter) -> None:
        """Print it."""
        for line in self.text.split("\n"):
            tw.line(line)

    def __str__(self) -> str:
        return str(self.whole)


def without_section(report: pytest.TestReport) -> None:
    """Leave a report out of the sections of failures and errors, and in every sum and summary.

    pytest does so with what its debugger has shown (``test_long.py``).
    """
    vars(report)["_pdbshown"] = True


class SaidAt(LaidOut):
    """A failure that nothing raised: its text, and the place that the short summary quotes."""

    def __init__(self, text: str, crash: ReprFileLocation) -> None:
        super().__init__(text, text)
        self.crash = crash

    @property
    def reprcrash(self) -> ReprFileLocation:
        """The place that the short summary quotes."""
        return self.crash


def failed_as_a_whole(nodeid: str, path: str, text: str, short: str) -> pytest.TestReport:
    """Make the report of a failure that is no item's.

    ``TestReport`` is public, its making is not (``test_all_suites.py``).
    """
    crash = ReprFileLocation(path, 1, short)
    name = nodeid.partition("::")[2]
    return pytest.TestReport(nodeid, (path, 0, name), {}, "failed", SaidAt(text, crash), "call")


def why_skipped(report: pytest.TestReport) -> str:
    """Give the reason of a skip.

    ``longrepr`` is then (path, line, "Skipped: why") (``test_marks.py``).
    """
    said = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr or "")
    return said.removeprefix("Skipped: ").split("\n", 1)[0]


def passed_strictly(report: pytest.TestReport) -> str | None:
    """Give the reason of a strict xfail mark whose item passed.

    pytest reports that as a failure (``test_marks.py``).
    """
    said = str(report.longrepr or "")
    start = "[XPASS(strict)]"
    return said.removeprefix(start).strip() if report.failed and said.startswith(start) else None


def named_on_command_line(config: pytest.Config) -> Iterable[Path]:
    """The files and folders that pytest was asked for, by the command line or ``testpaths``."""
    for arg in config.args:
        yield Path(config.invocation_params.dir, arg.partition("::")[0])


def positional(config: pytest.Config, args: Sequence[str]) -> Iterator[bool]:
    """Tell of each argument whether it is a file or folder, and no option or an option's value.

    pytest's parser knows (``_parser``, as below; ``test_next_steps.py``): only what is one makes
    the list of those longer.
    """
    known = 0
    for end in range(1, len(args) + 1):
        try:
            given = config._parser.parse_known_args(args[:end])
        except pytest.UsageError:  # an option without its value
            yield False
            continue
        named = len(getattr(given, "file_or_dir", ()))
        yield named > known
        known = named


def asked_for_less(config: pytest.Config) -> bool:
    """Tell whether the command line itself, and not ``addopts``, selects some of the items.

    pytest's parser, which a configuration holds as ``_parser``, tells options from their values
    (``test_ledger.py``).
    """
    args = [os.fspath(arg) for arg in config.invocation_params.args]
    given = config._parser.parse_known_args(args)
    chosen = ("keyword", "markexpr", "lf", "deselect", "stepwise", "ir_shard")
    named = any("::" in str(arg) for arg in getattr(given, "file_or_dir", ()))
    return named or any(getattr(given, name, None) for name in chosen)
