"""Saved runs: writing, reading, shards and TREC files."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_irquality.baselines.saved_runs import (
    SavedBaselines,
    SavedRuns,
    Shard,
    parse_shard,
    read_saved_runs,
    save_runs,
)
from pytest_irquality.baselines.sources import BaselineError
from pytest_irquality.baselines.store import update_baseline
from pytest_irquality.retrieval.run import QueryError, Run
from pytest_irquality.suite.model import Query, RetrieverId, Settings, Suite
from tests.baselines.builders import get_doc_ids, make_run, make_suite

TEXTS = ("desk", "lamp", "rug", "sofa", "chair", "bed")
SUITE = make_suite(*TEXTS)
RUN = make_run({text: [f"{text}-1", f"{text}-2"] for text in TEXTS})


def save(
    folder: Path,
    run: Run = RUN,
    *,
    suite: Suite = SUITE,
    commit: str = "c1",
    shard: Shard | None = None,
) -> None:
    if shard:
        answers = {text: found for text, found in run.answers.items() if shard.has_request(text)}
        run = replace(run, answers=answers)
    save_runs(folder, {suite.run_key: run}, shard=shard, commit=commit)


def read(*paths: Path, suites: Sequence[Suite] = (SUITE,), root: Path | None = None) -> SavedRuns:
    return read_saved_runs(paths, suites, root=root or paths[0].parent)


def get_run(saved: SavedRuns, suite: Suite = SUITE) -> Run:
    assert not saved.errors
    return saved.runs[suite.run_key]


# Options


def test_a_shard_is_parsed() -> None:
    assert parse_shard("2/5") == Shard(2, 5)


@pytest.mark.parametrize("text", ["6/5", "0/5", "2", "", "1/20000", "a/b"])
def test_a_wrong_shard_is_refused(text: str) -> None:
    with pytest.raises(BaselineError) as caught:
        parse_shard(text)

    expected = f"'{text}' is not a shard. Write I/N, such as 2/5, with I from 1 to N."
    assert str(caught.value) == expected


# Our files


def test_a_saved_run_is_read_with_its_errors_and_provenance(tmp_path: Path) -> None:
    run = replace(RUN, errors={"mint": QueryError("down")}, titles={"desk-1": "A desk"})
    suite = make_suite(*TEXTS, "mint")

    save(tmp_path / "runs", run, suite=suite)
    saved = read(tmp_path / "runs", suites=[suite])

    read_run = get_run(saved, suite)
    assert saved.notes == []
    assert read_run.answers == run.answers
    assert (read_run.errors, read_run.titles) == (run.errors, run.titles)
    assert (read_run.provenance.commit, read_run.provenance.depth) == ("c1", 10)
    assert read_run.provenance.source == "runs/retriever.jsonl"


def test_each_retriever_has_a_file(tmp_path: Path) -> None:
    suites = [
        replace(SUITE, retriever=RetrieverId(parameter=parameter)) for parameter in ("bm25", "a/b")
    ]
    suites.append(replace(SUITE, retriever=RetrieverId("other_retriever")))
    suites.append(replace(SUITE, settings=Settings(id_field="sku")))
    suites.append(replace(SUITE, settings=Settings(id_field="slug")))
    runs = {}
    for number, suite in enumerate(suites):
        runs[suite.run_key] = make_run({text: [f"d{number}"] for text in TEXTS})

    save_runs(tmp_path / "runs", runs)
    saved = read(tmp_path / "runs", suites=suites)

    names = sorted(path.name for path in (tmp_path / "runs").iterdir())
    assert names[:3] == ["other_retriever.jsonl", "retriever.a%2Fb.jsonl", "retriever.bm25.jsonl"]
    assert all(name.startswith("retriever~") for name in names[3:])
    assert saved.errors == {}
    for suite in suites:
        assert saved.runs[suite.run_key].answers == runs[suite.run_key].answers


def test_queries_that_a_run_lacks_or_has_too_many_are_reported(tmp_path: Path) -> None:
    save(tmp_path / "runs")
    suite = make_suite("desk", "lamps", "rugs", "sofas")

    saved = read(tmp_path / "runs", suites=[suite])

    assert list(map(str, saved.notes)) == [
        'runs/retriever.jsonl lacks 3 of 4 queries of shop.ir.yaml: "lamps", "rugs" …',
        "runs/retriever.jsonl has 5 queries that no suite has: 'bed', 'chair' …",
    ]
    assert "lamps" not in get_run(saved, suite).answers


def test_a_run_of_another_retriever_is_not_taken(tmp_path: Path) -> None:
    save(tmp_path / "runs", suite=replace(SUITE, retriever=RetrieverId("old_retriever")))
    (tmp_path / "runs/notes.jsonl").write_text("{}\n")

    saved = read(tmp_path / "runs")

    assert saved.runs == {}
    assert saved.errors == {
        "shop.ir.yaml": "--ir-runs runs: There is no run of 'retriever' for shop.ir.yaml."
        " Saved runs: runs/old_retriever.jsonl."
    }
    assert list(map(str, saved.notes)) == [
        "runs/old_retriever.jsonl is not used, because no suite has its retriever 'old_retriever'"
    ]


def test_the_first_error_of_a_parametrized_retriever_is_kept(tmp_path: Path) -> None:
    retrievers = [RetrieverId("retriever", parameter=name) for name in ("bm25", "dense")]
    suites = [replace(SUITE, retriever=retriever) for retriever in retrievers]
    save(tmp_path / "runs", suite=suites[0], shard=Shard(1, 2))

    saved = read(tmp_path / "runs", suites=suites)

    assert "1 shard missing: 2/2" in saved.errors["shop.ir.yaml"]


def test_another_folder_of_the_conftest_is_no_obstacle(tmp_path: Path) -> None:
    save(tmp_path / "runs", suite=replace(SUITE, retriever=RetrieverId("retriever", "tests")))

    assert get_run(read(tmp_path / "runs")).answers == RUN.answers


def test_two_runs_in_one_folder_are_never_chosen_from(tmp_path: Path) -> None:
    save(tmp_path / "runs/1")
    save(tmp_path / "runs/2")

    saved = read(tmp_path / "runs")

    (message,) = saved.errors.values()
    assert "There are several runs of 'retriever': runs/1/retriever.jsonl, runs/2/" in message


def test_a_damaged_run_and_a_missing_path_are_errors(tmp_path: Path) -> None:
    save(tmp_path / "runs")
    file = tmp_path / "runs/retriever.jsonl"
    file.write_text(file.read_text().replace('["bed-1","bed-2"]', "[[], []]"))

    with pytest.raises(BaselineError, match=r"^runs/retriever\.jsonl:4: The answer to 'bed' is"):
        read(tmp_path / "runs")
    with pytest.raises(BaselineError, match="--ir-runs none: There is no such file or folder"):
        read(tmp_path / "none")


def test_a_run_with_fewer_results_than_a_suite_needs_is_an_error(tmp_path: Path) -> None:
    """A forbidden document may be at a rank that was not requested."""
    save(tmp_path / "runs")
    deep = replace(SUITE, settings=Settings(depth=50))
    other = replace(make_suite("vase", path="other.ir.yaml"), settings=Settings(depth=50))

    (message,) = read(tmp_path / "runs", suites=[deep]).errors.values()
    without_its_queries = read(tmp_path / "runs", suites=[SUITE, other])

    assert message == (
        "runs/retriever.jsonl: 10 results were requested, and shop.ir.yaml needs 50."
        " Save it again, with the same --ir-baseline."
    )
    assert without_its_queries.errors == {}


def test_baselines_are_no_current_answers(tmp_path: Path) -> None:
    update_baseline(tmp_path, SUITE, RUN)

    (message,) = read(tmp_path / ".ir-baseline").errors.values()

    assert message == "--ir-runs .ir-baseline: Baselines are not current answers"


def test_compressed_runs_in_a_folder_are_read(tmp_path: Path) -> None:
    save(tmp_path / "runs", shard=Shard(1, 2))
    save(tmp_path / "runs", shard=Shard(2, 2))
    path = tmp_path / "runs/retriever.2-of-2.jsonl"
    path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()

    assert get_doc_ids(get_run(read(tmp_path / "runs"))) == get_doc_ids(RUN)


# Shards


def test_every_query_belongs_to_one_shard() -> None:
    shards = [Shard(index, 3) for index in (1, 2, 3)]

    for text in [f"query {number}" for number in range(50)]:
        assert sum(shard.has_query(Query("id", text)) for shard in shards) == 1


def test_shards_are_joined(tmp_path: Path) -> None:
    for index in (1, 2, 3):
        save(tmp_path / "runs", shard=Shard(index, 3))
        save(tmp_path / f"job-{index}", shard=Shard(index, 3))

    joined = get_run(read(tmp_path / "runs"))
    from_jobs = get_run(read(*(tmp_path / f"job-{index}" for index in (1, 2, 3))))

    assert get_doc_ids(joined) == get_doc_ids(from_jobs) == get_doc_ids(RUN)
    assert joined.provenance.source == "runs"


SHARD_PROBLEMS: Mapping[str, tuple[Sequence[tuple[str, Shard, str]], str]] = {
    "missing": ([("a", Shard(1, 3), "c1"), ("a", Shard(3, 3), "c1")], "1 shard missing: 2/3."),
    "doubled": ([("a", Shard(1, 2), "c1"), ("b", Shard(1, 2), "c1")], "is also shard 1/2"),
    "another division": ([("a", Shard(1, 2), "c1"), ("a", Shard(2, 3), "c1")], "Shard 2/3 is not from the same run as"),
    "another commit": ([("a", Shard(1, 2), "c1"), ("a", Shard(2, 2), "c2")], "Shard 2/2 is from commit c2"),
}  # fmt: skip


@pytest.mark.parametrize("case", SHARD_PROBLEMS)
def test_shards_that_do_not_fit_are_reported(tmp_path: Path, case: str) -> None:
    shards, message = SHARD_PROBLEMS[case]
    for folder, shard, commit in shards:
        save(tmp_path / "runs" / folder, commit=commit, shard=shard)

    saved = read(tmp_path / "runs")

    assert saved.runs == {}
    assert message in saved.errors["shop.ir.yaml"]


def test_a_shard_with_queries_of_others_is_foreign(tmp_path: Path) -> None:
    save(tmp_path / "runs", shard=Shard(1, 2))
    save_runs(tmp_path / "runs", {SUITE.run_key: RUN}, shard=Shard(2, 2), commit="c1")

    (message,) = read(tmp_path / "runs").errors.values()

    assert message.endswith("Shard 2/2 has queries from other shards")


def test_shards_of_retrievers_from_two_folders_are_not_joined(tmp_path: Path) -> None:
    for index, folder in ((1, "tests/a"), (2, "tests/b")):
        suite = replace(SUITE, retriever=RetrieverId("retriever", folder))
        save(tmp_path / "runs", suite=suite, shard=Shard(index, 2))

    (message,) = read(tmp_path / "runs").errors.values()

    assert message.endswith(
        "2/2 is from conftest tests/b, but runs/retriever.1-of-2.jsonl is from tests/a"
    )


def test_two_complete_runs_are_never_chosen_from(tmp_path: Path) -> None:
    save(tmp_path / "1")
    save(tmp_path / "2")

    (message,) = read(tmp_path / "1", tmp_path / "2").errors.values()

    assert message == (
        "--ir-runs 1, 2: There are several runs of 'retriever': 1/retriever.jsonl,"
        " 2/retriever.jsonl. Name one of them."
    )


def test_a_complete_run_next_to_shards_is_foreign(tmp_path: Path) -> None:
    save(tmp_path / "runs", shard=Shard(1, 2))
    save(tmp_path / "runs")

    (message,) = read(tmp_path / "runs").errors.values()

    assert message.endswith("but there are also shards of it. Delete this file, or the shards.")


# TREC


def write_trec(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


TREC = "q-1 Q0 t1 1 9.0 x\nq-1 Q0 t9 2 8.0 x\n2 Q0 t9 1 9.0 x\n3 Q0 t5 1 4.0 x\n"
TEA = Suite("tea", (Query("1", "green tea"), Query("2", "mint tea")), path="s.ir.yaml")


def test_ids_that_differ_between_a_trec_run_and_the_suite_are_reported(tmp_path: Path) -> None:
    path = write_trec(tmp_path / "other.run", TREC)

    saved = read(path, suites=[TEA])

    assert get_doc_ids(get_run(saved, TEA)) == {"green tea": [[]], "mint tea": [["t9"]]}
    assert list(map(str, saved.notes)) == [
        'other.run lacks 1 of 2 queries of s.ir.yaml: "green tea", so they count as queries without'
        " results",
        "other.run does not say which commit it is from",
        "other.run has 2 queries that no suite has: 'q-1', '3'",
    ]


def test_a_query_that_a_trec_run_lacks_has_no_baseline_answer(tmp_path: Path) -> None:
    path = write_trec(tmp_path / "other.run", TREC)
    source = SavedBaselines(path, root=tmp_path)

    (baseline,) = source.read_baselines([TEA])

    assert get_doc_ids(baseline.run) == {"mint tea": [["t9"]]}
    assert (source.label, baseline.path) == ("other.run", "other.run")
    assert [str(notice).partition(" of ")[0] for notice in source.notes] == [
        "The baseline other.run lacks 1",
        "The baseline other.run has 2 queries that no suite has: 'q-1', '3'",
    ]


def test_a_query_of_the_base_branch_that_a_trec_run_lacks_did_not_run(tmp_path: Path) -> None:
    path = write_trec(tmp_path / "a.run", "1 Q0 t1 1 9.0 x\n")
    current = replace(TEA, queries=TEA.queries[:1])

    saved = read_saved_runs([path], [current], root=tmp_path, base_suites=[TEA])

    assert get_doc_ids(saved.runs[TEA.run_key]) == {"green tea": [["t1"]]}


def test_a_trec_run_is_used_if_the_base_suite_has_other_ids(tmp_path: Path) -> None:
    path = write_trec(tmp_path / "a.run", "1 Q0 t1 1 9.0 x\n2 Q0 t2 1 9.0 x\n")
    base = replace(TEA, queries=(Query("old1", "green tea"), Query("old2", "iced tea")))

    saved = read_saved_runs([path], [TEA], root=tmp_path, base_suites=[base])

    assert not saved.errors
    assert get_doc_ids(saved.runs[TEA.run_key]) == {"green tea": [["t1"]], "mint tea": [["t2"]]}


def test_trec_runs_in_a_folder_are_found_by_their_names(tmp_path: Path) -> None:
    for name in ("s.bm25.run", "dense.run.gz", "more.trec"):
        write_trec(tmp_path / "runs" / name, f"1 Q0 {name} 1 9.0 x\n")
    suites = [replace(TEA, retriever=RetrieverId(parameter=name)) for name in ("bm25", "dense")]
    suites.append(replace(TEA, path="more.ir.yaml"))

    saved = read(tmp_path / "runs", suites=suites)

    found = [get_doc_ids(saved.runs[suite.run_key])["green tea"] for suite in suites]
    assert found == [[["s.bm25.run"]], [["dense.run.gz"]], [["more.trec"]]]


@pytest.mark.parametrize(
    ("names", "suite", "message"),
    [
        (("a.run",), replace(TEA, queries=(Query("x", "x"),)), "a.run has no query from s.ir.yaml"),
        (("a.run",), replace(TEA, settings=Settings(match="text")), "A TREC run has no texts"),
        (("s.run", "s.trec"), TEA, "Several TREC runs match"),
        (
            ("a.run", "b.run"),
            TEA,
            "There is no run of 'retriever' for s.ir.yaml. Saved runs: runs/a.run",
        ),
    ],
)
def test_a_trec_run_that_does_not_fit_is_an_error(
    tmp_path: Path, names: Sequence[str], suite: Suite, message: str
) -> None:
    for name in names:
        write_trec(tmp_path / "runs" / name, "1 Q0 t1 1 9.0 x\n")

    (found,) = read(tmp_path / "runs", suites=[suite]).errors.values()

    assert message in found


@pytest.mark.parametrize("shard", [None, Shard(1, 1)])
def test_a_trec_run_next_to_another_run_is_never_chosen_from(
    tmp_path: Path, shard: Shard | None
) -> None:
    save(tmp_path / "runs", shard=shard)
    write_trec(tmp_path / "new.run", "1 Q0 t1 1 9.0 x\n")

    saved = read(tmp_path / "runs", tmp_path / "new.run", root=tmp_path)

    (message,) = saved.errors.values()
    assert saved.runs == {}
    assert message.startswith(
        "--ir-runs runs, new.run: There are several runs of 'retriever': runs"
    )
    assert message.endswith("new.run. Name one of them.")


def test_a_trec_run_of_another_suite_is_not_used(tmp_path: Path) -> None:
    for name in ("s.run", "old.run"):
        write_trec(tmp_path / "runs" / name, "1 Q0 t1 1 9.0 x\n2 Q0 t2 1 9.0 x\n")

    saved = read(tmp_path / "runs", suites=[TEA])

    assert "runs/old.run is not used, because no suite has its name" in map(str, saved.notes)


def test_an_id_that_means_two_queries_is_an_error(tmp_path: Path) -> None:
    path = write_trec(tmp_path / "a.run", "1 Q0 t1 1 9.0 x\n2 Q0 t2 1 9.0 x\n")
    coffee = Suite("coffee", (Query("1", "espresso"),), path="coffee.ir.yaml")

    (message,) = read(path, suites=[TEA, coffee]).errors.values()

    assert message == (
        "a.run: '1' is also the id of another query than in coffee.ir.yaml."
        " Name each run after its suite."
    )


def test_an_id_that_the_base_branch_gave_another_query_is_not_its_answer(tmp_path: Path) -> None:
    path = write_trec(tmp_path / "a.run", "1 Q0 t1 1 9.0 x\n2 Q0 t2 1 9.0 x\n")
    base = replace(TEA, queries=(Query("1", "black tea"), *TEA.queries[1:]))

    saved = read_saved_runs([path], [TEA], root=tmp_path, base_suites=[base])

    assert get_doc_ids(get_run(saved, TEA)) == {"green tea": [["t1"]], "mint tea": [["t2"]]}


def test_an_empty_trec_run_is_an_error(tmp_path: Path) -> None:
    path = write_trec(tmp_path / "a.run", "")

    assert list(read(path, suites=[TEA]).errors.values()) == ["a.run is empty"]


def test_trec_shards_are_joined(tmp_path: Path) -> None:
    write_trec(tmp_path / "runs/1/bm25.1-of-2.run", "1 Q0 t1 1 9.0 x\n")
    write_trec(tmp_path / "runs/2/bm25.2-of-2.run", "2 Q0 t2 1 9.0 x\n9 Q0 t2 1 9.0 x\n")

    for saved in (
        read(tmp_path / "runs", suites=[TEA]),
        read(tmp_path / "runs/1", tmp_path / "runs/2", suites=[TEA], root=tmp_path),
    ):
        assert get_doc_ids(get_run(saved, TEA)) == {"green tea": [["t1"]], "mint tea": [["t2"]]}
        _, notice = map(str, saved.notes)
        assert notice.endswith("has 1 query that no suite has: '9'")
        assert notice.startswith(("runs ", "runs/1, runs/2 "))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["s.1-of-3.run", "s.3-of-3.run"], "1 shard missing: 2/3. Found: 1/3 (runs/s.1-of-3.run)"),
        (["s.1-of-2.run", "s.1-of-2.trec"], "is also shard 1/2"),
        (["s.1-of-2.run", "s.2-of-3.run"], "Shard 2/3 is not from the same run as"),
        (["s.1-of-2.run", "s.run"], "Several TREC runs match"),
        (["s.1-of-2.run", "s.2-of-2.run"], "runs/s.2-of-2.run: Query '1' is also in another shard"),
        (["s.1-of-1.run", "s.0-of-1.run"], "'0/1' is not a shard"),
    ],
)
def test_trec_shards_that_do_not_fit_are_reported(
    tmp_path: Path, names: Sequence[str], message: str
) -> None:
    for name in names:
        write_trec(tmp_path / "runs" / name, "1 Q0 t1 1 9.0 x\n")

    saved = read(tmp_path / "runs", suites=[TEA], root=tmp_path)

    assert saved.runs == {}
    assert message in saved.errors["s.ir.yaml"]


# Baselines


def test_a_folder_of_baselines_is_a_baseline(tmp_path: Path) -> None:
    other = make_suite("vase", path="other.ir.yaml")
    update_baseline(tmp_path, SUITE, RUN)
    update_baseline(tmp_path, other, make_run({"vase": ["v1"]}))
    (tmp_path / ".ir-baseline").rename(tmp_path / "old")
    source = SavedBaselines(tmp_path / "old", root=tmp_path)

    (baseline,) = source.read_baselines([SUITE, other])

    assert get_doc_ids(baseline.run) == {**get_doc_ids(RUN), "vase": [["v1"]]}
    assert baseline.run.provenance.source == "old"


def test_a_baseline_path_without_any_run_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()

    with pytest.raises(BaselineError, match="--ir-baseline old: There is no run of 'retriever'"):
        SavedBaselines(tmp_path / "old", root=tmp_path).read_baselines([SUITE])
    with pytest.raises(BaselineError, match="For a branch, write `git:main`"):
        SavedBaselines(tmp_path / "main", root=tmp_path).read_baselines([SUITE])
