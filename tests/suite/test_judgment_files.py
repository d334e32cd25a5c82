"""Judgments from files: every format, several assessors, and how they join those in the suite."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from pytest_irquality.suite.data_files import GRADED_COLUMNS
from pytest_irquality.suite.parser import load_suite
from tests.suite.helpers import SuiteFolder, get_grades

QUERIES = "queries: [{query: office chair, id: 1}, {query: desk, id: 2}]\n"
GRADES = {"1": {"d1": 2, "d2": 0}, "2": {"d3": -1, "d4": 1}}
PAIRS = [("1", "d1", 2), ("1", "d2", 0), ("2", "d3", -1), ("2", "d4", 1), ("99", "d1", 1)]
TREC = "".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in PAIRS)
JSON = "".join(
    json.dumps({"query_id": query, "doc_id": doc, "rating": grade}) + "\n"
    for query, doc, grade in PAIRS
)
HEADER = "query_id,query,doc_id,rating,assessor,date,note\n"
DECIDED = ",".join(GRADED_COLUMNS) + "\n"


def make_table(header: str, delimiter: str) -> str:
    rows = ["".join(f"{query}{delimiter}{doc}{delimiter}{grade}\n") for query, doc, grade in PAIRS]
    return header.replace(",", delimiter) + "\n" + "".join(rows)


# -- Formats --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("qrels.trec", TREC),
        ("qrels.trec", TREC.replace(" ", "\t")),
        ("qrels.trec", "# a comment\n\n" + TREC.replace("\n", "\r\n")),
        ("qrels.trec", TREC.encode("utf-16")),
        ("qrels.trec", b"\xef\xbb\xbf" + TREC.encode()),
        ("qrels.trec.gz", gzip.compress(TREC.encode(), mtime=0)),
        ("qrels.tsv", make_table("query-id,corpus-id,score", "\t")),
        ("qrels.tsv", make_table("query-id,corpus-id,score", "\t").replace("d1\t2", '"d1"\t2')),
        ("sheet.csv", make_table("query_id,doc_id,rating", ",")),
        ("sheet.csv", make_table("qid,docno,label", ";")),
        ("sheet.tsv", make_table("Query ID,Doc,Grade", "\t")),
        ("qrels.jsonl", JSON),
    ],
    ids=range(12),
)
def test_every_format(folder: SuiteFolder, name: str, content: str | bytes) -> None:
    folder.write(name, content)

    suite = folder.load(f"{QUERIES}judgments: {name}\n")

    assert get_grades(suite) == GRADES
    assert suite.files == (name,)
    unused = f"{name}: ignored judgments of 1 query not in the suite ('99')"
    assert unused in suite.notes


def test_grades_may_be_words_in_tables(folder: SuiteFolder) -> None:
    folder.write("q.csv", "query,docid,rating\noffice chair,d1,good\ndesk,d2,bad\n")

    suite = folder.load(f"grades: {{good: 2, bad: 0}}\n{QUERIES}judgments: q.csv\n")

    assert get_grades(suite) == {"1": {"d1": 2}, "2": {"d2": 0}}


def test_letters_of_esci_are_grades(folder: SuiteFolder) -> None:
    folder.write("q.csv", "query,product_id,esci_label\ndesk,d1,E\ndesk,d2,S\ndesk,d3,I\n")

    assert get_grades(folder.load("queries: q.csv\n"))["desk"] == {"d1": 1, "d2": 0.1, "d3": 0}
    own = folder.load("grades: {E: 3, S: 2, I: 0}\nqueries: q.csv\n")
    assert get_grades(own)["desk"] == {"d1": 3, "d2": 2, "d3": 0}


def test_judgments_by_text_apply_to_every_query_with_this_text(folder: SuiteFolder) -> None:
    folder.write("q.csv", 'query,docid,rating\n"chair, office",d1,2\n#1 seller,d5,1\n')

    suite = folder.load(
        "judgments: q.csv\n"
        "queries: [{query: 'chair, office', id: a}, {query: 'chair, office', id: b, params: {n: 1}},"
        " {query: '#1 seller'}]\n"
    )

    assert get_grades(suite) == {"a": {"d1": 2}, "b": {"d1": 2}, "#1 seller": {"d5": 1}}


def test_a_beir_folder_has_its_test_split(folder: SuiteFolder) -> None:
    folder.write("beir/queries.jsonl", '{"_id": "1", "text": "chair"}\n{"_id": "3", "text": "x"}\n')
    folder.write("beir/qrels/test.tsv", "query-id\tcorpus-id\tscore\n1\td1\t2\n")

    suite = folder.load("queries: beir\n")

    assert get_grades(suite) == {"1": {"d1": 2}}
    assert suite.queries[0].is_sampled
    assert set(suite.files) == {"beir/qrels/test.tsv", "beir/queries.jsonl"}


def test_patterns_name_several_files(folder: SuiteFolder) -> None:
    folder.write("a.trec", "1 0 d1 2\n")
    folder.write("b.trec", "1 0 d2 0\n2 0 d3 1\n")

    suite = folder.load(f"{QUERIES}judgments: '*.trec'\n")

    assert get_grades(suite) == {"1": {"d1": 2, "d2": 0}, "2": {"d3": 1}}


def test_comment_lines_are_counted_and_hash_signs_in_data_stay(folder: SuiteFolder) -> None:
    folder.write("q.trec", "# made in May\n#\n#1 0 t1 1\n2 0 t2 1\n")
    folder.write("topics.tsv", "#1\tone\n2\ttwo\n")

    suite = folder.load("queries: topics.tsv\njudgments: q.trec\n")

    assert get_grades(suite) == {"#1": {"t1": 1}, "2": {"t2": 1}}
    assert suite.notes == ("q.trec: 2 comment lines ignored",)


def test_the_columns_used_are_noted(folder: SuiteFolder) -> None:
    folder.write("q.csv", "query,docid,rank,score,label\ndesk,d1,0,14.5,0\ndesk,d2,1,6.2,1\n")

    suite = folder.load("queries: q.csv\n")

    assert get_grades(suite) == {"desk": {"d1": 0, "d2": 1}}
    assert suite.notes == (
        "q.csv: 'query' is the query, 'docid' is the document, 'label' is the grade;"
        " ignored: 'rank' and 'score'",
    )


def test_the_suite_chooses_columns(folder: SuiteFolder) -> None:
    folder.write("q.csv", "query,docid,score,label\ndesk,d1,3,0\n")

    suite = folder.load("queries: {file: q.csv, columns: {grade: score}}\n")

    assert get_grades(suite) == {"desk": {"d1": 3}}


@pytest.mark.parametrize(
    ("name", "content", "mistake"),
    [
        ("q.trec", "1 0 d 1\n", "q.trec:1: This is TREC qrels, which has no 'columns' to choose"),
        ("q.jsonl", '{"query": "a", "docid": "d", "grade": 1}\n', "q.jsonl:1: No line has the key 'mark' that 'columns' names"),
        ("q.csv", "query,docid,grade\na,d,1\n", "q.csv:1: There is no column 'mark'. The columns are 'query', 'docid' and 'grade'."),
    ],
)  # fmt: skip
def test_a_chosen_column_must_be_there(
    folder: SuiteFolder, name: str, content: str, mistake: str
) -> None:
    folder.write(name, content)

    mistakes = folder.find_mistakes(
        f"{QUERIES}judgments: {{file: {name}, columns: {{grade: mark}}}}\n"
    )

    assert mistakes == [mistake]


def test_cells_of_our_own_files_are_unescaped(folder: SuiteFolder) -> None:
    folder.write("q.csv", DECIDED + "'=1,'=sum,'-d1,2,,anna,,\n")

    suite = folder.load("queries: q.csv\n")

    assert get_grades(suite) == {"=1": {"-d1": 2}}


IDS = st.text("abcd1234-_.#", min_size=1, max_size=4).filter(lambda text: text.strip("#"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.dictionaries(st.tuples(IDS, IDS), st.integers(-2, 3), min_size=1, max_size=12))
def test_the_fast_way_to_read_qrels_gives_the_same_as_the_careful_one(
    folder: SuiteFolder, grades: dict[tuple[str, str], int]
) -> None:
    lines = [f"{query} 0 {doc} {grade}" for (query, doc), grade in grades.items()]
    queries = dict.fromkeys(query for query, _ in grades)
    text = "queries:\n" + "".join(f"  - {{query: '{query}'}}\n" for query in queries)
    folder.write("fast.trec", "\n".join(lines) + "\n")
    folder.write("careful.trec", "# a comment\n" + "\n".join(lines) + "\n")

    fast = get_grades(folder.load(f"{text}judgments: fast.trec\n"))
    careful = get_grades(folder.load(f"{text}judgments: careful.trec\n"))

    assert fast == careful
    assert sum(map(len, fast.values())) == len(grades)


# -- Joining --------------------------------------------------------------------------------------


def test_judgments_in_the_suite_win_and_are_counted(folder: SuiteFolder) -> None:
    folder.write("q.trec", "1 0 d1 0\n1 0 d2 2\n1 0 d3 1\n")

    suite = folder.load(
        "queries: [{query: a, id: 1, relevant: {d1: 3, d3: 1, d4: 2}}]\njudgments: q.trec\n"
    )

    assert get_grades(suite) == {"1": {"d1": 3, "d2": 2, "d3": 1, "d4": 2}}
    assert suite.notes == ("1 judgment in the suite overrides judgments from files",)


def test_two_files_that_disagree_are_an_error_with_both_places(folder: SuiteFolder) -> None:
    folder.write("a.trec", "2 0 d9 1\n1 0 d1 2\n")
    folder.write("b.trec", "1 0 d1 1\n")

    mistakes = folder.find_mistakes(f"{QUERIES}judgments: [a.trec, b.trec]\n")

    assert mistakes == [
        "b.trec:1: 'd1' has grade 1 for '1' here, and 2 at a.trec:2."
        " Correct one, or decide under 'relevant' in the suite."
    ]


def test_two_files_that_agree_are_fine(folder: SuiteFolder) -> None:
    folder.write("a.trec", "1 0 d1 2\n")
    folder.write("b.csv", "query_id,docid,rating\n1,d1,2\n1,d2,1\n")

    suite = folder.load(f"{QUERIES}judgments: [a.trec, b.csv]\n")

    assert get_grades(suite)["1"] == {"d1": 2, "d2": 1}


def test_a_query_that_expects_nothing_has_no_relevant_document(folder: SuiteFolder) -> None:
    folder.write("q.trec", "1 0 d1 1\n")

    mistakes = folder.find_mistakes(
        "queries:\n  - {query: a, id: 1, expect_no_results: true}\njudgments: q.trec\n"
    )

    assert mistakes == [
        "shop.ir.yaml:2: A file of judgments has relevant documents for this query,"
        " which contradicts 'expect_no_results'"
    ]


# -- Assessors ------------------------------------------------------------------------------------


def make_row(doc: str, rating: str, assessor: str, date: str = "") -> str:
    return f"1,office chair,{doc},{rating},{assessor},{date},\n"


def test_the_grades_of_several_assessors_have_a_mean(folder: SuiteFolder) -> None:
    rows = [
        make_row("a", "3", "anna"),
        make_row("b", "1", "anna"),
        make_row("a", "0", "ben"),
        make_row("b", "0", "ben"),
        make_row("d", "2", "ben"),
        make_row("b", "0", "cleo"),
    ]
    folder.write("q.csv", HEADER + "".join(rows))

    query = folder.load(f"{QUERIES}judgments: q.csv\n").queries[0]

    assert query.judgments.grades == {"a": 1.5, "b": pytest.approx(1 / 3), "d": 2}
    assert query.judgments.relevant == {"a", "d"}
    assert query.assessor_grades["b"] == {"anna": 1, "ben": 0, "cleo": 0}


def test_the_mean_is_within_one_file_only(folder: SuiteFolder) -> None:
    folder.write("anna.csv", HEADER + make_row("a", "3", "anna"))
    folder.write("ben.csv", HEADER + make_row("a", "0", "ben"))

    (mistake,) = folder.find_mistakes(f"{QUERIES}judgments: [anna.csv, ben.csv]\n")

    assert mistake.startswith("ben.csv:2: 'a' has grade 0 for '1' here, and 3 at anna.csv:2.")


def test_the_suite_overrides_all_assessors(folder: SuiteFolder) -> None:
    folder.write("q.csv", HEADER + make_row("a", "3", "anna") + make_row("a", "0", "ben"))

    suite = folder.load("queries: [{query: x, id: 1, relevant: {a: 2}}]\njudgments: q.csv\n")

    query = suite.queries[0]
    assert query.judgments.grades == {"a": 2}
    assert query.assessor_grades == {}


def test_two_grades_of_one_assessor_are_an_error(folder: SuiteFolder) -> None:
    rows = make_row("a", "3", "anna", "2026-03-01") + make_row("a", "1", "anna", "2026-03-02")
    folder.write("q.csv", HEADER + rows)

    (mistake,) = folder.find_mistakes(f"{QUERIES}judgments: q.csv\n")

    assert mistake == (
        "q.csv:3: 'a' has grade 1 for '1' here, and 3 on line 2, from the same assessor 'anna'"
    )


def test_a_decision_wins_over_all_grades(folder: SuiteFolder) -> None:
    rows = "1,chair,a,3,,anna,,\n1,chair,a,0,,ben,,\n1,chair,a,,2,cleo,2026-04-01,\n1,chair,b,1,,anna,,\n"
    folder.write("q.csv", DECIDED + rows)

    query = folder.load(f"{QUERIES}judgments: q.csv\n").queries[0]

    assert query.judgments.grades == {"a": 2, "b": 1}
    assert list(query.assessor_grades) == ["b"]


def test_rows_without_a_grade_are_still_to_grade(folder: SuiteFolder) -> None:
    folder.write(
        "q.csv", DECIDED + "1,office chair,a,,,anna,,in Dutch\n1,office chair,,,,anna,,skipped\n"
    )

    assert get_grades(folder.load(f"{QUERIES}judgments: q.csv\n")) == {"1": {}, "2": {}}


# -- Mistakes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "mistake"),
    [
        ("q.trec", "1 0 d1 1\n1 0 d2\n", "q.trec:2: A line of TREC qrels is 'query 0 document grade', but this has 3 columns"),
        ("q.trec", "1 0 d1 1\n1 0 d2 high\n", "q.trec:2: A grade must be a number, not 'high'"),
        ("q.trec", "1 0 d1 1\n1 0 d2 nan\n", "q.trec:2: A grade must be a number, not 'nan'"),
        ("q.trec", "1 0 d1 1\n2 0 d1 1\n1 0 d1 2\n", "q.trec:3: 'd1' has grade 2 for '1' here, and 1 on line 1"),
        ("q.tsv", "query-id\tcorpus-id\tscore\n1\td1\n", "q.tsv:2: The line has 2 cells, and the header has 3"),
        ("q.tsv", "query-id\tcorpus-id\tscore\n1\td1\t1\n1 d2 1\n\n", "q.tsv:3: The line has 1 cells"),
        ("q.csv", "query,docid,rating\na,d1,goood\n", "q.csv:2: A grade must be a number or a word of 'grades' ('good'), not 'goood'. Did you mean 'good'?"),
        ("q.csv", "query,docid,rating\na,,1\n", "q.csv:2: This line has a grade, but no document"),
        ("q.csv", "query,docid,rating\n,d1,1\n", "q.csv:2: The query is empty"),
        ("q.csv", 'query,docid,rating\n"a,d1,1\n', "q.csv:2: This is not CSV: "),
        ("q.csv", "query,rating\na,1\n", "q.csv:1: No column is the document. The columns are 'query' and 'rating'."),
        ("q.csv", "query,docid,score\na,d1,3\n", "q.csv:1: No column is the grade. The columns are 'query', 'docid' and 'score'. Rename one to rating or grade, or choose one with columns: {grade: 'score'}."),
        ("q.csv", "what,ever,this\n1,2,3\n", "q.csv:1: No column is the query. The columns are 'what', 'ever' and 'this'."),
        ("q.csv", "query,docid,rating,label\na,d1,1,1\n", "q.csv:1: 'rating' and 'label' could both be the grade."),
        ("q.csv", "query_id,query,doc_id,rating\n1,chair,a,1\n1,desk,b,1\n", "q.csv:3: The query '1' is 'desk' here, and 'chair' above"),
        ("q.jsonl", '{"qid": "1", "docid": "d", "grade": 1}\n{"qid": "1"\n', "q.jsonl:2: This is not JSON: Expecting ',' delimiter (column 12)"),
        ("q.jsonl", '{"qid": "1", "docid": "d", "grade": NaN}\n', "q.jsonl:1: NaN is not a number"),
        ("q.jsonl", '{"qid": "1", "qid": "2"}\n', "q.jsonl:1: 'qid' appears twice in this object"),
        ("q.jsonl", '{"qid": ["1"], "docid": "d", "grade": 1}\n', "q.jsonl:1: 'qid' must be text or a number"),
        ("q.jsonl", '{"qid": "1", "docid": "d", "grade": 1}\n{"query": "a", "docid": "d", "grade": 1}\n', "q.jsonl:2: Only some lines have a query id. Give every line one"),
        ("q.jsonl", '{"query": "a", "docid": "d", "grade": 1, "contexts": []}\n', "q.jsonl:1: 'contexts' is not a key of a query or judgment"),
        ("q.jsonl", "{" + '"a":{' * 200_000, "q.jsonl:1: This is nested deeper than 40 levels"),
        ("q.trec", "1 0 d1 1\n1 0 d\0 1\n", "q.trec:2: A NUL character, so this is not a text file"),
        ("q.trec", b"1 0 d1 1\n1 0 \xff 1\n", "q.trec:2: The byte 0xff is not valid UTF-8."),
        ("q.trec", b"\x1f\x8b\x08\x00garbage", "q.trec:1: The gzip file is damaged"),
        ("q.trec", "a b\n", "q.trec:1: The format of these judgments is not recognized. Name it, as in {file: q.trec, format: trec}."),
        ("q.trec", "# a\n", "q.trec:1: The file has no data"),
        ("q.json", '[{"qid": "1"}]\n', "q.json:1: This is a JSON list. Write one object on each line, without commas between them."),
        ("q.jsonl", '{"qid": "1", "docid": "d", "score": 1}\n', "q.jsonl:1: No column is the grade. The columns are 'qid', 'docid' and 'score'."),
        ("q.txt", "office chair\n", "q.txt:1: This is a list of queries, which has no judgments"),
        ("q.tsv", "1\toffice chair\n", "q.tsv:1: This is TREC topics, which has no judgments"),
    ],
    ids=range(31),
)  # fmt: skip
def test_a_bad_line_is_an_error_at_its_place(
    folder: SuiteFolder, name: str, content: str | bytes, mistake: str
) -> None:
    folder.write(name, content)

    found = folder.find_mistakes(f"grades: {{good: 2}}\n{QUERIES}judgments: {name}\n")

    assert found[0].startswith(mistake)


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("judgments: absent.csv", "2: There is no file 'absent.csv'"),
        ("judgments: absent*.csv", "2: No file matches 'absent*.csv'"),
        ("judgments: {format: trec}", "2: A file needs 'file'"),
        ("judgments: {file: x, format: trek}", "2: 'format' of a file must be 'trec', 'beir', 'jsonl', 'csv', 'tsv', 'topics' or 'text', not 'trek'"),
        ("judgments: {file: x, columns: {grades: y}}", "2: 'grades' is not a key of 'columns' of a file. Did you mean 'grade'?"),
        ("judgments: ../other.csv", "2: There is no file '../other.csv'"),
        (f"judgments: {'x' * 5000}.csv", "2: 'xxx"),
    ],
)  # fmt: skip
def test_mistakes_in_naming_files(folder: SuiteFolder, text: str, mistake: str) -> None:
    found = folder.find_mistakes(f"{QUERIES}{text}\n")

    assert found[0].startswith(f"shop.ir.yaml:{mistake}")


# -- Files from a commit --------------------------------------------------------------------------


class Tree:
    """Files as a commit has them."""

    def __init__(self, **files: str) -> None:
        self.files = {
            name.replace("__", "/").replace("_", "."): text for name, text in files.items()
        }

    def read_bytes(self, path: str) -> bytes:
        if path not in self.files:
            raise OSError("not in this commit")
        return self.files[path].encode()

    def list_files(self) -> list[str]:
        return list(self.files)


def test_files_may_come_from_a_commit(tmp_path: Path) -> None:
    tree = Tree(
        shop__queries_csv="id,query\n1,chair\n",
        shop__a_trec="1 0 d1 2\n",
        shop__b_trec="1 0 d2 1\n",
        other__a_trec="1 0 d9 2\n",
    )

    suite = load_suite(
        "shop/s.ir.yaml",
        root=tmp_path,
        text="queries: queries.csv\njudgments: '*.trec'\n",
        files=tree,
    )

    assert get_grades(suite) == {"1": {"d1": 2, "d2": 1}}
    assert suite.files == ("shop/queries.csv", "shop/a.trec", "shop/b.trec")


@pytest.mark.parametrize("written", ["data", "'q*.csv'"])
def test_compressed_data_sets_and_folders_with_brackets_come_from_a_commit(
    tmp_path: Path, written: str
) -> None:
    class PackedTree(Tree):
        def read_bytes(self, path: str) -> bytes:
            return contents[path]

    query = b'{"_id": "1", "text": "chair"}\n'
    contents = {
        "shop[1]/data/queries.jsonl.gz": gzip.compress(query),
        "shop[1]/data/qrels/test.tsv": b"query-id\tcorpus-id\tscore\n1\td1\t2\n",
        "shop[1]/queries.csv": b"id,query\n1,chair\n",
    }
    tree = PackedTree()
    tree.files = dict.fromkeys(contents, "")

    unpacked = tmp_path / "shop[1]" / "data" / "queries.jsonl"
    unpacked.parent.mkdir(parents=True)
    unpacked.touch()  # in the working tree only

    suite = load_suite(
        "shop[1]/s.ir.yaml", root=tmp_path, text=f"queries: [{{file: {written}}}]\n", files=tree
    )

    assert [query.text for query in suite.queries] == ["chair"]
