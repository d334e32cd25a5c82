"""What stands once: the project's address, and its licence."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT

PYPROJECT = (ROOT / "pyproject.toml").read_text("utf-8")
OWN = re.compile(r"(?:github\.com/|githubusercontent\.com/|uses: )([\w-]+/pytest-irquality)\b")


def test_every_mention_of_the_projects_address_is_that_of_its_metadata() -> None:
    (address,) = re.findall(r'^Homepage = "https://github\.com/([\w/-]+)"$', PYPROJECT, re.M)
    pages = [
        *ROOT.glob("*.*"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("pytest_irquality/**/*.py"),
    ]
    mentions = {
        (path.name, own)
        for path in pages
        if path.is_file() and path.suffix in (".md", ".toml", ".cff", ".yml", ".yaml", ".py")
        for own in OWN.findall(path.read_text("utf-8"))
    }
    assert {name for name, _ in mentions} >= {"pyproject.toml", "CITATION.cff", "github.md"}
    assert {own for _, own in mentions} == {address}


def test_the_changelog_has_a_place_for_what_comes() -> None:
    assert "\n## [Unreleased]\n" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert 'license = "MIT"' in PYPROJECT
    assert (ROOT / "LICENSE").read_text("utf-8").startswith("MIT License\n")
