"""``pytest --help``: every option in one full sentence, with its default."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pytest_irquality.plugin.declared import Flag, Option
from pytest_irquality.plugin.options import Options
from tests.conftest import Project


@pytest.mark.parametrize("option", Options.options(), ids=lambda option: option.flag)
def test_an_option_is_one_sentence_with_its_default(option: Option[Any]) -> None:
    assert re.fullmatch(r"[A-Z].*[^.]\.", option.help), option.help
    assert "\n" not in option.help
    if not isinstance(option, Flag):
        assert "(default: " in option.help


def test_an_option_is_what_it_is_called() -> None:
    assert Options.update_baseline.flag == "--ir-update-baseline"
    assert Options.update_baseline.key == "ir_update_baseline"


def test_a_baseline_that_is_a_branch_is_told_to_be_asked_of_git(project: Project) -> None:
    project.suite("queries: [{query: a, relevant: [d1]}]\n")
    project.answers({"a": ["d1"]})
    said = "there is no such file or folder"
    told = (
        project.run("--ir-baseline=trunk").stderr.str()
        + project.run("--ir-baseline=trunk").stdout.str()
    )
    assert f"--ir-baseline trunk: {said}; a revision is git:trunk" in told
