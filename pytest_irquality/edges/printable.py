"""Texts that others wrote, made harmless for what shows them: one function a medium.

A query, a title, a tag, a file's name may hold what a terminal, a CI system, Markdown, a
spreadsheet or a file system would act on. Whatever is written out goes through one of these.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping

ACTING = (*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
CONTROLS: Mapping[int, str] = {
    **{code: f"⟨U+{code:04X}⟩" for code in ACTING if chr(code) not in "\n\t"},
    **dict.fromkeys(range(0xD800, 0xE000), "\N{REPLACEMENT CHARACTER}"),
}
HIDDEN = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""The keys of ``CONTROLS``."""


def visible(text: str) -> str:
    """A text of a page: control and direction-changing characters stand as their names.

    Marks that letters need (joiners, left-to-right and right-to-left marks) stay.
    """
    if text.isprintable():
        return text
    return HIDDEN.sub(lambda hidden: CONTROLS[ord(hidden[0])], text)


def clipped(text: str, longest: int) -> str:
    """A text of at most so many characters, its end an ellipsis where something is missing."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


# A command that a sentence of ours names. It is a command, too, where the sentence was cut within.
NAMED_COMMAND = re.compile(r"`(pytest [^`|]*)(?:`|$)")


def with_commands(text: str, prose: Callable[[str], str], code: Callable[[str], str]) -> str:
    """A text for a page that knows code: its commands made by ``code``, all else by ``prose``."""
    parts = NAMED_COMMAND.split(text)
    return "".join(code(part) if n % 2 else prose(part) for n, part in enumerate(parts))


# -- terminal and CI logs --------------------------------------------------------------------------

# GitHub reads a command where a line begins with "::" and wherever "##[" stands; Azure "##vso[",
# TeamCity "##teamcity[".
COMMAND = re.compile(r"^\s*:(?=:)|##(?=\w*\[)")
OTHERS = re.compile(r"##(?=\w*\[)")


def terminal(text: str) -> str:
    """One line of a terminal or a log.

    Nothing in it moves a cursor, begins a line or speaks to a CI system.
    """
    text = text.replace("\N{NARROW NO-BREAK SPACE}", " ")  # in numbers of ours, and harmless
    if not text.isprintable():
        text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    return COMMAND.sub(_escaped, text) if ":" in text or "##" in text else text


def _escaped(command: re.Match[str]) -> str:
    return f"{command[0][:-1]}\\x{ord(command[0][-1]):02x}"


def workflow(text: str) -> str:
    """The message of a workflow command, as GitHub reads it back."""
    plain = visible(text.replace("\r", ""))
    return OTHERS.sub("#⟨#⟩", plain).replace("%", "%25").replace("\n", "%0A")


def workflow_property(text: str) -> str:
    """A property of a workflow command: ``title=...``."""
    return workflow(text).replace(":", "%3A").replace(",", "%2C")


# -- Markdown --------------------------------------------------------------------------------------

ENTITIES: Mapping[str, str] = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
SPECIAL = re.compile(r"([\\`*_\[\]|~#$])")
BREAK = "\N{ZERO WIDTH SPACE}"
# What GitHub turns into a mention, a link or a reference wherever it stands in a text.
LIVE = re.compile(
    r"(?<![A-Za-z0-9_])@(?=\w)|@(?=[\w-]+\.\w)|#(?=\d)|:(?=//)|\bwww(?=\.)|\bgh-(?=\d)",
    re.IGNORECASE,
)


def html(text: str) -> str:
    """A text within HTML within Markdown."""
    return _entities(LIVE.sub(rf"\g<0>{BREAK}", _one_line(text)))


def markdown(text: str) -> str:
    """A text that stays one line of text in Markdown.

    It has no markup, no HTML and no cell of its own; nobody is notified, nothing linked.
    """
    return _plain(_one_line(text))


def markdown_sentence(text: str) -> str:
    """A sentence of ours as one line of Markdown, its commands as code."""
    return with_commands(_one_line(text), _plain, markdown_code)


def _plain(line: str) -> str:
    return _entities(SPECIAL.sub(r"\\\1", LIVE.sub(rf"\g<0>{BREAK}", line)))


def markdown_code(text: str) -> str:
    """An inline code span, fenced by more backticks than the text has in a row."""
    plain = re.sub(r"[\n\t]", " ", visible(text))
    fence = "`" * (max((len(run) for run in re.findall("`+", plain)), default=0) + 1)
    padded = f" {plain} " if plain.startswith("`") or plain.endswith("`") else plain
    return f"{fence}{padded}{fence}"


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", visible(text)).strip()


def _entities(text: str) -> str:
    return "".join(ENTITIES.get(character, character) for character in text)


# -- CSV -------------------------------------------------------------------------------------------

TO_GRADE_COLUMNS = ("query", "docid", "rating", "title")
GRADED_COLUMNS = ("query_id", "query", "doc_id", "rating", "decision", "judge", "date", "note")
OUR_COLUMNS = (TO_GRADE_COLUMNS, GRADED_COLUMNS)
"""The headers of the CSV files that we write: by them our reader knows to call ``from_csv``."""
FORMULA = re.compile(r"'*[=+\-@\t\r]")


def csv_cell(text: str) -> str:
    """A cell that a spreadsheet takes for text: what would begin a formula gets a ``'``."""
    return f"'{text}" if FORMULA.match(text) else text


def from_csv(cell: str) -> str:
    """The inverse of ``csv_cell``."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


# -- file names ------------------------------------------------------------------------------------

UNFIT = re.compile(r"[^\w+=,@ -]| $")
# Devices of Windows, under any suffix.
RESERVED = re.compile(r"^(con|prn|aux|nul|com\d|lpt\d)$", re.IGNORECASE)
LONGEST_NAME = 120


def file_name(text: str) -> str:
    """A text as part of the name of a file on any system, different for every text.

    It is percent-encoded where need be.
    """
    name = UNFIT.sub(_percent, text)
    name = RESERVED.sub(lambda found: _percent(found[0][0]) + found[0][1:], name, count=1)
    if len(name.encode()) <= LONGEST_NAME:
        return name
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{name.encode()[: LONGEST_NAME - 20].decode(errors='ignore')}~{digest}"


def _percent(found: re.Match[str] | str) -> str:
    text = found if isinstance(found, str) else found[0]
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "surrogatepass"))
