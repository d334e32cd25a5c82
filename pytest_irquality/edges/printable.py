"""Texts that others wrote, made harmless for what shows them: one function a medium.

A query, a title, a tag, a file's name may hold what a terminal, a CI system, Markdown, a
spreadsheet or a file system would act on. Whatever is written out goes through one of these.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

UNSEEN = (0xAD, 0x180E, 0x200B, *range(0x2060, 0x2065), 0xFEFF, *range(0xE0000, 0xE0080))
"""Characters that take no room: two ids that differ in them alone look like one."""
ACTING = (
    *range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A), *UNSEEN,
)  # fmt: skip
CONTROLS: Mapping[int, str] = {
    **{code: f"⟨U+{code:04X}⟩" for code in ACTING if chr(code) not in "\n\t"},
    **dict.fromkeys(range(0xD800, 0xE000), "\N{REPLACEMENT CHARACTER}"),
}
HIDDEN = re.compile(f"[{''.join(map(chr, CONTROLS))}]")
# Marks that some scripts need and ASCII, Latin, Greek and Cyrillic do not (joiners, directions,
# variants of a letter), where only these are around; and letters that are blank.
MARK = "[\u061c\u200c-\u200f\ufe00-\ufe0f\U000e0100-\U000e01ef]+"
NEEDED = r"(?!\s*[\u0590-\U0010ffff])"
BLANK = "[\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0]"
NOT_NEEDED = re.compile(
    rf"(?<=[\w-])(?<![\u0590-\U0010ffff]){MARK}{NEEDED}|(?<![^\s\"]){MARK}(?=[\w-]){NEEDED}|{BLANK}"
)
# Letters of Cyrillic, Greek and Armenian that look like those of ASCII, and a word that has both
# and nothing that tells it from a word of ASCII.
ALIKE = "аеорсухіјѕһԁԛԝӏАВЕЅІЈКМНОРСТУХӀοΑΒΕΖΗΙΚΜΝΟΡΤΥΧօոսհ"
NAMES = {ord(letter): f"⟨U+{ord(letter):04X}⟩" for letter in ALIKE}
MIXED = re.compile(
    rf"(?<![\w-])(?=[\w-]*[A-Za-z])[A-Za-z0-9_-]*[{ALIKE}][A-Za-z0-9_{ALIKE}-]*(?!\w)"
)


# Kinds of space that are not told from a space when they are read.
SPACES = dict.fromkeys((0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " ")


def as_read(text: str) -> str:
    """A text whose no-break spaces and their like are spaces."""
    return text if text.isprintable() else text.translate(SPACES)


def told_apart(text: str) -> str:
    """A text in whose words of ASCII letters that only look so stand as their names.

    And so do marks that nobody sees and no word here needs.
    """
    if text.isascii():
        return text
    text = NOT_NEEDED.sub(lambda marks: "".join(f"⟨U+{ord(one):04X}⟩" for one in marks[0]), text)
    return MIXED.sub(lambda word: word[0].translate(NAMES), text)


def visible(text: str) -> str:
    """A text of a page: what is unseen, controls and changes of direction stand as their names.

    So do letters that only look like ASCII. Marks that letters need (joiners, left-to-right and
    right-to-left marks) stay.
    """
    text = told_apart(text)
    if text.isprintable():
        return text
    return HIDDEN.sub(lambda hidden: CONTROLS[ord(hidden[0])], text)


def clipped(text: str, longest: int) -> str:
    """A text of at most so many characters, its end an ellipsis where something is missing."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


# -- terminal and CI logs --------------------------------------------------------------------------

# GitHub reads a command where a line begins with "::" and wherever "##[" stands; Azure "##vso[",
# TeamCity "##teamcity[".
COMMAND = re.compile(r"^\s*:(?=:)|##(?=\w*\[)")
OTHERS = re.compile(r"##(?=\w*\[)")


def terminal(text: str) -> str:
    """One line of a terminal or a log.

    Nothing in it moves a cursor, begins a line or speaks to a CI system.
    """
    text = told_apart(as_read(text))
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
    return _entities(SPECIAL.sub(r"\\\1", LIVE.sub(rf"\g<0>{BREAK}", _one_line(text))))


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
# A file may be opened with another separator than its own, which then begins cells within ours.
FORMULA = re.compile(r"(?:^|(?<=[;|\t\r\n]))[ \"]*'*(?=[=+\-@＝＋－＠])|^'*(?=[\t\r\n])")


def csv_cell(text: str) -> str:
    """A cell that a spreadsheet takes for text: a ``'`` stands where a formula could begin."""
    return FORMULA.sub(lambda begins: f"{begins[0]}'", text)


def from_csv(cell: str) -> str:
    """The inverse of ``csv_cell``."""
    return FORMULA.sub(lambda begins: begins[0].removesuffix("'"), cell)


# -- file names ------------------------------------------------------------------------------------

UNFIT = re.compile(r"[^\w+=,@ -]| $")
# Devices of Windows, under any suffix.
RESERVED = re.compile(r"^(con|prn|aux|nul|com[\d¹²³]|lpt[\d¹²³])$", re.IGNORECASE)
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
