"""The action's shell, the pre-commit hook and the workflows: run as their services run them."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from docs.tools.pins import ours
from docs.tools.shown_files import BLOCK
from pytest_irquality.edges.project import PATTERNS
from tests.conftest import ALONE

ROOT = Path(__file__).parents[2]
STEPS = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))["runs"]["steps"]
HOOK = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))[0]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32" or not shutil.which("bash"), reason="needs bash"),
]

GREEN = "queries: [{query: office chair, relevant: [d1]}, {query: desk, relevant: [d2]}]\nthresholds: {mrr@10: 0.9}\n"
RED = GREEN.replace("relevant: [d1]", "must_find: [d9]")
RETRIEVER = """
import pytest
@pytest.fixture
def retriever():
    return lambda query: {"office chair": ["d1"], "desk": ["d2"]}[query]
"""


def step(name: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the shell of a step of the action, by its id or name, as GitHub does."""
    (shell,) = [one["run"] for one in STEPS if name in (one.get("id"), one.get("name"))][:1]
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    known = {"GITHUB_ACTION_PATH": str(ROOT), "RUNNER_TEMP": str(folder / "temp")}
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", shell], cwd=folder,
        env={**kept, **known, "GITHUB_ACTIONS": "true", **environment}, text=True, capture_output=True, check=False,
    )  # fmt: skip


