"""Declaration of an option of the command line or a key of the ini file, whole in one place.

::

    class Options(Declared):
        json = Text("Write everything in the report as JSON to PATH (default: not written).")

declares ``--ir-json``, and ``Options(config).json`` is what was given, as a ``str | None``. A name
that is not declared is an error to the type checker. Nothing here is heavy: every run of pytest
imports it.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, TypeVar, overload

import pytest

Value = TypeVar("Value")
Own = TypeVar("Own", bound="Setting[Any]")

GROUP = "irquality", "search-quality regression tests"
WORD = re.compile(r"(.*),([a-z]+)(?:=([^,]*))?", re.DOTALL)
"""A word that stands behind a value."""
INT: Literal["int", "string"] = "int" if pytest.version_tuple >= (8, 4) else "string"


class Declared:
    """Values given to the options and ini keys that a subclass declares."""

    def __init__(self, config: pytest.Config, given: argparse.Namespace | None = None) -> None:
        self.config = config
        self.given = given or config.option

    @classmethod
    def settings(cls) -> Iterator[Setting[Any]]:
        """Everything that is declared, what base classes declare last."""
        for base in cls.__mro__:
            for declared in vars(base).values():
                if isinstance(declared, Setting):
                    yield declared

    @classmethod
    def options(cls) -> Sequence[Option[Any]]:
        """Options of the command line."""
        return [one for one in cls.settings() if isinstance(one, Option)]

    @classmethod
    def ini_keys(cls) -> Iterator[Setting[Any]]:
        """Keys of the ini file."""
        return (one for one in cls.settings() if not isinstance(one, Option))

    def check(self) -> None:
        """Read everything once. Raises ``pytest.UsageError`` for what cannot be meant."""
        for setting in self.settings():
            setting.read(self)


@dataclass(eq=False)
class Setting(Generic[Value]):
    """An option or an ini key. ``help`` is one sentence and ends with the default."""

    help: str
    name: str = field(init=False, default="")

    def __set_name__(self, owner: type[Declared], name: str) -> None:
        self.name = name

    @property
    def key(self) -> str:
        """Name by which pytest knows it: ``ir_update_baseline``."""
        return f"ir_{self.name}"

    @overload
    def __get__(self: Own, given: None, owner: type[Declared]) -> Own: ...

    @overload
    def __get__(self, given: Declared, owner: type[Declared]) -> Value: ...

    def __get__(self, given: Declared | None, owner: type[Declared]) -> Value | Setting[Value]:
        return self if given is None else self.read(given)

    def read(self, given: Declared) -> Value:
        """Value that was given. Raises ``pytest.UsageError``."""
        raise NotImplementedError

    def declare(self, parser: pytest.Parser) -> None:
        """Tell pytest of it."""
        raise NotImplementedError


# -- options ---------------------------------------------------------------------------------------


@dataclass(eq=False)
class Option(Setting[Value]):
    """An option of the command line.

    ``metavar`` is what its help calls the value, where that is not what its kind calls it.
    ``implies_suites``: written on the command line itself it turns ``--ir-suite`` on.
    ``looks_at_once``: what is wrong with it is said before anything is collected, also where it
    stands in ``addopts``.
    """

    metavar: str = ""
    implies_suites: bool = field(default=True, kw_only=True)
    looks_at_once: bool = field(default=False, kw_only=True)
    kind: ClassVar[Mapping[str, Any]] = {"metavar": "PATH", "default": None}
    """The arguments of ``argparse`` for an option of this kind."""

    @property
    def flag(self) -> str:
        """The way in which users write it: ``--ir-update-baseline``."""
        return f"--ir-{self.name.replace('_', '-')}"

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments of ``argparse`` for this option."""
        return {**self.kind, "metavar": self.metavar} if self.metavar else self.kind

    def declare(self, parser: pytest.Parser) -> None:
        """Tell pytest's parser of it."""
        parser.getgroup(*GROUP).addoption(self.flag, help=self.help, **self.arguments)

    def read(self, given: Declared) -> Value:
        """Give its value."""
        value: Value = getattr(given.given, self.key)
        return value


class Flag(Option[bool]):
    """An option that is there or not."""

    kind: ClassVar[Mapping[str, Any]] = {"action": "store_true"}


def at_least_one(text: str) -> int:
    """Read a whole number of at least 1, as an option is written."""
    if text.isascii() and text.isdecimal() and int(text):
        return int(text)
    raise argparse.ArgumentTypeError(f"it must be a whole number of at least 1, not {text!r}")


def alone(text: str) -> bool:
    """Read a word that has no value."""
    if text:
        raise argparse.ArgumentTypeError(f"it takes no value, not {text!r}")
    return True


