"""The README and every page of the documentation: what they show is so."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

pytest.importorskip("sybil", reason="an older environment: pip install -e '.[test]'")

from tests.docs.pages import EVALUATORS, ROOT, follow, languages

PAGES = [
    path.relative_to(ROOT).as_posix()
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if path.parent.name != "engines"  # tests/engines has those, where their engines are installed
]


@pytest.mark.parametrize("page", PAGES)
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


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 180


def _has_fts5() -> bool:
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("create virtual table any using fts5(text)")
    except sqlite3.OperationalError:
        return False
    finally:
        connection.close()
    return True
