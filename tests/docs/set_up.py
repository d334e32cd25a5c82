"""What pages need and do not show: projects in which their commands run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.docs.shown_pages import ROOT, run_command

CONFTEST = """
import json
from pathlib import Path

import pytest


@pytest.fixture
def retriever():
    rankings = json.loads(Path(__file__).with_name("rankings.json").read_text())
    return lambda query: rankings[query]
"""
CHAIR = {"id": "sku-101", "title": "Mesh Chair"}
MAT = {"id": "sku-107", "title": "Chair Mat"}
LAMP = {"id": "sku-203", "title": "Desk Lamp"}
DESCRIPTIONS = (
    "A chair with a mesh back that keeps you cool on long and warm days at the desk.",
    "A lamp of brushed steel whose arm turns in every direction that you could want it to.",
)


def write_first_project(folder: Path) -> None:
    """Write the search of the first page, whose suite the page shows."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "conftest.py").write_text(CONFTEST)
    _write_rankings(folder, [CHAIR, MAT])


def swap_first_results(folder: Path) -> None:
    """Record a baseline, then put the wrong result first."""
    run_command("pytest --ir-suite --ir-update-baseline", folder)
    _write_rankings(folder, [MAT, CHAIR])


def _write_rankings(folder: Path, chairs: list[dict[str, str]]) -> None:
    rankings = {"office chair": chairs, "desk lamp": [LAMP]}
    (folder / "rankings.json").write_text(json.dumps(rankings))


def write_catalog(folder: Path) -> None:
    """Write a catalog with titles and texts, from which probes can be made."""
    lines = []
    for product, description in zip((CHAIR, LAMP), DESCRIPTIONS, strict=True):
        lines.append(json.dumps({**product, "description": description}))
    (folder / "catalog.jsonl").write_text("\n".join(lines) + "\n")


def copy_broken_example(folder: Path) -> None:
    """Copy the example shop, and make titles less important in its search."""
    shutil.copytree(
        ROOT / "example_project",
        folder,
        ignore=shutil.ignore_patterns("ir-report.html", "__pycache__"),
        dirs_exist_ok=True,
    )
    (folder / "pytest.ini").write_text("[pytest]\n")
    search = folder / "shop_search.py"
    text = search.read_text("utf-8")
    changed = text.replace('"title": 8.0', '"title": 1.0')
    assert changed != text
    search.write_text(changed, "utf-8")
