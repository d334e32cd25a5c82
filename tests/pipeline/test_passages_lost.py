"""Passages that are not found, end to end: what a red build says of them."""

from __future__ import annotations

import json

import pytest

from tests.conftest import Project

GOODS = "Refunds are paid within 14 days of the receipt of the goods"
KEEP = "Keep the receipt until the money has come"
BOTH = "Write to the shop before you send anything back"
SUITE = f"""
match: text
top_k: 3
depth: 6
metrics: [recall@3]
each_query: {{lost_all_relevant: fail}}
queries:
  - {{query: refunds, relevant: [{GOODS}], must_find: [{GOODS}]}}
  - {{query: receipts, relevant: [{KEEP}], must_find: [{KEEP}]}}
  - {{query: letters, relevant: [{BOTH}], must_find: [{BOTH}]}}
  - {{query: cookies, relevant: [Cookies are kept for a whole year], must_find: [Cookies are kept for a whole year]}}
"""
OTHERS = [{"id": f"o{n}", "text": f"Of something else, number {n}"} for n in range(4)]
WHOLE = {
    "refunds": [{"id": "c1", "text": f"It says: {GOODS}."}, *OTHERS],
    "receipts": [{"id": "c2", "text": f"{KEEP}. And more."}, *OTHERS],
    "letters": [{"id": "c3", "text": BOTH}, *OTHERS],
    "cookies": [{"id": "c4", "text": "Cookies are kept for a whole year, as told."}, *OTHERS],
}
CUT = {
    "refunds": [
        {"id": "n1", "text": "It says: Refunds are paid within 14"},
        {"id": "n2", "text": "days of the receipt of the goods."},
        *OTHERS,
    ],
    "receipts": [
        {"id": "n3", "text": "money has come. And more."},
        OTHERS[0],
        {"id": "n4", "text": "Keep the receipt until the"},
        *OTHERS[1:],
    ],
    "letters": [
        {"id": "n5", "text": "Write to the shop before you"},
        {"id": "n6", "text": "before you send anything back"},
        *OTHERS,
    ],
    "cookies": [*OTHERS, {"id": "n7", "text": "Cookies are kept for a whole year, as told."}],
}


def fates(project: Project) -> dict[str, int]:
    (suite,) = project.data["suites"]
    return {one["fate"]: one["now"] for one in suite["fates"]["counts"] if one["now"]}


def test_a_chunker_that_cuts_three_passages_and_moves_one_down(project: Project) -> None:
    project.suite(SUITE)
    project.answers(WHOLE)
    assert project.run("--ir-update-baseline").ret == 0
    project.answers(CUT)
    result = project.run()
    assert result.ret == 1
    text = result.stdout.str()
    assert "cut: parts of it are in n1 (rank 1) and n2 (rank 2)" in text
    assert "cut: parts of it are in n4 (rank 3) and n3 (rank 1)" in text
    assert "cut: parts of it are in n5 (rank 1) and n6 (rank 2)" in text
    assert "it is at rank 5; further down: it is in n7" in text
    losses = {
        query["id"]: document["loss"]
        for suite in project.data["suites"]
        for query in suite["queries"]
        for document in query["missing"]
        if document["loss"]
    }
    assert {id: loss["fate"] for id, loss in losses.items()} == {
        "refunds": "cut", "receipts": "cut", "letters": "cut",
    }  # fmt: skip
    said = "passages: cut 0 → 3, further down 0 → 1, found 4 → 0"
    assert said in text
    assert fates(project) == {"cut": 3, "further down": 1}
    (suite,) = project.data["suites"]
    unknown = [one["fate"] for one in suite["fates"]["counts"] if one["before"] is None]
    assert unknown == ["in stage", "not in the corpus", "in no stage"]
    result = project.run("-q", "--ir-markdown=out.md", "--ir-report=out.html")
    assert said in result.stdout.str()
    assert "4 queries lost all their relevant passages: " in result.stdout.str()
    assert "relevant document" not in text + result.stdout.str()
    markdown = (project.path / "out.md").read_text(encoding="utf-8")
    assert markdown.index(said) < markdown.index("0 better")
    page = (project.path / "out.html").read_text(encoding="utf-8")
    assert f"P{said[1:]}." in page
    assert 'data-kind="further down"' in page
    means = project.data["suites"][0]["means"]
    assert [mean["value"] for mean in means] == [0.0]  # nothing of it is credited


