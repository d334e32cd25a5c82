"""Errors as if from a line of a file, and tracebacks with the user's own frames alone."""

from __future__ import annotations

import linecache
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

MACHINERY = ("asyncio", "concurrent", "threading", "anyio", "uvloop")
"""What runs coroutines and threads, of which a traceback tells a user nothing."""


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
