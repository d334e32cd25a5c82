"""A project without a line of Python: its retriever is a URL or a command of the ini file."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..conftest import Project
from ..repository import git
from ..servers import Asked, Server, found, reply, served

SUITE = """
queries:
  - {query: q1, relevant: [d1]}
  - {query: q2, relevant: [d2]}
thresholds: {recall@10: 1.0}
"""
PROGRAM = """
import json, os, sys
open("starts", "a").write(f"{os.getpid()}\\n")
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"id": asked["id"], "hits": ["d" + asked["query"][1:]]}), flush=True)
"""
COMMAND = f"{shlex.quote(sys.executable)} search.py"


def right(asked: Asked) -> bytes:
    return found("d" + asked.query[1:])


@pytest.fixture
def server() -> Iterator[Server]:
    with served(right) as made:
        yield made


def ini(project: Project, *lines: str) -> None:
    (project.path / "pytest.ini").write_text("[pytest]\n" + "\n".join(lines) + "\n")


def failed(project: Project, *args: str) -> str:
    """What a run that could not ask anything says."""
    result = project.run(*args)
    text = result.stdout.str() + result.stderr.str()
    assert result.ret in (2, 4), text
    assert "Traceback" not in text
    return text


# -- it works ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("concurrency", ["1", "4"])
def test_a_url_is_enough(project: Project, server: Server, concurrency: str) -> None:
    ini(project, f"ir_url = {server.url()}")
    project.suite(SUITE)
    result = project.run(f"--ir-concurrency={concurrency}")
    result.assert_outcomes(passed=3)
    assert sorted(asked.target for asked in server.asked) == [
        "/search?q=q1&size=10",
        "/search?q=q2&size=10",
    ]


@pytest.mark.parametrize("args", [(), pytest.param(("-n", "2"), marks=pytest.mark.slow)])
def test_a_command_is_enough_and_ends_with_the_run(project: Project, args: tuple[str]) -> None:
    (project.path / "search.py").write_text(PROGRAM)
    ini(project, f"ir_command = {COMMAND}")
    project.suite(SUITE)
    project.run(*args).assert_outcomes(passed=3)
    for pid in (project.path / "starts").read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


def test_a_pyproject_has_lists(project: Project, server: Server) -> None:
    (project.path / "pyproject.toml").write_text(
        f"""[tool.pytest.ini_options]
