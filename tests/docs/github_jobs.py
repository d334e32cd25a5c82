"""Run a job of GitHub Actions locally, as far as the documentation and our action use it.

What GitHub does in its own way is a small table: checkout, caches, artifacts and comments. The
shell of each step runs as it is written.
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

from tests.docs.shown_pages import ROOT, make_environment

OUR_ACTION = "pytest-irquality/pytest-irquality"
# The dates are fixed, because all jobs of a pull request check out the same merge commit.
USER = {
    "GIT_AUTHOR_DATE": "2026-11-01T12:00:00Z",
    "GIT_COMMITTER_DATE": "2026-11-01T12:00:00Z",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}
_EXPRESSION = re.compile(r"\$\{\{ *(.*?) *\}\}")
_WORD = re.compile(r"'[^']*'|[\w.*-]+(?:\.[\w.*-]+)*\(?")
_STATUS_FUNCTION = re.compile(r"(always|success|failure)\(\)")

Workflow = Mapping[str, Any]


@dataclass
class Service:
    """What outlasts a job: caches by key, artifacts by run and name, comments on pull requests."""

    folder: Path
    comments: dict[tuple[str, str], str] = field(default_factory=dict)
    run_count: int = 0

    def get_cache(self, key: str) -> Path:
        return self.folder / "caches" / key.replace("/", "~")

    def get_artifact(self, run_id: object, name: str) -> Path:
        return self.folder / "artifacts" / str(run_id) / name


@dataclass
class Job:
    """A run of a job.

    Attributes:
        check_out: Makes the working folder.
        event: What started the job, with its name.
        variables: More contexts of expressions, such as ``vars``.
        path: A folder that is searched for programs first.
        output: What the shells printed.
    """

    service: Service
    check_out: Callable[[Path], None]
    event: Mapping[str, Any]
    variables: Mapping[str, Any] = field(default_factory=dict)
    path: Path = Path()
    output: str = ""
    has_failed: bool = False

    def run(self, workflow: Workflow, name: str = "", **matrix: object) -> Job:
        """Run the only job of a workflow, or the one with a name."""
        self.service.run_count += 1
        self.id = self.service.run_count
        return self.run_within(self.id, workflow, name, **matrix)

    def run_within(self, run_id: int, workflow: Workflow, name: str = "", **matrix: object) -> Job:
        """Run a job of a workflow whose run has an id already."""
        self.id = run_id
        self.folder = (
            self.service.folder / f"job-{run_id}-{name}-{'-'.join(map(str, matrix.values()))}"
        )
        self.work, self.temporary = self.folder / "work", self.folder / "temp"
        self.temporary.mkdir(parents=True)
        self.work.mkdir()
        self.contexts: dict[str, Any] = {
            "github": {"run_id": run_id, "run_attempt": 1, "token": "token", **self.event},
            "runner": {"temp": str(self.temporary)},
            "matrix": matrix,
            **self.variables,
        }
        jobs = workflow["jobs"]
        (job,) = [jobs[name]] if name else jobs.values()
        self.contexts["env"] = self._fill({**workflow.get("env", {}), **job.get("env", {})})
        if self._evaluate_condition(job.get("if", "true")):
            self._run_steps(job["steps"], {}, ROOT)
        return self

    @property
    def artifact(self) -> Path:
        """Return the folder of the report."""
        return self.service.get_artifact(self.id, "search quality")

    @property
    def summary(self) -> str:
        """Return the summary of the job."""
        return (self.folder / "summary").read_text("utf-8")

    # -- Steps -------------------------------------------------------------------------------------

    def _run_steps(
        self, steps: list[dict[str, Any]], inputs: Mapping[str, Any], action: Path
    ) -> None:
        outer = self.contexts.get("inputs"), self.contexts.get("steps")
        self.contexts.update(inputs=inputs, steps={})
        for step in steps:
            condition = str(step.get("if", "true"))
            if self.has_failed and not _STATUS_FUNCTION.search(condition):
                continue
            if not self._evaluate_condition(condition):
                continue
            if "run" in step:
                self._run_shell(step, action)
            else:
                self._use_action(step["uses"], self._fill(step.get("with", {})))
        self.contexts.update(inputs=outer[0], steps=outer[1])

    def _run_shell(self, step: Mapping[str, Any], action: Path) -> None:
        outputs = self.folder / "outputs"
        outputs.write_text("")
        environment = {
            **make_environment(),
            **USER,
            **self.contexts["env"],
            **self._fill(step.get("env", {})),
            "GITHUB_ACTION_PATH": str(action),
            "GITHUB_ACTIONS": "true",
            "GITHUB_OUTPUT": str(outputs),
            "GITHUB_REPOSITORY": "o/r",
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary"),
            "GITHUB_WORKSPACE": str(self.work),
            "RUNNER_TEMP": str(self.temporary),
        }
        environment["PATH"] = f"{self.path}{os.pathsep}{environment['PATH']}"
        completed = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", self._fill(step["run"])],
            cwd=self.work / self._fill(step.get("working-directory", ".")),
            env=environment,
            text=True,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.output += completed.stdout
        self.has_failed = self.has_failed or completed.returncode != 0
        if "id" in step:
            lines = outputs.read_text().splitlines()
            values = dict(line.split("=", 1) for line in lines)
            self.contexts["steps"][step["id"]] = {"outputs": values}

    def _use_action(self, action: str, inputs: Mapping[str, Any]) -> None:
        name = action.partition("@")[0]
        if name == OUR_ACTION:
            description = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
            defaults = {key: value["default"] for key, value in description["inputs"].items()}
            self._run_steps(description["runs"]["steps"], {**self._fill(defaults), **inputs}, ROOT)
        else:
            ACTIONS[name](self, inputs)

    def _checkout(self, inputs: Mapping[str, Any]) -> None:
        assert not inputs.get("persist-credentials", True)
        self.check_out(self.work)

    def _restore_cache(self, inputs: Mapping[str, Any]) -> None:
        prefix = inputs["restore-keys"].replace("/", "~")
        caches = sorted(self.service.folder.glob(f"caches/{prefix}*"), key=os.path.getmtime)
        if caches:
            shutil.copytree(caches[-1], self.work / inputs["path"], dirs_exist_ok=True)

    def _save_cache(self, inputs: Mapping[str, Any]) -> None:
        shutil.copytree(self.work / inputs["path"], self.service.get_cache(inputs["key"]))

    def _upload_artifact(self, inputs: Mapping[str, Any]) -> None:
        source = self.work / inputs["path"]
        target = self.service.get_artifact(self.id, inputs["name"])
        if not source.exists():
            return
        target.mkdir(parents=True)
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copy(source, target)

    def _download_artifact(self, inputs: Mapping[str, Any]) -> None:
        folder = self.service.get_artifact(inputs.get("run-id", self.id), ".")
        for source in folder.glob(inputs.get("pattern", inputs.get("name", ""))):
            # Several artifacts have a folder each.
            inner = source.name if "pattern" in inputs else ""
            shutil.copytree(source, self.work / inputs["path"] / inner, dirs_exist_ok=True)

    def _comment(self, inputs: Mapping[str, Any]) -> None:
        event_number = self._look_up("github.event.pull_request.number")
        number = event_number or inputs.get("number")
        if number:
            text = (self.work / inputs["path"]).read_text("utf-8")
            assert 0 < len(text) < 65_536
            self.service.comments[str(number), inputs["header"]] = text

    # -- Expressions -------------------------------------------------------------------------------

    def _fill(self, value: Any) -> Any:
        """Replace the expressions in a value."""
        if isinstance(value, dict):
            return {key: self._fill(inner) for key, inner in value.items()}
        if not isinstance(value, str):
            return value
        return _EXPRESSION.sub(lambda match: str(self._evaluate(match[1])), value)

    def _evaluate_condition(self, condition: object) -> bool:
        return bool(self._evaluate(str(condition)))

    def _evaluate(self, expression: str) -> Any:
        def replace_word(match: re.Match[str]) -> str:
            word = match[0]
            return word if word[0] == "'" or word.endswith("(") else repr(self._look_up(word))

        source = _WORD.sub(replace_word, expression).replace("&&", " and ").replace("||", " or ")
        source = re.sub(r"!(?!=)", " not ", source)
        functions = {
            "always": lambda: True,
            "contains": list.__contains__,
            "failure": lambda: self.has_failed,
            "format": str.format,
            "startsWith": str.startswith,
            "success": lambda: not self.has_failed,
        }
        return eval(source, functions)

    def _look_up(self, name: str) -> Any:
        if name == "true":
            return True
        name, _, attribute = name.partition(".*.")
        value: Any = self.contexts
        for part in name.split("."):
            value = value.get(part, "") if isinstance(value, Mapping) else ""
        return [item[attribute] for item in value] if attribute else value


ACTIONS: Mapping[str, Callable[[Job, Mapping[str, Any]], None]] = {
    "actions/cache/restore": Job._restore_cache,
    "actions/cache/save": Job._save_cache,
    "actions/checkout": Job._checkout,
    "actions/download-artifact": Job._download_artifact,
    "actions/setup-node": lambda job, inputs: None,
    "actions/setup-python": lambda job, inputs: None,
    "actions/upload-artifact": Job._upload_artifact,
    "marocchino/sticky-pull-request-comment": Job._comment,
}
