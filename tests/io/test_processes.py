"""A supervised command ends with everything that it started."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_irquality.io.processes import (
    SupervisedProcess,
    find_free_port,
    split_command,
    split_windows_command,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are adopted on Linux")

# A child in a session of its own, which writes its process id and sleeps.
START_CHILD = (
    "import subprocess, sys; from pathlib import Path; "
    "child = subprocess.Popen(['sleep', '60'], start_new_session=True); "
    "Path('pid').write_text(str(child.pid)); print('started', flush=True); "
)


def start(folder: Path, *command: str, end_timeout_s: float = 5.0) -> SupervisedProcess:
    return SupervisedProcess(command, folder, subprocess.PIPE, end_timeout_s=end_timeout_s)


def read_output(process: SupervisedProcess) -> str:
    assert process.popen.stdout
    with process.popen.stdout as output:
        return bytes(output.read()).decode()


def read_line(process: SupervisedProcess) -> str:
    assert process.popen.stdout
    return process.popen.stdout.readline().decode().strip()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return b"\nState:\tZ" not in Path(f"/proc/{pid}/status").read_bytes()


def wait_for_end(pid: int) -> bool:
    deadline = time.monotonic() + 10
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_alive(pid)


def test_output_and_exit_status_are_those_of_the_command(tmp_path: Path) -> None:
    process = start(tmp_path, "sh", "-c", "echo out; echo err >&2; pwd; exit 3")

    assert process.wait(10) == 3
    assert read_output(process) == f"out\nerr\n{tmp_path}\n"


def test_a_program_that_cannot_be_started_says_why(tmp_path: Path) -> None:
    process = start(tmp_path, "no-such-program", "x")

    assert process.wait(10) == 127
    assert read_output(process) == "no-such-program: No such file or directory\n"


def test_the_environment_can_be_given(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "ANSWER": "42"}

    process = SupervisedProcess(
        ["sh", "-c", "echo $ANSWER$HOME"], tmp_path, subprocess.PIPE, environment=environment
    )

    assert process.wait(10) == 0
    assert read_output(process) == "42\n"


def test_a_command_is_ended_by_its_signal(tmp_path: Path) -> None:
    code = (
        "import signal, sys, time\n"
        "def end(number, frame):\n    print('ended', flush=True)\n    sys.exit(5)\n"
        "signal.signal(signal.SIGINT, end)\n"
        "print('started', flush=True)\n"
        "time.sleep(60)\n"
    )
    process = SupervisedProcess(
        [sys.executable, "-c", code],
        tmp_path,
        subprocess.PIPE,
        end_signal=signal.SIGINT,
        end_timeout_s=60,
    )
    assert read_line(process) == "started"
    assert process.popen.poll() is None

    assert process.end() == 5

    assert read_output(process) == "ended\n"


def test_a_command_that_ignores_the_signal_is_killed(tmp_path: Path) -> None:
    code = "trap '' TERM; echo started; while true; do sleep 0.05; done"
    process = start(tmp_path, "sh", "-c", code, end_timeout_s=0.2)
    assert read_line(process) == "started"

    assert process.end() == 128 + signal.SIGKILL
    assert process.end() == 128 + signal.SIGKILL
    assert read_output(process) == ""


def test_what_the_command_leaves_behind_is_ended(tmp_path: Path) -> None:
    process = start(tmp_path, sys.executable, "-c", START_CHILD)

    assert process.wait(20) == 0

    assert read_output(process) == "started\n"
    assert wait_for_end(int((tmp_path / "pid").read_text()))


@pytest.mark.slow
def test_everything_ends_if_the_starter_is_killed(tmp_path: Path) -> None:
    starter = (
        "import subprocess, sys, time; from pathlib import Path; "
        "from pytest_irquality.io.processes import SupervisedProcess; "
        f"SupervisedProcess([sys.executable, '-c', {START_CHILD + 'import time; time.sleep(60)'!r}],"
        " Path('.'), None, end_timeout_s=1.0); time.sleep(60)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", starter], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert process.stdout.readline() == "started\n"

    process.kill()
    process.wait()

    assert wait_for_end(int((tmp_path / "pid").read_text()))
    process.stdout.close()


def test_a_free_port_can_be_bound() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", find_free_port()))


def test_a_command_line_is_split_as_the_shell_does() -> None:
    assert split_command("npx 'my server' --port=80") == ["npx", "my server", "--port=80"]
    with pytest.raises(ValueError, match="No closing quotation"):
        split_command("npx 'my server")


def test_on_windows_a_backslash_is_part_of_a_path() -> None:
    words = split_windows_command(r'C:\bin\tool.exe "a b" c\d')

    assert words == [r"C:\bin\tool.exe", "a b", r"c\d"]
