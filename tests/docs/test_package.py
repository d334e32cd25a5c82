"""What stands once: the project's address, and its licence."""

from __future__ import annotations

import json
import re

from pytest_irquality.edges.project import PATTERNS
from pytest_irquality.suite.schema import schema
from tests.docs.pages import ROOT
from tools.address import MENTION, address, files, moved

PYPROJECT = (ROOT / "pyproject.toml").read_text("utf-8")


def test_every_mention_of_the_projects_address_is_that_of_its_metadata() -> None:
    mentions = {
        (path.name, own) for path in files() for _, own in MENTION.findall(path.read_text("utf-8"))
    }
    named = {name for name, _ in mentions}
    assert named >= {"pyproject.toml", "CITATION.cff", "github.md", "pre-commit.md", "schema.json"}
    assert {own for _, own in mentions} == {address()}


def test_the_project_moves_by_one_line() -> None:
    text = "[a](https://github.com/x/pytest-irquality/issues) uses: x/pytest-irquality/comment@v1"
    assert moved(text, "acme/pytest-irquality") == text.replace("x/", "acme/")


def test_the_entry_of_a_catalogue_names_the_files_and_the_schema() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    entry = json.loads(re.findall(r"```json\n(.*?)```", text, re.S)[0])
    assert sorted(entry["fileMatch"]) == sorted(PATTERNS)
    assert entry["url"] == schema()["$id"]


def test_the_changelog_has_a_place_for_what_comes() -> None:
    assert "\n## [Unreleased]\n" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert 'license = "MIT"' in PYPROJECT
    assert (ROOT / "LICENSE").read_text("utf-8").startswith("MIT License\n")
