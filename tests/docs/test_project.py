"""What the project says about itself: address, version, metadata, pinned actions and tools."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from docs.tools import ROOT
from docs.tools.address import (
    MENTION,
    insert_version,
    list_files,
    read_name,
    read_version,
    replace_mentions,
    replace_version,
)
from docs.tools.advisories import report_advisories
from docs.tools.example_files import BLOCK
from docs.tools.pins import PINNED_USE, USE, list_workflows, read_pins, replace_pins
from pytest_irquality.plugin.options import SUITE_PATTERNS

PYPROJECT = (ROOT / "pyproject.toml").read_text("utf-8")
SUITE_SCHEMA = json.loads((ROOT / "pytest_irquality/suite/schema.json").read_text("utf-8"))


def test_every_mention_of_the_repository_has_its_address() -> None:
    mentions = set()
    for path in list_files():
        for _, name in MENTION.findall(path.read_text("utf-8")):
            mentions.add((path.name, name))

    files = {file for file, _ in mentions}
    assert {"pyproject.toml", "CITATION.cff", "index.md", "schema.json"} <= files
    assert {name for _, name in mentions} == {read_name()}


def test_project_moves_by_one_line() -> None:
    text = "[a](https://github.com/x/pytest-irquality/issues) uses: x/pytest-irquality@v1"

    assert replace_mentions(text, "acme/pytest-irquality") == text.replace("x/", "acme/")


def test_citation_has_the_version_and_its_date() -> None:
    version, date = read_version()
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))

    assert citation["version"] == version
    assert str(citation["date-released"]) == date
    assert insert_version("version: 0.0.9\ndate-released: x\n", "1.2.0", "2027-01-01") == (
        "version: 1.2.0\ndate-released: 2027-01-01\n"
    )


def test_examples_and_the_first_page_name_this_version() -> None:
    version, _ = read_version()
    pages = ["README.md", "action.yml", "docs/recipes/github-actions.md"]

    for name in pages:
        assert f"{read_name()}@v{version}\n" in (ROOT / name).read_text("utf-8"), name
    assert f"[Version {version}]" in (ROOT / "docs/index.md").read_text("utf-8")
    old = "uses: a/pytest-irquality@v0.0.9 [Version 0.0.9](x) actions/checkout@v0.0.9"
    assert replace_version(old, "1.2.0") == (
        "uses: a/pytest-irquality@v1.2.0 [Version 1.2.0](x) actions/checkout@v0.0.9"
    )


def test_action_has_what_its_marketplace_asks_for() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))

    assert action["name"] == "pytest-irquality"
    assert action["author"]
    assert 20 < len(action["description"]) <= 125
    assert action["branding"] == {"icon": "search", "color": "blue"}


def test_changelog_has_a_place_for_changes() -> None:
    assert "\n## [Unreleased]\n" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_metadata_agrees_with_itself() -> None:
    versions = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', PYPROJECT)
    workflow = (ROOT / ".github/workflows/ci.yml").read_text("utf-8")
    readme = (ROOT / "README.md").read_text("utf-8")

    assert f'requires-python = ">={versions[0]}"' in PYPROJECT
    assert f"python: {json.dumps(versions)}" in workflow
    for version in versions:
        assert version in (ROOT / ".ci/run").read_text("utf-8")
    assert f"Python {versions[0]} to {versions[-1]}" in readme
    assert '"Framework :: Pytest"' in PYPROJECT
    assert 'license = "MIT"' in PYPROJECT
    assert (ROOT / "LICENSE").read_text("utf-8").startswith("MIT License\n")


def test_entry_for_schemastore_names_the_files_and_the_schema() -> None:
    contributing = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    (block,) = re.findall(r"```json\n(.*?)```", contributing, re.DOTALL)

    entry = json.loads(block)

    # Every file with such a name is a suite, wherever it is. Editors ask the catalog for all files.
    assert entry["fileMatch"] == [SUITE_PATTERNS[0]]
    assert entry["url"] == SUITE_SCHEMA["$id"]


def test_every_action_of_our_workflows_is_pinned() -> None:
    for path in list_workflows():
        # Comments show how to use our action.
        text = re.sub(r"^#.*$", "", path.read_text("utf-8"), flags=re.MULTILINE)
        assert len(USE.findall(text)) == len(PINNED_USE.findall(text)), path.name


def test_jobs_in_the_documentation_that_may_write_pin_their_actions() -> None:
    privileged = set()
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for _, text in BLOCK.findall(page.read_text("utf-8")):
            content = yaml.safe_load(text)
            if "jobs" in content and may_write(content):
                privileged.add(page.name)
                used = {
                    name for name, _, _ in USE.findall(text) if not name.startswith(read_name())
                }
                assert used == set(PINNED_USE.findall(text)), page.name

    assert privileged


def may_write(workflow: dict[str, Any]) -> bool:
    """Return whether a job of the workflow may write."""
    permissions = [workflow.get("permissions", {})]
    permissions += [job.get("permissions", {}) for job in workflow["jobs"].values()]
    return any("write" in str(granted) for granted in permissions)


def test_pins_of_the_documentation_are_ours() -> None:
    old = "uses: actions/checkout@" + "0" * 40 + " # v1.0.0\n"
    unknown = "uses: other/action@" + "1" * 40 + " # v1.0.0\n"

    text = replace_pins(old + unknown, read_pins())

    assert text == read_pins()["actions/checkout"] + "\n" + unknown


def test_tools_that_build_and_check_are_pinned_by_hashes() -> None:
    lines = (ROOT / ".ci/tools.in").read_text("utf-8").splitlines()
    wanted = {line for line in lines if not line.startswith("#")}
    tools = (ROOT / ".ci/tools.txt").read_text("utf-8") + "."

    blocks = dict(re.findall(r"^(\S+)==\S+(.*?)(?=^\S)", tools, re.MULTILINE | re.DOTALL))

    assert wanted <= blocks.keys()
    assert [name for name, rest in blocks.items() if "--hash=sha256:" not in rest] == []


def test_tools_are_installed_with_their_hashes() -> None:
    for name in (".ci/run", ".ci/build", ".github/workflows/release.yml"):
        text = (ROOT / name).read_text("utf-8")
        for command in re.findall(r"\.venv-tools/bin/pip install .*", text):
            assert command.endswith("--require-hashes -r .ci/tools.txt"), command


VULNERABILITY = {"id": "CVE-1", "fix_versions": ["2.0"]}
SAFE = {"name": "a", "version": "1", "vulns": []}
UNSAFE = {"name": "a", "version": "1", "vulns": [VULNERABILITY]}
SKIPPED = {"name": "b", "skip_reason": "not found"}
NO_ANSWER = "tools: not audited, because no advisory service answers here\n"


@pytest.mark.parametrize(
    ("packages", "status", "output"),
    [
        pytest.param([SAFE], 0, "tools: 1 of 1 packages audited\n", id="safe"),
        pytest.param(
            [UNSAFE, SKIPPED],
            1,
            "tools: a 1: CVE-1, fixed in 2.0\ntools: 1 of 2 packages audited\n",
            id="unsafe",
        ),
        pytest.param([SKIPPED], 0, NO_ANSWER, id="no service"),
        pytest.param(None, 0, NO_ANSWER, id="no report"),
    ],
)
def test_only_a_known_vulnerability_fails_the_audit(
    packages: list[dict[str, Any]] | None,
    status: int,
    output: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = "" if packages is None else json.dumps({"dependencies": packages, "fixes": []})

    assert report_advisories("tools", report) == status
    assert capsys.readouterr().out == output
