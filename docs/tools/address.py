"""Bring the address of the project, its version and its date to every file that repeats them.

The address is ``Homepage`` in ``[project.urls]`` of ``pyproject.toml``, the version is there too,
and the date of the version is in ``CHANGELOG.md``. To move the project, change ``Homepage`` and run
``python -m docs.tools.renew``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from docs.tools import ROOT

SUFFIXES = (".md", ".toml", ".cff", ".yml", ".yaml", ".py", ".json")
PATTERNS = ("*.*", "docs/**/*.*", "pytest_irquality/**/*.*", ".github/**/*.yml")
CITATION = ROOT / "CITATION.cff"

_NAME = r"[\w-]+/pytest-irquality"
MENTIONED_VERSION = re.compile(rf"(uses: {_NAME}@v|\[Version )\d+\.\d+\.\d+")
MENTION = re.compile(rf"(github\.com/|githubusercontent\.com/|uses: |--repo )({_NAME})\b")


def generate() -> Iterator[tuple[Path, str]]:
    """Yield every file that mentions the address, and the citation."""
    name = read_name()
    version, date = read_version()
    for path in list_files():
        text = replace_version(path.read_text("utf-8"), version)
        if path == CITATION:
            text = insert_version(text, version, date)
        yield path, replace_mentions(text, name)


def read_name() -> str:
    """Return the name of the repository on GitHub, ``OWNER/NAME``."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    (name,) = re.findall(rf'^Homepage = "https://github\.com/({_NAME})"$', text, re.MULTILINE)
    return str(name)


def read_version() -> tuple[str, str]:
    """Return the version, and its date in ISO 8601."""
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    (version,) = re.findall(r'^version = "(.*)"$', project, re.MULTILINE)
    heading = rf"^## \[{re.escape(version)}\] - (\d{{4}}-\d\d-\d\d)$"
    (date,) = re.findall(heading, changelog, re.MULTILINE)
    return version, date


def list_files() -> Iterator[Path]:
    """Yield the files that may mention the address."""
    for pattern in PATTERNS:
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file() and path.suffix in SUFFIXES:
                yield path


def replace_mentions(text: str, name: str) -> str:
    """Replace the name of the repository in all addresses of a text."""
    return MENTION.sub(lambda match: match[1] + name, text)


def replace_version(text: str, version: str) -> str:
    """Replace the version of our action in examples, and the version on the first page."""
    return MENTIONED_VERSION.sub(rf"\g<1>{version}", text)


def insert_version(text: str, version: str, date: str) -> str:
    """Replace the version and the date of a citation."""
    text = re.sub(r"^version: .*$", f"version: {version}", text, flags=re.MULTILINE)
    return re.sub(r"^date-released: .*$", f"date-released: {date}", text, flags=re.MULTILINE)
