"""Which files a report may replace."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_irquality.io.files import FileError
from pytest_irquality.plugin.report_files import check_output
from pytest_irquality.reports.view_model import OUTPUT_MARKER
from tests.io.helpers import commit_all, make_repository, write_file

SUITES = ("*.ir.yaml", "*.suite")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = make_repository(tmp_path / "project")
    write_file(folder / "tracked.html", f'<meta name="generator" content="{OUTPUT_MARKER}">')
    write_file(folder / "shop.ir.yaml", "queries: []\n")
    commit_all(folder)
    return folder


@pytest.mark.parametrize("name", ["out.html", "reports/out.json", ".cache/out.md"])
def test_a_new_file_may_be_written(project: Path, name: str) -> None:
    check_output(project / name, project, SUITES)


def test_a_report_is_replaced_unless_git_tracks_it(project: Path) -> None:
    write_file(project / "out.html", f'<html><meta name="generator" content="{OUTPUT_MARKER}">')
    write_file(project / "empty.json")

    check_output(project / "out.html", project, SUITES)
    check_output(project / "empty.json", project, SUITES)
    with pytest.raises(FileError, match=r"tracked\.html: Git tracks this file"):
        check_output(project / "tracked.html", project, SUITES)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("conftest.py", "cannot replace a suite, code or configuration"),
        ("sub/conftest.py", "cannot replace a suite, code or configuration"),
        ("new.ir.yaml", "cannot replace a suite, code or configuration"),
        ("Shop.IR.YAML", "cannot replace a suite, code or configuration"),
        ("pyproject.toml", "cannot replace a suite, code or configuration"),
        ("special.suite", "cannot replace a suite, code or configuration"),
        ("notes.md", r"notes\.md: This file is not a report of pytest-irquality"),
        ("folder", "This is a folder"),
        ("suite-link.html", "cannot replace a suite, code or configuration"),
        ("notes-link.html", "This file is not a report of pytest-irquality"),
    ],
)
def test_other_files_are_refused(project: Path, name: str, message: str) -> None:
    write_file(project / "notes.md", "# Notes about pytest-irquality\n")
    (project / "folder").mkdir()
    (project / "suite-link.html").symlink_to("shop.ir.yaml")
    (project / "notes-link.html").symlink_to("notes.md")

    with pytest.raises(FileError, match=message):
        check_output(project / name, project, SUITES)


def test_a_link_that_git_tracks_is_refused(project: Path) -> None:
    (project / "link.html").symlink_to("../outside")
    commit_all(project)

    with pytest.raises(FileError, match=r"'link\.html' is a link that git tracks"):
        check_output(project / "link.html", project, SUITES)


def test_a_device_may_be_written(project: Path) -> None:
    check_output(Path(os.devnull), project, SUITES)


def test_without_git_only_the_content_decides(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")

    check_output(project / "tracked.html", project, SUITES)
    check_output(tmp_path / "out.html", tmp_path, SUITES)
    write_file(tmp_path / "notes.md", "x")
    with pytest.raises(FileError, match="not a report"):
        check_output(tmp_path / "notes.md", tmp_path, SUITES)
