"""A project with suites and a search, in a folder of its own, run through pytest."""

from __future__ import annotations

import json
import os
import pkgutil
import subprocess
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import jinja2  # noqa: F401
import pytest
import yaml  # noqa: F401

import pytest_irquality

# After each run, pytester forgets the modules that were imported in it. Packages would keep stale
# ones as attributes, so all modules are imported before.
for module in pkgutil.walk_packages(pytest_irquality.__path__, "pytest_irquality."):
    import_module(module.name)

# The search reads its rankings from a file, so a test changes the search without changing code.
CONFTEST = """
import json
from pathlib import Path

import jinja2  # noqa: F401
import pytest
import yaml  # noqa: F401

RANKINGS = Path(__file__).with_name("rankings.json")

@pytest.fixture{arguments}
def retriever():
    rankings = json.loads(RANKINGS.read_text())

    def search(query, k):
        with RANKINGS.with_name("calls.txt").open("a") as file:
            file.write(query + "\\n")
        result = rankings.get(query, [])
        if isinstance(result, str):
            raise RuntimeError(result)
        return [tuple(hit) if isinstance(hit, list) else hit for hit in result][:k]

    return search
"""

USER = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
# Nothing has to survive a power failure, and no process has to clean up in the background.
QUICK = ("-c", "core.fsync=none", "-c", "gc.auto=0", "-c", "maintenance.auto=false")

Rankings = Mapping[str, "Sequence[object] | str"]

# What `start_change` leaves behind, by what there was before. Many tests start from the same files.
prepared: dict[object, dict[str, bytes]] = {}


class Project:
    """A folder with suites, a conftest with the fixture ``retriever``, and rankings.

    A ranking that is a text is an exception that the search raises.
    """

    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pytester = pytester
        self.path = pytester.path
        for name in list(os.environ):
            if name.startswith("IRQUALITY_"):
                monkeypatch.delenv(name)
        self.write("pytest.ini", "[pytest]\n")
        self.write_conftest()

    def write(self, name: str, text: str) -> Path:
        """Write a file and return its path."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def read(self, name: str) -> str:
        """Return the text of a file."""
        return (self.path / name).read_text(encoding="utf-8")

    def write_suite(self, text: str, name: str = "shop.ir.yaml") -> Path:
        """Write a suite."""
        return self.write(name, text)

    def write_rankings(self, rankings: Rankings, folder: str = "") -> None:
        """Write what the search returns, by the text of the query."""
        self.write(os.path.join(folder, "rankings.json"), json.dumps(dict(rankings)))

    def write_conftest(self, text: str = "", *, folder: str = "", scope: str = "session") -> None:
        """Write a conftest: the usual search, or another text after its imports."""
        code = CONFTEST.format(arguments=f'(scope="{scope}")')
        if text:
            code = f"import pytest\n\n{text}"
        self.write(os.path.join(folder, "conftest.py"), code)

    def write_ini(self, text: str, name: str = "pytest.ini") -> None:
        """Write the keys of the section ``pytest``."""
        self.write(name, f"[pytest]\n{text}\n")

    def run(self, *arguments: str, in_subprocess: bool = False) -> pytest.RunResult:
        """Run ``pytest --ir-suite`` with more arguments."""
        return self.run_pytest("--ir-suite", *arguments, in_subprocess=in_subprocess)

    def run_pytest(self, *arguments: str, in_subprocess: bool = False) -> pytest.RunResult:
        """Run pytest."""
        if in_subprocess:
            others = ["-p", "no:random_order", "-p", "no:hypothesispytest"]
            return self.pytester.runpytest_subprocess("-p", "no:cacheprovider", *others, *arguments)
        # To look for plugins in all packages takes as long as to run a suite.
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
            plugins = ["-p", "irquality", "-p", "no:cacheprovider"]
            return self.pytester.runpytest_inprocess(*plugins, *arguments)

    def run_json(self, *arguments: str) -> Any:
        """Run ``pytest --ir-suite``, and return the JSON report."""
        self.run("--ir-report=none", "--ir-json=out.json", *arguments)
        return json.loads(self.read("out.json"))

    def list_calls(self) -> list[str]:
        """Return the queries that the search has received so far, and forget them."""
        path = self.path / "calls.txt"
        calls = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return calls

    def commit(self, message: str = "Change") -> None:
        """Commit all files. The first commit creates the repository, with the branch main."""
        if not (self.path / ".git").exists():
            self.git("init", "-q", "-b", "main")
            self.write(".gitignore", "calls.txt\nir-report.html\nout.json\n__pycache__/\n")
        self.git("add", "-A")
        self.git(*USER, "commit", "-q", "--allow-empty", "-m", message)

    def start_branch(self, name: str = "change") -> None:
        """Create a branch and switch to it."""
        self.git("checkout", "-q", "-b", name)

    def start_change(self, *arguments: str) -> None:
        """Record the baseline, which must succeed, commit it to main, and start a branch."""
        before = tuple(self._read_files().items())
        key = arguments, before
        if key not in prepared:
            result = self.run("--ir-update-baseline", "--ir-report=none", *arguments)
            assert result.ret == 0, result.outlines
            self.commit("Suites and a baseline")
            self.start_branch()
            prepared[key] = self._read_files()
        for name, content in prepared[key].items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def _read_files(self) -> dict[str, bytes]:
        """Return the contents of all files by name, those of git included."""
        contents = {}
        for path in sorted(self.path.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                contents[path.relative_to(self.path).as_posix()] = path.read_bytes()
        return contents

    def git(self, *arguments: str) -> str:
        """Run git and return what it prints."""
        environment = {
            **os.environ,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TEMPLATE_DIR": "",
        }
        result = subprocess.run(
            ["git", *QUICK, *arguments],
            cwd=self.path,
            check=True,
            capture_output=True,
            text=True,
            env=environment,
        )
        return result.stdout


def get_item_lines(result: pytest.RunResult) -> list[str]:
    """Return the names of the collected items, for ``--collect-only -q``."""
    return [line.partition("::")[2] for line in result.outlines if "::" in line]
