"""A server or a program that the ini file starts, in today's checkout and in the base's."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..conftest import Project
from ..repository import git
from .test_services import PROGRAM, SUITE, failed, ini

PYTHON = shlex.quote(sys.executable)
SERVER = """
import json, os, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit
open(os.environ["STARTS"], "a").write(f"{os.getpid()} {os.getcwd()}\\n")
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        query = parse_qs(urlsplit(self.path).query)["q"][0]
        body = json.dumps({"hits": [{"id": "d" + query[1:]}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args): pass
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
SERVE = f"ir_serve = {PYTHON} server.py {{port}}"
URL = "ir_url = http://127.0.0.1:{port}/search?q={query}&size={k}"
WORSE = ('"d" +', '"x" +')


@pytest.fixture
def shop(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """A service in a commit, whose every process notes that it has started."""
    monkeypatch.setenv("STARTS", str(tmp_path / "starts"))
    for name, text in (("server.py", SERVER), ("search.py", PROGRAM)):
        noting = text.replace('open("starts"', 'open(os.environ["STARTS"]')
        (project.path / name).write_text(noting)
    (project.path / ".gitignore").write_text("out.json\nir-report.html\n__pycache__\nbuilt*\n")
    project.suite(SUITE)
    ini(project, SERVE, URL)
    commit(project)
    yield project
    for line in starts():
        with pytest.raises(ProcessLookupError):
            os.kill(int(line.split()[0]), signal.SIGKILL)


def commit(project: Project) -> None:
    git(project.path, "init", "-q")
    git(project.path, "add", "-A")
    git(project.path, "commit", "-qm", "all")


def change(project: Project, file: str, before: str, after: str) -> None:
    path = project.path / file
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


def starts() -> list[str]:
    noted = Path(os.environ["STARTS"])
    return noted.read_text().splitlines() if noted.exists() else []


# -- one side ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "args", [(), pytest.param(("-n", "2"), marks=pytest.mark.slow), ("--ir-concurrency=4",)]
)
def test_a_server_is_started_asked_and_ended(shop: Project, args: tuple[str, ...]) -> None:
    shop.run(*args).assert_outcomes(passed=3)
    assert len(starts()) == (2 if "-n" in args else 1)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("end", ["SIGKILL", "SIGTERM"])
def test_a_server_ends_with_a_run_that_is_killed(shop: Project, end: str) -> None:
    change(shop, "server.py", 'query = parse', """if "q=q2" in self.path:
            import time
            with open("asked.new", "w") as file: file.write(sys.argv[1])
            os.rename("asked.new", "asked")
            time.sleep(600)
        query = parse""")  # fmt: skip
    asked = shop.path / "asked"
    command = [sys.executable, "-m", "pytest", "--ir-suite"]
    with subprocess.Popen(command, cwd=shop.path, stdout=subprocess.DEVNULL) as run:
        while not asked.exists():
            assert run.poll() is None
            time.sleep(0.02)
        run.send_signal(signal.Signals[end])
    assert ends_within(30, int(asked.read_text()))
    Path(os.environ["STARTS"]).unlink()  # nobody may have waited for it yet


def ends_within(seconds: float, port: int) -> bool:
    """Nothing listens at a port any more."""
    due = time.monotonic() + seconds
    while time.monotonic() < due:
        with socket.socket() as asking:
            if asking.connect_ex(("127.0.0.1", port)):
                return True
        time.sleep(0.02)
    return False


def test_names_of_one_server_start_it_once(shop: Project) -> None:
    ini(shop, SERVE, "ir_url =", *(f"  {name}: {URL[9:]}&as={name}" for name in ("old", "new")))
    shop.suite("baseline: {retriever: old}\n" + SUITE)
    shop.run().assert_outcomes(passed=10)
    assert len(starts()) == 1


def test_a_server_that_loads_is_waited_for(shop: Project) -> None:
    change(shop, "server.py", "def do_GET(self):", """def do_GET(self):
        if len(looks := (*globals().setdefault("looks", ()), 1)) < 3:
            globals()["looks"] = looks
            self.send_error(503)
            return""")  # fmt: skip
    shop.run().assert_outcomes(passed=3)


WRONG = {
    "ends": ([f"ir_serve = {PYTHON} -c 'exit(3)' {{port}}", URL], "ended with status 3; it wrote nothing"),
    "says why": ([f"ir_serve = {PYTHON} gone.py {{port}}", URL], "No such file or directory"),
    "is not there": (["ir_serve = gone {port}", URL], "cannot be started"),
    "no port": ([f"ir_serve = {PYTHON} server.py 8080", URL], "ir_url: {port} is that of ir_serve"),
    "no server": ([URL], "ir_url: {port} is that of ir_serve"),
    "another server": ([SERVE, URL.replace("{port}", "8080")], "ir_serve: no ir_url has its {port}"),
    "port elsewhere": ([SERVE, URL.replace(":{port}/", "/{port}/")], "{port} is no {query}"),
    "prepare fails": ([SERVE, URL, f"ir_prepare = {PYTHON} -c 'exit(\"no network\")'"], "ended with status 1; it wrote 'no network'"),
    "prepare is not there": ([SERVE, URL, "ir_prepare = gone"], "ir_prepare: gone cannot be started"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_one_line(shop: Project, case: str) -> None:
    lines, said = WRONG[case]
    ini(shop, *lines)
    assert said in failed(shop)
    assert not starts()


def test_a_server_that_dies_is_named_with_its_last_words(shop: Project) -> None:
    change(shop, "server.py", 'query = parse', """if "q=q2" in self.path:
            print("out of memory", flush=True)
            os._exit(9)
        query = parse""")  # fmt: skip
    text = shop.run().stdout.str()
    assert "ended with status 9; it wrote 'out of memory'" in text


@pytest.mark.slow
def test_commands_before_it_run_once_in_order_also_with_workers(shop: Project) -> None:
    write = "import sys; open('built', 'a').write(sys.argv[1])"
    lines = [f'{PYTHON} -c "{write}" {n}' for n in (1, 2)]
    ini(shop, SERVE, URL, "ir_prepare =", *(f"  {line}" for line in lines))
    shop.run("-n", "2").assert_outcomes(passed=3)
    assert (shop.path / "built").read_text() == "12"


# -- both sides ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_server_is_started_in_each_sides_checkout(shop: Project) -> None:
    change(shop, "server.py", *WORSE)
    result = shop.run("--ir-baseline=run:HEAD")
    result.assert_outcomes(passed=3, failed=2)
    result.stdout.fnmatch_lines(["*2 worse, 0 better, 0 unchanged*"])
    folders = [line.split()[1] for line in starts()]
    assert len(folders) == 2
    assert os.path.realpath(shop.path) == folders[1] != folders[0]


@pytest.mark.slow
def test_a_base_that_cannot_be_prepared_is_no_matter_of_its_environment(shop: Project) -> None:
    ini(shop, SERVE, URL, "ir_prepare = gone")
    commit(shop)
    ini(shop, SERVE, URL)
    result = shop.run("--ir-baseline=run:HEAD")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        [
            "*ir_prepare: gone cannot be started*",
            "  ir_prepare is that commit's own: compare with git:REF, or with a commit it works on",
        ]
    )
    result.stderr.no_fnmatch_line("*ir_base_command*")


@pytest.mark.slow
@pytest.mark.parametrize(
    "named", ["search.py", "{here}/search.py", "-c \"exec(open('{here}/search.py').read())\""]
)
def test_a_command_is_run_on_both_sides_by_each_sides_own_settings(
    shop: Project, named: str
) -> None:
    ini(shop, f"ir_command = {PYTHON} {named.format(here=os.path.realpath(shop.path))}")
    commit(shop)
    git(shop.path, "mv", "search.py", "moved.py")
    change(shop, "moved.py", *WORSE)
    ini(shop, f"ir_command = {PYTHON} moved.py")
    result = shop.run("--ir-baseline=run:HEAD")
    result.assert_outcomes(passed=3, failed=2)
    result.stdout.fnmatch_lines(["*2 worse, 0 better, 0 unchanged*"])
    assert len(starts()) == 2


@pytest.mark.slow
@pytest.mark.parametrize("own", ["none", "one server"])
def test_a_base_that_cannot_be_asked_by_its_own_settings_is_by_todays(
    shop: Project, own: str
) -> None:
    ini(shop, *([] if own == "none" else ["ir_url = http://127.0.0.1:1/search?q={query}"]))
    commit(shop)
    change(shop, "server.py", *WORSE)
    ini(shop, SERVE, URL)
    result = shop.run("--ir-baseline=run:HEAD")
    result.stdout.fnmatch_lines(["*2 worse, 0 better, 0 unchanged*"])
    assert len(starts()) == 2


PREPARED = """
import os, shutil, sys
open(os.environ["STARTS"] + "-built", "a").write(os.getcwd() + "\\n")
os.makedirs("built", exist_ok=True)
shutil.copy("words.py", "built/words.py")
if "FIRST" in os.environ:
    open("built/words.py", "w").write(f"FIRST = {os.environ['FIRST']!r}\\n")
"""


@pytest.mark.slow
def test_each_side_is_prepared_anew_by_what_is_there_now(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another compiler made of the base, or other settings, is none to compare with."""
    (shop.path / "words.py").write_text("FIRST = 'd'\n")
    (shop.path / "build.py").write_text(PREPARED)
    change(
        shop,
        "server.py",
        "import json,",
        "sys = __import__('sys'); sys.path.insert(0, 'built')\nimport words, json,",
    )
    change(shop, "server.py", '"d" +', "words.FIRST +")
    ini(shop, SERVE, URL, f"ir_prepare = {PYTHON} build.py")
    commit(shop)
    built = Path(os.environ["STARTS"] + "-built")
    for times, first in enumerate("xd", 1):
        monkeypatch.setenv("FIRST", first)
        result = shop.run("--ir-baseline=run:HEAD", "-v")
        assert "none of 2 rankings changed" in result.stdout.str()
        assert len(built.read_text().split()) == 2 * times
    change(shop, "server.py", "words.FIRST +", '"y" +')
    shop.run("--ir-baseline=run:HEAD").stdout.fnmatch_lines(["*2 worse, 0 better, 0 unchanged*"])
    # Nothing of it is in the checkout, and the worktree is gone.
    assert git(shop.path, "status", "--porcelain").split() == ["M", "server.py"]
    assert len(git(shop.path, "worktree", "list").splitlines()) == 1


@pytest.mark.slow
def test_a_base_that_cannot_be_prepared_or_started_says_why(shop: Project) -> None:
    change(shop, "server.py", "import json,", "import gone_for_good, json,")
    commit(shop)
    change(shop, "server.py", "import gone_for_good, json,", "import json,")
    result = shop.run("--ir-baseline=run:HEAD")
    text = result.stderr.str()
    assert result.ret == 4
    assert "gave no answers" in text
    assert "No module named" in text