def outputs(name: str, folder: Path, **environment: str) -> dict[str, str]:
    """Run a step that must end well; what it gives to later ones."""
    output = folder / "output"
    output.write_text("")
    done = step(name, folder, GITHUB_OUTPUT=str(output), **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(line.split("=", 1) for line in output.read_text().splitlines())


INPUTS = dict.fromkeys(["IR_COMMAND", "IR_HISTORY", "IR_SERVE", "IR_URL"], "")


def judge(
    folder: Path, args: str = "", **environment: str
) -> tuple[subprocess.CompletedProcess[str], dict[str, str]]:
    output = folder / "output"
    output.write_text("")
    done = step(
        "judge", folder,
        **{**INPUTS, "IR_PYTHON": sys.executable, "IR_ARGS": args, "GITHUB_OUTPUT": str(output),
           "PYTHONPATH": str(ROOT), **ALONE, **environment},
    )  # fmt: skip
    return done, dict(line.split("=", 1) for line in output.read_text().splitlines())


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text(RETRIEVER)
    (tmp_path / "shop.ir.yaml").write_text(GREEN)
    (tmp_path / "temp").mkdir()
    return tmp_path


def kept(folder: Path) -> set[str]:
    return {path.name for path in (folder / "temp/irquality").iterdir()}


@pytest.mark.parametrize(("suite", "status"), [(GREEN, "0"), (RED, "1"), ("queries: 3\n", "2")])
def test_the_status_is_that_of_pytest_and_the_report_is_kept(
    shop: Path, suite: str, status: str
) -> None:
    (shop / "shop.ir.yaml").write_text(suite)
    done, output = judge(shop)
    assert str(done.returncode) == output.pop("exit-status") == status, done.stderr
    evaluated = status in "01"
    assert output == ({"report": "true"} if evaluated else {})
    assert kept(shop) == ({"report.html", "report.md", "report.json"} if evaluated else set())


def test_an_older_report_is_not_taken_for_this_one(shop: Path) -> None:
    judge(shop)
    (shop / "shop.ir.yaml").write_text("queries: 3\n")
    judge(shop)
    assert kept(shop) == set()


def test_a_history_is_added_to_and_the_artifact_has_a_copy(shop: Path) -> None:
    history = shop / "temp/irquality-history/history.jsonl"
    for _ in range(2):
        _, output = judge(shop, IR_HISTORY=str(history))
        assert output == {"exit-status": "0", "report": "true", "history": "true"}
        assert (shop / "temp/irquality/history.jsonl").read_bytes() == history.read_bytes()
    (shop / "shop.ir.yaml").write_text("queries: 3\n")
    _, output = judge(shop, IR_HISTORY=str(history))  # what earlier jobs left stays
    assert output == {"exit-status": "2", "history": "true"}
    assert judge(shop)[1] == {"exit-status": "2"}


def test_arguments_are_words_and_nothing_in_them_runs(shop: Path) -> None:
    done, output = judge(shop, "-k 'office and chair' --co")
    assert output["exit-status"] == "0"
    assert "shop.ir.yaml" in done.stdout or "office-chair" in done.stdout
    assert "1/3" in done.stdout  # of three items one is selected
    judge(shop, "-k '$(touch ran)' `touch ran` ; touch ran")
    assert not (shop / "ran").exists()


def test_arguments_with_a_quote_left_open_fail_the_job_and_judge_nothing(shop: Path) -> None:
    (shop / "shop.ir.yaml").write_text(RED)
    done, output = judge(shop, "--ir-baseline=git:main -k it's")
    assert (done.returncode, output) == (1, {"exit-status": "1"})
    assert done.stderr == (
        "::error::args cannot be split into words, as a shell would: is a quote left open?\n"
    )


SERVER = """
import http.server, json, sys
from urllib.parse import parse_qs, urlsplit
class Search(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        query = parse_qs(urlsplit(self.path).query)["q"][0]
        body = json.dumps([{"office chair": "d1", "desk": "d2"}.get(query, "none")]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Search).serve_forever()
"""
PROGRAM = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"id": asked["id"], "hits": [{"office chair": "d1", "desk": "d2"}[asked["query"]]]}), flush=True)
"""


@pytest.fixture
def service(shop: Path) -> Path:
    """A repository without a line of Python for pytest, but settings that nobody is to go by."""
    (shop / "conftest.py").unlink()
    (shop / "pytest.ini").write_text("[pytest]\nir_url = http://127.0.0.1:1/search?q={query}\n")
    (shop / "server.py").write_text(SERVER)
    (shop / "search.py").write_text(PROGRAM)
    return shop


URL = "http://127.0.0.1:{port}/search?q={query}&size={k}"
SERVE = f"{shlex.quote(sys.executable)} server.py {{port}}"
COMMAND = f"{shlex.quote(sys.executable)} search.py"


@pytest.mark.parametrize(
    "settings",
    [
        {"IR_URL": URL, "IR_SERVE": SERVE},
        {"IR_URL": f"one: {URL}\ntwo: {URL}&more=yes\n", "IR_SERVE": SERVE},
        {"IR_URL": f"one: {URL}", "IR_SERVE": SERVE, "IR_COMMAND": f"two: {COMMAND}\n"},
        {"IR_COMMAND": COMMAND},
    ],
    ids=["url", "two", "both", "command"],
)
def test_a_service_needs_no_settings_in_the_repository(
    service: Path, settings: dict[str, str]
) -> None:
    done, output = judge(service, **settings)
    assert output == {"exit-status": "0", "report": "true"}, done.stdout
    (service / "shop.ir.yaml").write_text(RED)
    assert judge(service, **settings)[1]["exit-status"] == "1"


def test_without_them_those_of_the_repository_are_gone_by(service: Path) -> None:
    assert "no answer: Connection refused" in judge(service)[0].stdout
    (service / "pytest.ini").write_text(f"[pytest]\nir_command = {COMMAND}\n")
    assert judge(service)[1]["exit-status"] == "0"


def found_python(folder: Path, python: str = "") -> str:
    """The Python that the action judges with, where the project's has no plugin."""
    own = folder / "bin/python"
    own.parent.mkdir(exist_ok=True)
    own.write_text("#!/bin/sh\nexit 1\n")
    own.chmod(0o755)
    path = f"{own.parent}{os.pathsep}{os.environ['PATH']}"
    return outputs("python", folder, IR_PYTHON=python, PATH=path)["python"]


