"""What a page of the documentation shows, done as a reader would do it, from the top of the page to its end.

A block whose first line is a comment with a path (``# tests/conftest.py``) is that file. What a ``console`` block types is
run, and what it prints is compared, ``...`` standing for anything. Python runs; YAML is read as a suite, or as keys of one.
What readers need not see stands in ``<!-- invisible-code-block: python`` and in ``<!-- skip: next "reason" -->``.
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
from pytest_irquality.plugin.options import Options
from tests.conftest import ALONE

ROOT = Path(__file__).parents[2]
SUITE_KEYS = set(
    json.loads((ROOT / "pytest_irquality/suite/schema.json").read_text("utf-8"))["properties"]
)
NAMED = re.compile(r"(?:#|//|--) ([\w./-]*\.\w+|Jenkinsfile)\n")


def follow(page: Path, folder: Path) -> None:
    """Do what a page shows, in an empty folder that is the current one. Raises at the first line that is not so."""
    document = Document.parse(str(page), SkipParser(), *PARSERS)
    document.namespace["folder"] = folder
    for example in document.examples():
        example.evaluate()


def languages(page: Path) -> set[str]:
    """The languages of a page's fenced blocks."""
    return set(re.findall(r"^ *```(\S+)$", page.read_text("utf-8"), re.M))


def _written(text: str, folder: Path) -> Path | None:
    """The file that a block is, where its first line names one."""
    named = NAMED.match(text)
    if named is None:
        return None
    path = folder / named[1]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text[named.end() :], encoding="utf-8")
    return path


def _python(example: Example) -> None:
    path = _written(example.parsed, example.document.namespace["folder"])
    if path is None:
        # Padded, so that a traceback has the line of the page.
        source = "\n" * (example.line + example.parsed.line_offset) + example.parsed
        exec(compile(source, example.path, "exec", dont_inherit=True), example.document.namespace)
    else:
        compile(example.parsed, str(path), "exec")


def _yaml(example: Example) -> None:
    folder = example.document.namespace["folder"]
    path, data = _written(example.parsed, folder), yaml.safe_load(example.parsed)
    if isinstance(data, dict) and data.keys() <= SUITE_KEYS:
        path = path or folder / "shown.yaml"
        path.write_text(example.parsed + _queries(data), encoding="utf-8")
        load_suite(path)


def _queries(data: dict[str, Any]) -> str:
    """A query for keys that are shown without any."""
    if "queries" in data:
        return ""
    tags = list(data.get("tags", ["any"]))
    return yaml.safe_dump({"queries": [{"query": "any", "relevant": ["any"], "tags": tags}]})


def _text(example: Example) -> None:
    _written(example.parsed, example.document.namespace["folder"])


def _json(example: Example) -> None:
    json.loads(example.parsed)


def _sh(example: Example) -> None:
    """Commands that a reader adapts are not run; those of pytest must have options that there are."""
    assert set(re.findall(r"--ir-[a-z-]+", example.parsed)) <= _options()


def _options() -> set[str]:
    return {option.flag for option in Options.options()}


def _diff(example: Example) -> None:
    """A change to a file that the page has made before, or that is in this repository."""
    lines = example.parsed.splitlines(keepends=True)
    name = next(line[4:].strip().removeprefix("a/") for line in lines if line.startswith("--- "))
    body = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
    before = "".join(line[1:] for line in body if line[0] in " -")
    path = example.document.namespace["folder"] / name
    text = path.read_text("utf-8")
    assert text.count(before) == 1, f"{name} has not once:\n{before}"
    after = "".join(line[1:] for line in body if line[0] in " +")
    path.write_text(text.replace(before, after), encoding="utf-8")


def _console(example: Example) -> None:
    for typed in re.split(r"^\$ ", example.parsed, flags=re.M)[1:]:
        command, _, expected = typed.partition("\n")
        seen = _run(command, example.document.namespace["folder"])
        assert _alike(expected, seen), f"$ {command}\n{seen}"


def _run(command: str, folder: Path) -> str:
    done = subprocess.run(
        command, shell=True, cwd=folder, env=outer_environment(), text=True, encoding="utf-8", check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return done.stdout


def outer_environment() -> dict[str, str]:
    """A reader's, who has this plugin and no other: the others would change what is printed, too."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")},
        **ALONE,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "COLUMNS": "80",
    }


def _alike(expected: str, seen: str) -> bool:
    """Whether a console's output is as shown, but for what ``...`` stands for."""
    pattern = re.escape(expected.strip()).replace(r"\.\.\.", ".*")
    return re.fullmatch(pattern, seen.strip(), re.S) is not None


EVALUATORS: dict[str, Callable[[Example], None]] = {
    "python": _python,
    "yaml": _yaml,
    "json": _json,
    "toml": _text,
    "ini": _text,
    "text": _text,
    "groovy": _text,
    "js": _text,
    "go": _text,
    "rust": _text,
    "java": _text,
    "sh": _sh,
    "diff": _diff,
    "console": _console,
}
PARSERS = [CodeBlockParser(language, evaluator) for language, evaluator in EVALUATORS.items()]
