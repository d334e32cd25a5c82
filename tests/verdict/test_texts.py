"""The whole texts that reports show, with the passages in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_irquality import judge, load_suite
from pytest_irquality.report.html import html_report
from pytest_irquality.retrieval.run import Answer, Ranking, Run
from pytest_irquality.suite import Suite
from pytest_irquality.verdict import SuiteResult, texts
from pytest_irquality.verdict.result import Mark
from tests.conftest import Project
from tests.report.made import data_of

REFUNDS = "Refunds 😀 are **paid** within 14\ndays of the return, <b>always</b>."
FIRST, REST = "Please keep the", "receipt until then. \u202eEvil </script>"
WHOLE = "Refunds are paid within 14 days. Please keep the receipt until then."
OTHER = "Nothing about it."


def suite(tmp_path: Path, queries: int = 1) -> Suite:
    lines = "".join(
        f"  - query: q{n}\n    relevant: [paid within 14 days, keep the receipt]\n"
        for n in range(queries)
    )
    (tmp_path / "s.ir.yaml").write_text(f"match: text\ntop_k: 3\nmetrics: [recall@3]\nqueries:\n{lines}", encoding="utf-8")  # fmt: skip
    return load_suite(tmp_path / "s.ir.yaml")


def run(chunks: dict[str, str], queries: int = 1) -> Run:
    rankings = {f"q{n}": Ranking(tuple(chunks)) for n in range(queries)}
    return Run("", (Answer(rankings, texts=chunks),))


NOW = {"c1": REFUNDS, "c2": FIRST, "c3": REST, "c4": OTHER}
BEFORE = {"b1": WHOLE, "b2": OTHER}


def marks(result: SuiteResult, side: str) -> list[tuple[str, list[tuple[str, bool]]]]:
    """Of each result its own id, and what is marked in its text."""
    told = []
    for document in getattr(result.queries[0], side):
        text = result.texts[document.chunk.text]
        told.append(
            (document.chunk.id, [(text[m.start : m.end], m.whole) for m in document.chunk.marks])
        )
    return told


def test_both_sides_show_their_own_chunks_with_the_passages_marked(tmp_path: Path) -> None:
    result = judge(suite(tmp_path), run(NOW), before=run(BEFORE))
    assert marks(result, "ranking") == [
        ("c1", [("paid** within 14\ndays", True)]),
        ("c2", [("keep the", False)]),
        ("c3", [("receipt", False)]),
    ]
    assert marks(result, "ranking_before") == [
        ("b1", [("paid within 14 days", True), ("keep the receipt", True)]),
        ("c4", []),  # the same text goes by today's id
    ]
    assert result.queries[0].ranking_before[0].title in (None, "in b1")


@pytest.mark.parametrize(
    ("text", "passage", "start"),
    [
        ("The party likes art.", "art", 16),
        ("Plan A costs 100 EUR a month. Plan B costs 10 EUR.", "costs 10", 37),
        ("Plan A costs 10.5 EUR a month. Plan B costs 10 EUR.", "costs 10 EUR", 38),
        ("<b>Caf&eacute;</b> party &amp; art", "art", 31),
    ],
)
def test_a_mark_is_of_whole_words(text: str, passage: str, start: int) -> None:
    assert texts.marked(text, [passage], ()) == (Mark(start, start + len(passage)),)


def test_the_baselines_side_is_there_where_only_chunks_differ(tmp_path: Path) -> None:
    now = {"n": "It is paid within 14 days, and keep the receipt.", "x": OTHER}
    result = judge(suite(tmp_path), run(now), before=run(BEFORE))
    assert [chunk for chunk, _ in marks(result, "ranking_before")] == ["b1", "x"]
    same = judge(suite(tmp_path), run(BEFORE), before=run(BEFORE))
    assert same.queries[0].ranking_before == ()


def test_each_text_is_in_the_result_once(tmp_path: Path) -> None:
    result = judge(suite(tmp_path, 5), run(NOW, 5), before=run(BEFORE, 5))
    assert sorted(result.texts) == sorted([REFUNDS, FIRST, REST, OTHER, WHOLE])


def test_the_most_damaged_queries_have_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "MOST_QUERIES", 2)
    today = run(NOW, 4)
    rankings = {**today.first.rankings, "q2": Ranking(("c4",))}
    worst = Run("", (Answer(rankings, texts=NOW),))
    result = judge(suite(tmp_path, 4), worst, before=run(BEFORE, 4))
    assert all(d.chunk is None for d in result.queries[1].ranking)


def test_a_query_that_failed_comes_before_one_that_only_lost(tmp_path: Path) -> None:
    result = judge(suite(tmp_path, 3), run(NOW, 3), before=run(BEFORE, 3))
    ids = [query.id for query in texts.most_damaged(result, result.queries)]
    assert ids == ["q0", "q1", "q2"]
    (tmp_path / "s.ir.yaml").write_text(
        (tmp_path / "s.ir.yaml").read_text(encoding="utf-8") + "    must_find: [nothing like it]\n",
        encoding="utf-8",
    )
    result = judge(load_suite(tmp_path / "s.ir.yaml"), run(NOW, 3), before=run(BEFORE, 3))
    assert texts.most_damaged(result, result.queries)[0].id == "q2"


def test_long_texts_are_cut_and_their_marks_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "LONGEST", 40)
    result = judge(suite(tmp_path), run(BEFORE))
    assert marks(result, "ranking")[0] == ("b1", [("paid within 14 days", True)])
    assert len(result.texts[0]) == 40


def test_the_page_holds_each_text_once_and_places_in_the_scripts_own_units(tmp_path: Path) -> None:
    data = data_of(html_report([judge(suite(tmp_path, 2), run(NOW, 2), before=run(BEFORE, 2))]))
    assert repr(data).count("Please keep the receipt until then.") == 1
    assert data["wholes"][2].endswith("⟨U+202E⟩Evil </script>")
    (row, *_) = data["sections"][0]["details"]
    number, id, start, end, whole = row["chunks"][0]
    assert data["texts"][id] == "c1"
    assert utf16(data["wholes"][number])[2 * start : 2 * end] == utf16("paid** within 14\ndays")
    assert whole == 1


@pytest.mark.usefixtures("pages")
def test_ids_have_no_texts(project: Project) -> None:
    project.suite("queries: [{query: q, relevant: [d1], must_find: [d1]}]")
    project.conftest("@pytest.fixture\ndef retriever():\n    return lambda q: [dict(id='d1', text='A text')]\n")  # fmt: skip
    project.run()
    data = data_of((project.path / "ir-report.html").read_text(encoding="utf-8"))
    assert data["wholes"] == []


@pytest.mark.slow
@pytest.mark.usefixtures("pages")
def test_json_holds_no_whole_texts_and_workers_send_them(project: Project) -> None:
    project.suite(
        "match: text\nqueries:\n  - {query: q, relevant: [paid within 14 days], must_find: [paid within 14 days]}\n"
    )
    project.conftest(f"@pytest.fixture\ndef retriever():\n    return lambda q: [{WHOLE!r}, {OTHER!r}]\n")  # fmt: skip
    project.run("--ir-save-runs=kept", "-n1")
    assert "Please keep" not in (project.path / "out.json").read_text(encoding="utf-8")
    page = (project.path / "ir-report.html").read_text(encoding="utf-8")
    assert data_of(page)["wholes"] == [WHOLE, OTHER]


def utf16(text: str) -> bytes:
    return text.encode("utf-16-le")
