"""The project's address stands in ``[project.urls]`` of ``pyproject.toml``; all else repeats it.

To move the project, change ``Homepage`` there and run ``python -m docs.tools.renew``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SPOKEN = (".md", ".toml", ".cff", ".yml", ".yaml", ".py", ".json")
OWNER_AND_NAME = r"[\w-]+/pytest-irquality"
MENTION = re.compile(rf"(github\.com/|githubusercontent\.com/|uses: |--repo )({OWNER_AND_NAME})\b")


def address() -> str:
    """``OWNER/NAME`` on GitHub."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    (found,) = re.findall(rf'^Homepage = "https://github\.com/({OWNER_AND_NAME})"$', text, re.M)
    return str(found)


def files() -> Iterator[Path]:
    """Everything that may name it."""
    for folder in ("*.*", "docs/**/*.md", "pytest_irquality/**/*.*"):
        for path in sorted(ROOT.glob(folder)):
            if path.is_file() and path.suffix in SPOKEN:
                yield path


def moved(text: str, to: str) -> str:
    """A text in which every mention is of that address."""
    return MENTION.sub(lambda found: found[1] + to, text)


def renew() -> Iterator[Path]:
    """Bring every mention up to date; the files that were not."""
    to = address()
    for path in files():
        text = path.read_bytes()
        new = moved(text.decode(), to).encode()
        if new != text:
            path.write_bytes(new)
            yield path
