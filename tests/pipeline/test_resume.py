"""``--ir-save-runs=DIR,resume``: a paid engine is asked only what a kept run lacks."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import Project
from tests.repository import git

SUITE = """
metrics: [mrr@10]
thresholds: {mrr@10: 0.1}
queries:
  - {query: chair, relevant: [d1], must_find: [d1]}
  - {query: desk, relevant: [d2], must_find: [d2]}
  - {query: lamp, relevant: [d3], must_find: [d3]}
"""
RETRIEVER = """
import pathlib

class Paid:
    version = "1"
    def search(self, query, k, lang="en"):
        with open("asked.txt", "a") as file:
            file.write(query + "\\n")
        if query in pathlib.Path("down.txt").read_text():
            raise ConnectionError("503: unavailable")
        return {"chair": ["d1"], "desk": ["d2"], "lamp": ["d3"]}[query]

if pathlib.Path("staged.txt").exists():
    Paid.candidates = lambda self, query, k: ["d1"]

@pytest.fixture
def retriever():
    return Paid()
"""
RESUMED = ("--ir-save-runs=kept,resume",)


@pytest.fixture
def shop(project: Project) -> Project:
    project.suite(SUITE)
    project.conftest(RETRIEVER)
    down(project, "lamp")
    committed(project)
    return project


def committed(project: Project) -> None:
    git(project.path, "init", "-q")
    git(project.path, "add", "conftest.py")
    git(project.path, "commit", "-qm", "search")


def down(project: Project, query: str = "") -> None:
    """Data, and no code: the engine answers a query no more, or answers all."""
    (project.path / "down.txt").write_text(query, encoding="utf-8")


def asked(project: Project) -> list[str]:
    file = project.path / "asked.txt"
    texts = file.read_text(encoding="utf-8").split() if file.exists() else []
    file.unlink(missing_ok=True)
    return texts


def test_only_what_is_missing_or_failed_is_asked(shop: Project) -> None:
    shop.run(*RESUMED)
    assert asked(shop) == ["chair", "desk", "lamp"]
    down(shop)
    shop.suite(SUITE + "  - {query: desk, id: desk 2, relevant: [d2]}\n")
    result = shop.run(*RESUMED)
    assert asked(shop) == ["lamp", "desk"]
    result.stdout.fnmatch_lines(["*resumed: 2 of 4 queries had an answer in the kept run*"])
    assert set(shop.outcomes().values()) == {"passed"}
    shop.run(*RESUMED)
    assert asked(shop) == []
    whole = shop.data
    shop.run("--ir-runs=kept")
    assert whole["suites"][0]["queries"] == shop.data["suites"][0]["queries"]


def test_what_was_not_selected_stays_kept(shop: Project) -> None:
    shop.run(*RESUMED)
    asked(shop)
    down(shop)
    shop.run(*RESUMED, "-k", "lamp and not mrr")
    assert asked(shop) == ["lamp"]
    shop.run(*RESUMED)
    assert asked(shop) == []


def test_other_words_or_params_are_asked_again(shop: Project) -> None:
    shop.run(*RESUMED)
    asked(shop)
    down(shop)
    shop.suite(SUITE.replace("{query: desk,", "{query: desk, params: {lang: de},"))
    shop.run(*RESUMED)
    assert asked(shop) == ["desk", "lamp"]


def test_answers_of_other_code_are_never_joined(shop: Project) -> None:
    shop.run(*RESUMED)
    shop.conftest(RETRIEVER.replace('["d3"]', '["d4"]'))
    edited = "*resume would join answers of two kinds: the code was *, and is *+*; name another*"
    shop.run(*RESUMED).stdout.fnmatch_lines([edited])
    shop.conftest(RETRIEVER)
    (shop.path / "helper.py").write_text("LIMIT = 3\n", encoding="utf-8")
    shop.run(*RESUMED).stdout.fnmatch_lines([edited])
    (shop.path / "helper.py").unlink()
    git(shop.path, "commit", "-q", "--allow-empty", "-m", "another")
    shop.run(*RESUMED).stdout.fnmatch_lines(["*answers of two kinds: the code was *"])


def test_answers_of_another_version_are_never_joined(shop: Project) -> None:
    shop.run(*RESUMED)
    file = shop.path / "kept" / "shop.jsonl"
    header, rest = file.read_text(encoding="utf-8").split("\n", 1)
    file.write_text(
        header.replace('"version":"1"', '"version":"2"') + "\n" + rest, encoding="utf-8"
    )
    shop.run(*RESUMED).stdout.fnmatch_lines(
        ["*answers of two kinds: the version of the retriever was 2, and is 1*"]
    )


def test_it_is_refused_where_nobody_knows_the_code(project: Project) -> None:
    project.suite(SUITE)
    project.conftest(RETRIEVER)
    down(project, "lamp")
    project.run(*RESUMED)
    project.run(*RESUMED).stdout.fnmatch_lines(
        ["*resume cannot know whether the kept answers are those of this code*"]
    )


def test_ci_may_know_the_code(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_SHA", "a" * 40)
    project.suite(SUITE)
    project.conftest(RETRIEVER)
    down(project, "lamp")
    project.run(*RESUMED)
    down(project)
    assert project.run(*RESUMED).ret == 0


KILLED = RETRIEVER.replace(
    "if query in",
    'import os\n        if query == "lamp" and os.path.exists("kill.txt"): import time; time.sleep(0.5); os._exit(9)\n        if query in',
)


@pytest.mark.slow
@pytest.mark.parametrize("suite", [SUITE, "concurrency: 2\n" + SUITE])
def test_a_crash_loses_no_answer(project: Project, suite: str) -> None:
    project.suite(suite)
    project.conftest(KILLED)
    down(project)
    (project.path / "kill.txt").touch()
    committed(project)
    arguments = ["-m", "pytest", "--ir-suite", "-p", "no:cacheprovider", *RESUMED]
    done = subprocess.run(
        [sys.executable, *arguments], check=False, cwd=project.path, capture_output=True
    )
    assert done.returncode == 9
    (project.path / "kill.txt").unlink()
    before = asked(project)
    (part,) = (project.path / "kept").iterdir()
    with part.open("ab") as file:
        file.write(b'{"id":"la')  # it was cut off in the middle of a line
    result = project.run(*RESUMED)
    result.stdout.fnmatch_lines(["*resumed: * of 3 queries had an answer in the kept run*"])
    assert "lamp" in asked(project)
    assert {*before} >= {"chair", "desk"}
    assert [file.name for file in (project.path / "kept").iterdir()] == ["shop.jsonl"]
    project.run(*RESUMED)
    assert asked(project) == []


def test_the_headline_says_that_it_is_over_a_part(shop: Project) -> None:
    shop.suite("errors: {max: 2}\n" + SUITE)
    shop.run().stdout.fnmatch_lines(["*mrr@10 over the 2 of 3 that were answered*"])


def test_candidates_texts_and_answers_that_lack_are_asked_for(shop: Project) -> None:
    shop.run(*RESUMED)
    asked(shop)
    down(shop)
    (shop.path / "staged.txt").touch()
    shop.run(*RESUMED)
    assert asked(shop) == ["chair", "desk", "lamp"]
    shop.run(*RESUMED)
    assert asked(shop) == []
    shop.suite("repeat: 2\n" + SUITE)
    shop.run(*RESUMED)
    assert sorted(asked(shop)) == ["chair", "chair", "desk", "desk", "lamp", "lamp"]
    shop.run(*RESUMED)
    assert asked(shop) == []


def test_chunks_with_one_id_stay_apart(project: Project) -> None:
    project.suite(
        "match: text\nid_field: doc\nqueries:\n"
        "  - {query: one, relevant: [paid within days], must_find: [paid within days]}\n"
        "  - {query: two, relevant: [keep the receipt], must_find: [keep the receipt]}\n"
    )
    project.conftest("""