def test_where_python_has_no_plugin_the_action_installs_itself(service: Path) -> None:
    python = found_python(service)
    for settings, status in (({"IR_COMMAND": COMMAND}, "0"), ({}, "1")):
        output = service / "output"
        output.write_text("")
        done = step(
            "judge", service,
            **{**INPUTS, "IR_PYTHON": python, "IR_ARGS": "-k 'office or desk'", "GITHUB_OUTPUT": str(output), **settings},
        )  # fmt: skip
        assert str(done.returncode) == status, done.stderr
        assert f"exit-status={status}\n" in output.read_text(), done.stdout
        assert "plugins: irquality-" in done.stdout


def test_a_python_that_is_named_is_taken(service: Path) -> None:
    assert found_python(service, sys.executable) == sys.executable


HOSTILE = (
    "json.py",
    "shlex.py",
    "pytest.py",
    "pytest_irquality.py",
    "venv.py",
    "ensurepip.py",
    "pip/__main__.py",
)


@pytest.mark.parametrize("installs", [False, True])
def test_no_module_of_the_working_folder_is_imported(service: Path, installs: bool) -> None:
    for name in HOSTILE:
        (service / name).parent.mkdir(exist_ok=True)
        (service / name).write_text("open('ran', 'a').write(__name__)\n")
    search = (
        service / "bin/search.py"
    )  # beside it, not in the folder of the modules: it imports json
    search.parent.mkdir()
    search.write_text(PROGRAM)
    command = f"{shlex.quote(sys.executable)} bin/search.py"
    if installs:
        output = service / "output"
        python = found_python(service)
        output.write_text("")
        step("judge", service, **{
            **INPUTS, "IR_PYTHON": python, "IR_ARGS": "", "IR_COMMAND": command, "GITHUB_OUTPUT": str(output),
        })  # fmt: skip
        assert "exit-status=0\n" in output.read_text()
    else:
        assert judge(service, IR_COMMAND=command)[1]["exit-status"] == "0"
    assert not (service / "ran").exists()


def test_jobs_with_rights_start_python_by_scripts_or_isolated() -> None:
    shown = {
        f"{page.stem}: {name}": text
        for page in (ROOT / "docs").rglob("*.md")
        for name, text in BLOCK.findall(page.read_text("utf-8"))
    }
    written = {path.name: path.read_text("utf-8") for path in (*ours(), ROOT / "action/python.sh")}
    for name, text in {**shown, **written}.items():
        for options in re.findall(r"\bpython3?\b[\"']? ((?:-\w+ )*)-m\b", text, re.I):
            assert "-I" in options.split(), name


def test_every_step_of_the_action_runs_a_script_that_is_there() -> None:
    scripts = {
        script for step in STEPS for script in re.findall(r"/(\w+\.sh)", step.get("run", ""))
    }
    assert sorted(scripts) == sorted(path.name for path in (ROOT / "action").glob("*.sh"))


def test_no_step_puts_what_others_wrote_into_its_shell() -> None:
    assert [step["run"] for step in STEPS if "${{" in step.get("run", "")] == []


@pytest.mark.parametrize(
    "name",
    ["shop.ir.yaml", "a/b.ir.yml", "ir_shop.yaml", "a/ir_b.yml", "fir_x.yaml", "ir.yaml", "x.yaml"],
)
def test_the_hook_takes_the_files_that_the_plugin_takes(name: str) -> None:
    assert bool(re.search(HOOK["files"], name)) == any(map(Path(name).match, PATTERNS))


@pytest.mark.parametrize(
    ("suite", "status"), [(GREEN, 0), ("queries: [{query: a, relevent: [d]}]\n", 2)]
)
def test_the_hook_reads_suites_and_calls_no_retriever(
    pytester: pytest.Pytester, suite: str, status: int
) -> None:
    pytester.path.joinpath("shop.ir.yaml").write_text(suite)
    name, *arguments = HOOK["entry"].split()
    result = pytester.runpytest(*arguments, "shop.ir.yaml")
    assert (name, result.ret) == ("pytest", status)
    if status:
        result.stdout.fnmatch_lines(["*shop.ir.yaml:1:22: unknown key 'relevent'*"])
