"""Read YAML as nodes with lines, and explain syntax errors in plain words.

The nodes are built from PyYAML's events. They keep every scalar as written, so ``0123``, ``NO`` and
``2024-01-01`` stay as they are (YAML 1.1 would make a number, a boolean and a date of them), and
repeated keys stay visible. Aliases are refused, so there are no YAML bombs. Events from
libyaml are also the fastest way: composing PyYAML's own nodes takes five times as long.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from sys import intern
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_irquality.io.text import format_count
from pytest_irquality.suite.mistakes import Mistake, quote, shorten

if TYPE_CHECKING:
    import yaml

MAX_NESTING = 40  # levels
MAX_BRACKET_LINES = 100  # lines in which a closing bracket is looked for


class ScalarNode(NamedTuple):
    """A single value as written.

    Attributes:
        is_quoted: Whether it is in quotes or in a block, and therefore always text.
        comment: The comment that follows on the line, if the value is empty or only one space is
            between them. The author may have meant it as a part of the value.
    """

    text: str
    line: int
    is_quoted: bool = False
    comment: str = ""


class ListNode(NamedTuple):
    """A list of values."""

    items: Sequence[Node]
    line: int


class MappingNode(NamedTuple):
    """A mapping. Keys may repeat and may be any node. The suite parser reports both.

    Attributes:
        entries: Keys and values in the order of the file.
    """

    entries: Sequence[tuple[Node, Node]]
    line: int


Node = ScalarNode | ListNode | MappingNode


def read_yaml(text: str) -> Node | None:
    """Read the only document of a YAML text.

    Returns:
        The root node, or ``None`` if the text holds nothing.

    Raises:
        Mistake: The text is not valid YAML, has aliases or several documents, or is nested too
            deep.
    """
    import yaml  # Sessions without suites do not need it.

    try:
        from yaml import CBaseLoader as Loader
    except ImportError:  # PyYAML built without libyaml
        from yaml import BaseLoader as Loader  # type: ignore[assignment]
    try:
        # `yaml.parse` also looks ahead before each event, which takes a tenth of its time.
        return _build_tree(iter(Loader(text).get_event, None), text)
    except yaml.YAMLError as error:
        raise _explain_syntax_error(error, text) from None


def _build_tree(events: Iterable[Any], text: str) -> Node | None:
    """Build nodes from events, without recursion and in one pass."""
    from yaml import events as event_types

    scalar = event_types.ScalarEvent
    mapping, mapping_end = event_types.MappingStartEvent, event_types.MappingEndEvent
    sequence, sequence_end = event_types.SequenceStartEvent, event_types.SequenceEndEvent
    # The children of the innermost collection so far. Keys and values of a mapping alternate.
    nodes: list[Node] = []
    # For each open collection: the children of its parent, and the line where it begins.
    stack: list[tuple[list[Node], int]] = []
    document_count = 0
    # Calling `ScalarNode(...)` would take three times as long, for a million scalars.
    make_tuple = tuple.__new__
    has_comments = " #" in text
    swallowed_item: Mistake | None = None
    for event in events:
        event_type = type(event)
        if event_type is scalar:
            if event.anchor or event.tag:
                raise _explain_indicator(event)
            # libyaml makes a new string for each occurrence of an id or key, so share them.
            value = intern(event.value)
            is_quoted = bool(event.style)
            comment = ""
            if not is_quoted and (has_comments or not value):
                comment = _find_comment(event, text)
            line = event.start_mark.line + 1
            # An item below a text, without a key between them: YAML reads one text of two lines.
            is_long = " - " in value and event.end_mark.line > event.start_mark.line
            if is_long and not is_quoted:
                swallowed_item = swallowed_item or _explain_swallowed_item(event, text)
            nodes.append(make_tuple(ScalarNode, (value, line, is_quoted, comment)))
        elif event_type is mapping or event_type is sequence:
            if event.anchor or event.tag:
                raise _explain_indicator(event)
            stack.append((nodes, event.start_mark.line + 1))
            if len(stack) > MAX_NESTING:
                raise Mistake(stack[-1][1], f"This is nested deeper than {MAX_NESTING} levels")
            nodes = []
        elif event_type is mapping_end:
            entries = list(zip(nodes[::2], nodes[1::2], strict=True))
            nodes, line = stack.pop()
            nodes.append(MappingNode(entries, line))
        elif event_type is sequence_end:
            items = nodes
            nodes, line = stack.pop()
            nodes.append(ListNode(items, line))
        elif event_type is event_types.AliasEvent:
            raise _explain_indicator(event, f"*{event.anchor}")
        elif event_type is event_types.DocumentStartEvent:
            document_count += 1
            if document_count > 1:
                message = "A second document begins here. Remove the line '---', or use two files."
                raise Mistake(event.start_mark.line + 1, message)
    if swallowed_item:  # Raised at the end, because a syntax error says more.
        raise swallowed_item
    return nodes[0] if nodes else None


def make_node(value: object, line: int, depth: int = 0) -> Node:
    """Make the node that a value of JSON would have in YAML, so that one parser reads both.

    Args:
        value: The value.
        line: The line of the file that has it.
        depth: How many lists and mappings are around it.

    Raises:
        Mistake: The value is nested too deep.
    """
    if depth > MAX_NESTING:
        raise Mistake(line, f"This is nested deeper than {MAX_NESTING} levels")
    if isinstance(value, dict):
        entries: list[tuple[Node, Node]] = []
        for key, child in value.items():
            key_node = ScalarNode(key, line, is_quoted=True)
            entries.append((key_node, make_node(child, line, depth + 1)))
        return MappingNode(entries, line)
    if isinstance(value, list):
        return ListNode([make_node(child, line, depth + 1) for child in value], line)
    if value is None:
        return ScalarNode("", line)
    if isinstance(value, bool):
        return ScalarNode("true" if value else "false", line)
    # Numbers arrive as a subclass of `str` that keeps them as written.
    return ScalarNode(str(value), line, is_quoted=type(value) is str)


# -- Syntax errors ---------------------------------------------------------------------------------
#
# libyaml reports where parsing failed, in terms of its grammar. The functions below look near that
# line for the mistakes of people who rarely write YAML.

_MISSING_SPACE = re.compile(r"\s*(?:- +)?([A-Za-z_]+):(?=[^\s:/\\])")
_LINE_BREAKS = "\r\n?|[\n\x85\u2028\u2029]"  # as YAML defines them
# Mistakes that a line shows by itself. '{}' in the message is the group of the pattern.
_LINE_MISTAKES = (
    (re.compile(r"\s*(?:- *)?\t"), "This line is indented with a tab. Use spaces."),
    (_MISSING_SPACE, "Write a space after the colon of '{}:'"),
    (re.compile(r"\s*(?:- +)?([A-Za-z_]+)(?:：| *=)"), "Write a colon and a space after '{}'"),
    (re.compile(r"\s*-([A-Za-z_]+: .*)"), "Write a space after the dash: '- {}'"),
    (re.compile(r"\s*[*•–—]\s+([A-Za-z_]+):"), "Begin the line with '- {}'"),
)
_CONFLICT_MARKERS = ("<<<<<<< ", ">>>>>>> ")
_SPECIAL_CHARACTERS = {"`": "a backtick", "-": "'- '", ",": "a comma"}
_SPECIAL_CHARACTERS.update({character: character for character in "@%*&!|>?]}"})
_CLOSING_BRACKETS = {"[": "]", "{": "}"}


def explain_line(text: str) -> str:
    """Say what is wrong with a line that is not YAML, or return an empty string."""
    for pattern, message in _LINE_MISTAKES:
        match = pattern.match(text)
        if match:
            return message.format(*map(shorten, match.groups()))
    return ""


def _find_comment(event: Any, text: str) -> str:
    """Return the comment after a scalar: after one space or, if it is empty, anywhere."""
    start = event.end_mark.index
    if event.value and text[start : start + 2] != " #":
        return ""
    end = text.find("\n", start)
    rest = text[start : end if end >= 0 else None].strip()
    return rest if rest.startswith("#") else ""


def _explain_swallowed_item(event: Any, text: str) -> Mistake | None:
    """Explain a text of several lines that swallowed an item of a list, as in "d1 - d2"."""
    start, end = event.start_mark.line, event.end_mark.line
    lines = re.split(_LINE_BREAKS, text)
    for row in range(start + 1, end + 1):
        if lines[row].lstrip().startswith("- "):
            return _explain_indentation(lines, row)
    return None


def _explain_indicator(event: Any, alias: str = "") -> Mistake:
    """Explain a value that begins with ``*``, ``&`` or ``!``, which suites do not use."""
    line = event.start_mark.line + 1
    written = alias or (f"!{event.tag.lstrip('!')}" if event.tag else f"&{event.anchor}")
    message = f"{quote(written)} is YAML syntax that suites do not support"
    return Mistake(line, f"{message}. Put the text in quotes, or write the value out.")


class _Failure(NamedTuple):
    """Where libyaml failed, and where the value that it was reading begins."""

    lines: Sequence[str]
    row: int
    column: int
    open_row: int
    open_column: int
    problem: str

    @property
    def before(self) -> str:
        """Return the part of the line before the failure."""
        return self.lines[self.row][: self.column]

    @property
    def rest(self) -> str:
        """Return the part of the line from the failure on."""
        return self.lines[self.row][self.column :]


def _explain_syntax_error(error: yaml.YAMLError, text: str) -> Mistake:
    """Say in plain words what is wrong, and which line the author should look at."""
    from yaml.reader import ReaderError

    lines = re.split(_LINE_BREAKS, text)
    if isinstance(error, ReaderError):
        position = error.position if isinstance(error.position, int) else 0
        line = text.count("\n", 0, position) + 1
        return Mistake(line, "This line has a control character, which YAML does not allow")
    failure = _locate_failure(error, lines)
    for index, line_text in enumerate(lines[: failure.row + 1]):
        if line_text.startswith(_CONFLICT_MARKERS):
            return Mistake(index + 1, "A merge conflict begins here. Resolve it.")
    for index in (failure.open_row, _find_row_above(lines, failure.row), failure.row):
        explanation = explain_line(lines[index])
        if explanation:
            return Mistake(index + 1, explanation)
    context = str(getattr(error, "context", ""))
    for context_pattern, problem_pattern, explain in _EXPLANATIONS:
        if re.search(context_pattern, context) and re.search(problem_pattern, failure.problem):
            return explain(failure) if callable(explain) else Mistake(failure.row + 1, explain)
    return _explain_character(failure)


def _locate_failure(error: yaml.YAMLError, lines: Sequence[str]) -> _Failure:
    mark = getattr(error, "problem_mark", None)
    row, column = (min(mark.line, len(lines) - 1), mark.column) if mark else (0, 0)
    if mark and mark.line >= len(lines):  # libyaml counts a line after the last line end.
        column = len(lines[-1])
    open_mark = getattr(error, "context_mark", None) or mark
    open_row, open_column = (min(open_mark.line, row), open_mark.column) if open_mark else (0, 0)
    problem = str(getattr(error, "problem", ""))
    return _Failure(lines, row, column, open_row, open_column, problem)


def _find_row_above(lines: Sequence[str], row: int) -> int:
    """Return the row of the nearest line above that is not blank, or 0."""
    above = row - 1
    while above > 0 and not lines[above].strip():
        above -= 1
    return max(above, 0)


def _explain_escape(failure: _Failure) -> Mistake:
    message = f"{quote(failure.rest[:2])} is not a valid escape within double quotes"
    hint = "Use single quotes, or write the backslash twice."
    return Mistake(failure.row + 1, f"{message}. {hint}")


def _explain_open_quote(failure: _Failure) -> Mistake:
    line = failure.open_row + 1
    return Mistake(line, "The quote that opens on this line is never closed")


def _explain_second_colon(failure: _Failure) -> Mistake:
    if ":" not in failure.before.strip().removeprefix("- ") and failure.row > 0:
        # The line was read as the continuation of the text above it.
        return _explain_indentation(failure.lines, failure.row)
    return Mistake(failure.row + 1, "Text that contains ': ' must be in quotes")


def _explain_special_text(failure: _Failure) -> Mistake:
    """Explain an alias, an anchor, a tag or a block scalar."""
    return _explain_character(failure._replace(row=failure.open_row, column=failure.open_column))


def _explain_block(failure: _Failure) -> Mistake:
    """Explain what is neither a key nor an item of a list."""
    if not failure.before.strip():
        if failure.rest:
            return _explain_indentation(failure.lines, failure.row)
    elif "node content" not in failure.problem:
        return _explain_rest_of_line(failure)
    return _explain_character(failure)


def _explain_character(failure: _Failure) -> Mistake:
    """Explain a text that begins with a special character, or quote libyaml."""
    name = _SPECIAL_CHARACTERS.get(failure.rest[:1])
    message = f"This is not valid YAML ({failure.problem or 'no reason given'})"
    if name:
        message = f"Text that begins with {name} must be in quotes"
    return Mistake(failure.row + 1, message)


def _explain_brackets(failure: _Failure) -> Mistake:
    """Explain an error within ``[...]`` or ``{...}``."""
    lines, row, column, open_row, open_column, _ = failure
    bracket = lines[open_row][open_column : open_column + 1]
    rest = lines[row][column:].strip()
    if bracket not in _CLOSING_BRACKETS:
        where = f"before {quote(rest)}" if rest else "at the end. A '[' or '{' is not closed."
        return Mistake(row + 1, f"A value is missing {where}")
    closing = _CLOSING_BRACKETS[bracket]
    next_lines = lines[row : row + MAX_BRACKET_LINES]
    is_closed_later = any(line.strip().startswith(closing) for line in next_lines)
    if not rest or (row > open_row and not is_closed_later):
        message = f"The '{bracket}' on this line is never closed with '{closing}'"
        return Mistake(open_row + 1, message)
    if rest.startswith(":"):
        return Mistake(row + 1, "A comma is missing, or text that contains ': ' needs quotes")
    if rest[0] in "]}":
        return Mistake(row + 1, f"'{bracket}' must be closed with '{closing}', not '{rest[0]}'")
    return Mistake(row + 1, f"A comma is missing before {quote(rest)}")


def _explain_line_without_key(lines: Sequence[str], row: int) -> Mistake:
    """Explain a line that should begin with a key and has none."""
    hint = "Write a colon after a key, and quotes around text of several lines."
    return Mistake(row + 1, f"{quote(lines[row].strip())} is not 'key: value'. {hint}")


def _explain_rest_of_line(failure: _Failure) -> Mistake:
    """Explain what follows a value that is complete."""
    last, rest = failure.before.rstrip()[-1:], failure.rest.strip()
    message = f"{quote(rest)} follows a complete value. Put all of the value in quotes."
    if last in ("'", '"'):
        other = '"' if last == "'" else "'"
        hint = f"If the text contains {last}, put {other} around it."
        message = f"{quote(rest)} follows the closing quote. {hint}"
    elif rest[:1] in ("]", "}"):
        message = f"The '{rest[:1]}' closes nothing"
    return Mistake(failure.row + 1, message)


def _explain_indentation(lines: Sequence[str], row: int) -> Mistake:
    """Explain a line that does not begin where the lines above it begin."""
    content = lines[row].lstrip()
    column = len(lines[row]) - len(content)
    is_item = content.startswith("- ")
    if not is_item and not re.search(r":(\s|$)", content):
        return _explain_line_without_key(lines, row)
    for above in range(row - 1, -1, -1):
        candidate = lines[above].lstrip()
        if not candidate or candidate.startswith("#"):
            continue
        if is_item and not candidate.startswith("- "):
            continue
        start = len(lines[above]) - len(candidate)
        if not is_item:
            # The key of an item, as in "- key:", begins after the dash.
            while candidate.startswith("- "):
                start += len(candidate) - len(candidate[1:].lstrip())
                candidate = candidate[1:].lstrip()
        if start != column:
            message = f"This line is indented by {format_count(column, 'space')}. Use {start}"
            return Mistake(row + 1, f"{message}, to match line {above + 1}.")
        break
    return Mistake(row + 1, "This line is indented differently from the lines above it")


# What libyaml was reading, its problem there, and the explanation. The first match counts.
_EXPLANATIONS: Sequence[tuple[str, str, str | Callable[[_Failure], Mistake]]] = (
    ("quoted scalar", "escape", _explain_escape),
    ("quoted scalar", "", _explain_open_quote),
    ("flow", "", _explain_brackets),
    ("", "unexpected ':'", "Write a space after each colon and each comma on this line"),
    ("", "document start", "The line '...' above ends the YAML document. Remove it."),
    ("", "mapping values are not allowed", _explain_second_colon),
    ("simple key", "", lambda failure: _explain_line_without_key(failure.lines, failure.open_row)),
    ("^while scanning a", "", _explain_special_text),
    ("block", "", _explain_block),
)
