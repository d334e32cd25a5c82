"""A program as the retriever, run for real: its protocol, its log, and what one that hangs, dies, lies or leaves things
behind is called.
"""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_irquality.retrieval import Fault, RetrieverError, Run, program, retrieve
from pytest_irquality.retrieval.program import Program
from pytest_irquality.retrieval.secrets import Secrets
from pytest_irquality.suite import Query, Suite

posix = pytest.mark.skipif(os.name != "posix", reason="processes as POSIX has them")

# What every program here begins with. Each answers "d-QUERY" unless its own lines say otherwise.
BEGIN = """
import json, os, pathlib, signal, subprocess, sys, time

def say(thing, end="\\n", to=sys.stdout):
    to.write(thing if isinstance(thing, str) else json.dumps(thing))
    to.write(end)
    to.flush()

def answer(asked, *ids):
    say({"id": asked["id"], "hits": list(ids) or ["d-" + asked["query"]]})

pathlib.Path("starts").open("a").write(f"{os.getpid()}\\n")
"""
LOOP = "for line in sys.stdin:\n    asked = json.loads(line)\n    "


def suite(*queries: str, **keys: Any) -> Suite:
    asked = queries or ("q0", "q1", "q2")
    given = {"timeout": 10.0, **keys}
    return Suite("s", "s", tuple(Query(query, query) for query in asked), depth=10, **given)


@pytest.fixture(autouse=True)
def as_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output is buffered unless it is flushed."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)


@contextmanager
def opened(folder: Path, code: str, secrets: Secrets | None = None) -> Iterator[Program]:
    (folder / "search.py").write_text(BEGIN + code)
    command = f"{shlex.quote(sys.executable)} search.py"
    made = Program(command, folder, secrets or Secrets([]))
    made.shown = "search.py"
    yield made
    made.close()


def run(folder: Path, code: str, given: Suite | None = None) -> Run:
    with opened(folder, code) as made:
        return retrieve(given or suite(), made)


def starts(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "starts").read_text().split()]


def right(got: Run) -> set[str]:
    """The queries that were answered, each with its own answer."""
    for query, ranking in got.first.rankings.items():
        assert ranking.ids == (f"d-{query}",)
    return {*got.first.rankings}


def messages(faults: Mapping[str, Fault]) -> dict[str, str]:
    return {query: fault.message for query, fault in faults.items()}


def gone(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            if state == "Z":  # ended, and nobody has asked how
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


@pytest.fixture
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "START_UP", 0.5)


# -- the protocol --------------------------------------------------------------------------------------------------------


def test_a_line_in_a_line_out(tmp_path: Path) -> None:
    code = LOOP + "say(asked, '\\n', open('asked', 'a')); answer(asked)"
    hard = 'größe "a"\n日本 \\'
    got = run(tmp_path, code, suite("q0", hard, params={"locale": "de", "facets": ["a"]}))
    assert right(got) == {"q0", hard}
    lines = (tmp_path / "asked").read_text().splitlines()
    assert [eval(line.replace("null", "None")) for line in lines] == [
        {"id": "irq-1", "query": "q0", "k": 10, "params": {"locale": "de", "facets": ["a"]}},
        {"id": "irq-2", "query": hard, "k": 10, "params": {"locale": "de", "facets": ["a"]}},
    ]
    assert len(starts(tmp_path)) == 1


def test_a_process_for_each_call_in_flight(tmp_path: Path) -> None:
    queries = [f"q{i}" for i in range(30)]
    got = run(tmp_path, LOOP + "time.sleep(0.02); answer(asked)", suite(*queries, concurrency=3))
    assert right(got) == {*queries}
    assert len(starts(tmp_path)) == 3


@posix
def test_its_input_ends_first_and_what_it_started_ends_with_it(tmp_path: Path) -> None:
    code = (
        "child = subprocess.Popen(['sleep', '600'])\nsay(str(child.pid), '', open('child', 'w'))\n"
        + LOOP
        + "answer(asked)\nopen('ended', 'w').write('by itself')"
    )
    assert right(run(tmp_path, code)) == {"q0", "q1", "q2"}
    assert (tmp_path / "ended").read_text() == "by itself"
    assert gone(int((tmp_path / "child").read_text()))


