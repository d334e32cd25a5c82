"""Files that we write.

Whatever happens there is the old one or the new one, and no stranger's link leads out of the
project.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from pytest_irquality.edges import bounds
from pytest_irquality.edges.git import Repository, checkout_above
from pytest_irquality.edges.open import Allowed

if sys.platform == "win32":  # where a file that is open cannot be removed anyway
    fcntl = None
else:
    import fcntl


def write_text(path: Path, text: str, allowed: Allowed | None = None) -> None:
    """Replace a file by a text that can be made again, as ``write`` does.

    UTF-8, LF as it stands in it, half a surrogate pair as its escape. Raises ``OSError``.
    """
    write(path, [encoded(text)], allowed, sync=False)


def encoded(text: str) -> bytes:
    """A text as UTF-8, half a surrogate pair as its escape."""
    return text.encode("utf-8", "backslashreplace")


def write(
    path: Path, chunks: Iterable[bytes], allowed: Allowed | None = None, *, sync: bool = True
) -> None:
    """Replace a file. A kill at any moment leaves the old one or the new one.

    ``sync``: so does a power cut, for which the disk is waited for. ``allowed`` None: the path is
    the command line's own, and may lead anywhere. No path leads through a link that a commit
    brought. A target that is no regular file, a device or a pipe, is written in place. Raises
    ``OSError``.
    """
    real = _target(path, allowed)
    if real.exists() and not real.is_file():
        with real.open("wb") as file:
            file.writelines(chunks)
        return
    real.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(real)
    with _temporary(real) as (temporary, file):
        file.writelines(chunks)
        file.flush()
        if sync:
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            os.chmod(temporary, stat.S_IMODE(real.stat().st_mode))
        if fcntl is None:
            file.close()
        os.replace(temporary, real)
        if sync:
            _sync_folder(real.parent)


def _sync_folder(folder: Path) -> None:
    """Wait for the disk until it has the names in a folder, where the system has a way to."""
    with suppress(OSError), _opened_folder(folder) as descriptor:
        os.fsync(descriptor)


@contextmanager
def _opened_folder(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY)  # Windows: never
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def write_new(path: Path, text: str, allowed: Allowed | None = None) -> None:
    """Write a file that must not be there yet. Raises ``FileExistsError``, ``OSError``."""
    if os.path.lexists(path):
        raise FileExistsError("it exists already, and is never written over")
    write_text(path, text, allowed)


def begin(path: Path, allowed: Allowed | None = None) -> BinaryIO:
    """Open a file anew, to be written bit by bit. Raises ``OSError``."""
    real = _target(path, allowed)
    real.parent.mkdir(parents=True, exist_ok=True)
    return real.open("wb")


def append(path: Path, text: str) -> None:
    """Add a text to a file that the machine itself names, as the summary of a job of CI."""
    with path.open("ab") as file:
        file.write(encoded(text))


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other process is in here for this folder.

    Who adds to a file reads it first. Where the system cannot lock a folder nobody waits.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if fcntl is None:
        yield
        return
    with _opened_folder(folder) as descriptor:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


# -- where -----------------------------------------------------------------------------------------


def _target(path: Path, allowed: Allowed | None) -> Path:
    """The file behind a path's links. A link stays a link."""
    real = Path(os.path.realpath(path))
    if allowed and not allowed.holds(real):
        raise OSError(f"{path.name} leads out of {allowed.what.partition(';')[0]}")
    if link := _committed_link(path):
        raise OSError(f"{link} is a link in git, and nothing is written through one")
    return real


def _committed_link(path: Path) -> str | None:
    """The name of a link on the way that came with a commit; of any, where git cannot tell.

    It could lead to what is run later: to a conftest, to a script, to ``activate``.
    """
    absolute = Path(os.path.abspath(path))
    top = checkout_above(absolute.parent)
    for part in (absolute, *absolute.parents):
        if top is None or part == top:
            break
        try:
            if part.is_symlink() and Repository(top).tracks(part):
                return part.name
        except OSError:
            return part.name
    return None


# -- temporary files -------------------------------------------------------------------------------


def _prefix(target: Path) -> str:
    return f".{target.name[:80]}."  # names end at 255 bytes


@contextmanager
def _temporary(target: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """A file beside the target, locked while it is written, and removed where that failed."""
    # Not tempfile's: its files are private, and this one is to be read like any other.
    while True:
        path = target.with_name(f"{_prefix(target)}{os.urandom(8).hex()}.tmp")
        file = path.open("xb")
        if locked(file) is not False and path.exists():
            break
        file.close()  # it was taken for a leftover just before it was locked
    try:
        yield path, file
    except BaseException:
        with suppress(OSError):  # on a full disk what is left of it cannot be written, either
            file.close()
        path.unlink(missing_ok=True)
        raise
    file.close()


def locked(file: BinaryIO) -> bool | None:
    """Lock a file, and tell whether we hold it; None where nobody could.

    On Windows nobody can, nor on some network drives.
    """
    if fcntl is None:
        return None
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _remove_leftovers(target: Path) -> None:
    """Remove what a killed process left of this target: what nobody holds, or else what is old."""
    name = re.compile(re.escape(_prefix(target)) + r"[0-9a-f]{16}\.tmp")
    for other in filter(name.fullmatch, os.listdir(target.parent)):
        with suppress(OSError):  # another process was faster
            _remove_abandoned(target.with_name(other))


def _remove_abandoned(path: Path) -> None:
    """Remove a file that nobody holds, while we hold it: who made it just now may want to."""
    with path.open("rb") as file:
        held = locked(file)
        if held:
            path.unlink()
    if held is None and time.time() - path.stat().st_mtime > bounds.LEFTOVER:
        path.unlink()
