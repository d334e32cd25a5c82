"""Committed baselines: where they are, what an update writes, and how branches merge."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_irquality.baselines.sources import Baseline, BaselineError
from pytest_irquality.baselines.store import (
    BaselineUpdate,
    CommittedBaselines,
    describe_update,
    get_baseline_path,
    remove_unused_baselines,
    update_baseline,
)
from pytest_irquality.metrics import parse_metric
from pytest_irquality.passages.matching import ALL_PASSAGES
from pytest_irquality.retrieval.run import Provenance, QueryError, Ranking, Run
from pytest_irquality.suite.model import Bound, Query, RetrieverId, Suite, Threshold
from tests.baselines.builders import get_doc_ids, make_run, make_suite
from tests.io.helpers import commit_all, make_repository, run_git, write_file

SUITE = make_suite("desk", "lamp", "office chair")
ANSWERS: dict[str, list[Any]] = {
    "desk": ["d2"],
    "lamp": [("d3", 0.123456789)],
    "office chair": [("d1", 2.0), ("d9", 1.0)],
}
FILE = ".ir-baseline/shop.jsonl"


def read_rows(root: Path, path: str = FILE) -> dict[str, dict[str, Any]]:
    """Return the header under an empty text, and the row of each query."""
    rows = {}
    for line in (root / path).read_text(encoding="utf-8").splitlines():
        if line.startswith("{"):
            row = json.loads(line)
            rows[row.get("query", row.get("end", ""))] = row
    assert rows.pop("pytest-irquality run")
    return rows


def read_file(root: Path) -> Baseline:
    """Read the baseline of the suite."""
    source = CommittedBaselines(root)
    baselines = source.read_baselines([SUITE])
    if source.errors:
        raise BaselineError(source.errors[FILE])
    (baseline,) = baselines
    return baseline


# Places


@pytest.mark.parametrize(
    ("suite_path", "parameter", "expected"),
    [
        ("shop.ir.yaml", "", ".ir-baseline/shop.jsonl"),
        ("tests/deep/shop.ir.yml", "bm25", "tests/deep/.ir-baseline/shop.bm25.jsonl"),
        ("shop.yaml", "a/b.c", ".ir-baseline/shop.a%2Fb%2Ec.jsonl"),
        ("queries.txt", "", ".ir-baseline/queries.txt.jsonl"),
        (".ir.yaml", "", ".ir-baseline/.ir.jsonl"),
    ],
)
def test_the_file_of_a_suite(suite_path: str, parameter: str, expected: str) -> None:
    assert get_baseline_path(suite_path, parameter) == expected


def test_a_suite_without_a_name_reads_what_it_wrote(tmp_path: Path) -> None:
    suite = make_suite("desk", path=".ir.yaml")

    update_baseline(tmp_path, suite, make_run({"desk": ["d2"]}))
    (baseline,) = CommittedBaselines(tmp_path).read_baselines([suite])

    assert baseline.suite_path == ".ir.yaml"
    assert get_doc_ids(baseline.run) == {"desk": [["d2"]]}


# Updating


def test_an_update_writes_one_line_for_each_request(tmp_path: Path) -> None:
    run = make_run(ANSWERS, titles={"d1": "Chair", "d9": "Mat"})
    suite = replace(SUITE, queries=(*SUITE.queries, Query("q9", "desk")))

    update = update_baseline(tmp_path, suite, run)

    assert update == BaselineUpdate(FILE, added=("desk", "lamp", "office chair"), is_written=True)
    assert str(describe_update(update)) == f"{FILE}: 3 rankings added"
    assert (tmp_path / FILE).read_text().splitlines()[2:6] == [
        '"desk"',
        '{"query":"desk","docs":["d2"]}',
        "",
        '"lamp"',
    ]
    assert read_rows(tmp_path) == {
        "": {"format": "pytest-irquality run", "format_version": 2, "path": "shop.ir.yaml", "depth": 10, "fixture": "retriever", "conftest": "."},
        "desk": {"query": "desk", "docs": ["d2"]},
        "lamp": {"query": "lamp", "docs": [["d3", 0.1234568]]},
        "office chair": {"query": "office chair", "docs": [["d1", 2.0, "Chair"], ["d9", 1.0, "Mat"]]},
    }  # fmt: skip


def test_scores_that_vary_touch_nothing(tmp_path: Path) -> None:
    update_baseline(tmp_path, SUITE, make_run(ANSWERS))
    content = (tmp_path / FILE).read_bytes()

    update = update_baseline(tmp_path, SUITE, make_run({**ANSWERS, "lamp": [("d3", 0.5)]}))

    assert not update.is_written
    assert str(describe_update(update)) == f"{FILE}: no ranking changed"
    assert (tmp_path / FILE).read_bytes() == content


def test_a_full_update_removes_queries_and_keeps_those_without_an_answer(tmp_path: Path) -> None:
    update_baseline(tmp_path, SUITE, make_run(ANSWERS))
    suite = make_suite("desk", "lamp", "sofa")
    run = make_run({"desk": ["d0"], "sofa": ["d7"]}, errors={"lamp": QueryError("down")})

    update = update_baseline(tmp_path, suite, run)

    assert (update.changed, update.added) == (("desk",), ("sofa",))
    assert (update.removed, update.unanswered) == (("office chair",), ("lamp",))
    assert str(describe_update(update)) == (
        f"{FILE}: 1 ranking changed, 1 ranking added, 1 ranking removed; 1 query has no answer, so"
        " its line stays"
    )
    rows = read_rows(tmp_path)
    assert list(rows) == ["", "desk", "lamp", "sofa"]
    assert rows["lamp"]["docs"] == [["d3", 0.1234568]]


def test_an_update_of_one_query_changes_one_line(tmp_path: Path) -> None:
    update_baseline(tmp_path, SUITE, make_run(ANSWERS))
    before = (tmp_path / FILE).read_text().splitlines()
    suite = replace(make_suite("desk", "lamp"), queries=make_suite("desk", "lamp", "new").queries)
    run = make_run({text: ["d0"] for text in ("desk", "lamp", "new")}, depth=50)

    update = update_baseline(tmp_path, suite, run, query_ids=["lamp"])

    after = (tmp_path / FILE).read_text().splitlines()
    assert update.changed == ("lamp",)
    assert [line for line in after if line not in before] == [
        '{"query":"lamp","depth":50,"docs":["d0"]}'
    ]
    assert len(after) == len(before)


def test_another_depth_is_kept_with_the_lines_that_have_it(tmp_path: Path) -> None:
    update_baseline(tmp_path, SUITE, make_run(ANSWERS))

    update_baseline(tmp_path, SUITE, make_run({**ANSWERS, "lamp": []}, depth=50))
    rows = read_rows(tmp_path)
    assert (rows[""]["depth"], rows["desk"].get("depth")) == (50, None)

    answers = {text: ANSWERS[text] for text in ("desk", "lamp")}
    update_baseline(tmp_path, SUITE, make_run(answers, depth=20))
    rows = read_rows(tmp_path)
    assert (rows[""]["depth"], rows["desk"].get("depth")) == (20, None)
    assert rows["office chair"]["depth"] == 50
    assert read_file(tmp_path).run.provenance.depth == 20


def test_new_ids_of_queries_change_nothing(tmp_path: Path) -> None:
    update_baseline(tmp_path, SUITE, make_run(ANSWERS))
    queries = tuple(replace(query, id=f"q{query.id}") for query in SUITE.queries)

    update = update_baseline(tmp_path, replace(SUITE, queries=queries), make_run(ANSWERS))

    assert (update.changed, update.removed, update.is_written) == ((), (), False)


def test_a_baseline_has_repeats_and_the_stages_and_sizes_that_metrics_need(tmp_path: Path) -> None:
    ranking = Ranking(
        ("d1", "d2"), seconds=0.5, fields=({}, {}), sizes={"words": (1.0, 2.0)}, texts=("a", "b")
    )
    stages = {"bm25": Run({"desk": (Ranking(("d9",)),)}, provenance=Provenance(depth=100))}
    run = Run({"desk": (ranking, replace(ranking, doc_ids=("d2", "d1")))}, stages=stages)
    plain = make_suite("desk")
    metrics = tuple(map(parse_metric, ("recall(words=100)", "bm25 candidates recall@100")))

    update_baseline(tmp_path, plain, run)
    assert read_rows(tmp_path)["desk"] == {
        "query": "desk",
        "docs": ["d1", "d2"],
        "answers": [{"docs": ["d2", "d1"]}],
    }

    update_baseline(tmp_path, replace(plain, metrics=metrics), run)
    row = read_rows(tmp_path)["desk"]
    assert row["sizes"] == {"words": [1.0, 2.0]}
    assert row["stages"] == {"bm25": {"docs": ["d9"]}}
    assert read_rows(tmp_path)[""]["stage_depth"] == 100


def test_a_baseline_has_the_stages_and_sizes_that_thresholds_of_a_query_need(
    tmp_path: Path,
) -> None:
    ranking = Ranking(("d1", "d2"), sizes={"words": (1.0, 2.0)})
    stages = {"bm25": Run({"desk": (Ranking(("d9",)),)}, provenance=Provenance(depth=100))}
    thresholds = []
    for name in ("recall(words=100)", "bm25 candidates recall@100"):
        thresholds.append(Threshold(parse_metric(name), min=Bound(0.5)))
    query = Query("desk", "desk", thresholds=tuple(thresholds))
    suite = replace(make_suite("desk"), queries=(query,))

    update_baseline(tmp_path, suite, Run({"desk": (ranking,)}, stages=stages))

    row = read_rows(tmp_path)["desk"]
    assert row["sizes"] == {"words": [1.0, 2.0]}
    assert row["stages"] == {"bm25": {"docs": ["d9"]}}


def test_a_baseline_of_texts_has_the_passages_in_them(tmp_path: Path) -> None:
    query = Query("refunds", "refunds", passages=("paid within", "14 days", "nowhere"))
    suite = replace(make_suite("refunds"), queries=(query,))
    texts = ("elsewhere", "Paid within\n14 days.")
    run = Run({"refunds": (Ranking(("c1", "c2"), texts=texts),)})

    update_baseline(tmp_path, suite, run)

    (ranking,) = read_file(tmp_path).run.answers["refunds"]
    assert ranking.texts == ()
    assert ranking.passages == {1: ("paid within", "14 days"), ALL_PASSAGES: query.passages}

    reduced = replace(suite, queries=(replace(query, passages=("paid within",)),))
    assert update_baseline(tmp_path, reduced, run).changed == ("refunds",)


# Refusals


def test_an_unsteady_baseline_is_refused(tmp_path: Path) -> None:
    steady = update_baseline(
        tmp_path, SUITE, make_run(ANSWERS), compute_repeat_means=lambda: [0.8, 0.66, 0.79]
    )
    assert not steady.refusal

    update = update_baseline(
        tmp_path, SUITE, make_run({}), compute_repeat_means=lambda: [0.8, 0.5, 0.8]
    )

    assert not update.is_written
    assert update.refusal.startswith("Repeat 2 has a mean of 0.500, and the others have 0.800.")
    assert "was not written" in str(describe_update(update))


def test_a_file_that_git_ignores_is_refused(tmp_path: Path) -> None:
    make_repository(tmp_path)
    write_file(tmp_path / ".gitignore", "*.jsonl\n")

    update = update_baseline(tmp_path, SUITE, make_run(ANSWERS))

    assert update.refusal.startswith("Git ignores the file (.gitignore:1:*.jsonl)")
    assert not (tmp_path / FILE).exists()


def test_the_baseline_of_another_suite_is_not_overwritten(tmp_path: Path) -> None:
    update_baseline(tmp_path, make_suite("desk", path="shop.ir.yml"), make_run(ANSWERS))

    gone = update_baseline(tmp_path, SUITE, make_run(ANSWERS))
    assert not gone.refusal

    write_file(tmp_path / "shop.ir.yml")
    update_baseline(tmp_path, make_suite("desk", path="shop.ir.yml"), make_run(ANSWERS))
    assert read_rows(tmp_path)[""]["path"] == "shop.ir.yml"
    update = update_baseline(tmp_path, SUITE, make_run(ANSWERS))
    assert update.refusal == f"'{FILE}' is the baseline of shop.ir.yml. Rename one of the suites."


def test_nothing_is_written_without_an_answer(tmp_path: Path) -> None:
    update = update_baseline(tmp_path, SUITE, make_run({}))

    assert update.refusal == "No query has an answer"
    assert not (tmp_path / FILE).exists()


@pytest.mark.parametrize(("count", "is_written"), [(10_000, True), (10_001, False)])
def test_what_is_written_can_be_read(tmp_path: Path, count: int, is_written: bool) -> None:
    run = make_run({"desk": [f"d{number}" for number in range(count)]})

    update = update_baseline(tmp_path, make_suite("desk"), run)

    assert (update.is_written, bool(update.refusal)) == (is_written, not is_written)
    baselines = CommittedBaselines(tmp_path).read_baselines([SUITE])
    assert [get_doc_ids(baseline.run) for baseline in baselines] == (
        [get_doc_ids(run)] if is_written else []
    )


# Damage


def damage(root: Path, old: str, new: str) -> None:
    content = (root / FILE).read_text()
    assert old in content
    (root / FILE).write_text(content.replace(old, new))


def test_a_damaged_file_names_the_command_that_repairs_it(tmp_path: Path) -> None:
    suite = make_suite("desk", path="-oir_command=sh evil.ir.yaml")
    path = ".ir-baseline/-oir_command=sh evil.jsonl"
    update_baseline(tmp_path, suite, make_run(ANSWERS))
    (tmp_path / path).write_text((tmp_path / path).read_text().replace('["d2"]', "[[], []]"))

    source = CommittedBaselines(tmp_path)

    assert source.read_baselines([suite]) == ()
    assert source.errors == {
        path: f"{path}:4: The answer to 'desk' is damaged: a document is neither an id nor [id,"
        " score, title]. Run `pytest --ir-update-baseline --ir-suite './-oir_command=sh"
        " evil.ir.yaml'` to write the file again."
    }


def test_a_damaged_file_is_repaired_by_an_update_of_everything(tmp_path: Path) -> None:
    update_baseline(tmp_path, SUITE, make_run(ANSWERS))
    damage(tmp_path, '["d2"]', "[[]]")

    one_query = update_baseline(tmp_path, SUITE, make_run(ANSWERS), query_ids=["lamp"])
    assert "is damaged" in one_query.refusal

    incomplete = update_baseline(tmp_path, SUITE, make_run({"desk": ["d2"]}))
    assert incomplete.refusal.endswith("That needs an answer to every query, and 2 have none.")

    complete = update_baseline(tmp_path, SUITE, make_run(ANSWERS))
    assert complete.is_written
    assert CommittedBaselines(tmp_path).read_baselines([SUITE])


def test_one_damaged_file_does_not_hide_the_others(tmp_path: Path) -> None:
    other = make_suite("sofa", path="deep/more.ir.yaml")
    update_baseline(tmp_path, SUITE, make_run(ANSWERS))
    update_baseline(tmp_path, other, make_run({"sofa": ["d7"]}))
    (tmp_path / FILE).write_bytes(b"\xff\xfe\x00")
    source = CommittedBaselines(tmp_path)

    (baseline,) = source.read_baselines([SUITE, other])

    assert baseline.suite_path == "deep/more.ir.yaml"
    assert list(source.errors) == [FILE]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
@pytest.mark.parametrize("target", ["/dev/zero", "../outside.jsonl", "missing"])
def test_a_link_is_one_clear_error(tmp_path: Path, target: str) -> None:
    """S31: /dev/zero as a baseline."""
    root = tmp_path / "project"
    update_baseline(root, SUITE, make_run(ANSWERS))
    (root / FILE).rename(tmp_path / "outside.jsonl")
    (root / FILE).symlink_to(target)
    source = CommittedBaselines(root)

    assert source.read_baselines([SUITE]) == ()

    (message,) = source.errors.values()
    assert message.startswith(FILE)
    assert "\n" not in message


# Retrievers, renames, unused files


def test_the_conftest_is_stored_relative_to_the_suite(tmp_path: Path) -> None:
    retriever = RetrieverId("search_retriever", "tests", "bm25")
    suite = make_suite("desk", path="tests/deep/shop.ir.yaml", retriever=retriever)
    update_baseline(tmp_path, suite, make_run(ANSWERS))
    (tmp_path / "tests").rename(tmp_path / "checks")

    (baseline,) = CommittedBaselines(tmp_path).read_baselines([])

    assert baseline.retriever == RetrieverId("search_retriever", "checks", "bm25")
    assert baseline.suite_path == "checks/deep/shop.ir.yaml"


def test_the_root_may_move_between_commits(tmp_path: Path) -> None:
    suite = make_suite("desk", path="shop.ir.yaml", retriever=RetrieverId("retriever", ""))
    update_baseline(tmp_path / "tests", suite, make_run(ANSWERS))

    (baseline,) = CommittedBaselines(tmp_path).read_baselines([])

    assert baseline.retriever == RetrieverId("retriever", "tests")
    assert baseline.suite_path == "tests/shop.ir.yaml"


def test_a_baseline_of_a_renamed_suite_is_read_with_both_names(tmp_path: Path) -> None:
    update_baseline(tmp_path, SUITE, make_run(ANSWERS))

    (baseline,) = CommittedBaselines(tmp_path).read_baselines([replace(SUITE, path="new.ir.yaml")])
    assert (baseline.suite_path, baseline.path) == ("shop.ir.yaml", FILE)

    (tmp_path / FILE).rename(tmp_path / ".ir-baseline/new.jsonl")
    (baseline,) = CommittedBaselines(tmp_path).read_baselines([replace(SUITE, path="new.ir.yaml")])
    assert baseline.suite_path == "new.ir.yaml"


def test_a_header_without_a_fixture_is_of_the_suites_own_retriever(tmp_path: Path) -> None:
    header = '{"format": "pytest-irquality run", "format_version": 2, "suite": "s", "path": "shop.ir.yaml", "depth": 10}'
    row = '{"id": "desk", "query": "desk", "docs": ["d2"]}'
    write_file(tmp_path / FILE, f'{header}\n\n"desk"\n{row}\n\n{{"end": "pytest-irquality run"}}\n')
    suite = replace(SUITE, retriever=RetrieverId("my_retriever", "tests"))

    (baseline,) = CommittedBaselines(tmp_path).read_baselines([suite])

    assert baseline.retriever == suite.retriever


def test_hidden_folders_and_packages_are_not_searched(tmp_path: Path) -> None:
    for folder in (".venv", "node_modules/x", "tests"):
        update_baseline(tmp_path / folder, SUITE, make_run(ANSWERS))

    (baseline,) = CommittedBaselines(tmp_path).read_baselines([])

    assert baseline.path == f"tests/{FILE}"


# Merges


QUERIES = [f"query {letter}" for letter in "abcdef"]


def record(root: Path, queries: list[str], **answers: str) -> None:
    """Update and commit the baseline of some queries, which return ``d1 d2`` as a rule."""
    run = make_run({query: answers.get(query[-1], "d1 d2").split() for query in queries})
    update_baseline(root, make_suite(*queries), run)
    commit_all(root)


def merge_branches(root: Path, first: list[str], second: dict[str, str]) -> dict[str, Any]:
    """Record other queries on one branch and other answers on another one, and merge them."""
    make_repository(root)
    record(root, QUERIES)
    run_git(root, "checkout", "-qb", "change")
    record(root, first)
    run_git(root, "checkout", "-q", "main")
    record(root, QUERIES, **second)
    run_git(root, "merge", "-q", "--no-edit", "change")
    return get_doc_ids(read_file(root).run)


def test_branches_that_update_different_queries_merge(tmp_path: Path) -> None:
    """S20: neighbors, the first and the last query."""
    make_repository(tmp_path)
    record(tmp_path, QUERIES)
    run_git(tmp_path, "checkout", "-qb", "change")
    record(tmp_path, QUERIES, b="d2 d1", e="d3")
    run_git(tmp_path, "checkout", "-q", "main")
    record(tmp_path, QUERIES, a="d9", c="d9", f="d9")

    run_git(tmp_path, "merge", "-q", "--no-edit", "change")

    merged = get_doc_ids(read_file(tmp_path).run)
    assert [merged[query][0][0] for query in QUERIES] == ["d9", "d2", "d9", "d1", "d3", "d9"]


@pytest.mark.parametrize(
    ("queries", "changed"),
    [
        ([*QUERIES, "query g"], "f"),
        ([*QUERIES, "query 0"], "a"),
        ([*QUERIES, "query bb"], "b"),
        ([*QUERIES, "query bb"], "c"),
        ([query for query in QUERIES if query != "query b"], "a"),
        ([query for query in QUERIES if query != "query b"], "c"),
        ([query for query in QUERIES if query != "query f"], "e"),
    ],
    ids=["last", "first", "after", "before", "removed after", "removed before", "removed last"],
)
def test_queries_that_come_and_go_next_to_a_changed_one_merge(
    tmp_path: Path, queries: list[str], changed: str
) -> None:
    merged = merge_branches(tmp_path, queries, {changed: "d9"})

    assert sorted(merged) == sorted(queries)
    assert merged[f"query {changed}"] == [["d9"]]


def test_a_merge_conflict_names_the_query_and_an_update_repairs_it(tmp_path: Path) -> None:
    """S21: both branches update one query."""
    make_repository(tmp_path)
    suite = make_suite(*QUERIES)
    record(tmp_path, QUERIES)
    run_git(tmp_path, "checkout", "-qb", "change")
    record(tmp_path, QUERIES, b="d2")
    run_git(tmp_path, "checkout", "-q", "main")
    record(tmp_path, QUERIES, b="d3")
    with pytest.raises(subprocess.CalledProcessError):
        run_git(tmp_path, "merge", "-q", "change")

    with pytest.raises(BaselineError) as caught:
        read_file(tmp_path)
    update = update_baseline(tmp_path, suite, make_run({query: ["d1"] for query in QUERIES}))

    assert str(caught.value) == (
        f"{FILE}:7: The answer to 'query b' is damaged: there is a merge conflict. Run `pytest"
        " --ir-update-baseline --ir-suite shop.ir.yaml` to write the file again."
    )
    assert update.is_written
    assert len(read_file(tmp_path).run.answers) == len(QUERIES)


def test_suites_of_a_session_share_nothing_in_files(tmp_path: Path) -> None:
    other = Suite("other", (Query("desk", "desk"),), path="other.ir.yaml")
    run = make_run(ANSWERS)

    update_baseline(tmp_path, SUITE, run)
    update_baseline(tmp_path, other, run)

    assert list(read_rows(tmp_path, ".ir-baseline/other.jsonl")) == ["", "desk"]


def test_baselines_that_no_suite_uses_are_removed(tmp_path: Path) -> None:
    suite = replace(SUITE, path="shop.ir.yaml")
    old = replace(SUITE, path="old.ir.yaml")
    elsewhere = replace(SUITE, path="elsewhere.ir.yaml")
    for each in (suite, old, elsewhere):
        update_baseline(tmp_path, each, make_run(ANSWERS))
    for name in ("shop.ir.yaml", "elsewhere.ir.yaml"):
        (tmp_path / name).touch()

    updates = remove_unused_baselines(tmp_path, [suite])

    # The suite that another job collects keeps its file.
    assert [update.path for update in updates] == [".ir-baseline/old.jsonl"]
    assert sorted(path.name for path in (tmp_path / ".ir-baseline").iterdir()) == [
        "elsewhere.jsonl",
        "shop.jsonl",
    ]
