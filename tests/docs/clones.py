"""A team's clones of one origin, its branches and merges, and the jobs as the pages of the recipes have them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.docs.jobs import Job, Service
from tests.docs.pages import ROOT, outer_environment
from tests.repository import WHO, git

RECIPES = ROOT / "docs" / "recipes"
FILES = {
    ".gitignore": "__pycache__\n.pytest_cache\nir-report.html\njunit.xml\n",
    "pyproject.toml": "[project]\nname = 'shop'\nversion = '1'\n[tool.pytest.ini_options]\npythonpath = ['.']\n",
    "boosts.txt": "",
    "synonyms.txt": "",
    # What stands in either file comes first: two people change what one query returns, and their code merges.
    "shop.py": """\
from pathlib import Path
def search(query, k):
    found = ["d1", "d2", "d3"]
    for name in ("synonyms.txt", "boosts.txt"):
        for line in Path(__file__).with_name(name).read_text().splitlines():
            asked, first = line.split()
            if asked == query:
                found = [first, *(document for document in found if document != first)]
    return found[:k]
""",
    "tests/search/conftest.py": """\
import pytest
@pytest.fixture
def retriever():
    from shop import search
    return search
""",
    "tests/search/shop.ir.yaml": """\
queries:
  - {query: desk, relevant: [d1]}
  - {query: lamp, relevant: [d1]}
  - {query: sofa, relevant: [d1]}
thresholds: {mrr@10: {min: 0.1, max_drop: 0.05}}
""",
}
GH = """\
#!/bin/sh
[ "$*" = "api --method GET repos/o/r/pulls -f state=open -f head=$HEAD --jq .[0].number // empty" ] || exit 2
[ "$GH_TOKEN" = token ] || exit 4
[ "$HEAD" = stranger:fix ] && echo 7
exit 0
"""
"""GitHub's own program, asked which pull request is from a branch."""
BASELINE = "tests/search/.ir-baseline/shop.jsonl"
ACCEPTS = "This change accepts a drop: mrr@10 fell 1.000 → 0.833"


def workflow(page: str, name: str) -> dict[str, Any]:
    """A YAML file that a page of the recipes shows."""
    text = (RECIPES / page).read_text("utf-8")
    (found,) = re.findall(rf"```yaml\n# {re.escape(name)}\n(.*?)```", text, re.S)
    loaded: dict[str, Any] = yaml.safe_load(found)
    return loaded


def typed(heading: str) -> str:
    """What the page of a team's baseline types below a heading."""
    text = (RECIPES / "team.md").read_text("utf-8").partition(f"## {heading}\n")[2]
    return text.partition("```sh\n")[2].partition("```")[0]


