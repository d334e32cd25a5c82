"""A job of GitHub's, done here: its steps in their order, as far as the documentation and our own actions use them.

What a service would do in its own way is a small table: check out, caches, artifacts. The shell of each step is run as it
is written, ours as it stands in ``action.yml``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from docs.tools.address import address
from tests.docs.pages import ROOT, outer_environment
from tests.repository import WHO

OURS = address()
EXPRESSION = re.compile(r"\$\{\{ *(.*?) *\}\}")
NAME = re.compile(r"'[^']*'|[\w.*-]+(?:\.[\w.*-]+)*\(?")


@dataclass
class Service:
    """What outlasts a job: caches by their keys, artifacts by run and name, and the ``comments``: None refuses them."""

    folder: Path
    comments: dict[tuple[str, str], str] | None = field(default_factory=dict)
    runs: int = 0

    def cache(self, key: str) -> Path:
        return self.folder / "caches" / key.replace("/", "~")

    def artifact(self, run: object, name: str) -> Path:
        return self.folder / "artifacts" / str(run) / name


@dataclass
class Job:
    """One run of a job. ``check_out`` makes its working folder; ``event`` is what started it.

    ``path`` is looked in first for programs; what else its shells see of the machine is in ``surroundings``.
    """

    service: Service
    check_out: Callable[[Path], None]
    event: Mapping[str, Any]
    variables: Mapping[str, Any] = field(default_factory=dict)
    path: Path = Path()
    surroundings: Mapping[str, str] = field(default_factory=dict)
    output: str = ""
    failed: bool = False

    def run(
        self, workflow: Mapping[str, Any], name: str = "", of: int = 0, **matrix: object
    ) -> Job:
        """Do the only job of a workflow, or the one of that name, in the run ``of`` an earlier one.

        ``failed`` says how it ended, ``output`` what its shells printed.
        """
        self.service.runs += 1
        self.id = of or self.service.runs
        self.folder = self.service.folder / f"job-{self.service.runs}"
        self.work, self.temp = self.folder / "work", self.folder / "temp"
        self.temp.mkdir(parents=True)
        self.work.mkdir()
        self.known: dict[str, Any] = {
            "github": {"run_id": self.id, "run_attempt": 1, "token": "token", **self.event},
            "runner": {"temp": str(self.temp)},
            "matrix": matrix,
            **self.variables,
        }
        jobs = workflow["jobs"]
        (job,) = [jobs[name]] if name else jobs.values()
        self.known["env"] = self._filled(job.get("env", {}))
        if self._if(job.get("if", "true")):
            self._steps(job["steps"], {}, ROOT)
        return self

    @property
    def artifact(self) -> Path:
        return self.service.artifact(self.id, "search quality")

    # -- steps -------------------------------------------------------------------------------------

    def _steps(self, steps: list[dict[str, Any]], inputs: Mapping[str, Any], at: Path) -> None:
        outer = self.known.get("inputs"), self.known.get("steps")
        self.known |= {"inputs": inputs, "steps": {}}
        for step in steps:
            told = re.search(r"(always|success|failure)\(\)", str(step.get("if", "")))
            if (self.failed and not told) or not self._if(step.get("if", "true")):
                continue
            if "run" in step:
                self._shell(step, at)
            else:
                self._use(step["uses"], self._filled(step.get("with", {})))
        self.known |= {"inputs": outer[0], "steps": outer[1]}

    def _shell(self, step: Mapping[str, Any], at: Path) -> None:
        outputs = self.folder / "outputs"
        outputs.write_text("")
        environment = {
            **outer_environment(), **WHO, **self.surroundings, **self.known["env"], **self._filled(step.get("env", {})),
            "GITHUB_ACTION_PATH": str(at), "GITHUB_OUTPUT": str(outputs),
            "GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(self.work), "GITHUB_REPOSITORY": "o/r",
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary"), "RUNNER_TEMP": str(self.temp),
        }  # fmt: skip
        environment["PATH"] = f"{self.path}{os.pathsep}{environment['PATH']}"
        folder = self.work / self._filled(step.get("working-directory", "."))
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", self._filled(step["run"])],
            cwd=folder, env=environment, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self.output += done.stdout
        self.failed = self.failed or done.returncode != 0
        if "id" in step:
            lines = (line.split("=", 1) for line in outputs.read_text().splitlines())
            self.known["steps"][step["id"]] = {"outputs": dict(lines)}

    def _use(self, action: str, given: Mapping[str, Any]) -> None:
        name = action.partition("@")[0]
        if name.startswith(OURS):
            at = ROOT / name.removeprefix(OURS).strip("/")
            described = yaml.safe_load((at / "action.yml").read_text("utf-8"))
            defaults = {key: value.get("default", "") for key, value in described["inputs"].items()}
            self._steps(described["runs"]["steps"], {**self._filled(defaults), **given}, at)
            return
        USED[name](self, given)

    def _checkout(self, given: Mapping[str, Any]) -> None:
        assert not given.get("persist-credentials", True)
        self.check_out(self.work)

    def _restore(self, given: Mapping[str, Any]) -> None:
        prefix = given["restore-keys"].replace("/", "~")
        known = sorted(self.service.folder.glob(f"caches/{prefix}*"), key=os.path.getmtime)
        if known:
            shutil.copytree(known[-1], self.work / given["path"], dirs_exist_ok=True)

    def _save(self, given: Mapping[str, Any]) -> None:
        shutil.copytree(self.work / given["path"], self.service.cache(given["key"]))

    def _upload(self, given: Mapping[str, Any]) -> None:
        source, target = self.work / given["path"], self.service.artifact(self.id, given["name"])
        if not source.exists():
            self.failed = self.failed or given.get("if-no-files-found") == "error"
            return
        shutil.rmtree(target, ignore_errors=True)  # a job that is run again uploads anew
        target.mkdir(parents=True)
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copy(source, target)

    def _download(self, given: Mapping[str, Any]) -> None:
        every = self.service.artifact(given.get("run-id", self.id), ".").glob(
            given.get("pattern", given.get("name", ""))
        )
        for source in every:
            apart = "pattern" in given and not given.get("merge-multiple")
            target = self.work / given["path"] / (source.name if apart else "")
            shutil.copytree(source, target, dirs_exist_ok=True)

    def _comment(self, given: Mapping[str, Any]) -> None:
        """One comment a pull request and header, over the one that is there."""
        number = self._look_up("github.event.pull_request.number") or given["number"]
        if not number:
            return
        text = (self.work / given["path"]).read_text("utf-8")
        if self.service.comments is None or not 0 < len(text) < 65_536:
            self.failed = True
        else:
            self.service.comments[str(number), given["header"]] = text

    # -- expressions -------------------------------------------------------------------------------

    def _filled(self, value: Any) -> Any:
        """A value with what its ``${{ expressions }}`` stand for."""
        if isinstance(value, dict):
            return {key: self._filled(inner) for key, inner in value.items()}
        if not isinstance(value, str):
            return value
        return EXPRESSION.sub(lambda found: str(self._value(found[1])), value)

    def _if(self, condition: object) -> bool:
        return bool(self._value(str(condition)))

    def _value(self, expression: str) -> Any:
        def named(found: re.Match[str]) -> str:
            word = found[0]
            if word[0] == "'" or word.endswith("("):
                return word
            return repr(self._look_up(word))

        source = NAME.sub(named, expression).replace("&&", " and ").replace("||", " or ")
        source = re.sub(r"!(?!=)", " not ", source)
        functions = {
            "startsWith": str.startswith,
            "contains": list.__contains__,
            "format": str.format,
        }
        ended = {
            "always": lambda: True,
            "success": lambda: not self.failed,
            "failure": lambda: self.failed,
        }
        return eval(source, {**functions, **ended})

    def _look_up(self, name: str) -> Any:
        if name == "true":
            return True
        name, _, of_each = name.partition(".*.")
        value: Any = self.known
        for part in name.split("."):
            value = value.get(part, "") if isinstance(value, Mapping) else ""
        return [one[of_each] for one in value] if of_each else value


USED: Mapping[str, Callable[[Job, Mapping[str, Any]], None]] = {
    "actions/checkout": Job._checkout,
    "actions/setup-python": lambda job, given: None,
    "actions/setup-node": lambda job, given: None,
    "actions/cache/restore": Job._restore,
    "actions/cache/save": Job._save,
    "actions/upload-artifact": Job._upload,
    "actions/download-artifact": Job._download,
    "marocchino/sticky-pull-request-comment": Job._comment,
}
