"""The house: which rooms there are, and which knows which."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "pytest_irquality"


def test_the_root_holds_nothing_but_rooms() -> None:
    files = {path.name for path in PACKAGE.iterdir() if path.is_file()}
    assert files == {"__init__.py", "py.typed"}


def test_no_arrow_points_upward_and_none_goes_round(monkeypatch: pytest.MonkeyPatch) -> None:
    configuration = pytest.importorskip("importlinter.cli")
    monkeypatch.chdir(ROOT)
    assert configuration.lint_imports(no_cache=True) == 0, "run lint-imports to see which"


def test_pytest_is_known_to_one_room() -> None:
    knows = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            modules = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                modules = [node.module or ""]
            if any(module.split(".")[0] in ("pytest", "_pytest", "pluggy") for module in modules):
                knows.add(path.relative_to(PACKAGE).parts[0])
    assert knows == {"plugin"}


def test_every_file_that_a_page_or_a_docstring_names_is_there() -> None:
    tests = {path.name for path in ROOT.glob("tests/**/*.py")}
    internals = (PACKAGE / "plugin/internals.py").read_text("utf-8")
    assert set(re.findall(r"\btest_\w+\.py\b", internals)) <= tests
    contributing = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    rooms = [ROOT, PACKAGE, ROOT / "benchmarks", *(path.parent for path in PACKAGE.rglob("*.py"))]
    for name in re.findall(r"`([\w./-]+(?:\.(?:py|toml)|/))`", contributing):
        assert any((room / name).exists() for room in rooms), f"CONTRIBUTING.md: no {name}"
