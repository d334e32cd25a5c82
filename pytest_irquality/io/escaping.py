"""Escape texts from data. There is one function for each medium that shows them.

A query, a title, a tag or the name of a file may contain what a terminal, a CI system, Markdown, a
spreadsheet or a file system acts on.
"""

from __future__ import annotations

import hashlib
import re
import shlex
import sys
from collections.abc import Sequence

MAX_FILE_NAME_BYTES = 120
_DIGEST_BYTES = 20  # enough for "~" and 16 digits


def _name_code_point(character: str) -> str:
    return f"⟨U+{ord(character):04X}⟩"


_CONTROLS = (
    *(code for code in range(0x20) if code not in (0x09, 0x0A)),
    *range(0x7F, 0xA0),
    *range(0x202A, 0x202F),  # embeddings and overrides of the direction
    *range(0x2066, 0x206A),  # isolates of the direction
    # Characters without width: two ids that differ only in them look the same.
    *(0xAD, 0x180E, 0x200B, 0xFEFF),  # soft hyphen, vowel separator, zero-width space, BOM
    *range(0x2060, 0x2065),  # word joiner and operators without a sign
    *range(0xE0000, 0xE0080),  # tags
)
_VISIBLE = {code: _name_code_point(chr(code)) for code in _CONTROLS}
_VISIBLE.update(dict.fromkeys(range(0xD800, 0xE000), "\N{REPLACEMENT CHARACTER}"))

# Joiners, direction marks and variation selectors belong to some scripts. Between letters of ASCII,
# Latin, Greek and Cyrillic they only deceive. So do blank letters.
# Letters of other scripts are written as "not before U+0590": a class of a million characters takes
# 3 ms to compile, and every run would wait for it.
_OTHER_SCRIPT = r"[^\0-\u058f]"
_MARKS = "[\u061c\u200c-\u200f\ufe00-\ufe0f\U000e0100-\U000e01ef]+"
_NO_SCRIPT_AFTER = rf"(?!\s*{_OTHER_SCRIPT})"
_BLANK_LETTERS = "[\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0]"
_DECEPTIVE_MARKS = re.compile(
    rf"(?<=[\w-])(?<!{_OTHER_SCRIPT}){_MARKS}{_NO_SCRIPT_AFTER}"  # inside or after a word
    rf"|(?<![^\s\"]){_MARKS}(?=[\w-]){_NO_SCRIPT_AFTER}"  # before a word
    rf"|{_BLANK_LETTERS}"
)
# Letters of Cyrillic, Greek and Armenian that look like ASCII, in a word that looks like ASCII.
_LOOKALIKES = "аеорсухіјѕһԁԛԝӏАВЕЅІЈКМНОРСТУХӀοΑΒΕΖΗΙΚΜΝΟΡΤΥΧօոսհ"
_LOOKALIKE_NAMES = {ord(letter): _name_code_point(letter) for letter in _LOOKALIKES}
_MIXED_WORD = re.compile(
    r"(?<![\w-])(?=[\w-]*[A-Za-z])"  # the beginning of a word with an ASCII letter
    rf"[A-Za-z0-9_-]*[{_LOOKALIKES}][A-Za-z0-9_{_LOOKALIKES}-]*(?!\w)"
)
_SPACES = dict.fromkeys((0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " ")

# GitHub reads a command if a line begins with "::", even after spaces, or contains "##[". Azure
# reads "##vso[" and TeamCity "##teamcity[".
_WORKFLOW_COMMAND = re.compile(r"^\s*:(?=:)|##(?=\w*\[)", re.MULTILINE)
_HASH_COMMAND = re.compile(r"##(?=\w*\[)")
_TERMINAL_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colors and cursor moves (CSI of ECMA-48)
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles and links (OSC)
    r"|\x1b[ -/]*[0-~]"  # other escape sequences
)


