"""Write the table of the numbers that decide about a build, from the lines that define them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from docs.tools import ROOT

PAGE = ROOT / "docs/why/decisions.md"
MODULE = ROOT / "pytest_irquality/evaluation/constants.py"
MARK = "<!-- generated: constants -->"

_SECTION = re.compile(r"^# -- (.+?) -+$")
_CONSTANT = re.compile(r"^([A-Z_0-9]+) = (-?[0-9][0-9.e_-]*)  # (.+)$")
_TABLE = re.compile(rf"({MARK}\n\n)(?:\|.*\n)*")

SECTION_ORDER = (
    *("All checks", "Ties", "Check 1", "Check 2", "Check 3", "Check 4"),
    *("Thresholds", "Build", "Baseline"),
)
# Numbers that decide, and that the modules of other features define.
OTHERS = (
    (
        "Baseline",
        "pytest_irquality/baselines/store.py",
        "MAX_REPEAT_DROP",
        "largest distance of one repeat's mean below the others in a baseline",
    ),
)


class Constant(NamedTuple):
    """A number that decides, as its line in the code has it."""

    section: str
    name: str
    value: str
    meaning: str


def generate() -> Iterator[tuple[Path, str]]:
    """Yield the page with the current table."""
    yield PAGE, insert_table(PAGE.read_text("utf-8"), render_table())


def insert_table(page: str, table: str) -> str:
    """Replace the table behind the mark."""
    new_page, count = _TABLE.subn(lambda match: match[1] + table, page)
    if count != 1:
        raise ValueError(f"The page has the mark '{MARK}' {count} times")
    return new_page


def render_table() -> str:
    """Render all constants as one table, with the checks in their order."""
    lines = ["|constant|value|meaning|", "|---|---:|---|"]
    for constant in list_constants():
        lines.append(f"|`{constant.name}`|{constant.value}|{constant.meaning}|")
    return "\n".join(lines) + "\n"


def list_constants() -> list[Constant]:
    """Return all constants, in the order of the checks."""
    constants = [each for each in read_constants(MODULE) if each.section in SECTION_ORDER]
    for section, file, name, meaning in OTHERS:
        (value,) = re.findall(rf"^{name} = (\S+)", (ROOT / file).read_text("utf-8"), re.MULTILINE)
        constants.append(Constant(section, name, value, meaning))
    order = {section: index for index, section in enumerate(SECTION_ORDER)}
    return sorted(constants, key=lambda constant: order[constant.section])


def read_constants(path: Path) -> Iterator[Constant]:
    """Yield the lines ``NAME = number  # meaning`` of a module, with the heading above each."""
    section = SECTION_ORDER[0]
    for line in path.read_text("utf-8").splitlines():
        if match := _SECTION.match(line):
            section = match[1].partition(":")[0]
        elif match := _CONSTANT.match(line):
            yield Constant(section, match[1], match[2], match[3])
