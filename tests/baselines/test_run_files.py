"""Files of answers: what is written is read, and what is damaged is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pytest_irquality.baselines.run_files import (
    DamagedFileError,
    RunHeader,
    decode_run,
    encode_row,
    encode_run,
    encode_run_file,
    read_run_lines,
    split_request,
)
from pytest_irquality.baselines.sources import BaselineError
from pytest_irquality.passages.matching import ALL_PASSAGES
from pytest_irquality.retrieval.run import Provenance, QueryError, Ranking, Run
from pytest_irquality.suite.model import make_request

HEADER = {"format": "pytest-irquality run", "format_version": 2, "path": "s.ir.yaml", "depth": 10}
END = {"end": "pytest-irquality run"}
ROW = {"id": "tea", "query": "tea", "docs": [["t1", 1.5, "Green tea"], ["t2", 0.5]]}


def make_lines(*rows: object) -> list[tuple[int, str]]:
    texts = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    return list(enumerate(texts, start=1))


def read(*rows: object) -> Run:
    return read_run_lines(make_lines(HEADER, "", *rows, END), "s.jsonl").run


FULL_RUN = Run(
    answers={
        make_request("tea", {"locale": "en", "boost": [1.5, None]}): (
            Ranking(("t1", "t1", "t2"), (3.25, 1 / 3, -0.0), 0.125, sizes={"words": (1.0, 2.0, 3.0)}),
            Ranking(("t3",), fields=({"price": 3, "tags": ["a", {"b": None}]},)),
        ),
        "a \n{}": (Ranking(("c1", "c2"), texts=("paid within", "14 days"), passages={ALL_PASSAGES: ("paid", "14"), 0: ("paid",)}),),
        "nothing": (Ranking(),),
        'quotes " and \ud800': (Ranking(("\udc00",), (1e300,)),),
    },
    errors={"mint": QueryError("timed out", "timed out"), "skipped": QueryError("no", is_skipped=True)},
    titles={"t1": "Green tea", "t3": "Mint tea"},
    stages={
        "bm25": Run({"nothing": (Ranking(("t9",), (1.0,)), Ranking(("t8",)))}, {"mint": QueryError("down")}, provenance=Provenance(depth=100)),
    },
    missing_doc_ids=frozenset({"t7"}),
    provenance=Provenance("runs/nightly", "abc", 10, 3, is_interrupted=True),
    notes=("texts were cut",),
)  # fmt: skip


def test_a_run_is_decoded_as_it_was_encoded() -> None:
    decoded = decode_run(encode_run(FULL_RUN))

    assert decode_run(encode_run(decoded)) == decoded
    assert set(decoded.answers) == set(FULL_RUN.answers)
    for request, rankings in FULL_RUN.answers.items():
        for ranking, expected in zip(decoded.answers[request], rankings, strict=True):
            assert list(ranking.scores or ()) == list(expected.scores or ())
            assert replace(ranking, scores=None) == replace(expected, scores=None)
    assert decoded.errors == FULL_RUN.errors
    assert decoded.titles == FULL_RUN.titles
    assert decoded.provenance == FULL_RUN.provenance
    assert decoded.stages["bm25"].provenance.depth == 100
    assert decoded.stages["bm25"].errors == FULL_RUN.stages["bm25"].errors
    assert decoded.stages["bm25"].answers["nothing"][1].doc_ids == ("t8",)
    assert (decoded.missing_doc_ids, decoded.notes) == (FULL_RUN.missing_doc_ids, FULL_RUN.notes)


JSON_VALUES = (
    st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text(), max_size=2)
)


@given(st.text(), st.dictionaries(st.text(), JSON_VALUES, max_size=2))
def test_a_request_is_split_into_text_and_parameters(text: str, params: dict[str, Any]) -> None:
    request = make_request(text, params)

    split_text, split_params = split_request(request)

    assert make_request(split_text, split_params) == request
    if params:
        assert (split_text, split_params) == (text, params)


def test_a_line_repeats_all_titles_unless_the_file_has_them() -> None:
    run = Run({"a": (Ranking(("d1",)),), "b": (Ranking(("d1",), (2.0,)),)}, titles={"d1": "Desk"})
    known: set[str] = set()

    alone = encode_row(run, "b")
    lines = [encode_row(run, request, known_titles=known) for request in "ab"]

    assert alone == '{"query":"b","docs":[["d1",2.0,"Desk"]]}'
    assert lines[0] == '{"query":"a","docs":[["d1",null,"Desk"]]}'
    assert lines[1] == '{"query":"b","docs":[["d1",2.0]]}'


def test_lines_are_sorted_and_separated() -> None:
    lines = {
        "b": '{"query":"b","docs":[]}',
        make_request("a", {"k": 1}): '{"query":"a","params":{"k":1},"docs":[]}',
    }

    content = b"".join(encode_run_file(RunHeader(path="s.ir.yaml", depth=10), lines)).decode()

    assert content.splitlines() == [
        '{"format":"pytest-irquality run","format_version":2,"path":"s.ir.yaml","depth":10}',
        "",
        '"a"',
        '{"query":"a","params":{"k":1},"docs":[]}',
        "",
        '"b"',
        '{"query":"b","docs":[]}',
        "",
        '{"end":"pytest-irquality run"}',
    ]


def test_ids_and_titles_that_occur_again_share_one_string() -> None:
    run = read(ROW, {"query": "mint", "docs": [["t2", 1], ["t1", None]]})

    first, second = run.answers["tea"][0], run.answers["mint"][0]
    assert first.doc_ids[0] is second.doc_ids[1]
    assert run.titles == {"t1": "Green tea"}
    assert list(second.scores or ())[:1] == [1.0]


def test_the_depth_of_a_run_is_that_of_its_shallowest_line() -> None:
    assert read(ROW).provenance.depth == 10
    assert read({**ROW, "depth": 5}).provenance.depth == 5


DAMAGED_ROWS: dict[str, object] = {
    "empty columns": {"query": "tea", "docs": [[], [], []]},
    "one empty column": {"query": "tea", "docs": [["t1"], []]},
    "id is a number": {"query": "tea", "docs": [[1, 2.0]]},
    "ids are numbers": {"query": "tea", "docs": [1]},
    "mixed": {"query": "tea", "docs": ["t1", ["t2"]]},
    "nested": {"query": "tea", "docs": [[["t1"]]]},
    "score is a text": {"query": "tea", "docs": [["t1", "2"]]},
    "score is true": {"query": "tea", "docs": [["t1", True]]},
    "score is infinite": '{"query": "tea", "docs": [["t1", Infinity]]}',
    "score is huge": {"query": "tea", "docs": [["t1", 10**400]]},
    "title is a number": {"query": "tea", "docs": [["t1", 2.0, 3]]},
    "four columns": {"query": "tea", "docs": [["t1", 2.0, "t", 1]]},
    "docs is an object": {"query": "tea", "docs": {}},
    "docs is null": {"query": "tea", "docs": None},
    "too many documents": {"query": "tea", "docs": ["d"] * 10_001},
    "no docs": {"query": "tea"},
    "no docs but stages": {"query": "tea", "stages": {}},
    "unknown key": {"query": "tea", "doc": []},
    "params is a list": {"query": "tea", "docs": [], "params": []},
    "id is null": {"id": None, "query": "tea", "docs": []},
    "depth is 0": {"query": "tea", "docs": [], "depth": 0},
    "answers is an object": {"query": "tea", "docs": [], "answers": {}},
    "an answer is a list": {"query": "tea", "docs": [], "answers": [[]]},
    "an answer is damaged": {"query": "tea", "docs": [], "answers": [{"docs": [[]]}]},
    "a stage is a text": {"query": "tea", "docs": [], "stages": {"bm25": "t1"}},
    "a stage is damaged": {"query": "tea", "docs": [], "stages": {"bm25": {"docs": [[], []]}}},
    "error is null": {"query": "tea", "error": None},
    "seconds is a text": {"query": "tea", "docs": [], "seconds": "1"},
    "texts is too short": {"query": "tea", "docs": ["t1", "t2"], "texts": ["a"]},
    "texts has a number": {"query": "tea", "docs": ["t1"], "texts": [1]},
    "fields is an object": {"query": "tea", "docs": ["t1"], "fields": {}},
    "sizes is too short": {"query": "tea", "docs": ["t1"], "sizes": {"words": []}},
    "a size is negative": {"query": "tea", "docs": ["t1"], "sizes": {"words": [-1]}},
    "passages is a list": {"query": "tea", "docs": ["t1"], "passages": []},
    "passages names a hit too many": {"query": "tea", "docs": ["t1"], "passages": {"a": [1]}},
}  # fmt: skip


@pytest.mark.parametrize("case", DAMAGED_ROWS)
def test_every_damaged_row_is_refused_with_its_line_and_query(case: str) -> None:
    with pytest.raises(DamagedFileError, match=r"^s\.jsonl:4: The answer to 'tea' is damaged: "):
        read({"query": "mint", "docs": []}, DAMAGED_ROWS[case])


DAMAGED_FILES: dict[str, tuple[list[object], str]] = {
    "not JSON": ([HEADER, "{", END], "s.jsonl:2: The file is damaged: the line is not JSON."),
    "a list": ([HEADER, [], END], "s.jsonl:2: The file is damaged: the line is not a JSON object."),
    "no query": ([HEADER, {"docs": []}, END], "s.jsonl:2: The file is damaged: the line has no 'query'."),
    "deep nesting": ([HEADER, '{"query":' + "[" * 100_000, END], "s.jsonl:2: The file is damaged: the line is not JSON."),
    "cut off": ([HEADER, ROW], "s.jsonl:2: The file is damaged: the file is cut off here."),
    "something follows": ([HEADER, END, ROW], "s.jsonl:3: The file is damaged: there is text after the last line."),
    "another version": ([{**HEADER, "format_version": 9}, END], "s.jsonl:1: The format is 9, and this version of pytest-irquality reads 2."),
    "no depth": ([{**HEADER, "depth": "10"}, END], "s.jsonl:1: The file is damaged: the header has no valid 'depth'."),
    "two answers": ([HEADER, ROW, {**ROW, "docs": []}, END], "s.jsonl:3: The answer to 'tea' is damaged: line 2 has another answer to this query, perhaps after a merge."),
}  # fmt: skip


@pytest.mark.parametrize("case", DAMAGED_FILES)
def test_a_damaged_file_is_refused(case: str) -> None:
    rows, message = DAMAGED_FILES[case]

    with pytest.raises(DamagedFileError) as caught:
        read_run_lines(make_lines(*rows), "s.jsonl")

    assert str(caught.value) == message


def test_a_query_cannot_act_on_a_terminal_or_ci() -> None:
    """S31: workflow commands and escape sequences in data."""
    query = "tea\n::error ::broken\x1b[31m" + "x" * 200

    with pytest.raises(DamagedFileError) as caught:
        read({"query": query, "docs": [[]]})

    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 250


def test_a_line_that_both_sides_of_a_merge_added_is_read_once() -> None:
    run = read(ROW, ROW)

    assert list(run.answers) == ["tea"]


def test_a_merge_conflict_names_its_first_query_and_the_repair() -> None:
    conflict = ["<<<<<<< HEAD", ROW, "=======", {**ROW, "query": "mint"}, ">>>>>>> change"]
    lines = make_lines(HEADER, *conflict, {"query": "x", "docs": []}, END)

    with pytest.raises(DamagedFileError) as caught:
        read_run_lines(lines, "s.jsonl", repair_hint="Update s.ir.yaml.")

    assert str(caught.value) == (
        "s.jsonl:2: The answer to 'tea' is damaged: there is a merge conflict. Update s.ir.yaml."
    )


@pytest.mark.parametrize("content", ["", "{}", "[1]", "<html>", '{"format": "other"}'])
def test_another_file_is_not_called_damaged(content: str) -> None:
    with pytest.raises(BaselineError, match=r"s\.jsonl:1: This is not a baseline") as caught:
        read_run_lines(make_lines(content), "s.jsonl")

    assert not isinstance(caught.value, DamagedFileError)
