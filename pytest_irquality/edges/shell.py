"""Command lines as the shell of this system has them: read from the ini file, and advised."""

from __future__ import annotations

import re
import shlex
import shutil
import sys

WINDOWS = sys.platform == "win32"
# What cmd acts on where no quote is open. Within quotes it still replaces ``%NAME%``.
ACTIVE = re.compile(r'[()%!^"<>&|]')


def split(line: str) -> list[str]:
    """Give the words of a command. Raises ``ValueError`` where a quote is left open.

    On Windows a backslash is a part of paths and no escape, and the first word is looked for as
    ``npx.cmd``, too, which Windows itself does in its shell alone.
    """
    if not WINDOWS:
        return shlex.split(line)
    reader = shlex.shlex(line, posix=True, punctuation_chars="")
    reader.whitespace_split, reader.commenters, reader.escape = True, "", ""
    words = [*reader]
    return [shutil.which(words[0]) or words[0], *words[1:]] if words else []


def shell_word(word: str) -> str:
    """A word as a shell takes it, also one whose characters would not survive being copied.

    On Windows that is cmd, which knows double quotes alone.
    """
    if WINDOWS:
        return word if re.fullmatch(r"[\w./\\:=-]+", word) else _for_cmd(word)
    if word.isprintable():
        return shlex.quote(word) if re.search(r"[^\w./-]", word) else word
    codes = (c if c.isprintable() and c not in "\\'" else f"\\U{ord(c):08x}" for c in word)
    return f"$'{''.join(codes)}'"


def _for_cmd(word: str) -> str:
    """A word in double quotes, before which backslashes are doubled.

    Where that is not enough, no quote is one to cmd: all that it would act on has its ``^``.
    """
    inside = re.sub(r'(\\*)("|$)', lambda found: found[1] * 2 + found[2].replace('"', r"\""), word)
    quoted = f'"{inside}"'
    return ACTIVE.sub(r"^\g<0>", quoted) if re.search('"|%.+%', word) else quoted


def names_of(folder: str) -> re.Pattern[str]:
    """Make a pattern of a folder's path in a command, as the system takes it, and of no other's."""
    parts = re.split(r"[\\/]", folder) if WINDOWS else [folder]
    written = r"[\\/]".join(map(re.escape, parts))
    return re.compile(rf"{written}(?![\w.-])", re.IGNORECASE if WINDOWS else 0)
