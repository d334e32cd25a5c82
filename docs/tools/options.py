"""Write the reference page of options and ini keys from what the plugin declares to pytest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from docs.tools import ROOT
from pytest_irquality.plugin.options import INI_KEYS, OPTIONS, IniKey, Option

PAGE = ROOT / "docs/reference/options.md"

ESSENTIAL_OPTIONS = (
    "--ir-suite",
    "--ir-baseline",
    "--ir-update-baseline",
    "--ir-init",
    "--ir-report",
    "--ir-json",
)
ESSENTIAL_INI_KEYS = ("ir_gate", "ir_url", "ir_headers", "ir_command", "ir_id_field")

HEAD = """\
# Options

Options, keys of the ini file, and exit statuses. `pytest --help` has the same texts, from which
this page is generated. Write paths after an equals sign (`--ir-json=out.json`): after a space,
pytest may mistake the file for a test path.

Without one of these options or a suite on the command line, the plugin does nothing.
"""

EXIT_STATUSES = """\
## Exit statuses

### Exit status 0

`PASSED`, or `REVIEW` and `INCOMPLETE` under the normal gate.

### Exit status 1

`FAILED`, or another test of the session fails. `REVIEW` and `INCOMPLETE` if `ir_gate` is
`strict`, or if fewer than four in five of the comparable queries were compared.

### Exit status 2

`ERROR`: a suite, a baseline or a retriever cannot be used. Also an interrupted run.

### Exit status 4

An option or an ini key is wrong.

### Exit status 5

No test was found or selected.
"""


def generate() -> Iterator[tuple[Path, str]]:
    """Yield the page."""
    yield PAGE, render_page()


def render_page() -> str:
    """Render the page as Markdown. Each option is a heading, so that it has an anchor."""
    essential, advanced = _split(OPTIONS, ESSENTIAL_OPTIONS)
    essential_keys, advanced_keys = _split(INI_KEYS, ESSENTIAL_INI_KEYS)
    lines = [HEAD, "## Command line", ""]
    lines += _render_entries(essential)
    lines += ["## Ini file", ""]
    lines += _render_entries(essential_keys)
    lines += [EXIT_STATUSES, "## Advanced: command line", ""]
    lines += _render_entries(advanced)
    lines += ["## Advanced: ini file", ""]
    lines += _render_entries(advanced_keys)
    return "\n".join(lines)


def _split(
    entries: Iterable[Option | IniKey], essential: Iterable[str]
) -> tuple[list[Option | IniKey], list[Option | IniKey]]:
    by_name = {_get_name(entry): entry for entry in entries}
    first = [by_name.pop(name) for name in essential]
    return first, list(by_name.values())


def _get_name(entry: Option | IniKey) -> str:
    return entry.flag if isinstance(entry, Option) else entry.name


def _render_entries(entries: Iterable[Option | IniKey]) -> Iterator[str]:
    for entry in entries:
        yield from (f"### `{_get_name(entry)}`", "")
        text = mark_code(entry.help)
        if isinstance(entry, Option) and entry.metavar not in text:
            value = (
                f"[={entry.metavar}]"
                if entry.value_type == "optional text"
                else f"={entry.metavar}"
            )
            text = f"`{entry.flag}{value}`. {text}"
        yield from (text, "")


def mark_code(text: str) -> str:
    """Set the names in a help text as code: options, ini keys, variables and quoted words."""
    text = re.sub(r"'([\w./=-]+)'", r"`\1`", text)
    return re.sub(
        r"(?<![`\w])(--ir-[a-z-]+|ir_[a-z_]+|\$[A-Z_]+|=QUERY_ID|\{port\})", r"`\1`", text
    )