ir_url = ["bm25: {server.url("/bm25?q={query}")}", "{server.url("/usual?q={query}")}"]
ir_headers = ["X-Tenant: shop"]
"""
    )
    project.suite(SUITE)
    project.suite("retriever: bm25\n" + SUITE, "bm25.ir.yaml")
    project.run().assert_outcomes(passed=6)
    assert {asked.target.partition("?")[0] for asked in server.asked} == {"/bm25", "/usual"}
    assert {asked.headers["x-tenant"] for asked in server.asked} == {"shop"}


def test_named_retrievers_are_each_asked_and_compared_like_the_values_of_a_fixture(
    project: Project, server: Server
) -> None:
    (project.path / "search.py").write_text(PROGRAM.replace('"d" +', '"x" +'))
    ini(project, f"ir_url =\n  old: {server.url()}", f"ir_command =\n  new: {COMMAND}")
    project.suite("baseline: {retriever: old}\n" + SUITE)
    project.run("-v").stdout.fnmatch_lines_random(
        [
            "*::recall-10?old? PASSED*",
            "*::recall-10?new? FAILED*",
            "*lost_all_relevant*new? FAILED*",
        ]
    )
    assert {suite["retriever"] for suite in project.data["suites"]} == {"old", "new"}


def test_a_fixture_of_that_name_goes_before_it(project: Project, server: Server) -> None:
    ini(project, f"ir_url = {server.url()}")
    project.suite(SUITE)
    project.suite(SUITE, "sub/shop.ir.yaml")
    project.conftest("@pytest.fixture\ndef retriever(): return lambda query: ['x']\n", "sub")
    project.run("sub").assert_outcomes(failed=1, passed=2)
    assert not server.asked
    project.run("shop.ir.yaml").assert_outcomes(passed=3)
    assert len(server.asked) == 2


def test_it_goes_before_a_fixture_of_another_plugin(project: Project, server: Server) -> None:
    ini(project, f"ir_url = {server.url()}")
    (project.path / "shared.py").write_text(
        "import pytest\n@pytest.fixture(scope='session')\ndef retriever(): return lambda query: ['x']\n"
    )
    project.suite(SUITE)
    project.pytester.syspathinsert()
    project.run("-p", "shared").assert_outcomes(passed=3)
    assert len(server.asked) == 2


def test_params_retries_and_repeats_are_those_of_the_suite(project: Project) -> None:
    asked_so_far: list[str] = []

    def answer(asked: Asked) -> bytes:
        asked_so_far.append(asked.target)
        if len(asked_so_far) == 1:
            return reply("busy", "503 Busy", Retry_After="0")
        return right(asked)

    with served(answer) as server:
        ini(project, f"ir_url = {server.url('/{params.locale}?q={query}')}")
        project.suite("params: {locale: de}\nrepeat: 2\nretry: {times: 1}\n" + SUITE)
        result = project.run()
    result.assert_outcomes(passed=3)
    assert sorted(asked_so_far) == ["/de?q=q1"] * 3 + ["/de?q=q2"] * 2
    result.stdout.fnmatch_lines(["*1 failed call was made again*"])


def test_a_first_suite_needs_no_fixture(project: Project, server: Server) -> None:
    ini(project, f"ir_url = {server.url()}")
    (project.path / "queries.txt").write_text("q1\nq2\n")
    result = project.pytester.runpytest("--ir-init=queries.txt")
    result.stdout.fnmatch_lines(["wrote queries.ir.yaml: 2 queries*"])
    assert "d1: ok   # title of d1" in (project.path / "queries.ir.yaml").read_text()
    (project.path / "search.py").write_text(PROGRAM)
    (project.path / "queries.ir.yaml").unlink()
    ini(project, f"ir_command = {COMMAND}")
    project.pytester.runpytest("--ir-init=queries.txt").assert_outcomes(passed=1)
    (project.path / "queries.ir.yaml").unlink()
    ini(project)
    project.pytester.runpytest("--ir-init=queries.txt").stdout.fnmatch_lines(
        ["no fixture 'retriever' is found from here; write it in*or set ir_url*"]
    )


@pytest.mark.parametrize("by_command", [False, True], ids=["url", "command"])
def test_the_minute_of_the_readme(project: Project, server: Server, by_command: bool) -> None:
    """Its commands as they are written there, but for where pytest comes from."""
    text = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    (block,) = re.findall(r"<!-- minute commands -->\n```sh\n(.*?)```", text, re.S)
    settings, *commands = [line.partition("  #")[0].strip() for line in block.splitlines()]
    subprocess.run(["sh", "-c", settings], cwd=project.path, check=True)
    written = project.path / "pytest.ini"
    assert "ir_url = http://127.0.0.1:8080/search?q={query}&size={k}\n" in written.read_text()
    (project.path / "search.py").write_text(PROGRAM)
    (project.path / "queries.txt").write_text("q1\nq2\n")
    ini(project, f"ir_command = {COMMAND}" if by_command else f"ir_url = {server.url()}")
    asks, compares = [
        shlex.split(command.removeprefix("uvx --with pytest-irquality pytest "))
        for command in commands
    ]
    first = project.run("-v", *asks)
    first.assert_outcomes(passed=1)
    first.stdout.fnmatch_lines(["*baseline written: .ir-baseline/queries.txt.jsonl: 2 new"])
    for said in ("*keep today's rankings*", "*1 limit holds*"):
        first.stdout.no_fnmatch_line(said)
    assert project.run("-v", *compares).ret == 0
    (project.path / "search.py").write_text(PROGRAM.replace('["d" +', '["e" +'))
    server.answer = lambda asked: found("e" + asked.query[1:])
    second = project.run("-v", *compares)
    assert second.ret == 1
    second.stdout.fnmatch_lines(["*2 of 2 (100 %) rankings changed"])


def test_an_ordinary_test_may_use_it(project: Project, server: Server) -> None:
    ini(project, f"ir_url = {server.url()}")
    project.suite(SUITE)
    project.pytester.makepyfile(
        "from pytest_irquality import check\n"
        "def test_it(retriever): check('shop.ir.yaml', retriever)"
    )
    project.pytester.runpytest().assert_outcomes(passed=1)
    assert len(server.asked) == 2


def test_kept_runs_ask_nothing(
    project: Project, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    ini(project, f"ir_url = {server.url()}", "ir_headers = Authorization: $SEARCH_TOKEN")
    project.suite(SUITE)
    monkeypatch.setenv("SEARCH_TOKEN", "tok-12345")
    project.run("--ir-save-runs=kept").assert_outcomes(passed=3)
    monkeypatch.delenv("SEARCH_TOKEN")
    project.run("--ir-runs=kept").assert_outcomes(passed=3)
    assert len(server.asked) == 2


# -- what is said --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["ir_url = http://h/a?q={query}", "ir_command = node x"],
         "ERROR: ini key ir_command: two retrievers are called 'retriever'"),
        (["ir_url =", "  a: http://h/a?q={query}", "  a: http://h/b?q={query}"],
         "ERROR: ini key ir_url: two retrievers are called 'a'"),
        (["ir_url = localhost:9200/?q={query}"], "ini key ir_url must have lines of"),
        (["ir_url = http://h/?q={query}", "ir_headers = Authorization: $NOT_THERE"],
         "ir_headers: the environment has no NOT_THERE"),
        (["ir_command = node 'x"], "ini key ir_command: No closing quotation"),
        (["ir_command = no-such-program"], "no-such-program cannot be started; [Errno 2] No such file"),
        (["ir_url = http://h/{params.locale}?q={query}"],
         "the retriever ir_url(query, k, *, locale) needs 'locale' too"),
        ([], "no fixture 'retriever' is found from here; write it in a conftest.py, name yours"
             " ('retriever: NAME'), or set ir_url"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_one_line(project: Project, lines: list[str], said: str) -> None:
    ini(project, *lines)
    project.suite(SUITE)
    result = project.run("-rN")
    text = result.stdout.str() + result.stderr.str()
    assert "Traceback" not in text
    assert any(said in line for line in text.splitlines()), text
    assert result.ret != 0


def test_a_suite_names_no_url_and_no_command(project: Project, server: Server) -> None:
    """Configuration is code, and a suite is data."""
    for key in ("url", "ir_url", "command", "ir_command"):
        project.suite(f"{key}: {server.url()}\n" + SUITE)
        assert f"unknown key '{key}'" in failed(project)
    for name in (server.url(), "'node x.mjs'"):
        project.suite(f"retriever: {name}\n" + SUITE)
        assert "'retriever' must be" in failed(project)
    assert not server.asked


def test_what_failed_alike_is_shown_once(project: Project) -> None:
    with served(lambda asked: reply(f"no index for {asked.query}", "404 Not Found")) as server:
        ini(project, f"ir_url = {server.url()}")
        project.suite(SUITE)
        result = project.run()
    url = server.url("/search?q=q1&size=10")
    result.stdout.fnmatch_lines(
        [
            f"'q1': HTTP 404 Not Found; GET {url} said 'no index for q1'",
            "  at shop.ir.yaml:3; 2 queries failed so",
        ]
    )
    result.stdout.fnmatch_lines(
        ["'q2': HTTP 404 Not Found; GET *said 'no index for q2' (shown at q1)"]
    )


@pytest.mark.slow
def test_a_base_that_would_be_the_same_server_is_refused(project: Project, server: Server) -> None:
    ini(project, f"ir_url = {server.url()}")
    project.suite(SUITE)
    git(project.path, "init", "-q")
    git(project.path, "add", "-A")
    git(project.path, "commit", "-qm", "all")
    text = failed(project, "--ir-baseline=run:HEAD")
    assert "ir_url: both sides of run: would ask one server" in text
    assert not server.asked


# -- secrets -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fails", [False, True])
def test_no_secret_is_in_anything_that_is_shown_or_written(
    project: Project, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    monkeypatch.setenv("SEARCH_TOKEN", "tok-s3cr3t")

    def answer(asked: Asked) -> bytes:
        said = asked.headers["x-key"]
        if fails and asked.query == "q1":
            return reply({"error": said}, f"401 {said}")
        return reply({"hits": [{"id": "d" + asked.query[1:], "title": said, said: said}]})

    with served(answer) as server:
        ini(project, f"ir_url = {server.url()}", "ir_headers = X-Key: Key $SEARCH_TOKEN")
        project.suite(SUITE + "show: [title]\n")
        before = {*project.path.rglob("*")}
        result = project.run(
            "-vv", "-l", "-rA", "--ir-save-runs=kept", "--ir-markdown=out.md", "--ir-judge=judge.html", "--junitxml=junit.xml",
            "--ir-history=history.jsonl", "--ir-report=page.html",
        )  # fmt: skip
        assert server.asked[0].headers["x-key"] == "Key tok-s3cr3t"
    project.run("--ir-update-baseline")
    written = [path for path in project.path.rglob("*") if path.is_file() and path not in before]
    assert {"out.md", "judge.html", "page.html", "junit.xml", "out.json"} <= {
        path.name for path in written
    }
    shown = result.stdout.str() + result.stderr.str()
    for text in (shown, *(path.read_bytes().decode("utf-8", "replace") for path in written)):
        assert "s3cr3t" not in text
    assert "***" in (project.path / "judge.html").read_text()


def test_the_list_of_fixtures_shows_no_line_of_the_ini(project: Project) -> None:
    ini(project, "ir_url = bm25: http://h/hunter22?q={query}")
    shown = project.pytester.runpytest("--fixtures").stdout.str()
    assert re.search(r"^bm25 \[session scope\]", shown, re.M)
    assert "hunter22" not in shown
