"""Retrievers that break, hang, skip or return garbage, and reruns of what failed, through pytest."""

from __future__ import annotations

import re

import pytest

from pytest_irquality.retrieval import Fault
from tests.conftest import QUIET, Project

SUITE = "queries:\n" + "".join(
    f"  - {{query: q{i}, relevant: [d{i}], must_find: [d{i}]}}\n" for i in range(10)
)  # fmt: skip
LINE = "thresholds: {ndcg@10: 0.9}\n"


@pytest.mark.parametrize(
    ("messages", "causes"),
    [
        (["refused: 10.0.0.1:54321", "refused: 10.0.0.12:601"], 1),
        (["refused: 10.0.0.1:54321", "refused: 10.0.0.12:60100"], 1),
        (["<Response at 0x7f01>", "<Response at 0x7fAb02>"], 1),
        (["request 0f8fad5b-d9cb-469f-a165-70867728950e failed", "request 7c9e6679-7425-40de-944b-e07fc1f90ae7 failed"], 1),
        (["503 Server Error", "404 Client Error"], 2),
        (["read timed out after 5.013 s", "read timed out after 5.2 s"], 1),
        (["GET /?q=office+chair failed", "GET /?q=desk failed"], 1),
        (["no such key: 'office chair'", "no such key: 'desk'"], 1),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else str(value),
)  # fmt: skip
def test_faults_that_differ_in_ports_ids_times_or_the_query_have_one_cause(
    messages: list[str], causes: int
) -> None:
    faults = [
        Fault(text, asked=query)
        for text, query in zip(messages, ("office chair", "desk"), strict=True)
    ]
    assert len({fault.cause for fault in faults}) == causes


def test_two_causes_are_told_once_each_with_a_count(project: Project) -> None:
    project.suite(SUITE + LINE)
    project.conftest(
        "def ask(query):\n"
        "    if query in ('q1', 'q2', 'q3'): raise ConnectionError(f'port {54000 + int(query[1])} refused')\n"
        "    if query == 'q4': return {'garbage': query}\n"
        "    if query == 'q5': raise SystemExit(3)\n"
        "    return ['d' + query[1:]]\n"
        "@pytest.fixture\ndef retriever(): return ask\n"
    )
    result = project.run("-v")
    result.assert_outcomes(passed=5, errors=6)
    text = result.stdout.str()
    assert text.count("raise ConnectionError") == 1
    result.stdout.fnmatch_lines(
        [
            "'q1' at shop.ir.yaml:3; 3 queries failed so",
            "'q2': ConnectionError: port 54002 refused (shown at q1)",
            "'q4': cannot read the retriever's result: *; it returned {'garbage': 'q4'} (dict)",
            "'q5': SystemExit: 3",
            "  5 of 10 (50 %) queries had no answer and are in no figure ('q1', 'q2', 'q3' and 2 more): *refused (3),*",
        ],
    )
    assert "pytest_irquality" not in text.partition("search quality")[0].partition("ERRORS")[2]


@pytest.mark.slow
def test_a_hung_call_is_an_error_under_a_time_out_and_keeps_nothing_from_ending(
    project: Project,
) -> None:
    project.suite(SUITE + LINE + "timeout: 1s\nerrors: {max: 1}\n")
    project.conftest(
        "import threading\ndef ask(query):\n    if query == 'q3': threading.Event().wait()\n"
        "    return ['d' + query[1:]]\n@pytest.fixture\ndef retriever(): return ask\n"
    )
    result = project.pytester.runpytest_subprocess(
        "--ir-suite", "--ir-json=out.json", *QUIET, timeout=300
    )
    result.assert_outcomes(passed=10, errors=1)
    result.stdout.fnmatch_lines(
        ["'q3': no answer within 1 s; the call was left running in its thread"]
    )
    assert project.outcomes()["ndcg-10"] == "passed"


def test_a_suite_is_skipped_where_every_call_skips(project: Project) -> None:
    project.suite(SUITE)
    project.conftest(
        "asked = []\ndef ask(query):\n    asked.append(query)\n    pytest.skip('no GPU here')\n"
        "@pytest.fixture\ndef retriever(): return ask\n"
        "def pytest_terminal_summary(terminalreporter): terminalreporter.write_line(f'ASKED {asked}')\n"
    )
    result = project.run("-rs")
    result.assert_outcomes(skipped=10)
    result.stdout.fnmatch_lines(
        ["shop.ir.yaml: no GPU here: NOT EVALUATED", "ASKED ['q0', 'q1', *", "SKIPPED *no GPU here"]
    )


def test_a_fixture_that_is_not_there_is_named_with_its_line_and_its_like(project: Project) -> None:
    (project.path / "pytest.ini").write_text("[pytest]\nir_retrievers = shop_serch\n")
    project.suite("retriever: shop_serch\n" + SUITE)
    project.conftest("@pytest.fixture\ndef shop_search(): return lambda query: []\n")
    result = project.run()
    result.assert_outcomes(errors=10)
    result.stdout.fnmatch_lines(
        [
            "shop.ir.yaml:1:1: no fixture 'shop_serch' is found from here; did you mean 'shop_search'?; write it in*",
            "not evaluated: no fixture 'shop_serch' (shown at q0)",
        ]
    )
    project.suite(SUITE)
    project.run().stdout.fnmatch_lines(
        ["shop.ir.yaml: no fixture 'retriever' is found from here; write it in*"]
    )


def test_what_cannot_be_asked_is_told_once(project: Project) -> None:
    project.suite(SUITE)
    project.conftest("@pytest.fixture\ndef retriever(): return 42\n")
    text = project.run().stdout.str()
    assert (
        text.count("the retriever fixture gave 42 (int)") == 2
    )  # in full, and in pytest's short summary
    assert text.count("not evaluated (shown at q0)") >= 9
    assert "Failed: not evaluated" not in text.partition("short test summary")[0]


@pytest.mark.parametrize(("option", "suite", "most"), [("3", "4", 3), ("", "4", 4), ("", "", 1)])
def test_the_command_line_beats_the_suite(
    project: Project, option: str, suite: str, most: int
) -> None:
    queries = ", ".join(f"{{query: q{n}}}" for n in range(6))
    own = f"concurrency: {suite}\n" if suite else ""
    project.suite(f"queries: [{queries}]\nmetrics: [zero_results]\n{own}")
    # The first calls end when as many as should be are in flight. Then each gives one more, which
    # there should not be, time to come.
    project.conftest(
        "import threading\nlock, under_way, most = threading.Lock(), [], []\n"
        "enough, too_many = threading.Event(), threading.Event()\n"
        "def ask(query):\n"
        "    with lock:\n"
        "        under_way.append(query)\n"
        "        most.append(len(under_way))\n"
        f"        if len(under_way) == {most}: enough.set()\n"
        f"        if len(under_way) > {most}: too_many.set()\n"
        "    enough.wait(60)\n"
        "    too_many.wait(0.1)\n"
        "    with lock: under_way.remove(query)\n"
        "    return ['d']\n"
        "@pytest.fixture\ndef retriever(): return ask\n"
        "def pytest_terminal_summary(terminalreporter):\n"
        "    terminalreporter.write_line(f'MOST {max(most)}')\n"
    )
    args = [f"--ir-concurrency={option}"] if option else []
    project.run(*args).stdout.fnmatch_lines([f"MOST {most}"])


@pytest.mark.parametrize(
    ("args", "ini", "said"),
    [
        (
            ["--ir-concurrency=0"],
            "",
            "*: argument --ir-concurrency: it must be a whole number of at least 1, not '0'",
        ),
        ([], "many", "ERROR: ini key ir_max_calls*must be a whole number of at least 1*many*"),
    ],
)
def test_a_count_that_is_no_number_is_a_usage_error(
    project: Project, args: list[str], ini: str, said: str
) -> None:
    project.suite(SUITE)
    project.pytester.makeini(f"[pytest]\nir_max_calls = {ini}\n")
    project.conftest("@pytest.fixture\ndef retriever(): return lambda query: []\n")
    project.run(*args).stderr.fnmatch_lines([said])


@pytest.mark.slow
def test_progress_is_a_line_now_and_then_and_nothing_under_q(
    project: Project,
) -> None:
    project.suite(SUITE)
    project.conftest(
        "from pytest_irquality.plugin import progress\nprogress.PAUSE = 0\n"
        "@pytest.fixture\ndef retriever(): return lambda query: ['d' + query[1:]]\n"
    )
    text = project.pytester.runpytest_subprocess("--ir-suite", *QUIET).stdout.str()
    assert re.search(r"^shop.ir.yaml: 9 of 10 queries, 0 s left$", text, re.M)
    assert (
        "of 10 queries"
        not in project.pytester.runpytest_subprocess("--ir-suite", "-q", *QUIET).stdout.str()
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["def", "async def"])
def test_ctrl_c_while_calls_are_in_flight_ends_the_pass_and_keeps_what_there_is(
    project: Project, kind: str
) -> None:
    project.suite(SUITE + LINE + "concurrency: 3\n")
    wait = "await asyncio.sleep(600)" if kind == "async def" else "time.sleep(600)"
    # A shell's background job ignores SIGINT, and so would the process under test. By the time that
    # q4 to q6 are all in flight, those before them have been answered.
    project.conftest(
        "import asyncio, os, signal, threading, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "hang, begun = {'q4', 'q5', 'q6'}, set()\n"
        f"{kind} ask(query):\n"
        "    if query not in hang: return ['d' + query[1:]]\n"
        "    begun.add(query)\n"
        "    if begun == hang: threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT)).start()\n"
        f"    {wait}\n"
        "@pytest.fixture\ndef retriever(): return ask\n"
    )
    result = project.pytester.runpytest_subprocess(
        "--ir-suite", "--ir-json=out.json", *QUIET, timeout=300
    )
    assert result.ret == 2
    outcomes = project.outcomes()
    assert outcomes["ndcg-10"] == "not evaluated"
    passed = [check for check, outcome in outcomes.items() if outcome == "passed"]
    # The signal may come while the last answer is being put away.
    assert set(passed) < {"q0", "q1", "q2", "q3", "q7"}
    assert len(passed) >= 3
    result.stdout.fnmatch_lines([f"*PARTIAL: interrupted after {len(passed)} queries"])


def test_an_order_to_end_the_session_is_obeyed(project: Project) -> None:
    project.suite(SUITE)
    project.conftest(
        "def ask(query):\n    if query == 'q3': pytest.exit('the cluster is on fire')\n    return []\n"
        "@pytest.fixture\ndef retriever(): return ask\n"
    )
    result = project.run()
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*Exit: the cluster is on fire*"])


def test_a_traceback_is_the_users_own_and_is_shown_once_a_cause(project: Project) -> None:
    queries = "".join(f"  - {{query: q{n}, relevant: [x], must_find: [x]}}\n" for n in range(4))
    project.suite(f"concurrency: 2\nqueries:\n{queries}")
    project.conftest(
        """
import asyncio

class Engine:
    made = 0
    async def ask(self, query):
        Engine.made += 1
        try:
            await asyncio.to_thread(self.send, query)
        except OSError as error:
            raise ConnectionError(f"503: request req_{Engine.made:04d}, {40 * Engine.made}ms") from error

    def send(self, query):
        raise OSError("no route")

    async def search(self, query, k):
        return await asyncio.wait_for(self.ask(query), 5)

@pytest.fixture
def retriever():
    return Engine()
"""
    )
    text = project.run().stdout.str()
    assert text.count('raise OSError("no route")') == 1
    assert text.count("await asyncio.wait_for(self.ask(query), 5)") == 1
    assert text.count("(shown at q0)") >= 3
    assert "4 queries failed so" in text
    for machinery in ("asyncio/", "concurrent/futures", "retrieval/loop.py", "base_events"):
        assert machinery not in text.replace("\\\\", "/")