@dataclass
class Team:
    """A bare origin and whoever clones it."""

    folder: Path
    service: Service

    @property
    def origin(self) -> Path:
        return self.folder / "origin.git"

    def clone(self, name: str, at: str = "main") -> Path:
        path = self.folder / name
        git(self.folder, "clone", "-q", str(self.origin), str(path))
        git(path, "checkout", "-q", *(["-b", at, "main"] if at != "main" else ["main"]))
        return path

    def types(self, clone: Path, script: str) -> str:
        """What a member of the team types. Its git asks nobody for a name, and changes no one's configuration."""
        done = subprocess.run(
            ["bash", "-e", "-c", script], cwd=clone, env=self.environment, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        return done.stdout

    @property
    def environment(self) -> dict[str, str]:
        environment = {**outer_environment(), **WHO, "GIT_MERGE_AUTOEDIT": "no"}
        return {**environment, "PATH": f"{self.folder / 'bin'}{os.pathsep}{environment['PATH']}"}

    # -- jobs --------------------------------------------------------------------------------------

    def pull_request(self, of: str, workflow: dict[str, Any], *labels: str) -> Job:
        """GitHub checks out the merge of a branch into main."""

        def check_out(work: Path) -> None:
            git(self.folder, "clone", "-q", str(self.origin), str(work))
            git(work, "checkout", "-q", "--detach", "origin/main")
            git(work, "merge", "-q", "--no-ff", "--no-edit", f"origin/{of}")

        event = {
            "event_name": "pull_request",
            "event": {"pull_request": {"number": 7, "labels": [{"name": name} for name in labels]}},
        }
        return self.job(check_out, event).run(workflow)

    def pushed(self, workflow: dict[str, Any], before: str) -> Job:
        """A push to main."""
        event = {"event_name": "push", "event": {"before": before}}
        return self.job(self.check_out_main, event).run(workflow)

    def check_out_main(self, work: Path) -> None:
        git(self.folder, "clone", "-q", str(self.origin), str(work))

    def job(
        self, check_out: Callable[[Path], None], event: dict[str, Any], **variables: Any
    ) -> Job:
        return Job(self.service, check_out, event, variables, self.folder / "bin")

    def merge_request(self, of: str, baseline: str = "git:") -> subprocess.CompletedProcess[str]:
        """GitLab fetches one branch into a fresh repository."""
        work = self.folder / f"runner-{of}-{baseline[:3]}"
        work.mkdir()
        git(work, "init", "-q", "-b", "any")
        git(work, "remote", "add", "origin", str(self.origin))
        git(work, "fetch", "-q", "origin", f"+refs/heads/{of}:refs/pipelines/1")
        git(work, "checkout", "-q", "--detach", "refs/pipelines/1")
        (job,) = workflow("gitlab.md", ".gitlab-ci.yml").values()
        script = "\n".join(job["script"]).replace("git:origin", f"{baseline}origin")
        environment = {**self.environment, "CI_DEFAULT_BRANCH": "main"}
        return subprocess.run(
            ["bash", "-e", "-c", script], cwd=work, env=environment, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def commented(self, judged: Job, owner: str, **surroundings: str) -> Job:
        """The second job of a pull request from a fork's branch ``fix``; that of ``stranger`` is open."""

        def nothing(work: Path) -> None:
            raise AssertionError("code of a fork is checked out")

        write(self.folder / "bin", "gh", GH)
        (self.folder / "bin/gh").chmod(0o755)
        run = {
            "id": judged.id, "event": "pull_request", "head_branch": "fix",
            "head_repository": {"owner": {"login": owner}},
        }  # fmt: skip
        job = self.job(nothing, {"event_name": "workflow_run", "event": {"workflow_run": run}})
        job.surroundings = surroundings
        return job.run(workflow("forks.md", ".github/workflows/search-comment.yml"))

    def merged(self, branch: str) -> str:
        """Merge a pull request. Gives what main was before."""
        before = git(self.origin, "rev-parse", "main").strip()
        clone = self.clone(f"merges-{branch}")
        git(clone, "merge", "-q", "--no-ff", "--no-edit", f"origin/{branch}")
        git(clone, "push", "-q", "origin", "main")
        return before


def write(clone: Path, name: str, text: str) -> None:
    path = clone / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def commit(clone: Path, message: str) -> None:
    git(clone, "add", "-A")
    git(clone, "commit", "-qm", message)


def made(folder: Path) -> Team:
    """A project without a suite on main."""
    team = Team(folder, Service(folder))
    git(folder, "init", "-q", "--bare", "-b", "main", str(team.origin))
    write(folder / "bin", "pip", "#!/bin/sh\n")
    (folder / "bin/pip").chmod(0o755)
    first = folder / "first"
    git(folder, "clone", "-q", str(team.origin), str(first))
    git(first, "checkout", "-q", "-B", "main")
    for name, text in FILES.items():
        if not name.startswith("tests/"):
            write(first, name, text)
    commit(first, "A shop")
    git(first, "push", "-q", "origin", "main")
    return team


def copied(team: Path, folder: Path, runs: int = 0) -> Team:
    """A copy of a team's folder, in which a service has had some runs already."""
    shutil.copytree(team, folder, dirs_exist_ok=True)
    git(folder / "first", "remote", "set-url", "origin", str(folder / "origin.git"))
    return Team(folder, Service(folder, runs=runs))
