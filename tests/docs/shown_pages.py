"""Follow a page of the documentation as a reader does, from its first block to its last.

- A block whose first line is a comment with a path (``# tests/conftest.py``) is that file.
- A ``console`` block is run, and its output is compared. ``...`` matches anything.
- Python runs. YAML is loaded as a suite, or as keys of one. ``sh`` may only have known options.
- A ``diff`` changes a file that the page wrote before.

What readers need not see is in ``<!-- invisible-code-block: python`` and
``<!-- skip: next "reason" -->``.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from sybil import Document, Example
from sybil.parsers.markdown import CodeBlockParser, SkipParser

from pytest_irquality import load_suite
from pytest_irquality.plugin.options import OPTIONS
from pytest_irquality.suite.keys import SUITE_KEYS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PLUGIN = "pytest_irquality.plugin.entry"
_FILE_NAME = re.compile(r"(?:#|//|--) ([\w./-]*\.\w+)\n")
_COMMAND = re.compile(r"^\$ ", re.MULTILINE)


def list_pages() -> list[str]:
    """Return the README and all pages except those of engines, relative to the repository."""
    pages = ["README.md"]
    for path in sorted(DOCS.rglob("*.md")):
        if path.parent.name != "engines":
            pages.append(path.relative_to(ROOT).as_posix())
    return pages


def follow_page(page: Path, folder: Path) -> None:
    """Do what a page shows in an empty folder, which must be the working directory.

    Raises:
        Exception: A block is not true. The traceback has the line of the page.
    """
    document = Document.parse(str(page), SkipParser(), *PARSERS)
    document.namespace["folder"] = folder
    for example in document.examples():
        example.evaluate()


def list_languages(page: Path) -> set[str]:
    """Return the languages of a page's fenced blocks."""
    return set(re.findall(r"^ *```(\S+)", page.read_text("utf-8"), re.MULTILINE))


def find_blocks(page: Path, language: str) -> list[str]:
    """Return the fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)


def find_file_block(page: Path, language: str, name: str) -> str:
    """Return the block that is a file, without the comment that names it."""
    found = []
    for block in find_blocks(page, language):
        match = _FILE_NAME.match(block)
        if match and match[1] == name:
            found.append(block[match.end() :])
    assert len(found) == 1, f"{page.name} shows {name} {len(found)} times"
    return found[0]


def make_environment() -> dict[str, str]:
    """Return the environment of a reader, who has this plugin and no other, on no CI service."""
    environment = {}
    for name, value in os.environ.items():
        if not name.startswith(("GITHUB_", "PYTEST_", "CI", "COLUMNS")):
            environment[name] = value
    # The development environment has more plugins, which would change the output.
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    environment["PYTEST_PLUGINS"] = PLUGIN
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment["COLUMNS"] = "80"
    return environment


def run_command(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of a reader's shell. Its error output goes to its output."""
    return subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env=make_environment(),
        text=True,
        encoding="utf-8",
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def matches_output(expected: str, output: str) -> bool:
    """Return whether a command printed what a page shows, in which ``...`` matches anything."""
    pattern = re.escape(expected.strip()).replace(r"\.\.\.", ".*")
    return re.fullmatch(pattern, output.strip(), re.DOTALL) is not None


def _write_file(text: str, folder: Path) -> Path | None:
    match = _FILE_NAME.match(text)
    if match is None:
        return None
    path = folder / match[1]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text[match.end() :], encoding="utf-8")
    return path


def _follow_python(example: Example) -> None:
    path = _write_file(example.parsed, example.document.namespace["folder"])
    if path is not None:
        compile(example.parsed, str(path), "exec")
        return
    # The padding gives a traceback the line of the page.
    source = "\n" * (example.line + example.parsed.line_offset) + example.parsed
    exec(compile(source, example.path, "exec", dont_inherit=True), example.document.namespace)


def _follow_yaml(example: Example) -> None:
    folder = example.document.namespace["folder"]
    path, data = _write_file(example.parsed, folder), yaml.safe_load(example.parsed)
    if not isinstance(data, dict) or not data.keys() <= SUITE_KEYS.keys():
        return
    name = path.relative_to(folder).as_posix() if path else "shown.yaml"
    load_suite(folder / name, root=folder, text=example.parsed + _make_queries(data))


def _make_queries(data: dict[str, Any]) -> str:
    """Return a query for keys that are shown without any."""
    if "queries" in data or "probes" in data:
        return ""
    tags = list(data.get("tags", ["any"]))
    return "\n" + yaml.safe_dump({"queries": [{"query": "any", "relevant": ["any"], "tags": tags}]})


def _follow_text(example: Example) -> None:
    _write_file(example.parsed, example.document.namespace["folder"])


def _follow_json(example: Example) -> None:
    path = _write_file(example.parsed, example.document.namespace["folder"])
    if path is None:
        json.loads(example.parsed)


def _follow_sh(example: Example) -> None:
    known = {option.flag for option in OPTIONS}
    assert set(re.findall(r"--ir-[a-z-]+", example.parsed)) <= known


def _follow_diff(example: Example) -> None:
    lines = example.parsed.splitlines(keepends=True)
    name = next(line[4:].strip().removeprefix("a/") for line in lines if line.startswith("--- "))
    body = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
    before = "".join(line[1:] for line in body if line[0] in " -")
    after = "".join(line[1:] for line in body if line[0] in " +")
    path = example.document.namespace["folder"] / name
    text = path.read_text("utf-8")
    assert text.count(before) == 1, f"{name} does not contain once:\n{before}"
    path.write_text(text.replace(before, after), encoding="utf-8")


def _follow_console(example: Example) -> None:
    for typed in _COMMAND.split(example.parsed)[1:]:
        command, _, expected = typed.partition("\n")
        output = run_command(command, example.document.namespace["folder"]).stdout
        assert matches_output(expected, output), f"$ {command}\n{output}"


EVALUATORS: dict[str, Callable[[Example], None]] = {
    "python": _follow_python,
    "yaml": _follow_yaml,
    "json": _follow_json,
    "sh": _follow_sh,
    "diff": _follow_diff,
    "console": _follow_console,
    **dict.fromkeys(("toml", "ini", "text", "js", "go", "rust", "java", "sql"), _follow_text),
}
PARSERS = [CodeBlockParser(language, evaluator) for language, evaluator in EVALUATORS.items()]