def test_new_chunks_that_hold_every_passage_whole_are_green(project: Project) -> None:
    project.suite(SUITE)
    project.answers(WHOLE)
    project.run("--ir-update-baseline")
    again = {
        query: [{"id": f"new-{hit['id']}", "text": f"Shop. {hit['text']} More."} for hit in hits]
        for query, hits in WHOLE.items()
    }
    project.answers(again)
    result = project.run()
    assert result.ret == 0


def test_a_loader_that_drops_the_marks_of_markdown_moves_nothing(project: Project) -> None:
    project.suite(
        "match: text\nmetrics: [recall@5, mrr@5]\nqueries:\n"
        "  - {query: a, relevant: ['run `make test` **twice**'], must_find: {'run `make test` **twice**': 1}}\n"
    )
    marked = "# Tests\n\n> Run `make test`\n> **twice**, see [the docs](http://x.org).\n\n| a | b |\n|---|---|\n| c | d |"
    plain = "Tests\n\nRun make test twice, see the docs.\n\na b\nc d"
    rest = [{"id": "2", "text": "* other\n* things"}]
    project.answers({"a": [{"id": "1", "text": marked}, *rest]})
    assert project.run("--ir-update-baseline").ret == 0
    project.answers({"a": [{"id": "1", "text": plain}, {"id": "2", "text": "other things"}]})
    result = project.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*none of 1 rankings changed*"])


CHUNKS = [
    {"id": "k1", "text": "Refunds are paid within 30 days of the receipt of the goods"},
    {"id": "k2", "text": f"{KEEP}."},
    {"id": "k3", "text": BOTH},
    {"id": "k4", "text": "Cookies are kept for a whole year"},
]


def test_a_corpus_says_before_anything_is_asked_which_passages_stand_nowhere(
    project: Project,
) -> None:
    lines = "".join(json.dumps(chunk) + "\n" for chunk in CHUNKS)
    (project.path / "chunks.jsonl").write_text(lines, encoding="utf-8")
    project.suite(f"corpus: {{files: chunks.jsonl}}\n{SUITE.strip()}\n")
    project.answers(WHOLE | {"refunds": OTHERS})
    result = project.run()
    said = "changed: k1 has 92 % of its words, without '14', with '30' between"
    assert said in result.stdout.str()
    assert (
        f"1 passage stands whole in no chunk of the corpus, so no ranking can find it: '{GOODS}' is {said}"
        in (result.stdout.str())
    )
    assert fates(project) == {"changed": 1, "found": 3}
    project.suite(f"corpus: {{files: chunks.jsonl, missing: fail}}\n{SUITE.strip()}\n")
    project.conftest("@pytest.fixture\ndef retriever():\n    return lambda query: 1 / 0\n")
    result = project.run()
    assert "whole in no chunk of the corpus" in result.stdout.str()
    assert "ZeroDivisionError" not in result.stdout.str()
    result.assert_outcomes(errors=5)


def test_the_retrievers_own_texts_are_a_corpus(project: Project) -> None:
    project.suite(SUITE)
    project.conftest(
        f"""
CHUNKS = {CHUNKS!r}
class Engine:
    def search(self, query): return CHUNKS
    def texts(self): return CHUNKS
@pytest.fixture
def retriever(): return Engine()
"""
    )
    result = project.run()
    assert "changed: k1 (rank 1) has 92 % of its words" in result.stdout.str()


