"""The commands of jobs: a run promoted, histories made one, pytest called."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_irquality.ci.command import main
from pytest_irquality.storage.history import Entry, merge, read_history, record
from tests.conftest import ALONE, Project


@pytest.fixture
def nights(tmp_path: Path) -> Path:
    for name, text in {"now/shop.jsonl": "new", "nights/last/shop.jsonl": "old"}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    return tmp_path


def promote(folder: Path, *more: str) -> int:
    report = f"--report={folder / 'report.json'}"
    return main(["promote", str(folder / "now"), str(folder / "nights/last"), report, *more])


def last(folder: Path) -> str:
    return (folder / "nights/last/shop.jsonl").read_text()


@pytest.mark.parametrize(
    ("outcome", "more", "expected"),
    [
        ("passed", [], "new"),
        ("partial", [], "old"),
        ("failed", [], "old"),
        ("failed", ["--by-hand"], "new"),
    ],
)
def test_only_a_run_that_was_whole_and_green_is_promoted_unasked(
    nights: Path, outcome: str, more: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (nights / "report.json").write_text(json.dumps({"outcome": outcome}))
    assert promote(nights, *more) == 0
    assert last(nights) == expected
    assert sorted(path.name for path in (nights / "nights").iterdir()) == ["last"]
    said = capsys.readouterr().out
    assert said.startswith("promoted: " if expected == "new" else "not promoted: ")


@pytest.mark.parametrize("report", [None, "", "[]", "{}", '{"outcome": '])
def test_a_run_without_a_report_is_an_error_and_what_was_there_stays(
    nights: Path, report: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    if report is not None:
        (nights / "report.json").write_text(report)
    assert promote(nights) == 1
    assert last(nights) == "old"
    assert "report.json: " in capsys.readouterr().err


def test_a_run_that_was_killed_in_between_loses_no_night(nights: Path) -> None:
    (nights / "nights/last").rename(nights / "nights/last.before")
    (nights / "report.json").write_text('{"outcome": "failed"}')
    assert promote(nights) == 0
    (nights / "report.json").write_text('{"outcome": "passed"}')
    assert promote(nights) == 0
    assert last(nights) == "new"


def test_a_run_that_cannot_be_moved_leaves_the_last_one(
    nights: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (nights / "report.json").write_text('{"outcome": "passed"}')
    last_one = str(nights / "nights/last")
    report = f"--report={nights / 'report.json'}"
    assert main(["promote", last_one, last_one, report]) == 1
    assert last(nights) == "old"
    assert "No such file" in capsys.readouterr().err


def entry(commit: str, time: str) -> Entry:
    return Entry("shop", "", commit, time, "q", "j", 10, {"mrr@10": (0.5, 3)})


def test_two_jobs_that_began_with_one_history_lose_no_line(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.jsonl", tmp_path / "theirs.jsonl"
    for path, last in ((ours, entry("c", "2024-05-03")), (theirs, entry("b", "2024-05-02"))):
        record(path, path.name, [entry("a", "2024-05-01")])
        record(path, path.name, [last])
    assert main(["history", str(ours), str(theirs)]) == 0
    assert [one.commit for one in read_history(ours, "ours")] == ["a", "b", "c"]
    before = ours.read_bytes()
    assert merge(ours, [theirs, ours]) == 0
    assert ours.read_bytes() == before


def test_a_history_that_is_none_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other").write_text("no history\n")
    assert main(["history", str(tmp_path / "one"), str(tmp_path / "other")]) == 1
    assert "other:1: not a line of a history" in capsys.readouterr().err
    assert not (tmp_path / "one").exists()


@pytest.mark.slow
def test_judging_keeps_every_report_and_compares_with_what_is_there(project: Project) -> None:
    project.suite(
        "queries: [{query: desk, relevant: [d1]}]\nthresholds: {mrr@10: {max_drop: 0.1}}\n"
    )
    project.answers({"desk": ["d1"]})

    def judge(*more: str) -> subprocess.CompletedProcess[str]:
        words = ["judge", "--folder=report", "--against=last", "--history=h.jsonl", *more]
        call = "import sys; from pytest_irquality.ci.command import main; sys.exit(main())"
        return subprocess.run(
            [sys.executable, "-c", call, *words], cwd=project.path, text=True, capture_output=True,
            env={**os.environ, **ALONE}, check=False,
        )  # fmt: skip

    first = judge("--ir-save-runs=last")
    assert (first.returncode, "nothing to compare with yet: last" in first.stdout) == (1, True)
    done = judge()
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "compared with last" in done.stdout
    kept = {path.name for path in (project.path / "report").iterdir()}
    assert kept == {"report.html", "report.json", "report.md", "history.jsonl"}
    project.answers({"desk": ["d2", "d1"]})
    assert judge().returncode == 1
    assert "unrecognized arguments: --histroy" in judge("--histroy=x").stderr
    for left in (project.path / "report").iterdir():
        assert left.name == "history.jsonl", "an earlier report is taken for this one's"


def test_other_verbs_take_no_argument_that_they_do_not_know(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["history", "one", "two", "--three"])
    assert "unrecognized arguments: --three" in capsys.readouterr().err
