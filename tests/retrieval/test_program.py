"""A program as the retriever, run for real: its protocol, its log and its errors."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_irquality.io.secrets import Secrets
from pytest_irquality.retrieval import program
from pytest_irquality.retrieval.collect import collect_run
from pytest_irquality.retrieval.errors import RetrieverError
from pytest_irquality.retrieval.program import CommandRetriever
from pytest_irquality.retrieval.run import Run
from pytest_irquality.suite.model import Query, Settings

needs_posix = pytest.mark.skipif(os.name != "posix", reason="processes as POSIX has them")

# Every program here begins with this. Each answers "d-QUERY" unless its own lines say otherwise.
BEGIN = """
import json, os, pathlib, signal, subprocess, sys, time

def say(thing, end="\\n", to=sys.stdout):
    to.write(thing if isinstance(thing, str) else json.dumps(thing))
    to.write(end)
    to.flush()

def answer(request, *ids):
    say({"id": request["id"], "hits": list(ids) or ["d-" + request["query"]]})

pathlib.Path("starts").open("a").write(f"{os.getpid()}\\n")
"""
LOOP = "for line in sys.stdin:\n    request = json.loads(line)\n    "


@pytest.fixture(autouse=True)
def buffer_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """Buffer output unless it is flushed, as everywhere."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)


@pytest.fixture
def short_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "START_TIMEOUT_S", 0.5)


@contextmanager
def open_retriever(
    folder: Path, code: str, secrets: Secrets | None = None
) -> Iterator[CommandRetriever]:
    (folder / "search.py").write_text(BEGIN + code)
    line = f"{shlex.quote(sys.executable)} search.py"
    retriever = CommandRetriever(line, folder, secrets or Secrets())
    retriever.shown_name = "search.py"
    yield retriever
    retriever.close()


def run_queries(retriever: object, *texts: str, **settings: Any) -> Run:
    params = settings.pop("params", {})
    queries = [Query(text, text, params=params) for text in texts or ("q0", "q1", "q2")]
    return collect_run(retriever, queries, Settings(**{"timeout": 10.0, **settings}))


def run_program(folder: Path, code: str, *texts: str, **settings: Any) -> Run:
    with open_retriever(folder, code) as retriever:
        return run_queries(retriever, *texts, **settings)


def list_starts(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "starts").read_text().split()]


def get_answered(run: Run) -> set[str]:
    """Return the queries that were answered, each with its own answer."""
    answered = set()
    for rankings in run.answers.values():
        (doc_id,) = rankings[0].doc_ids
        answered.add(doc_id.removeprefix("d-"))
    assert answered == {request.partition("\n{")[0] for request in run.answers}
    return answered


def get_messages(run: Run) -> dict[str, str]:
    return {request: error.message for request, error in run.errors.items()}


def has_ended(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            if state == "Z":  # ended, and nobody has reaped it
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


# The protocol.


def test_a_query_is_a_line_and_so_is_its_answer(tmp_path: Path) -> None:
    code = LOOP + "say(request, '\\n', open('requests', 'a')); answer(request)"
    hard = 'größe "a"\n日本 \\'
    params = {"locale": "de", "facets": ["a"]}

    run = run_program(tmp_path, code, "q0", hard, params=params)

    assert get_answered(run) == {"q0", hard}
    lines = (tmp_path / "requests").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"id": "irq-1", "query": "q0", "k": 10, "params": params},
        {"id": "irq-2", "query": hard, "k": 10, "params": params},
    ]
    assert len(list_starts(tmp_path)) == 1


def test_there_is_a_process_for_each_call_in_flight(tmp_path: Path) -> None:
    texts = [f"q{n}" for n in range(30)]

    run = run_program(tmp_path, LOOP + "time.sleep(0.02); answer(request)", *texts, concurrency=3)

    assert get_answered(run) == set(texts)
    assert len(list_starts(tmp_path)) == 3


@needs_posix
def test_its_input_ends_first_and_its_children_end_with_it(tmp_path: Path) -> None:
    code = (
        "child = subprocess.Popen(['sleep', '600'])\nsay(str(child.pid), '', open('child', 'w'))\n"
        + LOOP
        + "answer(request)\nopen('ended', 'w').write('by itself')"
    )

    assert len(get_answered(run_program(tmp_path, code))) == 3
    assert (tmp_path / "ended").read_text() == "by itself"
    assert has_ended(int((tmp_path / "child").read_text()))


@needs_posix
def test_a_program_that_ignores_the_end_of_its_input_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "END_TIMEOUT_S", 0.2)
    code = (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        + LOOP
        + "answer(request)\ntime.sleep(600)"
    )

    assert len(get_answered(run_program(tmp_path, code))) == 3
    assert all(map(has_ended, list_starts(tmp_path)))