@dataclass(eq=False)
class Text(Option["str | None"]):
    """An option with a value, mostly a path, which may have to end in one of the ``suffixes``.

    ``words`` may stand behind it, each with how its value is read: ``judge.html,depth=50``. What
    pytest keeps stays a text: workers of xdist are sent it.
    """

    suffixes: tuple[str, ...] = field(default=(), kw_only=True)
    words: Mapping[str, Callable[[str], Any]] = field(default_factory=dict, kw_only=True)

    def read(self, given: Declared) -> str | None:
        """Give its value without the words. Raises ``pytest.UsageError``."""
        return self._parted(given)[0]

    def word(self, given: Declared, name: str) -> Any:
        """Give the value of a word; None where it is not written."""
        return self._parted(given)[1].get(name)

    def _parted(self, given: Declared) -> tuple[str | None, Mapping[str, Any]]:
        text, found = super().read(given), {}
        while self.words and text and (word := WORD.fullmatch(text)):
            text, name, value = word.groups(default="")
            if name not in self.words:
                raise pytest.UsageError(f"{self.flag}: {name!r} is none of {', '.join(self.words)}")
            try:
                found[name] = self.words[name](value)
            except argparse.ArgumentTypeError as error:
                raise pytest.UsageError(f"{self.flag}: {name}: {error}") from None
        if text and self.suffixes and not text.endswith(self.suffixes):
            wanted = " or ".join(self.suffixes)
            raise pytest.UsageError(f"{self.flag}: it must end in {wanted}, not be {text!r}")
        return text, found


class Texts(Option["list[str]"]):
    """An option that may be given several times."""

    kind: ClassVar[Mapping[str, Any]] = {"metavar": "PATH", "action": "append", "default": []}


class Count(Option["int | None"]):
    """An option that is a whole number of at least 1."""

    kind: ClassVar[Mapping[str, Any]] = {"metavar": "N", "type": at_least_one, "default": None}


# -- ini keys --------------------------------------------------------------------------------------


@dataclass(eq=False)
class Ini(Setting[Value]):
    """A key of the ini file, of a ``kind`` that pytest knows; ``wanted`` says it in words."""

    wanted: ClassVar[str] = "of its kind"
    default: Any = ""
    kind: Any = field(default="string", kw_only=True)

    def declare(self, parser: pytest.Parser) -> None:
        """Tell pytest's parser of it."""
        parser.addini(self.key, type=self.kind, default=self.default, help=self.help)

    def read(self, given: Declared) -> Value:
        """Give its value. Raises ``pytest.UsageError`` where it is of another kind."""
        try:
            value: Value = given.config.getini(self.key)
        except (TypeError, ValueError, pytest.UsageError) as error:
            raise pytest.UsageError(f"ini key {self.key} must be {self.wanted}: {error}") from None
        return value


class IniText(Ini[str]):
    """A key that is a text, empty by default."""


@dataclass(eq=False)
class IniTexts(Ini["list[str]"]):
    """A key that is a list of texts."""

    default: Sequence[str] = ()
    kind: Any = field(default="args", kw_only=True)

    def declare(self, parser: pytest.Parser) -> None:
        """Tell pytest of it: ``config.addinivalue_line`` needs a list, of this session alone."""
        parser.addini(self.key, type=self.kind, default=[*self.default], help=self.help)

    def read(self, given: Declared) -> list[str]:
        """Give its value."""
        return list(super().read(given))


@dataclass(eq=False)
class IniCount(Ini["int | None"]):
    """A key that is a whole number of at least 1."""

    wanted = "a whole number of at least 1"
    default: None = None
    kind: Any = field(default=INT, kw_only=True)

    def read(self, given: Declared) -> int | None:
        """Give its value. Raises ``pytest.UsageError`` where it is no such number."""
        value = super().read(given)
        try:
            return at_least_one(str(value)) if value else None
        except argparse.ArgumentTypeError as error:
            raise pytest.UsageError(f"ini key {self.key}: {error}") from None


@dataclass(eq=False)
class IniChoice(Ini[str]):
    """A key that is one of a few words."""

    choices: Sequence[str] = field(kw_only=True)

    def read(self, given: Declared) -> str:
        """Give its value. Raises ``pytest.UsageError`` where it is none of the words."""
        value = super().read(given)
        if value not in self.choices:
            wanted = " or ".join(self.choices)
            raise pytest.UsageError(f"ini key {self.key} must be {wanted}, not {value!r}")
        return value


@dataclass(eq=False)
class IniFlag(Ini[bool]):
    """A key that is true or false, and false by default."""

    wanted = "true or false"
    default: bool = False
    kind: Any = field(default="bool", kw_only=True)
