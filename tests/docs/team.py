"""A team that works on one repository: its clones, branches and merges, and its CI jobs."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.docs.github_jobs import USER, Job, Service, Workflow
from tests.docs.shown_pages import DOCS, find_file_block, make_environment

RECIPES = DOCS / "recipes"
SUITE = "tests/search/shop.ir.yaml"
BASELINE = "tests/search/.ir-baseline/shop.jsonl"
SOURCES = {
    ".gitignore": "__pycache__\n.pytest_cache\nir-report.html\njunit.xml\n",
    "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.']\n",
    "boosts.txt": "",
    "synonyms.txt": "",
    # A line in one of the two files puts a document first, so two people can change one query and
    # their code merges.
    "shop.py": """\
from pathlib import Path

def search(query, k):
    doc_ids = ["d1", "d2", "d3"]
    for name in ("synonyms.txt", "boosts.txt"):
        for line in Path(__file__).with_name(name).read_text().splitlines():
            text, first = line.split()
            if text == query:
                doc_ids = [first, *(doc_id for doc_id in doc_ids if doc_id != first)]
    return doc_ids[:k]
""",
}
TESTS = {
    "tests/search/conftest.py": """\
import pytest

@pytest.fixture
def retriever():
    from shop import search
    return search
""",
    SUITE: """\
queries:
  - {query: desk, relevant: [d1]}
  - {query: lamp, relevant: [d1]}
  - {query: sofa, relevant: [d1]}
