"""The suite that ``--ir-init`` writes: it loads, and offers what the file allows."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_irquality.suite.mistakes import SuiteError
from pytest_irquality.suite.suite_writer import (
    InitQuery,
    InitSource,
    format_first_suite,
    get_first_suite_path,
    read_init_source,
)
from tests.suite.helpers import SuiteFolder


def read(folder: SuiteFolder, name: str, content: str) -> InitSource:
    return read_init_source(folder.write(name, content), root=folder.path)


def test_a_list_of_queries(folder: SuiteFolder) -> None:
    source = read(folder, "q.csv", "id,query,tags\n1,red shoes,head\n2,red shoes,\n3,#tea: cup,\n")

    assert source.kind == "queries"
    assert source.queries == (InitQuery("red shoes", "1", ("head",)), InitQuery("#tea: cup", "3"))


def test_the_suite_of_a_list_loads_with_candidates_as_comments(folder: SuiteFolder) -> None:
    source = read(folder, "q.txt", "red shoes\n#teatime\nlamp\n")
    answered = [
        InitQuery("red shoes", documents={"sku-1": "Red shoe\nsize 5", "NO": ""}),
        InitQuery("#teatime", documents={}),
        InitQuery("lamp", error="Timeout: 5 s"),
    ]

    text = format_first_suite(source, "Shop search", answered)

    suite = folder.load(text)
    assert [query.text for query in suite.queries] == ["red shoes", "#teatime", "lamp"]
    assert suite.name == "Shop search"
    assert suite.grades == {"perfect": 3, "good": 2, "ok": 1, "bad": 0}
    (threshold,) = suite.thresholds
    assert threshold.max
    assert threshold.max.value == 1
    assert "    #   sku-1: ok   # Red shoe size 5\n" in text
    assert "    # Nothing was returned. If that is right, write: expect_no_results: true\n" in text
    assert "    # No answer: Timeout: 5 s\n" in text
    assert max(map(len, text.splitlines())) <= 120


def test_candidates_become_judgments_if_the_hash_is_removed(folder: SuiteFolder) -> None:
    source = read(folder, "q.txt", "red shoes\n")
    answered = [InitQuery("red shoes", documents={"0123": "a", "a: b": "", "- x": ""})]

    text = format_first_suite(source, "shop", answered)
    lines = [
        line.replace("# ", "", 1) if line.startswith("    # ") else line
        for line in text.splitlines()
    ]
    suite = folder.load("\n".join(lines) + "\n")

    assert suite.queries[0].judgments.grades == {"0123": 1, "a: b": 1, "- x": 1}


def test_a_file_of_judgments(folder: SuiteFolder) -> None:
    source = read(folder, "q.csv", "query,docid,rating\ntea,d1,2\n")

    suite = folder.load(format_first_suite(source, "Tea"))

    assert source.kind == "judgments"
    assert suite.queries[0].judgments.grades == {"d1": 2}
    assert suite.files == ("q.csv",)


@pytest.mark.parametrize(
    ("name", "content", "fields"),
    [
        ("catalog.jsonl", '{"id": "a", "title": "Chair", "description": "A chair"}\n', ("title", "description")),
        ("catalog.csv", "sku,Name,price\na,Chair,3\n", ("Name", "")),
        ("corpus.jsonl", '{"_id": "a", "title": "Chair", "text": "A chair", "metadata": {}}\n', ("title", "text")),
    ],
)  # fmt: skip
def test_a_catalog_becomes_probes(
    folder: SuiteFolder, name: str, content: str, fields: tuple[str, str]
) -> None:
    source = read(folder, name, content)

    suite = folder.load(format_first_suite(source, "Catalog"))

    assert source.kind == "catalog"
    assert (source.title_field, source.quoted_field) == fields
    assert suite.is_probe_suite
    assert [str(threshold.metric) for threshold in suite.thresholds] == ["success@10"]


def test_a_list_of_queries_with_titles_is_no_catalog(folder: SuiteFolder) -> None:
    source = read(folder, "q.csv", "query,title\ntea,Tea\n")

    assert source.kind == "queries"


def test_a_file_that_cannot_be_used(folder: SuiteFolder) -> None:
    with pytest.raises(SuiteError, match=r"q\.trec:1: This is TREC qrels, which has no queries"):
        read(folder, "q.trec", "1 0 d1 1\n")


def test_the_suite_is_next_to_the_file() -> None:
    assert get_first_suite_path(Path("a/q.csv.gz")) == Path("a/q.ir.yaml")
    assert get_first_suite_path(Path(".hidden")).name.endswith(".ir.yaml")