def test_bad_corpora_get_one_line(project: Project) -> None:
    project.answers(WHOLE)
    for written, said in {
        "not json\n": "chunks.jsonl:1:1: a corpus has a chunk a line, as JSON",
        '{"id": "a"}\n': "chunks.jsonl:1:1: no text in this chunk: *",
    }.items():
        (project.path / "chunks.jsonl").write_text(written, encoding="utf-8")
        project.suite(f"corpus: {{files: chunks.jsonl}}\n{SUITE.strip()}\n")
        project.run().stdout.fnmatch_lines([f"*{said}"])
    project.suite(f"corpus: {{files: none.jsonl}}\n{SUITE.strip()}\n")
    project.run().stdout.fnmatch_lines(["*shop.ir.yaml:1:*'corpus': no such file: none.jsonl"])


def test_exists_is_asked_of_ids_and_never_of_passages(project: Project) -> None:
    project.suite(SUITE)
    project.conftest(
        f"""
class Engine:
    def search(self, query): return {OTHERS!r}
    def exists(self, passage): open("asked.txt", "a").write(passage)
@pytest.fixture
def retriever(): return Engine()
"""
    )
    project.run()
    assert not (project.path / "asked.txt").exists()
    assert fates(project) == {"not returned": 4}


@pytest.mark.parametrize(
    ("suite", "said"),
    [
        ("match: text\nqueries: [{query: a, must_find: [the cat sat on a mat]}]", {}),
        ("queries: [{query: a, must_find: [d1]}]", {"explain": "d1: asked of d1"}),
    ],
)
def test_explain_is_asked_of_ids_and_never_of_passages(
    project: Project, suite: str, said: dict[str, str]
) -> None:
    project.suite(suite)
    project.conftest(
        """
class Engine:
    def search(self, query): return [{"id": "x", "text": "nothing of the kind"}]
    def explain(self, query, id): return f"asked of {id}"
@pytest.fixture
def retriever(): return Engine()
"""
    )
    assert project.run().ret == 1
    assert (project.data["suites"][0]["queries"][0].get("remarks") or {}) == said


def test_fewer_results_than_the_cutoff_are_said(project: Project) -> None:
    project.suite(
        "metrics: [recall@10]\nqueries:\n  - {query: a, relevant: [d1]}\n  - {query: b, relevant: [d2, d9]}\n"
    )
    project.answers({query: ["d1", "d2", "d3", "d4"] for query in "ab"})
    project.run()
    notes = project.data["suites"][0]["notes"]
    assert any(
        "2 of 2 (100 %) queries have fewer than 10 documents (the fewest: 4)" in note
        for note in notes
    )
    project.suite(
        "top_k: 3\nid_field: doc\nmetrics: [recall@3]\nqueries: [{query: a, relevant: [d1]}]\n"
    )
    project.answers({"a": [{"doc": "d1"}, {"doc": "d1"}, {"doc": "d2"}]})
    project.run()
    notes = project.data["suites"][0]["notes"]
    assert any("fewer than 3 documents" in note and "'depth: 9'" in note for note in notes)


def test_a_baseline_has_texts_as_far_down_as_something_reads_them(project: Project) -> None:
    project.suite(SUITE.replace(", must_find: [Cookies are kept for a whole year]", ""))
    project.answers({**WHOLE, "cookies": CUT["cookies"]})
    project.run("-v", "--ir-update-baseline")
    baseline = (project.path / ".ir-baseline/shop.jsonl").read_text(encoding="utf-8")
    assert '"n7"' in baseline
    assert '{"text":"Cookies' not in baseline
    project.answers(CUT)
    text = project.run("-v").stdout.str()
    assert "passages: cut 3 (unknown then), further down 1 (unknown then), found 3 → 0" in text
    project.suite(SUITE.replace("recall@3", "recall@5"))
    result = project.run("-v", "--ir-markdown=out.md", "--ir-report=out.html")
    (query,) = [q for q in project.data["suites"][0]["queries"] if q["id"] == "cookies"]
    assert (query["before"], query["values"]) == ([None], [1.0])
    texts = [(project.path / name).read_text(encoding="utf-8") for name in ("out.md", "out.html")]
    for said in (result.stdout.str(), *texts):
        assert "0.000 →" not in said
    assert "unknown then" in texts[1]