@pytest.mark.slow
@needs_posix
def test_a_daemon_that_holds_its_output_holds_nothing_up(tmp_path: Path) -> None:
    """A process in a session of its own outlives the group, and keeps the pipes open."""
    code = (
        "child = subprocess.Popen(['sleep', '30'], start_new_session=True)\n"
        "say(str(child.pid), '', open('child', 'w'))\n" + LOOP + "\n"
        "    if request['query'] == 'q1' and len(open('starts').readlines()) == 1: os._exit(7)\n"
        "    answer(request)"
    )
    start = time.monotonic()

    try:
        assert len(get_answered(run_program(tmp_path, code))) == 3
    finally:
        os.kill(int((tmp_path / "child").read_text()), 9)
    assert time.monotonic() - start < 25


# Its log.


@pytest.mark.parametrize(
    "log",
    [
        "say('search took 3 ms')",
        "say(request)",
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
    run = run_program(tmp_path, LOOP + f"{log}; answer(request)")

    assert len(get_answered(run)) == 3


def test_an_answer_in_pieces_is_read_when_its_line_ends(tmp_path: Path) -> None:
    code = LOOP + (
        "line = json.dumps({'id': request['id'], 'hits': ['d-' + request['query']]})\n"
        "    for piece in (line[:7], line[7:20], line[20:] + '\\n'):\n"
        "        say(piece, ''); time.sleep(0.02)"
    )

    assert len(get_answered(run_program(tmp_path, code))) == 3


@pytest.mark.parametrize(
    "code",
    [
        "answer(request); answer(request, 'wrong')",
        "say({'id': 'irq-' + str(int(request['id'][4:]) + 1), 'hits': ['wrong']}); answer(request)",
        "answer(request); time.sleep(0.05); answer(request, 'wrong')",
    ],
    ids=["twice", "ahead", "late"],
)
def test_no_answer_is_taken_for_that_of_another_query(tmp_path: Path, code: str) -> None:
    assert get_answered(run_program(tmp_path, LOOP + code, *"abcdef")) == set("abcdef")


@pytest.mark.usefixtures("short_start")
def test_answers_out_of_order_are_never_mixed_up(tmp_path: Path) -> None:
    code = (
        "waiting = []\n" + LOOP + "waiting.append(request)\n"
        "    if len(waiting) == 2:\n"
        "        answer(waiting[1]); answer(waiting[0]); waiting.clear()"
    )

    assert not run_program(tmp_path, code, "q0", "q1", timeout=0.3).answers


# Errors.


@pytest.mark.usefixtures("short_start")
def test_output_without_a_line_end_is_shown(tmp_path: Path) -> None:
    code = "say('password: ', end='', to=sys.stderr)\ntime.sleep(60)"

    run = run_program(tmp_path, code, "q0", timeout=0.5)

    assert run.errors["q0"].message.endswith("search.py was stopped. It wrote 'password:'")


@pytest.mark.usefixtures("short_start")
def test_a_silent_program_is_given_up_with_a_hint_to_flush(tmp_path: Path) -> None:
    code = LOOP + "sys.stdout.write(json.dumps({'id': request['id'], 'hits': []}) + '\\n')"

    run = run_program(tmp_path, code, timeout=0.5)

    reason = (
        "No answer within 1 s. search.py was stopped. It wrote no complete line."
        " Does it end each line, and flush its output?"
    )
    assert get_messages(run) == {
        "q0": reason,
        "q1": f"search.py was stopped. {reason}",
        "q2": f"search.py was stopped. {reason}",
    }
    assert len(list_starts(tmp_path)) == 1
    assert all(map(has_ended, list_starts(tmp_path)))


@pytest.mark.slow
@pytest.mark.usefixtures("short_start")
def test_a_hang_costs_one_query(tmp_path: Path) -> None:
    code = LOOP + "time.sleep(60 if request['query'] == 'q1' else 0); answer(request)"

    run = run_program(tmp_path, code, "q0", "q1", "q2", "q3", timeout=2.0)

    assert get_answered(run) == {"q0", "q2", "q3"}
    assert get_messages(run) == {
        "q1": "No answer within 2 s. search.py was stopped. It wrote no complete line"
    }
    assert len(list_starts(tmp_path)) == 2


@pytest.mark.slow
def test_the_start_is_not_part_of_the_time_limit(tmp_path: Path) -> None:
    run = run_program(tmp_path, "time.sleep(1.5)\n" + LOOP + "answer(request)", timeout=1.0)

    assert len(get_answered(run)) == 3


def test_a_program_that_dies_is_started_again_once(tmp_path: Path) -> None:
    code = LOOP + (
        "\n    if len(open('starts').readlines()) == 1 and request['query'] == 'q1': sys.exit(3)\n"
        "    answer(request)"
    )

    assert len(get_answered(run_program(tmp_path, code))) == 3
    assert len(list_starts(tmp_path)) == 2


def test_a_query_that_kills_it_shows_its_standard_error(tmp_path: Path) -> None:
    code = LOOP + (
        "say('log of ' + request['query'], '\\n', sys.stderr)\n"
        "    1 / (request['query'] != 'q1'); answer(request)"
    )

    run = run_program(tmp_path, code)

    assert get_answered(run) == {"q0", "q2"}
    message = run.errors["q1"].message
    assert message.startswith(
        "search.py exited with status 1. It wrote 'log of q1 Traceback (most recent call last)"
    )
    assert message.endswith("ZeroDivisionError: division by zero'")
    assert "log of q0" not in message
    assert "\n" not in message
    assert len(list_starts(tmp_path)) == 3


def test_a_program_that_ends_at_once_is_given_up(tmp_path: Path) -> None:
    run = run_program(tmp_path, "sys.exit('Cannot find module minisearch')")

    reason = "search.py exited with status 1. It wrote 'Cannot find module minisearch'"
    assert get_messages(run) == {
        "q0": reason,
        "q1": f"search.py was stopped. {reason}",
        "q2": f"search.py was stopped. {reason}",
    }
    assert len(list_starts(tmp_path)) == 2


def test_a_program_that_dies_between_two_queries_is_not_noticed(tmp_path: Path) -> None:
    code = "for line in [sys.stdin.readline()]:\n    answer(json.loads(line))"

    assert len(get_answered(run_program(tmp_path, code))) == 3
    assert len(list_starts(tmp_path)) == 3


def test_errors_and_odd_answers_are_explained(tmp_path: Path) -> None:
    code = LOOP + (
        "say({'id': request['id'], **({'error': 'no index'} if request['query'] == 'q1' else {})})"
    )

    run = run_program(tmp_path, code)

    assert run.errors["q1"].message == "The answer is an error. '\"no index\"'"
    assert run.errors["q0"].message.startswith("Cannot read the result: A mapping has no order")
    assert len(list_starts(tmp_path)) == 1


def test_a_program_that_closes_its_output_is_an_error(tmp_path: Path) -> None:
    run = run_program(tmp_path, "os.close(1)\ntime.sleep(600)")

    message = run.errors["q0"].message
    assert message.startswith("search.py stopped answering. It wrote no complete line")
    assert all(map(has_ended, list_starts(tmp_path)))


@pytest.mark.usefixtures("short_start")
@pytest.mark.parametrize(
    "code",
    [
        "say('x' * 100_000_000)",
        pytest.param("while True: say('x' * 1_000_000, '')", marks=pytest.mark.slow),
        pytest.param("while True: say('noise')", marks=pytest.mark.slow),
    ],
)
def test_endless_output_ends_with_the_time_limit(tmp_path: Path, code: str) -> None:
    run = run_program(tmp_path, LOOP + code, "q0", timeout=1.0)

    assert run.errors["q0"].message.startswith("No answer within 1.5 s. search.py was stopped")
    assert all(map(has_ended, list_starts(tmp_path)))


@needs_posix
@pytest.mark.usefixtures("short_start")
def test_a_program_that_reads_nothing_is_ended_with_its_children(tmp_path: Path) -> None:
    """The pipe is full before the query is written."""
    code = (
        "child = subprocess.Popen(['sleep', '600'])\n"
        "say(str(child.pid), '', open('child', 'w'))\ntime.sleep(600)"
    )

    run = run_program(tmp_path, code, "x" * 1_000_000, timeout=0.5)

    (error,) = run.errors.values()
    assert error.message.startswith("No answer within 1 s. search.py was stopped")
    assert has_ended(int((tmp_path / "child").read_text()))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("no-such-program --fast", "no-such-program --fast cannot be started. [Errno 2]"),
        ("./search.py", "./search.py cannot be started. [Errno 13] Permission denied"),
    ],
)
def test_a_program_that_cannot_be_started_is_an_error(
    tmp_path: Path, line: str, message: str
) -> None:
    (tmp_path / "search.py").write_text("")

    run = run_queries(CommandRetriever(line, tmp_path, Secrets()), "q0")

    assert run.errors["q0"].message.startswith(message)


