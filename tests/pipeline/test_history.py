"""The history of a project: a line a commit, what many small losses come to, and where they began."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_irquality.storage.history import HistoryError, read_history
from tests.conftest import Project
from tests.repository import git

QUERIES = "queries:\n" + "".join(f"  - {{query: q{n}, relevant: [d]}}\n" for n in range(50))
SUITE = (
    QUERIES
    + "thresholds: {mrr: {min: 0.1, max_drop: 0.05}}\ntrend: {mrr: {max_drop: 0.03, over: 20}}\n"
)
CONFTEST = """\
from pathlib import Path
BAD = int(Path(__file__).with_name("bad").read_text())
@pytest.fixture
def retriever():
    return lambda query: ["x", "d"] if int(query[1:]) < BAD else ["d", "x"]
"""
HISTORY = "--ir-history=history.jsonl"


@pytest.fixture
def shop(project: Project) -> Project:
    """A repository in which a number says how many of 50 queries find their document at rank 2."""
    project.suite(SUITE)
    project.conftest(CONFTEST)
    (project.path / ".gitignore").write_text(
        "ir-report.html\nout.json\nhistory.jsonl\n__pycache__\n.pytest_cache\n"
    )
    git(project.path, "init", "-q", "-b", "main")
    change(project, 0)
    project.run("--ir-update-baseline")
    git(project.path, "add", "-A")
    git(project.path, "commit", "-q", "--amend", "--no-edit")
    return project


WRITER = """\
import sys
from pathlib import Path
from pytest_irquality.storage.history import Entry, record
who, path = sys.argv[1], Path(sys.argv[2])
for n in range(15):
    record(path, path.name, [Entry("shop", who, f"c{n}", {"mrr": 0.5})])
