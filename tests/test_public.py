"""The public names of the package: few, documented, typed, and imported when they are used."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_irquality
from pytest_irquality.plugin.entry import HookSpecs

ROOT = Path(__file__).parents[1]
MAX_ESSENTIAL_NAMES = 15
PUBLIC = {name: getattr(pytest_irquality, name) for name in dir(pytest_irquality)}


def list_essential_names() -> list[str]:
    """Return the names of the first group."""
    return [name for names in pytest_irquality._ESSENTIAL_NAMES.values() for name in names]


def test_first_group_is_small() -> None:
    assert len(list_essential_names()) <= MAX_ESSENTIAL_NAMES


def test_page_explains_the_first_group() -> None:
    page = (ROOT / "docs/reference/python.md").read_text("utf-8")

    missing = [name for name in list_essential_names() if not re.search(rf"\b{name}\b", page)]

    assert missing == ["CheckReport"]  # The page shows what `check` returns, not its name.


def test_type_checkers_see_the_same_names() -> None:
    source = (ROOT / "pytest_irquality/__init__.py").read_text("utf-8")

    (block,) = (node for node in ast.parse(source).body if isinstance(node, ast.If))
    imported = set()
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        imported |= {alias.asname for alias in node.names}

    assert imported == set(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name_is_documented(name: str) -> None:
    value = PUBLIC[name]

    assert value.__name__ == name
    assert inspect.getdoc(value)


@pytest.mark.parametrize("name", [name for name in PUBLIC if inspect.isfunction(PUBLIC[name])])
def test_public_function_describes_its_arguments_and_errors(name: str) -> None:
    doc = inspect.getdoc(PUBLIC[name]) or ""

    parameters = inspect.signature(PUBLIC[name]).parameters
    for parameter in parameters:
        assert re.search(rf"^    {parameter}: ", doc, re.MULTILINE), parameter
    raised = doc.partition("Raises:\n")[2]
    for error in re.findall(r"^    (\w+): ", raised, re.MULTILINE):
        assert error in PUBLIC or hasattr(builtins, error), error


def test_public_classes_of_docstrings_can_be_imported() -> None:
    hooks = [HookSpecs.pytest_ir_metrics]

    for value in [*PUBLIC.values(), *hooks]:
        for name in re.findall(r"``pytest_irquality\.(\w+)", inspect.getdoc(value) or ""):
            assert name in PUBLIC


def test_using_a_name_imports_only_what_it_needs() -> None:
    code = """
import sys
from pytest_irquality import make_own_metric
packages = {name.split(".")[1] for name in sys.modules if name.startswith("pytest_irquality.")}
assert packages <= {"io", "metrics"}, packages
from pytest_irquality import Suite
assert "pytest_irquality.evaluation" not in sys.modules
assert "jinja2" not in sys.modules
"""

    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'pytest_irquality' has no attribute 'chek'"):
        _ = pytest_irquality.chek