def test_a_command_that_cannot_be_split_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RetrieverError, match="Ini key ir_command: No closing quotation"):
        CommandRetriever('node "x', tmp_path, Secrets())


def test_no_shell_reads_the_command(tmp_path: Path) -> None:
    run = run_queries(CommandRetriever("echo x > made; touch made", tmp_path, Secrets()), "q0")

    assert not (tmp_path / "made").exists()
    assert "It wrote 'x > made; touch made'" in run.errors["q0"].message


def test_secrets_are_masked_before_anything_is_cut(tmp_path: Path) -> None:
    code = LOOP + (
        "\n    if request['query'] == 'q1': sys.exit('x' * 990 + ' tok-12345 ' + 'y' * 115)\n"
        "    if request['query'] == 'q2':\n"
        "        say('z' * 70_000 + 'tok-12345'); sys.stderr.write('tok-'); sys.stderr.flush()\n"
        "        say('12345', '\\n', sys.stderr); sys.exit(3)\n"
        "    say({'id': request['id'], 'hits': [{'id': 'd-q0', 'title': 'tok-12345'}]})"
    )

    with open_retriever(tmp_path, code, Secrets(["tok-12345"])) as retriever:
        run = run_queries(retriever)

    assert run.titles["d-q0"] == "***"
    for error in run.errors.values():
        assert "***" in error.message
        assert "tok-" not in error.message
        assert "12345" not in error.message
