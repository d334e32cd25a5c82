"""Several answers and other wordings, through ``pytest --ir-suite``."""

from __future__ import annotations

import pytest

from tests.conftest import Project

SUITE = """\
metrics: [mrr@10]
queries:
  - {query: office chair, relevant: [a], variants: [offoce chair, ofifce chair, office chiar]}
  - {query: garden hose, relevant: [b], variants: [gardne hose, gardeb hose, garden hosr]}
robustness: {mrr@10: {max_drop: 0.25}, zero_results: {max: 0}}
"""
EXACT = """\
ANSWERS = {'office chair': ['a'], 'garden hose': ['b']}
@pytest.fixture
def retriever():
    return lambda query: ANSWERS.get(query, [])
"""
FORGIVING = """\
@pytest.fixture
def retriever():
    return lambda query: ['a' if 'ch' in query or 'of' in query else 'b']
"""


def test_s24_a_search_that_finds_only_what_is_typed_right(project: Project) -> None:
    project.suite(SUITE)
    project.conftest(EXACT)
    result = project.run()
    assert result.ret == 1
    outcomes = project.outcomes()
    assert outcomes["robustness-mrr-10"] == "failed"
    assert outcomes["robustness-zero_results"] == "failed"
    text = result.stdout.str()
    assert "mrr@10 is 1.000 for the queries and 0.000 for their variants" in text
    mistyped = project.data["suites"][0]["robustness"]
    assert len(mistyped["empty"]) == 6
    assert mistyped["empty"][0]["text"] in text  # the text that finds nothing, to be copied
    assert "variants: zero_results is 6, above its ceiling 0: 'offoce chair'" in text


def test_s24_a_forgiving_search_passes(project: Project) -> None:
    project.suite(SUITE)
    project.conftest(FORGIVING)
    result = project.run()
    assert result.ret == 0, result.stdout.str()


def test_queries_are_asked_as_often_as_the_option_says(project: Project) -> None:
    project.suite("metrics: [mrr@10]\nqueries: [{query: a, relevant: [d]}]\nrepeat: 2\n")
    project.conftest(
        "ASKED = []\n"
        "@pytest.fixture(scope='session')\n"
        "def retriever():\n"
        "    def search(query):\n"
        "        ASKED.append(query)\n"
        "        return ['d'] if len(ASKED) % 2 else ['x', 'd']\n"
        "    yield search\n"
        "    print('ASKED', len(ASKED))\n"
    )
    result = project.run("-s")
    assert "ASKED 2" in result.stdout.str()
    assert project.data["suites"][0]["means"][0]["value"] == 3 / 4
    assert "ASKED 3" in project.run("-s", "--ir-repeat=3").stdout.str()
    assert project.run("--ir-repeat=0").ret == 4


@pytest.mark.usefixtures("pages")
def test_every_report_shows_them(project: Project) -> None:
    project.suite(SUITE + "repeat: 2\n")
    project.conftest(
        "N = [0]\n"
        "@pytest.fixture\ndef retriever():\n"
        "    def search(query):\n"
        "        N[0] += 1\n"
        "        return [['a', 'b'], ['b', 'c']][N[0] % 2] if query == 'office chair' else ['b']\n"
        "    return search\n"
    )
    text = project.run("-v", "--ir-markdown=out.md").stdout.str()
    assert "unchanged code: 2 answers to each query today; repeats of one build" in text
    assert "6 variants of 2 queries" in text
    page = (project.path / "ir-report.html").read_text(encoding="utf-8")
    assert "Other wordings" in page
    assert "What unchanged code does" in page
    assert "6 variants of 2 queries" in (project.path / "out.md").read_text(encoding="utf-8")
