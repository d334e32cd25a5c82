"""Queries and judgments from files: every format with its traps, joined to the suite, errors at their lines."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from pytest_irquality import SuiteError, judge, load_suite, retrieve
from pytest_irquality.suite.files.formats import OF_QUERIES
from pytest_irquality.suite.keys import QUERY_KEYS
from tests.conftest import SHARED, Project

DATA = Path(__file__).parents[1] / "data" / "files"
WANTED = {"1": {"d1": 2, "d2": 0}, "2": {"d3": -1, "d4": 1}}


def judgments(path: Path) -> dict[str, dict[str, float]]:
    return {query.id: dict(query.judgments.grades) for query in load_suite(path).queries}


def suite(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "s.ir.yaml"
    path.write_text(text.replace("DATA", DATA.as_posix()), encoding="utf-8")
    return path


def refused(path: Path) -> str:
    with pytest.raises(SuiteError) as error:
        load_suite(path, shown=path.name)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith(
        f"{error.value.path}:{error.value.line}:{error.value.column}: "
    )
    return str(error.value)


@pytest.mark.parametrize(
    "name",
    [
        "qrels.trec",
        "qrels.trec.gz",
        "judgments.jsonl",
        "spreadsheet.csv",
        "spreadsheet.tsv",
        "mini-beir",
        "mini-beir/qrels/test.tsv",
        "qrels.*",
        "{file: 'DATA/qrels.trec', format: trec}",
        "{file: 'DATA/mini-beir/qrels/test.tsv', format: beir}",
    ],
)
def test_every_format_of_judgments(tmp_path: Path, name: str) -> None:
    named = name if name.startswith("{") else f"DATA/{name}"
    grades = "grades: {good: 2, ok: 1, bad: 0}\n"
    path = suite(tmp_path, f"{grades}queries: DATA/topics.tsv\njudgments: {named}\n")
    assert judgments(path) == WANTED
    unused = [] if "beir" in name else [f"{Path(DATA).as_posix()}/"]
    notes = load_suite(path).unasked
    assert len(notes) == (2 if "*" in name else len(unused))
    assert all(note.endswith("judges what the suite does not ask: '99'") for note in notes)


def test_quepid_judges_by_the_text_of_the_query(tmp_path: Path) -> None:
    path = suite(
        tmp_path,
        "judgments: DATA/quepid.csv\nqueries:\n"
        "  - {query: 'chair, office', id: q1}\n  - {query: 'chair, office', id: q2, params: {n: 1}}\n"
        "  - {query: 'say \"hi\"'}\n  - {query: '#1 seller', relevant: {d6: 1}}\n",
    )
    chair = {"d1": 2, "d2": 0}
    assert judgments(path) == {
        "q1": chair,
        "q2": chair,
        'say "hi"': {"d4": 1},
        "#1 seller": {"d6": 1, "d5": 1},
    }
    assert load_suite(path).unasked[0].endswith("does not ask: 'not asked'")


def test_a_file_of_judgments_by_text_is_a_file_of_queries_too(tmp_path: Path) -> None:
    path = suite(tmp_path, "queries: DATA/quepid.csv\n")
    assert list(judgments(path)) == ["chair, office", 'say "hi"', "not asked", "#1 seller"]
    assert [query.place.line for query in load_suite(path).queries] == [2, 4, 7, 8]


@pytest.mark.parametrize(
    "name",
    ["queries.csv", "topics.tsv", "mini-beir", "{file: 'DATA/list.txt', format: text}", "list.txt"],
)
def test_every_format_of_queries(tmp_path: Path, name: str) -> None:
    named = name if name.startswith("{") else f"DATA/{name}"
    queries = load_suite(suite(tmp_path, f"queries: [{named}]\n")).queries
    assert [query.text for query in queries] == ["office chair", "café table 😀"]
    assert all(query.bulk for query in queries)
    if "list" not in name:
        assert [query.id for query in queries] == ["1", "2"]
    if name == "queries.csv":
        assert (queries[0].tags, queries[0].weight, queries[1].weight) == (
            ("head", "furniture"),
            2,
            1,
        )


def test_a_beir_folder_asks_the_queries_of_one_split(tmp_path: Path) -> None:
    path = suite(tmp_path, "queries: DATA/mini-beir\njudgments: DATA/mini-beir/qrels/dev.tsv\n")
    assert "3" not in judgments(path)


def test_lines_of_jsonl_carry_what_a_query_may(project: Project) -> None:
    path = project.suite((DATA / "rules.jsonl").read_text("utf-8"), "rules.jsonl")
    path = project.suite(
        "queries: [rules.jsonl, {query: inline, must_find: [d1]}]\njudgments: q.trec\nthresholds: {zero_results: 9}\n"
    )
    project.suite("1 0 d1 2\n", "q.trec")
    loaded = load_suite(path, shown="shop.ir.yaml")
    first, second, third = loaded.queries
    assert (first.tags, first.why, first.place, third.bulk) == (
        ("head",),
        "revenue",
        (1, 1, "rules.jsonl"),
        False,
    )
    assert first.judgments.grades == {"d7": 1, "d1": 2}
    assert (second.weight, second.params) == (2.5, {"n": 3, "text": "4"})
    project.conftest(
        "@pytest.fixture\ndef retriever():\n    return lambda query, **params: ['d1'] if query == 'inline' else ['d2']\n"
    )
    result = project.run()
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*at rules.jsonl:1*"])
    assert project.outcomes() == {
        "1": "failed",
        "inline": "passed",
        "every-query-answered": "passed",
        "zero_results": "passed",
    }


def test_a_bulk_query_that_cannot_be_answered_is_an_error_with_its_cause(project: Project) -> None:
    project.suite("office chair\ndesk\nlamp\n", "list.txt")
    project.suite("queries: list.txt\n")
    project.conftest(
        "@pytest.fixture\ndef retriever():\n    def search(query):\n        if query != 'desk': raise KeyError('no index')\n"
        "        return ['d1']\n    return search\n"
    )
    result = project.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*raise KeyError('no index')*", "*'office chair' at list.txt:1; 2 queries failed so*"]
    )
    project.suite("queries: list.txt\nerrors: {max: 2}\n")
    project.run().assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("q.trec", "1 0 d1 1\n1 0 d2\n", "q.trec:2:1: a line of TREC qrels is 'query 0 document grade', not 3 columns"),
        ("q.trec", "1 0 d1 1\n1 0 d2 high\n", "q.trec:2:8: a grade must be a number, not 'high'"),
        ("q.trec", "1 0 d1 1\n1 0 d2 nan\n", "q.trec:2:8: a grade must be a number, not 'nan'"),
        ("q.trec", "1 0 d1 1\n2 0 d1 1\n1 0 d1 2\n", "q.trec:3:8: 'd1' is graded 2 here for '1', but 1 at q.trec:1"),
        ("q.tsv", "query-id\tcorpus-id\tscore\n1\td1\n", "q.tsv:2:1: a line of 2 cells under a header of 3"),
        ("q.tsv", "query-id\tcorpus-id\tscore\n1\td1\tgood\n", "q.tsv:2:6: a grade must be a number, not 'good'"),
        ("q.csv", "query,docid,rating\na,d1,goood\n", "q.csv:2:6: a grade must be a number or a word of grades (good), not 'goood'; did you mean 'good'?"),
        ("q.csv", "query,docid,rating\na,,1\n", "q.csv:2:4: a row without a document: "),
        ("q.csv", "query,docid,rating\n,d1,1\n", "q.csv:2:1: the query is empty"),
        ("q.csv", 'query,docid,rating\n"a,d1,1\n', "q.csv:2:1: not CSV"),
        ("q.csv", "query,rating\na,1\n", "q.csv:2:1: no document on this line"),
        ("q.csv", "query,docid\na,d1\n", "q.csv:2:1: no grade on this line"),
        ("q.csv", "what,ever,this\n1,2,3\n", "q.csv:1:1: cannot tell the format of these judgments; name it, as in {file: ..., format: trec}"),
        ("q.jsonl", '{"qid": "1", "docid": "d", "grade": 1}\n{"qid": "1"\n', "q.jsonl:2:12: not JSON: Expecting ',' delimiter"),
        ("q.jsonl", '{"qid": "1", "docid": "d", "grade": NaN}\n', "q.jsonl:1:1: NaN is no number"),
        ("q.jsonl", '{"qid": "1", "qid": "2"}\n', "q.jsonl:1:1: 'qid' is given twice"),
        ("q.jsonl", '{"qid": ["1"], "docid": "d", "grade": 1}\n', "q.jsonl:1:2: 'qid' must be text or a number"),
        ("q.jsonl", '{"qid": "1", "docid": "d", "grade": 1}\n{"query": "a", "docid": "d", "grade": 1}\n', "q.jsonl:2:12: some lines name their query by id"),
        ("q.jsonl", "{" + '"a":{' * 200_000, "q.jsonl:1:1: not JSON: nested too deep"),
        ("q.trec", "1 0 d1 1\n1 0 d\0 1\n", "q.trec:2:1: a NUL byte: this is no text file"),
        ("q.trec", b"1 0 d1 1\n1 0 \xff 1\n", "q.trec:2:5: not UTF-8 text"),
        ("q.trec", b"\x1f\x8b\x08\x00garbage", "q.trec:1:1: damaged gzip"),
        ("q.trec", gzip.compress(b"1 0 d1 1\n" * 5000, mtime=0)[:-20], "q.trec:1:1: damaged gzip"),
        ("q.trec", gzip.compress(b"x" * (20 << 20), mtime=0), "q.trec:1:1: a line longer than 16 MB"),
        ("q.trec", "", "q.trec:1:1: cannot tell the format"),
        ("q.txt", "office chair\n", "q.txt:1:1: this is a plain list of queries, which has no judgments"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "bytes",
)  # fmt: skip
def test_each_bad_line_is_an_error_at_its_place(
    tmp_path: Path, name: str, content: str | bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    path = suite(
        tmp_path,
        f"grades: {{good: 2}}\nqueries: [{{query: a}}, {{query: b, id: '1'}}]\njudgments: {name}\n",
    )
    assert refused(path).startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("queries: absent.csv\n", "s.ir.yaml:1:10: no such file: absent.csv"),
        ("queries: [{query: a}]\njudgments: absent*.csv\n", "s.ir.yaml:2:12: no file matches 'absent*.csv'"),
        ("queries: [{query: a}]\njudgments: {format: trec}\n", "s.ir.yaml:2:12: a file has no 'file'"),
        ("queries: [{query: a}]\njudgments: {file: x, format: trek}\n", "s.ir.yaml:2:30: 'format' must be trec or"),
        ("queries: [{file: x, query: a}]\n", "s.ir.yaml:1:21: 'query' does not go with 'file': this is a query or a file of them"),
        ("queries: DATA/qrels.trec\n", f"{DATA.as_posix()}/qrels.trec:1:1: this is TREC qrels, which has no queries"),
        ("queries: .\n", ".:1:1: is no BEIR folder"),
        ("queries: {file: /dev/zero}\n", "/dev/zero:1:1: is not a regular file"),
        ("queries:\n", "s.ir.yaml:1:1: 'queries' is empty"),
        ("queries: DATA/topics.tsv\njudgments: [DATA/qrels.trec, other.trec]\n", f"other.trec:1:1: 'd1' is graded 1 here for '1', but 2 at {DATA.as_posix()}/qrels.trec:2"),
        ("queries:\n  - query: b\n    id: 1\n    relevant:\n      x: 1\n      d1: 3\njudgments: other.trec\n", "other.trec:1:1: 'd1' is graded 1 here for '1', but 3 at s.ir.yaml:6"),
        ("queries: [{query: a, id: 1}, DATA/topics.tsv]\n", f"{DATA.as_posix()}/topics.tsv:1:1: the id '1' is already used at s.ir.yaml:1"),
        ("queries: [{query: a, id: 1, expect_no_results: true}]\njudgments: other.trec\n", "s.ir.yaml:1:29: a judgment file has relevant documents"),
        ("queries: bad.jsonl\n", "bad.jsonl:1:1: unknown key 'relevent'; did you mean 'relevant'?"),
        ("queries: dropped.jsonl\n", "dropped.jsonl:1:1: unknown key 'must_find_all'"),
        ("queries: foreign.jsonl\n", "foreign.jsonl:2:1: unknown key 'positives'"),
        ("queries: [{query: a}]\njudgments: graded.jsonl\n", "graded.jsonl:1:1: unknown key 'reference_contexts'"),
        ("queries: DATA/rules.jsonl\nthresholds: {ndgc: 1}\n", "s.ir.yaml:2:14: unknown measure"),
        ("queries: deep.jsonl\n", "deep.jsonl:1:1: nested deeper than 40 levels"),
        ("queries: rule.jsonl\n", "rule.jsonl:2:1: the rank of 'd1' must be a whole number of at least 1, not '0'"),
    ],
)  # fmt: skip
def test_each_mistake_in_naming_files_is_an_error_at_its_place(
    tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "other.trec").write_text("1 0 d1 1\n", encoding="utf-8")
    (tmp_path / "bad.jsonl").write_text('{"query": "a", "relevent": ["d"]}\n', encoding="utf-8")
    (tmp_path / "dropped.jsonl").write_text(
        '{"query": "a", "relevant": ["d"], "must_find_all": ["d"]}\n', encoding="utf-8"
    )
    (tmp_path / "foreign.jsonl").write_text(
        '{"_id": "1", "text": "a", "metadata": {"x": 1}}\n{"_id": "2", "text": "b", "positives": []}\n',
        encoding="utf-8",
    )
    (tmp_path / "graded.jsonl").write_text(
        '{"query": "a", "doc_id": "d", "grade": 1, "reference_contexts": []}\n', encoding="utf-8"
    )
    (tmp_path / "rule.jsonl").write_text(
        '\n{"query": "a", "must_find": {"d1": 0}}\n', encoding="utf-8"
    )
    deep = '{"query": "a", "params": ' + '{"a": ' * 500 + "1" + "}" * 501 + "\n"
    (tmp_path / "deep.jsonl").write_text(deep, encoding="utf-8")
    assert refused(suite(tmp_path, text)).startswith(said)


def test_what_cannot_be_opened_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert refused(suite(tmp_path, "queries: pipe\n")).startswith("pipe:1:1: is not a regular file")
    if os.geteuid():
        (tmp_path / "closed.csv").write_text("query\na\n", encoding="utf-8")
        (tmp_path / "closed.csv").chmod(0)
        assert refused(suite(tmp_path, "queries: closed.csv\n")).startswith(
            "closed.csv:1:1: cannot be read"
        )


def test_a_mark_before_utf_8_and_a_file_without_a_last_newline(tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_bytes("query\tdocid\trating\r\ncafé\td1\t2".encode("utf-8-sig"))
    (tmp_path / "q.trec").write_text("café 0 d1 2\ncafé 0 d2 1", encoding="utf-8")
    path = suite(tmp_path, "queries: q.tsv\njudgments: q.trec\n")
    assert judgments(path) == {"café": {"d1": 2, "d2": 1}}


@pytest.mark.skipif(not SHARED.is_dir(), reason="the collection of ../shared is not here")
@pytest.mark.parametrize("judgments", ["", "judgments: FOLDER/qrels/test.qrels\n"])
def test_a_collection_scored_from_its_files_gives_the_reference_figures(
    tmp_path: Path, judgments: str
) -> None:
    folder = SHARED / "data" / "cranfield"
    queries = "FOLDER/queries.jsonl" if judgments else "FOLDER"
    text = f"metrics: [ndcg@10, map@100, recall@100, mrr@10]\nqueries: {queries}\n{judgments}"
    loaded = load_suite(suite(tmp_path, text.replace("FOLDER", folder.as_posix())))
    run: dict[str, list[str]] = {}
    with gzip.open(folder / "runs" / "sqlite-fts5.run.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            query, _, document, *_ = line.split()
            run.setdefault(query, []).append(document)
    found = {query.text: run.get(query.id, []) for query in loaded.queries}
    result = judge(loaded, retrieve(loaded, lambda query: found[query]))
    truth = json.loads((folder / "truth.json").read_text("utf-8"))["sqlite-fts5"]["list"]
    wanted = [truth[name] for name in ("nDCG@10", "AP@100", "R@100", "RR@10")]
    assert [mean.value for mean in result.means if mean.tag is None] == pytest.approx(
        wanted, abs=1e-6
    )


@pytest.mark.skipif(not SHARED.is_dir(), reason="the collection of ../shared is not here")
def test_a_beir_folder_and_trec_qrels_say_the_same(tmp_path: Path) -> None:
    folder = SHARED / "data" / "cranfield"
    whole = judgments(suite(tmp_path, f"queries: {folder.as_posix()}\n"))
    parts = f"queries: {folder.as_posix()}/queries.jsonl\njudgments: {folder.as_posix()}/qrels/test.qrels\n"
    assert whole == judgments(suite(tmp_path, parts))
    assert (len(whole), sum(map(len, whole.values()))) == (225, 1837)
    texts = [
        json.loads(line)["text"]
        for line in (folder / "queries.jsonl").read_text("utf-8").splitlines()
    ]
    assert [query.text for query in load_suite(tmp_path / "s.ir.yaml").queries] == texts


def test_params_that_the_retriever_cannot_take_are_told_at_their_line(project: Project) -> None:
    project.suite('{"query": "a"}\n{"query": "b", "params": {"nope": 1}}\n', "q.jsonl")
    project.suite("queries: q.jsonl\n")
    project.conftest("@pytest.fixture\ndef retriever(): return lambda query: []\n")
    project.run().stdout.fnmatch_lines(
        ["*does not take 'nope' of 'params' (fixture 'retriever', q.jsonl:2)"]
    )
    project.suite("queries: [{query: a, must_find: [d]}]\n\nparams: {nope: 1}\n")
    project.run().stdout.fnmatch_lines(
        ["*does not take 'nope' of 'params' (fixture 'retriever', shop.ir.yaml:3)"]
    )


def test_a_file_of_judgments_passes_over_every_key_of_the_queries_beside_them() -> None:
    assert {*OF_QUERIES} == {*QUERY_KEYS}
