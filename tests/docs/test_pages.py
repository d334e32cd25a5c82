"""The README and every page of the documentation: what they show is so."""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("sybil", reason="an older environment: pip install -e '.[test]'")

from pytest_irquality.plugin.options import Options
from tests.docs.pages import EVALUATORS, ROOT, follow, languages

ALL = [
    path.relative_to(ROOT).as_posix()
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
]
# tests/engines has those of engines, where their engines are installed.
PAGES = [page for page in ALL if "/engines/" not in page]


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.slow if "ten-minutes" in page else ()) for page in PAGES],
)
def test_what_a_page_shows_is_so(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "fts5" in (ROOT / page).read_text("utf-8") and not _has_fts5():
        pytest.skip("this Python's SQLite has no FTS5")
    monkeypatch.chdir(tmp_path)
    follow(ROOT / page, tmp_path)


@pytest.mark.parametrize("page", PAGES)
def test_every_block_says_what_it_is(page: str) -> None:
    assert languages(ROOT / page) <= {*EVALUATORS, "{toctree}", "{raw} html"}


@pytest.mark.parametrize("page", PAGES)
def test_options_that_take_a_path_are_written_with_an_equals_sign(page: str) -> None:
    """After a space pytest takes a file that is there already for a test path, and reads its settings there."""
    text = (ROOT / page).read_text("utf-8")
    flags = r"(?:json|save-runs|runs|baseline|markdown|shard|judge|report|history|init)"
    assert re.findall(rf"--ir-{flags} [A-Z0-9][\w/.]*|--ir-{flags} [\w/]+[./:][\w./:]*", text) == []


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 180


def test_the_documentation_can_be_read_to_its_end() -> None:
    pages = {page: (ROOT / page).read_text("utf-8") for page in ALL if page != "README.md"}
    assert sum(len(text.split()) for text in pages.values()) < 25_000
    folders = [page.split("/")[1] for page in pages if not page.endswith("index.md")]
    assert folders.count("start") == 4
    assert folders.count("guides") <= 10
    assert {*folders} == {"start", "guides", "reference", "recipes", "why"}


def test_each_option_has_its_reason() -> None:
    named = re.findall(r"`(ir_\w+|--ir-[\w-]+)`", (ROOT / "docs/why/options.md").read_text("utf-8"))
    there = [option.flag for option in Options.options()]
    assert {*named} == {*there, *(key.key for key in Options.ini_keys())}


@pytest.mark.skipif(not shutil.which("sed"), reason="needs sed")
def test_the_readme_breaks_the_example_as_the_examples_page_does(tmp_path: Path) -> None:
    (broken,) = re.findall(
        r"<!-- red command -->\n```sh\n(.*?) && ", (ROOT / "README.md").read_text("utf-8")
    )
    shutil.copytree(ROOT / "example_project", tmp_path / "example_project")
    subprocess.run(broken, shell=True, cwd=tmp_path, check=True)
    removed, added = re.findall(
        r"^[-+](WEIGHTS.*\n)", (ROOT / "example_project/README.md").read_text("utf-8"), re.M
    )
    before = (ROOT / "example_project/shop_search.py").read_text("utf-8")
    after = (tmp_path / "example_project/shop_search.py").read_text("utf-8")
    assert after == before.replace(removed, added) != before


def _has_fts5() -> bool:
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("create virtual table any using fts5(text)")
    except sqlite3.OperationalError:
        return False
    finally:
        connection.close()
    return True
