"""The baseline of a suite: where it is, when it is written, what an update says, and what git knows of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Project
from tests.repository import git

SUITE = """\
queries:
  - {query: office chair, id: q1, relevant: [d1]}
  - {query: desk, relevant: [d2]}
  - {query: lamp, relevant: [d3]}
thresholds: {mrr: 0.1}
"""
ANSWERS: dict[str, list[Any]] = {
    "office chair": [
        {"id": "d1", "score": 2.0, "title": "Chair"},
        {"id": "d9", "score": 1.0, "title": "Mat"},
    ],
    "desk": ["d2"],
    "lamp": [("d3", 0.5)],
}
BASELINE = ".ir-baseline/shop.jsonl"


@pytest.fixture
def shop(project: Project) -> Project:
    project.suite(SUITE)
    project.answers(ANSWERS)
    return project


def lines(project: Project, path: str = BASELINE) -> dict[str, Any]:
    kept = (project.path / path).read_text(encoding="utf-8").splitlines()
    first, *rest, last = (line for line in kept if line.startswith("{"))
    assert last == '{"end":"pytest-irquality run"}'
    return {"": json.loads(first), **{json.loads(line)["id"]: json.loads(line) for line in rest}}


def test_an_update_writes_what_changed_says_so_and_otherwise_touches_nothing(shop: Project) -> None:
    path = shop.path / BASELINE
    shop.suite(SUITE + "each_query: {lost_all_relevant: fail, mrr: {max_drop: 0.1}}\n")
    result = shop.run("--ir-update-baseline")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["  baseline written: .ir-baseline/shop.jsonl: 3 new"])
    result.stdout.no_fnmatch_line("*nothing to compare with*")  # it makes what is missing
    shop.suite(SUITE)
    header, *between, _, _ = path.read_text(encoding="utf-8").splitlines()
    q1, desk, lamp = between[2::3]
    assert between[:6] == ["", '"q1"', q1, "", '"desk"', desk]
    docs = '"docs":[["d1",2.0,"Chair"],["d9",1.0,"Mat"]]'
    assert q1 == f'{{"id":"q1","query":"office chair",{docs}}}'
    assert desk == '{"id":"desk","query":"desk","docs":["d2"]}'
    assert lamp == '{"id":"lamp","query":"lamp","docs":[["d3",0.5]]}'
    # Nothing that another branch would change, too.
    assert json.loads(header) == {
        "format": "pytest-irquality run", "format_version": 2, "suite": "shop", "path": "shop.ir.yaml", "depth": 10,
    }  # fmt: skip

    before = (path.read_bytes(), path.stat().st_mtime_ns)
    shop.answers({**ANSWERS, "lamp": [("d3", 0.50001)]})  # scores wobble from machine to machine
    result = shop.run("--ir-update-baseline", "-q")
    result.stdout.fnmatch_lines(["baseline unchanged: .ir-baseline/shop.jsonl: 3 rankings"])
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before

    shop.suite(SUITE.replace("desk,", "DESK, id: desk,").replace("  - {query: lamp, relevant: [d3]}\n", "  - {query: a, relevant: [d1]}\n"))  # fmt: skip
    shop.answers(
        {"office chair": [*ANSWERS["office chair"][::-1], "d7"][:2], "DESK": ["d2"], "a": []}
    )
    result = shop.run("--ir-update-baseline")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["  baseline written: .ir-baseline/shop.jsonl: 1 ranking changed, 2 new, 1 removed"]
    )
    assert list(lines(shop)) == ["", "q1", "desk", "a"]


def test_what_was_not_selected_or_not_answered_keeps_its_line_and_floors_still_fail(
    shop: Project,
) -> None:
    shop.run("--ir-update-baseline")
    shop.answers({query: ["d0"] for query in ANSWERS})
    result = shop.run("--ir-update-baseline", "shop.ir.yaml::desk")
    result.stdout.fnmatch_lines(["  baseline written: *: 1 ranking changed"])
    assert lines(shop)["q1"]["docs"][0][0] == "d1"
    assert lines(shop)["desk"]["docs"] == ["d0"]

    shop.answers({"office chair": ["d5"], "desk": ["d0"]})
    result = shop.run("--ir-update-baseline")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["  baseline written: *: 1 ranking changed; 1 had no answer, and stay as they were"])  # fmt: skip
    assert lines(shop)["lamp"]["docs"] == [["d3", 0.5]]

    shop.answers({query: ["d7"] for query in ANSWERS})
    result = shop.run("--ir-update-baseline")
    assert result.ret == 1  # the floor
    assert lines(shop)["lamp"]["docs"] == ["d7"]


def test_a_deeper_suite_makes_a_deeper_baseline_once_all_of_it_was_asked(shop: Project) -> None:
    shop.run("--ir-update-baseline")
    shop.suite("depth: 50\n" + SUITE)
    shop.run("--ir-update-baseline", "shop.ir.yaml::desk").stdout.fnmatch_lines(
        ["  baseline unchanged: *"]
    )
    assert lines(shop)[""]["depth"] == 10
    shop.run("--ir-update-baseline").stdout.fnmatch_lines(["  baseline written: *: depth 10 → 50"])
    assert lines(shop)[""]["depth"] == 50


def test_each_retriever_has_its_file_in_the_folder_that_is_named(shop: Project) -> None:
    shop.conftest(
        "@pytest.fixture(params=['bm25', 'a/b.c'])\ndef retriever(request):\n"
        "    def ask(query): return [request.param]\n    ask.version = 7\n    return ask\n"
    )
    shop.suite(SUITE, "deep/ir_lamps.yaml")
    shop.run("-v", "--ir-update-baseline", "--ir-baseline=kept", "deep")
    files = [
        path.relative_to(shop.path / "kept").as_posix()
        for path in shop.path.glob("kept/**/*.jsonl")
    ]
    assert sorted(files) == ["deep/ir_lamps.a%2Fb%2Ec.jsonl", "deep/ir_lamps.bm25.jsonl"]
    shop.conftest((shop.path / "conftest.py").read_text().replace("version = 7", "version = 8"))
    result = shop.run("-v", "--ir-baseline=kept", "deep", "-k", "bm25")
    result.stdout.fnmatch_lines(["*version 7, now 8*"])
    kept = lines(shop, "kept/deep/ir_lamps.bm25.jsonl")
    assert (kept[""]["retriever"], kept["desk"]["version"]) == ("bm25", "7")


@pytest.mark.parametrize(
    ("content", "option", "said"),
    [
        ("{}\n", (), "Failed: .ir-baseline/shop.jsonl:1: not a run that pytest-irquality wrote"),
        (
            None,
            ("--ir-baseline=none.jsonl",),
            "ERROR: --ir-baseline none.jsonl: there is no such file or folder",
        ),
        (
            None,
            ("--ir-baseline=git:HEAD",),
            "ERROR: --ir-baseline git:HEAD: the project is in no git checkout",
        ),
    ],
)
def test_a_baseline_that_cannot_be_read_is_one_line(
    shop: Project,
    content: str | None,
    option: tuple[str, ...],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(shop.path.parent))
    if content:
        (shop.path / ".ir-baseline").mkdir()
        (shop.path / BASELINE).write_text(content)
    result = shop.run(*option)
    if option:  # wrong for all of the session
        assert result.ret == 4
        assert result.stderr.str().count(said) == 1
    else:
        assert result.ret == 2
        result.assert_outcomes(errors=6)  # with the guard and the limit that come with a baseline
        assert said.removeprefix("Failed: ") in result.stdout.str()
    assert "pytest_irquality/" not in result.stdout.str()


def test_two_suites_never_share_a_file(shop: Project) -> None:
    shop.run("--ir-update-baseline")
    shop.suite(SUITE, "shop.ir.yml")
    result = shop.run("--ir-update-baseline", "shop.ir.yml")
    result.stdout.fnmatch_lines(
        [
            "*.ir-baseline/shop.jsonl:1: is the baseline of shop.ir.yaml, not of shop.ir.yml: rename one, or delete it"
        ]
    )
    assert lines(shop)[""]["path"] == "shop.ir.yaml"


@pytest.fixture
def repository(shop: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "")
    shop.suite(SUITE, "search/shop.ir.yaml")
    (shop.path / "shop.ir.yaml").unlink()
    git(shop.path, "init", "-q", "-b", "main")
    git(shop.path, "add", "search", "conftest.py")
    git(shop.path, "commit", "-qm", "no baseline yet")
    git(shop.path, "tag", "bare")
    shop.run("--ir-update-baseline")
    git(shop.path, "add", "search")
    git(shop.path, "commit", "-qm", "a baseline")
    return shop


def test_a_revision_that_git_does_not_have_says_what_to_do(
    repository: Project, tmp_path: Path
) -> None:
    result = repository.run("--ir-baseline=git:nowhere")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["ERROR: --ir-baseline git:nowhere: git knows no revision 'nowhere' here: *"]
    )
    result.stdout.no_fnmatch_line("*NOT EVALUATED*")
    git(repository.path, "clone", "-q", "--depth=1", repository.path.as_uri(), "shallow")
    result = repository.run("--ir-baseline=git:bare", "--rootdir=shallow", "shallow")
    result.stderr.fnmatch_lines(
        ["*this clone is shallow and lacks 'bare'; fetch it, *fetch-depth: 0*"]
    )


def test_s16_a_change_that_updates_the_baseline_too_still_shows_the_drop(
    repository: Project,
) -> None:
    git(repository.path, "checkout", "-qb", "change")
    repository.suite(
        SUITE.replace("{mrr: 0.1}", "{mrr: {min: 0.1, max_drop: 0.05}}"), "search/shop.ir.yaml"
    )
    repository.answers({**ANSWERS, "desk": ["d0"]})
    result = repository.run("--ir-update-baseline")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["  baseline written: *: 1 ranking changed"])
    git(repository.path, "commit", "-qam", "drop, and hide it")
    assert repository.run().ret == 0
    result = repository.run("--ir-baseline=git:main")
    assert result.ret == 0  # in the open, and told first
    result.stdout.fnmatch_lines(["This change accepts a drop: mrr@10 fell 1.000 → 0.667*"])
    suite = repository.data["suites"][0]
    assert {v["check"]: v["outcome"] for v in suite["verdicts"]}["mrr-10"] == "accepted"
    assert suite["baseline"]["source"] == "git:main search/.ir-baseline/shop.jsonl"


def test_a_suite_that_a_revision_does_not_have_is_new_but_a_missing_baseline_is_not(
    repository: Project,
) -> None:
    limited = SUITE.replace("{mrr: 0.1}", "{mrr: {max_drop: 0.05}}")
    repository.suite(limited, "search/new.ir.yaml")
    repository.suite(limited, "search/shop.ir.yaml")
    result = repository.run("--ir-baseline=git:HEAD", "search/new.ir.yaml")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["  search/new.ir.yaml is new: git:HEAD search/.ir-baseline/new.jsonl does not exist*"]
    )
    assert (
        repository.run("--ir-baseline=git:bare").ret == 0
    )  # this change brings the first baseline
    git(repository.path, "rm", "-q", f"search/{BASELINE}")
    git(repository.path, "commit", "-qm", "no baseline any more")
    result = repository.run("--ir-baseline=git:bare", "search/shop.ir.yaml")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*there is no baseline; make one with `--ir-update-baseline`*"])


def test_a_baseline_that_another_command_named_is_used_for_the_suites_it_holds(
    shop: Project,
) -> None:
    shop.run("--ir-update-baseline", "--ir-baseline=main.jsonl")
    shop.run("--ir-baseline=main.jsonl")
    assert shop.data["suites"][0]["baseline"]["source"] == "main.jsonl"
    shop.run()
    assert shop.data["suites"][0]["baseline"] is None
    shop.suite("queries: [{query: other, relevant: [d1]}]\n", "other.ir.yaml")
    result = shop.run("--ir-baseline=main.jsonl", "other.ir.yaml")
    result.stdout.fnmatch_lines(
        ["*main.jsonl:1: holds no query of other.ir.yaml; it is a run of shop.ir.yaml"]
    )


def test_passages_are_looked_for_in_texts_that_were_kept_or_not_at_all(project: Project) -> None:
    suite = "match: %s\nqueries: [{query: refunds, relevant: [%s]}]\nthresholds: {mrr: {min: 0.5, max_drop: 0.1}}\n"
    project.suite(suite % ("id", "c1"))
    project.answers({"refunds": [{"id": "c1", "text": "Refunds take 14 days."}]})
    assert project.run("--ir-update-baseline", "--ir-save-runs=runs").ret == 0
    project.run("--ir-runs=runs", "--ir-save-runs=shop.run")
    project.suite(suite % ("text", "14 days"))
    result = project.run()
    assert result.ret == 2
    result.stdout.fnmatch_lines(
        [".ir-baseline/shop.jsonl: kept without texts, which 'match: text' needs; renew it with *"]
    )
    result = project.run("--ir-update-baseline", "--ir-save-runs=texts")
    result.stdout.fnmatch_lines(["  baseline written: *: 1 ranking changed"])
    assert project.run("--ir-runs=texts").ret == 0
    for kept, said in [
        (
            "runs",
            "the kept run of shop.ir.yaml has no texts, which 'match: text' needs: retrieve it again",
        ),
        ("shop.run", "shop.run has no texts, which 'match: text' of shop.ir.yaml needs"),
    ]:
        result = project.run(f"--ir-runs={kept}")
        assert result.ret == 2
        result.stdout.fnmatch_lines([said])
