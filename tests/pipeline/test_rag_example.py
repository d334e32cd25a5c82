"""The example for question answering: green as it stands, red after the change that its page describes."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.conftest import Project

EXAMPLE = Path(__file__).parents[2] / "examples/rag"


@pytest.fixture
def help_desk(project: Project) -> Project:
    shutil.copytree(EXAMPLE, project.path, dirs_exist_ok=True)
    return project


def told(page: str) -> list[str]:
    blocks = re.findall(r"```text\n(.*?)```", page, re.S)
    return [line.strip() for block in blocks for line in block.splitlines()]


def test_its_page_shows_what_one_sees(help_desk: Project) -> None:
    green = help_desk.run("-v")
    green.assert_outcomes(passed=22, xfailed=4)
    search = help_desk.path / "help_search.py"
    search.write_text(search.read_text("utf-8").replace("WORDS = 32", "WORDS = 16"), "utf-8")
    red = help_desk.run("-v")
    assert red.ret == 1
    red.assert_outcomes(passed=18, xfailed=4, failed=4)
    seen = {line.strip() for line in (*green.outlines, *red.outlines)}
    shown = told((EXAMPLE / "README.md").read_text("utf-8"))
    assert len(shown) > 5
    assert [line for line in shown if line not in seen] == []


@pytest.mark.parametrize("broken", ["[]", "found[::-1]", "found[:1] * 3"])
def test_it_is_able_to_fail(help_desk: Project, broken: str) -> None:
    search = help_desk.path / "help_search.py"
    text = search.read_text("utf-8")
    last = "return [text for (text,) in self._db.execute(sql, (words, limit))]"
    assert last in text
    changed = text.replace(last, f"{last.replace('return', 'found =')}\n        return {broken}")
    search.write_text(changed, "utf-8")
    assert help_desk.run().ret == 1


def test_its_passages_stand_in_the_handbook() -> None:
    import yaml

    handbook = (EXAMPLE / "handbook.md").read_text("utf-8").replace("\n", " ").casefold()
    for query in yaml.safe_load((EXAMPLE / "help.ir.yaml").read_text("utf-8"))["queries"]:
        assert [
            passage for passage in query["relevant"] if passage.casefold() not in handbook
        ] == []
