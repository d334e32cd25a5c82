"""What stands once: the project's address, its licence, and the hashes of what builds and checks it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from docs.tools.address import MENTION, address, files, moved
from docs.tools.audited import audited
from docs.tools.pins import PINNED, USED, brought, ours
from docs.tools.shown_files import BLOCK
from pytest_irquality.edges.project import PATTERNS
from pytest_irquality.suite.schema import schema
from tests.docs.pages import ROOT

PYPROJECT = (ROOT / "pyproject.toml").read_text("utf-8")


def test_every_mention_of_the_projects_address_is_that_of_its_metadata() -> None:
    mentions = {
        (path.name, own) for path in files() for _, own in MENTION.findall(path.read_text("utf-8"))
    }
    named = {name for name, _ in mentions}
    assert named >= {"pyproject.toml", "CITATION.cff", "github.md", "pre-commit.md", "schema.json"}
    assert {own for _, own in mentions} == {address()}


def test_the_project_moves_by_one_line() -> None:
    text = "[a](https://github.com/x/pytest-irquality/issues) uses: x/pytest-irquality@v1"
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


def may_write(workflow: dict[str, Any]) -> bool:
    """Whether a workflow's jobs may write anything."""
    granted = [
        workflow.get("permissions", {}),
        *(job.get("permissions", {}) for job in workflow["jobs"].values()),
    ]
    return any("write" in str(one) for one in granted)


def test_every_action_of_ours_is_pinned_by_its_hash() -> None:
    for path in ours():
        text = path.read_text("utf-8")
        assert len(USED.findall(text)) == len(PINNED.findall(text)), path.name


def test_the_documentations_jobs_with_rights_pin_what_is_not_ours_by_our_hashes() -> None:
    shown = [
        (page.name, text)
        for page in sorted((ROOT / "docs").rglob("*.md"))
        for _, text in BLOCK.findall(page.read_text("utf-8"))
    ]
    privileged = [
        (page, text)
        for page, text in shown
        if "jobs" in (known := yaml.safe_load(text)) and may_write(known)
    ]
    assert {page for page, _ in privileged} == {"forks.md", "github.md"}
    for page, text in privileged:
        named = {name for name, _, _ in USED.findall(text) if not name.startswith(address())}
        assert named == set(PINNED.findall(text)), page
        assert brought(text) == text, (
            f"{page}: `python -m docs.tools.renew` brings the hashes up to date"
        )


def test_what_builds_and_checks_has_its_hashes() -> None:
    wanted = [
        line for line in (ROOT / ".ci/tools.in").read_text("utf-8").splitlines() if line[:1] != "#"
    ]
    blocks = re.findall(
        r"^(\S+)==\S+(.*?)(?=^\S)", (ROOT / ".ci/tools.txt").read_text("utf-8") + ".", re.M | re.S
    )
    assert {name for name, _ in blocks} >= set(wanted)
    assert [name for name, rest in blocks if "--hash=sha256:" not in rest] == []
    named = " ".join((ROOT / name).read_text("utf-8") for name in (".ci/run", ".ci/build"))
    assert "uvx " not in re.sub(r"README's minute.*", "", named)
    for text in (named, (ROOT / ".github/workflows/release.yml").read_text("utf-8")):
        for installs in re.findall(r"\.venv-tools/bin/pip install .*", text):
            assert installs.endswith("--require-hashes -r .ci/tools.txt"), installs


HOLE = {"id": "CVE-1", "fix_versions": ["2.0"]}


@pytest.mark.parametrize(
    ("dependencies", "status", "said"),
    [
        ([{"name": "a", "version": "1", "vulns": []}], 0, "it: 1 of 1 looked up"),
        ([{"name": "a", "version": "1", "vulns": [HOLE]}, {"name": "b", "skip_reason": "x"}], 1, "it: a 1: CVE-1, fixed in 2.0\nit: 1 of 2 looked up"),
        ([{"name": "b", "skip_reason": "not found"}], 0, "it: not audited, no advisory service answers here"),
        (None, 0, "it: not audited, no advisory service answers here"),
    ],
)  # fmt: skip
def test_a_known_hole_is_red_and_a_service_out_of_reach_is_not(
    dependencies: Any, status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    report = "" if dependencies is None else json.dumps({"dependencies": dependencies, "fixes": []})
    assert audited("it", report) == status
    assert capsys.readouterr().out == said + "\n"
