"""Queries from files: every format, and what their lines may say."""

from __future__ import annotations

import json

import pytest

from pytest_irquality.suite.mistakes import Location
from pytest_irquality.suite.model import Query
from pytest_irquality.suite.rules import MustFind
from tests.suite.helpers import SuiteFolder, get_grades

TEXTS = ["office chair", "café table 😀"]


def load_queries(folder: SuiteFolder, name: str, content: str, more: str = "") -> tuple[Query, ...]:
    folder.write(name, content)
    return folder.load(f"queries: {name}\n{more}").queries


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("q.csv", "id,query\n1,office chair\n2,café table 😀\n"),
        ("q.csv", "id;query\n1;office chair\n2;café table 😀\n"),
        ("q.tsv", "query_id\tquery\n1\toffice chair\n2\tcafé table 😀\n"),
        ("q.tsv", "1\toffice chair\n2\tcafé table 😀\n"),
        (
            "q.jsonl",
            '{"_id": "1", "text": "office chair"}\n{"_id": "2", "text": "café table 😀"}\n',
        ),
        ("q.jsonl", '{"id": 1, "query": "office chair"}\n{"id": 2, "query": "café table 😀"}\n'),
    ],
    ids=range(6),
)
def test_every_format(folder: SuiteFolder, name: str, content: str) -> None:
    queries = load_queries(folder, name, content)

    assert [query.text for query in queries] == TEXTS
    assert [query.id for query in queries] == ["1", "2"]
    assert all(query.is_sampled for query in queries)
    assert queries[1].location == Location(name, len(content.splitlines()))


def test_a_list_has_a_query_on_each_line(folder: SuiteFolder) -> None:
    queries = load_queries(folder, "q.txt", "office chair\n\n# a comment\n#teatime\n")

    assert [query.text for query in queries] == ["office chair", "#teatime"]


def test_cells_have_tags_variants_and_weights(folder: SuiteFolder) -> None:
    content = 'query,tags,variants,weight,why\nchair,head;furniture,"chairs|a chair, red",2,sells\ndesk,,,,\n'

    chair, *variants, desk = load_queries(folder, "q.csv", content)

    assert (chair.tags, chair.weight, chair.why) == (("head", "furniture"), 2, "sells")
    assert [variant.text for variant in variants] == ["chairs", "a chair, red"]
    assert (desk.tags, desk.weight) == ((), 1)


def test_lines_of_json_have_the_keys_of_a_query(folder: SuiteFolder) -> None:
    line = {
        "query": "chair",
        "relevant": {"d7": 1, "0123": 2.5},
        "must_find": {"d7": 3},
        "tags": ["head"],
        "params": {"n": 3, "text": "4"},
        "thresholds": {"mrr@10": 0.5},
    }

    (query,) = load_queries(folder, "q.jsonl", json.dumps(line) + "\n")

    assert query.judgments.grades == {"d7": 1, "0123": 2.5}
    assert query.rules == (MustFind({"d7": 3}),)
    assert query.params == {"n": 3, "text": "4"}
    assert query.thresholds[0].location == Location("q.jsonl", 1)


def test_a_query_from_a_file_with_a_rule_is_an_item(folder: SuiteFolder) -> None:
    folder.write("q.jsonl", '{"query": "a", "must_find": ["d"]}\n{"query": "b"}\n')

    items = folder.load("queries: q.jsonl\n").items

    assert [item.name for item in items] == ["a", "answers", "baseline"]


def test_inline_queries_and_files_go_together(folder: SuiteFolder) -> None:
    folder.write("q.txt", "tea\n")

    suite = folder.load("queries:\n  - q.txt\n  - query: coffee\n    relevant: [d]\n")

    assert [(query.text, query.is_sampled) for query in suite.queries] == [
        ("tea", True),
        ("coffee", False),
    ]


def test_a_file_of_judgments_has_its_queries(folder: SuiteFolder) -> None:
    content = 'query,docid,rating\n"chair, office",d1,2\n"chair, office",d2,0\ntea,d3,1\n'
    folder.write("q.csv", content)

    suite = folder.load("queries: q.csv\n")

    assert get_grades(suite) == {"chair, office": {"d1": 2, "d2": 0}, "tea": {"d3": 1}}
    assert [query.location.line for query in suite.queries] == [2, 4]