thresholds: {mrr@10: {min: 0.1, max_drop: 0.05}}
""",
}
# The program of GitHub, which is asked for the pull request of a branch.
GH = """\
#!/bin/sh
[ "$*" = "api --method GET repos/o/r/pulls -f state=open -f head=$HEAD --jq .[0].number // empty" ] || exit 2
[ "$GH_TOKEN" = token ] || exit 4
[ "$HEAD" = stranger:fix ] && echo 7
exit 0
"""


def git(folder: Path, *arguments: str) -> str:
    """Run git, and return its output."""
    return subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env={**os.environ, **USER},
        check=True,
        text=True,
        capture_output=True,
    ).stdout


def write(clone: Path, name: str, text: str) -> None:
    """Write a file of a clone."""
    path = clone / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def commit(clone: Path, message: str) -> None:
    """Commit everything."""
    git(clone, "add", "-A")
    git(clone, "commit", "-qm", message)


def load_workflow(page: str, name: str) -> Workflow:
    """Load the workflow that a page shows under a name."""
    workflow: Workflow = yaml.safe_load(find_file_block(RECIPES / page, "yaml", name))
    return workflow


def find_commands(heading: str) -> str:
    """Return the commands below a heading of the page for teams."""
    text = (RECIPES / "teams.md").read_text("utf-8").partition(f"## {heading}\n")[2]
    return text.partition("```sh\n")[2].partition("```")[0]


@dataclass
class Team:
    """A bare origin, and the people who clone it."""

    folder: Path
    service: Service

    @property
    def origin(self) -> Path:
        return self.folder / "origin.git"

    @property
    def programs(self) -> Path:
        """Programs that replace those of the machine: ``pip`` installs nothing."""
        return self.folder / "bin"

    @property
    def environment(self) -> dict[str, str]:
        environment = {**make_environment(), **USER, "GIT_MERGE_AUTOEDIT": "no"}
        environment["PATH"] = f"{self.programs}{os.pathsep}{environment['PATH']}"
        return environment

    def clone(self, name: str, branch: str = "main") -> Path:
        """Clone the origin, and create a branch."""
        path = self.folder / name
        git(self.folder, "clone", "-q", str(self.origin), str(path))
        git(path, "checkout", "-q", *(["-b", branch, "main"] if branch != "main" else ["main"]))
        return path

    def run(self, clone: Path, script: str) -> str:
        """Run the commands of a person, and return what they print."""
        completed = subprocess.run(
            ["bash", "-e", "-c", script],
            cwd=clone,
            env=self.environment,
            text=True,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert completed.returncode == 0, completed.stdout
        return completed.stdout

    def push(self, name: str, files: dict[str, str]) -> Path:
        """Push a branch that changes some files."""
        clone = self.clone(name, branch=name)
        for path, text in files.items():
            write(clone, path, text)
        commit(clone, f"Change {name}")
        git(clone, "push", "-q", "origin", name)
        return clone

    def merge(self, branch: str) -> str:
        """Merge a branch into main, and return the commit before."""
        before = git(self.origin, "rev-parse", "main").strip()
        clone = self.clone(f"merge-{branch}")
        git(clone, "merge", "-q", "--no-ff", "--no-edit", f"origin/{branch}")
        git(clone, "push", "-q", "origin", "main")
        return before

    # -- Jobs --------------------------------------------------------------------------------------

    def make_job(self, event: dict[str, Any], branch: str = "", **variables: Any) -> Job:
        """Make a job on main, or on the merge of a branch into main."""

        def check_out(work: Path) -> None:
            git(self.folder, "clone", "-q", str(self.origin), str(work))
            git(work, "checkout", "-q", "--detach", "origin/main")
            if branch:
                git(work, "merge", "-q", "--no-ff", "--no-edit", f"origin/{branch}")

        return Job(self.service, check_out, event, variables, self.programs)

    def run_pull_request(self, branch: str, workflow: Workflow, *labels: str) -> Job:
        """Run the job of a pull request."""
        pull_request = {"number": 7, "labels": [{"name": name} for name in labels]}
        event = {"event_name": "pull_request", "event": {"pull_request": pull_request}}
        return self.make_job(event, branch).run(workflow)

    def run_push(self, workflow: Workflow, before: str) -> Job:
        """Run the job of a push to main."""
        return self.make_job({"event_name": "push", "event": {"before": before}}).run(workflow)

    def run_comment(self, first_job: Job, owner: str) -> Job:
        """Run the second workflow of a pull request from the branch ``fix`` of a fork."""

        def check_out(work: Path) -> None:
            raise AssertionError("the code of a fork is checked out")

        write(self.programs, "gh", GH)
        (self.programs / "gh").chmod(0o755)
        run = {
            "id": first_job.id,
            "event": "pull_request",
            "head_branch": "fix",
            "head_repository": {"owner": {"login": owner}},
        }
        event = {"event_name": "workflow_run", "event": {"workflow_run": run}}
        job = Job(self.service, check_out, event, path=self.programs)
        name = ".github/workflows/search-comment.yml"
        return job.run(load_workflow("github-actions.md", name))

    def run_merge_request(
        self, branch: str, baseline: str = "git:"
    ) -> subprocess.CompletedProcess[str]:
        """Run the job of GitLab, which fetches one branch into a fresh repository."""
        work = self.folder / f"gitlab-{branch}-{baseline[:3]}"
        work.mkdir()
        git(work, "init", "-q", "-b", "any")
        git(work, "remote", "add", "origin", str(self.origin))
        git(work, "fetch", "-q", "origin", f"+refs/heads/{branch}:refs/pipelines/1")
        git(work, "checkout", "-q", "--detach", "refs/pipelines/1")
        (job,) = load_workflow("gitlab.md", ".gitlab-ci.yml").values()
        script = "\n".join(job["script"]).replace("git:origin", f"{baseline}origin")
        return subprocess.run(
            ["bash", "-e", "-c", script],
            cwd=work,
            env={**self.environment, "CI_DEFAULT_BRANCH": "main"},
            text=True,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )


def create_team(folder: Path) -> Team:
    """Create a project without a suite on main."""
    team = Team(folder, Service(folder))
    git(folder, "init", "-q", "--bare", "-b", "main", str(team.origin))
    write(team.programs, "pip", "#!/bin/sh\n")
    (team.programs / "pip").chmod(0o755)
    first = folder / "first"
    git(folder, "clone", "-q", str(team.origin), str(first))
    git(first, "checkout", "-q", "-B", "main")
    for name, text in SOURCES.items():
        write(first, name, text)
    commit(first, "Add a shop")
    git(first, "push", "-q", "origin", "main")
    return team


def copy_team(team_folder: Path, folder: Path) -> Team:
    """Copy the folder of a team."""
    shutil.copytree(team_folder, folder, dirs_exist_ok=True)
    git(folder / "first", "remote", "set-url", "origin", str(folder / "origin.git"))
    return Team(folder, Service(folder))