@posix
def test_one_that_does_not_mind_the_end_of_its_input_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "GRACE", 0.2)
    code = (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + LOOP + "answer(asked)\ntime.sleep(600)"
    )
    assert right(run(tmp_path, code)) == {"q0", "q1", "q2"}
    assert all(map(gone, starts(tmp_path)))


@posix
def test_a_daemon_that_holds_its_output_holds_nothing_up(tmp_path: Path) -> None:
    """A process in a session of its own outlives the group, and keeps the pipes open."""
    code = (
        "child = subprocess.Popen(['sleep', '30'], start_new_session=True)\n"
        "say(str(child.pid), '', open('child', 'w'))\n"
        + LOOP
        + "\n    if asked['query'] == 'q1' and len(open('starts').readlines()) == 1: os._exit(7)\n    answer(asked)"
    )
    start = time.monotonic()
    try:
        assert right(run(tmp_path, code)) == {"q0", "q1", "q2"}
    finally:
        os.kill(int((tmp_path / "child").read_text()), 9)
    assert time.monotonic() - start < 25  # the daemon sleeps for 30


# -- its log -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "log",
    [
        "say('search took 3 ms')",
        "say(asked)",  # what it was asked
        "say({'id': 7, 'level': 'info', 'hits': ['wrong']})",
        "say({'id': None, 'hits': ['wrong']})",
        "say({'id': '', 'hits': ['wrong']})",
        "say({'hits': ['wrong']})",
        "say(['wrong'])",
        "say('null'); say('{'); say('7'); say('')",
        "sys.stdout.buffer.write(b'\\xff\\xfe\\x00\\n'); sys.stdout.flush()",
        "say('[' * 100_000)",
        "say('{\"a\":' * 100_000)",
        "sys.stderr.write('loading 50%\\r'); sys.stderr.flush()",
        "say('x' * 1_000_000); say('y' * 1_000_000, '\\n', sys.stderr)",
        "[say('noise ' * 10) for _ in range(20_000)]",
    ],
)
def test_other_lines_are_its_log(tmp_path: Path, log: str) -> None:
    got = run(tmp_path, LOOP + f"{log}; answer(asked)")
    assert right(got) == {"q0", "q1", "q2"}


def test_an_answer_in_pieces_is_read_when_its_line_ends(tmp_path: Path) -> None:
    code = LOOP + (
        "line = json.dumps({'id': asked['id'], 'hits': ['d-' + asked['query']]})\n"
        "    for piece in (line[:7], line[7:20], line[20:] + '\\n'): say(piece, ''); time.sleep(0.02)"
    )
    assert right(run(tmp_path, code)) == {"q0", "q1", "q2"}


@pytest.mark.parametrize(
    "code",
    [
        "answer(asked); answer(asked, 'wrong')",  # twice
        "say({'id': 'irq-' + str(int(asked['id'][4:]) + 1), 'hits': ['wrong']}); answer(asked)",  # ahead
        "answer(asked); time.sleep(0.05); answer(asked, 'wrong')",
    ],
)
def test_no_answer_stands_under_another_query(tmp_path: Path, code: str) -> None:
    assert right(run(tmp_path, LOOP + code, suite(*"abcdef"))) == {*"abcdef"}


@pytest.mark.usefixtures("brisk")
def test_answers_out_of_order_are_waited_for_and_never_taken_for_another(tmp_path: Path) -> None:
    code = (
        "waits = []\n"
        + LOOP
        + (
            "waits.append(asked)\n    if len(waits) == 2:\n        answer(waits[1]); answer(waits[0]); waits.clear()"
        )
    )
    got = run(tmp_path, code, suite("q0", "q1", timeout=0.3))
    assert not got.first.rankings


