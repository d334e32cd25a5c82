"""Compiled templates: used again for the same text, made anew for anything else."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jinja2
import pytest

from pytest_irquality.report.compiled import Compiled


@pytest.fixture(autouse=True)
def _may_keep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)


class CompilesNothing(jinja2.Environment):
    """Templates that must have been compiled before."""

    def compile(self, *args: Any, **options: Any) -> Any:
        raise AssertionError("compiled again")


def drawn(folder: Path, text: str = "{{ 1 + 1 }}", by: type = jinja2.Environment) -> str:
    made = by(loader=jinja2.DictLoader({"page": text}), bytecode_cache=Compiled(folder))
    said: str = made.get_template("page").render()
    return said


def test_a_template_is_compiled_once(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    assert drawn(folder) == "2"
    assert [path.suffix for path in folder.iterdir()] == [".pyc"]
    assert drawn(folder, by=CompilesNothing) == "2"


def test_another_text_is_another_template(tmp_path: Path) -> None:
    drawn(tmp_path)
    assert drawn(tmp_path, "{{ 1 + 2 }}") == "3"
    assert drawn(tmp_path, "{{ 1 + 2 }}", CompilesNothing) == "3"
    with pytest.raises(AssertionError, match="compiled again"):
        drawn(tmp_path, by=CompilesNothing)


def test_a_damaged_file_is_made_anew(tmp_path: Path) -> None:
    drawn(tmp_path)
    for path in tmp_path.iterdir():
        path.write_bytes(path.read_bytes()[:-5])
    assert drawn(tmp_path) == "2"
    assert drawn(tmp_path, by=CompilesNothing) == "2"


def test_where_nothing_can_be_kept_a_template_is_drawn_all_the_same(tmp_path: Path) -> None:
    taken = tmp_path / "file"
    taken.write_text("")
    assert drawn(taken) == "2"
    assert taken.read_text() == ""


def test_nothing_is_kept_where_python_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert drawn(tmp_path) == "2"
    assert not [*tmp_path.iterdir()]