def test_passages_of_a_sheet_are_relevant_with_match_text(folder: SuiteFolder) -> None:
    content = "question,expected passage\nrefunds?,paid within 14 days\nrefunds?,keep the receipt\n"

    (query,) = load_queries(folder, "q.csv", content, "match: text\n")

    assert query.judgments.grades == {"paid within 14 days": 1, "keep the receipt": 1}
    assert len(query.passages) == 2


def test_columns_that_are_not_read_are_named(folder: SuiteFolder) -> None:
    folder.write("q.csv", "qid,query,retrieval_gt\n1,refunds?,d1\n")

    suite = folder.load("queries: q.csv\n")

    assert not suite.has_judgments
    assert suite.notes == (
        "q.csv: 'qid' is the id of the query, 'query' is the query; ignored: 'retrieval_gt'",
    )


def test_a_list_may_have_ids_before_tabs(folder: SuiteFolder) -> None:
    queries = load_queries(folder, "q.txt", "q1\tgreen tea\nq2\tmint tea\n")

    assert [(query.id, query.text) for query in queries] == [
        ("q1", "green tea"),
        ("q2", "mint tea"),
    ]


def test_passages_need_a_suite_that_finds_passages(folder: SuiteFolder) -> None:
    folder.write("q.csv", "question,expected passage\nrefunds?,14 days\n")

    (mistake,) = folder.find_mistakes("queries: q.csv\n")

    assert mistake == (
        "q.csv:1: 'expected passage' has passages, which only 'match: text' finds. Write that into"
        " the suite, or rename the column."
    )


@pytest.mark.parametrize(
    ("name", "content", "mistake"),
    [
        ("q.csv", "query_id,query,product_id,my_label\n0,tea pot,P1,E\n0,tea pot,P2,I\n", "q.csv:1: No column is the grade. The columns are 'query_id', 'query', 'product_id' and 'my_label'. Rename one to rating or grade, or choose one with columns: {grade: 'my_label'}."),
        ("q.csv", "id,title\n1,chair\n", "q.csv:1: No column is the query. The columns are 'id' and 'title'."),
        ("q.csv", "query,question\na,b\n", "q.csv:1: 'query' and 'question' could both be the query."),
        ("q.csv", "id,query\n1,\n", "q.csv:2: This line has no query"),
        ("q.csv", "query,weight\na,heavy\n", "q.csv:2: 'weight' must be a number of 0 or more, not 'heavy'"),
        ("q.csv", "query,weight\na,-1\n", "q.csv:2: 'weight' must be a number of 0 or more, not '-1'"),
        ("q.csv", "id,query\n1,a\n1,b\n", "q.csv:3: The id '1' is already used on line 2"),
        ("q.jsonl", '{"query": "a", "relevent": ["d"]}\n', "q.jsonl:1: 'relevent' is not a key of a query or judgment. Did you mean 'relevant'?"),
        ("q.jsonl", '\n{"query": "a", "must_find": {"d1": 0}}\n', "q.jsonl:2: The rank of 'd1' must be a whole number from 1 to 10,000, not '0'"),
        ("q.jsonl", '{"query": "a", "params": ' + '{"a": ' * 50 + "1" + "}" * 51, "q.jsonl:1: This is nested deeper than 40 levels"),
        ("q.jsonl", "[1]\n{}\n", "q.jsonl:1: "),
        ("q.tsv", "1\ta\nb\n", "q.tsv:2: A line of topics is an id, a tab and the text of the query"),
        ("q.trec", "1 0 d 1\n", "q.trec:1: This is TREC qrels, which has no queries"),
    ],
    ids=range(13),
)  # fmt: skip
def test_a_bad_file_is_an_error_at_its_line(
    folder: SuiteFolder, name: str, content: str, mistake: str
) -> None:
    folder.write(name, content)

    (found,) = folder.find_mistakes(f"queries: {name}\n")

    assert found.startswith(mistake)


def test_the_same_id_in_a_file_and_the_suite_names_both_places(folder: SuiteFolder) -> None:
    folder.write("q.csv", "id,query\n1,a\n")

    (mistake,) = folder.find_mistakes("queries: [{query: b, id: 1}, q.csv]\n")

    assert mistake == "q.csv:2: The id '1' is already used in shop.ir.yaml:1"


def test_a_folder_that_is_no_data_set(folder: SuiteFolder) -> None:
    (folder.path / "data").mkdir()

    (mistake,) = folder.find_mistakes("queries: data\n")

    assert mistake == (
        "data:1: The folder is not a BEIR data set, because it has no qrels/test.tsv"
    )