# -- what is called what -------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("brisk")
def test_what_has_no_end_of_line_is_shown(tmp_path: Path) -> None:
    got = run(tmp_path, "say('password: ', end='')\ntime.sleep(60)", suite("q0", timeout=0.5))
    assert got.faults["q0"].message.endswith("search.py was ended; it wrote 'password:'")


@pytest.mark.usefixtures("brisk")
def test_silence_says_that_output_may_need_flushing_and_is_given_up(tmp_path: Path) -> None:
    code = LOOP + "sys.stdout.write(json.dumps({'id': asked['id'], 'hits': []}) + '\\n')"
    got = run(tmp_path, code, suite(timeout=0.5))
    why = (
        "no answer within 1 s; search.py was ended;"
        " it wrote no whole line: does it end each line, and flush it?"
    )
    assert messages(got.faults) == {
        "q0": why,
        "q1": f"search.py was given up; {why}",
        "q2": f"search.py was given up; {why}",
    }
    assert len(starts(tmp_path)) == 1
    assert all(map(gone, starts(tmp_path)))


@pytest.mark.usefixtures("brisk")
def test_a_hang_costs_one_query_and_its_answer_comes_too_late(tmp_path: Path) -> None:
    code = LOOP + "time.sleep(60 if asked['query'] == 'q1' else 0); answer(asked)"
    got = run(tmp_path, code, suite("q0", "q1", "q2", "q3", timeout=2.0))
    assert right(got) == {"q0", "q2", "q3"}
    assert messages(got.faults) == {
        "q1": "no answer within 2 s; search.py was ended; it wrote no whole line"
    }
    assert len(starts(tmp_path)) == 2


def test_starting_is_not_counted(tmp_path: Path) -> None:
    got = run(tmp_path, "time.sleep(2.5)\n" + LOOP + "answer(asked)", suite(timeout=2.0))
    assert right(got) == {"q0", "q1", "q2"}


def test_one_that_dies_is_started_again_once(tmp_path: Path) -> None:
    code = (
        LOOP
        + "\n    if len(open('starts').readlines()) == 1 and asked['query'] == 'q1': sys.exit(3)\n    answer(asked)"
    )
    got = run(tmp_path, code)
    assert right(got) == {"q0", "q1", "q2"}
    assert len(starts(tmp_path)) == 2


def test_a_query_that_kills_it_is_that_querys_fault_with_its_standard_error(tmp_path: Path) -> None:
    code = (
        LOOP
        + "say('log of ' + asked['query'], '\\n', sys.stderr)\n    1 / (asked['query'] != 'q1'); answer(asked)"
    )
    got = run(tmp_path, code)
    assert right(got) == {"q0", "q2"}
    message = got.faults["q1"].message
    assert message.startswith(
        "search.py ended with status 1; it wrote 'log of q1 Traceback (most recent call last)"
    )
    assert message.endswith("ZeroDivisionError: division by zero'")
    assert "log of q0" not in message
    assert "\n" not in message
    assert len(starts(tmp_path)) == 3


def test_one_that_ends_at_once_is_started_twice_in_all(tmp_path: Path) -> None:
    got = run(tmp_path, "sys.exit('Cannot find module minisearch')")
    why = "search.py ended with status 1; it wrote 'Cannot find module minisearch'"
    assert messages(got.faults) == {
        "q0": why,
        "q1": f"search.py was given up; {why}",
        "q2": f"search.py was given up; {why}",
    }
    assert len(starts(tmp_path)) == 2


def test_one_that_dies_between_two_queries_is_not_noticed(tmp_path: Path) -> None:
    code = "for line in [sys.stdin.readline()]:\n    asked = json.loads(line)\n    answer(asked)"
    got = run(tmp_path, code)
    assert right(got) == {"q0", "q1", "q2"}
    assert len(starts(tmp_path)) == 3


def test_an_error_that_it_tells_is_said(tmp_path: Path) -> None:
    code = LOOP + "say({'id': asked['id'], 'error': 'no index ' + asked['query'], 'hits': []})"
    got = run(tmp_path, code)
    assert got.faults["q1"].message == 'it answered with an error; "no index q1"'
    assert len(starts(tmp_path)) == 1


