"""Several judges of one pair: what counts, and what stays a contradiction."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from pytest_irquality import load_suite
from pytest_irquality.metrics import evaluate, parse_measure
from pytest_irquality.suite import Suite, SuiteError
from pytest_irquality.suite.judges import joined

HEADER = "query_id,query,doc_id,rating,judge,date,note\n"
SUITE = "judgments: {files}\nqueries: [{{query: office chair, id: q1{more}}}]\n"


def suite(folder: Path, *files: str, more: str = "") -> Suite:
    names = [f"j{n}.csv" for n in range(len(files))]
    for name, text in zip(names, files, strict=True):
        (folder / name).write_text(text, encoding="utf-8")
    path = folder / "shop.ir.yaml"
    path.write_text(SUITE.format(files=f"[{', '.join(names)}]", more=more), "utf-8")
    return load_suite(path, shown="shop.ir.yaml")


def row(document: str, rating: str, judge: str, date: str = "", note: str = "") -> str:
    return f"q1,office chair,{document},{rating},{judge},{date},{note}\n"


def grades(suite: Suite) -> dict[str, float]:
    return dict(suite.queries[0].judgments.grades)


def test_a_pair_that_several_graded_has_their_mean_and_half_of_them_make_it_relevant(
    tmp_path: Path,
) -> None:
    anna = HEADER + row("a", "3", "anna") + row("b", "1", "anna") + row("c", "1", "anna")
    ben = HEADER + row("a", "0", "ben") + row("b", "0", "ben") + row("d", "2", "ben")
    cleo = HEADER + row("b", "0", "cleo")
    read = suite(tmp_path, anna, ben, cleo)
    query = read.queries[0]
    assert grades(read) == {"a": 1.5, "b": pytest.approx(1 / 3), "c": 1, "d": 2}
    assert query.judgments.relevant == {"a", "c", "d"}
    assert query.judgments.nonrelevant == {"b"}
    assert query.judgments.at(3).relevant == {"a"}
    assert query.votes["b"] == {"anna": 1, "ben": 0, "cleo": 0}
    assert read.named_judges == ("anna", "ben", "cleo")
    recall, precision = (parse_measure(name) for name in ("recall@2", "p@2"))
    scores = evaluate({"q1": query.judgments}, {"q1": ["b", "a"]}, [recall, precision])
    assert scores.values["q1"] == pytest.approx((1 / 3, 0.5))


def test_of_one_judge_the_later_date_counts_within_a_file_and_between_two(tmp_path: Path) -> None:
    first = (
        HEADER
        + row("a", "3", "anna", "2026-03-02T10:00:00Z")
        + row("a", "1", "anna", "2026-03-02T12:30:00+02:00")
        + row("b", "2", "anna", "2026-03-02")
    )
    second = HEADER + row("b", "0", "anna", "2026-03-03") + row("a", "2", "anna", "2026-03-01")
    assert grades(suite(tmp_path, first, second)) == {"a": 1, "b": 0}
    assert grades(suite(tmp_path, second, first)) == {"a": 1, "b": 0}


def test_a_grade_that_says_when_is_later_than_one_that_does_not(tmp_path: Path) -> None:
    file = HEADER + row("a", "3", "anna", "2026-03-02") + row("a", "1", "anna")
    assert grades(suite(tmp_path, file)) == {"a": 3}


@pytest.mark.parametrize("date", ["", "2026-03-02", "02/03/2026"])
def test_two_grades_of_one_judge_that_nothing_tells_apart_are_an_error(
    tmp_path: Path, date: str
) -> None:
    one = HEADER + row("a", "3", "anna", date)
    other = HEADER + row("x", "1", "ben") + row("a", "1", "anna", date)
    with pytest.raises(SuiteError) as error:
        suite(tmp_path, one, other)
    assert str(error.value) == (
        "j1.csv:3:1: 'anna' grades 'a' 1 here for 'q1', but 3 at j0.csv:2; of one judge the later"
        " grade counts, and no 'date' tells which that is (2026-11-30)"
    )
    with pytest.raises(
        SuiteError, match=r"j0\.csv:3:\d+: 'anna' grades 'a' 1 here for 'q1', but 3 at j0\.csv:2"
    ):
        suite(tmp_path, one + row("a", "1", "anna", date))


def test_without_a_judge_a_contradiction_stays_an_error(tmp_path: Path) -> None:
    nobody = "query_id,doc_id,rating,date\nq1,a,3,2026-01-01\nq1,a,2,2026-01-02\n"
    with pytest.raises(SuiteError, match=r"'a' is graded 2 here for 'q1', but 3 at j0\.csv:2"):
        suite(tmp_path, nobody)


def test_grades_of_nobody_in_particular_are_one_judge_more(tmp_path: Path) -> None:
    read = suite(tmp_path, HEADER + row("a", "0", "anna"), more=", relevant: {a: 3, b: 2}")
    assert grades(read) == {"a": 1.5, "b": 2}
    assert read.queries[0].votes == {"a": {"": 3, "anna": 0}}


def test_what_a_judge_could_not_tell_is_no_grade(tmp_path: Path) -> None:
    read = suite(tmp_path, HEADER + row("a", "", "anna", "2026-03-02", "in Dutch"))
    assert grades(read) == {}
    assert read.queries[0].votes == {}


def test_files_by_text_and_json_lines_have_judges_too(tmp_path: Path) -> None:
    (tmp_path / "more.jsonl").write_text(
        '{"query": "office chair", "doc_id": "a", "rating": 2, "judge": "ben", "date": "2026-01-01"}\n'
    )
    (tmp_path / "anna.csv").write_text("query,docid,rating,judge\noffice chair,a,1,anna\n")
    (tmp_path / "s.ir.yaml").write_text(
        "judgments: [anna.csv, more.jsonl]\nqueries: [office chair]\n".replace(
            "[office chair]", "[{query: office chair}]"
        )
    )
    read = load_suite(tmp_path / "s.ir.yaml")
    assert read.queries[0].votes == {"a": {"anna": 1, "ben": 2}}


def test_the_grade_of_one_judge_alone_is_exact() -> None:
    means, votes = joined({"d": {"anna": 0.1, "ben": 0.1, "cleo": 0.1}})
    assert means == {"d": 0.1}
    assert joined({"d": {"anna": 0.1}}) == ({"d": 0.1}, {})
    assert [*votes] == ["d"]


# -- decisions, and queries that were skipped ------------------------------------------------------

DECIDED = "query_id,query,doc_id,rating,decision,judge,date,note\n"


def decided(document: str, rating: str, decision: str, judge: str, date: str = "") -> str:
    return f"q1,office chair,{document},{rating},{decision},{judge},{date},\n"


def test_a_decision_wins_over_all_grades_of_its_pair(tmp_path: Path) -> None:
    anna = HEADER + row("a", "3", "anna", "2026-05-01") + row("b", "3", "anna")
    ben = HEADER + row("a", "0", "ben") + row("b", "1", "ben")
    cleo = DECIDED + decided("a", "", "2", "cleo", "2026-04-01") + decided("c", "1", "3", "cleo")
    read = suite(tmp_path, anna, ben, cleo, more=", relevant: {a: 1, c: 0}")
    query = read.queries[0]
    assert query.judgments.grades["a"] == 2
    assert query.judgments.grades["c"] == 3
    assert query.judgments.grades["b"] != 1
    assert [*query.votes] == ["b"], "what is settled is no open question"
    assert query.settled == {"a": ("", "anna", "ben"), "c": ("", "cleo")}
    assert read.named_judges == ("anna", "ben")
    assert query.judgments.relevant >= {"a", "c"}


def test_of_two_decisions_the_later_counts_and_without_dates_they_contradict(
    tmp_path: Path,
) -> None:
    first = DECIDED + decided("a", "", "3", "anna", "2026-03-02")
    assert grades(suite(tmp_path, first, DECIDED + decided("a", "", "1", "ben", "2026-03-03"))) == {
        "a": 1
    }
    with pytest.raises(SuiteError) as error:
        suite(tmp_path, first, DECIDED + decided("a", "", "1", "ben", "2026-03-02"))
    assert str(error.value).startswith(
        "j1.csv:2:1: the decision grades 'a' 1 here for 'q1', but 3 at j0.csv:2; of one judge"
    )
    with pytest.raises(SuiteError, match=r"j0\.csv:2:\d+: a grade must be a number.*'maybe'"):
        suite(tmp_path, DECIDED + decided("a", "", "maybe", "ben"))


def test_a_decision_stands_in_json_lines_and_in_words_too(tmp_path: Path) -> None:
    (tmp_path / "more.jsonl").write_text(
        '{"query": "x", "doc_id": "a", "rating": 2, "judge": "ben", "note": "not mine"}\n'
        '{"query": "x", "doc_id": "a", "rating": null, "decision": "bad", "judge": "cleo"}\n'
    )
    (tmp_path / "s.ir.yaml").write_text(
        "grades: {bad: 0}\njudgments: more.jsonl\nqueries: [{query: x}]\n"
    )
    query = load_suite(tmp_path / "s.ir.yaml").queries[0]
    assert query.judgments.grades == {"a": 0}
    assert query.notes == {"a": {"ben": "not mine"}}


def test_a_skipped_query_has_its_reason_and_any_other_row_without_a_document_is_an_error(
    tmp_path: Path,
) -> None:
    skipped = "q1,office chair,,,,anna,2026-03-01,two meanings\n"
    later = "q1,office chair,,,,anna,2026-03-02,unclear\n"
    read = suite(tmp_path, DECIDED + later + skipped, DECIDED + decided("a", "2", "", "ben"))
    assert read.queries[0].notes[""] == {"anna": "unclear"}
    assert grades(read) == {"a": 2}
    assert read.queries[0].votes == {"a": {"ben": 2}}
    assert read.unasked == ()
    for bad in (
        "q1,office chair,,,,anna,,\n",
        "q1,office chair,,2,,anna,,why\n",
        "q1,office chair,,,1,anna,,why\n",
    ):
        with pytest.raises(SuiteError, match=r"j0\.csv:3:\d+: a row without a document: only a"):
            suite(tmp_path, DECIDED + skipped + bad)


@pytest.mark.parametrize(
    "date", ["9999-12-31", "9999-12-31T23:59:59-12:00", "2199-01-01T00:00:00Z"]
)
def test_a_date_to_come_is_an_error_since_it_would_win_over_every_later_grade(
    tmp_path: Path, date: str
) -> None:
    with pytest.raises(SuiteError) as error:
        suite(tmp_path, HEADER + row("a", "1", "anna") + row("b", "3", "anna", date))
    assert str(error.value) == f"j0.csv:3:26: the date {date!r} is more than a day ahead"


def test_a_date_of_today_in_any_zone_is_fine(tmp_path: Path) -> None:
    soon = (datetime.now(timezone.utc) + timedelta(hours=14)).isoformat()
    assert grades(suite(tmp_path, HEADER + row("a", "1", "anna", soon))) == {"a": 1}


def test_one_id_with_two_texts_is_an_error_where_the_second_stands(tmp_path: Path) -> None:
    rows = "q1,office chair,a,1,,anna,,\nq1,,b,1,,anna,,\nq1,desk lamp,c,1,,anna,,\n"
    with pytest.raises(SuiteError) as error:
        suite(tmp_path, DECIDED + rows)
    assert str(error.value).endswith("'q1' is 'desk lamp' here, but 'office chair' above")
    assert str(error.value).startswith("j0.csv:4:")