def clip(text: str, length: int) -> str:
    """Shorten a text to a number of characters, with an ellipsis at its end if it was longer."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


# -- Terminal and CI logs --------------------------------------------------------------------------


def escape_log_line(text: str) -> str:
    """Make one line of a terminal or log: no cursor moves, line ends or workflow commands."""
    if not text.isprintable():
        text = text.translate(_SPACES)
    text = _reveal_deceptions(text)
    if not text.isprintable():
        text = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
    return escape_workflow_commands(text)


def escape_log_lines(text: str) -> str:
    """Make the output of another program harmless and keep its lines.

    Colors and cursor moves are removed first. Otherwise one inside ``##[`` could hide a command.
    """
    lines = _TERMINAL_SEQUENCE.sub("", text).splitlines()
    return "\n".join(escape_log_line(line.expandtabs()) for line in lines)


def escape_workflow_message(text: str) -> str:
    """Escape the message of a workflow command as GitHub decodes it."""
    visible = escape_page_text(text.replace("\r", ""))
    inert = _HASH_COMMAND.sub("#⟨#⟩", visible)
    return inert.replace("%", "%25").replace("\n", "%0A")


def escape_workflow_property(text: str) -> str:
    """Escape a property of a workflow command, such as ``title=…``."""
    return escape_workflow_message(text).replace(":", "%3A").replace(",", "%2C")


def escape_workflow_commands(text: str) -> str:
    """Escape text that a CI system would read as a command.

    Wrapping can move ``::`` to the start of a line, so wrapped lines need it again.
    """
    if ":" not in text and "##" not in text:
        return text
    # One escaped character is enough, and keeps the text readable.
    return _WORKFLOW_COMMAND.sub(lambda match: f"{match[0][:-1]}\\x{ord(match[0][-1]):02x}", text)


# -- Pages -----------------------------------------------------------------------------------------


def escape_page_text(text: str) -> str:
    """Replace what a page would not show: controls, directions, invisible and deceptive letters.

    Their code points appear instead, such as ``⟨U+200B⟩``. Marks that a script needs are kept.
    """
    text = _reveal_deceptions(text)
    return text if text.isprintable() else text.translate(_VISIBLE)


def _reveal_deceptions(text: str) -> str:
    """Show the code points of marks and letters that make a word look like another one."""
    if text.isascii():
        return text
    text = _DECEPTIVE_MARKS.sub(lambda match: "".join(map(_name_code_point, match[0])), text)
    return _MIXED_WORD.sub(lambda match: match[0].translate(_LOOKALIKE_NAMES), text)


# -- Markdown --------------------------------------------------------------------------------------

_MARKUP = re.compile(r"([\\`*_\[\]|~#$])")
_ENTITIES = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;"}
# What GitHub turns into a mention, a link or a reference anywhere in a text.
_AUTOLINK = re.compile(
    r"(?<![A-Za-z0-9_])@(?=\w)"  # a mention: @name
    r"|@(?=[\w-]+\.\w)"  # an address: name@example.org
    r"|#(?=\d)|\bgh-(?=\d)"  # an issue: #12, GH-12
    r"|:(?=//)|\bwww(?=\.)",  # a URL: https://…, www.…
    re.IGNORECASE,
)


def escape_markdown(text: str) -> str:
    """Escape a text that stays one line in Markdown: no markup, HTML, mentions or links."""
    line = re.sub(r"\s+", " ", escape_page_text(text)).strip()
    inert = _AUTOLINK.sub("\\g<0>\N{ZERO WIDTH SPACE}", line)
    return _MARKUP.sub(r"\\\1", inert).translate(_ENTITIES)


def escape_markdown_code(text: str) -> str:
    """Make an inline code span, fenced by more backticks than the text has in a row."""
    plain = re.sub(r"[\n\t]", " ", escape_page_text(text))
    longest_fence = max(map(len, re.findall("`+", plain)), default=0)
    fence = "`" * (longest_fence + 1)
    padding = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{fence}{padding}{plain}{padding}{fence}"


# -- CSV -------------------------------------------------------------------------------------------

# A spreadsheet may split at another separator, so a formula can also begin inside a cell. The
# pattern passes over "'", which is the escape, so that escaping twice can be undone twice.
_FORMULA = re.compile(
    r"(?:^|(?<=[;|\t\r\n]))[ \"]*'*(?=[=+\-@＝＋－＠])"
    r"|^'*(?=[\t\r\n])"  # Some programs skip these before a formula.
)


def escape_csv_cell(text: str) -> str:
    """Escape a cell so that a spreadsheet takes it for text: ``'`` before a possible formula."""
    return _FORMULA.sub(lambda match: f"{match[0]}'", text)


def unescape_csv_cell(cell: str) -> str:
    """Undo ``escape_csv_cell``."""
    return _FORMULA.sub(lambda match: match[0].removesuffix("'"), cell)


# -- File names ------------------------------------------------------------------------------------

_UNSAFE_IN_NAME = re.compile(r"[^\w+=,@ -]| $")
_WINDOWS_DEVICE = re.compile(r"^(con|prn|aux|nul|com[\d¹²³]|lpt[\d¹²³])$", re.IGNORECASE)


def make_file_name(text: str) -> str:
    """Make a part of a file name by percent-encoding.

    Different texts have different names. Two names may differ in case alone.
    """
    name = _UNSAFE_IN_NAME.sub(lambda match: _percent_encode(match[0]), text)
    if _WINDOWS_DEVICE.match(name):
        name = _percent_encode(name[0]) + name[1:]
    if len(name.encode()) <= MAX_FILE_NAME_BYTES:
        return name
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    start = name.encode()[: MAX_FILE_NAME_BYTES - _DIGEST_BYTES].decode(errors="ignore")
    return f"{start}~{digest}"


def _percent_encode(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "surrogatepass"))


# -- Command lines ---------------------------------------------------------------------------------

# Characters that cmd interprets outside quotes. Inside quotes, it still expands `%NAME%`.
_ACTIVE_IN_CMD = re.compile(r'[()%!^"<>&|]')


def quote_command(words: Sequence[str], paths: Sequence[str] = ()) -> str:
    """Quote a command that a reader can copy into the shell of this system.

    Args:
        words: The program and its options.
        paths: Files that follow them. If a path starts with ``-`` or ``@``, ``./`` is put in front,
            so that it is not read as an option or as a file of arguments.
    """
    quoted = [quote_word(word) for word in words]
    for path in paths:
        is_ambiguous = path.startswith(("-", "@"))
        quoted.append(quote_word(f"./{path}" if is_ambiguous else path))
    return " ".join(quoted)


def quote_word(word: str) -> str:
    """Quote a word of a command. Unprintable characters, which cannot be copied, are escaped."""
    if sys.platform == "win32":
        return word if re.fullmatch(r"[\w./\\:=-]+", word) else _quote_for_cmd(word)
    if word.isprintable():
        return word if re.fullmatch(r"[\w./:=,@%+-]+", word, re.ASCII) else shlex.quote(word)
    escaped = ""
    for character in word:
        is_plain = character.isprintable() and character not in "\\'"
        escaped += character if is_plain else f"\\U{ord(character):08x}"
    return f"$'{escaped}'"


def _quote_for_cmd(word: str) -> str:
    """Quote for cmd, which knows only double quotes and reads backslashes before them."""
    inside = re.sub(r'(\\*)("|$)', lambda match: match[1] * 2 + match[2].replace('"', r"\""), word)
    quoted = f'"{inside}"'
    if re.search('"|%.+%', word):
        return _ACTIVE_IN_CMD.sub(r"^\g<0>", quoted)
    return quoted
