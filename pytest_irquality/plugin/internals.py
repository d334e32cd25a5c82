"""Every hold on pytest's inside, in one place, each with what serves where pytest has it no more.

``tests/plugin/test_internals.py`` takes them away, one at a time and all together.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:

    class Failure(BaseException):
        """``pytest.fail.Exception``, which pytest names in no way that a type checker follows."""

        def __init__(self, msg: str, pytrace: bool = True) -> None: ...

else:
    Failure = pytest.fail.Exception


def inside(holder: object, name: str, otherwise: Any = None) -> Any:
    """Give what pytest holds inside, or what serves in its place."""
    return getattr(holder, name, otherwise)


class MadeModule(pytest.Module):
    """A file that is no Python, collected as a module of one function, which is made of it."""

    _made: types.ModuleType | None = None

    @property
    def obj(self) -> types.ModuleType:
        """The module, made when pytest first asks for it."""
        if self._made is None:
            self._made = self.made()
        return self._made

    @obj.setter
    def obj(self, module: types.ModuleType) -> None:
        self._made = module

    def made(self) -> types.ModuleType:
        """Make the module, by ``module_of``."""
        raise NotImplementedError

    def module_of(self, function: Any, name: str, *marks: pytest.MarkDecorator) -> types.ModuleType:
        """Make a module of a function."""
        module = types.ModuleType(name)
        module.__file__ = str(self.path)
        function.__module__ = name
        setattr(module, function.__name__, function)
        for mark in marks:
            self.add_marker(mark)
        return module

    def funcnamefilter(self, name: str) -> bool:
        """Take its one function for a test, whatever ``python_functions`` says."""
        return True


TOML_OF_PYTEST = ("pytest.toml", ".pytest.toml") if pytest.version_tuple >= (9,) else ()
STRICTEST = {"ir_accepted": "fail", "ir_exam": "fail", "ir_strict": "true"}
"""What an ini file says that nobody can read."""


def ini_of(file: Path) -> Mapping[str, str | list[str]] | None:
    """Give the settings of pytest in an ini file; None where it has no place for any.

    Raises ``pytest.UsageError`` where pytest would not start with it.
    """
    finder = sys.modules.get("_pytest.config.findpaths")
    read = inside(finder, "load_config_dict_from_file", lambda file: STRICTEST)
    try:
        found = read(file)
        return found and {name: _text(value) for name, value in found.items()}
    except (pytest.UsageError, Failure, ValueError) as error:
        wrong = str(error).removeprefix(str(file)).lstrip(": ")
    except (AttributeError, TypeError) as error:  # of a table that is none
        wrong = str(error)
    raise pytest.UsageError(f"{file.name}: {wrong}")


def _text(value: Any) -> str | list[str]:
    value = inside(value, "value", value)  # which pytest 9 wraps
    return [*map(str, value)] if isinstance(value, list) else str(value)


# -- fixtures and parameters -----------------------------------------------------------------------


def _definitions(item: pytest.Function) -> Mapping[str, Sequence[Any]] | None:
    """The definitions of an item's fixtures by name, the nearest last; None: nobody can tell."""
    found: Mapping[str, Sequence[Any]] | None
    found = inside(inside(item, "_fixtureinfo"), "name2fixturedefs")
    return found


def fixture_of(item: pytest.Function, name: str) -> str:
    """Give the folder whose conftest has the fixture that an item uses: one name may be of several.

    Where nobody can tell, each suite's folder is taken to have its own.
    """
    known = _definitions(item)
    if known is None:
        return f"{name} {item.path.parent}"
    return f"{name} {known[name][-1].baseid}" if name in known else name


def finds(item: pytest.Function, fixture: str) -> bool:
    """Tell whether a fixture of that name is found from an item; so it is where nobody can tell."""
    known = _definitions(item)
    return known is None or fixture in known


def retriever_of(item: pytest.Function, fixture: str) -> str:
    """Give ``bm25`` of ``ndcg-10[bm25-1-2]``: the parameters of a fixture and its own fixtures.

    A parameter that something else brings, such as a number of repetitions, does not make another
    retriever. Where nobody can tell which is which, all of them are its name.
    """
    callspec = getattr(item, "callspec", None)
    if callspec is None:
        return ""
    names, ids = [*callspec.params], [*inside(callspec, "_idlist", ())]
    closure = _closure(item, fixture)
    if closure is None or len(names) != len(ids):  # or several in one parametrize, or a hidden id
        return str(callspec.id) if closure is None or closure.intersection(names) else ""
    return "-".join(id for name, id in zip(names, ids, strict=True) if name in closure)