def test_an_answer_without_hits_is_said(tmp_path: Path) -> None:
    got = run(tmp_path, LOOP + "say({'id': asked['id']})")
    assert got.faults["q1"].message.startswith(
        "cannot read the retriever's result: a mapping has no order"
    )


def test_one_that_closes_its_output_is_said(tmp_path: Path) -> None:
    got = run(tmp_path, "os.close(1)\ntime.sleep(600)")
    assert got.faults["q0"].message.startswith(
        "search.py stopped answering; it wrote no whole line"
    )
    assert all(map(gone, starts(tmp_path)))


@pytest.mark.usefixtures("brisk")
@pytest.mark.parametrize("code", ["say('x' * 100_000_000)", "while True: say('x' * 1_000_000, '')"])
def test_a_line_without_an_end_is_not_read_to_it(tmp_path: Path, code: str) -> None:
    got = run(tmp_path, LOOP + code, suite("q0", timeout=2.0))
    assert got.faults["q0"].message.startswith("no answer within 2.5 s; search.py was ended")
    assert all(map(gone, starts(tmp_path)))


@pytest.mark.usefixtures("brisk")
def test_endless_logs_end_with_the_time(tmp_path: Path) -> None:
    start = time.monotonic()
    got = run(tmp_path, "while True: say('noise')", suite("q0", timeout=0.5))
    assert got.faults["q0"].message.startswith(
        "no answer within 1 s; search.py was ended; it wrote 'noise noise"
    )
    assert time.monotonic() - start < 60


@posix
@pytest.mark.usefixtures("brisk")
def test_one_that_reads_nothing_and_is_asked_much(tmp_path: Path) -> None:
    """The pipe is full before the query is written."""
    got = run(tmp_path, "time.sleep(600)", suite("x" * 1_000_000, timeout=0.5))
    (fault,) = got.faults.values()
    assert fault.message.startswith("no answer within 1 s; search.py was ended")


@posix
@pytest.mark.usefixtures("brisk")
def test_with_a_time_out_all_that_it_started_ends(tmp_path: Path) -> None:
    code = "child = subprocess.Popen(['sleep', '600'])\nsay(str(child.pid), '', open('child', 'w'))\ntime.sleep(600)"
    run(tmp_path, code, suite("q0", timeout=0.5))
    assert gone(int((tmp_path / "child").read_text()))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            "no-such-program --fast",
            "no-such-program --fast cannot be started; [Errno 2] No such file or directory:",
        ),
        (
            "./search.py",
            "./search.py cannot be started; [Errno 13] Permission denied: './search.py'",
        ),
    ],
)
def test_what_cannot_be_started_is_said(tmp_path: Path, command: str, said: str) -> None:
    (tmp_path / "search.py").write_text("")
    got = retrieve(suite("q0"), Program(command, tmp_path, Secrets([])))
    assert got.faults["q0"].message.startswith(said)


def test_a_command_that_cannot_be_split_is_said(tmp_path: Path) -> None:
    with pytest.raises(
        RetrieverError, match="ini key ir_command: No closing quotation in 'node \"x'"
    ):
        Program('node "x', tmp_path, Secrets([]))


def test_no_shell_reads_the_command(tmp_path: Path) -> None:
    got = retrieve(suite("q0"), Program("echo x > made; touch made", tmp_path, Secrets([])))
    assert not (tmp_path / "made").exists()
    assert "it wrote 'x > made; touch made'" in got.faults["q0"].message


def test_secrets_of_its_log_and_its_answers_are_masked(tmp_path: Path) -> None:
    code = LOOP + (
        "\n    if asked['query'] == 'q1': sys.exit('bad token tok-12345')\n"
        "    say({'id': asked['id'], 'hits': [{'id': 'd-' + asked['query'], 'title': 'tok-12345'}]})"
    )
    with opened(tmp_path, code, Secrets(["tok-12345"])) as made:
        got = retrieve(suite(), made)
    assert got.first.titles["d-q0"] == "***"
    assert got.faults["q1"].message == "search.py ended with status 1; it wrote 'bad token ***'"
