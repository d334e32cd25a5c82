"""What a side leaves running answers for no other: servers and processes of the base of ``run:REF``."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pytest_irquality.edges.supervisor import free_port
from pytest_irquality.pipeline.base import left
from tests.conftest import Project, await_end
from tests.repository import git

pytestmark = pytest.mark.slow

SUITE = """\
queries:
  - {query: desk, relevant: [d1]}
  - {query: lamp, relevant: [d1]}
thresholds: {mrr: {min: 0.1, max_drop: 0.05}}
"""
SERVER = """\
import http.server, json, pathlib, sys
answer = json.dumps(pathlib.Path("answer.txt").read_text().split()).encode()
class Search(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(answer)
    def log_message(self, *_):
        pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Search).serve_forever()
"""
# As such fixtures are written: a server that answers already is taken, and nobody ends the one that is started.
FIXTURE = """\
import json, os, subprocess, sys, time, urllib.error, urllib.request
PORT = %s
def ask(query):
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/", timeout=60) as answer:
        return json.load(answer)
@pytest.fixture(scope="session")
def retriever(pytestconfig):
    try:
        ask("")
    except urllib.error.URLError:
        command = [sys.executable, "server.py", str(PORT)]
        subprocess.Popen(command, cwd=pytestconfig.rootpath, start_new_session=True)
    for _ in range(3000):
        try:
            ask("")
            return ask
        except urllib.error.URLError:
            time.sleep(0.02)
"""
RUN = "--ir-baseline=run:main"


def repository(project: Project, fixture: str) -> None:
    """Commit a project to main whose answers are right, and a change that has them wrong."""
    project.suite(SUITE)
    project.conftest(fixture)
    for name, text in (("server.py", SERVER), ("answer.txt", "d1 d2"), ("pytest.ini", "[pytest]")):
        (project.path / name).write_text(text)
    git(project.path, "init", "-q", "-b", "main")
    git(project.path, "add", "-A")
    git(project.path, "commit", "-qm", "main")
    git(project.path, "checkout", "-qb", "change")
    (project.path / "answer.txt").write_text("d2 d1")
    git(project.path, "commit", "-qam", "change")


@pytest.fixture
def port() -> Iterator[int]:
    """A port at which nothing listens in the end, whoever was started there."""
    made = free_port()
    yield made
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            line = Path("/proc", pid, "cmdline").read_bytes().split(b"\0")
            if line[1:3] == [b"server.py", str(made).encode()]:
                os.kill(int(pid), 9)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a session of its own gets away")
def test_a_server_of_the_base_is_ended_and_today_starts_its_own(
    project: Project, port: int
) -> None:
    repository(project, FIXTURE % port)
    result = project.run(RUN, "-v")
    result.stdout.fnmatch_lines(
        [
            "mrr@10 fell 1.000 → 0.500, by 0.500: *",
        ]
    )
    assert result.ret == 1


@pytest.mark.skipif(sys.platform != "linux", reason="nobody tells what listens")
def test_a_server_that_got_away_is_an_error_before_today_asks(
    project: Project, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody who was there before starts it when asked: a service manager, a container's daemon."""
    monkeypatch.setattr(left, "PATIENCE", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as manager:
        fixture = (FIXTURE % port).replace("subprocess.Popen(", "manager(", 1)
        fixture += f"""
def manager(command, **_):
    import socket
    if os.environ["IRQUALITY_SIDE"] == "today":
        open("asked", "w").close()
    socket.create_connection(("127.0.0.1", {manager.getsockname()[1]})).close()
"""
        repository(project, fixture)

        def start() -> None:
            manager.accept()[0].close()
            command = [sys.executable, "server.py", str(port)]
            started.append(subprocess.Popen(command, cwd=project.path))

        started: list[subprocess.Popen[bytes]] = []
        thread = threading.Thread(target=start)
        thread.start()
        try:
            result = project.run(RUN)
        finally:
            thread.join(60)
            started[0].kill()
            started[0].wait()
    assert result.ret == 4
    name = f"the base * left a server that still listens at 127.0.0.1:{port}"
    result.stderr.fnmatch_lines([f"ERROR: --ir-baseline run:main: {name}, where today's side*"])
    assert not (project.path / "asked").exists()


def test_what_listened_before_and_what_the_base_did_not_ask_are_no_matter(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(left, "PATIENCE", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as before:
        fixture = f"""
import socket
@pytest.fixture
def retriever():
    socket.create_connection(("127.0.0.1", {before.getsockname()[1]})).close()
    return lambda query: open("answer.txt").read().split()
"""
        repository(project, fixture)
        listening: list[socket.socket] = []
        others = threading.Timer(0.1, lambda: listening.append(socket.create_server(("", 0))))
        others.start()
        result = project.run(RUN)
        others.join()
    listening[0].close()
    result.stdout.fnmatch_lines(["mrr@10 fell 1.000 → 0.500, by 0.500: *"])


def test_each_side_knows_itself_and_has_a_port_of_its_own(project: Project) -> None:
    fixture = """
import os, socket
@pytest.fixture
def retriever():
    with socket.create_server(("127.0.0.1", int(os.environ["IRQUALITY_PORT"]))):
        return lambda query: ["d1" if os.environ["IRQUALITY_SIDE"] == %r else "d2"]
"""
    repository(project, fixture % "base")
    project.run(RUN).stdout.fnmatch_lines(["*mrr@10 fell 1.000 → 0.000, by 1.000: *"])
    project.conftest(fixture % "today")
    project.suite(SUITE.replace(", max_drop: 0.05", ""))
    project.run().assert_outcomes(passed=3)
    assert "IRQUALITY_SIDE" not in os.environ


def test_a_process_whose_command_ended_takes_its_children_along(tmp_path: Path) -> None:
    """No pytest: the supervisor alone, told to end, and left alone by who started it."""
    code = (
        "import os, subprocess, sys, time; p = subprocess.Popen([sys.executable, '-c', "
        "'import time; time.sleep(600)'], start_new_session=True); "
        "open('child.new', 'w').write(str(p.pid)); os.rename('child.new', 'child'); time.sleep(600)"
    )
    starts = (
        "import signal, sys; from pathlib import Path; from pytest_irquality.edges.supervisor import Supervised; "
        f"Supervised([sys.executable, '-c', {code!r}], Path('.'), sys.stdout, by=signal.SIGTERM, patience=60).wait()"
    )
    with subprocess.Popen([sys.executable, "-c", starts], cwd=tmp_path) as process:
        child = tmp_path / "child"
        while not child.exists():
            assert process.poll() is None
            time.sleep(0.02)
        process.kill()
    await_end(int(child.read_text()))
