"""All that stands in public signatures and docstrings can be imported from the package."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import pytest

import pytest_irquality
from pytest_irquality.plugin import hookspecs

OTHERS = [hookspecs.pytest_ir_measures]
STEPS = {
    "check",
    "evaluate",
    "judge",
    "load_suite",
    "own_measure",
    "parse_measure",
    "read_run",
    "retrieve",
}


def functions_of(thing: Any) -> Iterator[Any]:
    """A function itself, or what a class declares for all to use."""
    if not isinstance(thing, type):
        yield thing
        return
    for name, member in vars(thing).items():
        function = next(
            (
                getattr(member, inner)
                for inner in ("__func__", "fget", "func")
                if hasattr(member, inner)
            ),
            member,
        )
        if inspect.isfunction(function) and not name.startswith("_"):
            yield function


def ours(kind: Any) -> set[type]:
    """Our classes in a type, whatever it is made of."""
    if isinstance(kind, type) and kind.__module__.startswith("pytest_irquality"):
        return {kind}
    parts = kind if isinstance(kind, list) else get_args(kind)
    return {found for part in parts for found in ours(part)}


def declared(thing: Any) -> set[type]:
    """Our classes in the signatures of a function, or in those and the fields of a class."""
    hints = [*get_type_hints(thing).values()] if isinstance(thing, type) else []
    for function in functions_of(thing):
        hints += get_type_hints(
            function, vars(importlib.import_module(function.__module__)) | HOOKS
        ).values()
    return {kind for hint in hints for kind in ours(hint)}


def all_classes() -> dict[str, list[type]]:
    """Every class of the package by its name."""
    found: dict[str, list[type]] = {}
    for module in pkgutil.walk_packages(pytest_irquality.__path__, "pytest_irquality."):
        if module.name.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, type) and value.__module__ == module.name:
                found.setdefault(name, []).append(value)
    return found


# What the hooks' types are imported as, which at run time they are not.
HOOKS = {"Definition": pytest_irquality.Definition}
PUBLIC = {name: getattr(pytest_irquality, name) for name in dir(pytest_irquality)}


def test_the_steps_are_public_functions() -> None:
    assert {name for name, value in PUBLIC.items() if inspect.isfunction(value)} == STEPS


@pytest.mark.parametrize("thing", [*PUBLIC.values(), *OTHERS], ids=lambda thing: thing.__qualname__)
def test_what_stands_in_a_signature_can_be_imported(thing: Any) -> None:
    lacking = declared(thing) - {*PUBLIC.values()}
    assert not lacking, "to be added to the __init__ of its room"


def test_what_a_docstring_names_can_be_imported() -> None:
    known, lacking = all_classes(), {}
    for thing in [*PUBLIC.values(), *OTHERS]:
        for documented in {thing, *functions_of(thing)}:
            for name in re.findall(r"``([A-Z]\w+)\b", inspect.getdoc(documented) or ""):
                if name in known and name not in PUBLIC:
                    lacking[name] = documented.__qualname__
    assert not lacking, "to be added to the __init__ of its room"


def test_every_public_name_is_one_class_or_function_and_documented() -> None:
    for name, value in PUBLIC.items():
        assert value.__name__ == name
        assert inspect.getdoc(value)


def test_a_name_costs_no_more_than_its_room() -> None:
    code = """
import sys
from pytest_irquality import own_measure
assert not {name.split(".")[1] for name in sys.modules if name.startswith("pytest_irquality.")} - {"edges", "metrics"}
from pytest_irquality import Suite
assert "pytest_irquality.verdict" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'pytest_irquality' has no attribute 'jugde'"):
        pytest_irquality.jugde  # noqa: B018
