"""Baselines in real git: what merges by itself, what does not, and how that is repaired."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.conftest import Project, first
from tests.repository import git

QUERIES = [f"query {letter}" for letter in "abcdef"]


def suite_of(queries: Sequence[str]) -> str:
    lines = "".join(f"  - {{query: {query}, relevant: [d1]}}\n" for query in queries)
    return f"queries:\n{lines}thresholds: {{mrr: {{min: 0.1, max_drop: 0.05}}}}\n"


SUITE = suite_of(QUERIES)
BASELINE = ".ir-baseline/shop.jsonl"
CONFTEST = """\
import json
from pathlib import Path
ANSWERS = Path(__file__).with_name("answers")
@pytest.fixture
def retriever():
    ask = lambda query: (ANSWERS / query).read_text().split()
    ask.version = (ANSWERS / "version").read_text()
    return ask
"""


@pytest.fixture
def shop(project: Project) -> Project:
    """A repository with a baseline on main. Each query's answer is a file, as a change of code touches some of many."""
    project.suite(SUITE)
    project.conftest(CONFTEST)
    (project.path / "answers").mkdir()
    for query in QUERIES:
        answer(project, query, "d1 d2")
    answer(project, "version", "1")
    (project.path / ".gitignore").write_text("ir-report.html\nout.json\n__pycache__\n")
    git(project.path, "init", "-q", "-b", "main")
    updated(project, "a baseline")
    return project


def answer(project: Project, query: str, documents: str) -> None:
    (project.path / "answers" / query).write_text(documents)


def updated(project: Project, message: str) -> None:
    """A commit with the baseline of its code."""
    assert project.run("--ir-update-baseline").ret == 0
    git(project.path, "add", ".")
    git(project.path, "commit", "-qm", message)


def branched(project: Project, **answers: str) -> None:
    git(project.path, "checkout", "-q", "-b", "change", "main")
    for letter, documents in answers.items():
        answer(project, f"query {letter}", documents)


def test_s20_branches_that_change_different_queries_merge(shop: Project) -> None:
    branched(shop, b="d2 d1", e="d1 d3")
    answer(shop, "version", "2")
    updated(shop, "the change")
    git(shop.path, "checkout", "-q", "main")
    for query in ("query a", "query c", "query f"):  # the neighbours on both sides, and the last
        answer(shop, query, "d1 d9")
    shop.suite(SUITE.replace("query a, ", "query a, tags: [head], "))
    updated(shop, "main moves on")
    git(shop.path, "merge", "-q", "--no-edit", "change")
    assert shop.run().ret == 0
    notes = shop.data["suites"][0]["notes"]
    assert "none of 6 rankings changed" in notes
    assert shop.run("--ir-update-baseline").ret == 0
    assert git(shop.path, "status", "--porcelain") == ""


def test_a_query_that_both_sides_of_a_merge_added_alike_is_no_conflict(shop: Project) -> None:
    """git keeps both where one of them stands elsewhere."""
    head, *blocks = (shop.path / BASELINE).read_text().split("\n\n")
    (shop.path / BASELINE).write_text("\n\n".join([head, blocks[2], *blocks]))
    assert shop.run().ret == 0
    assert "none of 6 rankings changed" in shop.data["suites"][0]["notes"]


# What one branch does, and what the other does beside it.
BESIDE = {
    "added after the last": (("query f", "query f\nquery new"), "query f"),
    "added right before it": (("query c", "query new\nquery c"), "query c"),
    "added right after it": (("query c", "query c\nquery new"), "query c"),
    "removed right before it": (("query b\nquery c", "query c"), "query c"),
    "removed right after it": (("query c\nquery d", "query c"), "query c"),
}


@pytest.mark.parametrize("case", first(2, BESIDE))
def test_queries_that_come_and_go_beside_a_changed_one_merge(shop: Project, case: str) -> None:
    (old, new), changed = BESIDE[case]
    branched(shop, new="d1")
    queries = "\n".join(QUERIES).replace(old, new).split("\n")
    shop.suite(suite_of(queries))
    updated(shop, "comes and goes")
    git(shop.path, "checkout", "-q", "main")
    answer(shop, changed, "d2 d1")
    updated(shop, "main moves on")
    git(shop.path, "merge", "-q", "--no-edit", "change")
    assert shop.run().ret == 0
    assert f"none of {len(queries)} rankings changed" in shop.data["suites"][0]["notes"]


