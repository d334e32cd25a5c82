"""Everything that a page shows is true: its files, commands, output and links."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest

pytest.importorskip("sybil", reason="needs `pip install -e . --group test`")

from tests.docs.shown_pages import DOCS, EVALUATORS, ROOT, follow_page, list_languages, list_pages

PAGES = list_pages()
MAX_WORDS = 20_000
DIRECTIVES = {"{toctree}"}
# After a space, pytest could take the value of these options for a test path.
PATH_OPTIONS = "json|save-runs|runs|baseline|markdown|grade|report|history|init"


@pytest.mark.parametrize("page", PAGES)
def test_page_shows_what_happens(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "fts5" in (ROOT / page).read_text("utf-8") and not _has_fts5():
        pytest.skip("SQLite of this Python has no FTS5")
    monkeypatch.chdir(tmp_path)

    follow_page(ROOT / page, tmp_path)


@pytest.mark.parametrize("page", PAGES)
def test_page_names_the_language_of_every_block(page: str) -> None:
    assert list_languages(ROOT / page) <= {*EVALUATORS, *DIRECTIVES}


@pytest.mark.parametrize("page", PAGES)
def test_page_writes_paths_of_options_after_an_equals_sign(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")

    assert re.findall(rf"--ir-(?:{PATH_OPTIONS}) [A-Za-z0-9./_-]+[./:]\w", text) == []


@pytest.mark.parametrize("page", PAGES)
def test_links_of_page_lead_to_files_and_headings(page: str) -> None:
    path = ROOT / page
    text = re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.M | re.S)

    for target in re.findall(r"\]\((?!https?:|mailto:)([^)]+)\)", text):
        name, _, anchor = target.partition("#")
        linked = (path.parent / name).resolve() if name else path
        assert linked.exists(), target
        if anchor and linked.suffix == ".md":
            assert anchor in _list_anchors(linked), target


def test_documentation_is_short() -> None:
    words = sum(len(path.read_text("utf-8").split()) for path in DOCS.rglob("*.md"))

    assert words < MAX_WORDS


def _list_anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and MyST make them."""
    anchors = set()
    for heading in re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchors.add(re.sub(r"[^\w\- ]", "", plain).strip().replace(" ", "-"))
    return anchors


def _has_fts5() -> bool:
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("create virtual table any using fts5(text)")
    except sqlite3.OperationalError:
        return False
    finally:
        connection.close()
    return True