import pathlib
TEXTS = {"one": "paid within days", "two": "keep the receipt"}

@pytest.fixture
def retriever():
    def search(query):
        if query in pathlib.Path("down.txt").read_text():
            raise ConnectionError("503: unavailable")
        return [dict(doc="handbook", text=TEXTS[query])]
    return search
""")
    committed(project)
    down(project, "two")
    project.run(*RESUMED)
    assert project.outcomes() == {"one": "passed", "two": "error"}
    down(project)
    project.run(*RESUMED)
    assert project.outcomes() == {"one": "passed", "two": "passed"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--ir-save-runs=shop.run,resume"], "resume asks what a folder of runs lacks"),
        (["--ir-save-runs=kept,resume", "--ir-runs=."], "resume asks what a folder of runs lacks"),
        (["--ir-save-runs=kept,resum"], "--ir-save-runs: 'resum' is none of resume, shard"),
        (["--ir-save-runs=kept,resume=no"], "resume: it takes no value, not 'no'"),
    ],
)
def test_options_that_do_not_fit(shop: Project, options: list[str], words: str) -> None:
    result = shop.run(*options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert words in result.stderr.str()


def test_a_damaged_file_is_said(shop: Project) -> None:
    shop.run(*RESUMED)
    file = shop.path / "kept" / "shop.jsonl"
    file.write_text("\n".join(file.read_text(encoding="utf-8").split("\n")[:-3]), encoding="utf-8")
    shop.run(*RESUMED).stdout.fnmatch_lines(["*kept/shop.jsonl:*: damaged: it was cut off here*"])
