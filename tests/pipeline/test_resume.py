"""``--ir-resume``: a paid engine is asked only what a kept run lacks."""

from __future__ import annotations

import json

import pytest

from tests.conftest import Project

SUITE = """
metrics: [mrr@10]
thresholds: {mrr@10: 0.1}
queries:
  - {query: chair, relevant: [d1], must_find: [d1]}
  - {query: desk, relevant: [d2], must_find: [d2]}
  - {query: lamp, relevant: [d3], must_find: [d3]}
"""
RETRIEVER = """
ASKED = []
DOWN = {"lamp"}

class Paid:
    version = "1"
    def search(self, query, k):
        with open("asked.txt", "a") as file:
            file.write(query + "\\n")
        if query in DOWN:
            raise ConnectionError("429: too many requests")
        return {"chair": ["d1"], "desk": ["d2"], "lamp": ["d3"]}[query]

@pytest.fixture
def retriever():
    return Paid()
"""
RESUMED = ("--ir-save-runs=kept", "--ir-resume")


@pytest.fixture
def shop(project: Project) -> Project:
    project.suite(SUITE)
    project.conftest(RETRIEVER)
    return project


def asked(project: Project) -> list[str]:
    file = project.path / "asked.txt"
    texts = file.read_text(encoding="utf-8").split() if file.exists() else []
    file.unlink(missing_ok=True)
    return texts


def test_only_what_is_missing_or_failed_is_asked(shop: Project) -> None:
    shop.run(*RESUMED)
    assert asked(shop) == ["chair", "desk", "lamp"]
    shop.conftest(RETRIEVER.replace('{"lamp"}', "set()"))
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
    shop.conftest(RETRIEVER.replace('{"lamp"}', "set()"))
    shop.run(*RESUMED, "-k", "lamp and not mrr")
    assert asked(shop) == ["lamp"]
    shop.run(*RESUMED)
    assert asked(shop) == []


def test_other_words_or_params_are_asked_again(shop: Project) -> None:
    shop.run(*RESUMED)
    asked(shop)
    shop.conftest(RETRIEVER.replace("k):", "k, lang='en'):").replace('{"lamp"}', "set()"))
    shop.suite(SUITE.replace("{query: desk,", "{query: desk, params: {lang: de},"))
    shop.run(*RESUMED)
    assert asked(shop) == ["desk", "lamp"]


def test_answers_of_other_code_are_never_joined(shop: Project) -> None:
    shop.run(*RESUMED)
    shop.conftest(RETRIEVER.replace('"1"', '"2"'))
    shop.run(*RESUMED).stdout.fnmatch_lines(
        [
            "*--ir-resume would join answers of two kinds: the version of the retriever was 1, and is 2*"
        ]
    )
    file = shop.path / "kept" / "shop.jsonl"
    lines = file.read_text(encoding="utf-8").split("\n")
    lines[0] = json.dumps({**json.loads(lines[0]), "version": None, "commit": "1234567890123"})
    lines[0] = lines[0].replace('"version": null, ', "")
    file.write_text("\n".join(lines), encoding="utf-8")
    shop.run(*RESUMED)  # outside a checkout nothing is known of the code
    assert shop.outcomes()["chair"] == "passed"


def test_candidates_texts_and_answers_that_lack_are_asked_for(shop: Project) -> None:
    shop.run(*RESUMED)
    asked(shop)
    up = RETRIEVER.replace('{"lamp"}', "set()")
    shop.conftest(
        up.replace(
            "    def search", "    candidates = lambda self, query, k: ['d1']\n    def search"
        )
    )
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
    texts = {"one": "paid within days", "two": "keep the receipt"}
    retriever = f"""
TEXTS = {texts!r}
@pytest.fixture
def retriever():
    return lambda query: [dict(doc="handbook", text=TEXTS[query])]
"""
    project.conftest(retriever.replace("[query])]", "[query])] if query == 'one' else 1 / 0"))
    project.run(*RESUMED)
    assert project.outcomes() == {"one": "passed", "two": "error"}
    project.conftest(retriever)
    project.run(*RESUMED)
    assert project.outcomes() == {"one": "passed", "two": "passed"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--ir-resume"], "name it by --ir-save-runs=DIR"),
        (["--ir-resume", "--ir-save-runs=shop.run"], "name it by --ir-save-runs=DIR"),
        (["--ir-resume", "--ir-save-runs=kept", "--ir-runs=."], "asks the retriever"),
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
