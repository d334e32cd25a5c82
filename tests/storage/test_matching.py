"""Which query of a stored run is which of today's."""

from __future__ import annotations

import json

import pytest

from pytest_irquality.storage.matching import Matching, Question
from tests.conftest import Project


def test_ids_first_then_texts_in_the_order_of_the_files() -> None:
    stored = {
        "1": Question("lamp", ""),
        "2": Question("desk", ""),
        "3": Question("desk", ""),
        "4": Question("rug", ""),
    }
    today = {
        "9": Question("desk", ""),
        "2": Question("desk", ""),
        "1": Question("new", ""),
        "5": Question("lamp", ""),
    }
    matching = Matching(stored, today)
    assert matching.same == {"9": "3", "2": "2", "5": "1"}
    assert matching.renamed == ("9", "5")
    assert matching.gone == ("rug",)


def test_a_text_may_stand_there_with_other_params() -> None:
    stored = {"a": Question("desk", "en"), "b": Question("desk", "de")}
    today = {"1": Question("desk", "de"), "2": Question("desk", "fr")}
    matching = Matching(stored, today)
    assert matching.same == {"1": "b"}
    assert matching.edited == {"2": "a"}
    assert matching.gone == ()


@pytest.mark.parametrize(
    ("id", "today", "edited"),
    [
        ("q1", Question("something else", ""), True),
        ("x", Question("Oak standing desk", ""), True),
        ("x", Question("standing desk oak", "1"), True),
        ("x", Question("the oak standing desk", ""), True),
        ("x", Question("oak table", ""), False),
        ("x", Question("", ""), False),
    ],
    ids=str,
)
def test_what_is_another_wording_and_what_is_new(id: str, today: Question, edited: bool) -> None:
    matching = Matching({"q1": Question("oak standing desk", "")}, {id: today})
    assert matching.same == {}
    assert bool(matching.edited) == edited
    assert matching.gone == (() if edited else ("oak standing desk",))


QUERIES = ["laptop", "desk lamp", "garden hose", "office chair", "desk"]


def shop(project: Project, start: int, documents: str, sunk: bool) -> None:
    """A suite whose ids are numbers from ``start`` on, over an index whose ids begin with ``documents``."""
    lines = [
        f"  - {{id: q{start + n}, query: {text}, relevant: [{documents}{n}]}}\n"
        for n, text in enumerate(QUERIES)
    ]
    project.suite(f"queries:\n{''.join(lines)}thresholds: {{mrr: {{max_drop: 0.1}}}}\n")
    found = {text: [f"{documents}{n}", "x", "y"] for n, text in enumerate(QUERIES)}
    project.answers({text: ids[::-1] if sunk else ids for text, ids in found.items()})


def test_s18_queries_renumbered_are_compared_by_their_texts(project: Project) -> None:
    shop(project, 1, "d", sunk=False)
    project.run("-v", "--ir-update-baseline")
    shop(project, 2, "d", sunk=True)
    result = project.run("-v")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*mrr@10 fell 1.000 → 0.333*"])
    result.stdout.no_fnmatch_line("*left the suite*")
    shop(project, 2, "d", sunk=False)
    result = project.run("-v", "--ir-update-baseline")
    result.stdout.fnmatch_lines(["  baseline written: .ir-baseline/shop.jsonl: 5 under a new id"])
    stored = (project.path / ".ir-baseline/shop.jsonl").read_text(encoding="utf-8")
    assert '"id":"q6"' in stored
    assert '"id":"q1"' not in stored
    project.run("-v", "--ir-update-baseline").stdout.fnmatch_lines(["  baseline unchanged: *"])


def test_s18_in_files_of_queries_and_judgments_too(project: Project) -> None:
    """Queries and qrels renumbered together, one line put on top, and the good documents sink."""
    project.suite(
        "queries: queries.jsonl\njudgments: qrels.tsv\n"
        "thresholds: {mrr: {max_drop: 0.1}, ndcg@10: {max_significant_drop: 0.01}}\n"
    )

    def written(texts: list[str], first: int) -> None:
        ids = {text: str(first + 10 * n) for n, text in enumerate(texts)}
        lines = [json.dumps({"_id": id, "text": text}) for text, id in ids.items()]
        (project.path / "queries.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        qrels = [f"{id}\t{QUERIES.index(t) if t in QUERIES else t}\t1" for t, id in ids.items()]
        head = "query-id\tcorpus-id\tscore"
        (project.path / "qrels.tsv").write_text("\n".join([head, *qrels, ""]), encoding="utf-8")

    written(QUERIES, 1)
    project.answers({text: [str(n), "x", "y"] for n, text in enumerate(QUERIES)})
    project.run("-v", "--ir-update-baseline")
    written(["rug", *QUERIES], 1)  # every id now names the query above it
    project.answers({"rug": ["rug"], **{t: ["x", "y", str(n)] for n, t in enumerate(QUERIES)}})
    result = project.run("-v")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "mrr@10 fell 1.000 → 0.333, by 0.667: *(5 worse, 0 better of 5 queries)*",
        ]
    )
    result.stdout.fnmatch_lines(["*1 query is new: floors apply, drops do not: 'rug'"])
    project.run("-v", "--ir-update-baseline")
    assert project.run("-v").ret == 0


def test_s18_an_update_of_one_query_keeps_the_others_under_their_new_ids(project: Project) -> None:
    shop(project, 1, "d", sunk=False)
    project.run("--ir-update-baseline")
    shop(project, 2, "d", sunk=True)
    project.run("--ir-update-baseline", "-k", "q3")
    result = project.run()
    assert result.ret == 1
    assert [query["new"] for query in project.data["suites"][0]["queries"]] == [False] * 5
    result.stdout.fnmatch_lines(["*mrr@10 fell 0.867 → 0.333*"])