def _closure(item: pytest.Function, fixture: str) -> set[str] | None:
    """The fixture, what it asks for, and so on; None where nobody can tell."""
    known = _definitions(item)
    if known is None:
        return None
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

    pytest works the fixtures out for each function, which is most of what collecting costs, unless
    it is given those of another.
    """
    callspec = getattr(item, "callspec", None)
    return {
        "callspec": callspec,
        "keywords": {callspec.id: True} if callspec else None,
        "fixtureinfo": inside(item, "_fixtureinfo"),
        "callobj": item.obj,
    }


def available_fixtures(error: pytest.FixtureLookupError) -> list[str]:
    """Give the names that pytest lists under a fixture that is not there."""
    said = inside(error.formatrepr(), "errorstring", "")
    listed = str(said).partition("available fixtures: ")
    return listed[2].partition("\n")[0].split(", ")


def collect_too(early_config: pytest.Config, args: list[str], path: str) -> None:
    """Collect a path as if the command line named it.

    The conftests of its folder may declare options, unless nobody can tell which are loaded early.
    """
    args.append(path)
    known = inside(early_config, "known_args_namespace", types.SimpleNamespace(file_or_dir=()))
    known.file_or_dir = [*(known.file_or_dir or ()), path]


# -- reports ---------------------------------------------------------------------------------------


def first_line_only(report: pytest.TestReport, instead: str | None = None) -> None:
    """Cut the message that the short summary, JUnit and annotations repeat.

    On CI they would show all of it. ``instead`` is what they are to say.
    """
    crash = inside(report.longrepr, "reprcrash")
    if crash is not None:
        crash.message = instead or crash.message.split("\n", 1)[0]


def said_safely(report: pytest.TestReport, safe: Callable[[str], str]) -> None:
    """Make what an error of the user's says harmless: it may quote a query, a title, a file's name.

    Lines of source stay as they are, unless nobody can tell which those are.
    """
    chain = inside(report.longrepr, "chain")
    if chain is None and not isinstance(report.longrepr, (tuple, type(None))):
        report.longrepr = "\n".join(map(safe, str(report.longrepr).split("\n")))
    for traceback, crash, _ in chain or ():
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


def said_in_words(longrepr: Any) -> bool:
    """Tell whether an error is a sentence of ours and no traceback.

    pytest shows it in the style "value".
    """
    return bool(inside(inside(longrepr, "reprtraceback"), "style") == "value")


@dataclass
class Place:
    """The place of a failure, and what the short summary says of it."""

    path: str
    lineno: int
    message: str


@dataclass
class LaidOut:
    """A failure that prints in one way and is in another for whoever asks for its text.

    pytest prints a report's ``longrepr`` by a method that it looks for.
    """

    whole: Any
    text: str

    @property
    def reprcrash(self) -> Any:
        """The place that the short summary quotes."""
        return self.whole if isinstance(self.whole, Place) else inside(self.whole, "reprcrash")

    def toterminal(self, tw: Any) -> None:
        """Print it."""
        for line in self.text.split("\n"):
            tw.line(line)

    def __str__(self) -> str:
        return self.text if isinstance(self.whole, Place) else str(self.whole)


def shown_as(report: pytest.TestReport, text: str) -> None:
    """Have the terminal show a text, and everybody else what the report has."""
    report.longrepr = LaidOut(report.longrepr, text)  # type: ignore[assignment]


def reports_of(terminal: pytest.TerminalReporter, outcome: str) -> list[pytest.TestReport]:
    """Give the list of what the terminal is to show, in its order; none where nobody can tell."""
    found: list[pytest.TestReport] = inside(terminal, "stats", {}).get(outcome, [])
    return found


def failed_as_a_whole(nodeid: str, path: str, text: str, short: str) -> pytest.TestReport:
    """Make the report of a failure that is no item's."""
    said: Any = LaidOut(Place(path, 1, short), text)
    name = nodeid.partition("::")[2]
    return pytest.TestReport(nodeid, (path, 0, name), {}, "failed", said, "call")


def why_skipped(report: pytest.TestReport) -> str:
    """Give the reason of a skip: ``longrepr`` is then (path, line, "Skipped: why")."""
    said = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr or "")
    return said.removeprefix("Skipped: ").split("\n", 1)[0]


def passed_strictly(item: pytest.Item, call: pytest.CallInfo[None]) -> bool:
    """Tell whether an item whose report failed passed in spite of a strict xfail mark."""
    return call.when == "call" and not call.excinfo and bool(item.get_closest_marker("xfail"))


def why_strict(report: pytest.TestReport) -> str:
    """Give the reason of a strict xfail mark whose item passed."""
    return str(report.longrepr or "").removeprefix("[XPASS(strict)]").strip()


# -- the command line ------------------------------------------------------------------------------

PARSER = pytest.StashKey[pytest.Parser]()
"""pytest's own, which tells options from their values."""


def named_on_command_line(config: pytest.Config) -> Iterable[Path]:
    """The files and folders that pytest was asked for, by the command line or ``testpaths``."""
    for arg in config.args:
        yield Path(config.invocation_params.dir, arg.partition("::")[0])


def asked_for_less(config: pytest.Config) -> bool:
    """Tell whether the command line itself, and not ``addopts``, selects some of the items."""
    if PARSER not in config.stash:
        return False
    given = config.stash[PARSER].parse_known_args([*config.invocation_params.args])
    chosen = ("keyword", "markexpr", "lf", "deselect", "stepwise")
    named = any("::" in str(arg) for arg in getattr(given, "file_or_dir", ()))
    return named or any(getattr(given, name, None) for name in chosen)


LOOKS_ONLY = ("collectonly", "setupplan", "showfixtures", "show_fixtures_per_test")


def looks_only(config: pytest.Config) -> bool:
    """Tell whether nothing is meant to run."""
    return any(getattr(config.option, name, False) for name in LOOKS_ONLY)