def test_s21_a_conflict_names_the_query_and_an_update_of_all_repairs_it(shop: Project) -> None:
    branched(shop, b="d2 d1", c="d2 d1")
    updated(shop, "the change")
    git(shop.path, "checkout", "-q", "main")
    answer(shop, "query b", "d3 d1")
    updated(shop, "main moves on")
    git(shop.path, "merge", "-q", "change", check=False)
    answer(shop, "query b", "d2 d1")  # the conflict in the code is resolved
    result = shop.run()
    assert result.ret == 2
    wrong = (
        f"{BASELINE}:7: an unresolved merge conflict over 'query b': keep either line of each"
        " query, or write the file anew with `--ir-update-baseline`"
    )
    result.stdout.fnmatch_lines([wrong])
    # Some of its queries cannot repair it: the others would be lost.
    result = shop.run("--ir-update-baseline", "-k", "query-b")
    assert result.ret == 2
    result.stdout.fnmatch_lines([f"{wrong}; only an update of all queries can do that"])
    result = shop.run("--ir-update-baseline")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["  baseline written: *: 6 rankings, all anew, since the file could not be read"]
    )
    git(shop.path, "add", ".")
    git(shop.path, "commit", "-qm", "merged")
    assert shop.run().ret == 0
    assert "none of 6 rankings changed" in shop.data["suites"][0]["notes"]


def test_a_file_that_cannot_keep_what_was_not_answered_is_not_written(shop: Project) -> None:
    text = (shop.path / BASELINE).read_text().replace('"depth":', '"deep":')
    (shop.path / BASELINE).write_text(text)
    (shop.path / "answers" / "query c").unlink()
    shop.suite("errors: {max: 1}\n" + SUITE)
    result = shop.run("--ir-update-baseline")
    assert result.ret == 1
    result.stdout.fnmatch_lines([
        f"  NOT WRITTEN: {BASELINE}:1: damaged: no 'depth' in the header, or no such thing"
        " (which takes an answer to every query: 1 had none)",
    ])  # fmt: skip
    assert (shop.path / BASELINE).read_text() == text


def test_what_is_not_ours_is_never_written_over(shop: Project) -> None:
    (shop.path / "notes.jsonl").write_text('{"not": "ours"}\n')
    result = shop.run("--ir-update-baseline", "--ir-baseline=notes.jsonl")
    assert result.ret == 2
    result.stdout.fnmatch_lines(["notes.jsonl:1: not a run that pytest-irquality wrote"])
    assert (shop.path / "notes.jsonl").read_text() == '{"not": "ours"}\n'


def test_an_update_from_another_folder_or_commit_changes_no_header(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def header() -> object:
        return json.loads((shop.path / BASELINE).read_text().splitlines()[0])

    before = header()
    git(shop.path, "commit", "--allow-empty", "-qm", "later")
    answer(shop, "query a", "d1 d7")
    answer(shop, "version", "3")
    monkeypatch.chdir(Path("answers"))
    assert shop.run("--ir-update-baseline", "..").ret == 0
    assert header() == before
    assert '"d7"' in (shop.path / BASELINE).read_text()


# -- texts -----------------------------------------------------------------------------------------

TEXTS = """\
@pytest.fixture
def retriever():
    ask = lambda query: [{"id": id, "text": f"text of {id}"} for id in (ANSWERS / query).read_text().split()]
    ask.version = (ANSWERS / "version").read_text()
    return ask
"""


@pytest.fixture
def help_pages(shop: Project) -> Project:
    """The same with passages: every query has the text of d1, which stands in the file once."""
    shop.suite("match: text\n" + SUITE.replace("[d1]", "[text of d1]"))
    shop.conftest(CONFTEST.partition("@pytest.fixture")[0] + TEXTS)
    updated(shop, "passages")
    return shop


def texts_in(project: Project) -> list[str]:
    lines = map(json.loads, filter(None, (project.path / BASELINE).read_text().split("\n")))
    return [line["text"] for line in lines if isinstance(line, dict) and "text" in line]


def test_texts_stand_once_and_stay_where_they_are(help_pages: Project) -> None:
    assert texts_in(help_pages) == ["text of d1", "text of d2"]
    branched(help_pages, a="d3 d4")  # the first, behind which both texts stand
    updated(help_pages, "the change")
    git(help_pages.path, "checkout", "-q", "main")
    for query in ("query b", "query f"):
        answer(help_pages, query, "d5 d1")
    updated(help_pages, "main moves on")
    git(help_pages.path, "merge", "-q", "--no-edit", "change")
    assert help_pages.run().ret == 0
    assert "none of 6 rankings changed" in help_pages.data["suites"][0]["notes"]
    assert sorted(texts_in(help_pages)) == [f"text of d{n}" for n in range(1, 6)]
    assert help_pages.run("--ir-update-baseline").ret == 0
    assert git(help_pages.path, "status", "--porcelain") == ""


@pytest.mark.slow
def test_a_text_that_a_merge_lost_is_said(help_pages: Project) -> None:
    answer(help_pages, "query c", "d1 d7")
    updated(help_pages, "only here")
    branched(help_pages, c="d1 d2")
    updated(help_pages, "used no more")
    git(help_pages.path, "checkout", "-q", "main")
    answer(help_pages, "query f", "d7 d1")
    updated(help_pages, "used by another")
    git(help_pages.path, "merge", "-q", "--no-edit", "change")
    result = help_pages.run()
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*shop.jsonl:*: a text is missing, as a merge may leave it*"])
    help_pages.run("--ir-update-baseline")
    assert help_pages.run().ret == 0