"""


@pytest.mark.slow
def test_four_writers_of_fifteen_lines_keep_sixty(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "kept/history.jsonl")
    paths = [tmp_path / "kept/history.jsonl", tmp_path / "link.jsonl"]  # one file, by whatever name
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(who), str(paths[who % 2])])
        for who in range(4)
    ]
    assert [writer.wait(300) for writer in writers] == [0] * 4
    entries = read_history(paths[0], "history.jsonl")
    assert {(entry.retriever, entry.commit) for entry in entries} == {
        (str(who), f"c{n}") for who in range(4) for n in range(15)
    }
    assert len(entries) == 60


def change(project: Project, bad: int) -> str:
    (project.path / "bad").write_text(str(bad))
    git(project.path, "add", "-A")
    git(project.path, "commit", "-q", "--allow-empty", "-m", f"{bad} bad")
    return git(project.path, "rev-parse", "--short", "HEAD").strip()


def lines(project: Project) -> list[dict[str, object]]:
    text = (project.path / "history.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.slow
def test_s30_thirty_small_losses_are_red_together_and_say_where_they_began(shop: Project) -> None:
    """Each loses 0.002; the limit of one change is 0.05, that of twenty together 0.03."""
    queries = "".join(f'{{"query": "q{n}", "relevant": ["d"]}}\n' for n in range(250))
    (shop.path / "many.jsonl").write_text(queries)
    shop.suite(SUITE.replace(QUERIES, "queries: [{file: many.jsonl, format: jsonl}]\n"))
    change(shop, 0)
    shop.run("--ir-update-baseline")
    commits, said = [], ""

    def lose(bad: int) -> int:
        """A change that commits its baseline; the next one is compared with that."""
        nonlocal said
        commits.append(change(shop, bad))
        result = shop.run(HISTORY, "--ir-update-baseline")
        told = [line for line in result.outlines if line.startswith("mrr@10 lost")]
        said = told[0] if told else ""
        return int(result.ret)

    assert [lose(bad) for bad in (1, 2)] == [0, 0]
    *_, first, second = map(json.dumps, lines(shop))
    # Thirteen more leave lines that differ as these two do; they are not run one by one.
    known = {"commit", "baseline", "values"}
    assert {k for k, v in json.loads(first).items() if v != json.loads(second)[k]} == known
    with (shop.path / "history.jsonl").open("a") as file:
        for bad in range(3, 15):
            values = {"mrr@10": 1 - bad * 0.002}
            line = {**json.loads(second), "commit": f"c{bad}", "baseline": f"b{bad}"}
            file.write(json.dumps({**line, "values": values}) + "\n")
    change(shop, 14)
    shop.run("--ir-update-baseline")
    assert [lose(bad) for bad in (15, 16)] == [0, 1]
    assert said == (
        "mrr@10 lost 0.032 in the last 16 changes together, each against its own baseline: more than"
        f" 0.030; it began with {commits[0]}"
    )
    # So it stays for those that follow, until a drop is accepted: twenty changes at the most.
    with (shop.path / "history.jsonl").open("a") as file:
        for bad in range(17, 30):
            line = {**json.loads(second), "commit": f"c{bad}", "baseline": f"b{bad}"}
            file.write(json.dumps(line) + "\n")
    change(shop, 29)
    shop.run("--ir-update-baseline")
    assert lose(30) == 1
    assert "mrr@10 lost 0.040 in the last 20 changes together" in said
    assert "it began with c11" in said


@pytest.mark.slow
@pytest.mark.usefixtures("pages")
def test_a_line_of_the_trend_names_its_changes_and_the_summary_the_lowest(shop: Project) -> None:
    shop.run(HISTORY)
    commits = []
    for bad in range(1, 5):  # each loses 0.01, the limit of one change is 0.05
        commits.append(change(shop, bad))
        result = shop.run(HISTORY)
        outcomes, page = shop.outcomes(), (shop.path / "ir-report.html").read_text()
        shop.run("--ir-update-baseline")
        git(shop.path, "commit", "-qam", "its baseline")
    result.stdout.fnmatch_lines([
        "mrr@10 lost 0.040 in the last 4 changes together, each against its own baseline: more than"
        f" 0.030; it began with {commits[0]}*",
    ])  # fmt: skip
    assert outcomes["trend-mrr-10"] == "failed"
    assert outcomes["mrr-10"] == "passed"
    assert "Over the last changes" in page


def test_losses_from_one_baseline_are_not_counted_twice(shop: Project) -> None:
    for bad in (1, 2):  # 0.01 and 0.02 below one and the same baseline, which are not 0.03
        change(shop, bad)
        assert shop.run(HISTORY).ret == 0
    change(shop, 2)
    assert shop.run(HISTORY).ret == 0
    change(shop, 4)
    assert shop.run(HISTORY).ret == 1


def test_a_rerun_of_a_commit_replaces_its_line(shop: Project) -> None:
    shop.run(HISTORY)
    shop.run(HISTORY)
    (line,) = lines(shop)
    head = git(shop.path, "rev-parse", "--short", "HEAD").strip()
    assert line["commit"] == head
    assert line["values"] == {"mrr@10": 1.0}
    assert line["changes"] == {"mrr@10": 0.0}
    # Some of the queries are no line of it.
    change(shop, 2)
    shop.run(HISTORY, "-k", "q1")
    assert len(lines(shop)) == 1


@pytest.mark.slow
def test_what_is_asked_at_one_commit_every_night_has_a_line_a_night(shop: Project) -> None:
    """Data changes while no commit does: each night is compared with the night before."""
    shop.conftest(CONFTEST.replace('"bad"', '"night"'))
    (shop.path / ".ir-baseline/shop.jsonl").unlink()
    change(shop, 0)
    for bad, compared in ((0, "none"), (1, "0"), (2, "1"), (2, "1"), (1, "2")):
        (shop.path / "night").write_text(str(bad))  # which git does not track
        options = [f"--ir-save-runs={bad}", f"--ir-baseline={compared}"]
        shop.run(HISTORY, *options[: 1 if compared == "none" else 2])
    nights = lines(shop)
    assert len({line["commit"] for line in nights}) == 1
    first, *others = (line["changes"] for line in nights)
    assert first == {}
    assert others == [{"mrr@10": pytest.approx(change)} for change in (-0.01, -0.01, 0.01)]


def test_without_a_history_there_is_no_limit_on_one(shop: Project) -> None:
    shop.run()
    assert "trend-mrr-10" not in shop.outcomes()


def test_what_is_no_history_is_one_line_and_stays_as_it_is(shop: Project) -> None:
    path = shop.path / "history.jsonl"
    path.write_text('{"not": "ours"}\n')
    result = shop.run(HISTORY)
    assert result.ret == 2
    assert (
        "history.jsonl:1: not a line of a history that pytest-irquality wrote"
        in result.stdout.str()
    )
    assert path.read_text() == '{"not": "ours"}\n'


@pytest.mark.parametrize(
    "wrong",
    [
        {"changes": {"mrr@10": "0.1"}},
        {"changes": {"mrr@10": 10**400}},
        {"values": {"mrr@10": "0.5"}},
        {"values": {"mrr@10": [0.5]}},
        {"baseline": 5},
        {"accepted": "no"},
    ],
)
def test_a_line_that_nobody_could_compare_with_is_none_of_a_history(
    tmp_path: Path, wrong: dict[str, object]
) -> None:
    path = tmp_path / "history.jsonl"
    good = {
        "format": "pytest-irquality history", "suite": "s", "retriever": "", "commit": "a",
        "values": {"mrr@10": 0.5}, "changes": {"mrr@10": 0.1},
    }  # fmt: skip
    path.write_text(json.dumps(good) + "\n")
    assert len(read_history(path, "h")) == 1
    path.write_text(f"{json.dumps(good)}\n{json.dumps({**good, **wrong})}\n")
    with pytest.raises(HistoryError, match=r"^h:2: not a line of a history"):
        read_history(path, "h")


def test_a_trend_over_no_change_has_no_tick(shop: Project) -> None:
    (shop.path / ".ir-baseline/shop.jsonl").unlink()
    shop.suite(SUITE.replace(", max_drop: 0.05", ""))
    shop.run(HISTORY, "--ir-markdown=out.md")
    text = (shop.path / "out.md").read_text()
    (row,) = [line for line in text.splitlines() if line.startswith("| trend: mrr@10 |")]
    assert "| – nothing to compare |" in row
    assert "50 queries, 1 limit holds, but nothing was compared" in text


@pytest.mark.parametrize(
    ("trend", "said"),
    [
        ("{mrr: {over: 3}}", "the trend of mrr needs one of max_drop and max_rise"),
        ("{mrr: {max_drop: 3%}}", "a trend is limited in points, not in percent"),
        ("{mrr: {max_rise: 0.1}}", "max_rise on mrr@10, which is better high; max_drop is meant"),
    ],
)
def test_a_trend_that_means_nothing_is_an_error(shop: Project, trend: str, said: str) -> None:
    shop.suite(SUITE.replace("{mrr: {max_drop: 0.03, over: 20}}", trend))
    result = shop.run(HISTORY)
    assert result.ret == 2
    assert said in result.stdout.str()


@pytest.mark.usefixtures("pages")
def test_the_page_has_the_measures_after_each_of_the_last_changes(shop: Project) -> None:
    shop.suite(QUERIES + "metrics: [mrr]\nthresholds: {zero_results: {max: 2%}}\n")
    for bad in (0, 5):
        head = change(shop, bad)
        shop.run(HISTORY)
    page = re.sub(r"<[^>]*>|\s", " ", (shop.path / "ir-report.html").read_text())
    last = re.search(
        r"Over the last changes .*? change +mrr @10 +(\w+) +0\.950 +\w+ +1\.000 ", page
    )
    assert last
    assert last[1] == head


@pytest.mark.usefixtures("pages")
def test_the_page_draws_each_measure_with_the_floor_it_is_held_to(shop: Project) -> None:
    shop.suite(QUERIES + "metrics: [mrr]\nthresholds: {mrr: 0.9, zero_results: {max: 2%}}\n")
    for bad in (0, 5):
        change(shop, bad)
        shop.run(HISTORY)
    page = (shop.path / "ir-report.html").read_text()
    assert "<p>mrr@10: now 0.950, 0.950 to 1.000 over 2 changes, limit 0.900</p>" in page
    assert 'points="0.0,3.0 300.0,20.0 "' in page
    assert 'x2="300" y1="37.0" y2="37.0"' in page
    assert "each value is over the queries and grades of its change" in page
