"""The built site: it has no warning, and its search finds what people look for."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sphinx", reason="needs `pip install -e . --group docs`")

from docs.tools.site import build_site, find_newest_release
from tests.docs.shown_pages import ROOT

pytestmark = pytest.mark.slow

# What people search for, and a page that must be among the results.
SEARCHES = {
    "flaky": "guides/flaky",
    "RAG": "guides/rag",
    "LLM": "guides/llm-grades",
    "exclude": "guides/excluding-queries",
    "false positive": "guides/thresholds",
    "snapshot": "guides/without-grades",
    "regression": "start/pull-request",
    "Windows": "faq",
    "FAQ": "faq",
    "changelog": "faq",
    "ties": "faq",
    "p-value": "faq",
    "glossary": "glossary",
    # Questions, as somebody types them who has never seen the site.
    "flaky vector index": "guides/flaky",
    "LLM judge": "guides/llm-grades",
    "update snapshot": "start/pull-request",
    "exit code": "reference/options",
    "compare embedding models": "guides/rag",
    "typos": "guides/suites",
    "comment pull request": "recipes/github-actions",
    "commit broke search": "faq",
    "secret API key": "guides/any-language",
    "baseline merge conflict": "recipes/teams",
    "better than BM25": "guides/stages",
    "timeout": "guides/failing-engines",
    "parallel": "recipes/distributed",
    "chunk size": "guides/rag",
    "tenant": "guides/without-grades",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-nW", "--keep-going", "-q", "docs", str(folder)]
    completed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr
    return folder


@pytest.mark.parametrize("text", SEARCHES)
def test_search_finds(text: str, site: Path) -> None:
    english = pytest.importorskip("sphinx.search.en")
    index = json.loads(
        (site / "searchindex.js").read_text("utf-8").removeprefix("Search.setIndex(").rstrip(");")
    )
    language = english.SearchEnglish({})
    pages: set[str] | None = None
    for word in re.findall(r"\w{2,}", text.lower()):
        if word in language.stopwords:
            continue
        stem = language.stem(word)
        found = set()
        for table in (index["terms"], index["titleterms"]):
            numbers = table.get(stem, [])
            for number in [numbers] if isinstance(numbers, int) else numbers:
                found.add(index["docnames"][number])
        pages = found if pages is None else pages & found

    assert pages is not None
    assert SEARCHES[text] in pages


def test_every_page_has_a_description_and_an_edit_link(site: Path) -> None:
    for path in site.rglob("*.html"):
        name = path.relative_to(site).with_suffix(".md")
        if (ROOT / "docs" / name).exists():
            text = path.read_text("utf-8")
            assert re.search(r'<meta name="description" content="[^"]{15,}"', text), name
            assert f"/edit/main/docs/{name.as_posix()}" in text, name


def test_llms_txt_lists_every_page(site: Path) -> None:
    text = (site / "llms.txt").read_text("utf-8")

    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").as_posix()
        if name != "index.md":
            assert f"(_sources/{name}.txt)" in text


def test_a_single_version_links_to_no_other(site: Path) -> None:
    versions = list_versions(site / "faq.html")

    assert len(versions) == 1
    assert re.fullmatch(r"\d+\.\d+\.\d+", versions[0])


def test_each_version_links_to_the_other_without_a_service(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    (repository / "docs").mkdir(parents=True)
    for name in ("conf.py", "_static", "_templates"):
        source = ROOT / "docs" / name
        copy = shutil.copy if source.is_file() else shutil.copytree
        copy(source, repository / "docs" / name)
    shutil.copy(ROOT / "pyproject.toml", repository)
    (repository / "docs/index.md").write_text("# A page\n\nThe text of the release.\n")
    for arguments in (
        ["init", "-q", "-b", "main"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "Add a page"],
        ["tag", "v0.9.0"],
        ["tag", "v0.10.0"],
        ["tag", "v0.11.0-rc1"],
    ):
        subprocess.run(["git", *arguments], cwd=repository, check=True)
    (repository / "docs/index.md").write_text("# A page\n\nThe text of the main branch.\n")
    site = tmp_path / "site"

    build_site(repository, site)

    assert find_newest_release(repository) == "v0.10.0"
    assert list_versions(site / "stable/index.html") == ["0.10.0 (stable)", "development"]
    assert list_versions(site / "dev/index.html") == ["0.10.0 (stable)", "development"]
    for folder, other, text in (("stable", "dev", "release"), ("dev", "stable", "main branch")):
        page = (site / folder / "index.html").read_text("utf-8")
        assert f"The text of the {text}." in page
        assert f'<a href="./../{other}/index.html">' in page
    assert "url=stable/index.html" in (site / "index.html").read_text("utf-8")


def list_versions(page: Path) -> list[str]:
    """Return the names in the version switch of a page."""
    switch = re.search(r'<nav class="versions".*?</nav>', page.read_text("utf-8"), re.DOTALL)
    assert switch
    return re.findall(r">([^<>\n]+)</(?:a|strong)>", switch[0])
